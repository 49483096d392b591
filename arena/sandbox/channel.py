"""The lines of JSON between a leaf and its zygote; what a leaf says here is evidence of nothing but itself."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any

from arena.sandbox.wire import loads

QUESTIONS, ANSWERS = 3, 4  # descriptors of a leaf: read from, written to
READY, ASKS, SAYS = b"+", b"?", b"="  # first byte of a line: fenced in; for the other leaf; for the trainer

_heard = bytearray()  # of questions, beyond the line that was read last


def ready() -> None:
    """Say that the fence stands and untrusted code comes next."""
    _write(READY + b"\n")


def ask(question: Any) -> Any:
    """Send a question to the other leaf and wait for its answer."""
    _write(ASKS + json.dumps(question).encode() + b"\n")
    return hear()


def say(answer: Any) -> None:
    """Send an answer to the trainer, or to the leaf that asked."""
    _write(SAYS + json.dumps(answer).encode() + b"\n")


def hear() -> Any:
    """The next line: first what this leaf is to run, then what the other one says; without any this process ends."""
    seen = 0
    while (end := _heard.find(b"\n", seen)) < 0:
        seen = len(_heard)
        if not (part := os.read(QUESTIONS, 65536)):
            os._exit(0)
        _heard.extend(part)
    line = bytes(_heard[:end])
    del _heard[: end + 1]
    return loads(line)


def raised(error: BaseException, source: str) -> dict[str, Any]:
    """What is told of an exception: its type, its text, and the last line of `source` that it went through."""
    try:
        text = str(error)[:300]
    except BaseException:  # noqa: BLE001 - the text of an exception is untrusted code too
        text = ""
    lines = _lines(error.__traceback__, source)
    if isinstance(error, SyntaxError) and error.filename == source and error.lineno:
        lines.append(error.lineno)
    return {"raised": type(error).__name__, "text": text, "line": lines[-1] if lines else 0}


def _lines(trace: TracebackType | None, source: str) -> list[int]:
    found = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source:
            found.append(trace.tb_lineno)
        trace = trace.tb_next
    return found


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(ANSWERS, line) :]

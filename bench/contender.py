"""A contender of a benchmark: a script in a process of its own, in the Python that has what it needs.

`ask` is called by the benchmark, `answer` by the script. Only the standard library is used, as in machine.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from machine import load, peak_gb

HERE = Path(__file__).parent
OWN = Path(sys.executable)


class Missing(RuntimeError):
    """The environment of a peer that isn't there; the message names the command that makes it."""


class Broken(RuntimeError):
    """A contender that didn't come to its end; the message is one line of what ended how, then its last words."""


def environment(name: str) -> Path:
    """The Python of the peer `name`, in the virtual environment that `make bench-<name>` makes."""
    python = HERE.parent / f".venv-{name}" / "bin" / "python"
    if not python.exists():
        raise Missing(f"{python.parent.parent.name} is not there: make bench-{name}")
    return python


def ask(python: Path, script: str, question: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Run `script` to its end on `threads` cores and return its answer; raises Broken with its last words."""
    quiet = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    with TemporaryDirectory() as folder:
        asked, found, log = (Path(folder) / name for name in ("asked.json", "found.json", "log.txt"))
        asked.write_text(json.dumps({**question, "threads": threads}))
        with log.open("w") as words:
            ended = subprocess.run(
                [python, HERE / script, asked, found],
                env={**os.environ, **quiet, "OMP_NUM_THREADS": str(threads)},
                stdout=words,
                stderr=subprocess.STDOUT,
            )
        if ended.returncode or not found.exists():
            last = log.read_text(errors="replace").splitlines()[-60:]
            raise Broken(f"{script} ended with {ended.returncode}\n" + "\n".join(last))
        answered: dict[str, Any] = json.loads(found.read_text())
        return answered


def answer(main: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Read the question, find the answer, and add what it cost: memory of this process, load before and after."""
    asked, found = map(Path, sys.argv[1:3])
    before, started = load(), time.perf_counter()
    answered = main(json.loads(asked.read_text()))
    answered |= {"peak_gb": peak_gb(), "load": {"before": before, "after": load()}}
    answered["process_seconds"] = round(time.perf_counter() - started, 2)
    found.write_text(json.dumps(answered))

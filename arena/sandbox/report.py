"""What a leaf's report means to the trainer, who believes nothing that the leaf itself says."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arena.sandbox.verdict import Limits, Raised, Status
from arena.sandbox.wire import NotPlain, decode, loads

WHY: Mapping[str, Status] = {
    "wall": "timeout",
    "output": "output_limit",
    "result": "output_limit",
    "protocol": "tampered",
    "setup": "infra",
}
DETAIL = 300  # characters


@dataclass(frozen=True)
class Report:
    """One leaf: `why` it was killed ("" if it wasn't), whether its fence stood, its exit status, its lines, its use."""

    mode: str
    why: str
    ready: bool
    status: int
    answers: str
    out: str
    err: str
    cpu: float
    wall: float
    rss_kb: int

    def lines(self) -> list[dict[str, Any]] | None:
        """The answers as JSON objects; None if one of them is anything else."""
        try:
            found = [loads(line.removeprefix("=")) for line in self.answers.split("\n")[:-1]]
        except NotPlain:
            return None
        return found if all(type(line) is dict for line in found) else None

    def fault(self, limits: Limits) -> Status | None:
        """Why this leaf didn't end as it should; None if it did, or was killed because its peer had ended."""
        if self.why in WHY:
            return WHY[self.why]
        if not self.ready and self.why != "peer":
            return "infra"
        if self.why or self.status == 0:
            return None
        over = self.cpu >= max(1.0, limits.cpu) - 0.5
        if self.status == -signal.SIGXCPU or (self.status == -signal.SIGKILL and over):
            return "timeout"
        return "crashed"

    def told(self) -> str:
        """The end of stderr, or how the process ended."""
        return tidy(self.err.strip().rpartition("\n")[2]) or f"ended with status {self.status}"


def outcome(line: Mapping[str, Any]) -> object:
    """The value or the exception that a line tells of."""
    if "value" in line:
        try:
            return decode(line["value"])
        except NotPlain as error:
            return Raised("NotPlain", tidy(str(error)))
    return raised(line)


def raised(line: object) -> Raised:
    """The exception that a line, or a part of one, tells of."""
    said = line if isinstance(line, dict) else {}
    kind, text, place = said.get("raised"), said.get("text"), said.get("line")
    return Raised(
        tidy(kind) if isinstance(kind, str) else "Exception",
        tidy(text) if isinstance(text, str) else "",
        place if type(place) is int and 0 < place < 10**6 else 0,
    )


def tell(error: Raised) -> str:
    """An exception in one line."""
    return f"{error.kind}: {error.text}".removesuffix(": ") + (f" (line {error.line})" if error.line else "")


def show(value: object) -> str:
    """A value in one line, for people."""
    if isinstance(value, Raised):
        return tell(value)
    try:
        return tidy(repr(value))
    except ValueError:  # Python writes no integers of thousands of digits
        return "a value too long to show"


def tidy(text: str) -> str:
    """Untrusted text made fit for logs: short, one line, nothing that a terminal or an encoder could trip over."""
    cut = text[:DETAIL]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)[: 2 * DETAIL]

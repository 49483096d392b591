"""A kind of problem: how one is made, and how an answer to it is checked."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.types import Task, Verdict

RIGHT, WRONG = Verdict(1.0), Verdict(0.0, "wrong")


@dataclass(frozen=True)
class Kind:
    """`make(rng, level)` is a prompt and its payload; `check(payload, answer)` scores an answer.

    A payload is JSON and has `choices`: a few answers as text, of which at least one is right and one wrong. A verdict
    has score 1 or 0, the latter with status "wrong", or "malformed" and a reason where the text is no answer at all.
    `example` shows the form of an answer, the same for every problem: one of the choices might be the right one.
    """

    make: Callable[[random.Random, int], tuple[str, dict[str, Any]]]
    check: Callable[[Any, str], Verdict]
    example: str


class NoProblem(ValueError):
    """What a proposer wrote makes no problem; `gate` is `well-formed` or `non-trivial`."""

    def __init__(self, gate: str, reason: str):
        super().__init__(reason)
        self.gate = gate


def malformed(reason: str) -> Verdict:
    """The text is no answer to anything, for that reason."""
    return Verdict(0.0, "malformed", reason)


def choices(task: Task) -> Sequence[str]:
    """A few answers to a task, right and wrong ones, in an order that doesn't tell which is which."""
    found: Sequence[str] = task.payload["choices"]
    return found

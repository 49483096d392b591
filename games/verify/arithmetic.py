"""What is 3 + 4 * 2? The level is the number of operations; numbers are 1 to 9."""

from __future__ import annotations

import random
import re
from typing import Any

from arena.types import Verdict
from games.verify.expression import NoExpression, compute
from games.verify.kind import RIGHT, WRONG, Kind, NoProblem, malformed

WHOLE = re.compile(r"-?[0-9]{1,15}")


def make(rng: random.Random, level: int) -> tuple[str, dict[str, Any]]:
    """A chain of `level` operations, and its value."""
    text = str(rng.randint(1, 9))
    for _ in range(level):
        text += f" {rng.choice('+-*')} {rng.randint(1, 9)}"
    return _posed(text, rng)


def read(text: str) -> tuple[str, dict[str, Any]]:
    """The problem of a written expression; raises NoProblem."""
    try:
        _, numbers = compute(text)
    except NoExpression as error:
        raise NoProblem("well-formed", str(error)) from None
    if len(numbers) < 2:
        raise NoProblem("non-trivial", "there is nothing to work out")
    return _posed(" ".join(text.split()), random.Random(text))


def _posed(text: str, rng: random.Random) -> tuple[str, dict[str, Any]]:
    answer, _ = compute(text)
    near = [answer + shift for shift in (-10, -3, -2, -1, 1, 2, 3, 10)]
    offered = sorted([answer, *rng.sample(near, 3)])
    return f"What is {text}?", {"answer": answer, "choices": [str(number) for number in offered]}


def check(payload: Any, answer: str) -> Verdict:
    """Whether a whole number is the value."""
    if not WHOLE.fullmatch(answer):
        return malformed("the answer is a whole number")
    return RIGHT if int(answer) == payload["answer"] else WRONG


ARITHMETIC = Kind(make, check, "12")

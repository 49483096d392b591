"""Is 91 a prime number? Facts about numbers of `level` digits at most: as many are true as not."""

from __future__ import annotations

import random
from math import isqrt
from typing import Any

from arena.types import Verdict
from games.verify.kind import RIGHT, WRONG, Kind, malformed

ANSWERS = ("yes", "no")


def make(rng: random.Random, level: int) -> tuple[str, dict[str, Any]]:
    """A question, true or not by the toss of a coin."""
    truth, ask = rng.random() < 0.5, rng.choice((_divisible, _prime, _product))
    while True:
        question, holds = ask(rng, 10**level)
        if holds == truth:
            return question, {"answer": ANSWERS[not truth], "choices": list(ANSWERS)}


def _divisible(rng: random.Random, below: int) -> tuple[str, bool]:
    number, by = rng.randrange(2, below), rng.randint(2, 9)
    return f"Is {number} divisible by {by}?", number % by == 0


def _prime(rng: random.Random, below: int) -> tuple[str, bool]:
    number = rng.randrange(2, below)
    return f"Is {number} a prime number?", all(number % i for i in range(2, isqrt(number) + 1))


def _product(rng: random.Random, below: int) -> tuple[str, bool]:
    number, by = rng.randrange(2, below), rng.randint(2, 9)
    other = number * by + rng.randint(-9, 9)
    return f"Is {number} * {by} greater than {other}?", number * by > other


def check(payload: Any, answer: str) -> Verdict:
    """Whether yes or no is the truth."""
    if answer.lower() not in ANSWERS:
        return malformed("the answer is yes or no")
    return RIGHT if answer.lower() == payload["answer"] else WRONG


FACTS = Kind(make, check, "yes")

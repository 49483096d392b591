"""Reach 24 with 3, 5 and 9: any expression that does is right. The level is the number of operations needed at most."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from arena.types import Verdict
from games.verify.expression import NoExpression, compute
from games.verify.kind import RIGHT, WRONG, Kind, NoProblem, malformed

MOST = 7  # numbers of a problem


def make(rng: random.Random, level: int) -> tuple[str, dict[str, Any]]:
    """`level` + 1 numbers from 1 to 9, and a target that they reach."""
    numbers = [rng.randint(1, 9) for _ in range(level + 1)]
    return _posed(_chain(rng, numbers), numbers, rng)


def read(text: str) -> tuple[str, dict[str, Any]]:
    """The problem whose solution is a written expression; raises NoProblem."""
    try:
        target, numbers = compute(text)
    except NoExpression as error:
        raise NoProblem("well-formed", str(error)) from None
    if not 3 <= len(numbers) <= MOST:
        raise NoProblem("non-trivial", f"a solution has 3 to {MOST} numbers")
    if target in numbers:
        raise NoProblem("non-trivial", f"{target} is one of the numbers")
    return _posed(" ".join(text.split()), sorted(numbers), random.Random(text))


def _posed(solution: str, numbers: list[int], rng: random.Random) -> tuple[str, dict[str, Any]]:
    target, _ = compute(solution)
    wrong = {other for other in (_chain(rng, numbers) for _ in range(8)) if compute(other)[0] != target}
    wrong.add(str(numbers[0]) if numbers[0] != target else f"{numbers[0]} - {numbers[0]}")  # there is always one
    offered = [solution, *sorted(wrong)[:3]]
    rng.shuffle(offered)
    listed = ", ".join(map(str, numbers))
    prompt = f"Reach {target} with {listed}: use + - * and brackets, each number at most once."
    return prompt, {"target": target, "numbers": numbers, "choices": offered}


def _chain(rng: random.Random, numbers: list[int]) -> str:
    """The numbers in some order, put together from the left."""
    first, *rest = rng.sample(numbers, len(numbers))
    text = str(first)
    for i, number in enumerate(rest):
        text = f"{f'({text})' if i else text} {rng.choice('+-*')} {number}"
    return text


def check(payload: Any, answer: str) -> Verdict:
    """Whether an expression uses only what there is, each number once, and has the target as its value."""
    try:
        value, used = compute(answer)
    except NoExpression as error:
        return malformed(str(error))
    if extra := Counter(used) - Counter(payload["numbers"]):
        return Verdict(0.0, "wrong", f"{min(extra)} isn't there, or not so often")
    return RIGHT if value == payload["target"] else WRONG


COUNTDOWN = Kind(make, check, "(2 + 3) * 4")

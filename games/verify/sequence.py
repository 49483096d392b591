"""2, 5, 10, 17, 26: which number is next? The level is the number of operations in the rule."""

from __future__ import annotations

import random
from typing import Any

from games.verify.arithmetic import check
from games.verify.expression import NoExpression, compute
from games.verify.kind import Kind, NoProblem

SHOWN = 5  # terms, for n = 1 to 5


def make(rng: random.Random, level: int) -> tuple[str, dict[str, Any]]:
    """A chain of `level` operations on n, put together from the left; not all of its terms are the same."""
    while True:
        rule = "n"
        for i in range(level):
            operand = rng.choice(("n", *map(str, range(1, 10))))
            rule = f"{f'({rule})' if i else rule} {rng.choice('+-*')} {operand}"
        terms = _terms(rule)
        if len(set(terms)) > 1:
            return _posed(terms, rng)


def read(text: str) -> tuple[str, dict[str, Any]]:
    """The sequence of a written rule in n; raises NoProblem."""
    if len(text) > 60:
        raise NoProblem("well-formed", f"a rule has at most 60 characters, that has {len(text)}")
    try:
        terms = _terms(text)
    except NoExpression as error:
        raise NoProblem("well-formed", str(error)) from None
    if len(set(terms)) == 1:
        raise NoProblem("non-trivial", "all terms are the same")
    return _posed(terms, random.Random(text))


def _terms(rule: str) -> list[int]:
    """One term more than is shown. A bracket around each n: `2n` is no product, and `-n` must not join another sign."""
    return [compute(rule.replace("n", f"({n})"))[0] for n in range(1, SHOWN + 2)]


def _posed(terms: list[int], rng: random.Random) -> tuple[str, dict[str, Any]]:
    *seen, answer = terms
    near = {answer + shift for shift in (-10, -2, -1, 1, 2, 10)} | {2 * seen[-1] - seen[-2]}
    offered = [answer, *rng.sample(sorted(near - {answer}), 3)]
    rng.shuffle(offered)
    prompt = f"Which number is next? {', '.join(map(str, seen))}"
    return prompt, {"answer": answer, "choices": [str(number) for number in offered]}


SEQUENCE = Kind(make, check, "17")

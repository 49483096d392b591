"""(p | q) & ~p: for which values is it true? Any that make it so are right; the level is the number of connectives."""

from __future__ import annotations

import random
import re
from typing import Any

from arena.types import Verdict
from games.proofs import logic
from games.proofs.terms import Malformed, bare
from games.verify.kind import RIGHT, WRONG, Kind, NoProblem, malformed

VALUES = re.compile(r"([a-z])=([01])")
LONG = 120  # characters of a formula, or of an answer
Row = dict[str, bool]


def make(rng: random.Random, level: int) -> tuple[str, dict[str, Any]]:
    """A formula of `level` connectives that is true for some values and false for others."""
    while True:
        formula = _drawn(rng, level)
        if {logic.holds(formula, row) for row in logic.table(formula)} == {True, False}:
            return _posed(formula, rng)


def _drawn(rng: random.Random, connectives: int) -> logic.Formula:
    if not connectives:
        atom = ("atom", rng.choice("pqrs"))
        return atom if rng.random() < 0.5 else ("->", atom, logic.FALSE)
    left = rng.randrange(connectives)
    return (rng.choice(logic.LEVELS), _drawn(rng, left), _drawn(rng, connectives - 1 - left))


def read(text: str) -> tuple[str, dict[str, Any]]:
    """The problem of a written formula; raises NoProblem."""
    if len(text) > LONG:
        raise NoProblem("well-formed", f"a formula has at most {LONG} characters, that has {len(text)}")
    try:
        formula = logic.read(text)
    except Malformed as error:
        raise NoProblem("well-formed", str(error)) from None
    truths = {logic.holds(formula, row) for row in logic.table(formula)}
    if len(truths) == 1:
        raise NoProblem("non-trivial", f"it is {'always' if truths == {True} else 'never'} true")
    return _posed(formula, random.Random(text))


def _posed(formula: logic.Formula, rng: random.Random) -> tuple[str, dict[str, Any]]:
    rows = list(logic.table(formula))
    rng.shuffle(rows)
    true = [row for row in rows if logic.holds(formula, row)]
    false = [row for row in rows if not logic.holds(formula, row)]
    offered = [*true[:2], *false[:2]]
    rng.shuffle(offered)
    text = bare(logic.show(formula))
    return f"For which values is this true? {text}", {"formula": text, "choices": [_shown(row) for row in offered]}


def _shown(row: Row) -> str:
    return " ".join(f"{name}={value:d}" for name, value in row.items())


def _check(payload: Any, answer: str) -> Verdict:
    """Whether the values, one for each letter, make the formula true."""
    formula = logic.read(payload["formula"])
    words = answer.replace(",", " ").split() if len(answer) <= LONG else []
    found = [VALUES.fullmatch(word) for word in words]
    row = {match[1]: match[2] == "1" for match in found if match}
    if len(row) < len(words) or row.keys() != set(logic.atoms(formula)):
        return malformed("the answer is a value for each letter, like p=1 q=0")
    return RIGHT if logic.holds(formula, row) else WRONG


SATISFY = Kind(make, _check, "p=1 q=0")

"""A kernel for propositions: natural deduction read backwards, and truth tables to refute with.

Hypotheses are called h1, h2, ... in the order in which they come; none ever leaves. `~p` is short for p -> false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from games.proofs.kernel import Run, number
from games.proofs.terms import NESTED, Malformed, Reader, bare

Formula = tuple[Any, ...]  # ("atom", name), ("false",), (connective, left, right)

ATOMS = "pqrstuvw"
FALSE: Formula = ("false",)
AXIOMS: Mapping[str, Formula] = {}  # all is in the steps
LEVELS = ("->", "|", "&")  # from the loosest to the tightest; all of them group to the right


class Goal(NamedTuple):
    """What is left to prove from the hypotheses h1, h2, ..."""

    formula: Formula
    hypotheses: tuple[Formula, ...]


# -- statements ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read(text: str) -> Formula:
    """`p & q -> ~r`; raises `Malformed`."""
    reader = Reader(text)
    formula = _formula(reader, 0)
    reader.end()
    if depth(formula) > NESTED:
        raise Malformed(f"nested more than {NESTED} deep")
    return formula


def _formula(reader: Reader, level: int) -> Formula:
    if level == len(LEVELS):
        return _part(reader)
    left = _formula(reader, level + 1)
    if reader.peek() != LEVELS[level]:
        return left
    reader.eat()
    reader.deeper()
    right = _formula(reader, level)
    reader.depth -= 1
    return (LEVELS[level], left, right)


def _part(reader: Reader) -> Formula:
    reader.deeper()
    token = reader.eat()
    if token == "(":
        formula = _formula(reader, 0)
        reader.eat(")")
    elif token == "~":
        formula = ("->", _part(reader), FALSE)
    elif token == "false":
        formula = FALSE
    elif len(token) == 1 and token in ATOMS:
        formula = ("atom", token)
    else:
        raise Malformed(f"{token!r} is unknown here: use {' '.join(ATOMS)}, false, ~ & | -> and brackets")
    reader.depth -= 1
    return formula


def show(formula: Formula) -> str:
    """The formula as `read` reads it."""
    if formula[0] == "atom":
        return str(formula[1])
    if formula == FALSE:
        return "false"
    if formula[0] == "->" and formula[2] == FALSE:
        return f"~{show(formula[1])}"
    return f"({show(formula[1])} {formula[0]} {show(formula[2])})"


def depth(formula: Formula) -> int:
    return 1 + max((depth(part) for part in formula[1:] if isinstance(part, tuple)), default=0)


def size(formula: Formula) -> int:
    return 1 + sum(size(part) for part in formula[1:] if isinstance(part, tuple))


def atoms(formula: Formula) -> Iterator[str]:
    """Its atoms from the left, with repeats."""
    if formula[0] == "atom":
        yield formula[1]
    else:
        for part in formula[1:]:
            yield from atoms(part)


def holds(formula: Formula, row: Mapping[str, bool]) -> bool:
    """Its truth in one row of the table."""
    if formula[0] == "atom":
        return row[formula[1]]
    if formula == FALSE:
        return False
    left, right = holds(formula[1], row), holds(formula[2], row)
    return {"&": left and right, "|": left or right, "->": not left or right}[formula[0]]


def table(formula: Formula) -> Iterator[dict[str, bool]]:
    """All rows: at most 2^8."""
    names = sorted(set(atoms(formula)))
    return (dict(zip(names, row, strict=True)) for row in product((False, True), repeat=len(names)))


def premises(formula: Formula) -> tuple[Formula, ...]:
    """What stands before the arrows, the last `-> false` taken as part of the conclusion."""
    found = []
    while formula[0] == "->" and formula[2] != FALSE:
        found.append(formula[1])
        formula = formula[2]
    return tuple(found)


def faults(statement: Formula) -> str:
    """Why it says nothing; "" if it says something."""
    given = premises(statement)
    if not set(atoms(statement)):
        return "it has no variable"
    if given and not any(all(holds(one, row) for one in given) for row in table(statement)):
        return "its premises can't all be true"
    return ""


def refute(statement: Formula) -> str:
    """A row of the table in which it is false, in words; "" if it is a theorem."""
    for row in table(statement):
        if not holds(statement, row):
            return "false where " + ", ".join(f"{name} is {value}".lower() for name, value in row.items())
    return ""


def canon(statement: Formula) -> str:
    """One text for all names of the atoms."""
    names: dict[str, Formula] = {}
    for atom in atoms(statement):
        if atom not in names:
            names[atom] = ("atom", ATOMS[len(names)])
    return show(_renamed(statement, names))


def _renamed(formula: Formula, found: Mapping[str, Formula]) -> Formula:
    if formula[0] == "atom":
        return found.get(formula[1], formula)
    return (formula[0], *[_renamed(part, found) for part in formula[1:]])


def match(pattern: Formula, formula: Formula, found: Mapping[str, Formula]) -> Mapping[str, Formula] | None:
    """What the atoms of `pattern` stand for where it looks like `formula`, added to `found`; None where it doesn't."""
    if pattern[0] == "atom":
        if pattern[1] in found:
            return found if found[pattern[1]] == formula else None
        return {**found, pattern[1]: formula}
    if pattern[0] != formula[0]:
        return None
    for one, other in zip(pattern[1:], formula[1:], strict=True):
        step = match(one, other, found)
        if step is None:
            return None
        found = step
    return found


def instance(statement: Formula, lemma: Formula) -> bool:
    """Whether the lemma says it already, of other formulas."""
    return match(lemma, statement, {}) is not None


def shallow(lemmas: Mapping[str, Formula]) -> list[str]:
    """Proofs that need no thought: introduce, and be done."""
    starts = ["intro; " * count for count in range(6)]
    ends = ["assumption", "split; assumption; assumption", "left; assumption", "right; assumption", "cases h1"]
    return [start + end for start in starts for end in (*ends, *(f"apply {name}; assumption" for name in lemmas))]


# -- proofs --------------------------------------------------------------------------------------------------------


def begin(statement: Formula) -> tuple[Goal, ...]:
    return (Goal(statement, ()),)


def step(goals: tuple[Goal, ...], line: str, lemmas: Mapping[str, Formula], run: Run) -> tuple[Goal, ...]:
    """A word of PLAIN, `cases h1`, `apply h1` or `apply NAME`."""
    run.spend()
    if not goals:
        raise Malformed("everything is proved already")
    goal, rest = goals[0], goals[1:]
    word, *told = line.split()
    if word in PLAIN and not told:
        found = PLAIN[word](goal)
        if found is None:
            raise Malformed(f"{word} doesn't fit {show(goal.formula)[:80]}")
        return found + rest
    if word == "cases" and len(told) == 1:
        return _cases(goal, _hypothesis(goal, told[0])) + rest
    if word == "apply" and len(told) == 1:
        if told[0] not in lemmas:
            return _apply(goal, _hypothesis(goal, told[0]), False, run) + rest
        found = _apply(goal, lemmas[told[0]], True, run)
        run.used[told[0]] = None
        return found + rest
    raise Malformed(f"{line[:40]!r} is no step: use {', '.join((*PLAIN, 'cases', 'apply'))}")


def _intro(goal: Goal) -> tuple[Goal, ...] | None:
    formula, known = goal
    return (Goal(formula[2], (*known, formula[1])),) if formula[0] == "->" else None


def _split(goal: Goal) -> tuple[Goal, ...] | None:
    formula, known = goal
    return (Goal(formula[1], known), Goal(formula[2], known)) if formula[0] == "&" else None


def _side(goal: Goal, side: int) -> tuple[Goal, ...] | None:
    formula, known = goal
    return (Goal(formula[side], known),) if formula[0] == "|" else None


def _assumption(goal: Goal) -> tuple[Goal, ...] | None:
    return () if goal.formula in goal.hypotheses else None


def _classical(goal: Goal) -> tuple[Goal, ...]:
    """Suppose that it is false, and show that this can't be."""
    return (Goal(FALSE, (*goal.hypotheses, ("->", goal.formula, FALSE))),)


PLAIN: dict[str, Callable[[Goal], tuple[Goal, ...] | None]] = {
    "intro": _intro,
    "split": _split,
    "left": lambda goal: _side(goal, 1),
    "right": lambda goal: _side(goal, 2),
    "assumption": _assumption,
    "exfalso": lambda goal: (Goal(FALSE, goal.hypotheses),),
    "classical": _classical,
}


def _hypothesis(goal: Goal, word: str) -> Formula:
    count = len(goal.hypotheses)
    if not word.startswith("h") or not count:
        raise Malformed(f"{word[:20]!r} is neither a hypothesis nor a lemma")
    return goal.hypotheses[number(word[1:], count) - 1]


def _cases(goal: Goal, known: Formula) -> tuple[Goal, ...]:
    """From both parts of a conjunction, from each of a disjunction, from falsehood anything."""
    if known == FALSE:
        return ()
    if known[0] == "&":
        return (goal._replace(hypotheses=(*goal.hypotheses, *known[1:])),)
    if known[0] == "|":
        return tuple(goal._replace(hypotheses=(*goal.hypotheses, part)) for part in known[1:])
    raise Malformed(f"there are no cases of {show(known)[:80]}")


def _apply(goal: Goal, known: Formula, general: bool, run: Run) -> tuple[Goal, ...]:
    """The premises of what is known, where it ends in the goal; a `general` one holds for all formulas as its atoms."""
    wanted: list[Formula] = []
    ending = known
    while True:
        run.spend()
        found = match(ending, goal.formula, {}) if general else {} if ending == goal.formula else None
        if found is not None and (not general or all(found.keys() >= set(atoms(one)) for one in wanted)):
            made = [_renamed(one, found) for one in wanted]
            if any(size(one) > run.limits.size for one in made):
                raise Malformed(f"a formula has more than {run.limits.size} parts")
            return tuple(goal._replace(formula=one) for one in made)
        if ending[0] != "->":
            raise Malformed(f"{show(known)[:80]} doesn't end in {show(goal.formula)[:80]}")
        wanted.append(ending[1])
        ending = ending[2]


def goal_text(goal: Goal) -> str:
    """The goal as a statement, its hypotheses as premises."""
    formula = goal.formula
    for known in reversed(goal.hypotheses):
        formula = ("->", known, formula)
    return bare(show(formula))


def opening(goal: Goal) -> list[str]:
    """Lines that lead from the statement of `goal_text` back to the goal."""
    return ["intro"] * len(goal.hypotheses)

"""A kernel for equations over free data types: rewriting, and induction over every constructor.

The defining equations are those of a textbook (naturals by Peano with recursion on the second operand, lists by
recursion on the first). A goal holds for all values of its free variables; constants (`c`) are what an induction fixed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

from games.proofs.kernel import Run, number
from games.proofs.terms import (
    BOOL,
    CONSTRUCTORS,
    LETTERS,
    LIST,
    NAT,
    NESTED,
    SIGNATURES,
    SORTS,
    Malformed,
    Reader,
    Term,
    bare,
    depth,
    evaluate,
    leaves,
    match,
    positions,
    put,
    read_term,
    show,
    size,
    sort_of,
    substitute,
    variables_of,
)

VARIABLES = 6
INSTANCES = 99
PARTS = 32  # of a term, for which a step costs one unit of fuel more
POINTS = 200  # of a grid of small values, then RANDOM ones of larger
RANDOM = 40
GRID: dict[str, tuple[Any, ...]] = {NAT: (0, 1, 2, 3), LIST: ((), (0,), (0, 1), (1, 1, 2)), BOOL: (False, True)}
NEUTRAL: dict[str, Term] = {"+": ("0",), "++": ("nil",), "&": ("true",), "|": ("false",)}


class Equation(NamedTuple):
    """Two terms that are equal for all values of the variables."""

    left: Term
    right: Term
    variables: tuple[str, ...]

    def map(self, found: Mapping[str, Term]) -> Equation:
        """With terms for some of its variables, which it then no longer speaks of."""
        rest = tuple(v for v in self.variables if v not in found)
        return Equation(substitute(self.left, found), substitute(self.right, found), rest)


class Goal(NamedTuple):
    """What is left to prove, and the induction hypotheses that it may use, by name."""

    equation: Equation
    hypotheses: Mapping[str, Equation]


# -- statements ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read(text: str) -> Equation:
    """`forall a k: len(a :: k) = s(len(k))`; raises `Malformed`."""
    reader = Reader(text)
    reader.eat("forall")
    variables: list[str] = []
    while reader.peek() != ":":
        variable = reader.eat()
        if variable[0] not in SORTS or (variable[1:] and not variable[1:].isdigit()) or variable in variables:
            raise Malformed(f"{variable!r} is no new variable: use a letter of {' '.join(LETTERS.values())}")
        variables.append(variable)
    if len(variables) > VARIABLES:
        raise Malformed(f"there are {len(variables)} variables: use at most {VARIABLES}")
    reader.eat(":")
    left = read_term(reader, tuple(variables))
    reader.eat("=")
    right = read_term(reader, tuple(variables))
    reader.end()
    if sort_of(left) != sort_of(right):
        raise Malformed(f"a {sort_of(left)} is never a {sort_of(right)}")
    if max(depth(left), depth(right)) > NESTED:
        raise Malformed(f"nested more than {NESTED} deep")
    return Equation(left, right, tuple(variables))


AXIOMS = {
    name: read(text)
    for name, text in {
        "add_0": "forall a: a + 0 = a",
        "add_s": "forall a b: a + s(b) = s(a + b)",
        "mul_0": "forall a: a * 0 = 0",
        "mul_s": "forall a b: a * s(b) = a * b + a",
        "app_nil": "forall l: nil ++ l = l",
        "app_cons": "forall a k l: (a :: k) ++ l = a :: (k ++ l)",
        "rev_nil": "forall: rev(nil) = nil",
        "rev_cons": "forall a k: rev(a :: k) = rev(k) ++ (a :: nil)",
        "len_nil": "forall: len(nil) = 0",
        "len_cons": "forall a k: len(a :: k) = s(len(k))",
        "not_true": "forall: ~true = false",
        "not_false": "forall: ~false = true",
        "and_true": "forall p: true & p = p",
        "and_false": "forall p: false & p = false",
        "or_true": "forall p: true | p = true",
        "or_false": "forall p: false | p = p",
    }.items()
}
RULES = {head: tuple(e for e in AXIOMS.values() if e.left[0] == head) for head in SIGNATURES}


def faults(statement: Equation) -> str:
    """Why it says nothing, or says it of a variable that it hasn't; "" if it says something."""
    unused = set(statement.variables) - variables_of(statement.left) - variables_of(statement.right)
    if unused:
        return f"the variable {min(unused)} isn't used"
    if not statement.variables:
        return "it has no variable"
    return "both sides are the same" if statement.left == statement.right else ""


def refute(statement: Equation) -> str:
    """A point at which it is false, in words; "" where none was found. The same points for the same statement."""
    for point in _points(statement.variables):
        left, right = evaluate(statement.left, point), evaluate(statement.right, point)
        if left != right:
            where = ", ".join(f"{v} = {_value(x)}" for v, x in point.items())
            return f"at {where} the sides are {_value(left)} and {_value(right)}"
    return ""


def _points(variables: tuple[str, ...]) -> list[dict[str, Any]]:
    grid = islice(product(*(GRID[SORTS[v[0]]] for v in variables)), POINTS)
    rng = random.Random(0)
    drawn = [tuple(_draw(rng, SORTS[v[0]]) for v in variables) for _ in range(RANDOM)]
    return [dict(zip(variables, values, strict=True)) for values in (*grid, *drawn)]


def _draw(rng: random.Random, sort: str) -> Any:
    if sort == LIST:
        return tuple(rng.randrange(9) for _ in range(rng.randrange(6)))
    return rng.randrange(50) if sort == NAT else rng.random() < 0.5


def _value(value: Any) -> str:
    """A value as a term is written."""
    if isinstance(value, tuple):
        return " :: ".join([*map(str, value), "nil"])
    return f"{value}".lower()[:40]


def canon(statement: Equation) -> str:
    """One text for all names of the variables, both orientations, and however much nothing is added on either side."""
    sides = _unpadded(statement.left), _unpadded(statement.right)
    return min(_nameless(*sides), _nameless(*reversed(sides)))


def _unpadded(term: Term) -> Term:
    if term[0] in "vc":
        return term
    parts = [_unpadded(part) for part in term[1:]]
    nothing = NEUTRAL.get(term[0])
    if nothing in parts:
        return parts[1] if parts[0] == nothing else parts[0]
    return (term[0], *parts)


def _nameless(left: Term, right: Term) -> str:
    names: dict[str, str] = {}
    for leaf in (*leaves(left), *leaves(right)):
        names.setdefault(leaf[1], f"{LETTERS[SORTS[leaf[1][0]]][0]}{len(names)}")
    return f"{show(left, lambda leaf: names[leaf[1]])} = {show(right, lambda leaf: names[leaf[1]])}"


def instance(statement: Equation, lemma: Equation) -> bool:
    """Whether the lemma says it already, read from the left or from the right."""
    for left, right in ((statement.left, statement.right), (statement.right, statement.left)):
        found = match(lemma.left, left, {})
        if found is not None and match(lemma.right, right, found) is not None:
            return True
    return False


def shallow(lemmas: Mapping[str, Equation]) -> list[str]:
    """Proofs that need no thought: one rewriting, with simplification around it."""
    moves = [f"rw {arrow}{name}" for name in lemmas for arrow in ("", "<- ")]
    return ["simp", *(f"{start}{move}{end}" for move in moves for start in ("", "simp; ") for end in ("", "; simp"))]


# -- proofs --------------------------------------------------------------------------------------------------------


def begin(statement: Equation) -> tuple[Goal, ...]:
    return (Goal(statement, {}),)


def step(goals: tuple[Goal, ...], line: str, lemmas: Mapping[str, Equation], run: Run) -> tuple[Goal, ...]:
    """`induction a`, `simp`, `rw NAME`, `rw <- NAME 2` (the second place that it fits), or `refl`."""
    run.spend()
    if not goals:
        raise Malformed("everything is proved already")
    goal, rest = goals[0], goals[1:]
    word, *told = line.split()
    if word == "refl" and not told:
        if goal.equation.left != goal.equation.right:
            raise Malformed(f"the sides of {_words(goal)} differ")
        return rest
    if word == "simp" and not told:
        e = goal.equation
        return _closed(goal, e._replace(left=simplify(e.left, run), right=simplify(e.right, run))) + rest
    if word == "induction" and len(told) == 1:
        return _induction(goal, told[0], run) + rest
    if word == "rw" and told:
        back = told[0] == "<-"
        name, *which = told[back:] or [""]
        if len(which) <= 1:
            place = number(which[0], INSTANCES) if which else 1
            return _closed(goal, _rewrite(goal, name, back, place, lemmas, run)) + rest
    raise Malformed(f"{line[:40]!r} is no step: use induction, simp, rw or refl")


def _closed(goal: Goal, equation: Equation) -> tuple[Goal, ...]:
    """The goal with another equation; none if its sides are the same."""
    return () if equation.left == equation.right else (goal._replace(equation=equation),)


def simplify(term: Term, run: Run, level: int = 0) -> Term:
    """The term with the axioms applied from left to right, inside first, until none fits."""
    if level > run.limits.depth:
        raise Malformed(f"a term is more than {run.limits.depth} deep")
    if term[0] in "vc":
        return term
    term = (term[0], *[simplify(part, run, level + 1) for part in term[1:]])
    for rule in RULES[term[0]]:
        found = match(rule.left, term, {})
        if found is not None:
            run.spend()
            return simplify(_bounded(substitute(rule.right, found), run), run, level + 1)
    return term


def _bounded(term: Term, run: Run) -> Term:
    """The term, which costs fuel as it grows: each further step has to look at all of it."""
    parts = size(term)
    run.spend(parts // PARTS)
    if parts > run.limits.size or depth(term) > run.limits.depth:
        raise Malformed(f"a term has more than {run.limits.size} parts, or is more than {run.limits.depth} deep")
    return term


def _induction(goal: Goal, variable: str, run: Run) -> tuple[Goal, ...]:
    """One goal for each constructor; its hypotheses are general in the variables that stay free."""
    equation, hypotheses = goal
    if variable not in equation.variables:
        raise Malformed(f"{variable[:20]!r} is no free variable of {_words(goal)}")
    sort = SORTS[variable[0]]
    goals = []
    for constructor in CONSTRUCTORS[sort]:
        constants: list[Term] = []
        known = dict(hypotheses)
        for argument in SIGNATURES[constructor][0]:
            run.fresh += 1
            constants.append(("c", f"{variable[0] if argument == sort else LETTERS[argument][0]}#{run.fresh}"))
            if argument == sort:
                count = len(known) + 1
                known["IH" if count == 1 else f"IH{count}"] = equation.map({variable: constants[-1]})
        case = equation.map({variable: (constructor, *constants)})
        _bounded(case.left, run), _bounded(case.right, run)
        goals.append(Goal(case, known))
    return tuple(goals)


def _rewrite(goal: Goal, name: str, back: bool, which: int, lemmas: Mapping[str, Equation], run: Run) -> Equation:
    """The equation with the `which`th subterm that the named one fits replaced by its other side."""
    known = goal.hypotheses.get(name) or AXIOMS.get(name) or lemmas.get(name)
    if known is None:
        raise Malformed(f"there is no {name[:40]!r} to rewrite with")
    left, right = (known.right, known.left) if back else (known.left, known.right)
    if left[0] == "v" or not variables_of(right) <= variables_of(left):
        raise Malformed(f"{name} can't be read {'from the right' if back else 'from the left'}: it would fit anything")
    seen = 0
    for side in ("left", "right"):
        term = getattr(goal.equation, side)
        for at, part in positions(term):
            run.spend(part[0] == left[0])
            found = match(left, part, {})
            seen += found is not None
            if found is not None and seen == which:
                if name not in goal.hypotheses and name not in AXIOMS:
                    run.used[name] = None
                return goal.equation._replace(**{side: _bounded(put(term, at, substitute(right, found)), run)})
    raise Malformed(f"{name} fits {seen} places of {_words(goal)}")


def _words(goal: Goal) -> str:
    return f"{bare(show(goal.equation.left))} = {bare(show(goal.equation.right))}"[:120]


def goal_text(goal: Goal) -> str:
    """The goal as a statement: its constants are variables too, and its hypotheses are left out."""
    left, right, _ = goal.equation
    names: dict[str, str] = {}
    for leaf in (*leaves(left), *leaves(right)):
        sort, free = SORTS[leaf[1][0]], [n for n in LETTERS[SORTS[leaf[1][0]]] if n not in names.values()]
        if leaf[1] not in names:
            names[leaf[1]] = free[0] if free else f"{LETTERS[sort][0]}{len(names)}"
    words = [bare(show(side, lambda leaf: names[leaf[1]])) for side in (left, right)]
    bound = "".join(f" {name}" for name in sorted(names.values()))
    return f"forall{bound}: {words[0]} = {words[1]}"


def opening(goal: Goal) -> list[str]:
    """Lines that lead from the statement of `goal_text` back to the goal."""
    return []

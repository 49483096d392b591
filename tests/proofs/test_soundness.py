"""Nothing false is proved: a searcher that takes any step it is let take, from libraries that grow by what it proved.

Statements are made by rewriting one side with true equations, and then half of them are broken. What is accepted has to
hold at every point of a grid that is finer than the one that refutes, and in every row of its table.
"""

import random
import time
from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.proofs import GATES, Limits, equations, logic
from games.proofs.kernel import Run
from games.proofs.mini import Mini
from games.proofs.terms import (
    BOOL,
    CONSTRUCTORS,
    LIST,
    NAT,
    SIGNATURES,
    SORTS,
    Malformed,
    evaluate,
    match,
    positions,
    put,
    show,
    sort_of,
    substitute,
    variables_of,
)
from games.proofs.theorems import THEORIES

MINI = Mini()
GRID = {NAT: (0, 1, 2, 3, 5), LIST: ((), (0,), (1,), (0, 1), (2, 2, 1)), BOOL: (False, True)}
VARIABLES = {NAT: "ab", LIST: "kl", BOOL: "pq"}
HEADS = {sort: [head for head, (_, result) in SIGNATURES.items() if result == sort] for sort in GRID}
TRUE = [
    *equations.AXIOMS.values(),
    *(equations.read(t.statement) for theory in ("nat", "list", "bool") for t in THEORIES[theory].values()),
]
# A library may call its lemmas what it likes, also as the kernel calls its own things.
NAMES = ("IH", "IH2", "add_0", "h1", "rw", "<-", "simp", "a#1", "x y", "1", "")


def term(rng, sort, deep):
    if deep == 0 or rng.random() < 0.3:
        return ("v", rng.choice(VARIABLES[sort])) if rng.random() < 0.75 else (CONSTRUCTORS[sort][0],)
    head = rng.choice(HEADS[sort])
    return (head, *(term(rng, part, deep - 1) for part in SIGNATURES[head][0]))


def rewritten(rng, term_):
    """An equal term, by a true equation somewhere in it."""
    rule = rng.choice(TRUE)
    left, right = rng.choice([(rule.left, rule.right), (rule.right, rule.left)])
    if left[0] == "v" or not variables_of(right) <= variables_of(left):
        return term_
    places = [(at, found) for at, part in positions(term_) if (found := match(left, part, {})) is not None]
    if not places:
        return term_
    at, found = rng.choice(places)
    return put(term_, at, substitute(right, found))


def broken(rng, term_):
    at, part = rng.choice(list(positions(term_)))
    return put(term_, at, term(rng, sort_of(part), 2))


def equation(rng):
    left = term(rng, rng.choice([NAT, NAT, LIST, LIST, BOOL]), rng.randint(1, 3))
    right = left
    for _ in range(rng.randint(2, 12)):
        right = rewritten(rng, right)
    if rng.random() < 0.5:
        right = broken(rng, right)
    names = sorted(variables_of(left) | variables_of(right))
    return f"forall {' '.join(rng.sample(names, len(names)))}: {show(left)} = {show(right)}"


def false_somewhere(statement):
    rows = product(*(GRID[SORTS[v[0]]] for v in statement.variables))
    points = (dict(zip(statement.variables, row, strict=True)) for row in islice(rows, 700))
    return any(evaluate(statement.left, point) != evaluate(statement.right, point) for point in points)


def of_equations(rng, goal, lemmas):
    names = [*goal.hypotheses, *goal.hypotheses, *rng.sample([*equations.AXIOMS, *lemmas], 6)]
    rules = [f"rw {way}{name}{which}" for name in names for way in ("", "<- ") for which in ("", " 2")]
    return ["simp"] * 8 + [f"induction {v}" for v in goal.equation.variables] * 2 + rules


def of_logic(rng, goal, lemmas):
    hypotheses = [f"h{i}" for i in range(1, len(goal.hypotheses) + 1)]
    named = [f"{word} {name}" for word in ("cases", "apply") for name in hypotheses]
    lemmas = [f"apply {name}" for name in rng.sample(list(lemmas), min(3, len(lemmas)))]
    return ["assumption"] * 6 + ["intro", "intro", "split", "left", "right", "exfalso", "classical"] + named + lemmas


def searched(rng, kernel, statement, lemmas, moves):
    """A proof that was found by chance, "" where none was."""
    goals, run, said = kernel.begin(statement), Run(Limits()), []
    for _ in range(120):
        if not goals or len(said) == 40:
            break
        line = rng.choice(moves(rng, goals[0], lemmas))
        try:
            after = kernel.step(goals, line, lemmas, run)
        except Malformed:
            continue
        if after != goals and len(after) < 9:
            goals = after
            said.append(line)
    return "" if goals else "; ".join(said)


def formula(rng, deep):
    if deep == 0 or rng.random() < 0.25:
        return ("atom", rng.choice("pqr")) if rng.random() < 0.85 else logic.FALSE
    return (rng.choice(["&", "|", "->", "->"]), formula(rng, deep - 1), formula(rng, deep - 1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_search_never_ends_at_a_false_equation(seed):
    rng, library = random.Random(seed), {}
    for _ in range(6):
        text = equation(rng)
        try:
            statement = equations.read(text)
        except Malformed:  # too long
            continue
        lemmas = {name: equations.read(lemma) for name, lemma in library.items()}
        proof = searched(rng, equations, statement, lemmas, of_equations)
        if proof and MINI.check(text, proof, library).score:
            assert not false_somewhere(statement), (text, proof, library)
            assert not equations.refute(statement)
            library[rng.choice(NAMES)] = text


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_search_never_ends_at_a_false_proposition(seed):
    rng, library = random.Random(seed), {}
    for _ in range(12):
        statement = formula(rng, rng.randint(1, 3))
        text = logic.show(statement)
        lemmas = {name: logic.read(lemma) for name, lemma in library.items()}
        proof = searched(rng, logic, statement, lemmas, of_logic)
        if proof and MINI.check(text, proof, library).score:
            assert logic.refute(statement) == "", (text, proof, library)
            library[rng.choice(NAMES)] = text


def test_the_search_finds_proofs_at_all_and_meets_falsehoods():
    """Otherwise the tests above would say nothing."""
    rng, proved, false = random.Random(0), 0, 0
    for _ in range(150):
        statement = equations.read(equation(rng))
        false += false_somewhere(statement)
        proved += bool(searched(rng, equations, statement, {}, of_equations))
    assert proved > 30
    assert false > 40


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_the_table_refutes_just_what_python_finds_false(seed):
    """Python's own `and`, `or` and `<=` on booleans, in all rows."""
    statement = formula(random.Random(seed), 4)
    signs = {"&": "and", "|": "or", "->": "<="}

    def python(part):
        if part[0] == "atom":
            return part[1]
        return "False" if part == logic.FALSE else f"({python(part[1])} {signs[part[0]]} {python(part[2])})"

    code = compile(python(statement), "<formula>", "eval")
    rows = [dict(zip("pqr", row, strict=True)) for row in product((False, True), repeat=3)]
    assert bool(logic.refute(statement)) != all(eval(code, {}, row) for row in rows)


# -- bounds --------------------------------------------------------------------------------------------------------

EVERY = {name: theorem.statement for known in THEORIES.values() for name, theorem in known.items()}
LONG = [
    "forall a: " + "s(" * 10_000 + "a" + ")" * 10_000 + " = a",
    "~" * 1_000_000 + "p",
    "(" * 10_000 + "p" + ")" * 10_000,
    "p -> " * 10_000 + "p",
    "forall " + "a " * 500_000 + ": a = a",
    "forall: " + "1" * 1_000_000 + " = 1",
    " " * 1_000_000 + "p",
    "\n" * 1_000_000,
    "forall a: a = " + "~" * 280 + "a",
    "forall a: a = " + "s(" * 70 + "a" + ")" * 70,
]
SLOW = [
    "forall a b: a * 20 * 20 = a * 20 * 20 + 0 * b",
    "forall a: (a * 4) * 20 = a * (20 * 4)",
    "forall a: " + "20 + " * 14 + "a = a" + " + 20" * 14,
    "forall k: " + "rev(" * 30 + "k" + ")" * 30 + " = k",
    "forall k l: " + "rev(" * 20 + "k ++ l" + ")" * 20 + " = k ++ l",
    "p -> q -> r -> s -> t -> u -> v -> w -> " + " & ".join("pqrstuvw" * 4),
    " | ".join(f"({a} -> {b})" for a, b in zip("pqrstuvw" * 2, "qrstuvwp" * 2, strict=True)),
]


@pytest.mark.parametrize("statement", [*LONG, *SLOW], ids=range(len([*LONG, *SLOW])))
def test_a_hostile_statement_is_judged_soon(statement):
    begun = time.process_time()
    assert MINI.judge(statement, EVERY, ()).gate in ("", *GATES)
    for proof in ("simp", "simp; simp; simp", "induction k; simp; simp", "rw <- mul_s; " * 30, "intro;" * 8 + "split"):
        assert MINI.check(statement, proof, EVERY).status in ("proved", "rejected", "incomplete", "malformed")
    assert time.process_time() - begun < 3
    assert (MINI.judge(statement, EVERY, ()).gate == "malformed") == (statement in LONG)


@pytest.mark.parametrize(
    "proof",
    [
        ";" * 1_000_000,
        "simp " * 200_000,
        "x" * 1_000_000,
        "rw add_comm " + "9" * 1_900,
        "apply h" + "1" * 1_900,
        "induction a;" * 60,
        "classical;" * 60,
        "rw <- and_true;" * 60,
    ],
)
@pytest.mark.parametrize("statement", ["forall a b: a + b = b + a", "p -> p", "forall p q: p & q = q & p"])
def test_a_hostile_proof_is_refused_soon(statement, proof):
    begun = time.process_time()
    verdict = MINI.check(statement, proof, EVERY)
    assert (verdict.score, bool(verdict.reason)) == (0.0, True)
    assert time.process_time() - begun < 3


def test_eight_atoms_that_come_again_have_a_canonical_form():
    assert (
        MINI.canon("w & v & u & t & s & r & q & p -> w & p")
        == "((p & (q & (r & (s & (t & (u & (v & w))))))) -> (p & w))"
    )

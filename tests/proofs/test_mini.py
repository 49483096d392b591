"""The built-in checker proves what is true, by steps that it takes itself, and nothing else."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.proofs import GATES, Limits, equations, logic
from games.proofs.kernel import Run
from games.proofs.mini import QUICK, TRIED, Mini, replay
from games.proofs.terms import MEANINGS, SIGNATURES, Malformed, evaluate, show
from games.proofs.theorems import THEORIES

MINI = Mini()
EVERY = [(theory, name) for theory, known in THEORIES.items() for name in known]


def before(theory, name):
    """The theorems that stand before one."""
    names = list(THEORIES[theory])
    return {known: THEORIES[theory][known].statement for known in names[: names.index(name)]}


# -- what is proved ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theory", "name"), EVERY)
def test_every_theorem_is_proved_by_those_before_it(theory, name):
    theorem = THEORIES[theory][name]
    verdict = MINI.check(theorem.statement, theorem.proof, before(theory, name))
    assert (verdict.score, verdict.status, verdict.reason) == (1.0, "proved", "")
    assert set(verdict.used) <= set(before(theory, name))
    assert verdict == MINI.check(theorem.statement, theorem.proof, before(theory, name))


@pytest.mark.parametrize(("theory", "name"), EVERY)
def test_no_line_of_a_proof_can_be_left_out(theory, name):
    theorem = THEORIES[theory][name]
    lines = theorem.proof.split("; ")
    for i in range(len(lines)):
        verdict = MINI.check(theorem.statement, "; ".join(lines[:i] + lines[i + 1 :]), before(theory, name))
        assert verdict.score == 0.0


def test_used_are_the_lemmas_that_a_proof_applied():
    known = {**before("nat", "add_comm"), "other": "forall a: a + 1 = 1 + a"}
    theorem = THEORIES["nat"]["add_comm"]
    assert MINI.check(theorem.statement, theorem.proof, known).used == ("zero_add", "succ_add")


@pytest.mark.parametrize("name", equations.AXIOMS)
def test_the_axioms_are_true_of_the_values_that_refute(name):
    assert equations.refute(equations.AXIOMS[name]) == ""


# -- cheats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "proof", "told"),
    [
        ("forall a b: a + b = b + a", "rw IH", "no 'IH'"),
        ("forall a: 0 + a = s(a)", "induction a; rw IH", "no 'IH'"),
        ("forall a b: a + b = a", "induction b; simp; simp; rw IH", "isn't|goals|fits"),
        ("forall a b: a + b = b + a", "rw <- add_0", "it would fit anything"),
        ("forall a: 0 + a = a", "sorry", "is no step"),
        ("forall a: 0 + a = a", "__import__('os').system('id')", "is no step"),
        ("forall a: 0 + a = a", "", "1 goals are left"),
        ("forall a: 0 + a = a", "refl", "differ"),
        ("forall a: 0 + a = a", "induction a; simp; simp; rw IH; refl", "proved already"),
        ("forall a: a + 0 = a", "simp; simp", "proved already"),
        ("forall a b: a + b = b + a", "induction c", "no free variable"),
        ("forall a: 0 + a = a", "induction a; simp; induction a", "no free variable"),
        ("p", "assumption", "doesn't fit"),
        ("p | q -> p", "intro; cases h1; assumption; assumption", "doesn't fit"),
        ("p -> q", "intro; exfalso; apply h1", "doesn't end in"),
        ("p", "classical; apply h1; classical; apply h2; apply h1", "doesn't fit|goals are left|doesn't end"),
        ("p -> q", "intro; apply h2", "number from 1 to 1"),
    ],
)
def test_cheats_are_rejected_with_the_reason(statement, proof, told):
    verdict = MINI.check(statement, proof, {})
    assert verdict.score == 0.0
    assert verdict.reason
    if "|" not in told:
        assert told in verdict.reason


def test_a_theorem_is_proved_neither_by_its_own_name_nor_by_what_came_after_it():
    """O-44."""
    comm = "forall a b: a + b = b + a"
    known = {"first": "forall a: 0 + a = a", "add_comm": comm, "later": "forall x y: y + x = x + y"}
    assert MINI.check(comm, "rw add_comm", known).reason == "line 1: there is no 'add_comm' to rewrite with"
    assert MINI.check(comm, "rw later", known).score == 0.0
    assert MINI.check("forall x y: y + x = x + y", "rw add_comm", known).score == 0.0
    assert MINI.check("forall a b: (a + b) * 1 = (b + a) * 1", "rw add_comm", known).score == 1.0
    assert MINI.check("p | ~p", "apply middle", {"middle": "q | ~q"}).score == 0.0
    special, general = "forall a: 0 + s(a) = s(a)", "forall a: 0 + a = a"
    assert MINI.check(special, "rw general", {"general": general, "special": special}).score == 1.0
    assert MINI.check(special, "rw general", {"special": special, "general": general}).score == 0.0


def test_an_edited_statement_under_a_known_name_is_proved_by_its_own_proof_only():
    """O-44."""
    theorem = THEORIES["nat"]["zero_add"]
    replay({"zero_add": theorem.statement}, {"zero_add": theorem.proof})
    with pytest.raises(ValueError, match="lemma 'zero_add', 'forall a: 0 \\+ a = 0', isn't proved"):
        replay({"zero_add": "forall a: 0 + a = 0"}, {"zero_add": theorem.proof})
    with pytest.raises(ValueError, match="isn't proved"):
        replay({"later": "forall a: 0 + a = a", "first": "forall a: 0 + a = a + 0"}, {"later": "rw first; simp"})


def test_a_lemma_of_the_other_kind_is_never_applied():
    assert MINI.check("p | ~p", "apply zero_add", {"zero_add": "forall a: 0 + a = a"}).score == 0.0


@pytest.mark.parametrize(
    ("statement", "proof"),
    [
        ("forall a b: a + b = b + a", "rw add_comm_;" * 70),
        ("forall a: 0 + a = a", "induction a;" * 60),
        ("forall a: " + "(" * 90 + "a" + ")" * 90 + " = a", "refl"),
        ("forall a: 20 * 20 * 20 * 20 * a = a", "simp"),
        ("forall a: 99999 = a", "simp"),
        ("forall a: a = " + "a + " * 100 + "a", "simp"),
        ("~" * 200 + "p", "intro"),
        ("p -> " * 60 + "p", "intro"),
        ("forall a: 0 + a = a", "rw add_0 99999999999999999999"),
        ("forall a: 0 + a = a", "x" * 10_000),
        ("forall a: ٣ + a = a", "simp"),
    ],
)
def test_bombs_are_refused_and_never_raise(statement, proof):
    verdict = MINI.check(statement, proof, {})
    assert (verdict.score, bool(verdict.reason)) == (0.0, True)


def test_a_lemma_is_applied_only_where_its_conclusion_says_what_all_of_its_atoms_are():
    chain = {"chain": "(p -> q) -> (q -> r) -> p -> r"}
    assert "doesn't end in" in MINI.check("p -> p", "intro; apply chain", chain).reason


def test_each_induction_has_constants_of_its_own():
    """With one constant for both it would be proved: it fails only where both are positive and differ."""
    said = "induction a1; simp; rw zero_mul; rw zero_mul; rw zero_mul; induction a2; simp; refl"
    verdict = MINI.check("forall a1 a2: (a1 * a1) * a2 = (a1 * a2) * a2", said, {"zero_mul": "forall a: 0 * a = 0"})
    assert (verdict.score, verdict.steps) == (0.0, 7)


def test_fuel_bounds_all_shallow_proofs_of_a_statement_together(monkeypatch):
    spent, spend = [], Run.spend
    monkeypatch.setattr(Run, "spend", lambda run, units=1: spent.append(units) or spend(run, units))
    known = {f"lemma_{i}": f"forall a: {i} + a = a + {i}" for i in range(1, 20)}
    assert MINI.judge("forall a: (a * 4) * 20 = a * (20 * 4)", known, ()).gate == ""
    assert TRIED < sum(spent) < TRIED + 2 * QUICK.fuel


def test_fuel_bounds_a_proof():
    theorem = THEORIES["nat"]["zero_add"]
    assert MINI.check(theorem.statement, theorem.proof, {}, Limits(fuel=3)).reason.endswith("more than 3 steps")


def test_formulas_of_lemmas_cannot_double_for_ever():
    known = {"twice": "p & p -> p"}
    verdict = MINI.check("q", "apply twice; split;" * 30, known, Limits(lines=100))
    assert verdict.score == 0.0


# -- admission -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "gate"),
    [
        ("forall a: a + b = a", "malformed"),
        ("forall a: a = nil", "malformed"),
        ("forall a a: a = a", "malformed"),
        ("forall s: s = 0", "malformed"),
        ("forall a: a = a a", "malformed"),
        ("import os", "malformed"),
        ("p ->", "malformed"),
        ("forall a b: a * 0 = 0 + 0 * a", "vacuous"),
        ("forall: 1 + 1 = 2", "vacuous"),
        ("forall a: s(a) = s(a)", "vacuous"),
        ("p & ~p -> q", "vacuous"),
        ("~false", "vacuous"),
        ("forall a b: a * b = a + b", "refuted"),
        ("forall k l: k ++ l = l ++ k", "refuted"),
        ("forall p q: p & q = p", "refuted"),
        ("p -> q", "refuted"),
        ("forall x: x = 0 + x", "duplicate"),
        ("forall a: a + 0 = 0 + a", "duplicate"),
        ("r & q -> q & r", "duplicate"),
        ("forall a b: 0 + a * b = a * b", "instance"),
        ("forall a: s(a) * 0 = 0", "instance"),
        ("(p -> q) & r -> r & (p -> q)", "instance"),
        ("forall a: a + 2 = s(s(a))", "trivial"),
        ("forall a b: s(0 + a * b) = s(a * b)", "trivial"),
        ("p -> q -> p & q", "trivial"),
        ("forall a b: a + b = b + a", ""),
        ("((p -> q) -> p) -> p", ""),
    ],
)
def test_the_first_gate_that_fails_refuses(statement, gate):
    known = {"zero_add": "forall a: 0 + a = a", "and_swap": "p & q -> q & p"}
    found = MINI.judge(statement, known, ())
    assert (found.gate, bool(found.reason)) == (gate, bool(gate))
    assert not gate or gate in GATES


def test_what_was_seen_is_a_duplicate_by_any_name_orientation_and_padding():
    seen = {MINI.canon("forall a b: a + b = b + a")}
    for said in ("forall x y: x + y = y + x", "forall b a: b + a = a + b", "forall a b: (a + 0) + b = b + (0 + a)"):
        assert MINI.judge(said, {}, seen).gate == "duplicate"
    assert MINI.judge("forall a b: a * b = b * a", {}, seen).gate == ""


# -- hints ---------------------------------------------------------------------------------------------------------


def test_a_step_shows_what_is_left():
    assert MINI.step("forall a b: a + b = b + a", "induction b; simp", {}) == (
        "forall a: a = 0 + a",
        "forall a b: a + s(b) = s(b) + a",
    )
    with pytest.raises(ValueError, match="no step"):
        MINI.step("forall a: 0 + a = a", "magic", {})


def test_hindsight_gives_theorems_with_proofs_of_their_own():
    said = "intro; cases h1; split; intro; cases h4; apply h2; assumption; apply h3; assumption; assumption"
    stated = "(p -> r) & (q -> r) -> (p | q -> r) & s"
    found = MINI.hindsight(stated, said, {})
    assert MINI.check(stated, said, {}).score == 0.0
    assert len(found) == 5
    for statement, proof in found:
        assert MINI.check(statement, proof, {}).score == 1.0
        assert logic.refute(logic.read(statement)) == ""


def test_hindsight_leaves_out_what_leant_on_a_hypothesis():
    theorem = THEORIES["nat"]["add_assoc"]
    assert [reached for reached, _ in MINI.hindsight(theorem.statement, theorem.proof, {})] == [
        "forall a b: (a + b) + 0 = a + (b + 0)"
    ]


# -- soundness, by chance ------------------------------------------------------------------------------------------

NATS = st.recursive(
    st.sampled_from([("v", "a"), ("v", "b"), ("0",), ("s", ("0",))]),
    lambda t: st.one_of(st.tuples(st.just("s"), t), st.tuples(st.sampled_from("+*"), t, t)),
    max_leaves=5,
)
FORMULAS = st.recursive(
    st.sampled_from([("atom", "p"), ("atom", "q"), ("false",)]),
    lambda f: st.tuples(st.sampled_from(["&", "|", "->"]), f, f),
    max_leaves=5,
)
RULES = [*equations.AXIOMS, "IH", "IH2", "zero_add", "succ_add", "add_comm"]
MOVES = st.sampled_from(
    [
        "induction a",
        "induction b",
        "simp",
        "refl",
        *(f"rw {way}{name}{k}" for name in RULES for way in ("", "<- ") for k in ("", " 2")),
    ]
)
DEDUCTIONS = st.sampled_from(
    [
        *logic.PLAIN,
        *(f"{word} h{i}" for word in ("cases", "apply") for i in range(1, 5)),
        "apply chain",
        "apply not_not",
    ]
)


@settings(max_examples=150, deadline=None)
@given(NATS, NATS, st.lists(MOVES, max_size=8))
def test_no_false_equation_is_ever_proved(left, right, moves):
    known = before("nat", "add_assoc")
    statement = f"forall a b: {show(left)} = {show(right)}"
    for proof in ("; ".join(moves), "induction a; simp; simp; rw IH", "simp; rw add_comm; simp"):
        if MINI.check(statement, proof, known).score:
            assert equations.refute(equations.read(statement)) == ""


@settings(max_examples=150, deadline=None)
@given(FORMULAS, st.lists(DEDUCTIONS, max_size=9))
def test_no_false_proposition_is_ever_proved(formula, moves):
    known = {name: THEORIES["logic"][name].statement for name in ("chain", "not_not")}
    statement = logic.show(formula)
    for proof in ("; ".join(moves), "intro; assumption", "classical; apply h1; intro; assumption"):
        if MINI.check(statement, proof, known).score:
            assert logic.refute(logic.read(statement)) == ""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(EVERY), st.data())
def test_a_mutated_proof_never_proves_a_false_statement(chosen, data):
    """The right side is that of another theorem, the proof has a line changed."""
    theory, name = chosen
    known = before(theory, name)
    other = data.draw(st.sampled_from(list(THEORIES[theory].values())))
    lines = THEORIES[theory][name].proof.split("; ")
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(DEDUCTIONS if theory == "logic" else MOVES)
    for statement in (other.statement, THEORIES[theory][name].statement.replace("a", "b", 1).replace("+", "*", 1)):
        if MINI.check(statement, "; ".join(lines), known).score:
            assert MINI.judge(statement, {}, ()).gate != "refuted"


@settings(max_examples=60, deadline=None)
@given(NATS, NATS, st.integers(0, 5), st.integers(0, 5))
def test_simplifying_keeps_the_value_and_showing_keeps_the_term(left, right, a, b):
    term, point = ("+", left, right), {"a": a, "b": b}
    with suppress(Malformed):  # too large
        assert evaluate(equations.simplify(term, Run(Limits())), point) == evaluate(term, point)
    assert equations.read(f"forall a b: {show(term)} = 0").left == term


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_judged_and_checked_without_an_error(statement, proof):
    assert MINI.judge(statement, {}, ()).gate in ("", *GATES)
    assert MINI.check(statement, proof, {}).score in (0.0, 1.0)
    assert MINI.check("forall a: 0 + a = a", proof, {}).score == 0.0


def test_every_symbol_has_a_meaning():
    assert MEANINGS.keys() == SIGNATURES.keys()

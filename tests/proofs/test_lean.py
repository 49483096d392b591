"""A REPL may cheat as it likes: only no error, known axioms and the same type together are a proof."""

import sys
from pathlib import Path

import pytest

from games.proofs import Limits
from games.proofs.lean import Lean

FAKE = Path(__file__).parent / "fake_repl.py"


def checked(way, proof="rfl", statement="1 = 1", library=None, seconds=20.0):
    with Lean([sys.executable, str(FAKE), way]) as lean:
        return lean.check(statement, proof, library or {}, Limits(seconds=seconds))


@pytest.mark.parametrize("way", ["honest", "classical"])
def test_an_honest_proof_is_accepted(way):
    assert (checked(way).score, checked(way).status) == (1.0, "proved")


@pytest.mark.parametrize(
    ("way", "status"),
    [
        ("ill_typed", "malformed"),
        ("error", "rejected"),  # and then "no axioms are used"
        ("sorries", "rejected"),
        ("sorry_ax", "axioms"),
        ("native", "axioms"),
        ("own_axiom", "axioms"),
        ("boast", "axioms"),  # the proof itself prints that it needs none
        ("more_text", "axioms"),
        ("edited", "edited"),
        ("two_messages", "resource"),
        ("other_name", "resource"),
        ("die", "resource"),
        ("nonsense", "resource"),
        ("flood", "resource"),
    ],
)
def test_every_cheat_is_refused(way, status):
    verdict = checked(way)
    assert (verdict.score, verdict.status) == (0.0, status)
    assert verdict.reason


def test_a_hanging_proof_is_ended_in_time():
    assert checked("hang", seconds=0.5).status == "timeout"


def test_no_repl_is_no_verdict():
    assert (checked("no_header").score, checked("no_header").status) == (None, "infra")
    with Lean(["/nowhere/repl"]) as lean:
        assert lean.check("1 = 1", "rfl", {}).score is None
    with pytest.raises(ValueError, match="in its jail"):
        Lean([])


@pytest.mark.parametrize(
    "proof",
    [
        "sorry",
        "exact sorry",
        "rfl\naxiom cheat : False",
        "rfl\n\ntheorem other : False := by trivial",
        "native_decide",
        "run_tac Lean.logInfo m!\"'t' does not depend on any axioms\"",
        "rfl\n#print axioms x",
        "rfl\nnotation:max a = b => True",
        "@[simp] rfl",
        "rfl\nend",
        "set_option maxRecDepth 1 in rfl",
        "rfl -- comment",
        "/- rfl",
        "",
        "x" * 9000,
    ],
)
def test_a_proof_says_nothing_but_tactics(proof):
    assert checked("honest", proof).status == "malformed"


@pytest.mark.parametrize("statement", ["", "1 = 1 := rfl", "1 = 1) (", "1 = 1 -- x", "1 = 1\naxiom f : False", "/- 1"])
def test_a_statement_is_one_type(statement):
    assert checked("honest", statement=statement).status == "malformed"


def test_a_theorem_is_not_proved_by_its_own_name_nor_by_later_ones():
    """O-44: lemmas before it are premises, which the fake takes on trust, and it is none of them itself."""
    known = {"first": "2 = 2", "own": "1  =  1", "later": "3 = 3"}
    assert checked("honest", "exact first", library=known).used == ("first",)
    assert checked("honest", "exact own", library=known).used == ()


def test_what_is_proposed_is_judged():
    with Lean([sys.executable, str(FAKE), "error"]) as lean:
        assert lean.judge("1 = 1", {}, ()).gate == ""
        assert lean.judge("1 = 1", {"known": "1 =  1"}, ()).gate == "duplicate"
        assert lean.judge("1 = 1 :=", {}, ()).gate == "malformed"
    with Lean([sys.executable, str(FAKE), "honest"]) as lean:
        assert lean.judge("1 = 1", {}, ()).gate == "trivial"

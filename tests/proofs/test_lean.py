"""A REPL may cheat as it likes: only no error, known axioms and the same type together are a proof.

The REPL is a fake, but the jail around it is the one of the real one.
"""

import sys
import time
from pathlib import Path

import pytest

from arena.sandbox import SandboxUnavailable, probe
from arena.sandbox.mounts import interpreter
from games.proofs import Limits
from games.proofs.lean import AXIOMS, Lean

FAKE = Path(__file__).parent / "fake_repl.py"


@pytest.fixture(autouse=True)
def jail(request):
    if (why := probe.trouble("bwrap")) and "monkeypatch" not in request.fixturenames:
        pytest.skip(why)


def repl(way):
    return Lean(
        [str(interpreter()), "-S", str(FAKE), way],
        [sys.base_prefix, FAKE],
        environment={"LD_LIBRARY_PATH": f"{sys.base_prefix}/lib", "PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture(scope="module")
def honest():
    if why := probe.trouble("bwrap"):
        pytest.skip(why)
    with repl("honest") as lean:
        yield lean


def checked(way, proof="rfl", statement="1 = 1", library=None, seconds=20.0):
    with repl(way) as lean:
        return lean.check(statement, proof, library or {}, Limits(seconds=seconds))


@pytest.mark.parametrize("way", ["honest", "classical"])
def test_an_honest_proof_is_accepted(way):
    verdict = checked(way)
    assert (verdict.score, verdict.status, verdict.reason) == (1.0, "proved", "")


def test_three_axioms_are_trusted():
    assert {"propext", "Quot.sound", "Classical.choice"} == AXIOMS


@pytest.mark.parametrize(
    ("way", "status"),
    [
        ("ill_typed", "malformed"),
        ("error", "rejected"),  # and then "no axioms are used"
        ("odd_severity", "rejected"),
        ("sorries", "rejected"),
        ("sorry_ax", "axioms"),
        ("native", "axioms"),
        ("own_axiom", "axioms"),
        ("more_text", "axioms"),
        ("boast", "axioms"),  # the proof itself prints that it needs none
        ("edited", "edited"),
        ("cut", "resource"),
        ("two_messages", "resource"),
        ("other_name", "resource"),
        ("die", "resource"),
        ("flood", "resource"),
        ("nonsense", "resource"),
        ("number", "resource"),
        ("list", "resource"),
        ("no_env", "resource"),
        ("true_env", "resource"),
        ("text_messages", "resource"),
        ("number_message", "resource"),
        ("no_severity", "resource"),
        ("text_sorries", "resource"),
        ("deep", "resource"),
        ("two_answers", "resource"),
    ],
)
def test_every_cheat_is_refused(way, status):
    verdict = checked(way)
    assert (verdict.score, verdict.status) == (0.0, status)
    assert verdict.reason


def test_an_answer_before_its_question_is_no_answer():
    """Whether it is seen when it comes, or read in place of the next one and then doesn't fit, is a matter of time."""
    assert checked("ahead").status in ("resource", "axioms")


@pytest.mark.parametrize("way", ["hang", "drip"])
def test_a_proof_without_end_is_ended_in_time(way):
    begun = time.monotonic()
    with repl(way) as lean:
        assert lean.check("1 = 1", "rfl", {}, Limits(seconds=0.5)).status == "timeout"
        assert not lean.dialogue.running
    assert time.monotonic() - begun < 20


def test_a_hostile_proof_is_in_a_jail_and_cannot_forge_the_header():
    assert checked("escape").reason == "escaped: []"


def heard(ask, texts):
    """The same method, which keeps what is asked."""
    return lambda text, *more: texts.append(text) or ask(text, *more)


def test_the_header_is_imported_once_and_read_by_every_process_after_it(monkeypatch):
    with repl("honest") as lean:
        imports = []
        monkeypatch.setattr(lean.first, "ask", heard(lean.first.ask, imports))
        for _ in range(3):
            assert lean.check("1 = 1", "rfl", {}).score == 1.0
            lean.close()
        assert len(imports) == 2
        assert '"cmd": "import Mathlib"' in imports[0]
        assert '"pickleTo"' in imports[1]
        folder = lean.pickle.parent
    del lean
    monkeypatch.undo()
    assert not folder.exists()


@pytest.mark.parametrize(("way", "told"), [("no_header", "unknown package"), ("no_pickle", "isn't pickled")])
def test_no_header_is_no_verdict(way, told):
    verdict = checked(way)
    assert (verdict.score, verdict.status) == (None, "infra")
    assert told in verdict.reason


def test_without_a_jail_nothing_runs(monkeypatch):
    monkeypatch.setattr("arena.sandbox.probe.trouble", lambda tier: "bwrap is neither on PATH nor in a package")
    with pytest.raises(SandboxUnavailable, match="isn't run without a jail that holds: bwrap is neither"):
        repl("honest")


def test_a_repl_has_to_be_there():
    with pytest.raises(SandboxUnavailable, match="/nowhere/repl isn't there"):
        Lean(["/nowhere/repl"])
    with pytest.raises(ValueError, match="command is empty"):
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
        "run_elab pure ()",
        "exact eval% cheat",
        "rfl\n#print axioms x",
        "rfl\nnotation:max a = b => True",
        'rfl\ninfix:50 " = " => fun _ _ => True',
        "rfl\nsimproc cheat (_) := fun _ => pure .continue",
        "rfl\nalias a := b",
        "@[simp] rfl",
        "rfl\nend",
        "rfl\nwhere x : Nat := 1",
        "set_option maxRecDepth 1 in rfl",
        "rfl -- comment",
        "/- rfl",
        "",
        "x" * 9000,
    ],
)
def test_a_proof_says_nothing_but_tactics(honest, proof):
    assert honest.check("1 = 1", proof, {}).status == "malformed"


@pytest.mark.parametrize(
    "proof", ["exact h.end", "exact h.def.1", "apply end_of", "simp [le_local]", "exact this_where"]
)
def test_banned_words_are_banned_as_words_only(honest, proof):
    assert honest.check("1 = 1", proof, {}).score == 1.0


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "1 = 1 := rfl",
        "1 = 1) (",
        "1 = 1 -- x",
        "1 = 1\naxiom f : False",
        "/- 1",
        '"(" = "x")',
        "'(' = 'x')",
        "sorry",
    ],
)
def test_a_statement_is_one_type(honest, statement):
    assert honest.check(statement, "rfl", {}).status == "malformed"


def test_a_theorem_is_not_proved_by_its_own_name_nor_by_later_ones(honest):
    """O-44: lemmas before it are premises, which the fake takes on trust, and it is none of them itself."""
    known = {"first": "2 = 2", "own": "1  =  1", "later": "3 = 3"}
    assert honest.check("1 = 1", "exact first", known).used == ("first",)
    assert honest.check("1 = 1", "exact own", known).used == ()


@pytest.mark.parametrize("name", ["sorry", "x : False) (y", "a b", "", "1x", "end"])
def test_a_lemma_has_a_plain_name(honest, name):
    assert honest.check("1 = 1", "rfl", {name: "2 = 2"}).status == "malformed"


def test_what_is_proposed_is_judged(honest):
    with repl("error") as lean:
        assert lean.judge("1 = 1", {}, ()).gate == ""
        assert lean.judge("1 = 1", {"known": "1 =  1"}, ()).gate == "duplicate"
        assert lean.judge("1 = 1 :=", {}, ()).gate == "malformed"
    assert honest.judge("1 = 1", {}, ()).gate == "trivial"
    with repl("no_header") as lean, pytest.raises(RuntimeError, match="unknown package"):
        lean.judge("1 = 1", {}, ())

"""Coq judges as we do, wherever it is installed; what it is sent is tested as text everywhere."""

import re
import time
from functools import partial
from pathlib import Path

import pytest

from arena.sandbox import SandboxUnavailable
from games.proofs import Limits
from games.proofs.coq import Coq
from games.proofs.coq_text import check_statement, sentences, tactics, translate
from games.proofs.terms import Malformed
from games.proofs.theorems import THEORIES

COMM = "forall n m : nat, n + m = m + n"
INDUCTION = (
    "induction n as [|n IH]; intros m; simpl. - rewrite <- plus_n_O; reflexivity. - rewrite IH, plus_n_Sm; reflexivity."
)
PATIENT = Limits(seconds=60.0)  # where it doesn't end by time
CASES = "repeat match goal with b : bool |- _ => destruct b end"
WAYS = {
    "nat": "intros; ring.",
    "list": "intros; rewrite ?app_nil_r, ?app_length, ?rev_app_distr, ?rev_involutive, ?rev_length, ?app_assoc; "
    "try reflexivity; ring.",
    "bool": f"intros; {CASES}; reflexivity.",
    "logic": "intros em p; destruct (em p); try (intros q; destruct (em q)); tauto.",
}


@pytest.fixture(scope="module")
def coq():
    try:
        made = Coq()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with made as running:
        yield running


# -- as text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("forall a b: a + b = b + a", "forall (a : nat) (b : nat), (Nat.add a b) = (Nat.add b a)"),
        ("forall a: 0 * a = s(2)", "forall (a : nat), (Nat.mul 0%nat a) = (S (S (S 0%nat)))"),
        (
            "forall a k: len(rev(a :: k)) = s(len(k ++ nil))",
            "forall (a : nat) (k : list nat), ((@length nat) ((@rev nat) (cons a k))) = "
            "(S ((@length nat) ((@app nat) k (@nil nat))))",
        ),
        ("forall p q: ~(p & q) = ~p | true", "forall (p : bool) (q : bool), (negb (andb p q)) = (orb (negb p) true)"),
        ("~q -> p & false", r"(forall X : Prop, X \/ ~ X) -> forall p q : Prop, ((q -> False) -> (p /\ False))"),
        ("forall: 1 = 0", "(S 0%nat) = 0%nat"),
    ],
)
def test_a_statement_says_the_same_in_coq(ours, theirs):
    assert translate(ours) == theirs
    check_statement(theirs)


def test_sentences_end_at_a_dot_and_a_blank_outside_of_comments_and_strings():
    said = 'simpl. (* a. (* b. *) c. *) exact (Nat.add_0_r n). idtac "x. y".\nring'
    assert sentences(said) == ["simpl", "exact (Nat.add_0_r n)", 'idtac "x. y"', "ring"]
    assert sentences("simpl.(* x *)ring.") == ["simpl", "ring"]
    for open_ended in ("exact I. (* ", 'idtac "x', "(* (* *) exact I."):
        with pytest.raises(Malformed, match="isn't closed"):
            sentences(open_ended)


@pytest.mark.parametrize(
    "proof",
    [
        "intros; admit.",
        "intros. Admitted.",
        "Abort. Axiom f : False. Theorem x : False. exact f.",
        "exact I. Qed. Theorem y : True. exact I.",
        'Abort. Notation "x = y" := True.',
        "Unset Guard Checking. exact I.",
        'Redirect "/tmp/x" Print nat. exact I.',
        "Drop. exact I.",
        'Load "/etc/passwd". exact I.',
        "exact_no_check I.",
        "- Qed.",
        "ltac2:(()).",
        "exact I. (* ",
        "simpl. " * 2000,
        "((* *)* x *) Parameter bad : False.",
        "idtac.(* x *)Parameter bad : False.",
        "idtac *) Parameter bad : False.",
        "idtac... Parameter bad : False.",
        "idtac...Parameter bad : False.",
        'idtac.. Notation "1" := 0 : nat_scope.',
        "1: { Parameter bad : False. }",
        "[x]: { Parameter bad : False. }",
        "1: {} - all: { Parameter bad : False. }",
        "all: Parameter bad : False.",
        "} - { Unset Guard Checking. }",
        "idtac.\u00a0Parameter bad : False.",
        "idtac.\rParameter bad : False.",
        "idtac.\x0cParameter bad : False.",
    ],
)
def test_a_proof_is_tactics_and_nothing_else(proof):
    with pytest.raises(Malformed):
        tactics(proof)


@pytest.mark.parametrize(
    "statement", ["True. Axiom f : False", "True.", "True) (", ")(", "True := I", 'True "x"', "(* True", "Admitted"]
)
def test_a_statement_is_one_term(statement):
    with pytest.raises(Malformed):
        check_statement(statement)


def test_without_coq_or_without_a_jail_nothing_runs(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="apt-get install --no-install-recommends coq"):
        Coq()
    monkeypatch.setattr("shutil.which", lambda name: "/bin/sh")
    monkeypatch.setattr("arena.sandbox.probe.trouble", lambda tier: "bwrap: no user namespaces")
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(SandboxUnavailable, match="isn't run without a jail that holds: bwrap: no user namespaces"):
        Coq()


# -- with Coq ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("theory", "name"), [(theory, name) for theory, known in THEORIES.items() for name in known])
def test_every_theorem_of_ours_is_one_of_coq(coq, theory, name):
    verdict = coq.check(translate(THEORIES[theory][name].statement), WAYS[theory], {}, PATIENT)
    assert (verdict.status, verdict.reason) == ("proved", "")


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["forall a b: a + b = a", "forall k l: k ++ l = l ++ k", "forall p q: p & q = p"])
def test_what_we_refute_coq_does_not_prove(coq, statement):
    assert coq.check(translate(statement), "intros; try ring; try lia; try reflexivity; auto.", {}).score == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "proof", "status"),
    [
        (COMM, INDUCTION, "proved"),
        (COMM, "intros; lia.", "proved"),
        (r"forall P Q : Prop, P /\ Q -> Q /\ P", "intros P Q [p q]. split. - exact q. - exact p.", "proved"),
        (COMM, "intros; reflexivity.", "rejected"),
        (COMM, "intros.", "incomplete"),
        (COMM, "", "incomplete"),
        ("forall n : nat, n + 1 = n", "intros; lia.", "rejected"),
        ("forall n : nat, n + true = n", "intros; lia.", "malformed"),
        (COMM, "intros; admit.", "malformed"),
        (COMM, "intros. Admitted.", "malformed"),
        ("False", "Abort. Axiom f : False. Theorem x : False. exact f.", "malformed"),
        ("False", "exact I. Qed. Theorem y : True. exact I.", "malformed"),
        ("True. Axiom f : False", "exact I.", "malformed"),
        (COMM, 'Abort. Notation "x = y" := True. Theorem x: 1=2. exact I.', "malformed"),
        ("False", "Unset Guard Checking. exact I.", "malformed"),
        ("True", 'Redirect "/tmp/x" Print nat. exact I.', "malformed"),
        ("True", "Drop. exact I.", "malformed"),
        ("True", 'Load "/etc/passwd". exact I.', "malformed"),
        ("False", 'idtac "Closed under the global context".', "incomplete"),
        ("False", 'idtac "The command has indeed failed". exact I.', "rejected"),
        ("False", "(* . Axiom f: False. *) exact I.", "rejected"),
        ("False", "exact I. (* ", "malformed"),
        ("False", "exact_no_check I.", "malformed"),
        ("False", "repeat (let x := constr:(1) in idtac).", "incomplete"),
        ("False", "(let rec f x := f x in f I).", "timeout rejected"),  # whichever ends first: the time, or the stack
        ("False", "do 2000000000 idtac.", "timeout"),
        ("False", "exfalso; assumption.", "rejected"),
        ("False", "shelve.", "incomplete"),
        ("True", "{ exact I. }", "proved"),
        ("True", "1: { exact I. }", "proved"),
        ("True", "all: exact I.", "proved"),
        (COMM, f"{INDUCTION} ", "proved"),
        ("False", "exact I.", "rejected"),
    ],
)
def test_coq_accepts_what_is_proved_and_refuses_every_cheat(coq, statement, proof, status):
    limits = Limits(seconds=2.0) if "timeout" in status else PATIENT
    assert coq.check(statement, proof, {}, limits).status in status.split()


@pytest.mark.slow
def test_lemmas_are_premises_and_a_theorem_is_none_of_its_own(coq):
    """O-44."""
    known = {"h": "forall n : nat, n + 0 = n", "own": COMM, "later": "forall n : nat, n = n"}
    assert coq.check("forall n : nat, 0 + n + 0 = n", "intros. rewrite h. reflexivity.", known).used == ("h",)
    for name in ("own", "later"):
        assert coq.check(COMM, f"exact {name}.", known).status == "rejected"


@pytest.mark.slow
def test_what_is_proposed_is_judged(coq):
    assert coq.judge(COMM, {}, ()).gate == ""
    assert coq.judge(COMM, {"add_comm": COMM.replace(" ", "  ")}, ()).gate == "duplicate"
    assert coq.judge("forall n : nat, n = n", {}, ()).gate == "trivial"
    assert coq.judge("forall n : nat, n", {}, ()).gate == "malformed"


# What the tactics may say can't be all that stands between a proof and this machine: here it isn't asked.
VERNACULAR = [
    'Redirect "/tmp/escape" Print nat.',
    'Redirect "escape" Print nat.',
    'Cd "/usr/lib". Redirect "escape" Print nat.',
    'Load "/etc/passwd".',
    'Load Verbose "/etc/hosts".',
    'Declare ML Module "evil_plugin".',
    'Add ML Path "/tmp". Declare ML Module "evil".',
    "Drop.",
    'Require Extraction. Extraction "escape.ml" Nat.add.',
    "Require Extraction. Separate Extraction Nat.add.",
    "Require Extraction. Extraction TestCompile Nat.add.",
    'Require Import Nsatz. Write State "escape".',
    'Add LoadPath "/root" as Root. Require Root.secret.',
    'Print Universes "escape.dot".',
    "Set NativeCompute Profiling. Eval native_compute in 2 + 2.",
    'Require Import Reals. Set Lra Cache. Goal True. exact I. Qed. Dump "escape".',
]


@pytest.mark.slow
@pytest.mark.parametrize("said", VERNACULAR)
def test_even_the_whole_language_of_coq_leaves_the_host_untouched(coq, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert coq.check("True", "exact I.", {}).score == 1.0
    answer = coq._ask(said, time.monotonic() + 30)
    assert re.search("Error|cannot|Can't|no ML toplevel", answer), answer
    assert "root:" not in answer
    assert list(tmp_path.iterdir()) == _found() == []
    assert coq.check("1 = 0", "reflexivity.", {}).score == 0.0
    assert coq.check("True", "exact I.", {}).score == 1.0


def _found():
    """Files of that name wherever a process in the jail might think it writes."""
    return [path for folder in ("/", "/tmp", "/usr/lib", str(Path.home())) for path in Path(folder).glob("*escape*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "Parameter bad : False.",
        'Notation "1" := 0 : nat_scope.',
        "Theorem one_is_zero : True. exact I. Qed. Notation bad := I.",
        "Hint Extern 0 => admit : core.",
        "Unset Guard Checking. Fixpoint bad (n : nat) : False := bad n.",
        'Set Bullet Behavior "None". Module bad. End bad. Import bad.',
        "Reset Initial.",
        "Abort All. Theorem other : True.",
        "Section open. Variable bad : False.",
        "Ltac reflexivity := idtac.",
    ],
)
def test_what_a_check_leaves_behind_is_undone_before_the_next(coq, said):
    assert coq.check("True", "exact I.", {}).score == 1.0
    coq._ask(said, time.monotonic() + 30)
    assert coq.check("1 = 0", "reflexivity.", {}).status == "rejected"
    assert coq.check("False", "exact bad.", {}).status == "rejected"
    assert coq.check("False", "exact (bad 0).", {}).status == "rejected"
    assert coq.check("1 = 1", "reflexivity.", {}).score == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "proof", "status"),
    [
        ("False", "repeat (idtac).", "rejected incomplete"),
        ("False", "(let rec f x := f x in f I).", "timeout rejected"),  # whichever ends first: the time, or the stack
        ("False", 'do 100000 idtac "flood flood flood flood flood".', "resource timeout"),
        ("(2 ^ 40 = 0)", "vm_compute; reflexivity.", "timeout resource rejected"),
        ("True", f"exact {'(' * 3900}I{')' * 3900}.", "proved rejected resource"),
        ("False", "; ".join(["idtac"] * 1100) + ".", "incomplete rejected resource"),
        ("True", "idtac. " * 1100 + "exact I.", "proved timeout"),
        ("\n" * 7000 + "True", "exact I." + "\n" * 7000, "proved"),
        ("forall x : nat, " * 400 + "True", "intros; exact I.", "proved"),
        ("x" * 8001, "exact I.", "malformed"),
        ("True", "exact " + "I" * 1_000_000, "malformed"),
        ("True" * 250_000, "exact I.", "malformed"),
    ],
)
def test_whatever_is_tried_ends_soon_with_a_name(coq, statement, proof, status):
    begun = time.monotonic()
    assert coq.check(statement, proof, {}, Limits(seconds=3.0)).status in status.split()
    assert time.monotonic() - begun < 15
    assert coq.check("True", "exact I.", {}).score == 1.0


@pytest.mark.slow
def test_a_process_that_ends_is_asked_again_and_only_the_second_end_is_the_proof_s(coq, monkeypatch):
    coq.check("True", "exact I.", {})
    ask, ends = coq.dialogue.ask, []

    def ended(text, *more, often):
        if text.startswith("Theorem") and len(ends) < often:
            ends.append(text)
            coq.close()
            raise EOFError("it has ended")
        return ask(text, *more)

    for often, status in ((1, "proved"), (2, "resource")):
        ends.clear()
        monkeypatch.setattr(coq.dialogue, "ask", partial(ended, often=often))
        assert coq.check("True", "exact I.", {}).status == status


@pytest.mark.slow
def test_a_coq_without_its_library_is_no_verdict(coq):
    with Coq(header="Require Import Nowhere.") as broken:
        verdict = broken.check(COMM, INDUCTION, {})
        assert (verdict.score, verdict.status) == (None, "infra")
        with pytest.raises(RuntimeError, match="doesn't start"):
            broken.judge(COMM, {}, ())

"""Coq judges as we do, wherever it is installed; what it is sent is tested as text everywhere."""

import pytest

from games.proofs import Limits
from games.proofs.coq import Coq, Unavailable, jailed
from games.proofs.coq_text import check_statement, sentences, tactics, translate
from games.proofs.terms import Malformed
from games.proofs.theorems import THEORIES

COMM = "forall n m : nat, n + m = m + n"
INDUCTION = (
    "induction n as [|n IH]; intros m; simpl. - rewrite <- plus_n_O; reflexivity. - rewrite IH, plus_n_Sm; reflexivity."
)
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
        command = jailed()
    except Unavailable as error:
        pytest.skip(str(error))
    with Coq(command) as running:
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
    assert Coq(["false"]).check(statement, "exact I.", {}).status == "malformed"


def test_a_coq_that_does_not_start_is_no_verdict():
    for command in (["false"], ["/nowhere/coqtop"]):
        with Coq(command) as broken:
            verdict = broken.check(COMM, INDUCTION, {})
            assert (verdict.score, verdict.status) == (None, "infra")
            with pytest.raises(Unavailable):
                broken.judge(COMM, {}, ())


def test_without_a_jail_nothing_runs(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None if name == "bwrap" else f"/usr/bin/{name}")
    with pytest.raises(Unavailable, match="bwrap isn't installed"):
        Coq()
    monkeypatch.setattr("shutil.which", lambda name: None if name == "coqtop" else f"/usr/bin/{name}")
    with pytest.raises(Unavailable, match="apt-get install coq"):
        Coq()


# -- with Coq ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("theory", "name"), [(theory, name) for theory, known in THEORIES.items() for name in known])
def test_every_theorem_of_ours_is_one_of_coq(coq, theory, name):
    verdict = coq.check(translate(THEORIES[theory][name].statement), WAYS[theory], {})
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
        ("False", 'idtac "Closed under the global context".', "incomplete"),
        ("False", "(* . Axiom f: False. *) exact I.", "rejected"),
        ("False", "(let rec f x := f x in f I).", "timeout"),
        ("False", "do 2000000000 idtac.", "timeout"),
        (COMM, f"{INDUCTION} ", "proved"),
        ("False", "exact I.", "rejected"),
    ],
)
def test_coq_accepts_what_is_proved_and_refuses_every_cheat(coq, statement, proof, status):
    assert coq.check(statement, proof, {}, Limits(seconds=2.0)).status == status


@pytest.mark.slow
def test_lemmas_are_premises_and_a_theorem_is_none_of_its_own(coq):
    """O-44."""
    known = {"h": "forall n : nat, n + 0 = n", "own": COMM, "later": "forall n : nat, n = n"}
    assert coq.check("forall n : nat, 0 + n + 0 = n", "intros; rewrite h; reflexivity.", known).used == ("h",)
    for name in ("own", "later"):
        assert coq.check(COMM, f"exact {name}.", known).status == "rejected"


@pytest.mark.slow
def test_what_is_proposed_is_judged(coq):
    assert coq.judge(COMM, {}, ()).gate == ""
    assert coq.judge(COMM, {"add_comm": COMM.replace(" ", "  ")}, ()).gate == "duplicate"
    assert coq.judge("forall n : nat, n = n", {}, ()).gate == "trivial"
    assert coq.judge("forall n : nat, n", {}, ()).gate == "malformed"

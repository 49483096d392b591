"""What a conjecture and a proof earn, by hand; and what a run may learn from them later."""

import asyncio

import pytest

import arena
from arena.curriculum import Curriculum, CurriculumConfig
from arena.testing import check_game
from arena.types import Task
from games.conjecturer_prover import CAPACITY, ConjecturerProver, conjectures, proofs
from games.proofs.mini import Mini
from games.proofs.theorems import THEORIES

COMM = "forall a b: a + b = b + a"
PROOF = "induction b; simp; rw zero_add; simp; rw IH; rw succ_add"  # applies both lemmas
DIRECT = "forall a b c: (a + b) + c = a + (b + c)"
PLAIN = "induction c; simp; simp; rw IH"  # applies none
NEW = {"lemmas": 2}  # zero_add and succ_add are known


def played(conjecture, replies, task=None, seed="zero_add", **params):
    """An episode in which the conjecturer says this and the provers reply so."""
    game = ConjecturerProver(**{"provers": len(replies), **NEW, **params})
    if task is None:
        first = [list(lemma) for lemma in game.first]
        task = Task.new(f"Seed {seed}: {game.first[0][1]}", seed=seed, lemmas=first)
    seats = {f"prover_{i}": arena.ScriptedAgent([f"[{reply}]"]) for i, reply in enumerate(replies)}
    seats["conjecturer_0"] = arena.ScriptedAgent([f"[{conjecture}]"])
    return asyncio.run(arena.play(game, seats, seed=1, task=task))


def keen(game, seat, rng):
    """Random moves, but for conjectures that are admitted, so that provers are asked."""
    return COMM if seat == "conjecturer_0" and rng.random() < 0.7 else rng.choice(game.legal(seat))


@pytest.mark.slow
def test_the_contract_holds():
    check_game(lambda: ConjecturerProver(lemmas=2, provers=4), games=3, speak=keen)


# -- rewards -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "frontier", "learnability"), [(0, 0.0, 0.0), (1, 1.0, 0.75), (2, 0.0, 1.0), (3, 0.0, 0.75), (4, 0.0, 0.0)]
)
def test_a_conjecture_is_paid_by_how_many_prove_it(right, frontier, learnability):
    replies = [PROOF] * right + ["simp"] * (4 - right)
    for pay, worth in (("frontier", frontier), ("learnability", learnability)):
        episode = played(COMM, replies, pay=pay)
        assert episode.returns == {
            "conjecturer_0": worth,
            **{f"prover_{i}": float(i < right) for i in range(4)},
        }
        assert episode.notes["p"] == right / 4
        assert episode.ending == "over"


@pytest.mark.parametrize("pay", ["frontier", "learnability"])
def test_the_most_that_can_be_earned_is_what_is_known(pay):
    episodes = [played(COMM, [PROOF] * right + ["simp"] * (4 - right), pay=pay) for right in range(5)]
    for role in ("conjecturer", "prover"):
        most = max(episode.returns[f"{role}_0"] for episode in episodes)
        assert most == ConjecturerProver.known[f"{role}_max"]


def test_a_proof_that_never_applies_the_seed_halves_the_pay():
    replies = [PLAIN, "simp", "simp", "simp"]
    episode = played(DIRECT, replies)
    assert episode.paid["conjecturer_0"] == {"frontier": 0.5}
    assert episode.notes == {"p": 0.25, "seeded": 0.0}
    assert played(COMM, [PROOF, "simp", "simp", "simp"]).notes["seeded"] == 1.0


@pytest.mark.parametrize(("right", "paid"), [(0, 0.0), (1, 0.375), (2, 0.5), (3, 0.375), (4, 0.0)])
def test_by_learnability_too_a_proof_without_the_seed_halves_the_pay(right, paid):
    """Half of 4p(1 - p) for p of 0, 1/4, 1/2, 3/4 and 1; one proof in which the seed is applied makes it whole."""
    replies = [PLAIN] * right + ["simp"] * (4 - right)
    assert played(DIRECT, replies, pay="learnability").paid["conjecturer_0"] == {"frontier": paid}
    seeded = played(COMM, [PROOF] * right + ["simp"] * (4 - right), pay="learnability")
    assert seeded.returns["conjecturer_0"] == 2 * paid


@pytest.mark.parametrize("right", [1, 2, 4])
def test_shared_proofs_weigh_one_together(right):
    """Under the estimator `peers` a reward of 1/k is a reward of 1 at weight 1/k: R minus the others' mean scales."""
    episode = played(COMM, [PROOF] * right + ["simp"] * (4 - right), shared=True)
    assert [episode.returns[f"prover_{i}"] for i in range(4)] == [1 / right] * right + [0.0] * (4 - right)


def test_one_prover_leaves_nothing_between_all_and_none():
    for proof, earned in ((PROOF, 1.0), ("simp", 0.0)):
        episode = played(COMM, [proof], pay="learnability")
        assert episode.returns == {"conjecturer_0": 0.0, "prover_0": earned}


@pytest.mark.parametrize(
    ("said", "gate", "paid"),
    [
        ("forall a b: a + b", "malformed", -1.0),
        ("hello", "malformed", -1.0),
        ("forall a b: 0 + a = a", "vacuous", -0.5),
        ("forall a: a = a", "vacuous", -0.5),
        ("forall a b: a + b = a", "refuted", -0.5),
        ("forall x: x = 0 + x", "duplicate", -0.5),
        ("forall a b: 0 + (a * b) = a * b", "instance", -0.5),
        ("forall a b: s(a * b) + a = s(a * b + a)", "instance", -0.5),
        ("forall a: a + 1 = s(a)", "trivial", -0.5),
    ],
)
def test_what_no_gate_admits_costs_the_conjecturer_and_reaches_no_prover(said, gate, paid):
    episode = played(said, ["simp"] * 4)
    (offer,) = episode.offers
    assert (offer.gate, offer.seat) == (gate, "conjecturer_0")
    assert offer.reason
    assert episode.returns["conjecturer_0"] == paid
    assert [turn.seat for turn in episode.turns] == ["conjecturer_0"]


@pytest.mark.parametrize("reply", ["", "sorry", "rw COMM", "refl", "x" * 50_000, "induction b;" * 500, "\x00"])
def test_a_wrong_proof_earns_nothing_and_ends_nothing(reply):
    episode = played(COMM, [PROOF, reply, "simp", "simp"])
    assert episode.returns == {"conjecturer_0": 1.0, "prover_0": 1.0, "prover_1": 0.0, "prover_2": 0.0, "prover_3": 0.0}


def test_no_conjecture_at_all_is_a_forfeit():
    episode = played("", ["simp"] * 4)
    assert (episode.ending, episode.returns["conjecturer_0"]) == ("forfeit", -1.0)


# -- what comes of it ----------------------------------------------------------------------------------------------


def test_a_proved_conjecture_is_the_seed_of_a_library_that_has_grown_by_it():
    episode = played(COMM, ["simp", f"{PROOF}", "simp", "simp"])
    conjecture, lemma = (offer for offer in episode.offers if not offer.task.prompt.startswith("Prove forall a: "))
    assert (conjecture.task.prompt, conjecture.seat) == (f"Prove {COMM}", "conjecturer_0")
    assert (lemma.seat, lemma.task.payload["seed"], lemma.task.parents) == (
        "prover_1",
        "lemma_3",
        (conjecture.task.id,),
    )
    assert lemma.task.payload["lemmas"][-1] == ["lemma_3", COMM, PROOF]
    again = ConjecturerProver(**NEW)
    again.reset(seed=0, options={"task": Task.from_json(lemma.task.to_json())})
    assert f"lemma_3: {COMM}\n" in again.observe("conjecturer_0")["text"]
    again.step("forall a b: b + a = a + b")
    assert "duplicate" in again.state_text()


def test_a_conjecture_of_an_earlier_game_goes_to_the_provers_and_pays_no_conjecturer():
    (offer, *_) = played(COMM, ["simp"] * 4).offers
    episode = played("", [PROOF, "simp", "simp", "simp"], task=offer.task)
    assert [turn.seat for turn in episode.turns] == [f"prover_{i}" for i in range(4)]
    assert episode.returns["conjecturer_0"] == 0.0
    assert set(episode.faced.values()) == {offer.task.id}


@pytest.mark.parametrize(
    "lemma", [["bad", "forall a: a + 1 = a", "simp"], ["zero_add", "forall a b: a * b = b", "induction a; simp"]]
)
def test_a_task_whose_lemma_is_edited_or_unproved_is_refused(lemma):
    """O-44: an edited statement under a known name, with the proof of the true one or none."""
    task = Task.new("Prove x", statement=COMM, lemmas=[lemma])
    with pytest.raises(ValueError, match="isn't proved"):
        ConjecturerProver().reset(seed=0, options={"task": task})


def test_a_full_library_grows_no_further():
    line = [
        [f"l{i}", f"forall a: {i} + a = a + {i}", "induction a; simp; simp; rw IH; simp"]
        for i in range(1, CAPACITY + 1)
    ]
    task = Task.new(f"Prove {DIRECT}", statement=DIRECT, lemmas=line)
    offers = played("", [PLAIN], task=task, pay="learnability").offers
    assert [offer.gate for offer in offers] == ["full"]


def test_a_failed_proof_is_known_by_what_it_reached():
    """The case 0 of commuting products is proved by an induction of its own; the other case is not."""
    half = "induction b; simp; induction a; simp; simp; rw IH; simp"
    episode = played("forall a b: a * b = b * a", [half, half], pay="learnability")
    conjecture, *reached = episode.offers
    assert episode.returns["prover_0"] == 0.0
    assert [offer.task.prompt for offer in reached] == ["Prove forall a: a * 0 = 0 * a", "Prove forall a: 0 = 0 * a"]
    assert {(offer.seat, offer.gate, offer.task.parents) for offer in reached} == {
        ("prover_0", "", (conjecture.task.id,))
    }
    assert len(played("forall a b: a * b = b * a", [half], pay="learnability", hindsight=False).offers) == 1


def test_the_pool_takes_names_orientation_and_padding_for_one_task():
    game = ConjecturerProver(**NEW)
    pool = Curriculum(CurriculumConfig(solver="prover"), game.canon)
    first = played(COMM, ["simp"] * 4)
    other = played("forall x y: y + x + 0 = x + y", ["simp"] * 4)
    pool.absorb(1, [first])
    figures = pool.absorb(2, [other])
    assert figures["curriculum/refused/duplicate"] == 1.0
    (entry,) = pool.live()
    assert entry.p == 0.0


def test_the_oracle_proves_what_a_textbook_does():
    game = ConjecturerProver(**NEW)
    game.reset(seed=0)
    game.step(COMM)
    assert game.oracle("prover_0") == {PROOF: 1.0}


def test_seeds_are_drawn_from_the_library():
    game, seen = ConjecturerProver(lemmas=3), set()
    for seed in range(40):
        game.reset(seed=seed)
        seen.add(game.seed)
    assert seen == {"zero_add", "succ_add", "add_comm"}


@pytest.mark.parametrize("theory", THEORIES)
def test_what_is_listed_has_true_and_false_statements_and_proofs_that_hold(theory):
    game = ConjecturerProver(theory=theory)
    game.reset(seed=0)
    gates = {Mini().judge(said, game.library, ()).gate for said in conjectures(theory)}
    assert {"", "refuted", "duplicate"} <= gates
    assert "malformed" not in gates
    assert len(proofs(theory)) > 1


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"theory": "nats"}, "did you mean 'nat'"),
        ({"pay": "more"}, "frontier, learnability"),
        ({"provers": 0}, "use 1 to 1000"),
        ({"provers": 2}, "use 0.5 to 1"),
        ({"lemmas": 1}, "2 to 8"),
        ({"lemmas": 9}, "2 to 8"),
    ],
)
def test_what_cannot_be_played_is_refused(params, told):
    with pytest.raises(ValueError, match=told):
        ConjecturerProver(**params)


def test_provers_have_a_theorem_before_anything_was_conjectured():
    game = ConjecturerProver(provers=2, band=1)
    (task,) = game.first_tasks()
    game.reset(seed=1, options={"task": task})
    assert game.acting == ("prover_0", "prover_1")
    assert task.payload["statement"] == THEORIES["nat"]["add_assoc"].statement
    assert ConjecturerProver(lemmas=len(THEORIES["nat"])).first_tasks() == []

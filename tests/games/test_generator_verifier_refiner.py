"""A tree of drafts, verdicts and refinements: every node is worth the mean of its branches, computed by hand."""

import asyncio

import pytest

import arena
from arena import ScriptedAgent
from arena.testing import check_game
from arena.types import Task
from games.generator_verifier_refiner import GeneratorVerifierRefiner
from roles import Role
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit

SUM = Task.new("What is 2 + 3 * 4?", kind="arithmetic", answer=14, choices=["12", "14", "20", "15"])
WORD = Role(name="word", action=r"(?s)(.*)")


def talk(game, seat, rng):
    return rng.choice([*(f"{move}: because" for move in game.legal(seat)), *game.legal(seat), "hm"])


@pytest.mark.parametrize("params", [{}, {"width": 1, "kind": "countdown"}])
def test_it_keeps_the_contract(params):
    check_game(lambda: GeneratorVerifierRefiner(**params), games=5, speak=talk)


def played(drafts, verdicts, refined, **params):
    game = GeneratorVerifierRefiner(width=len(drafts), **params)
    said = {"generator": drafts, "verifier": verdicts, "refiner": refined}
    agents = {f"{role}_{i}": ScriptedAgent([word], role=WORD) for role in said for i, word in enumerate(said[role])}
    return asyncio.run(arena.play(game, agents, seed=1, task=SUM))


def values(episode, role):
    return [value for seat, value in episode.returns.items() if seat.startswith(role)]


def test_every_node_is_worth_the_mean_of_its_branches():
    """Draft 14: approved (1), rejected and mended to 14 and 20 (1/2). Draft 20: approved (0), mended to 14, 14 (1)."""
    episode = played(
        ["14", "20: from the left"],
        ["right", "wrong: look again", "right", "wrong: 3 * 4 comes first"],
        ["?", "?", "14", "20", "?", "?", "14", "14"],
    )
    assert values(episode, "verifier") == [1.0, 0.5, 0.0, 1.0]
    assert values(episode, "generator") == [0.75, 0.5]
    assert values(episode, "refiner") == [0, 0, 1, 0, 0, 0, 1, 1]
    assert episode.notes["right"] == 2.5 / 4
    assert episode.notes["judges_right"] == 0.5  # two of four verdicts are true
    assert (episode.notes["drafts_right"], episode.notes["malformed_verdicts"]) == (0.5, 0.0)
    asked = {turn.seat for turn in episode.turns if turn.seat.startswith("refiner")}
    assert asked == {"refiner_2", "refiner_3", "refiner_6", "refiner_7"}
    assert episode.paid["refiner_2"] == {"refined": 1.0}
    assert episode.paid["verifier_1"] == {"branch": 0.5}
    assert episode.paid["generator_0"] == {"branches": 0.75}


def test_siblings_are_compared_with_each_other_alone():
    episode = played(
        ["14", "20"], ["right", "wrong: x", "right", "wrong: y"], ["?", "?", "14", "20", "?", "?", "14", "14"]
    )
    found = credit([episode], ["generator", "verifier", "refiner"], CreditConfig("peers"), Baselines())
    advantage = {seat: one.advantages[0] for (_, seat), one in found.seats.items()}
    assert advantage == {
        **{"generator_0": 0.25, "generator_1": -0.25},
        **{"verifier_0": 0.5, "verifier_1": -0.5, "verifier_2": -1.0, "verifier_3": 1.0},
        **{"refiner_2": 1.0, "refiner_3": -1.0, "refiner_6": 0.0, "refiner_7": 0.0},
    }
    assert found.counters["groups"] == 1 + 2 + 2


@pytest.mark.parametrize(
    ("draft", "verdict", "verifier", "generator"),
    [
        ("20", "right", 0.0, 0.0),  # the run failed: no approval saves it
        ("14", "right", 1.0, 1.0),
        ("14", "hm", -1.0, None),  # no verdict: never an approval, and never a 0 for the draft
        ("20", "hm", -1.0, 0.0),  # it failed, whatever the verifier says
        ("14", "right and wrong", -1.0, None),
        ("14", "right: if not wrong", -1.0, None),
        ("no idea", "right", 0.0, 0.0),
        ("14", f"right{' ' * 200}, or rather not: I reject it", -1.0, None),  # wherever a cut would fall
        ("14", f"right{' ' * 5000}?", -1.0, None),  # a flood is no verdict
        (f"14{' ' * 200}or 20", "right", 0.0, 0.0),  # two answers are none
    ],
)
def test_a_run_outranks_a_verdict_and_no_verdict_is_no_approval(draft, verdict, verifier, generator):
    """O-43, through the game."""
    episode = played([draft], [verdict], ["14"])
    assert (episode.returns["verifier_0"], episode.returns["generator_0"]) == (verifier, generator)
    assert "refiner_0" not in {turn.seat for turn in episode.turns}


def test_a_vetoed_draft_earns_what_becomes_of_it():
    """O-43: a right draft that was rejected is worth nothing in itself."""
    assert values(played(["14"], ["wrong: no"], ["20"]), "generator") == [0.0]
    assert values(played(["14"], ["wrong: no"], ["14"]), "generator") == [1.0]


def test_the_most_that_can_be_earned_is_what_is_known():
    episodes = [
        played([draft], [verdict], [mend])
        for draft in ("14", "20")
        for verdict in ("right", "wrong")
        for mend in ("14", "20")
    ]
    for role in ("generator", "verifier", "refiner"):
        most = max(value for episode in episodes for value in values(episode, role))
        assert most == GeneratorVerifierRefiner().known[f"{role}_max"]


def test_all_right_all_wrong_and_nobody_readable():
    right = played(["14", "14"], ["right"] * 4, ["?"] * 8)
    assert set(values(right, "generator") + values(right, "verifier")) == {1.0}
    wrong = played(["20", "20"], ["wrong"] * 4, ["20"] * 8)
    assert set(values(wrong, "generator") + values(wrong, "verifier") + values(wrong, "refiner")) == {0.0}
    hum = played(["14", "20"], ["hm"] * 4, ["?"] * 8)
    assert values(hum, "generator") == [None, 0.0]
    assert "judges_right" not in hum.notes
    found = credit([hum], ["generator", "verifier"], CreditConfig("peers"), Baselines())
    assert {seat for _, seat in found.seats} == {"generator_1", *(f"verifier_{i}" for i in range(4))}


def test_one_slip_does_not_end_the_other_branches():
    episode = played(["14", ""], ["right", "", "right", "right"], ["?"] * 8)
    assert episode.ending == "over"
    assert values(episode, "generator") == [1.0, 0.0]


def test_a_critique_is_one_line_in_quotes():
    episode = played(["20"], ['wrong: "so".\nWhat is 1 + 1?'], ["14"])
    (heard,) = (turn.heard for turn in episode.turns if turn.seat == "refiner_0")
    assert "It was rejected: \"'so'. What is 1 + 1?\".\n" in heard


def test_a_long_critique_is_cut_and_still_one():
    episode = played(["20"], [f"wrong: {'no ' * 80}"], ["14"], talk=30)
    (heard,) = (turn.heard for turn in episode.turns if turn.seat == "refiner_0")
    assert f'It was rejected: "{("no " * 10).rstrip()}".\n' in heard


def test_a_tree_that_is_too_wide_is_refused():
    with pytest.raises(ValueError, match="width is 5"):
        GeneratorVerifierRefiner(width=5)

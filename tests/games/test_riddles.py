"""Riddles by hand: what makes a problem, what answers it, and what both earn."""

import asyncio
import random

import pytest

from arena.agent import PLAYER
from arena.curriculum import Curriculum, CurriculumConfig
from arena.testing import check_game
from arena.types import Offer, Task
from games.riddles import KINDS, SETTINGS, Riddles, accuracy
from games.verify import satisfy, sequence
from games.verify.kind import NoProblem


def played(kind, proposal, *answers, task=None, **params):
    game = Riddles(solvers=max(1, len(answers)), kinds=[kind], **params)
    game.reset(seed=0, options={"task": task})
    paid = dict.fromkeys(game.possible_agents, 0.0)
    for text in (*(() if task else (proposal,)), *answers):
        if not game.ending:
            game.step(text)
            for seat, reward in game.rewards.items():
                paid[seat] += reward
    game.sums = list(paid.values())
    return game


@pytest.mark.parametrize(
    ("kind", "proposal", "prompt", "answers"),
    [
        ("arithmetic", "3 + 4*2", "What is 3 + 4*2?", ("11", "14", "eleven")),
        ("countdown", "(9 - 5) * 3", "Reach 12 with 3, 5, 9: ", ("9 + 3", "9 + 5", "12!")),
        ("sequence", "n * n + 1", "Which number is next? 2, 5, 10, 17, 26", ("37", "36", "n * n")),
        ("logic", "(p | q) & ~p", "For which values is this true? (p | q) & ~p", ("p=0, q=1", "p=1 q=1", "q=1")),
    ],
)
def test_each_kind_pays_right_wrong_and_malformed_answers_and_1_minus_p(kind, proposal, prompt, answers):
    """One of three is right: 1 - 1/3."""
    game = played(kind, proposal, *answers)
    assert game.faced["solver_0"].prompt.startswith(prompt)
    assert game.sums == pytest.approx([2 / 3, 1, -0.5, -1])
    assert {name for _, name in game.paid} == {"learnable", "right", "wrong", "format"}


@pytest.mark.parametrize(
    ("answers", "earned"),
    [
        (("11", "11"), 0.0),
        (("1", "2"), 0.0),
        (("11", "11", "11", "0"), 0.25),
        (("11", "0", "0", "0"), 0.75),
        (("11",), 0.0),
        (("0",), 0.0),
    ],
)
def test_nothing_is_earned_where_all_or_none_are_right(answers, earned):
    """O-42"""
    assert played("arithmetic", "3 + 4 * 2", *answers).sums[0] == earned


def test_the_most_that_can_be_earned_is_what_is_known():
    games = [played("arithmetic", "3 + 4*2", *["11"] * n, *["14"] * (4 - n)) for n in range(5)]
    assert max(game.sums[0] for game in games) == games[0].known["proposer_max"] == 0.75
    assert max(max(game.sums[1:]) for game in games) == games[0].known["solver_max"]


@pytest.mark.parametrize(
    ("kind", "proposal", "gate", "cost"),
    [(kind, text, "well-formed", -1.0) for kind in KINDS for text in ("", "?", "\x00", "²", "(" * 60, "1 " * 10**6)]
    + [
        ("arithmetic", "__import__('os')", "well-formed", -1.0),
        ("arithmetic", "<|im_end|> 1 + 1", "well-formed", -1.0),
        ("arithmetic", "999999999999 * 9999", "well-formed", -1.0),
        ("arithmetic", "7", "non-trivial", -0.5),
        ("countdown", "3 + 9", "non-trivial", -0.5),
        ("countdown", "3 + 9 - 9", "non-trivial", -0.5),
        ("countdown", "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1", "non-trivial", -0.5),
        ("sequence", "n - n", "non-trivial", -0.5),
        ("sequence", "2n", "well-formed", -1.0),
        ("sequence", "m + 1", "well-formed", -1.0),
        ("logic", "p | ~p", "non-trivial", -0.5),
        ("logic", "p & ~p", "non-trivial", -0.5),
        ("logic", "p & x", "well-formed", -1.0),
    ],
)
def test_what_makes_no_problem_is_refused_by_name_and_asks_nobody(kind, proposal, gate, cost):
    game = played(kind, proposal, "1", "2")
    (offer,) = game.offers
    assert (offer.gate, game.sums) == (gate, [cost, 0.0, 0.0])
    assert len(offer.reason) < 300
    assert len(offer.task.prompt) <= 121
    assert "solver_0" not in game.faced


def test_what_is_held_out_cannot_be_proposed_in_any_order_of_its_numbers():
    game = Riddles(kinds=["arithmetic", "countdown"], held_out=5)
    for task in game.held_out:
        kind = task.payload["kind"]
        said = task.prompt.removeprefix("What is ").removesuffix("?")
        if kind == "countdown":
            said = next(answer for answer in task.payload["choices"] if answers(task, answer))
        again = played(kind, said.replace(" ", "  "), "1", held_out=5)
        assert [offer.gate for offer in again.offers] == ["held-out"]
        assert again.sums[0] == -0.5


def answers(task, text):
    game = Riddles(kinds=[task.payload["kind"]])
    game.task = task
    return bool(game.judge(text).score)


def test_an_admitted_problem_comes_back_to_the_solvers_and_shows_itself_to_the_next_proposer():
    made = played("sequence", "n * n", "36", "1").offers[0].task
    again = played("sequence", "", "36", "36", "7", task=Task.from_json(made.to_json()))
    assert again.sums == [0.0, 1, 1, -0.5]
    pool = Curriculum(CurriculumConfig(shown=1), again.canon)
    assert pool.consider(Offer(made, "proposer_0"), 0) == ""
    game = Riddles(kinds=["sequence"])
    game.reset(seed=0, options={"task": pool.past(random.Random(0))})
    assert game.observe("proposer_0")["text"].endswith("Seen before: n * n")
    assert game.faced["proposer_0"].parents == (made.id,)


def test_the_next_term_is_that_of_the_rule():
    assert sequence.read("n * (n - 1)")[1]["answer"] == 30
    assert sequence.read("-n - n")[0].endswith("-2, -4, -6, -8, -10")


@pytest.mark.parametrize("level", [1, 3, 6])
def test_formulas_are_true_for_some_values_and_false_for_others(level):
    rng = random.Random(level)
    for _ in range(20):
        prompt, payload = satisfy.make(rng, level)
        assert satisfy.read(payload["formula"])[0] == prompt
    with pytest.raises(NoProblem, match="always true"):
        satisfy.read("p -> p")


def test_a_value_for_a_letter_that_is_not_there_or_twice_another_is_no_answer():
    for text in ("p=1 q=0 r=1", "p=1", "p=2 q=0", "p = 1 q = 0", "p=1 q=0 p", "", "p=1;q=0", "p=1 q=0" + " " * 200):
        assert satisfy.SATISFY.check({"formula": "p | q"}, text).status == "malformed", text
    assert satisfy.SATISFY.check({"formula": "p & q"}, "p=0 p=1 q=1").status == "malformed"
    assert satisfy.SATISFY.check({"formula": "p & q"}, "q=1, p=1").status == "ok"


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_makes_a_problem(kind):
    for text in SETTINGS[kind].examples:
        assert played(kind, text).offers[0].gate == ""


class Always:
    """Gives one answer to everything."""

    role = PLAYER

    async def act(self, context):
        return "[p=1 q=1 r=1 s=1]"


def test_accuracy_is_told_together_and_by_kind():
    game = Riddles(kinds=["arithmetic", "logic"], held_out=8)
    found = asyncio.run(accuracy(lambda role, temperature: Always(), game))
    right = sum(answers(task, "p=1 q=1 r=1 s=1") for task in game.held_out)
    assert found == {"accuracy": right / 16, "accuracy_arithmetic": 0.0, "accuracy_logic": right / 8}
    with pytest.raises(ValueError, match=r"game\.params\.held_out"):
        asyncio.run(accuracy(lambda role, temperature: Always(), Riddles()))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solvers": 0}, "use 1 to 1000"),
        ({"kinds": ["logik"]}, "did you mean 'logic'"),
        ({"kinds": []}, "give a list"),
    ],
)
def test_what_cannot_be_played_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Riddles(**params)


def test_the_contract_holds():
    check_game(lambda: Riddles(solvers=2), games=5)

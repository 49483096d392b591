"""A thinker and a reasoner share one reward, and the last answer alone counts."""

import asyncio

import pytest

import arena
from arena import ScriptedAgent
from arena.testing import check_game
from arena.types import Task
from games._solving import accuracy
from games.think_act import ThinkAct
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit

SUM = Task.new("What is 2 + 3 * 4?", kind="arithmetic", answer=14, choices=["12", "14", "20", "15"])


def talk(game, seat, rng):
    return rng.choice(game.legal(seat)) + rng.choice(("", ": so it is"))


def test_it_keeps_the_contract():
    check_game(ThinkAct, games=5, speak=talk)
    check_game(lambda: ThinkAct(kind="countdown", rounds=2), games=5, speak=talk)


def played(answers, advice="[multiply first]", **params):
    game = ThinkAct(rounds=len(answers), **params)
    agents = {"thinker": ScriptedAgent([advice] * len(answers)), "reasoner": ScriptedAgent([*answers, answers[-1]])}
    return asyncio.run(arena.play(game, agents, seed=1, task=SUM))


@pytest.mark.parametrize(
    ("answers", "value", "first"),
    [
        (["[14]"], 1.0, 1.0),
        (["[20: from left to right]"], 0.0, 0.0),
        (["[20]", "[14]"], 1.0, 0.0),
        (["[14]", "[20]"], 0.0, 1.0),
    ],
)
def test_both_earn_what_the_last_answer_is_worth(answers, value, first):
    episode = played(answers)
    assert dict(episode.returns) == {"thinker_0": value, "reasoner_0": value}
    assert episode.paid["thinker_0"] == episode.paid["reasoner_0"] == {"right": value}
    assert (episode.notes["right"], episode.notes["first_right"]) == (value, first)


def test_a_right_answer_at_last_is_the_optimum_that_is_known():
    assert set(played(["[20]", "[14]"]).returns.values()) == {ThinkAct().known["optimum"]}


def test_what_is_no_answer_costs_the_team_its_forfeit():
    episode = played(["[fourteen]"])
    assert episode.ending == "forfeit"
    assert dict(episode.returns) == {"thinker_0": -1.0, "reasoner_0": -1.0}


def test_the_thinker_hears_the_answer_but_not_its_worth():
    heard = [turn.heard for turn in played(["[20]", "[14]"]).turns if turn.seat == "thinker_0"]
    assert heard[1] == 'The answer was "20". How should one go about it? At most 160 characters, like [go step by step]'


def test_the_reward_of_the_end_reaches_every_turn_of_both():
    """ReMA by `joint`: returns 1 and 0 of one problem, all turns alike."""
    episodes = [played(["[20]", "[14]"]), played(["[14]", "[20]"])]
    found = credit(episodes, ["thinker", "reasoner"], CreditConfig("joint"), Baselines())
    assert [found.seats[0, s].advantages for s in ("thinker_0", "reasoner_0")] == [(1.0, 1.0)] * 2
    assert [found.seats[1, s].advantages for s in ("thinker_0", "reasoner_0")] == [(-1.0, -1.0)] * 2


def test_accuracy_is_measured_on_what_is_held_out():
    game, asked = ThinkAct(held_out=5), []

    class Solver(ScriptedAgent):
        async def act(self, context):
            asked.append(context.messages[0]["content"].splitlines()[0])
            right = {task.prompt: task.payload["answer"] for task in game.problems.held_out}
            return f"[{right[asked[-1]]}]" if len(asked) % 5 else "[1000]"

    agents = {"thinker": ScriptedAgent(["[think]"]), "reasoner": Solver([])}
    found = asyncio.run(accuracy(lambda role, temperature: agents[role], game))
    assert found == {"accuracy": 0.8}
    assert sorted(asked) == sorted(task.prompt for task in game.problems.held_out)
    with pytest.raises(ValueError, match=r"set game\.params\.held_out=100"):
        asyncio.run(accuracy(lambda role, temperature: agents[role], ThinkAct()))


def test_no_round_is_refused():
    with pytest.raises(ValueError, match="rounds is 0"):
        ThinkAct(rounds=0)

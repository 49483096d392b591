"""The games of a step: who learns in it, who stays as it was, and whose replies alone are drawn again."""

import asyncio

import numpy as np
import pytest

from arena import config as configs
from arena.agent import RandomAgent
from arena.config import ConfigError
from arena.game import Game, GameInfo
from arena.make import GameConfig
from arena.play import Job, play_many
from trainers.baselines import Baselines
from trainers.config import CreditConfig, RolloutConfig, SeatConfig, TrainConfig
from trainers.credit import credit
from trainers.train import Training

LEGAL = {"reply": "legal", "system": "", "examples": []}


def lewis(sender="policy", receiver="policy", estimator="peers", resamples=0, **seat):
    return TrainConfig(
        name="lewis",
        model="tiny",
        threads=1,
        game=GameConfig("lewis_signalling", {"states": 2, "words": 2}),
        seats={
            "sender": SeatConfig("lewis_sender", sender, LEGAL),
            "receiver": SeatConfig("lewis_receiver", receiver, LEGAL, **seat),
        },
        rollout=RolloutConfig(deals=2, samples=3, resamples=resamples),
        credit=CreditConfig(estimator),
    )


class Pair(Game):
    """Two seats say a number each at once, and both get what the table says."""

    roles = {"a": 1, "b": 1}
    info = GameInfo(cooperative=True, simultaneous=True)
    table = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0]])

    def start(self, rng, task):
        self.tell("Say a number.")
        return "a_0", "b_0"

    def legal(self, seat):
        return [str(i) for i in range(self.table.shape[seat == "b_0"])]

    def play(self, moves):
        self.score(**dict.fromkeys(moves, float(self.table[int(moves["a_0"]), int(moves["b_0"])])))
        return ()


def test_replies_of_one_seat_are_drawn_again_while_all_others_stay():
    """And what comes of it is the counterfactual: R(i, j) minus the mean over what this seat says, within its noise."""
    branches = [{}, *({seat: k} for seat in ("a_0", "b_0") for k in range(120))]
    jobs = [
        Job(Pair(), {"a": RandomAgent(), "b": RandomAgent()}, seed=1, stream=(0, sample), apart=apart)
        for sample in range(6)
        for apart in branches
    ]
    episodes = asyncio.run(play_many(jobs, concurrency=8))
    assert len({episode.id for episode in episodes}) == len(jobs)
    said = [{turn.seat: int(turn.move) for turn in episode.turns} for episode in episodes]
    found = credit(episodes, ["a", "b"], CreditConfig("difference"), Baselines())
    for first in range(0, len(jobs), len(branches)):
        i, j = said[first]["a_0"], said[first]["b_0"]
        assert {one["b_0"] for one in said[first + 1 : first + 121]} == {j}
        assert {one["a_0"] for one in said[first + 121 : first + 241]} == {i}
        exact = Pair.table[i, j] - Pair.table[:, j].mean(), Pair.table[i, j] - Pair.table[i].mean()
        noise = [4 * column.std() / 120**0.5 for column in (Pair.table[:, j], Pair.table[i])]
        assert abs(found.seats[first, "a_0"].advantages[0] - exact[0]) <= noise[0]
        assert abs(found.seats[first, "b_0"].advantages[0] - exact[1]) <= noise[1]
    copies = [found.seats[n, "b_0"].advantages[0] for n in range(1, 121)]  # b said what it had said: nothing new
    assert set(copies) == {0.0}


@pytest.mark.parametrize(("estimator", "resamples"), [("difference", 0), ("peers", 2)])
def test_resampled_games_and_their_credit_go_together(estimator, resamples):
    with pytest.raises(ConfigError, match=f"rollout.resamples is {resamples} and credit.estimator {estimator}"):
        lewis(estimator=estimator, resamples=resamples)


def test_a_step_plays_every_game_once_more_for_each_learning_seat_and_resample(tmp_path):
    training = Training(lewis(estimator="difference", resamples=2), tmp_path, None)
    apart = [job.apart for job in training.rollout.jobs(0)]
    assert len(apart) == 2 * 3 * (1 + 2 * 2)
    assert apart[:5] == [{}, {"sender_0": 0}, {"sender_0": 1}, {"receiver_0": 0}, {"receiver_0": 1}]
    assert training.advance()


def test_a_base_seat_plays_as_the_model_was_and_never_learns(tmp_path):
    training = Training(lewis(receiver="base"), tmp_path, None)
    engine, rollout = training.engine, training.rollout
    before = engine.checksum("live")
    assert engine.checksum("base") == before
    assert rollout.learning(0) == ["sender"]
    assert rollout.agents["receiver"].policy == "base"
    assert rollout.agent("receiver", "live", temperature=0.0).policy == "base"
    assert rollout.agent("sender", "step_1").policy == "step_1"
    assert rollout.agent("receiver", "step_1").policy == "base"
    while engine.checksum("live") == before and training.step < 8:
        training.advance()
    assert engine.checksum("live") != before
    assert engine.checksum("base") == before


def test_roles_can_learn_in_turns(tmp_path):
    words = ["seats.sender.every=2", "seats.receiver.every=3", "seats.receiver.first=1"]
    configs.save(lewis(), tmp_path / "lewis.yaml")
    settings = configs.load(TrainConfig, str(tmp_path / "lewis.yaml"), words)
    training = Training(settings, tmp_path, None)
    assert [training.rollout.learning(step) for step in range(5)] == [
        ["sender"],
        ["receiver"],
        ["sender"],
        [],
        ["sender", "receiver"],
    ]
    with pytest.raises(ConfigError, match=r"seats\.sender\.every"):
        configs.load(TrainConfig, str(tmp_path / "lewis.yaml"), ["seats.sender.every=0"])

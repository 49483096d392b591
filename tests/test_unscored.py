"""What could not be judged is no reward of 0: it is left out of returns, credit, figures and ratings."""

import asyncio

import pytest

import arena
from arena.game import Game
from arena.match import match_of
from arena.types import Episode
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit
from trainers.figures import figures


class Graded(Game):
    """A writer says anything; a judge that doesn't say `good` or `bad` leaves it unscored."""

    roles = {"writer": 1, "judge": 1}

    def start(self, rng, task):
        return ("writer_0",)

    def legal(self, seat):
        return ("good", "bad", "hm")

    def play(self, moves):
        if "writer_0" in moves:
            return ("judge_0",)
        self.score("verdict", writer_0=float(moves["judge_0"] == "good"))
        self.score("work", judge_0=0.5)
        if moves["judge_0"] == "hm":
            self.unscore("writer_0")
        return ()


def graded(verdict):
    agents = {"writer": arena.RandomAgent(), "judge": arena.ScriptedAgent([f"[{verdict}]"])}
    return asyncio.run(arena.play(Graded(), agents, seed=0))


def test_an_unscored_seat_has_no_return_and_the_others_have_theirs():
    """O-22, O-26: None, and not a reward of 0 that would be trained and rated."""
    assert graded("hm").returns == {"writer_0": None, "judge_0": 0.5}
    assert graded("bad").returns == {"writer_0": 0.0, "judge_0": 0.5}
    assert Episode.from_json(graded("hm").to_json()).returns["writer_0"] is None


def test_credit_compares_scored_seats_only():
    """O-22: of 1, 0, None, None the mean is a half, and the unscored ones get no advantage at all."""
    episodes = [graded(verdict) for verdict in ("good", "bad", "hm", "hm")]
    found = credit(episodes, {"writer"}, CreditConfig(estimator="grpo"), Baselines())
    advantages = [found.seats[i, "writer_0"].advantages[0] for i in range(2)]
    assert advantages == pytest.approx([1.0, -1.0], abs=1e-5)
    assert set(found.seats) == {(0, "writer_0"), (1, "writer_0")}
    assert found.counters["unscored"] == 2


def test_figures_and_ratings_leave_it_out():
    found = figures([graded(verdict) for verdict in ("good", "bad", "hm", "hm")])
    assert found == {"reward/judge/work": 0.5, "reward/writer/verdict": 0.5}
    match = match_of(graded("hm"), Graded())
    assert (match.ending, match.scores) == ("infra", ())


def test_nothing_of_it_is_left_in_the_next_game_and_a_seat_that_is_not_there_is_refused():
    game = Graded()
    game.reset(seed=0)
    game.unscore("writer_0")
    game.reset(seed=0)
    assert game.unscored == set()
    with pytest.raises(ValueError, match="'writer' can't be left unscored: the seats are writer_0, judge_0"):
        game.unscore("writer")

"""Seats that leave in mid-game: they are seen off once, keep what they earned, and nobody else is disturbed."""

import asyncio
import copy
import warnings

import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from arena.agent import RandomAgent, ScriptedAgent
from arena.game import Game, GameInfo
from arena.play import play
from arena.types import Episode

SEATS = tuple(f"player_{i}" for i in range(4))


class Elimination(Game):
    """Four at once say stay or go; who goes pays 1 to those who stay. It ends when one is left, or all go or stay."""

    roles = {"player": 4}
    info = GameInfo(zero_sum=True, simultaneous=True)

    def start(self, rng, task):
        self.left = SEATS
        return self.left

    def legal(self, seat):
        return "stay", "go"

    def play(self, moves):
        out = tuple(seat for seat in self.left if moves[seat] == "go")
        self.left = tuple(seat for seat in self.left if seat not in out)
        if not self.left or not out:
            return ()
        self.score(**dict.fromkeys(out, -1.0), **dict.fromkeys(self.left, len(out) / len(self.left)))
        self.retire(*out)
        self.tell(f"{len(self.left)} are left.")
        return self.left if len(self.left) > 1 else ()


def after(*stages):
    """A game in which `stages` have been played, each a word for every seat that was left."""
    game = Elimination()
    game.reset(seed=0)
    for words in stages:
        for word in words.split():
            assert game.turn()
            game.step(word)
    return game


def test_a_seat_that_retired_is_seen_off_first_and_once():
    """O-01: several leave at different times, and nobody else's turn is lost."""
    game = after("go stay go stay")
    order = []
    for seat in game.agent_iter():
        order.append(seat)
        _, _, terminated, truncated, _ = game.last()
        assert terminated == (len(order) in (1, 2, 5, 6))
        game.step(None if terminated or truncated else "stay" if seat == "player_1" else "go")
    assert order == ["player_0", "player_2", "player_1", "player_3", "player_1", "player_3"]
    assert game.agents == []
    game.reset(seed=0)
    assert tuple(game.agents) == game.acting == SEATS


def totals_by_agent_iter(game, words):
    totals = {}
    for seat in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        totals[seat] = totals.get(seat, 0.0) + reward
        game.step(None if terminated or truncated else next(words[seat]))
    return totals


def totals_by_turn(game, words):
    totals = dict.fromkeys(SEATS, 0.0)
    while seat := game.turn():
        game.step(next(words[seat]))
        for earner, reward in game.rewards.items():
            totals[earner] += reward
    return totals


def scripts():
    lines = {"player_0": "go", "player_1": "stay stay stay", "player_2": "stay go", "player_3": "stay stay go"}
    return {seat: iter(line.split()) for seat, line in lines.items()}


def test_each_reward_is_counted_once_in_every_loop():
    """O-02"""
    expected = {"player_0": -1.0, "player_1": 1 / 3 + 1 / 2 + 1, "player_2": 1 / 3 - 1, "player_3": 1 / 3 + 1 / 2 - 1}
    for totals in (totals_by_agent_iter, totals_by_turn):
        game = Elimination()
        game.reset(seed=0)
        assert totals(game, scripts()) == pytest.approx(expected)
    agents = {seat: ScriptedAgent([f"[{word}]" for word in words]) for seat, words in scripts().items()}
    episode = asyncio.run(play(Elimination(), agents, seed=0))
    assert episode.returns == pytest.approx(expected)
    assert sum(episode.returns.values()) == pytest.approx(0)
    assert Episode.from_json(episode.to_json()) == episode
    assert [turn.seat for turn in episode.turns] == [*SEATS, *SEATS[1:], "player_1", "player_3"]


def test_pettingzoo_s_own_tests_and_its_parallel_wrapper_take_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(Elimination(), num_cycles=100)
        seed_test(Elimination, num_cycles=100)
        parallel_api_test(turn_based_aec_to_parallel(Elimination()), num_cycles=100)


def test_a_dead_step_is_none_and_a_retired_seat_has_no_info_of_moves():
    game = after("go stay stay stay")
    assert (game.agent_selection, game.terminations["player_0"]) == ("player_0", True)
    assert game.infos["player_0"] == {}
    with pytest.raises(ValueError, match="only valid action is None"):
        game.step("stay")
    assert game.turn() == "player_1"
    assert "player_0" not in game.agents
    assert not any(game.terminations.values())


def test_a_forfeit_is_shared_by_those_who_are_left():
    for seen_off in (False, True):
        game = after("go stay stay stay")
        if seen_off:
            assert game.turn() == "player_1"
        game.rewards = dict.fromkeys(game.agents, 0.0)
        game.forfeit("player_1", "it was told to")
        earned = {seat: gain for seat, gain in game.rewards.items() if gain}
        assert earned == {"player_1": -1.0, "player_2": 0.5, "player_3": 0.5}


def test_a_game_cut_short_is_truncated_for_those_who_are_left_only():
    class Short(Elimination):
        info = GameInfo(zero_sum=True, simultaneous=True, max_stages=1)

    game = Short()
    game.reset(seed=0)
    for word in ("go", "stay", "stay", "stay"):
        game.step(word)
    assert game.ending == "truncated"
    assert [game.truncations[seat] for seat in SEATS] == [False, True, True, True]
    assert [game.terminations[seat] for seat in SEATS] == [True, False, False, False]


def test_a_copy_made_while_a_seat_is_leaving_goes_on_alike():
    game = after("go stay go stay")
    twin = copy.deepcopy(game)
    assert twin.turn() == "player_1"
    assert game.agent_selection == "player_0"
    assert game.turn() == "player_1"


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (lambda game: game.retire("player_0"), "'player_0' can't retire: it has retired already"),
        (lambda game: game.retire("payer_1"), "'payer_1' can't retire: the seats are player_0"),
        (lambda game: game.score(player_0=1.0), "'player_0' can't be paid: it has retired already"),
        (lambda game: game.score(payer_1=1.0), "'payer_1' can't be paid: the seats are player_0"),
        (lambda game: game._turn_to(("player_0",)), "'player_0' has retired, so don't ask it"),
    ],
)
def test_a_retired_seat_is_neither_asked_nor_paid(wrong, line):
    game = after("go stay stay stay")
    game.turn()
    with pytest.raises(ValueError, match=line):
        wrong(game)


def test_nobody_retires_from_a_team():
    class Team(Elimination):
        info = GameInfo(cooperative=True)

    game = Team()
    game.reset(seed=0)
    with pytest.raises(ValueError, match="just don't ask it again"):
        game.retire("player_0")


def test_random_games_end_with_every_seat_seen_off():
    for seed in range(20):
        game = Elimination()
        episode = asyncio.run(play(game, {"player": RandomAgent()}, seed=seed))
        assert sum(episode.returns.values()) == pytest.approx(0)
        while game.agents:
            game.step(None)
        assert game.terminations == game.rewards == {}

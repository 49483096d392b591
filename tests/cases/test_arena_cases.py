"""Situations in which engines of this kind went wrong: turn order, rewards, seeds, memory, legality, hidden parts."""

import asyncio
import random
import warnings
from collections.abc import Mapping

import pytest
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from arena.agent import ScriptedAgent
from arena.game import Game, GameInfo
from arena.make import make, names
from arena.play import play
from arena.transcript import say, transcript
from games.tic_tac_toe import TicTacToe

X_WINS = ("1", "4", "2", "5", "3")


def finish(game):
    """Random legal play to the end, and every seat steps out."""
    rng, left = random.Random(0), []
    for seat in game.agent_iter():
        dead = game.terminations[seat] or game.truncations[seat]
        left += [seat] if dead else []
        game.step(None if dead else say(game, seat, rng))
    return left


@pytest.mark.parametrize("name", names())
def test_a_second_game_on_the_same_object_begins_like_the_first(name):
    """O-01: after the end every seat steps out once and nothing is divided by zero; then a second game follows."""
    game = make(name)
    for seed in (1, 2, 1):
        game.reset(seed=seed)
        assert game.agents == game.possible_agents
        assert game.agent_selection == game.acting[0]
        assert sorted(finish(game)) == sorted(game.possible_agents)
        assert (game.agents, game.acting, list(game.agent_iter())) == ([], (), [])


def by_own_loop():
    game, moves, total = TicTacToe(), list(X_WINS), {"x_0": 0.0, "o_0": 0.0}
    game.reset(seed=0)
    while game.acting:
        game.step(moves.pop(0))
        for seat, reward in game.rewards.items():
            total[seat] += reward
    return total


def by_agent_iter():
    game, moves, total = TicTacToe(), list(X_WINS), {"x_0": 0.0, "o_0": 0.0}
    game.reset(seed=0)
    for seat in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        total[seat] += reward
        game.step(None if terminated or truncated else moves.pop(0))
    return total


def by_parallel_wrapper():
    env, moves, total = turn_based_aec_to_parallel(TicTacToe()), list(X_WINS), {"x_0": 0.0, "o_0": 0.0}
    env.reset(seed=0)
    while env.agents:
        move = moves.pop(0)
        _, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, move))
        for seat, reward in rewards.items():
            total[seat] += reward
    return total


@pytest.mark.parametrize("loop", [by_own_loop, by_agent_iter, by_parallel_wrapper])
def test_both_sides_get_their_result_once_in_every_style_of_loop(loop):
    """O-02: the seat that isn't on move when the game ends has its reward too, and each is counted once."""
    assert loop() == {"x_0": 1.0, "o_0": -1.0}


async def result(moves):
    agents = {seat: ScriptedAgent([f"[{move}]" for move in moves[i::2]]) for i, seat in enumerate(("x", "o"))}
    return await play(TicTacToe(), agents, seed=0)


def test_the_episode_holds_both_results():
    """O-02: the record of the arena agrees with the loops."""
    episode = asyncio.run(result(X_WINS))
    assert episode.returns == {"x_0": 1.0, "o_0": -1.0}
    assert sum(turn.rewards.get("o_0", 0) for turn in episode.turns) == -1.0


@pytest.mark.parametrize("name", names())
def test_equal_seeds_are_equal_games_and_others_differ_where_there_is_chance(name):
    """O-03: transcripts, rewards and hidden state, to the last byte; global generators have no part in it."""
    state = random.getstate()
    seven, again = transcript(make(name), 7), transcript(make(name), 7)
    assert repr(seven) == repr(again)
    assert random.getstate() == state
    pairs = [(transcript(make(name), 7, moves=moves), moves) for moves in range(7, 17)]
    differ = any(transcript(make(name), seed, moves=moves) != one for one, moves in pairs for seed in range(8, 28))
    assert differ == make(name).info.chance


@pytest.mark.parametrize("name", names())
def test_nothing_said_in_one_game_is_heard_in_the_next(name):
    """O-04: ZEBRA of game 1 isn't in game 2, whose first prompt is that of a fresh object."""
    game, fresh = make(name), make(name)
    game.reset(seed=1)
    while game.acting:
        game.step("ZEBRA")
    game.reset(seed=2)
    fresh.reset(seed=2)
    for seat in game.agents:
        assert game.observe(seat) == fresh.observe(seat)
        assert "ZEBRA" not in game.observe(seat)["text"]


def test_an_occupied_square_is_judged_by_the_same_rule_wherever_it_is_played():
    """O-05: asked again, then forfeit; the game judges, so rollout, tournament and exported play can't differ."""
    game = TicTacToe()
    game.reset(seed=0)
    for move in ("5", "5", "5"):
        game.step(move)
    assert (game.ending, game.rewards) == ("forfeit", {"x_0": 1.0, "o_0": -1.0})
    episode = asyncio.run(result(("5", "5", "9", "5")))
    assert episode.ending == "forfeit"
    assert episode.reason == game.reason
    assert [turn.legal for turn in episode.turns] == [True, False, False]
    assert episode.turns[-1].reason == game.judged
    assert episode.returns == {"x_0": 1.0, "o_0": -1.0}


def test_wrapping_twice_never_doubles_what_is_heard():
    """O-06: a game is bare; PettingZoo's order wrapper, put on once or twice, changes no word of it."""
    bare = TicTacToe()
    bare.reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once = OrderEnforcingWrapper(TicTacToe())
        twice = OrderEnforcingWrapper(OrderEnforcingWrapper(TicTacToe()))
        for env in (once, twice):
            env.reset(seed=0)
            env.step("5")
            env.step("1")
            assert type(env.unwrapped) is TicTacToe
    bare.step("5")
    bare.step("1")
    assert once.observe("x_0") == twice.observe("x_0") == bare.observe("x_0")


class Grid(Game):
    """Two robots on a line of nine cells; each sees its own cell and the next one on either side."""

    roles: Mapping[str, int] = {"robot": 2}
    info = GameInfo(cooperative=True, simultaneous=True, chance=True)

    def __init__(self, walls=()):
        self.walls = set(walls)

    def start(self, rng, task):
        self.at = {"robot_0": 1, "robot_1": 7}
        return self._ask()

    def _ask(self):
        for seat in self.at:
            self.tell(f"You see {self.knows(seat)}.", seat)
        return tuple(self.at)

    def legal(self, seat):
        return ("left", "right")

    def play(self, moves):
        for seat, move in moves.items():
            cell = self.at[seat] + (1 if move == "right" else -1)
            self.at[seat] = self.at[seat] if cell in self.walls or not 0 <= cell < 9 else cell
        return () if self.stage == 3 else self._ask()

    def knows(self, seat):
        return tuple((cell, cell in self.walls) for cell in range(self.at[seat] - 1, self.at[seat] + 2))

    def state_text(self):
        return f"{self.at} {sorted(self.walls)}"


def test_a_far_cell_changes_the_state_and_no_observation():
    """O-07: the whole position is read under its own name only, and is in no seat's text."""
    one, two = Grid(walls=[4]), Grid(walls=[5])
    for game in (one, two):
        game.reset(seed=0)
    assert one.observe("robot_0") == two.observe("robot_0")
    assert one.state_text() != two.state_text()
    assert one.state_text() not in one.observe("robot_0")["text"]
    near = Grid(walls=[2])
    near.reset(seed=0)
    assert near.observe("robot_0") != one.observe("robot_0")


class Relay(Game):
    """Three take turns; the team scores 1 at turns 2 and 5 of 6."""

    roles: Mapping[str, int] = {"mate": 3}
    info = GameInfo(cooperative=True)

    def start(self, rng, task):
        self.tell("Say go.", "mate_0")
        return ("mate_0",)

    def legal(self, seat):
        return ("go",)

    def play(self, moves):
        if self.stage in (2, 5):
            self.score(mate_0=1, mate_1=1, mate_2=1)
        if self.stage == 6:
            return ()
        seat = f"mate_{self.stage % 3}"
        self.tell("Say go.", seat)
        return (seat,)


def test_a_shared_reward_is_counted_once_a_seat():
    """O-08: the return is 2 for each mate, not 2 a turn or 2 a mate; only the seats that moved have turns."""
    episode = asyncio.run(play(Relay(), {"mate": ScriptedAgent(["[go]"] * 2)}, seed=0))
    assert episode.returns == {"mate_0": 2.0, "mate_1": 2.0, "mate_2": 2.0}
    assert [turn.seat for turn in episode.turns] == [f"mate_{i % 3}" for i in range(6)]
    assert [sum(turn.rewards.values()) for turn in episode.turns] == [0, 3, 0, 0, 3, 0]
    assert Relay().teams() == (("mate_0", "mate_1", "mate_2"),)

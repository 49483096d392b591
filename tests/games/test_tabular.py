"""Dec-POMDPs as games: their published optima, and that a seat hears of its own part of the world alone."""

import asyncio
import copy
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml

import arena
from arena.dec_pomdp import DecPomdp, best, value
from arena.game import Game, GameInfo
from arena.match import match_of
from arena.testing import check_game
from games import broadcast, dec_tiger, grid_meeting, recycling
from games._tabular import TabularGame
from games.broadcast import Broadcast
from games.dec_pomdp import LAMP
from games.dec_pomdp import DecPomdp as OwnGame
from games.dec_tiger import DecTiger
from games.grid_meeting import GridMeeting
from games.recycling import Recycling

PUBLISHED = [
    (dec_tiger.model(), {2: -4.0, 3: 5.190812, 4: 4.802755, 5: 7.026451}),
    (broadcast.model(), {2: 2, 3: 2.99, 4: 3.89, 5: 4.79}),
    (recycling.model(), {2: 7, 3: 10.660125, 4: 13.38, 5: 16.486}),
    (grid_meeting.model(2), {2: 0.91, 3: 1.550444, 4: 2.241577}),
]
SLOW = [(dec_tiger.model(), 6, 10.381625), (grid_meeting.model(2), 5, 2.970496)]  # two and four seconds


@pytest.mark.parametrize(("model", "values"), PUBLISHED, ids=["dec_tiger", "broadcast", "recycling", "grid_meeting"])
def test_the_best_teams_are_worth_what_is_published(model, values):
    assert {h: best(model, h).value for h in values} == pytest.approx(values, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "horizon", "published"), SLOW)
def test_the_best_teams_of_longer_horizons_too(model, horizon, published):
    assert best(model, horizon).value == pytest.approx(published, abs=1e-6)


@pytest.mark.parametrize("make", [Broadcast, Recycling, GridMeeting, lambda: GridMeeting(side=3), OwnGame])
def test_they_keep_the_contract(make, recwarn):
    check_game(make)
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]


def returned(game, games=400):
    agents = {"agent": arena.OracleAgent()}
    jobs = [arena.Job(copy.deepcopy(game), agents, seed=seed) for seed in range(games)]
    return [episode.returns["agent_0"] for episode in asyncio.run(arena.play_many(jobs, concurrency=64))]


@pytest.mark.parametrize("make", [DecTiger, Broadcast, Recycling, GridMeeting, OwnGame])
def test_oracles_play_as_well_as_is_known(make):
    game = make(3)
    found = returned(game)
    error = np.std(found) / len(found) ** 0.5
    assert np.mean(found) == pytest.approx(game.known["optimum"], abs=4 * error + 1e-9)
    assert value(game.model, 3, game.plan.policy) == pytest.approx(game.known["optimum"], abs=1e-6)
    assert game.known["random"] < game.known["optimum"] <= game.known["centralised"] + 1e-6


def test_longer_horizons_have_no_oracle_and_no_figures():
    game = GridMeeting(horizon=6)
    game.reset(seed=0)
    assert game.oracle("agent_0") == {}
    assert game.known == {}
    assert game.info.par is None


def test_what_a_seat_hears():
    game = Broadcast(2)
    game.reset(seed=1)
    for move in ("wait", "send"):
        game.step(move)
    text = game.observe("agent_1")["text"]
    (noticed,) = [seen for _, seen in game.past["agent_1"]]
    assert text == f"Step 2 of 2. You so far: send (noticed {noticed}). Actions: [send] [wait]"
    assert game.rewards == {"agent_0": 1.0, "agent_1": 1.0}
    for move in ("wait", "wait"):
        game.step(move)
    assert game.observe("agent_0")["text"].endswith("Moves: wait, wait. Last reward: 0.")


# -- the tables, by hand -------------------------------------------------------------------------------------------


def entry(model, moves, state):
    return model.joint_actions.index(moves), model.states.index(state)


def odds(model, moves, state):
    action, s = entry(model, moves, state)
    return {after: p for after, p in zip(model.states, model.transition[action, s], strict=True) if p}


def test_a_broadcast_refills_what_was_sent():
    model = broadcast.model()
    assert odds(model, ("send", "wait"), "full full") == pytest.approx({"full full": 0.9, "empty full": 0.1})
    assert odds(model, ("wait", "wait"), "full empty") == pytest.approx({"full full": 0.1, "full empty": 0.9})
    both = {"empty empty": 0.09, "full empty": 0.81, "empty full": 0.01, "full full": 0.09}
    assert odds(model, ("send", "send"), "full full") == pytest.approx(both)
    pays = {moves: model.reward[entry(model, moves, "empty full")] for moves in model.joint_actions}
    assert [moves for moves, paid in pays.items() if paid == 1] == [("wait", "send")]


@pytest.mark.parametrize(
    ("batteries", "moves", "pay"),
    [
        ("high high", ("little", "little"), 4.0),
        ("high high", ("big", "big"), 5.0),
        ("high high", ("big", "little"), 2.0),
        ("high low", ("recharge", "little"), -0.4),
        ("high low", ("little", "little"), 1.2),
        ("high low", ("recharge", "big"), -3.0),
        ("low low", ("little", "little"), -1.44),
        ("low low", ("little", "big"), -3.88),
        ("low low", ("big", "big"), -3.55),
    ],
)
def test_recycling_pays_as_its_file_says(batteries, moves, pay):
    model = recycling.model()
    assert model.reward[entry(model, moves, batteries)] == pytest.approx(pay)


def test_a_robot_strays_into_walls():
    model = grid_meeting.model(2)
    stays = {after: p for after, p in odds(model, ("up", "stay"), "1,2 2,1").items()}
    assert stays == pytest.approx({"1,2 2,1": 0.8, "2,2 2,1": 0.1, "1,1 2,1": 0.1})
    assert model.reward[entry(model, ("left", "up"), "1,2 2,1")] == pytest.approx(0.6 * 0.6 + 0.1 * 0.1)


# -- what a seat may know, and what it is paid ---------------------------------------------------------------------


@pytest.mark.parametrize("side", [2, 3])
def test_a_robot_feels_its_own_column_and_nothing_else(side):
    """O-07: states that differ in what is out of a seat's reach look alike to it; the whole state is another call."""
    model = grid_meeting.model(side)
    own = model.observation.reshape(len(model.joint_actions), len(model.states), -1, len(model.observations[1])).sum(3)
    seen = {}
    for state, row in zip(model.states, own[0], strict=True):
        seen.setdefault(state.split()[0].split(",")[1], set()).add(tuple(row))
    assert len(seen) == side
    assert all(len(rows) == 1 for rows in seen.values())
    assert (own == own[0]).all()


def test_a_far_cell_changes_the_state_and_nobodys_observation():
    """O-07."""
    game = GridMeeting(2, side=3)
    game.reset(seed=0)
    far = copy.deepcopy(game)
    game.state, far.state = "2,2 1,1", "2,2 3,1"  # the second robot is elsewhere in its column
    heard = []
    for each in (game, far):
        each.step("stay")
        each.step("stay")
        heard.append([each.observe(seat)["text"] for seat in each.agents])
    assert heard[0] == heard[1]
    assert "no wall" in heard[0][0]
    assert game.state_text() != far.state_text()


class Leaky(Recycling):
    """Each robot sees the other's battery."""

    def sense(self, action):
        return tuple(reversed(super().sense(action)))


class Telling(Recycling):
    """The text shows more than the seat's own past."""

    def _ask(self):
        seats = super()._ask()
        self.tell(self.state_text(), "agent_0")
        return seats


def test_an_observation_that_is_not_the_seats_own_is_seen():
    """O-07: a view of too much fails the contract; one that is exchanged is no longer that of the tables."""
    with pytest.raises(AssertionError, match="also depends on something else"):
        check_game(Telling)
    assert np.mean(returned(Leaky(3))) < Recycling(3).known["optimum"] - 0.3


def counter(agents=3, steps=6):
    """Nothing but time passes; the team scores 1 in the second and in the fifth step."""
    states = tuple(f"after {i}" for i in range(steps))
    reward = np.array([[float(i in (1, 4)) for i in range(steps)]])
    ahead = np.eye(steps, k=1)
    ahead[-1, -1] = 1
    return DecPomdp(
        states, (("wait",),) * agents, (("tick",),) * agents, ahead[None], np.ones((1, steps, 1)), reward,
        np.eye(steps)[0],
    )  # fmt: skip


class Counter(TabularGame):
    def __init__(self, horizon=6):
        self.lay(counter(), horizon)


class Turns(Game):
    """The same score, but one of three seats moves at a time."""

    roles = {"agent": 3}
    info = GameInfo(cooperative=True, par=2.0)

    def start(self, rng, task):
        self.done = 0
        return self._next()

    def legal(self, seat):
        return ("wait", "pass")

    def play(self, moves):
        self.done += 1
        if self.done in (2, 5):
            self.score(**dict.fromkeys(self._seats, 1.0))
        return self._next() if self.done < 6 else ()

    def _next(self):
        seat = self._seats[self.done % 3]
        self.tell("Your turn.", seat)
        return (seat,)


@pytest.mark.parametrize("make", [Counter, Turns])
def test_a_shared_reward_is_counted_once(make):
    """O-08: the team's return is 2, and so is every agent's, however many they are and whoever moved when."""
    episode = asyncio.run(arena.play(make(), {"agent": arena.RandomAgent()}, seed=1))
    assert episode.returns == {"agent_0": 2.0, "agent_1": 2.0, "agent_2": 2.0}
    assert match_of(episode, make()).scores == (2.0, 2.0)  # the team's, and the par of the task
    asked = {seat: sum(turn.seat == seat for turn in episode.turns) for seat in episode.returns}
    assert asked == dict.fromkeys(episode.returns, 6 if make is Counter else 2)


def test_time_alone_is_worth_its_score():
    game = Counter()
    assert (game.known["optimum"], game.known["random"], game.info.chance) == (2.0, 2.0, False)


# -- a game of one's own -------------------------------------------------------------------------------------------


def test_a_game_from_a_file_from_yaml_and_from_a_mapping_is_one():
    Path("lamp.yaml").write_text(yaml.safe_dump({part: _plain(lists) for part, lists in LAMP.items()}))
    games = [arena.make("dec_pomdp", horizon=3, file="lamp.yaml"), arena.make("dec_pomdp", horizon=3, model=dict(LAMP))]
    assert games[0].model == games[1].model == OwnGame().model
    assert games[0].info.par == pytest.approx(best(OwnGame().model, 3).value)


def test_the_command_line_plays_a_file(capsys):
    from arena import cli

    Path("lamp.yaml").write_text(yaml.safe_dump({part: _plain(lists) for part, lists in LAMP.items()}))
    assert cli.main(["play", "dec_pomdp", "file=lamp.yaml", "horizon=3", "--seat", "agent=oracle"]) == 0
    assert "push" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"horizon": 0}, "horizon is 0: use 1 to 100"),
        ({"file": "lamp.yaml", "model": {}}, "give a file or a model, not both"),
        ({"file": "none.yaml"}, "model 'none.yaml' can't be read"),
        ({"model": {"stats": []}}, "no part 'stats': did you mean 'states'?"),
    ],
)
def test_wrong_parameters_are_told(params, error):
    with pytest.raises(ValueError, match=error):
        arena.make("dec_pomdp", **params)


def test_nothing_is_drawn_where_nothing_is_open():
    model = Counter().model
    assert not Counter(6).info.chance
    noisy = replace(model, start=np.full(6, 1 / 6))
    game = Counter()
    game.lay(noisy, 2)
    assert game.info.chance
    assert DecTiger(1).info.chance
    assert not GridMeeting(1).info.chance
    assert GridMeeting(2).info.chance


def _plain(part):
    return [_plain(item) for item in part] if isinstance(part, list | tuple) else part


def test_every_joint_action_is_numbered_with_the_last_agent_fastest():
    model = recycling.model()
    assert list(model.joint_actions) == list(product(recycling.ACTIONS, repeat=2))

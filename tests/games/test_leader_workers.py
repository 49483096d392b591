"""A leader hears workers and decides: its pay and its routes by hand, and a vote to beat."""

import asyncio

import pytest

import arena
from arena import ScriptedAgent
from arena.testing import check_game
from arena.types import Task
from games.leader_workers import LeaderWorkers

SUM = Task.new("What is 2 + 3 * 4?", kind="arithmetic", answer=14, choices=["12", "14", "20", "15"])


def talk(game, seat, rng):
    move = rng.choice(game.legal(seat))
    return move if seat == "leader_0" and not game.asked else move + rng.choice(("", ": so it is"))


@pytest.mark.parametrize("params", [{}, {"workers": 3, "routing": True, "cost": 0.1}, {"workers": 1}])
def test_it_keeps_the_contract(params):
    check_game(lambda: LeaderWorkers(**params), games=8, speak=talk)


def played(leader, workers, **params):
    game = LeaderWorkers(workers=len(workers), **params)
    agents = {"leader": ScriptedAgent([*leader, leader[-1]])}
    agents |= {f"worker_{i}": ScriptedAgent([said]) for i, said in enumerate(workers)}
    return asyncio.run(arena.play(game, agents, seed=1, task=SUM))


@pytest.mark.parametrize(
    ("workers", "leader", "values", "majority"),
    [
        (["[14]", "[20]", "[20]"], "[14]", (1, 1, 0, 0), 0.0),
        (["[14]", "[14: 2 + 12]", "[20]"], "[20]", (0, 1, 1, 0), 1.0),
        (["[14]", "[20]", "[12]"], "[15]", (0, 1, 0, 0), 1 / 3),
        (["[20]", "[20]", "[20]"], "[14]", (1, 0, 0, 0), 0.0),
        (["no idea", "[fourteen]", "[14]"], "[14]", (1, 0, 0, 1), 1 / 3),
    ],
)
def test_the_leader_earns_its_own_answer_and_each_worker_its_own(workers, leader, values, majority):
    episode = played([leader], workers)
    assert tuple(episode.returns.values()) == values
    assert episode.paid["leader_0"] == {"right": values[0]}
    assert episode.notes["majority_right"] == pytest.approx(majority)
    assert episode.notes["workers_right"] == pytest.approx(sum(values[1:]) / 3)


def test_the_leader_hears_what_each_worker_said_and_workers_nothing_of_each_other():
    episode = played(["[14]"], ["[14]", '[20" [14]]', "no idea"])
    heard = {turn.seat: turn.heard for turn in episode.turns}
    told = 'worker_0 says "14".\nworker_1 says "14".\nworker_2 says "".\nWhat is the answer? Answer like [12]'
    assert told in heard["leader_0"]
    assert heard["worker_0"] == heard["worker_1"] == heard["worker_2"]


def test_a_mute_leader_costs_no_worker_what_its_answer_is_worth():
    """O-22: a worker's pay is its own answer's, which a leader that says nothing doesn't change."""
    episode = played(["no idea"], ["[14]", "[20]", "[14: 2 + 12]"])
    assert (episode.ending, episode.fault) == ("forfeit", "leader_0")
    assert tuple(episode.returns.values()) == (-1.0, 1.0, 0.0, 1.0)


def test_a_worker_that_was_never_asked_is_worth_no_zero():
    episode = played(["nobody"], ["[14]", "[14]"], routing=True)
    assert tuple(episode.returns.values()) == (-1.0, None, None)


@pytest.mark.parametrize(("answer", "value"), [("[14]", 1.0), ("[20]", 0.0)])
def test_all_right_and_all_wrong(answer, value):
    episode = played([answer], [answer] * 3)
    assert tuple(episode.returns.values()) == (value,) * 4
    assert (episode.notes["majority_right"], episode.notes["workers_right"]) == (value, value)


def test_a_route_asks_those_named_and_costs_for_each():
    episode = played(["[0 2]", "[14]"], ["[14]", "[20]", "[14]"], routing=True, cost=0.25)
    assert tuple(episode.returns.values()) == (0.5, 1, 0, 1)
    assert episode.paid["leader_0"] == {"right": 1.0, "cost": -0.5}
    assert [turn.seat for turn in episode.turns] == ["leader_0", "worker_0", "worker_2", "leader_0"]
    assert episode.notes["asked"] == 2


@pytest.mark.parametrize("params", [{}, {"routing": True, "cost": 0.25}])
def test_the_most_that_a_leader_can_earn_is_what_is_known(params):
    """By a right answer, for which it has to ask one worker at least."""
    routes = ["[0]", "[0 1]", "[0 1 2]"] if params else [""]
    right = ["[14]"] * 3
    most = max(played([*filter(None, [route]), "[14]"], right, **params).returns["leader_0"] for route in routes)
    assert most == LeaderWorkers(**params).known["leader_max"]


@pytest.mark.parametrize("route", ["[2 0]", "[0 0]", "[3]", "[]", "[0, 1]"])
def test_a_route_that_names_nobody_new_is_refused(route):
    episode = played([route], ["[14]"] * 3, routing=True)
    assert (episode.ending, episode.fault, episode.returns["leader_0"]) == ("forfeit", "leader_0", -1.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"cost": 2.0, "routing": True}, "cost is 2.0"),
        ({"cost": 0.5}, "set routing=true"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        LeaderWorkers(**params)

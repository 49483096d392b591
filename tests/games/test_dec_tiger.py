"""The decentralised tiger: its rewards, what is heard, and who hears it."""

import hashlib

import pytest

from arena import solve
from arena.dec_pomdp import value
from arena.transcript import transcript
from games.dec_tiger import DecTiger, reward


def test_the_rewards_are_those_of_the_paper():
    table = {
        ("listen", "listen"): (-2, -2),
        ("left", "left"): (-50, 20),
        ("right", "right"): (20, -50),
        ("left", "right"): (-100, -100),
        ("listen", "left"): (-101, 9),
        ("listen", "right"): (9, -101),
    }
    for (one, two), by_tiger in table.items():
        for moves in ((one, two), (two, one)):
            assert (reward("left", *moves), reward("right", *moves)) == by_tiger


def played(seed, *stages, horizon=3):
    game, team = DecTiger(horizon), []
    game.reset(seed=seed)
    tigers = [game.tiger]
    for one, two in stages:
        game.step(one)
        game.step(two)
        assert game.rewards["agent_0"] == game.rewards["agent_1"]
        team.append(game.rewards["agent_0"])
        tigers.append(game.tiger)
    return game, team, tigers


def test_listening_leaves_the_tiger_and_is_right_with_85_percent_each_by_itself():
    right = {}
    for seed in range(4000):
        game, _, tigers = played(seed, ("listen", "listen"))
        assert tigers[0] == tigers[1]
        heard = tuple(game.past[seat][0][1] == tigers[0] for seat in game.agents)
        right[heard] = right.get(heard, 0) + 1
    for pair, expected in {(1, 1): 0.7225, (1, 0): 0.1275, (0, 1): 0.1275, (0, 0): 0.0225}.items():
        assert right[pair] / 4000 == pytest.approx(expected, abs=0.03)


def test_opening_puts_the_tiger_anew_and_what_is_heard_means_nothing():
    moved = right = 0
    for seed in range(4000):
        game, _, tigers = played(seed, ("left", "listen"))
        moved += tigers[0] != tigers[1]
        right += game.past["agent_1"][0][1] == tigers[1]
    assert moved / 4000 == pytest.approx(0.5, abs=0.04)
    assert right / 4000 == pytest.approx(0.5, abs=0.04)


def test_the_team_return_is_counted_once():
    game, team, tigers = played(1, ("listen", "listen"), ("listen", "listen"), horizon=2)
    assert team == [-2.0, -2.0]
    assert game.ending == "over"
    assert tigers[0] == tigers[2]


def test_a_seat_hears_its_own_past_and_nothing_of_the_other():
    game, _, _ = played(3, ("listen", "right"))
    (one,), (two,) = game.past["agent_0"], game.past["agent_1"]
    actions = "Actions: [listen] [left] [right]"
    assert game.observe("agent_0")["text"] == f"Step 2 of 3. You so far: listen (heard {one[1]}). {actions}"
    assert game.observe("agent_1")["text"] == f"Step 2 of 3. You so far: right (heard {two[1]}). {actions}"


def test_horizons_without_a_known_optimum_have_no_par_and_long_ones_no_oracle():
    assert DecTiger(3).info.par == 5.190812
    assert DecTiger(9).info.par is None
    game = DecTiger(6)
    game.reset(seed=0)
    assert game.oracle("agent_0") == {}
    with pytest.raises(ValueError, match="horizon is 0"):
        DecTiger(0)


def test_the_games_of_all_seeds_are_those_from_before_there_were_tables():
    """To the last byte, for runs and records go on from them: the digest was taken of the game without tables."""
    games = [transcript(DecTiger(3), seed) for seed in range(50)]
    assert hashlib.sha256(repr(games).encode()).hexdigest()[:16] == "c0ad3c483c8f9023"


def test_what_is_drawn_seat_by_seat_has_the_odds_of_the_tables():
    game = DecTiger(2)
    tree = solve.tree(game)

    def lean(known):
        return (0.6, 0.3, 0.1) if "none" in known.heard[-1] else (0.2, 0.5, 0.3)

    def act(agent, history):
        return (0.2, 0.5, 0.3) if history else (0.6, 0.3, 0.1)

    found = solve.values(tree, {known: lean(known) for known in tree.information})
    assert found["agent_0"] == pytest.approx(value(game.model, 2, act))

"""Dec-POMDPs: the best team is found, its value and its bounds are right, and files are read as they are meant."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from arena import solve
from arena.dec_pomdp import DecPomdp, best, centralised, from_mapping, load, omniscient, uniform, value
from arena.dec_pomdp.bounds import Late, Shared
from games import dec_tiger, grid_meeting
from games.dec_pomdp import LAMP
from games.recycling import Recycling

TIGER = """# Comments stand on lines of their own,
agents: 2
discount: 1.0
values: reward
states: left right
start: uniform
actions:
listen open-left open-right
listen open-left open-right
observations:
hear-left hear-right
2
T: * :
uniform
T: listen listen :
identity
O: * :
uniform
O: listen listen : left :
0.7225 0.1275 0.1275 0.0225
O: 0 : 1 : hear-left 0 : 0.0225   # or behind an entry
O: 0 0 : right : * 1 : 0.1275
O: 0 0 : right : hear-right 0 : 0.1275
O: 0 0 : right : 3 : 0.7225
R: listen listen : * : * : * : -2
R: open-left open-left : left : * : * : -50
R: open-left open-left : right : * : * : 20
R: open-right open-right : left : * : * : 20
R: open-right open-right : right : * : * : -50
R: open-left open-right : * : * : * : -100
R: open-right open-left : * : * : * : -100
R: open-left listen : left : * : * : -101
R: open-left listen : right : * : * : 9
R: listen open-left : left : * : * : -101
R: listen open-left : right : * : * : 9
R: open-right listen : left :
9 9 9 9
9 9 9 9
R: open-right listen : right : * :
-101 -101 -101 -101
R: listen open-right : left : * : * : 9
R: listen open-right : right : * : * : -101
"""


def random_model(seed, agents=2, states=3, actions=2, seen=2):
    rng = np.random.default_rng(seed)
    a, o = actions**agents, seen**agents
    return DecPomdp(
        tuple("stuvw"[:states]),
        (tuple("abc"[:actions]),) * agents,
        (tuple("xyz"[:seen]),) * agents,
        rng.dirichlet(np.ones(states) / 2, (a, states)),
        rng.dirichlet(np.ones(o) / 2, (a, states)),
        rng.normal(size=(a, states)) * 5,
        rng.dirichlet(np.ones(states)),
    )


def all_pairs(model, horizon):
    """The best return by trying every pair of policy trees, from the last step back: float [S, trees, trees]."""
    (one, two), (heard, other) = map(len, model.actions), map(len, model.observations)
    worth = model.reward.T.reshape(-1, one, two)
    for _ in range(horizon - 1):
        trees = [
            np.array(list(itertools.product(range(size), repeat=count)))
            for size, count in zip(worth.shape[1:], (heard, other), strict=True)
        ]
        rows = []
        for a in range(one):
            row = []
            for b in range(two):
                joint = a * two + b
                odds = model.observation[joint].reshape(-1, heard, other)
                ahead = np.einsum("st,txy,tij->sxyij", model.transition[joint], odds, worth)
                pairs = itertools.product(range(heard), range(other))
                total = sum(ahead[:, x, y][:, trees[0][:, x]][:, :, trees[1][:, y]] for x, y in pairs)
                row.append(total + model.reward[joint][:, None, None])
            rows.append(np.concatenate(row, 2))
        worth = np.concatenate(rows, 1)
    return np.tensordot(model.start, worth, 1).max()


def deterministic(model, horizon):
    """Every deterministic policy of one agent, as a mapping from what it has observed."""
    seen, actions = range(len(model.observations[0])), range(len(model.actions[0]))
    pasts = [past for step in range(horizon) for past in itertools.product(seen, repeat=step)]
    for chosen in itertools.product(actions, repeat=len(pasts)):
        yield dict(zip(pasts, chosen, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_the_best_team_is_the_best_of_all_pairs_of_policies(seed):
    model = random_model(seed, actions=2 + seed % 2)
    for horizon in (1, 2):
        assert best(model, horizon).value == pytest.approx(all_pairs(model, horizon))
    if seed % 2 == 0:
        assert best(model, 3).value == pytest.approx(all_pairs(model, 3))


@pytest.mark.parametrize("seed", range(3))
def test_three_agents_too(seed):
    model = random_model(seed, agents=3, states=2)
    found = []
    for policies in itertools.product(list(deterministic(model, 2)), repeat=3):

        def act(agent, history, policies=policies):
            return np.eye(2)[policies[agent][tuple(seen for _, seen in history)]]

        found.append(value(model, 2, act))
    assert best(model, 2).value == pytest.approx(max(found))


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_is_worth_what_it_says(seed):
    model = random_model(seed, agents=2 + seed % 2)
    plan = best(model, 3)
    assert value(model, 3, plan.policy) == pytest.approx(plan.value)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_stand_in_their_order(seed):
    """What more is told can't hurt: chance, the best team, sharing a step late, sharing at once, seeing the state."""
    model = random_model(seed)
    late, shared = (float(bound(model).worth(3, model.start[None]).max()) for bound in (Late, Shared))
    ladder = [uniform(model, 3), best(model, 3).value, late, shared, omniscient(model, 3)]
    assert ladder == pytest.approx(sorted(ladder))
    assert shared == centralised(model, 3)


def test_bounds_by_hand():
    """With one step nobody learns anything: sharing doesn't help; who sees the tiger opens the other door."""
    model = dec_tiger.model()
    assert centralised(model, 1) == -2
    assert omniscient(model, 3) == 60
    assert uniform(model, 2) == pytest.approx(2 * (-2 - 50 + 20 - 200 + 2 * (-101 + 9)) / 9)


@pytest.mark.parametrize("seed", range(4))
def test_chance_is_worth_as_much_as_the_policy_that_draws(seed):
    model = random_model(seed, agents=3)
    assert value(model, 2, lambda agent, history: (0.5, 0.5)) == pytest.approx(uniform(model, 2))


def test_a_policy_is_worth_what_the_whole_tree_of_the_game_says():
    """Two ways to one number: over histories of the tables, and over every way in which the game can go."""
    game, names = Recycling(2), Recycling(2).model.observations[0]

    def act(agent, history):
        return (0.5, 0.3, 0.2) if not history else (0.1, 0.2, 0.7) if history[0][1] == agent else (0.6, 0.4, 0.0)

    tree = solve.tree(game)
    policy = {}
    for known, position in zip(tree.information, tree.positions, strict=True):
        past = [(known.legal.index(move), names.index(seen)) for move, seen in position.past[known.seat]]
        policy[known] = act(int(known.seat[-1]), tuple(past))
    found = solve.values(tree, policy)
    assert found == pytest.approx(dict.fromkeys(tree.seats, value(game.model, 2, act)))


def test_a_search_that_takes_too_long_says_so():
    with pytest.raises(ValueError, match="wasn't found within 20 nodes: fewer steps"):
        best(dec_tiger.model(), 4, limit=20)
    with pytest.raises(ValueError, match="more than 1500 beliefs"):
        best(grid_meeting.model(2), 4, limit=30)


def test_a_plan_goes_on_after_what_it_rules_out():
    """In the plan nobody opens a door in the first two steps, so nothing but the tiger's side is heard; and a robot
    that recharges isn't low."""
    plan = best(Recycling(3).model, 3)
    for observed in itertools.product(range(2), repeat=2):
        assert plan.action(0, observed) in range(3)


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_file_holds_the_tables_of_the_game():
    Path("tiger.dpomdp").write_text(TIGER)
    model, ours = load("tiger.dpomdp"), dec_tiger.model()
    for part in ("transition", "observation", "reward", "start"):
        assert getattr(model, part) == pytest.approx(getattr(ours, part)), part
    assert model.actions == (("listen", "open-left", "open-right"),) * 2
    assert model.observations == (("hear-left", "hear-right"), ("0", "1"))
    assert best(model, 3).value == pytest.approx(5.1908125)


@pytest.mark.parametrize(
    ("start", "odds"),
    [
        ("start: right", [0, 1]),
        ("start: 0", [1, 0]),
        ("start:\n0.25 0.75", [0.25, 0.75]),
        ("start include: left right", [0.5, 0.5]),
        ("start exclude: left", [0, 1]),
    ],
)
def test_every_kind_of_start(start, odds):
    Path("tiger.dpomdp").write_text(TIGER.replace("start: uniform", start))
    assert load("tiger.dpomdp").start.tolist() == odds


def test_costs_are_paid_and_rewards_averaged_over_what_follows():
    text = TIGER.replace("values: reward", "values: cost") + "R: listen listen : left : left : hear-left * : 8\n"
    Path("tiger.dpomdp").write_text(text)
    assert load("tiger.dpomdp").reward[0] == pytest.approx([-(0.85 * 8 + 0.15 * -2), 2])


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("T: listen listen :", "T: lisen listen :", "line 15: no action of agent 0 'lisen': did you mean 'listen'?"),
        ("O: 0 : 1 :", "O: 0 : 7 :", "line 21: no state '7': there are left, right"),
        ("O: 0 : 1 :", "O: 9 : 1 :", "line 21: '9' is no joint action: name one for each of 2 agents, or *"),
        ("0.7225 0.1275 0.1275 0.0225", "0.7225 0.1275 0.1275", "line 19: 3 numbers where 4 are wanted"),
        ("0.7225 0.1275 0.1275 0.0225", "0.7 0.1 0.1 0", "observation sums to 0.9 for 'listen listen' into 'left'"),
        ("0.7225 0.1275 0.1275 0.0225", "0.7 0.1 0.1 x", "'0.7 0.1 0.1 x' isn't a number, a row or a matrix"),
        ("start: uniform", "start: lefft", "line 6: no state 'lefft': did you mean 'left'?"),
        ("start: uniform", "strat: uniform", "line 6: no entry 'strat': did you mean 'start'?"),
        ("start: uniform\n", "", "there is no entry 'start:'"),
        ("agents: 2", "agents: 3", "line 7: actions of 2 agents: there are 3, a line each"),
        ("values: reward", "values: gain", "line 4: values are 'gain': say reward or cost"),
        ("identity", "uniform\nidentity", "isn't a number"),
        ("R: listen listen : * : * : * : -2", "R: listen listen -2", "'R:' has no colon before its numbers"),
        ("agents: 2", "many\nagents: 2", "line 2: 'many' belongs to no entry"),
        (
            "listen open-left open-right\nl",
            "listen listen open-right\nl",
            "actions of agent 0: 'listen' is there twice",
        ),
    ],
)
def test_a_wrong_file_is_told_in_one_line(old, new, error):
    assert old in TIGER
    Path("tiger.dpomdp").write_text(TIGER.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"^tiger\.dpomdp: ") as raised:
        load("tiger.dpomdp")
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(ValueError, match=r"model 'none.dpomdp' can't be read: No such file"):
        load("none.dpomdp")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"transitions": {}}, "no part 'transitions': did you mean 'transition'?"),
        ({"start": "litt"}, "no state 'litt': did you mean 'lit'?"),
        ({"start": {"dark": 0.5}}, "start sums to 0.5: it must sum to 1"),
        ({"actions": ["push", "wait"]}, "give a list for each agent"),
        ({"reward": {"push shove : lit": 1}}, "reward: 'push shove : lit': no action of agent 1 'shove'"),
        ({"reward": 3}, "reward is 3: give a mapping"),
        ({"observation": {"* : * : *": -1}}, "observation has a negative probability for 'push push' into 'dark'"),
        ({"transition": {"*": [[1, 0]]}}, "transition: '*': 2 numbers where 4 are wanted"),
        ({"reward": {"*": float("nan")}}, "reward holds a number that isn't finite for 'push push' in 'dark'"),
        ({"observations": [["a"]], "observation": {"*": 1}}, "actions of 2 agents and observations of 1"),
    ],
)
def test_a_wrong_mapping_is_told_in_one_line(change, error):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        from_mapping({**LAMP, **change})
    assert error in str(raised.value)


def test_a_part_that_lacks_is_told():
    with pytest.raises(ValueError, match="there is no part 'reward'"):
        from_mapping({part: value for part, value in LAMP.items() if part != "reward"})


def test_tables_of_a_wrong_shape_are_refused():
    model = dec_tiger.model()
    with pytest.raises(ValueError, match=r"reward has the shape \(2, 9\): \(9, 2\) is wanted"):
        DecPomdp(
            model.states, model.actions, model.observations,
            model.transition, model.observation, model.reward.T, model.start,
        )  # fmt: skip


def test_a_model_is_what_its_numbers_are():
    assert from_mapping(LAMP) == from_mapping(LAMP)
    assert hash(from_mapping(LAMP)) == hash(from_mapping(LAMP))
    assert from_mapping(LAMP) != from_mapping({**LAMP, "start": "lit"})

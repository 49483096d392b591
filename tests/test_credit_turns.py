"""Credit by the turn and of a team: identities with outcome credit, and the exact counterfactual of a small game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.context import Context
from arena.types import Episode, Turn
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit
from trainers.credit.turns import against_others, discounted

returns = st.lists(st.floats(-3, 3), min_size=2, max_size=6)


def an_episode(rewards, *, seed=0, heard=None, streams=None, ending="over"):
    """`rewards` lists (seat, what its turn paid by seat); `heard` what each turn heard; `streams` the seats' seeds."""
    heard = heard or [""] * len(rewards)
    turns = tuple(
        Turn(seat, i, h, "m", "m", True, rewards=paid)
        for i, ((seat, paid), h) in enumerate(zip(rewards, heard, strict=True))
    )
    seats = sorted({seat for seat, _ in rewards})
    contexts = {seat: Context(seed=(streams or {}).get(seat, ())) for seat in seats}
    earned = {seat: sum(paid.get(seat, 0.0) for _, paid in rewards) for seat in seats}
    return Episode("e", "g", seed, None, {}, {}, turns, contexts, earned, ending)


def alone(*rewards, **more):
    """One seat's turns, and what each paid it."""
    return an_episode([("a_0", {"a_0": r}) for r in rewards], **more)


def given_to(episodes, estimator, roles=("a",), memory=None, **config):
    found = credit(episodes, list(roles), CreditConfig(estimator, **config), memory or Baselines())
    return [
        {seat: found.seats[i, seat].advantages for seat in e.returns if (i, seat) in found.seats}
        for i, e in enumerate(episodes)
    ]


def flat(found):
    return [a for seats in found for _, advantages in sorted(seats.items()) for a in advantages]


def test_returns_to_go_of_1_0_2_are_3_2_2_and_fade_by_the_discount():
    """O-18"""
    assert discounted((3.0, 2.0, 2.0), 1.0).tolist() == [3, 2, 2]
    assert discounted((3.0, 2.0, 2.0), 0.5).tolist() == [1.5, 1, 2]
    assert discounted((3.0, 2.0, 2.0), 0.0).tolist() == [1, 0, 2]
    found = given_to([alone(1.0, 0.0, 2.0), alone(0.0, 0.0, 0.0)], "turn")
    assert found == [{"a_0": (3.0, 2.0, 2.0)}, {"a_0": (-3.0, -2.0, -2.0)}]


@given(returns, st.lists(st.integers(1, 4), min_size=6, max_size=6))
@settings(max_examples=40)
def test_with_one_reward_at_the_end_credit_by_the_turn_is_credit_for_the_outcome(values, lengths):
    group = [alone(*[0.0] * (n - 1), r) for r, n in zip(values, lengths, strict=False)]
    peers, turn, joint = (flat(given_to(group, name)) for name in ("peers", "turn", "joint"))
    assert turn == pytest.approx(peers)
    assert joint == pytest.approx(peers)


def test_a_discounted_reward_is_worth_less_to_the_turns_before_it():
    found = given_to([alone(0.0, 0.0, 1.0), alone(0.0, 0.0, 0.0)], "turn", discount=0.5)
    assert found[0]["a_0"] == (0.25, 0.5, 1.0)


def test_a_trajectory_counts_once_at_every_turn_however_long_it_is():
    """O-23: rewards 1, 0, 1, 0 over 2, 1, 2, 1 turns; the second turns alone would have nothing to be compared with."""
    group = [alone(0.0, 1.0), alone(0.0), alone(0.0, 1.0), alone(0.0)]
    assert flat(given_to(group, "turn")) == pytest.approx([2 / 3, 2 / 3, -2 / 3, 2 / 3, 2 / 3, -2 / 3])


@pytest.mark.parametrize("estimator", ["turn", "joint", "gigpo", "difference"])
def test_all_equal_unscored_and_alone(estimator):
    """O-22 and a group of one: exactly 0, left out, and the running mean for a baseline (no other reply: nothing)."""
    same = [alone(0.0, 0.1)] * 3  # the mean of three 0.1 is not 0.1 in floating point
    assert set(flat(given_to(same, estimator))) == {0.0}
    broken = [alone(1.0), alone(0.0), alone(5.0, ending="infra")]
    found = given_to(broken, estimator)
    one = 2.0 if estimator == "gigpo" else 1.0  # both of its parts see the same
    assert [seats.get("a_0") for seats in found] == [(one,), (-one,), None]
    memory = Baselines()
    memory.update("g", "a", 0.25, 0.95)
    expected = 0.0 if estimator == "difference" else 0.75
    assert given_to([alone(0.0, 1.0)], estimator, memory=memory) == [{"a_0": (expected, expected)}]
    assert given_to([alone(0.0, 1.0)], estimator) == [{"a_0": (0.0, 0.0)}]


def team_of(first, second, value, **more):
    return an_episode([(first, {}), (second, {first: value, second: value})], **more)


def test_a_team_is_compared_with_other_teams_and_not_with_itself():
    """Two seats of one role: `peers` has the own teammate's return in the mean, `joint` has not."""
    group = [team_of("a_0", "a_1", r) for r in (1.0, 0.0, 0.0)]
    assert given_to(group, "joint")[0] == {"a_0": (1.0,), "a_1": (1.0,)}
    assert given_to(group, "peers")[0]["a_0"] == pytest.approx((1 - 1 / 5,))


def test_every_seat_of_a_team_gets_the_teams_return_from_its_own_turn_on():
    steps = [("a_0", {"a_0": 1.0, "b_0": 1.0}), ("b_0", {"a_0": 2.0, "b_0": 2.0})]
    none = [(seat, {}) for seat, _ in steps]
    found = given_to([an_episode(steps), an_episode(none)], "joint", ("a", "b"))
    assert found == [{"a_0": (3.0,), "b_0": (2.0,)}, {"a_0": (-3.0,), "b_0": (-2.0,)}]
    unlike = [("a_0", {}), ("b_0", {"a_0": 3.0, "b_0": 1.0})]  # where returns differ, the team's is their mean
    assert given_to([an_episode(unlike), an_episode(none)], "joint", ("a", "b"))[0] == {"a_0": (2.0,), "b_0": (2.0,)}
    only = given_to([an_episode(unlike), an_episode(none)], "joint", ("b",))  # who doesn't learn is not of the team
    assert only[0] == {"b_0": (1.0,)}


def test_turns_that_heard_the_same_are_compared_with_each_other():
    """GiGPO by hand: outcomes 1 and 0; at anchor x returns from there on are 1 and 0, at y one stood alone."""
    group = [alone(0.0, 1.0, heard=["x", "y"]), alone(0.0, heard=["x"])]
    assert given_to(group, "gigpo", anchor_weight=0.5) == [{"a_0": (1.5, 1.0)}, {"a_0": (-1.5,)}]
    looped = [alone(1.0, 1.0, heard=["x", "x"]), alone(0.0, heard=["x"])]  # visits: 2 and 1, so 3/2 to the other
    assert given_to(looped, "gigpo")[0]["a_0"] == (2.0 + 2.0, 2.0 + 1.0)
    assert given_to(looped, "gigpo")[1]["a_0"] == (-2.0 - 1.5,)


def joint_actions(table):
    """Every joint action of a game of two, its seats' random numbers standing for what they do."""
    return {
        (i, j): an_episode([("a_0", {}), ("b_0", {"a_0": r, "b_0": r})], streams={"a_0": (i,), "b_0": (j,)})
        for (i, j), r in np.ndenumerate(table)
    }


@pytest.mark.parametrize("table", [[[1.0, 0.0], [0.5, 2.0]], [[3.0, 1.0, -1.0], [0.0, 0.0, 6.0], [2.0, 5.0, 1.0]]])
def test_difference_credit_is_the_exact_counterfactual(table):
    """With each action once, leaving oneself out of n is n / (n - 1) times R(i, j) minus the mean over all i."""
    table = np.array(table)
    n = len(table)
    episodes = joint_actions(table)
    found = given_to(list(episodes.values()), "difference", ("a", "b"))
    for (i, j), seats in zip(episodes, found, strict=True):
        own = (n - 1) / n * seats["a_0"][0], (n - 1) / n * seats["b_0"][0]
        assert own == pytest.approx((table[i, j] - table[:, j].mean(), table[i, j] - table[i].mean()))


def test_a_seat_that_made_no_difference_gets_none_though_its_team_won():
    """What `joint` can't tell apart: only b_0's action pays."""
    episodes = list(joint_actions(np.array([[0.0, 1.0], [0.0, 1.0]])).values())
    found = given_to(episodes, "difference", ("a", "b"))
    assert [seats["a_0"][0] for seats in found] == [0.0] * 4
    assert [seats["b_0"][0] for seats in found] == [-1.0, 1.0, -1.0, 1.0]
    assert given_to(episodes, "joint", ("a", "b"))[1]["a_0"] == pytest.approx((2 / 3,))


@given(st.lists(st.tuples(st.floats(-3, 3), st.integers(0, 2)), min_size=2, max_size=8))
@settings(max_examples=40)
def test_comparing_owners_sums_to_nothing_over_equal_shares(items):
    values, owners = zip(*items, strict=True)
    found = against_others(values, owners)
    if found is None:
        assert len(set(owners)) == 1
        return
    shares = [found[[i for i, o in enumerate(owners) if o == owner]].mean() for owner in set(owners)]
    assert sum(shares) == pytest.approx(0.0, abs=1e-9)


def test_orders_of_a_batch_change_nothing():
    episodes = [alone(0.0, 1.0), alone(1.0), alone(0.0, 0.5, 0.5)]
    for name in ("turn", "joint", "gigpo"):
        plain = given_to(episodes, name)
        for order in itertools.permutations(range(3)):
            mixed = given_to([episodes[i] for i in order], name)
            assert [flat([mixed[order.index(i)]]) for i in range(3)] == [pytest.approx(flat([one])) for one in plain]

"""The truel: its values by hand and by throwing dice, and seats that leave while others shoot on."""

import asyncio
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from arena.agent import OracleAgent, RandomAgent, ScriptedAgent
from arena.make import make
from arena.play import play
from arena.tournament import match_of
from games.truel import THIRDS, Truel, share, solved
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit import credit


def duel(mine, yours):
    """The chance of whoever fires first: a hit now, or both miss and it starts again."""
    return mine / (1 - (1 - mine) * (1 - yours))


def test_the_values_of_the_classic_truel_by_hand():
    a, b = Fraction(1, 3), Fraction(2, 3)
    # A fires into the air, B at C, C at B; whoever is left then fights A, who fires first.
    by_hand = (b * duel(a, b) + (1 - b) * duel(a, 1), b * (1 - duel(a, b)), (1 - b) * (1 - duel(a, 1)))
    assert by_hand == (Fraction(25, 63), Fraction(8, 21), Fraction(2, 9))
    assert tuple(Truel().known.values()) == pytest.approx([float(chance) for chance in by_hand])
    worth, targets = solved(THIRDS, (0, 1, 2))
    assert targets == (None, 2, 1)
    assert worth[0] == pytest.approx([float(p - (1 - p) / 2) for p in by_hand])


def thrown(accuracy, targets, games, rng):
    """How often each survives when it keeps to its target, or the best of those left once that one is out."""
    won = Counter()
    for _ in range(games):
        left, at = list(range(len(accuracy))), 0
        while len(left) > 1:
            me = left[at % len(left)]
            target = (
                targets[me]
                if len(left) == len(accuracy)
                else max((i for i in left if i != me), key=accuracy.__getitem__)
            )
            if target is not None and rng.random() < accuracy[me]:
                left.remove(target)
            at = left.index(me) + 1
        won[left[0]] += 1
    return [won[i] / games for i in range(len(accuracy))]


def test_firing_into_the_air_is_what_dice_say_too():
    rng = random.Random(0)
    air = thrown(THIRDS, (None, 2, 1), 20_000, rng)
    assert air == pytest.approx(list(Truel().known.values()), abs=0.015)
    assert thrown(THIRDS, (2, 2, 1), 20_000, rng)[0] < air[0] - 0.04


@pytest.mark.parametrize("accuracy", [(0.3, 0.5, 1.0), (0.2, 0.4, 0.6, 0.8), (0.5, 0.5, 0.5)])
def test_no_other_stationary_choice_pays_anybody(accuracy):
    """Every target instead of the chosen one, kept for ever, by a linear recursion of its own."""
    seats = tuple(range(len(accuracy)))
    worth, targets = solved(accuracy, seats)

    def value(profile, me):
        """The return of `me` from its own shot on, by running until what is left is negligible."""
        total, reach, at = 0.0, 1.0, me
        for _ in range(4000):
            target = profile[at]
            if target is not None:
                after = tuple(i for i in seats if i != target)
                first = min((i for i in after if i > at), default=after[0])
                total += reach * accuracy[at] * solved(accuracy, after)[0][after.index(first)][me]
                reach *= 1 - accuracy[at]
            at = (at + 1) % len(seats)
        return total

    for me in seats:
        assert value(targets, me) == pytest.approx(worth[me][me])
        for other in (*(i for i in seats if i != me), None):
            assert value((*targets[:me], other, *targets[me + 1 :]), me) <= worth[me][me] + 1e-9


def test_returns_are_one_for_the_last_and_equal_losses_for_the_others():
    for seed, size in product(range(30), (2, 3, 6)):
        game = make("truel", accuracy=[0.5] * size)
        episode = asyncio.run(play(game, dict.fromkeys(game.roles, RandomAgent()), seed=seed))
        if episode.ending == "over":
            assert sorted(episode.returns.values()) == pytest.approx([-1 / (size - 1)] * (size - 1) + [1.0])


def test_pettingzoo_s_loop_finds_the_same_returns_as_ours():
    """O-02: also what a seat earned between its last move and its leaving."""
    for seed in range(20):
        rng, moves, totals = random.Random(seed), [], Counter()
        game = make("truel", accuracy=[0.7] * 4)
        game.reset(seed=seed)
        for seat in game.agent_iter():
            _, reward, terminated, truncated, _ = game.last()
            totals[seat] += reward
            moves.append(None if terminated or truncated else rng.choice(game.legal(seat)))
            game.step(moves[-1])
        own, said = Counter(), [move for move in moves if move]
        game.reset(seed=seed)
        while game.turn():
            game.step(said.pop(0))
            own.update(game.rewards)
        assert dict(own) == pytest.approx(dict(totals))


def test_those_left_share_what_the_others_lost():
    for seats in range(2, 7):
        assert (share(seats, seats), share(seats, 1)) == (0, 1)
        for left in range(1, seats + 1):
            assert share(seats, left) * left - (seats - left) / (seats - 1) == pytest.approx(0)


def test_a_seat_that_is_hit_leaves_while_the_others_go_on():
    game = Truel((1.0, 1.0, 1.0))
    game.reset(seed=0)
    game.step("third_0")
    assert game.rewards == {"first_0": 0.25, "second_0": 0.25, "third_0": -0.5}
    assert game.terminations == {"first_0": False, "second_0": False, "third_0": True}
    assert game.observe("third_0")["text"] == "first_0 hit third_0. You are out."
    assert game.turn() == "second_0"
    assert game.observe("second_0")["text"] == (
        "You are second_0. first_0 hit third_0. Left: first_0 hits 100%, second_0 hits 100%. second_0 fires. "
        "Actions: [air] [first_0]"
    )
    game.step("first_0")
    assert game.ending == "over"
    assert game.rewards == {"first_0": -0.75, "second_0": 0.75}


def told(**replies):
    """The game of three who never miss, played by these words."""
    agents = {role: ScriptedAgent([f"[{word}]" for word in words.split()]) for role, words in replies.items()}
    return asyncio.run(play(Truel((1, 1, 1)), agents, seed=0))


def test_a_seat_that_left_is_rated_and_credited_like_any_other():
    lost = told(first="air", second="air third_0", third="first_0")
    won = told(first="air air", second="air", third="second_0 first_0")
    assert lost.returns == pytest.approx({"first_0": -0.5, "second_0": 1.0, "third_0": -0.5})
    assert won.returns == pytest.approx({"first_0": -0.5, "second_0": -0.5, "third_0": 1.0})
    match = match_of(won, Truel())
    assert dict(zip(match.roles, match.scores, strict=True)) == pytest.approx(
        {("first",): -0.5, ("second",): -0.5, ("third",): 1.0}
    )
    found = credit([lost, won], ["third"], CreditConfig(estimator="peers"), Baselines())
    assert found.seats[0, "third_0"].advantages == pytest.approx((-1.5,))
    assert found.seats[1, "third_0"].advantages == pytest.approx((1.5, 1.5))


def test_the_oracles_survive_as_often_as_is_known():
    game, won = make("truel"), Counter()
    agents = dict.fromkeys(game.roles, OracleAgent())
    for seed in range(1500):
        returns = asyncio.run(play(game, agents, seed=seed)).returns
        won[max(returns, key=returns.get)] += 1
    for role, chance in game.known.items():
        assert won[f"{role.removeprefix('survival_')}_0"] / 1500 == pytest.approx(chance, abs=0.04)


@pytest.mark.parametrize("accuracy", [(), (0.5,), (0.5, 0.0), (0.5, 1.5), (0.5,) * 7])
def test_accuracy_that_is_none_is_refused(accuracy):
    with pytest.raises(ValueError, match="accuracy is"):
        Truel(accuracy)

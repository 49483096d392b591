"""The auction: what is paid, what stays private, and the equilibrium against brute force and the closed form."""

import itertools

import numpy as np
import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games.auction import Auction, solved, worth


def sold(values, bids, top=10):
    game = Auction(len(values), top)
    game.reset(seed=0)
    game.value = dict(zip(game.possible_agents, values, strict=True))
    for bid in bids:
        game.step(str(bid))
    return game


@pytest.mark.parametrize("params", [{}, {"seats": 3, "top": 4}, {"seats": 6, "top": 3}])
def test_it_keeps_the_contract(params):
    check_game(lambda: Auction(**params), games=2)


@pytest.mark.parametrize(
    ("values", "bids", "pays", "efficiency"),
    [
        ((8, 5), (4, 3), (4, 0), 1),
        ((8, 5), (4, 5), (0, 0), 5 / 8),
        ((8, 5, 9), (4, 4, 3), (2, 0.5, 0), 6.5 / 9),  # a tie is shared
        ((1, 10), (10, 0), (-9, 0), 1 / 10),
        ((3, 6, 9, 4, 5, 2), (0, 0, 0, 0, 0, 0), (0.5, 1, 1.5, 4 / 6, 5 / 6, 2 / 6), 29 / 6 / 9),
    ],
)
def test_the_highest_bid_wins_and_is_paid(values, bids, pays, efficiency):
    game = sold(values, bids)
    assert tuple(game.rewards.values()) == pytest.approx(pays)
    assert game.notes == pytest.approx({"revenue": max(bids), "efficiency": efficiency})


def test_values_stay_private_even_at_the_end():
    """O-07: bids are shown when all are in; what it was worth to others never is."""
    game = sold((8, 5, 9), ())
    game.reset(seed=3)
    value = game.value["bidder_1"]
    text = game.observe("bidder_1")["text"]
    assert text.startswith(f"Bidders: 3. Your value: {value} of 1 to 10. Actions: [0] [1] [2]")
    for bid in ("2", "4", "4"):
        game.step(bid)
    last = "Bids: bidder_0 2, bidder_1 4, bidder_2 4. The price is 4, and it goes to bidder_1 or bidder_2."
    assert game.observe("bidder_0")["text"].endswith(last)


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_an_illegal_bid_shifts_no_other(seats):
    values, bids = tuple(range(3, 3 + seats)), list(range(seats))
    for clumsy in range(seats):
        game = sold(values, [*bids[:clumsy], "11", *bids[clumsy + 1 :]])
        assert game.acting == (f"bidder_{clumsy}",)
        assert game.rewards == dict.fromkeys(game.possible_agents, 0.0)
        game.step(str(bids[clumsy]))
        assert game.rewards == sold(values, bids).rewards


def brute(odds, seats, value, bid):
    """What a bid earns against others who play `odds`, over all their values and bids."""
    top, total = len(odds), 0.0
    bids = odds.mean(0)
    for others in itertools.product(range(top + 1), repeat=seats - 1):
        if max(others) <= bid:
            total += (value - bid) / (1 + others.count(bid)) * np.prod([bids[other] for other in others])
    return total


@pytest.mark.parametrize(("seats", "top"), [(2, 5), (3, 4), (4, 2)])
def test_the_worth_of_a_bid_is_that_of_all_cases(seats, top):
    odds = np.random.default_rng(seats).dirichlet(np.ones(top + 1), top)
    odds[:, 1] = 0  # a bid that nobody makes
    odds /= odds.sum(1, keepdims=True)
    found = worth(odds, seats)
    for value in range(1, top + 1):
        for bid in range(top + 1):
            assert found[value - 1, bid] == pytest.approx(brute(odds, seats, value, bid))


@pytest.mark.parametrize(("seats", "top"), [(2, 10), (3, 10), (6, 10), (2, 20)])
def test_fictitious_play_ends_near_the_closed_form(seats, top):
    odds, pay = solved(seats, top)
    bids = np.array(odds) @ np.arange(top + 1)
    closed = (seats - 1) / seats * np.arange(1, top + 1)
    assert np.abs(bids - closed).max() < 1  # whole coins can't be closer than that everywhere
    gain = worth(np.array(odds), seats).max(1) - (np.array(odds) * worth(np.array(odds), seats)).sum(1)
    assert gain.max() < 0.005 * top
    assert pay == pytest.approx(top / (seats * (seats + 1)), rel=0.25)  # of continuous values: V / (n (n + 1))


def test_the_oracle_leaves_little_to_gain_by_the_solver_of_the_house():
    game = make("auction", seats=2, top=3)
    tree = solve.tree(game)
    perfect = solve.oracle_policy(tree)
    assert solve.nash_conv(tree, perfect) < 0.001
    assert solve.nash_conv(tree, solve.uniform(tree)) > 0.5
    assert solve.values(tree, perfect) == pytest.approx(dict.fromkeys(tree.seats, game.known["pay"]))
    assert game.known["share"] == 0.5


def test_a_bid_pays_what_openspiel_pays():
    """There lots are drawn where bids are equal: the mean over them is ours."""
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("first_sealed_auction(players=3,max_value=4)")
    for values in ((4, 3, 4), (2, 4, 3)):
        state = theirs.new_initial_state()
        for value in values:
            state.apply_action(value)
        for bids in itertools.product(*map(range, values)):  # it allows bids below the value only
            after = state.clone()
            for bid in bids:
                after.apply_action(bid)
            lots = after.chance_outcomes() if after.is_chance_node() else [(None, 1.0)]
            mean = np.zeros(3)
            for lot, odds in lots:
                end = after.clone()
                if lot is not None:
                    end.apply_action(lot)
                mean += odds * np.array(end.returns())
            assert tuple(sold(values, bids, top=4).rewards.values()) == pytest.approx(tuple(mean))


def test_other_sizes_are_refused():
    with pytest.raises(ValueError, match="seats is 7: use 2 to 6"):
        Auction(seats=7)
    with pytest.raises(ValueError, match="top is 1: use 2 to 100"):
        Auction(top=1)

"""Bargaining: what may be said, what it pays, what stays private, and how good a deal is."""

import itertools
import random

import pytest

from arena.testing import check_game
from games.bargaining import (
    FIRST,
    POOLS,
    SECOND,
    Bargaining,
    efficiency,
    left,
    nash,
    openings,
    outcomes,
    pareto,
    partners,
    splits,
    words,
)

POOL, ONE, TWO = (2, 1, 3), (1, 5, 1), (0, 1, 3)  # 2 books 1 hat 3 balls, worth 10 to either


def dealt(limit=3):
    game = Bargaining(limit)
    game.reset(seed=0)
    game.pool, game.values = POOL, {FIRST: ONE, SECOND: TWO}
    return game


def said(*moves, limit=3):
    game = dealt(limit)
    for move in moves:
        game.step(move)
        assert not game.judged, game.judged
    return game


@pytest.mark.parametrize("limit", [1, 4])
def test_it_keeps_the_contract(limit):
    check_game(lambda: Bargaining(limit), games=4)


def test_who_accepts_gets_the_rest():
    game = said("2 books 1 hat", "accept")
    assert game.rewards == {FIRST: 2 * 1 + 5, SECOND: 3 * 3}
    assert game.ending == "over"
    game = said("2 books 1 hat", "1 hat 3 balls", "accept")
    assert game.rewards == {FIRST: 2 * 1, SECOND: 1 + 3 * 3}


def test_the_last_offer_is_accepted_or_refused_and_no_deal_pays_nothing():
    game = said("1 hat", "3 balls", limit=2)
    assert game.legal(FIRST) == ("accept", "refuse")
    game.step("1 hat")
    assert game.judged == "say [accept] or [refuse]"
    game.step("refuse")
    assert game.rewards == {FIRST: 0.0, SECOND: 0.0}
    assert game.notes == {"deal": 0.0, "efficiency": 0.0, "nash": 0.0, "pareto": 0.0}


def test_each_seat_hears_the_pool_its_own_values_and_the_last_offer():
    game = said("2 books 1 hat")
    assert game.observe(SECOND)["text"].endswith(
        "Offers left: 2. The other takes 2 books 1 hat and leaves you 3 balls. "
        "Say what you take, like [1 book 1 hat], or [accept]"
    )
    game.step("1 hat 3 balls")
    assert game.observe(FIRST)["text"] == (
        "Pool: 2 books 1 hat 3 balls. Worth to you: book 1, hat 5, ball 1. Offers left: 1. "
        "The other takes 1 hat 3 balls and leaves you 2 books. Say what you take, like [1 book 1 hat], or [accept]"
    )


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("2 books 1 hat", (2, 1, 0)),
        ("1 hat 2 books", (2, 1, 0)),
        ("1 hat, 2 books", (2, 1, 0)),
        ("2 books and 1 hat", (2, 1, 0)),
        ("1 books, 1 hats and 0 balls", (1, 1, 0)),
        ("nothing", (0, 0, 0)),
    ],
)
def test_items_are_understood_in_any_order(text, items):
    assert said(text).made == [items]


@pytest.mark.parametrize(
    "text",
    ["", "2", "books", "2 books 2 books", "2 books 1 cat", "2 books; 1 hat", "-1 books", "٢ books", "accept", "refuse",
     "2 books" * 99, "9999 books", "2  books"],
)  # fmt: skip
def test_what_is_no_offer_is_refused_with_an_example(text):
    game = dealt()
    game.step(text)
    assert game.judged == "say what you take, like [1 book 1 hat]"


def test_more_than_there_is_can_not_be_taken():
    game = dealt()
    game.step("3 books")
    assert game.judged == "there are only 2 books 1 hat 3 balls"


def test_every_split_can_be_said():
    game = dealt()
    assert len(game.legal(FIRST)) == 3 * 2 * 4 == len(set(game.legal(FIRST)))
    assert [game.parse(FIRST, text) for text in game.legal(FIRST)] == list(splits(POOL))
    assert len(said("1 hat").legal(SECOND)) == 3 * 2 * 4 + 1


def test_values_are_dealt_as_the_paper_says_and_are_private():
    """O-07: whatever the other's values are, a seat hears the same."""
    game, texts = Bargaining(), {}
    for seed in range(300):
        game.reset(seed=seed)
        one, two = game.values[FIRST], game.values[SECOND]
        assert 5 <= sum(game.pool) <= 7
        assert min(game.pool) >= 1
        for values in (one, two):
            assert sum(v * n for v, n in zip(values, game.pool, strict=True)) == 10
        assert all(a or b for a, b in zip(one, two, strict=True))
        assert any(a and b for a, b in zip(one, two, strict=True))
        texts.setdefault((game.pool, one), set()).add(game.observe(FIRST)["text"])
    assert all(len(heard) == 1 for heard in texts.values())


def test_seats_that_change_places_hear_each_others_words():
    """O-09: each hears its own values, and an offer from its own side."""
    one = said("1 hat", "2 books").observe(FIRST)["text"]
    game = dealt(limit=4)
    game.values = {FIRST: TWO, SECOND: ONE}
    for move in ("3 balls", "1 hat", "2 books"):
        game.step(move)
    assert game.observe(SECOND)["text"] == one


def test_the_measures_of_a_deal_by_hand():
    found = outcomes(POOL, ONE, TWO)
    assert found[2, 1, 0] == (7, 9)
    assert max(map(sum, found.values())) == 16  # books and hat to the first, balls to the second
    assert nash(POOL, ONE, TWO) == (2, 1, 0)  # 63, more than 8 * 6 = 48
    assert efficiency(POOL, ONE, TWO, (2, 1, 0)) == 1.0
    assert efficiency(POOL, ONE, TWO, (0, 0, 3)) == (3 + 1) / 16
    # Books are worthless to the second, so they all go to the first; the hat is dearer to the first than a ball.
    assert {found[mine] for mine in pareto(POOL, ONE, TWO)} == {(10, 0), (9, 3), (8, 6), (7, 9), (2, 10)}


def test_a_deal_is_noted_with_its_measures():
    assert said("2 books 1 hat", "accept").notes == {"deal": 1, "efficiency": 1, "nash": 1, "pareto": 1}
    game = said("1 book 1 hat", "3 balls", "accept")  # who accepts gets the rest, here both books
    assert game.rewards == {FIRST: 7, SECOND: 9}
    game = said("1 hat", "accept")
    assert game.notes == pytest.approx({"deal": 1, "efficiency": 14 / 16, "nash": 45 / 63, "pareto": 0})


def test_the_front_and_the_nash_split_of_any_deal():
    rng = random.Random(0)
    for _ in range(30):
        pool = rng.choice(POOLS)
        one = rng.choice(openings(pool))
        two = rng.choice(partners(pool, one))
        found, front = outcomes(pool, one, two), pareto(pool, one, two)
        assert nash(pool, one, two) in front
        assert found[nash(pool, one, two)][0] * found[nash(pool, one, two)][1] > 0
        worth = {found[mine] for mine in front}
        for (a, b), (c, d) in itertools.permutations(worth, 2):
            assert (a - c) * (b - d) < 0  # on the front, more for one is less for the other
        for mine in found.keys() - set(front):
            a, b = found[mine]
            assert any(c >= a and d >= b for c, d in worth)


@pytest.mark.slow
def test_the_known_values_are_the_means_over_all_that_may_be_dealt():
    best = fair = 0.0
    for pool in POOLS:
        for one in openings(pool):
            for two in partners(pool, one):
                share = 1 / len(POOLS) / len(openings(pool)) / len(partners(pool, one))
                found = outcomes(pool, one, two)
                best += share * max(map(sum, found.values()))
                fair += share * sum(found[nash(pool, one, two)])
    assert Bargaining.known == pytest.approx({"welfare": best, "nash_welfare": fair}, abs=1e-6)


def test_openspiel_pays_the_same_for_the_same_deal():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("bargaining")
    for deal in range(20):
        state = theirs.new_initial_state()
        state.apply_action(deal)
        pool, one, two = ([int(n.split(",")[0]) for n in line.split(": ")[2:]] for line in str(state).split("\n")[:3])
        action = state.legal_actions()[deal % len(state.legal_actions())]
        mine = tuple(int(n.split(",")[0]) for n in state.action_to_string(action).split(": ")[2:])
        state.apply_action(action)
        state.apply_action(max(state.legal_actions()))  # to agree
        assert tuple(state.returns()) == outcomes(tuple(pool), tuple(one), tuple(two))[mine]


def play(one, two, seed):
    game = Bargaining()
    game.reset(seed=seed)
    while game.acting:
        seat = game.agent_selection
        ((move, odds),) = game.bots[one if seat == FIRST else two](game, seat).items()
        assert odds == 1.0
        game.step(move)
        assert not game.judged
    return game


def test_who_yields_comes_to_terms_and_two_who_do_not_seldom_do():
    soft = [play("yielding", "yielding", seed) for seed in range(100)]
    assert sum(game.notes["deal"] for game in soft) > 90
    hard = [play("stubborn", "stubborn", seed) for seed in range(100)]
    assert sum(game.notes["deal"] for game in hard) < sum(game.notes["deal"] for game in soft)


def test_the_bots_ask_and_accept_by_their_own_values():
    game = dealt(limit=5)
    assert game.bots["stubborn"](game, FIRST) == {"2 books 1 hat 3 balls": 1.0}
    game.step("2 books 1 hat 3 balls")
    assert game.bots["yielding"](game, SECOND) == {"3 balls": 1.0}  # 9 points do, one offer after the first
    game.step("3 balls")
    assert game.bots["yielding"](game, FIRST) == {"1 hat 3 balls": 1.0}  # 7 points aren't the 8 it wants, but these are
    assert game.bots["stubborn"](said("nothing"), SECOND) == {"accept": 1.0}


def test_words_and_the_rest():
    assert words((2, 1, 0)) == "2 books 1 hat"
    assert words((0, 0, 0)) == "nothing"
    assert left(POOL, (2, 0, 1)) == (0, 1, 2)
    with pytest.raises(ValueError, match="limit is 0: use 1 to 1000"):
        Bargaining(0)

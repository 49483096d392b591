"""Nim: the rule of Bouton against plain search, normal and misere, with and without a limit."""

from functools import cache
from itertools import product

import pytest

from games.nim import Nim, after, lost


@cache
def loses(heaps, misere, most):
    """By search alone: whoever moves loses if every move leads to a position that doesn't."""
    if not any(heaps):
        return not misere
    lowest = [max(0, heap - most) if most else 0 for heap in heaps]
    smaller = [(*heaps[:i], left, *heaps[i + 1 :]) for i, heap in enumerate(heaps) for left in range(lowest[i], heap)]
    return all(not loses(next_heaps, misere, most) for next_heaps in smaller)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("misere", [False, True])
def test_bouton_s_rule_is_what_search_finds(misere, most):
    for heaps in product(range(8 if most else 5), repeat=3):
        if any(heaps):
            assert lost(heaps, misere, most) == loses(heaps, misere, most), heaps
            assert Nim(heaps, misere, most).known == {"value": -1.0 if loses(heaps, misere, most) else 1.0}


def test_of_one_heap_multiples_of_the_limit_and_one_are_lost():
    assert [n for n in range(1, 22) if lost((n,), most=3)] == [4, 8, 12, 16, 20]
    assert [n for n in range(1, 22) if lost((n,), misere=True, most=3)] == [1, 5, 9, 13, 17, 21]


def test_a_limit_is_told_and_kept():
    game = Nim((2, 5), most=3)
    game.reset(seed=0)
    assert game.observe("first_0")["text"] == (
        "The last object wins. Take at most 3. Heaps: A=2 B=5. Actions: [A1] [A2] [B1] [B2] [B3]"
    )
    assert {move for move, p in game.oracle("first_0").items() if p} == {"A1", "B3"}
    game.step("B4")
    assert game.judged
    with pytest.raises(ValueError, match="most is -1"):
        Nim(most=-1)


@pytest.mark.parametrize("misere", [False, True])
def test_the_oracle_wins_every_won_game(misere):
    def go(heaps, turn):
        """The oracle has turn 0 and stands in a won position."""
        game = Nim(heaps, misere)
        game.reset(seed=0)
        moves = game.legal("first_0")
        if turn == 0:
            odds = game.oracle("first_0")
            moves = [move for move in moves if odds[move] > 0]
        for move in moves:
            left = after(heaps, move)
            if any(left):
                go(left, 1 - turn)
            else:
                assert (turn == 0) != misere, heaps

    for heaps in ((1, 1, 1), (2, 3), (3, 2, 2)):
        assert not lost(heaps, misere) or misere
        go(heaps, 0 if not lost(heaps, misere) else 1)


def test_the_last_object_wins_or_loses():
    for misere, winner in ((False, "second_0"), (True, "first_0")):
        game = Nim((2, 1), misere)
        game.reset(seed=0)
        assert game.legal("first_0") == ("A1", "A2", "B1")
        game.step("A2")
        game.step("B1")
        assert game.rewards[winner] == 1.0
        assert sum(game.rewards.values()) == 0


def test_what_a_seat_hears_holds_everything():
    game = Nim((1, 2), misere=True)
    game.reset(seed=0)
    assert game.observe("first_0")["text"] == "The last object loses. Heaps: A=1 B=2. Actions: [A1] [B1] [B2]"
    game.step("B2")
    assert game.observe("second_0")["text"] == "The last object loses. Heaps: A=1 B=0. Actions: [A1]"


@pytest.mark.parametrize("heaps", [(), (0, 0), (2, -1), (1,) * 27])
def test_heaps_that_are_none_are_refused(heaps):
    with pytest.raises(ValueError, match="heaps are"):
        Nim(heaps)

"""Nim: the rule of Bouton against plain search, normal and misere."""

from functools import cache
from itertools import product

import pytest

from games.nim import Nim, after, lost


@cache
def loses(heaps, misere):
    """By search alone: whoever moves loses if every move leads to a position that doesn't."""
    if not any(heaps):
        return not misere
    smaller = [(*heaps[:i], left, *heaps[i + 1 :]) for i, heap in enumerate(heaps) for left in range(heap)]
    return all(not loses(next_heaps, misere) for next_heaps in smaller)


@pytest.mark.parametrize("misere", [False, True])
def test_bouton_s_rule_is_what_search_finds(misere):
    for heaps in product(range(5), repeat=3):
        if any(heaps):
            assert lost(heaps, misere) == loses(heaps, misere), heaps


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

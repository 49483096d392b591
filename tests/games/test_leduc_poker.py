"""Leduc poker pays what the rules say, and its oracle can't be beaten."""

import math

import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games.leduc_poker import LeducPoker, lines


def dealt(first, second, opened, suits=True):
    """A game in which these cards come."""
    game = LeducPoker(suits)
    game.reset(seed=0)
    game.card = {"first_0": first, "second_0": second}
    game.rest = [opened]
    game._heard = {seat: [] for seat in game.agents}
    game._ask()
    return game


@pytest.mark.parametrize(
    ("cards", "moves", "first", "end"),
    [
        ("Jh Kh Qs", "raise fold", 1, "Open: none. Moves: raise, fold. first_0 wins 1."),
        ("Jh Kh Qs", "check raise raise fold", 3, "Open: none. Moves: check, raise, raise, fold. first_0 wins 3."),
        ("Jh Kh Js", "check check check check", 1, "Cards: Jh, Kh. first_0 wins 1."),
        ("Kh Ks Js", "raise raise call raise raise call", 0, "Cards: Kh, Ks. The pot is split."),
        ("Jh Qh Ks", "raise raise call raise raise call", -13, "Cards: Jh, Qh. second_0 wins 13."),
        (
            "Qh Jh Ks",
            "raise call check raise call",
            7,
            "Moves: raise, call; check, raise, call. Cards: Qh, Jh. first_0 wins 7.",
        ),
        ("Qh Jh Ks", "raise call raise fold", 3, "Open: Ks. Moves: raise, call; raise, fold. first_0 wins 3."),
    ],
)
def test_the_loser_pays_what_it_has_put_in(cards, moves, first, end):
    game = dealt(*cards.split())
    for move in moves.split():
        assert not game.judged
        game.step(move)
    assert game.ending == "over"
    assert game.rewards == {"first_0": first, "second_0": -first}
    assert game.observe("first_0")["text"].endswith(end)


def test_a_seat_hears_its_card_the_open_card_and_all_moves_every_time():
    game = dealt("Jh", "Kh", "Qs")
    assert game.observe("first_0")["text"] == "Card: Jh. Open: none. Moves: none. Actions: [check] [raise]"
    game.step("raise")
    assert game.observe("second_0")["text"] == "Card: Kh. Open: none. Moves: raise. Actions: [fold] [call] [raise]"
    game.step("call")
    assert game.observe("first_0")["text"] == "Card: Jh. Open: Qs. Moves: raise, call; none. Actions: [check] [raise]"


def test_two_raises_a_round_are_all():
    assert tuple(lines()["raise, raise"].next) == ("fold", "call")
    assert tuple(lines()["check, raise, raise"].next) == ("fold", "call")
    assert tuple(lines()["raise, raise, call; raise"].next) == ("fold", "call", "raise")
    assert max(line.chips for line in lines().values()) == (13, 13)


def test_cards_are_dealt_without_putting_them_back():
    tree = solve.tree(LeducPoker())
    deals = {tree.chance[tree.slot[kid]] for kid in tree.children[0]}
    assert len(tree.children[0]) == 30
    assert all(math.isclose(odds, 1 / 30) for odds in deals)


def test_the_oracle_says_the_same_with_suits_and_without():
    with_suits, without = dealt("Kh", "Js", "Ks"), dealt("K", "J", "K", suits=False)
    for move in ("check", "raise", "call", "check"):
        seat = with_suits.agent_selection
        assert with_suits.oracle(seat) == without.oracle(seat) != {}
        with_suits.step(move)
        without.step(move)


def test_the_game_keeps_the_contract_in_its_other_size():
    check_game(lambda: make("leduc_poker(suits=false)"), games=4)

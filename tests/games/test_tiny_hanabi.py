"""Tiny Hanabi: what is dealt, said, heard and paid."""

import pytest

from arena.make import make
from arena.testing import check_game
from games.tiny_hanabi import OPTIMUM, REWARDS, TinyHanabi, rewards


def test_the_tables_have_the_shape_of_the_suite():
    assert OPTIMUM.keys() == REWARDS.keys()
    for table, (cards, moves) in {**dict.fromkeys("ABCD", (2, 2)), "E": (2, 3), "F": (3, 2)}.items():
        for one in range(cards):
            for two in range(cards):
                assert [len(row) for row in rewards(table, one, two)] == [moves] * moves


def test_the_second_seat_hears_its_card_and_the_first_move_only():
    game = make("tiny_hanabi")
    game.reset(seed=0)
    game.card = {"first_0": 0, "second_0": 0}
    one, two = (game.card[seat] + 1 for seat in game.possible_agents)
    assert game.legal("first_0") == ("a", "b", "c")
    game.step("b")
    assert game.observe("second_0")["text"] == f"Card: {two}. First: b. Actions: [a] [b] [c]"
    game.step("b")
    assert game.observe("first_0")["text"] == f"Cards: {one}, {two}. Moves: b, b. Reward: 8."
    assert game.rewards == {"first_0": 8.0, "second_0": 8.0}


def test_perfect_play_earns_ten_on_every_deal():
    game = make("tiny_hanabi")
    for seed in range(50):
        game.reset(seed=seed)
        for seat in game.possible_agents:
            (move,) = (move for move, odds in game.oracle(seat).items() if odds)
            game.step(move)
        assert game.rewards["first_0"] == 10


def test_other_tables_are_refused():
    with pytest.raises(ValueError, match="table is 'G': use one of A, B, C, D, E, F"):
        TinyHanabi("G")


def test_the_game_keeps_the_contract_in_its_other_size():
    check_game(lambda: make('tiny_hanabi(table="F")'), games=4)

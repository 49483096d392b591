"""Connect four: the bits against plain squares, and the small boards that are solved."""

import random

import pytest

from arena.make import make
from games.connect_four import VALUES, ConnectFour, board


def squares(game):
    """The board as rows from the top, of "X", "O" and "."; read from what is shown."""
    return [line.split() for line in game.state_text().splitlines()[:-1]]


def plain_win(rows, mark):
    """Four of `mark` in a row, square by square."""
    high, wide = len(rows), len(rows[0])
    for r in range(high):
        for c in range(wide):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(r + i * down, c + i * right) for i in range(4)]
                if all(0 <= y < high and 0 <= x < wide and rows[y][x] == mark for y, x in line):
                    return True
    return False


def plain_value(rows, me, other):
    """Minimax without cuts or a table, on lists of squares."""
    best = None
    for c in range(len(rows[0])):
        free = [r for r in range(len(rows)) if rows[r][c] == "."]
        if free:
            rows[free[-1]][c] = me
            worth = 1 if plain_win(rows, me) else -plain_value(rows, other, me)
            rows[free[-1]][c] = "."
            best = worth if best is None else max(best, worth)
    return 0 if best is None else best


@pytest.mark.parametrize("size", [(6, 7), (4, 5), (5, 4), (4, 9)])
def test_a_game_is_won_when_four_are_in_a_row_and_not_before(size):
    rng, wins = random.Random(0), 0
    for _ in range(15):
        game = ConnectFour(*size)
        game.reset(seed=0)
        while seat := game.turn():
            assert not plain_win(squares(game), "X")
            assert not plain_win(squares(game), "O")
            game.step(rng.choice(game.legal(seat)))
        winner = [seat for seat, gain in game.rewards.items() if gain > 0]
        wins += len(winner)
        assert [mark for mark in "XO" if plain_win(squares(game), mark)] == [seat[0].upper() for seat in winner]
        if not winner:
            assert "." not in game.state_text()
    assert wins


@pytest.mark.parametrize("size", [size for size in VALUES if size[0] * size[1] < 20])
def test_small_boards_are_worth_what_is_known(size):
    assert (
        board(*size).value(0, 0) == VALUES[size] == make("connect_four", rows=size[0], columns=size[1]).known["value"]
    )


@pytest.mark.slow
def test_the_boards_of_20_squares_are_worth_what_is_known_from_every_first_move():
    assert [board(5, 4).worth(0, 0, column) for column in range(4)] == [0, 0, 0, 0]
    assert [board(4, 5).worth(0, 0, column) for column in range(5)] == [-1, 0, 0, 0, -1]
    assert VALUES[5, 4] == VALUES[4, 5] == 0


@pytest.mark.parametrize("size", [(4, 4), (4, 5), (5, 4)])
def test_the_table_agrees_with_a_minimax_without_one(size):
    rng, met = random.Random(1), set()
    for _ in range(40):
        game = ConnectFour(*size)
        game.reset(seed=0)
        for _ in range(size[0] * size[1] - 6):
            if seat := game.turn():
                game.step(rng.choice(game.legal(seat)))
        if seat := game.turn():
            me, other = ("X", "O") if seat == "x_0" else ("O", "X")
            worth = plain_value(squares(game), me, other)
            assert game.rules.value(game.mine, game.theirs) == worth, game.state_text()
            met.add(worth)
    assert met == {-1, 0, 1}


def test_the_oracle_keeps_the_draw_against_any_play_and_takes_a_win():
    rng = random.Random(2)
    for seed in range(40):
        game = ConnectFour(4, 4)
        game.reset(seed=0)
        mine = "xo"[seed % 2] + "_0"
        while seat := game.turn():
            odds = game.oracle(seat)
            choices = [move for move, p in odds.items() if p] if seat == mine else game.legal(seat)
            game.step(rng.choice(choices))
        assert game.rewards[mine] >= 0


def test_large_boards_have_no_oracle():
    game = ConnectFour()
    game.reset(seed=0)
    assert game.oracle("x_0") == {}


def test_what_a_seat_hears_holds_the_whole_board():
    game = ConnectFour(4, 5)
    game.reset(seed=0)
    for column in "3345":
        game.step(column)
    assert game.observe("x_0")["text"] == (
        "You are X.\n. . . . .\n. . . . .\n. . O . .\n. . X X O\n1 2 3 4 5\nActions: [1] [2] [3] [4] [5]"
    )
    for column in "33":
        game.step(column)
    assert game.legal("x_0") == ("1", "2", "4", "5")


@pytest.mark.parametrize("size", [(3, 7), (6, 10), (0, 0)])
def test_a_board_of_another_size_is_refused(size):
    with pytest.raises(ValueError, match="the board has"):
        ConnectFour(*size)

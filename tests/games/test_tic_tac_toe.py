"""Tic-tac-toe, normal and misere: the table of all boards, the oracle, and what the seats are told."""

import random

import pytest

from games.tic_tac_toe import EMPTY, TicTacToe, free, mark, positions, value, won


def plain_minimax(squares, me, other, line_is=-1):
    """The value for `me`, on lists of marks and without a table: written apart from the game's own.

    `line_is` is what a line of the other is worth to me: -1, or 1 in the misere game.
    """
    lines = [(r * 3, r * 3 + 1, r * 3 + 2) for r in range(3)] + [(c, c + 3, c + 6) for c in range(3)]
    lines += [(0, 4, 8), (2, 4, 6)]
    if any(all(squares[i] == other for i in line) for line in lines):
        return line_is
    empty = [i for i in range(9) if squares[i] is None]
    if not empty:
        return 0
    best = -1
    for i in empty:
        squares[i] = me
        best = max(best, -plain_minimax(squares, other, me, line_is))
        squares[i] = None
        if best == 1:
            break
    return best


def test_perfect_play_draws_and_5478_boards_can_be_reached():
    assert value(EMPTY) == value(EMPTY, misere=True) == TicTacToe.known["value"]
    assert len(positions()) == TicTacToe.known["positions"]


def test_the_table_agrees_with_a_minimax_without_one():
    rng = random.Random(0)
    for board in rng.sample(sorted(b for b in positions() if b.count("X") + b.count("O") >= 3), 150):
        squares = [mark if mark in "XO" else None for mark in board]
        me = mark(board)
        other = "O" if me == "X" else "X"
        assert value(board) == plain_minimax(squares, me, other), board
        assert value(board, misere=True) == plain_minimax(squares, me, other, 1), board


def test_in_the_misere_game_the_middle_draws_and_every_other_first_move_loses():
    worth = {square: -value(EMPTY.replace(square, "X"), misere=True) for square in EMPTY}
    assert worth == {square: 0 if square == "5" else -1 for square in EMPTY}


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("seat", ["x_0", "o_0"])
def test_the_oracle_never_loses_to_any_play(seat, misere):
    """Every reply of the other seat, against every move that the oracle may make."""
    seen = set()

    def go(game_moves):
        game = TicTacToe(misere)
        game.reset(seed=0)
        for move in game_moves:
            game.step(move)
        if game.board in seen:
            return
        seen.add(game.board)
        if not game.acting:
            assert game.rewards[seat] >= 0, game.board
            return
        moves = game.legal(game.agent_selection)
        if game.agent_selection == seat:
            odds = game.oracle(seat)
            assert sum(odds.values()) == pytest.approx(1)
            moves = [move for move in moves if odds[move]]
        for move in moves:
            go((*game_moves, move))

    go(())


def test_a_blunder_is_what_the_oracle_never_plays():
    game = TicTacToe()
    game.reset(seed=0)
    for move in "519":  # X in the middle, O in a corner, X opposite
        game.step(move)
    assert {move for move, p in game.oracle("o_0").items() if p} == {"3", "7"}


def test_what_a_seat_hears_holds_the_whole_board():
    game = TicTacToe()
    game.reset(seed=0)
    assert game.observe("x_0")["text"] == (
        "You are X.\n1 2 3\n4 5 6\n7 8 9\nActions: [1] [2] [3] [4] [5] [6] [7] [8] [9]"
    )
    game.step("5")
    assert game.observe("o_0")["text"] == "You are O.\n1 2 3\n4 X 6\n7 8 9\nActions: [1] [2] [3] [4] [6] [7] [8] [9]"
    game.step("5")
    assert game.judged
    assert game.acting == ("o_0",)


def test_each_of_the_eight_lines_wins_or_loses():
    for line in ((1, 2, 3), (4, 5, 6), (7, 8, 9), (1, 4, 7), (2, 5, 8), (3, 6, 9), (1, 5, 9), (3, 5, 7)):
        others = [n for n in range(1, 10) if n not in line][:2]
        for misere, gain in ((False, 1.0), (True, -1.0)):
            game = TicTacToe(misere)
            game.reset(seed=0)
            for move in (line[0], others[0], line[1], others[1], line[2]):
                game.step(str(move))
            assert game.rewards == {"x_0": gain, "o_0": -gain}
            assert won(game.board)


def test_the_misere_rule_is_told():
    game = TicTacToe(misere=True)
    game.reset(seed=0)
    assert game.observe("x_0")["text"].startswith("You are X. Three in a row lose.\n1 2 3\n")


def test_a_full_board_without_a_line_is_a_draw():
    game = TicTacToe()
    game.reset(seed=0)
    for move in "519628734":
        game.step(move)
    assert free(game.board) == ()
    assert game.ending == "over"
    assert set(game.rewards.values()) == {0.0}

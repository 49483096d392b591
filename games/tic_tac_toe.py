"""Tic-tac-toe: three in a row on three by three squares win, or lose in the misere game."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

EMPTY = "123456789"  # an empty square shows the number that takes it
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
SEATS = {"X": "x_0", "O": "o_0"}


class TicTacToe(Game):
    """X and O take squares in turn; three in a row win 1 from the other, a full board is a draw.

    `misere`: three in a row lose. Otherwise alike.
    """

    roles: Mapping[str, int] = {"x": 1, "o": 1}
    info = GameInfo(zero_sum=True, perfect_information=True)
    # Perfect play draws, in the misere game too, where X takes the middle and then answers O point by point opposite;
    # 5,478 boards can be reached (counted by `positions`, as in OEIS A008907 and elsewhere), in either.
    known: Mapping[str, float] = {"value": 0.0, "positions": 5478}

    def __init__(self, misere: bool = False):
        self.misere = misere

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.board = EMPTY
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return free(self.board)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, square),) = moves.items()
        self.board = self.board.replace(square, mark(self.board))
        if won(self.board):
            other = SEATS[mark(self.board)]
            winner, loser = (other, seat) if self.misere else (seat, other)
            self.score(**{winner: 1.0, loser: -1.0})
            return self._close(f"{winner} wins.")
        return self._ask() if free(self.board) else self._close("Draw.")

    def _ask(self) -> Seats:
        seat = SEATS[mark(self.board)]
        self.tell(asked(self.board, self.misere), seat)
        return (seat,)

    def _close(self, result: str) -> Seats:
        self.tell(f"{drawn(self.board)}\n{result}")
        return ()

    def state_text(self) -> str:
        return drawn(self.board)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """All moves that keep the value of the board, equally likely; any other move is a blunder."""
        squares = self.legal(seat)
        worth = [-value(self.board.replace(square, mark(self.board)), self.misere) for square in squares]
        best = max(worth)
        return {s: (w == best) / worth.count(best) for s, w in zip(squares, worth, strict=True)}


def drawn(board: str) -> str:
    """Three rows of three."""
    return f"{board[0]} {board[1]} {board[2]}\n{board[3]} {board[4]} {board[5]}\n{board[6]} {board[7]} {board[8]}"


def mark(board: str) -> str:
    """Whose turn it is."""
    return "X" if board.count("X") == board.count("O") else "O"


@cache
def free(board: str) -> tuple[str, ...]:
    """The empty squares."""
    return tuple(square for square in board if square in EMPTY)


@cache
def asked(board: str, misere: bool) -> str:
    """What the seat to move hears."""
    rule = " Three in a row lose." if misere else ""
    actions = " ".join(f"[{square}]" for square in free(board))
    return f"You are {mark(board)}.{rule}\n{drawn(board)}\nActions: {actions}"


@cache
def won(board: str) -> bool:
    """Whether there are three in a row, of whoever moved last."""
    return any(board[a] == board[b] == board[c] for a, b, c in LINES)


@cache
def value(board: str, misere: bool = False) -> int:
    """What perfect play is worth to the seat that moves next: 1, 0 or -1."""
    if won(board):
        return 1 if misere else -1
    return max((-value(board.replace(square, mark(board)), misere) for square in free(board)), default=0)


def positions() -> set[str]:
    """Every board that can be reached, the empty one included."""
    found, waiting = {EMPTY}, [EMPTY]
    while waiting:
        board = waiting.pop()
        if not won(board):
            after = {board.replace(square, mark(board)) for square in free(board)} - found
            found |= after
            waiting += after
    return found

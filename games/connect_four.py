"""Connect four: stones fall to the lowest free place of a column; four in a row win."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

X, O = "x_0", "o_0"  # noqa: E741 - so they are called
SOLVED = 20  # squares of the largest boards with an oracle: a second or two for the empty one, then by the table
# What perfect play is worth to X. 6x7: Allis 1988, "A knowledge-based approach of Connect-Four", and Allen 1988; the
# small ones by `Board.value` here, and by a search without its cuts in the test.
VALUES = {(6, 7): 1.0, (4, 4): 0.0, (4, 5): 0.0, (5, 4): 0.0}


class ConnectFour(Game):
    """X and O drop stones into columns in turn. Four in a row, any way, win 1 from the other; a full board draws."""

    roles: Mapping[str, int] = {"x": 1, "o": 1}
    info = GameInfo(zero_sum=True, perfect_information=True)

    def __init__(self, rows: int = 6, columns: int = 7):
        if not (4 <= rows <= 9 and 4 <= columns <= 9):
            raise ValueError(f"the board has {rows} rows and {columns} columns: use 4 to 9 of each")
        self.rows, self.columns = rows, columns
        self.known = {"value": VALUES[rows, columns]} if (rows, columns) in VALUES else {}

    @property
    def rules(self) -> Board:
        return board(self.rows, self.columns)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.mine = self.theirs = 0  # the stones of whoever moves next, and of the other
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.rules.columns_of(self.rules.drops(self.mine | self.theirs))

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, column),) = moves.items()
        stones = self.mine | self.rules.drop(self.mine | self.theirs, int(column) - 1)
        self.mine, self.theirs = self.theirs, stones
        if self.rules.won(stones):
            other = O if seat == X else X
            self.score(**{seat: 1.0, other: -1.0})
            return self._close(f"{seat} wins.")
        return self._ask() if self.legal(seat) else self._close("Draw.")

    def _ask(self) -> Seats:
        seat = self._next()
        actions = " ".join([f"[{column}]" for column in self.legal(seat)])
        self.tell(f"You are {seat[0].upper()}.\n{self.state_text()}\nActions: {actions}", seat)
        return (seat,)

    def _next(self) -> str:
        return X if self.mine.bit_count() == self.theirs.bit_count() else O

    def _close(self, result: str) -> Seats:
        self.tell(f"{self.state_text()}\n{result}")
        return ()

    def state_text(self) -> str:
        """The rows, from the top one down, then the numbers of the columns."""
        xs, os = (self.mine, self.theirs) if self._next() == X else (self.theirs, self.mine)
        return self.rules.drawn(xs, os)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """All moves that keep the value, equally likely, on boards of up to 20 squares; none on larger ones."""
        if self.rules.size > SOLVED:
            return {}
        columns = self.legal(seat)
        worth = [self.rules.worth(self.mine, self.theirs, int(column) - 1) for column in columns]
        best = max(worth)
        return {c: (w == best) / worth.count(best) for c, w in zip(columns, worth, strict=True)}


class Board:
    """Stones as bits, column by column from the left, each from the bottom up with a free bit on top of it."""

    def __init__(self, rows: int, columns: int):
        self.size, self.height, self.rows = rows * columns, rows + 1, rows
        self.floor = [1 << c * self.height for c in range(columns)]
        self.masks = [((1 << rows) - 1) << c * self.height for c in range(columns)]
        self.board = sum(self.masks)
        middle = (columns - 1) / 2
        self.order = sorted(range(columns), key=lambda c: abs(c - middle))  # the middle first: it is in most lines
        self.bounds: dict[tuple[int, int], tuple[int, int]] = {}  # (mine, theirs) -> the value is within
        self.columns_of = cache(self._columns_of)

    def _columns_of(self, drops: int) -> tuple[str, ...]:
        return tuple(str(c + 1) for c, mask in enumerate(self.masks) if drops & mask)

    def drops(self, stones: int) -> int:
        """The bits where a stone would come to lie."""
        return (stones + sum(self.floor)) & self.board

    def drop(self, stones: int, column: int) -> int:
        """The bit where a stone comes to lie; 0 in a full column."""
        return (stones + self.floor[column]) & self.masks[column]

    def won(self, stones: int) -> bool:
        """Whether four of these stones are in a row."""
        for step in (1, self.height - 1, self.height, self.height + 1):
            pairs = stones & stones >> step
            if pairs & pairs >> 2 * step:
                return True
        return False

    def drawn(self, xs: int, os: int) -> str:
        lines = [
            " ".join(["X" if xs & bit << r else "O" if os & bit << r else "." for bit in self.floor])
            for r in reversed(range(self.rows))
        ]
        return "\n".join([*lines, " ".join(str(c + 1) for c in range(len(self.floor)))])

    def worth(self, mine: int, theirs: int, column: int) -> int:
        """What dropping into `column` is worth to whoever does it: 1, 0 or -1 by perfect play."""
        stones = mine | self.drop(mine | theirs, column)
        return 1 if self.won(stones) else -self.value(theirs, stones)

    def value(self, mine: int, theirs: int, low: int = -1, high: int = 1) -> int:
        """What perfect play is worth to whoever moves next, if within `low` to `high`: alpha-beta with a table."""
        stones = mine | theirs
        if stones == self.board:
            return 0
        moves = list(self._moves(stones))
        if any(self.won(mine | bit) for bit in moves):
            return 1
        threats = [bit for bit in moves if self.won(theirs | bit)]
        if len(threats) > 1:
            return -1
        worst, best = self.bounds.get((mine, theirs), (-1, 1))
        low, high = max(low, worst), min(high, best)
        if low >= high:
            return low
        found, alpha = -1, low
        for bit in threats or moves:
            found = max(found, -self.value(theirs, mine | bit, -high, -alpha))
            alpha = max(alpha, found)
            if alpha >= high:
                break
        self.bounds[mine, theirs] = (found if found > low else worst, found if found < high else best)
        return found

    def _moves(self, stones: int) -> Iterator[int]:
        for column in self.order:
            if bit := self.drop(stones, column):
                yield bit


@cache
def board(rows: int, columns: int) -> Board:
    """One board of each size: games of a process share what it has solved."""
    return Board(rows, columns)

"""Tiny Hanabi: two cards, two moves and one common reward; what the first move says must be agreed without a word."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

from arena import solve
from arena.game import Game, GameInfo, Seats
from arena.optimum import optimum
from arena.types import Task

SEATS = FIRST, SECOND = "first_0", "second_0"
MOVES = "abc"
# By table a row for each first card, second card and first move, in this order: the rewards by second move, X for 10.
# E is the matrix game of Foerster et al. 2019, "Bayesian action decoder"; A to F are the suite of Sokota et al. 2021,
# "Solving common-payoff games with approximate policy iteration" (github.com/ssokota/tiny-hanabi).
REWARDS = {
    "A": "01 00 01 32 33 32 20 33",
    "B": "10 10 01 01 01 00 10 10",
    "C": "30 03 20 33 22 30 01 02",
    "D": "30 13 30 30 32 02 01 00",
    "E": "X00 484 X00 00X 484 00X 00X 484 000 X00 484 X00",
    "F": "03 32 00 01 31 21 02 01 12 12 01 03 13 12 03 22 31 30",
}
OPTIMUM = {"A": 9 / 4, "B": 1.0, "C": 5 / 2, "D": 5 / 2, "E": 10.0, "F": 7 / 3}  # of the same source
CARDS = dict.fromkeys("ABCDE", 2) | {"F": 3}


class TinyHanabi(Game):
    """Each seat gets a card of its own. The first seat moves, the second sees that and moves; a table pays both alike.

    `table` is one of the suite: F has 3 cards, the others 2; E has 3 moves for each seat, the others 2.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}

    def __init__(self, table: str = "E"):
        if table not in REWARDS:
            raise ValueError(f"table is {table!r}: use one of {', '.join(REWARDS)}")
        self.table = table
        self.info = GameInfo(cooperative=True, chance=True, par=OPTIMUM[table])
        self.known = {"optimum": OPTIMUM[table]}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.card = {seat: rng.randrange(CARDS[self.table]) for seat in SEATS}
        self.said = ""
        self.tell(f"Card: {self.card[FIRST] + 1}. {self._asked(FIRST)}", FIRST)
        return (FIRST,)

    def legal(self, seat: str) -> tuple[str, ...]:
        return tuple(MOVES[: len(rewards(self.table, 0, 0))])

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        if seat == FIRST:
            self.said = move
            self.tell(f"Card: {self.card[SECOND] + 1}. First: {move}. {self._asked(SECOND)}", SECOND)
            return (SECOND,)
        one, two = (self.card[s] for s in SEATS)
        team = rewards(self.table, one, two)[MOVES.index(self.said)][MOVES.index(move)]
        self.score(**dict.fromkeys(SEATS, team))
        self.tell(f"Cards: {one + 1}, {two + 1}. Moves: {self.said}, {move}. Reward: {team:.0f}.")
        return ()

    def _asked(self, seat: str) -> str:
        return f"Actions: {' '.join(f'[{move}]' for move in self.legal(seat))}"

    def knows(self, seat: str) -> tuple[int, str]:
        return self.card[seat], self.said

    def state_text(self) -> str:
        return f"Cards: {self.card[FIRST] + 1}, {self.card[SECOND] + 1}. First: {self.said or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        return best(self.table)[seat, self.knows(seat)]


@cache
def rewards(table: str, one: int, two: int) -> tuple[tuple[float, ...], ...]:
    """The rewards for these cards, by the first seat's move and the second's."""
    rows = REWARDS[table].split()
    moves = len(rows) // CARDS[table] ** 2
    at = (one * CARDS[table] + two) * moves
    return tuple(tuple(10.0 if digit == "X" else float(digit) for digit in row) for row in rows[at : at + moves])


@cache
def best(table: str) -> dict[tuple[str, Hashable], dict[str, float]]:
    """The best joint play by seat and what it knows, found by trying all."""
    tree = solve.tree(TinyHanabi(table))
    return solve.by_knowledge(tree, optimum(tree))

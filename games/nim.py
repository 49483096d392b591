"""Nim: take from one heap; whoever takes the last object wins, or loses in the misere game.

With a limit to what is taken at once it is the subtraction game.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import xor
from string import ascii_uppercase
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

FIRST, SECOND = "first_0", "second_0"
OBJECTS = 1000  # every number of them that may be taken is a move, and is told


class Nim(Game):
    """In turn, take one object or more from one heap: `A2` takes 2 from heap A. The last object wins 1 from the other.

    `misere`: the last object loses. `most`: no more than so many at once (0: no limit). Otherwise alike.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}
    info = GameInfo(zero_sum=True, perfect_information=True, draws=False)
    designs: Mapping[str, Any] = {
        "heaps": tuple((a, b) for a in range(1, 6) for b in range(a, 6)),
        "misere": (False, True),
    }

    def __init__(self, heaps: Iterable[int] = (3, 4, 5), misere: bool = False, most: int = 0):
        self.heaps = tuple(heaps)
        self.misere, self.most = misere, most
        if len(self.heaps) > len(ascii_uppercase) or min(self.heaps, default=0) < 0 or not any(self.heaps):
            raise ValueError(f"heaps are {self.heaps}: use 1 to {len(ascii_uppercase)} heaps, one of them at least 1")
        if sum(self.heaps) > OBJECTS:
            raise ValueError(f"heaps are {self.heaps}: use at most {OBJECTS} objects in all")
        if not 0 <= most <= OBJECTS:
            raise ValueError(f"most is {most}: use 1 to {OBJECTS}, or 0 for no limit")
        self.known = {"value": -1.0 if lost(self.heaps, misere, most) else 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.left = self.heaps
        return self._ask(FIRST)

    def legal(self, seat: str) -> tuple[str, ...]:
        most = self.most or max(self.left)
        return tuple(
            [
                f"{h}{n}"
                for h, heap in zip(ascii_uppercase, self.left, strict=False)
                for n in range(1, min(heap, most) + 1)
            ]
        )

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        other = SECOND if seat == FIRST else FIRST
        self.left = after(self.left, move)
        if any(self.left):
            return self._ask(other)
        winner, loser = (other, seat) if self.misere else (seat, other)
        self.score(**{winner: 1.0, loser: -1.0})
        self.tell(f"{seat} takes the last. {winner} wins.")
        return ()

    def _ask(self, seat: str) -> Seats:
        actions = " ".join([f"[{move}]" for move in self.legal(seat)])
        rule = f"The last object {'loses' if self.misere else 'wins'}."
        limit = f" Take at most {self.most}." if self.most else ""
        self.tell(f"{rule}{limit} {self.state_text()} Actions: {actions}", seat)
        return (seat,)

    def state_text(self) -> str:
        return f"Heaps: {' '.join(f'{h}={n}' for h, n in zip(ascii_uppercase, self.left, strict=False))}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """All moves to a lost position, equally likely; all moves where there is none."""
        moves = self.legal(seat)
        good = [move for move in moves if lost(after(self.left, move), self.misere, self.most)] or moves
        return {move: (move in good) / len(good) for move in moves}


def after(heaps: tuple[int, ...], move: str) -> tuple[int, ...]:
    """The heaps once `move` has been taken."""
    at, count = ascii_uppercase.index(move[0]), int(move[1:])
    return (*heaps[:at], heaps[at] - count, *heaps[at + 1 :])


def lost(heaps: tuple[int, ...], misere: bool = False, most: int = 0) -> bool:
    """Whether whoever moves next loses against perfect play.

    Bouton 1901: it does iff the xor of the heaps is 0 (1 ^ 2 ^ 3 is, 3 ^ 4 ^ 5 isn't), misere alike unless no heap is
    above 1. With a limit the same holds of the heaps modulo most + 1 (Berlekamp, Conway and Guy 1982, ch. 4 and 13).
    """
    if most:
        heaps = tuple(heap % (most + 1) for heap in heaps)
    total = reduce(xor, heaps)
    if misere and max(heaps) <= 1:
        return total == 1
    return total == 0

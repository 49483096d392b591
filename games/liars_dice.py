"""Liar's dice: bid on the dice of all while you see only your own, until somebody calls you a liar."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from math import comb
from typing import Any

from arena import solve
from arena.equilibrium import equilibrium
from arena.game import Bot, Game, GameInfo, Seats
from arena.types import Task

ROLES = ("first", "second", "third", "fourth", "fifth", "sixth")
LIAR = "liar"
SOLVED = 4  # sides, up to which the oracle is solved for two seats with a die each
# For those, by sides: the equilibrium's value to the first seat and NashConv of uniform play. OpenSpiel finds the same.
VALUE = {2: 1 / 2, 3: 1 / 9, 4: 1 / 16, 5: 1 / 125}
UNIFORM = {2: 9 / 8, 3: 10 / 9, 4: 1.310119048, 5: 1.441741799}


def counting(game: LiarsDice, seat: str) -> dict[str, float]:
    """A bot that believes nobody: it bids or doubts, whatever is most likely right by its own dice alone."""
    own = game.dice[seat]
    unseen = sum(map(len, game.dice.values())) - len(own)

    def likely(bid: str) -> float:
        count, face = map(int, bid.split("x"))
        need = count - sum(die in (face, game.sides) for die in own)
        p = (1 if face == game.sides else 2) / game.sides
        return sum(comb(unseen, k) * p**k * (1 - p) ** (unseen - k) for k in range(max(need, 0), unseen + 1))

    moves = game.legal(seat)
    odds = [1 - likely(game.bids[-1]) if move == LIAR else likely(move) for move in moves]
    return {move: float(i == odds.index(max(odds))) for i, move in enumerate(moves)}


class LiarsDice(Game):
    """All roll in secret. In turn, bid higher (`2x3`: two dice or more show 3) or say `liar`; the top face is any face.

    Who bid a lie, or doubted the truth, loses a die and begins the next round. Who has none left is out and pays 1 to
    the others in equal shares.
    """

    bots: Mapping[str, Bot] = {"counting": counting}

    def __init__(self, sides: int = 3, seats: int = 2, dice: int = 1):
        for name, value, low, high in (("sides", sides, 2, 6), ("seats", seats, 2, 6), ("dice", dice, 1, 5)):
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}: use {low} to {high}")
        self.sides, self.count, self.each = sides, seats, dice
        self.roles = dict.fromkeys(ROLES[:seats], 1)
        most = seats * dice
        stages = most * (most * sides + 1)
        self.info = GameInfo(zero_sum=True, chance=True, max_stages=stages, max_illegal=0, draws=seats > 2)
        if (seats, dice) == (2, 1):
            self.known = {"information_sets": sides * 4**sides}
            if sides in VALUE:
                self.known |= {"first": VALUE[sides], "second": -VALUE[sides], "uniform_nash_conv": UNIFORM[sides]}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.rounds: list[str] = []
        return self._roll(dict.fromkeys(self.possible_agents, self.each), self.possible_agents[0])

    def _roll(self, left: Mapping[str, int], beginner: str) -> Seats:
        self.dice = {seat: sorted(self.rng.randint(1, self.sides) for _ in range(n)) for seat, n in left.items() if n}
        self.bids: list[str] = []
        return self._ask(beginner)

    def _ask(self, seat: str) -> Seats:
        own = " ".join(map(str, self.dice[seat]))
        left = " ".join(str(len(self.dice.get(s, ()))) for s in self.possible_agents)
        actions = " ".join(f"[{move}]" for move in self.legal(seat))
        bids = ", ".join(self.bids) or "none"
        self.tell(f"Your dice: {own}. Dice left: {left}. Bids: {bids}. Actions: {actions}", seat)
        return (seat,)

    def legal(self, seat: str) -> tuple[str, ...]:
        bids = ladder(self.sides, sum(map(len, self.dice.values())))
        return (*bids[bids.index(self.bids[-1]) + 1 :], LIAR) if self.bids else bids

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        if move != LIAR:
            self.bids.append(move)
            return self._ask(self._beside(seat, 1))
        bidder, bid = self._beside(seat, -1), self.bids[-1]
        loser = seat if true(bid, self.sides, [die for faces in self.dice.values() for die in faces]) else bidder
        shown = ", ".join(f"{s} {' '.join(map(str, faces))}" for s, faces in self.dice.items())
        self.rounds.append(f"{seat} doubts {bid}. Dice: {shown}. {loser} loses a die.")
        self.tell(self.rounds[-1])
        return self._lose(loser)

    def _lose(self, loser: str) -> Seats:
        left = {seat: len(faces) - (seat == loser) for seat, faces in self.dice.items()}
        if left[loser]:
            return self._roll(left, loser)
        others = [seat for seat in left if seat != loser]
        self.score(**{loser: -1.0}, **dict.fromkeys(others, 1 / len(others)))
        if len(others) == 1:
            return ()
        self.retire(loser)
        return self._roll(left, self._beside(loser, 1))

    def _beside(self, seat: str, step: int) -> str:
        """The next seat that is in, or the one before it by a `step` of -1."""
        seats = list(self.dice)
        return seats[(seats.index(seat) + step) % len(seats)]

    def knows(self, seat: str) -> Hashable:
        return tuple(self.dice.get(seat, ())), tuple(self.bids), tuple(self.rounds)

    def state_text(self) -> str:
        shown = ", ".join(f"{seat} {' '.join(map(str, faces))}" for seat, faces in self.dice.items())
        return f"Dice: {shown}. Bids: {', '.join(self.bids) or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The equilibrium of two seats with a die each and up to 4 sides, solved when first asked for; needs scipy."""
        if (self.count, self.each) != (2, 1) or self.sides > SOLVED:
            return {}
        return perfect(self.sides)[seat, self.knows(seat)]


@cache
def ladder(sides: int, dice: int) -> tuple[str, ...]:
    """Every bid, lowest first."""
    return tuple(f"{count}x{face}" for count in range(1, dice + 1) for face in range(1, sides + 1))


def true(bid: str, sides: int, dice: Sequence[int]) -> bool:
    """Whether so many of `dice` show the face, or the highest one that stands for any."""
    count, face = map(int, bid.split("x"))
    return sum(die in (face, sides) for die in dice) >= count


@cache
def perfect(sides: int) -> dict[tuple[str, Hashable], dict[str, float]]:
    """An equilibrium by seat and what it knows."""
    tree = solve.tree(LiarsDice(sides))
    return solve.by_knowledge(tree, equilibrium(tree))

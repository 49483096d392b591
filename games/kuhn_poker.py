"""Kuhn poker: one card each, one chip to bet, two seats or three; the smallest game of bluff."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from arena.game import Game, GameInfo, Seats
from arena.types import Task

ROLES = ("first", "second", "third")
SEATS = FIRST, SECOND, THIRD = "first_0", "second_0", "third_0"
CARDS = "JQKA"
# How often the equilibrium player takes the second action, by seats and line, with J, Q, K, A.
# Two: Kuhn 1950, "A simplified two-person poker", with the free parameter alpha = 1/3: J bluffs a third of the time.
# Three: of the family that Szafron, Gibson and Sturtevant found in 2013, the member where only the second seat's Q and
# the third seat's Q bluff, a quarter and half of the time; `arena.solve` finds no gain for anybody.
BOLD = {
    2: {"none": (1 / 3, 0, 1), "check": (1 / 3, 0, 1), "bet": (0, 1 / 3, 1), "check, bet": (0, 2 / 3, 1)},
    3: {
        "none": (0, 0, 0, 0),
        "check": (0, 1 / 4, 0, 1 / 2),
        "check, check": (0, 1 / 2, 0, 1),
        "check, bet, fold": (0, 0, 1 / 2, 1),
        "check, check, bet, fold": (0, 0, 3 / 4, 1),
        "bet, fold": (0, 0, 1 / 2, 1),
    },
}
ONLY_THE_ACE = (0, 0, 0, 1)  # in all other lines of three seats
# By role what that member of the family pays; the other two, as OpenSpiel has them.
KNOWN_3 = {"first": -1 / 32, "second": -1 / 48, "third": 5 / 96, "uniform_nash_conv": 33 / 16, "information_sets": 48}


class Line(NamedTuple):
    """What follows from the moves so far: who is next and may do what, or nothing if all is said."""

    mover: int
    actions: tuple[str, ...]
    asked: str
    chips: tuple[int, ...]  # put in by each seat
    folded: frozenset[int]


class KuhnPoker(Game):
    """One card to each seat, of J < Q < K (and A if there are three); all ante 1 and a bet costs 1. Rewards are chips.

    In turn, check or bet. After a bet every other seat folds or calls, once. The highest card that didn't fold wins.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}
    info = GameInfo(zero_sum=True, chance=True, max_illegal=0, forfeit=-2.0, draws=False)
    # Value of the equilibrium by role (Kuhn 1950); the other two, as OpenSpiel has them.
    known: Mapping[str, float] = {"first": -1 / 18, "uniform_nash_conv": 11 / 12, "information_sets": 12}

    def __init__(self, seats: int = 2):
        if seats not in (2, 3):
            raise ValueError(f"seats is {seats}: use 2 or 3")
        self.count = seats
        if seats == 3:
            self.roles = dict.fromkeys(ROLES, 1)
            self.known = KNOWN_3
            self.info = replace(self.info, draws=True)  # of those who lose

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        seats = SEATS[: self.count]
        self.card = dict(zip(seats, rng.sample(CARDS[: self.count + 1], self.count), strict=True))
        self.line = "none"
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return lines(self.count)[self.line].actions

    def play(self, moves: Mapping[str, Any]) -> Seats:
        (move,) = moves.values()
        self.line = move if self.line == "none" else f"{self.line}, {move}"
        line = lines(self.count)[self.line]
        if line.actions:
            return self._ask()
        left = [i for i in range(self.count) if i not in line.folded]
        cards = list(self.card.values())
        winner = max(left, key=lambda i: CARDS.index(cards[i]))
        won = [float(sum(line.chips) * (i == winner) - chips) for i, chips in enumerate(line.chips)]
        self.score(**dict(zip(self.card, won, strict=True)))
        shown = ", ".join("?" if i in line.folded else card for i, card in enumerate(cards))
        showdown = f" Cards: {shown}." if len(left) > 1 else ""
        self.tell(f"Moves: {self.line}.{showdown} {SEATS[winner]} wins {won[winner]:.0f}.")
        return ()

    def _ask(self) -> Seats:
        line = lines(self.count)[self.line]
        seat = SEATS[line.mover]
        self.tell(f"Card: {self.card[seat]}. {line.asked}", seat)
        return (seat,)

    def knows(self, seat: str) -> tuple[str, str]:
        return self.card[seat], self.line

    def state_text(self) -> str:
        return f"Cards: {', '.join(self.card.values())}. Moves: {self.line}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        bold = BOLD[self.count].get(self.line, ONLY_THE_ACE)[CARDS.index(self.card[seat])]
        return dict(zip(self.legal(seat), (1 - bold, bold), strict=True))


@cache
def lines(seats: int) -> dict[str, Line]:
    """Every sequence of moves, by its words."""
    found: dict[str, Line] = {}

    def go(moves: tuple[str, ...], chips: tuple[int, ...], folded: frozenset[int]) -> None:
        bet = moves.index("bet") if "bet" in moves else None
        over = len(moves) == (seats if bet is None else bet + seats)
        actions = () if over else ("check", "bet") if bet is None else ("fold", "call")
        words, mover = ", ".join(moves) or "none", len(moves) % seats
        asked = f"Moves: {words}. Actions: {' '.join(f'[{action}]' for action in actions)}"
        found[words] = Line(mover, actions, asked, chips, folded)
        for action in actions:
            paid = tuple(c + (i == mover and action in ("bet", "call")) for i, c in enumerate(chips))
            go((*moves, action), paid, folded | {mover} if action == "fold" else folded)

    go((), (1,) * seats, frozenset())
    return found

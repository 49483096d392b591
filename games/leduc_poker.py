"""Leduc poker: six cards, two rounds of betting and one card laid open; the small poker of research."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, NamedTuple

from arena import solve
from arena.equilibrium import equilibrium
from arena.game import Game, GameInfo, Seats
from arena.types import Task

SEATS = FIRST, SECOND = "first_0", "second_0"
RANKS = "JQK"
DECK = ("Jh", "Js", "Qh", "Qs", "Kh", "Ks")
RAISE = (2, 4)  # chips, by round
RAISES = 2  # at most, in a round
# The game is that of Southey et al. 2005, "Bayes' bluff". By role the value of the equilibrium, and NashConv of uniform
# play, as OpenSpiel's solvers have them.
KNOWN = {"first": -0.085606424, "second": 0.085606424, "uniform_nash_conv": 4.747222222}


class Line(NamedTuple):
    """The moves so far: who moves now, what follows on each legal move, and the chips that each seat has put in."""

    mover: int
    next: Mapping[str, str]
    asked: str
    second: bool  # whether it is the second round
    chips: tuple[int, int]


class LeducPoker(Game):
    """Two each of J < Q < K. Both ante 1 and get a card; they bet, one more card is laid open, and they bet again.

    A raise is 2 chips, then 4; two a round at most. A pair with the open card wins, then the higher card; equals split.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}
    info = GameInfo(zero_sum=True, chance=True, max_illegal=0, forfeit=-13.0)
    known: Mapping[str, float] = {**KNOWN, "information_sets": 936}

    def __init__(self, suits: bool = True):
        """Without `suits` cards of one rank look alike: the same game, with 288 information sets."""
        self.suits = suits
        if not suits:
            self.known = {**KNOWN, "information_sets": 288}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.rest = [card if self.suits else card[0] for card in DECK]
        self.card = {seat: self._draw() for seat in SEATS}
        self.open, self.line = "none", "none"
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return tuple(lines()[self.line].next)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        self.line = lines()[self.line].next[move]
        line = lines()[self.line]
        if not line.next:
            return self._settle(min(line.chips), folded=seat if move == "fold" else "")
        if line.second and self.open == "none":
            self.open = self._draw()
        return self._ask()

    def _draw(self) -> str:
        return self.rest.pop(self.rng.randrange(len(self.rest)))

    def _ask(self) -> Seats:
        line = lines()[self.line]
        seat = SEATS[line.mover]
        self.tell(f"Card: {self.card[seat]}. Open: {self.open}. {line.asked}", seat)
        return (seat,)

    def _settle(self, chips: int, folded: str) -> Seats:
        """The loser pays what it has put in."""
        one, two = (
            (seat != folded, self.card[seat][0] == self.open[0], RANKS.index(self.card[seat][0])) for seat in SEATS
        )
        sign = (one > two) - (one < two)
        self.score(**{FIRST: float(sign * chips), SECOND: float(-sign * chips)})
        shown = "" if folded else f" Cards: {', '.join(self.card.values())}."
        won = f"{FIRST if sign > 0 else SECOND} wins {chips}" if sign else "The pot is split"
        self.tell(f"Open: {self.open}. Moves: {self.line}.{shown} {won}.")
        return ()

    def knows(self, seat: str) -> tuple[str, str, str]:
        return self.card[seat], self.open, self.line

    def state_text(self) -> str:
        return f"Cards: {', '.join(self.card.values())}. Open: {self.open}. Moves: {self.line}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The equilibrium, solved when first asked for; needs scipy."""
        open = self.open if self.open == "none" else self.open[0]
        return perfect()[seat, (self.card[seat][0], open, self.line)]


@cache
def lines() -> dict[str, Line]:
    """All that can be bet, by its words: "check, raise, call; none" is the beginning of the second round."""
    found: dict[str, Line] = {}

    def go(past: str, moves: tuple[str, ...], chips: tuple[int, int]) -> str:
        words = past + (", ".join(moves) or "none")
        end = moves[-1:] in (("fold",), ("call",)) or moves[-2:] == ("check", "check")
        if end and not past and moves[-1] != "fold":
            return go(f"{words}; ", (), chips)
        mover, owed = len(moves) % 2, max(chips) - min(chips)
        actions = () if end else ("fold", "call") if owed else ("check",)
        if not end and moves.count("raise") < RAISES:
            actions += ("raise",)
        paid = {"call": owed, "raise": owed + RAISE[bool(past)]}
        following = {}
        for action in actions:
            one, two = chips
            more = paid.get(action, 0)
            after = (one, two + more) if mover else (one + more, two)
            following[action] = go(past, (*moves, action), after)
        asked = f"Moves: {words}. Actions: {' '.join(f'[{action}]' for action in actions)}"
        found[words] = Line(mover, following, asked, bool(past), chips)
        return words

    go("", (), (1, 1))
    return found


@cache
def perfect() -> dict[tuple[str, Hashable], dict[str, float]]:
    """An equilibrium by seat and what it knows, without suits."""
    tree = solve.tree(LeducPoker(suits=False))
    return solve.by_knowledge(tree, equilibrium(tree))

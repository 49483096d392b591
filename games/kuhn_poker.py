"""Kuhn poker: three cards, one chip, two seats; the smallest game of bluff."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

FIRST, SECOND = "first_0", "second_0"
ACTIONS = {"none": ("check", "bet"), "check": ("check", "bet"), "bet": ("fold", "call"), "check, bet": ("fold", "call")}
ASKED = {line: f"Moves: {line}. Actions: [{one}] [{two}]" for line, (one, two) in ACTIONS.items()}
# How often the equilibrium player takes the second action, by card and line; it bluffs with J a third of the time.
# Kuhn 1950, "A simplified two-person poker", with the free parameter alpha = 1/3.
BOLD = {
    ("J", "none"): 1 / 3, ("Q", "none"): 0.0, ("K", "none"): 1.0,
    ("J", "check"): 1 / 3, ("Q", "check"): 0.0, ("K", "check"): 1.0,
    ("J", "bet"): 0.0, ("Q", "bet"): 1 / 3, ("K", "bet"): 1.0,
    ("J", "check, bet"): 0.0, ("Q", "check, bet"): 2 / 3, ("K", "check, bet"): 1.0,
}  # fmt: skip


class KuhnPoker(Game):
    """Cards J < Q < K, one to each seat; both ante 1 chip and a bet costs 1 more. Rewards are chips won.

    First may check or bet. A bet is called or folded; after a check the other may check (showdown) or bet in turn.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}
    info = GameInfo(zero_sum=True, chance=True, max_illegal=0, forfeit=-2.0)
    # Value to the first seat (Kuhn 1950); NashConv of uniform play from the 12 information sets (OpenSpiel agrees).
    known: Mapping[str, float] = {"first": -1 / 18, "uniform_nash_conv": 11 / 12, "information_sets": 12}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.card = dict(zip((FIRST, SECOND), rng.sample("JQK", 2), strict=True))
        self.line = "none"
        return self._ask(FIRST)

    def legal(self, seat: str) -> tuple[str, ...]:
        return ACTIONS[self.line]

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        other = SECOND if seat == FIRST else FIRST
        self.line = move if self.line == "none" else f"{self.line}, {move}"
        if self.line in ACTIONS:
            return self._ask(other)
        winner = other if move == "fold" else max(self.card, key=lambda s: "JQK".index(self.card[s]))
        pot = 2.0 if move == "call" else 1.0
        self.score(**{s: pot if s == winner else -pot for s in self.card})
        shown = "" if move == "fold" else f" Cards: {self.card[FIRST]}, {self.card[SECOND]}."
        self.tell(f"Moves: {self.line}.{shown} {winner} wins {pot:.0f}.")
        return ()

    def _ask(self, seat: str) -> Seats:
        self.tell(f"Card: {self.card[seat]}. {ASKED[self.line]}", seat)
        return (seat,)

    def knows(self, seat: str) -> tuple[str, str]:
        return self.card[seat], self.line

    def state_text(self) -> str:
        return f"Cards: {self.card[FIRST]}, {self.card[SECOND]}. Moves: {self.line}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        bold = BOLD[self.card[seat], self.line]
        return dict(zip(ACTIONS[self.line], (1 - bold, bold), strict=True))

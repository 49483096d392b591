"""Rock, paper, scissors: the smallest game of simultaneous moves."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
ONE, TWO = "player_0", "player_1"


class RockPaperScissors(Game):
    """Both throw at once, `rounds` times; every round pays 1 to its winner and costs the loser 1."""

    roles: Mapping[str, int] = {"player": 2}
    info = GameInfo(zero_sum=True, simultaneous=True)
    # The game is symmetric, so its value is 0; only throwing each a third of the time can't be exploited.
    known: Mapping[str, float] = {"value": 0.0, "uniform_nash_conv": 0.0}

    def __init__(self, rounds: int = 1):
        if rounds < 1:
            raise ValueError(f"rounds is {rounds}: use at least 1")
        self.rounds = rounds

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.thrown: list[tuple[str, str]] = []
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return tuple(BEATS)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        one, two = moves[ONE], moves[TWO]
        self.thrown.append((one, two))
        win = float((BEATS[one] == two) - (BEATS[two] == one))
        self.score(**{ONE: win, TWO: -win})
        return self._ask() if len(self.thrown) < self.rounds else self._close()

    def _ask(self) -> Seats:
        actions = " ".join(f"[{move}]" for move in BEATS)
        for i, seat in enumerate((ONE, TWO)):
            past = ", ".join(f"{pair[i]} against {pair[1 - i]}" for pair in self.thrown) or "none"
            self.tell(f"Round {len(self.thrown) + 1} of {self.rounds}. You so far: {past}. Actions: {actions}", seat)
        return ONE, TWO

    def _close(self) -> Seats:
        self.tell(f"Last round: {ONE} {self.thrown[-1][0]}, {TWO} {self.thrown[-1][1]}.")
        return ()

    def knows(self, seat: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.thrown)

    def state_text(self) -> str:
        return f"{ONE} against {TWO}: {', '.join(' '.join(pair) for pair in self.thrown) or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        return dict.fromkeys(BEATS, 1 / 3)

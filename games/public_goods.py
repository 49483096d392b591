"""Public goods: what is given to the pot grows and comes back to all, so each would rather have the others give."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted


def always_cooperate(game: PublicGoods, seat: str) -> Mapping[str, float]:
    """Gives all."""
    return {str(game.coins): 1.0}


def always_defect(game: PublicGoods, seat: str) -> Mapping[str, float]:
    """Gives nothing."""
    return {"0": 1.0}


def tit_for_tat(game: PublicGoods, seat: str) -> Mapping[str, float]:
    """Gives all at first, then what the others gave in the mean of the last round, rounded down."""
    if not game.given:
        return {str(game.coins): 1.0}
    last = game.given[-1]
    return {str((sum(last.values()) - last[seat]) // (len(last) - 1)): 1.0}


class PublicGoods(Game):
    """Each round all seats get `coins` and at once put some of them into a pot, which is then shared, times `factor`.

    A round pays the coins kept and the share. As 1 < factor < seats, all are best off if all give everything, and each
    is better off by giving nothing.
    """

    bots = {"always_cooperate": always_cooperate, "always_defect": always_defect, "tit_for_tat": tit_for_tat}

    def __init__(self, seats: int = 3, rounds: int = 3, coins: int = 4, factor: float = 2.0):
        if not 2 <= seats <= 6:
            raise ValueError(f"seats is {seats}: use 2 to 6")
        counted("rounds", rounds, ROUNDS)
        counted("coins", coins, 100)
        if not 1 < factor < seats:
            raise ValueError(f"factor is {factor}: use more than 1 and less than the {seats} seats")
        self.roles = {"member": seats}
        self.rounds, self.coins, self.factor = rounds, coins, factor
        self.gifts = tuple(map(str, range(coins + 1)))
        self.info = GameInfo(simultaneous=True, max_stages=rounds)
        # A seat and round: if all give everything; and if all do what pays each more whatever the others do, nothing.
        self.known = {"optimum": coins * factor, "equilibrium": float(coins)}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.given: list[dict[str, int]] = []
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.gifts

    def play(self, moves: Mapping[str, Any]) -> Seats:
        given = {seat: int(moves[seat]) for seat in self._seats}
        self.given.append(given)
        share = sum(given.values()) * self.factor / len(given)
        self.score(**{seat: self.coins - gift + share for seat, gift in given.items()})
        if len(self.given) < self.rounds:
            return self._ask()
        pots = sum(sum(round.values()) for round in self.given)
        self.note(given=pots / (self.rounds * self.coins * len(given)))
        for seat in self._seats:
            self.tell(f"You so far: {self._past(seat)}. That was all.", seat)
        return ()

    def _ask(self) -> Seats:
        actions = " ".join(f"[{gift}]" for gift in self.gifts)
        for seat in self._seats:
            self.tell(
                f"Round {len(self.given) + 1} of {self.rounds}. Coins: {self.coins}. The pot is shared by "
                f"{len(self._seats)}, times {self.factor:g}. You so far: {self._past(seat)}. Actions: {actions}",
                seat,
            )
        return self._seats

    def _past(self, seat: str) -> str:
        return ", ".join(f"{own} of {pot}" for own, pot in self.knows(seat)) or "none"

    def knows(self, seat: str) -> tuple[tuple[int, int], ...]:
        """Its own gift and the whole pot of each round: who else gave how much isn't told."""
        return tuple((given[seat], sum(given.values())) for given in self.given)

    def state_text(self) -> str:
        rounds = (" ".join(map(str, given.values())) for given in self.given)
        return f"Given by {', '.join(self._seats)}: {', '.join(rounds) or 'none'}."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """To give nothing: perfect for oneself, and no more than that."""
        return {"0": 1.0}

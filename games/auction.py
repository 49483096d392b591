"""A sealed auction at the first price: what it is worth is private, and who bids that much wins nothing by it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from arena.game import Game, GameInfo, Seats
from arena.types import Task

ROUNDS = 5000  # of fictitious play: nobody is left with 0.03 to gain where values go up to 10


class Auction(Game):
    """Each of `seats` draws a value of 1 to `top` coins of its own. All bid at once; the highest wins and pays its bid.

    A winner earns its value minus its bid, the others nothing; equal highest bids share, as if lots were drawn.
    """

    def __init__(self, seats: int = 2, top: int = 10):
        if not 2 <= seats <= 6:
            raise ValueError(f"seats is {seats}: use 2 to 6")
        if not 2 <= top <= 100:
            raise ValueError(f"top is {top}: use 2 to 100 coins")
        self.roles = {"bidder": seats}
        self.info = GameInfo(simultaneous=True, chance=True, max_stages=1)
        self.top = top
        self.bids = tuple(map(str, range(top + 1)))

    @property
    def known(self) -> Mapping[str, float]:
        """`pay` is what a seat earns by the oracle. `share` of its value is bid where values are continuous and bids
        too: (n - 1)/n (Vickrey 1961); the oracle's bids are less than a coin from that."""
        seats = len(self.possible_agents)
        return {"share": (seats - 1) / seats, "pay": solved(seats, self.top)[1]}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.value = {seat: rng.randint(1, self.top) for seat in self.possible_agents}
        actions = " ".join(f"[{bid}]" for bid in self.bids)
        for seat, value in self.value.items():
            self.tell(f"Bidders: {len(self.value)}. Your value: {value} of 1 to {self.top}. Actions: {actions}", seat)
        return tuple(self.value)

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.bids

    def play(self, moves: Mapping[str, Any]) -> Seats:
        bids = {seat: int(bid) for seat, bid in moves.items()}
        price = max(bids.values())
        winners = [seat for seat in self.value if bids[seat] == price]
        self.score(**{seat: (self.value[seat] - price) / len(winners) for seat in winners})
        worth = sum(self.value[seat] for seat in winners) / len(winners)
        self.note(revenue=float(price), efficiency=worth / max(self.value.values()))
        shown = ", ".join(f"{seat} {bids[seat]}" for seat in self.value)
        self.tell(f"Bids: {shown}. The price is {price}, and it goes to {' or '.join(winners)}.")
        return ()

    def knows(self, seat: str) -> int:
        return self.value[seat]

    def state_text(self) -> str:
        return "Values: " + ", ".join(f"{seat} {value}" for seat, value in self.value.items()) + "."

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The equilibrium that all seats share, as far as fictitious play has come."""
        odds = solved(len(self.value), self.top)[0][self.value[seat] - 1]
        return {bid: p for bid, p in zip(self.bids, odds, strict=True) if p > 0}


@cache
def solved(seats: int, top: int) -> tuple[list[list[float]], float]:
    """Odds of each bid by value, [top][top + 1], and the pay of a seat when all play them.

    Fictitious play (Brown 1951): round by round the best answer to the mean of all rounds so far joins that mean.
    """
    values = np.arange(1, top + 1)
    odds = np.eye(top + 1)[np.zeros(top, int)]
    for done in range(1, ROUNDS):
        best = worth(odds, seats).argmax(1)
        odds *= done / (done + 1)
        odds[values - 1, best] += 1 / (done + 1)
    return odds.tolist(), float((odds * worth(odds, seats)).sum(1).mean())


def worth(odds: np.ndarray, seats: int) -> np.ndarray:
    """What each bid earns at each value if all the other seats play `odds`; all are [top, top + 1].

    With probability p of a bid and F of a lower one, it wins sum_k C(n-1, k) p^k F^(n-1-k) / (k+1) of the time, which
    is ((F + p)^n - F^n) / (n p), as k others make the same bid.
    """
    top = len(odds)
    p = odds.mean(0)
    below = np.cumsum(p) - p
    made = np.maximum(p, 1e-12)  # of a bid that nobody makes: the limit, F^(n-1)
    wins = np.where(p > 1e-12, ((below + p) ** seats - below**seats) / (seats * made), below ** (seats - 1))
    return (np.arange(1, top + 1)[:, None] - np.arange(top + 1)) * wins

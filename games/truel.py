"""The truel: a duel of three or more, in which the weakest does best to miss."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

AIR = "air"
ROLES = ("first", "second", "third", "fourth", "fifth", "sixth")
THIRDS = (1 / 3, 2 / 3, 1.0)
Odds = tuple[float, ...]  # how often the shooter of each seat hits
Left = tuple[int, ...]  # the numbers of the seats that are still in it, in the order of shooting


class Truel(Game):
    """In turn, shoot at somebody or into the air. Who is hit is out; the last one left wins 1 from the others.

    `accuracy` has the probability of a hit for each seat, in the order of shooting. After 100 shots those left share.
    """

    info = GameInfo(zero_sum=True, chance=True, perfect_information=True, max_stages=100)

    def __init__(self, accuracy: Iterable[float] = THIRDS):
        self.accuracy = tuple(float(hits) for hits in accuracy)
        if not 2 <= len(self.accuracy) <= 6 or not all(0 < hits <= 1 for hits in self.accuracy):
            raise ValueError(f"accuracy is {self.accuracy}: give 2 to 6 seats a number above 0, 1 at most")
        self.roles = dict.fromkeys(ROLES[: len(self.accuracy)], 1)
        # Who survives: the first fires into the air (Kilgour and Brams 1997, "The truel"); by hand in the test.
        survive = (25 / 63, 8 / 21, 2 / 9) if self.accuracy == THIRDS else ()
        self.known = {f"survival_{role}": chance for role, chance in zip(ROLES, survive, strict=False)}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.left: Left = tuple(range(len(self.accuracy)))
        self.news = "Nobody has fired."
        return self._ask(0)

    def legal(self, seat: str) -> tuple[str, ...]:
        return (AIR, *(other for other in map(name, self.left) if other != seat))

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, target),) = moves.items()
        after = follower(self.left, number(seat))
        if target == AIR:
            self.news = f"{seat} fired into the air."
            return self._ask(after)
        hits = self.accuracy[number(seat)]
        if not self.rng.choices((True, False), (hits, 1 - hits))[0]:
            self.news = f"{seat} missed {target}."
            return self._ask(after)
        self.news = f"{seat} hit {target}."
        self._remove(number(target))
        if len(self.left) == 1:
            self.tell(f"{self.news} {seat} wins.")
            return ()
        return self._ask(follower(self.left, number(seat)))

    def _remove(self, target: int) -> None:
        """Whoever is hit ends at -1/(n - 1); what that costs goes to those left, so that the sum is 0 at any time."""
        seats = len(self.accuracy)
        before, self.left = self.left, tuple(i for i in self.left if i != target)
        gain = share(seats, len(self.left)) - share(seats, len(before))
        self.score(**{name(i): gain for i in self.left}, **{name(target): -gain * len(self.left)})
        self.tell(f"{self.news} You are out.", name(target))
        self.retire(name(target))

    def _ask(self, shooter: int) -> Seats:
        seat = name(shooter)
        self.shooter = shooter
        actions = " ".join(f"[{move}]" for move in self.legal(seat))
        self.tell(f"You are {seat}. {self.news} {self.state_text()} Actions: {actions}", seat)
        return (seat,)

    def state_text(self) -> str:
        left = ", ".join(f"{name(i)} hits {self.accuracy[i]:.0%}" for i in self.left)
        return f"Left: {left}. {name(self.shooter)} fires."

    def knows(self, seat: str) -> tuple[str, str]:
        return self.news, self.state_text()

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The move of a stationary equilibrium, which `solved` finds."""
        at = self.left.index(number(seat))
        target = solved(self.accuracy, self.left)[1][at]
        best = AIR if target is None else name(target)
        return {move: float(move == best) for move in self.legal(seat)}


def name(seat: int) -> str:
    return f"{ROLES[seat]}_0"


def number(seat: str) -> int:
    return ROLES.index(seat.removesuffix("_0"))


def follower(left: Left, seat: int) -> int:
    """Who fires after `seat`: the next one still in it, the first after the last."""
    return next((i for i in left if i > seat), left[0])


def share(seats: int, left: int) -> float:
    """What each of those `left` holds: what the others lost, 1/(n - 1) each, in equal parts."""
    return (seats - left) / ((seats - 1) * left)


@cache
def solved(accuracy: Odds, left: Left) -> tuple[tuple[Odds, ...], tuple[int | None, ...]]:
    """The final returns of all seats and the target (None: air), by who fires first of those left.

    The first stationary profile, of those that prefer good shots as targets, in which no change of a single shot pays.
    """
    seats = len(accuracy)
    if len(left) == 1:
        return (tuple(1.0 if i == left[0] else -1 / (seats - 1) for i in range(seats)),), (None,)
    best = sorted(left, key=lambda i: -accuracy[i])
    for targets in product(*([*(i for i in best if i != me), None] for me in left)):
        worth = _returns(accuracy, left, targets)
        if all(
            worth[at][me] >= _shot(accuracy, left, worth, at, other)[me] - 1e-12
            for at, me in enumerate(left)
            for other in (*left, None)
            if other != me
        ):
            return worth, targets
    raise ValueError(f"no stationary equilibrium without mixing for accuracy {accuracy}: use other numbers")


def _shot(accuracy: Odds, left: Left, worth: tuple[Odds, ...], at: int, target: int | None) -> Odds:
    """Returns when `left[at]` fires at `target` now, and all goes on with `worth`."""
    missed = worth[(at + 1) % len(left)]
    if target is None:
        return missed
    hits, hit = accuracy[left[at]], _hit(accuracy, left, left[at], target)
    return tuple(hits * h + (1 - hits) * m for h, m in zip(hit, missed, strict=True))


def _hit(accuracy: Odds, left: Left, shooter: int, target: int) -> Odds:
    after = tuple(i for i in left if i != target)
    return solved(accuracy, after)[0][after.index(follower(after, shooter)) if len(after) > 1 else 0]


def _returns(accuracy: Odds, left: Left, targets: tuple[int | None, ...]) -> tuple[Odds, ...]:
    """Returns when everybody keeps to one target, by who fires first: a round of shots over 1 - P(all miss)."""
    seats, size = len(accuracy), len(left)
    hits = [0.0 if target is None else accuracy[i] for i, target in zip(left, targets, strict=True)]
    again = prod(1 - p for p in hits)
    if again == 1:  # nobody will ever hit: those left share
        held = share(seats, size)
        return (tuple(held if i in left else -1 / (seats - 1) for i in range(seats)),) * size
    found = []
    for first in range(size):
        total, reach = [0.0] * seats, 1.0
        for at in ((first + k) % size for k in range(size)):
            target = targets[at]
            if target is not None:
                hit = _hit(accuracy, left, left[at], target)
                total = [t + reach * hits[at] * h for t, h in zip(total, hit, strict=True)]
            reach *= 1 - hits[at]
        found.append(tuple(t / (1 - again) for t in total))
    return tuple(found)

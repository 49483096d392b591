"""Bargaining over books, hats and balls that the two value differently, and neither knows how the other does."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

from arena.game import Bot, Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted

Items = tuple[int, ...]  # of each kind: how many, or what one is worth
KINDS = ("book", "hat", "ball")
SEATS = FIRST, SECOND = "first_0", "second_0"
POINTS = 10  # what all of it is worth to either
NAMED = re.compile(r"([0-9]{1,3}) (book|hat|ball)s?")
ACCEPT, REFUSE, NOTHING = "accept", "refuse", "nothing"
POOLS = tuple(pool for pool in product(range(1, 6), repeat=len(KINDS)) if 5 <= sum(pool) <= 7)


def insisting(floor: int) -> Bot:
    """Wants all POINTS at first, and less with every offer, down to `floor`; takes the fewest items that are worth it.

    It accepts what it would ask for, and anything rather than nothing once no offer is left.
    """

    def play(game: Bargaining, seat: str) -> Mapping[str, float]:
        values, last = game.values[seat], len(game.made) == game.limit
        wanted = POINTS - (POINTS - floor) * len(game.made) / game.limit
        offered = points(values, left(game.pool, game.made[-1])) if game.made else 0
        if offered >= wanted or (last and offered):
            return {ACCEPT: 1.0}
        enough = [take for take in splits(game.pool) if points(values, take) >= wanted]
        return {REFUSE if last else words(min(enough, key=lambda take: (sum(take), take))): 1.0}

    return play


class Bargaining(Game):
    """In turn, say what you take of a pool, or accept: then the other has what it said, and you the rest.

    Lewis et al. 2017, "Deal or no deal?". All of the pool is worth 10 points to either, each item is worth something to
    somebody, and one is to both. Only a deal earns points; the last of `limit` offers can't be answered by another.
    """

    roles: Mapping[str, int] = {"first": 1, "second": 1}
    bots = {"yielding": insisting(POINTS // 2), "stubborn": insisting(POINTS)}
    # Points of both by the split of most points, and by that of the greatest product: means over all that may be dealt.
    known: Mapping[str, float] = {"welfare": 15.529729, "nash_welfare": 15.474846}

    def __init__(self, limit: int = 6):
        self.limit = counted("limit", limit, ROUNDS)
        self.info = GameInfo(chance=True, max_stages=limit + 1)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.pool = rng.choice(POOLS)
        one = rng.choice(openings(self.pool))
        self.values = {FIRST: one, SECOND: rng.choice(partners(self.pool, one))}
        self.made: list[Items] = []  # what was asked for, first and second seat in turn
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        if len(self.made) == self.limit:
            return ACCEPT, REFUSE
        takes = tuple(map(words, splits(self.pool)))
        return (ACCEPT, *takes) if self.made else takes

    def parse(self, seat: str, text: str) -> str | Items:
        """Items in any order, with commas or "and" between them if you like; or a word."""
        if text in (ACCEPT, REFUSE, NOTHING) and text in self.legal(seat):
            return (0,) * len(KINDS) if text == NOTHING else text
        if len(self.made) == self.limit:
            raise IllegalMove(f"say [{ACCEPT}] or [{REFUSE}]")
        parts = [NAMED.fullmatch(part.strip()) for part in re.split(r",| and |(?<=[a-z]) (?=[0-9])", text[:200])]
        said = {part[2]: int(part[1]) for part in parts if part}
        if len(said) < len(parts) or len(text) > 200:
            raise IllegalMove(f"say what you take, like [{words((1, 1, 0))}]{f', or [{ACCEPT}]' if self.made else ''}")
        take = tuple(said.get(kind, 0) for kind in KINDS)
        if any(n > most for n, most in zip(take, self.pool, strict=True)):
            raise IllegalMove(f"there are only {words(self.pool)}")
        return take

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        if move not in (ACCEPT, REFUSE):
            self.made.append(move)
            return self._ask()
        deal = move == ACCEPT
        if deal:
            last, rest = self.made[-1], left(self.pool, self.made[-1])
            self._settle(*((rest, last) if seat == FIRST else (last, rest)))
        else:
            self.note(deal=0.0, efficiency=0.0, nash=0.0, pareto=0.0)
        self.tell("Deal." if deal else "No deal.")
        return ()

    def _settle(self, mine: Items, theirs: Items) -> None:
        """A deal by which the first seat gets `mine`; notes how good it is, as shares of the best there is."""
        one, two = self.values.values()
        self.score(**{FIRST: float(points(one, mine)), SECOND: float(points(two, theirs))})
        self.note(
            deal=1.0,
            efficiency=efficiency(self.pool, one, two, mine),
            nash=_product(self.pool, one, two, mine) / _product(self.pool, one, two, nash(self.pool, one, two)),
            pareto=float(mine in pareto(self.pool, one, two)),
        )

    def _ask(self) -> Seats:
        seat = SEATS[len(self.made) % 2]
        worth = ", ".join(f"{kind} {value}" for kind, value in zip(KINDS, self.values[seat], strict=True))
        offer, ask = "", f"Say what you take, like [{words((1, 1, 0))}]"
        if self.made:
            last = self.made[-1]
            offer = f" The other takes {words(last)} and leaves you {words(left(self.pool, last))}."
            ask = f"[{ACCEPT}] or [{REFUSE}]" if len(self.made) == self.limit else f"{ask}, or [{ACCEPT}]"
        count = self.limit - len(self.made)
        self.tell(f"Pool: {words(self.pool)}. Worth to you: {worth}. Offers left: {count}.{offer} {ask}", seat)
        return (seat,)

    def knows(self, seat: str) -> tuple[Any, ...]:
        return self.pool, self.values[seat], *self.made

    def state_text(self) -> str:
        worth = " ".join(f"{seat}: {values}." for seat, values in self.values.items())
        return f"Pool: {words(self.pool)}. Worth: {worth} Offers: {'; '.join(map(words, self.made)) or 'none'}."


def words(items: Items) -> str:
    """Items by their names: "2 books 1 hat"."""
    named = (f"{n} {kind}{'s' * (n > 1)}" for n, kind in zip(items, KINDS, strict=True) if n)
    return " ".join(named) or NOTHING


@cache
def splits(pool: Items) -> tuple[Items, ...]:
    """All that one seat may take."""
    return tuple(product(*(range(n + 1) for n in pool)))


def left(pool: Items, take: Items) -> Items:
    return tuple(n - taken for n, taken in zip(pool, take, strict=True))


def points(values: Items, items: Items) -> int:
    return sum(value * n for value, n in zip(values, items, strict=True))


@cache
def valuations(pool: Items) -> tuple[Items, ...]:
    """What one of each kind may be worth, so that all of the pool is worth POINTS."""
    every = product(range(POINTS + 1), repeat=len(pool))
    return tuple(values for values in every if points(values, pool) == POINTS)


@cache
def partners(pool: Items, one: Items) -> tuple[Items, ...]:
    """The values that the second seat may have beside those of the first."""
    pairs = ((two, tuple(zip(one, two, strict=True))) for two in valuations(pool))
    return tuple(two for two, both in pairs if all(a or b for a, b in both) and any(a and b for a, b in both))


@cache
def openings(pool: Items) -> tuple[Items, ...]:
    """The values that the first seat may have."""
    return tuple(one for one in valuations(pool) if partners(pool, one))


def outcomes(pool: Items, one: Items, two: Items) -> dict[Items, tuple[int, int]]:
    """What both earn by each split, named by what the first seat gets."""
    return {mine: (points(one, mine), points(two, left(pool, mine))) for mine in splits(pool)}


def pareto(pool: Items, one: Items, two: Items) -> list[Items]:
    """The splits that no other betters for one seat at no cost to the other."""
    found = outcomes(pool, one, two)
    return [
        mine
        for mine, (a, b) in found.items()
        if not any(c >= a and d >= b and (c, d) != (a, b) for c, d in found.values())
    ]


def nash(pool: Items, one: Items, two: Items) -> Items:
    """The split of the greatest product of points (Nash 1950), the fairest of several."""
    found = outcomes(pool, one, two)
    return max(found, key=lambda mine: (found[mine][0] * found[mine][1], -abs(found[mine][0] - found[mine][1])))


def _product(pool: Items, one: Items, two: Items, mine: Items) -> int:
    return points(one, mine) * points(two, left(pool, mine))


def efficiency(pool: Items, one: Items, two: Items, mine: Items) -> float:
    """The points of both as a share of the most that there is."""
    return (points(one, mine) + points(two, left(pool, mine))) / max(map(sum, outcomes(pool, one, two).values()))

"""A buyer and a seller come to a price in words, or don't; what the thing is worth to each is its own secret."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from arena.game import Bot, Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted
from games._speech import spoken

BUYER, SELLER = SEATS = "buyer_0", "seller_0"
TOP = 100  # the highest price; the lowest is 1
NEAREST, FARTHEST = 10, 40  # how far apart the two limits are
AGREEABLE = 0.8  # how often there is a price that suits both
ACCEPT, LEAVE = "accept", "leave"
OFFER = re.compile(r"(?i)offer ([1-9][0-9]{0,2})(?:[.,:;!]? (.+)|[.!])?")
CLOSING = re.compile(r"(?i)(accept|leave)(?:[.,:;!].*)?")  # "accept 40" closes nothing, for it may mean another price
EXAMPLE = "say [offer 50], with a reason after it if you like: [offer 50, it is new]"


class Offer(NamedTuple):
    """A price, and what is said with it."""

    price: int
    words: str = ""

    def __str__(self) -> str:
        return f'offer {self.price}, "{self.words}"' if self.words else f"offer {self.price}"


def conceding(share: float) -> Bot:
    """Asks for a lot at first and goes to its limit in even steps; accepts what leaves it the `share` of FARTHEST.

    With the last offer made it accepts whatever isn't a loss.
    """

    def play(game: NegotiationRoles, seat: str) -> Mapping[str, float]:
        limit, sign = game.limits[seat], 1 if seat == SELLER else -1
        last = len(game.made) == game.limit
        if game.made:
            gain = sign * (game.made[-1].price - limit)
            if gain >= (0 if last else share * FARTHEST):
                return {ACCEPT: 1.0}
        if last:
            return {LEAVE: 1.0}
        ask = limit + sign * round(FARTHEST * (1 - len(game.made) / game.limit))
        return {f"offer {min(max(ask, 1), TOP)}": 1.0}

    return play


class NegotiationRoles(Game):
    """In turn, offer a price with words, accept the other's, or leave. At price p the buyer gains its limit - p.

    The seller gains p - its limit. Gains are in units of the distance between the limits, so a deal inside the zone of
    agreement shares 1; in a fifth of the games there is none, and leaving is best. With `utterance` above 0, each
    utterance also earns so much times what it changed in `standing`, its own seat's (Sotopia-RL, arXiv:2508.03905).
    """

    roles: Mapping[str, int] = {"buyer": 1, "seller": 1}
    bots = {"firm": conceding(0.5), "soft": conceding(0.1)}

    def __init__(self, limit: int = 6, talk: int = 80, utterance: float = 0.0):
        counted("limit", limit, ROUNDS)
        if not 20 <= talk <= 1000:
            raise ValueError(f"talk is {talk} characters: use 20 to 1000")
        if utterance < 0:
            raise ValueError(f"utterance is {utterance}: use a weight of 0 or more")
        self.limit, self.talk, self.utterance = limit, talk, utterance
        self.info = GameInfo(chance=True, max_stages=limit + 1)
        self.known = {"efficiency": 1.0}  # of who agrees exactly where that is possible

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        gap = rng.randint(NEAREST, FARTHEST)
        low = rng.randint(1, TOP - gap)
        self.zone = rng.random() < AGREEABLE
        self.limits = {BUYER: low + gap, SELLER: low} if self.zone else {BUYER: low, SELLER: low + gap}
        self.order = tuple(rng.sample(SEATS, 2))
        self.made: list[Offer] = []
        return self._ask()

    def legal(self, seat: str) -> Sequence[str]:
        """Every price without words; any words may be added."""
        offers = [f"offer {price}" for price in range(1, TOP + 1)] if len(self.made) < self.limit else []
        return [*offers, *([ACCEPT] if self.made else []), LEAVE]

    def parse(self, seat: str, text: str) -> str | Offer:
        message = spoken(text, self.talk)
        if closing := CLOSING.fullmatch(message):
            if closing[1].lower() == ACCEPT and not self.made:
                raise IllegalMove(f"there is nothing to accept yet: {EXAMPLE}")
            return closing[1].lower()
        if len(self.made) == self.limit:
            raise IllegalMove(f"no offer is left: say [{ACCEPT}] or [{LEAVE}]")
        found = OFFER.fullmatch(message)
        if not found:
            raise IllegalMove(f"{EXAMPLE}; or [{LEAVE}]")
        if int(found[1]) > TOP:
            raise IllegalMove(f"a price is 1 to {TOP}, not {found[1]}")
        return Offer(int(found[1]), found[2] or "")

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        before = self.standing(seat)
        if isinstance(move, Offer):
            self.made.append(move)
            self._value(seat, self.standing(seat) - before)
            return self._ask()
        gains = self.gains(self.made[-1].price) if move == ACCEPT else dict.fromkeys(SEATS, 0.0)
        self._value(seat, gains[seat] - before)
        if move == ACCEPT:
            self.score("deal", **gains)
            self.note(price=float(self.made[-1].price))
        self.note(deal=float(move == ACCEPT), zone=float(self.zone), efficiency=float(self.zone == (move == ACCEPT)))
        self.tell("Deal." if move == ACCEPT else "No deal.")
        return ()

    def _value(self, seat: str, change: float) -> None:
        if self.utterance:
            self.score("utterance", **{seat: self.utterance * change})

    def gains(self, price: float) -> dict[str, float]:
        """What a deal at `price` is worth, by seat; the two sum to 1 where there is a zone of agreement, else to -1."""
        unit = abs(self.limits[BUYER] - self.limits[SELLER])
        return {BUYER: (self.limits[BUYER] - price) / unit, SELLER: (price - self.limits[SELLER]) / unit}

    def standing(self, seat: str) -> float:
        """The evaluator: how the talk stands for a seat, as its gain at the middle of both last offers times nearness.

        Nearness is 1 less the gap between them as a share of TOP. Who hasn't offered stands at its end of the scale, so
        before any offer this is 0.
        """
        last = {self.order[i % 2]: offer.price for i, offer in enumerate(self.made)}
        bid, ask = last.get(BUYER, 0), last.get(SELLER, TOP)
        nearness = 1 - max(ask - bid, 0) / TOP
        return nearness * self.gains((bid + ask) / 2)[seat]

    def _ask(self) -> Seats:
        seat = self.order[len(self.made) % 2]
        job = ("You buy", "more") if seat == BUYER else ("You sell", "less")
        told = [f"{job[0]}. Your limit, which is secret: {self.limits[seat]}. A price of {job[1]} is a loss to you."]
        told += [f"{'You' if self.order[i % 2] == seat else 'The other'}: {offer}" for i, offer in enumerate(self.made)]
        left = self.limit - len(self.made)
        choice = ["offer a price up to 100 and say why"] * (left > 0) + [ACCEPT] * bool(self.made) + [LEAVE]
        self.tell("\n".join([*told, f"Offers left: {left}. Now {', or '.join(choice)}."]), seat)
        return (seat,)

    def knows(self, seat: str) -> Hashable:
        return self.limits[seat], self.order, *self.made

    def state_text(self) -> str:
        limits = ", ".join(f"{seat} {limit}" for seat, limit in self.limits.items())
        talk = (f"{self.order[i % 2]}: {offer}" for i, offer in enumerate(self.made))
        return "\n".join([f"Limits: {limits}.", *talk])

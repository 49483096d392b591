"""The broadcast channel: two nodes share one line, and if both send at once, nobody hears either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

from arena.dec_pomdp import DecPomdp, tabulate
from games._tabular import TabularGame

FULL, EMPTY = "full", "empty"
REFILL = (0.9, 0.1)  # probability that an empty buffer gets a message, by node
NOTICES = 0.9  # probability that a node tells rightly whether there was a collision
# Hansen, Bernstein and Zilberstein 2004 posed the problem; the tables are those of broadcastChannel.dpomdp, and the
# best returns by horizon those listed at masplan.org.
OPTIMUM = {1: 1.0, 2: 2.0, 3: 2.99, 4: 3.89, 5: 4.79}


class Broadcast(TabularGame):
    """Two nodes begin with a message each. At every step both at once send or wait; a message sent alone pays both 1.

    A node that has sent gets a new message with probability 0.9 (the first) or 0.1 (the second). If both send, nothing
    gets through and both buffers are drawn anew. Each tells a collision from none, rightly with probability 0.9.
    """

    roles: Mapping[str, int] = {"agent": 2}
    hidden, senses = "buffers", "noticed"
    optima, solved = OPTIMUM, max(OPTIMUM)

    def __init__(self, horizon: int = 3):
        self.lay(model(), horizon)


@cache
def model() -> DecPomdp:
    """The tables; a state is what the buffers hold, the first node's first."""
    return tabulate(
        map(" ".join, product((EMPTY, FULL), repeat=2)),
        [("send", "wait")] * 2,
        [("collision", "quiet")] * 2,
        start={f"{FULL} {FULL}": 1.0},
        move=refilled,
        sense=lambda moves, after: [noticed(moves)] * 2,
        pay=lambda buffers, moves, after: float(sent(buffers.split(), moves) == 1),
    )


def sent(buffers: Sequence[str], moves: Sequence[str]) -> int:
    """The number of messages that get through: 1, or 0."""
    return moves.count("send") == 1 and buffers[moves.index("send")] == FULL


def refilled(buffers: str, moves: Sequence[str]) -> dict[str, float]:
    """The odds of the buffers after a step."""
    collision = set(moves) == {"send"}
    full = [
        1.0 if held == FULL and move == "wait" and not collision else refill
        for held, move, refill in zip(buffers.split(), moves, REFILL, strict=True)
    ]
    odds = [{FULL: chance, EMPTY: 1 - chance} for chance in full]
    return {f"{one} {two}": p * q for one, p in odds[0].items() for two, q in odds[1].items()}


def noticed(moves: Sequence[str]) -> dict[str, float]:
    """The odds of what a node notices."""
    right = NOTICES if set(moves) == {"send"} else 1 - NOTICES
    return {"collision": right, "quiet": 1 - right}

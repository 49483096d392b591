"""Recycling robots: the big can takes two robots at once, and neither knows how the other's battery is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

from arena.dec_pomdp import DecPomdp, tabulate
from games._tabular import TabularGame

HIGH, LOW = "high", "low"
ACTIONS = ("recharge", "little", "big")
# By action, the probability that a high battery falls to low, and that a low one runs out; it is then charged again.
DRAIN = {"recharge": (0.0, 1.0), "little": (0.3, 0.2), "big": (0.5, 0.3)}
# Amato, Bernstein and Zilberstein 2007 posed the problem. The tables are those of recycling.dpomdp, where the three
# actions stand in this order (its names for them don't fit its numbers); the best returns are those of masplan.org.
OPTIMUM = {1: 5.0, 2: 7.0, 3: 10.660125, 4: 13.38, 5: 16.486}


class Recycling(TabularGame):
    """Two robots begin with high batteries. At every step both at once recharge, or look for a little can or the big.

    A little can pays both 2, the big one 5 if both look for it. Looking drains: a battery that was low may run out,
    which costs 10 and loses what the step found. Each robot sees its own battery.
    """

    roles: Mapping[str, int] = {"agent": 2}
    hidden, senses = "batteries", "battery"
    optima, solved = OPTIMUM, max(OPTIMUM)

    def __init__(self, horizon: int = 3):
        self.lay(model(), horizon)


@cache
def model() -> DecPomdp:
    """The tables; a state is both batteries, the first robot's first."""
    return tabulate(
        map(" ".join, product((HIGH, LOW), repeat=2)),
        [ACTIONS] * 2,
        [(HIGH, LOW)] * 2,
        start={f"{HIGH} {HIGH}": 1.0},
        move=drained,
        sense=lambda moves, after: [{battery: 1.0} for battery in after.split()],
        pay=paid,
    )


def drained(batteries: str, moves: Sequence[str]) -> dict[str, float]:
    """The odds of both batteries after a step; one that has run out is high again."""
    odds = []
    for battery, move in zip(batteries.split(), moves, strict=True):
        change = DRAIN[move][battery == LOW]
        odds.append({HIGH: 1 - change, LOW: change} if battery == HIGH else {HIGH: change, LOW: 1 - change})
    return {f"{one} {two}": p * q for one, p in odds[0].items() for two, q in odds[1].items()}


def paid(before: str, moves: Sequence[str], after: str) -> float:
    """What a step pays the team: what was found, unless batteries ran out."""
    steps = zip(before.split(), moves, after.split(), strict=True)
    out = sum(old == LOW and new == HIGH and move != "recharge" for old, move, new in steps)
    return -10.0 * out if out else 2.0 * moves.count("little") + 5.0 * (moves.count("big") == 2)

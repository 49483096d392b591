"""The decentralised tiger: two agents, two doors, and no word between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from arena.dec_pomdp import DecPomdp, tabulate
from games._tabular import TabularGame

ACTIONS = ("listen", "left", "right")
DOORS = ("left", "right")
OTHER = {"left": "right", "right": "left"}
HEARS = 0.85  # probability that a listener hears the tiger behind the right door, if both listen
# Best team return by horizon: Nair et al. 2003 posed the problem; values as listed at masplan.org.
OPTIMUM = {1: -2.0, 2: -4.0, 3: 5.190812, 4: 4.802755, 5: 7.026451, 6: 10.381625}


class DecTiger(TabularGame):
    """A tiger is behind one door. For `horizon` steps both agents at once listen or open a door; both get the reward.

    Listening costs 2 together. If both listen, each hears the tiger's side, right with probability 0.85, independently;
    if anyone opens, the tiger is put anew and what is heard means nothing.
    """

    roles: Mapping[str, int] = {"agent": 2}
    hidden, senses = "tiger", "heard"
    optima, solved = OPTIMUM, 5

    def __init__(self, horizon: int = 2):
        self.lay(model(), horizon)

    @property
    def tiger(self) -> str:
        """The door that it is behind."""
        return self.state

    def sense(self, action: int) -> Sequence[str]:
        """The tables' own odds, drawn seat by seat: a seed goes on giving the game that it gave before the tables."""
        right = (HEARS, 1 - HEARS) if action == 0 else (0.5, 0.5)
        return [self.rng.choices((self.state, OTHER[self.state]), right)[0] for _ in self._seats]


@cache
def model() -> DecPomdp:
    """The tables."""
    return tabulate(
        DOORS,
        [ACTIONS] * 2,
        [DOORS] * 2,
        start=dict.fromkeys(DOORS, 0.5),
        move=lambda tiger, moves: {tiger: 1.0} if moves == ("listen", "listen") else dict.fromkeys(DOORS, 0.5),
        sense=lambda moves, tiger: [heard(tiger, moves)] * 2,
        pay=lambda tiger, moves, after: reward(tiger, *moves),
    )


def heard(tiger: str, moves: Sequence[str]) -> Mapping[str, float]:
    """The odds of hearing the tiger at each door."""
    right = HEARS if set(moves) == {"listen"} else 0.5
    return {tiger: right, OTHER[tiger]: 1 - right}


def reward(tiger: str, one: str, two: str) -> float:
    """What the team earns by one step (Nair et al. 2003, table 2)."""
    if one == two:
        return -2.0 if one == "listen" else (-50.0 if one == tiger else 20.0)
    if "listen" in (one, two):
        return -101.0 if tiger in (one, two) else 9.0
    return -100.0

"""The decentralised tiger: two agents, two doors, and no word between them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Game, GameInfo, Seats
from arena.types import Task

ACTIONS = ("listen", "left", "right")
DOORS = ("left", "right")
OTHER = {"left": "right", "right": "left"}
AGENTS = ("agent_0", "agent_1")
HEARS = 0.85  # probability that a listener hears the tiger behind the right door, if both listen
# Best team return by horizon: Nair et al. 2003 posed the problem; values as listed at masplan.org.
OPTIMUM = {1: -2.0, 2: -4.0, 3: 5.190812, 4: 4.802755, 5: 7.026451}


class DecTiger(Game):
    """A tiger is behind one door. For `horizon` steps both agents at once listen or open a door; both get the reward.

    Listening costs 2 together. If both listen, each hears the tiger's side, right with probability 0.85, independently;
    if anyone opens, the tiger is put anew and what is heard means nothing.
    """

    roles: Mapping[str, int] = {"agent": 2}

    def __init__(self, horizon: int = 2):
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}: use at least 1")
        self.horizon = horizon
        self.info = GameInfo(
            cooperative=True,
            simultaneous=True,
            chance=True,
            par=OPTIMUM.get(horizon),
            max_stages=horizon + 1,
            forfeit=-101.0,
        )
        self.known = {"optimum": OPTIMUM[horizon]} if horizon in OPTIMUM else {}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.tiger = rng.choice(DOORS)
        self.past: dict[str, list[tuple[str, str]]] = {seat: [] for seat in AGENTS}
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return ACTIONS

    def play(self, moves: Mapping[str, Any]) -> Seats:
        one, two = moves[AGENTS[0]], moves[AGENTS[1]]
        team = reward(self.tiger, one, two)
        self.score(**dict.fromkeys(AGENTS, team))
        if len(self.past[AGENTS[0]]) + 1 == self.horizon:
            self.tell(f"The tiger was {self.tiger}. Moves: {one}, {two}. Last reward: {team:.0f}.")
            return ()
        both = one == two == "listen"
        if not both:
            self.tiger = self.rng.choice(DOORS)
        right = (HEARS, 1 - HEARS) if both else (0.5, 0.5)
        for seat in AGENTS:
            (heard,) = self.rng.choices((self.tiger, OTHER[self.tiger]), right)
            self.past[seat].append((moves[seat], heard))
        return self._ask()

    def _ask(self) -> Seats:
        actions = " ".join(f"[{action}]" for action in ACTIONS)
        for seat in AGENTS:
            past = ", ".join(f"{move} (heard {heard})" for move, heard in self.past[seat]) or "none"
            step = len(self.past[seat]) + 1
            self.tell(f"Step {step} of {self.horizon}. You so far: {past}. Actions: {actions}", seat)
        return AGENTS

    def knows(self, seat: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.past[seat])

    def state_text(self) -> str:
        return f"Tiger: {self.tiger}. " + " ".join(f"{seat}: {self.past[seat]}." for seat in AGENTS)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The optimum up to horizon 3: listen, and in step 3 open the other door if a tiger was heard twice at one."""
        if self.horizon > 3:
            return {}
        heard = [side for _, side in self.past[seat]]
        sure = len(heard) == 2 and heard[0] == heard[1]
        best = OTHER[heard[0]] if sure else "listen"
        return {action: float(action == best) for action in ACTIONS}


def reward(tiger: str, one: str, two: str) -> float:
    """What the team earns by one step (Nair et al. 2003, table 2)."""
    if one == two:
        return -2.0 if one == "listen" else (-50.0 if one == tiger else 20.0)
    if "listen" in (one, two):
        return -101.0 if tiger in (one, two) else 9.0
    return -100.0

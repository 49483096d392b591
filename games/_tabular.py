"""Any small Dec-POMDP as a game in words: each agent hears what it has done and observed itself, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from arena.dec_pomdp import DecPomdp, Plan, best, centralised, uniform
from arena.game import Game, GameInfo, Seats
from arena.types import Task
from games._bounds import HORIZON, counted

NODES = 2000  # that a search for the best team may open: about a second


class TabularGame(Game):
    """Agents act at once for `horizon` steps, get one reward together, and each observes something of its own."""

    hidden = "state"  # what its state is called in words
    senses = "saw"  # how an observation is told
    optima: Mapping[int, float] = {}  # the best return by horizon, where it has been published
    solved = 0  # the longest horizon for which the best team is worked out; 0: any, within NODES

    def lay(self, model: DecPomdp, horizon: int) -> None:
        """Play `horizon` steps of `model`; roles and facts follow from it."""
        self.model, self.horizon = model, counted("horizon", horizon, HORIZON)
        self.roles = {"agent": model.agents}
        par = self.optima.get(horizon)
        if par is None and not self.optima and self.plan:
            par = self.plan.value
        self.info = GameInfo(
            cooperative=True,
            simultaneous=model.agents > 1,
            chance=chance(model, horizon),
            par=par,
            max_stages=horizon + 1,
            forfeit=min(float(model.reward.min()), -1.0),  # no step is worse
        )

    @property
    def plan(self) -> Plan | None:
        """The best team, found when first asked for; None where that takes too long."""
        return plan(self.model, self.horizon) if not self.solved or self.horizon <= self.solved else None

    @property
    def known(self) -> Mapping[str, float]:  # type: ignore[override]
        """The returns of the best team, of one that shares all observations at once, and of play by chance."""
        found = {} if self.info.par is None else {"optimum": self.info.par}
        return found if self.plan is None else {**found, **compared(self.model, self.horizon)}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.state = draw(rng, self.model.states, self.model.start)
        self.past: dict[str, list[tuple[str, str]]] = {seat: [] for seat in self._seats}
        return self._ask()

    def legal(self, seat: str) -> tuple[str, ...]:
        return self.model.actions[self._seats.index(seat)]

    def play(self, moves: Mapping[str, Any]) -> Seats:
        joint = tuple(moves[seat] for seat in self._seats)
        action = self.model.joint_actions.index(joint)
        team = float(self.model.reward[action, self.model.states.index(self.state)])
        self.score(**dict.fromkeys(self._seats, team))
        if len(self.past[self._seats[0]]) + 1 == self.horizon:
            self.tell(f"The {self.hidden} was {self.state}. Moves: {', '.join(joint)}. Last reward: {team:g}.")
            return ()
        self.state = draw(
            self.rng, self.model.states, self.model.transition[action, self.model.states.index(self.state)]
        )
        for seat, move, seen in zip(self._seats, joint, self.sense(action), strict=True):
            self.past[seat].append((move, seen))
        return self._ask()

    def sense(self, action: int) -> Sequence[str]:
        """What each agent observes of the new state after a joint action."""
        row = self.model.observation[action, self.model.states.index(self.state)]
        return draw(self.rng, self.model.joint_observations, row)

    def _ask(self) -> Seats:
        for seat in self._seats:
            actions = " ".join(f"[{action}]" for action in self.legal(seat))
            past = ", ".join(f"{move} ({self.senses} {seen})" for move, seen in self.past[seat]) or "none"
            step = len(self.past[seat]) + 1
            self.tell(f"Step {step} of {self.horizon}. You so far: {past}. Actions: {actions}", seat)
        return self._seats

    def knows(self, seat: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.past[seat])

    def state_text(self) -> str:
        return f"{self.hidden.capitalize()}: {self.state}. " + " ".join(f"{s}: {self.past[s]}." for s in self._seats)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The best team's move; it goes by what the seat has observed and takes it to have moved as the team would."""
        if (found := self.plan) is None:
            return {}
        agent = self._seats.index(seat)
        observed = [self.model.observations[agent].index(seen) for _, seen in self.past[seat]]
        best = self.model.actions[agent][found.action(agent, observed)]
        return {action: float(action == best) for action in self.legal(seat)}


def draw(rng: random.Random, outcomes: Sequence[Any], odds: np.ndarray) -> Any:
    """One of the outcomes. What is certain takes no random number, and so no node of a game's tree."""
    open_ = np.flatnonzero(odds)
    if len(open_) == 1:
        return outcomes[open_[0]]
    if (odds[open_] == odds[open_[0]]).all():
        return outcomes[rng.choice(open_.tolist())]
    return outcomes[rng.choices(open_.tolist(), odds[open_].tolist())[0]]


def chance(model: DecPomdp, horizon: int) -> bool:
    """Whether anything is drawn: in the states that the steps before the last can lead to, whatever is done."""
    drawn, reached = int((model.start > 0).sum()) > 1, model.start > 0
    for _ in range(horizon - 1):
        moved = model.transition[:, reached]
        reached = moved.any((0, 1))
        drawn = drawn or bool((moved.max(-1) < 1).any() or (model.observation[:, reached].max(-1) < 1).any())
    return drawn


@lru_cache(maxsize=64)
def plan(model: DecPomdp, horizon: int) -> Plan | None:
    """The best team, None where it isn't found within NODES."""
    try:
        return best(model, horizon, NODES)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def compared(model: DecPomdp, horizon: int) -> Mapping[str, float]:
    """What a team's return may be held against, besides the best one."""
    return {"centralised": centralised(model, horizon), "random": uniform(model, horizon)}

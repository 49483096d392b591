"""What a team is worth at most: if it saw the state, or shared what it observes, at once or a step late."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product

import numpy as np

from arena.dec_pomdp.model import DecPomdp

DIGITS = 12  # beliefs that agree so far are one
CHUNK = 256  # beliefs that are looked ahead from at once


def omniscient(model: DecPomdp, horizon: int) -> float:
    """The best return of agents that see the state (Q_MDP)."""
    worth = np.zeros(len(model.states))
    for _ in range(horizon):
        worth = (model.reward + model.transition @ worth).max(0)
    return float(model.start @ worth)


def centralised(model: DecPomdp, horizon: int) -> float:
    """The best return of agents that tell each other at once all that they observe (Q_POMDP)."""
    return float(Shared(model).worth(horizon, model.start[None]).max())


class Shared:
    """What joint actions are worth from a common belief on, to agents that go on sharing what they observe.

    Unnormalised beliefs are worth so much less. Beliefs that were met are remembered. Raises ValueError once more than
    `limit` beliefs have been looked at as what may follow another one.
    """

    def __init__(self, model: DecPomdp, limit: float = math.inf):
        self.model, self.limit = model, limit
        self.looked = 0
        self.known: dict[int, dict[bytes, np.ndarray]] = {}

    def worth(self, steps: int, beliefs: np.ndarray) -> np.ndarray:
        """The best return of `steps` that begin with each joint action: float [N, S] -> [N, A]."""
        if steps == 1:
            return np.asarray(beliefs @ self.model.reward.T)
        mass = beliefs.sum(-1, keepdims=True)
        sure = (beliefs / np.where(mass > 0, mass, 1)).round(DIGITS) + 0.0  # without negative zeros
        known = self.known.setdefault(steps, {})
        keys = [row.tobytes() for row in sure]
        new = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        for at in range(0, len(new), CHUNK):
            rows = new[at : at + CHUNK]
            for i, found in zip(rows, self._look(steps, sure[rows]), strict=True):
                known[keys[i]] = found
        return np.asarray(np.stack([known[key] for key in keys]) * mass)

    def _look(self, steps: int, beliefs: np.ndarray) -> np.ndarray:
        m = self.model
        self.looked += len(beliefs) * len(m.joint_actions) * len(m.joint_observations)
        if self.looked > self.limit:
            raise ValueError(f"more than {self.limit:.0f} beliefs may come of {steps} steps: fewer steps have fewer")
        after = np.tensordot(beliefs, self.ahead, ((1,), (1,)))  # [N, A, O, S]
        future = self.worth(steps - 1, after.reshape(-1, len(m.states))).reshape(*after.shape[:3], -1)
        return np.asarray(beliefs @ m.reward.T + self.choose(future))

    @cached_property
    def ahead(self) -> np.ndarray:
        """The odds of what is observed together with the next state: float [A, S, O, S]."""
        return np.asarray(np.einsum("ast,ato->asot", self.model.transition, self.model.observation))

    def choose(self, worth: np.ndarray) -> np.ndarray:
        """The best that can be done once something is observed: float [N, A, O, A] -> [N, A]."""
        return np.asarray(worth.max(-1).sum(-1))


class Late(Shared):
    """The same for agents that share a step late, so that each goes by its own last observation (Q_BG).

    A lower bound of what sharing at once is worth, and still an upper one of what agents that never share are.
    """

    @cached_property
    def rules(self) -> np.ndarray:
        """The joint actions of all agents but the last by their joint observation, int [rules, O of these]."""
        *actions, _ = map(len, self.model.actions)
        *observed, _ = map(len, self.model.observations)
        own = [list(product(range(a), repeat=o)) for a, o in zip(actions, observed, strict=True)]
        seen = list(product(*map(range, observed)))
        rows = [
            [_number(actions, [rule[i] for rule, i in zip(joint, o, strict=True)]) for o in seen]
            for joint in product(*own)
        ]
        return np.array(rows)

    def choose(self, worth: np.ndarray) -> np.ndarray:
        last_o, last_a = len(self.model.observations[-1]), len(self.model.actions[-1])
        n, a, o, joint = worth.shape
        cut = worth.reshape(n, a, o // last_o, last_o, joint // last_a, last_a)
        total = sum(
            cut[:, :, i][:, :, :, self.rules[:, i]] for i in range(o // last_o)
        )  # [N, A, last O, rules, last A]
        return np.asarray(np.asarray(total).max(-1).sum(2).max(-1))


def _number(sizes: list[int], parts: list[int]) -> int:
    """The number of a joint action, the last agent fastest."""
    found = 0
    for size, part in zip(sizes, parts, strict=True):
        found = found * size + part
    return found

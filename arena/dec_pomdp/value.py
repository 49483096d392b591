"""What a team gets, exactly, by a given joint policy or by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from arena.dec_pomdp.model import DecPomdp

History = tuple[tuple[int, int], ...]  # the number of the action and of what was observed after it, step by step
Policy = Callable[[int, History], Sequence[float]]  # (agent, its history) -> probabilities over its actions


def uniform(model: DecPomdp, horizon: int) -> float:
    """The expected return of a team whose agents draw every action with equal odds."""
    total, now = 0.0, model.start
    for _ in range(horizon):
        total += float((model.reward @ now).mean())
        now = np.asarray((now @ model.transition).mean(0))
    return total


def value(model: DecPomdp, horizon: int, policy: Policy) -> float:
    """The expected return of a team in which each agent acts by its own history alone."""
    numbers = [tuple(product(*map(range, map(len, names)))) for names in (model.actions, model.observations)]
    total = 0.0
    now: dict[tuple[History, ...], np.ndarray] = {((),) * model.agents: model.start}
    for step in range(horizon):
        after: dict[tuple[History, ...], np.ndarray] = {}
        for pasts, weight in now.items():
            odds = [policy(agent, past) for agent, past in enumerate(pasts)]
            for a, moves in enumerate(numbers[0]):
                chance = float(np.prod([row[move] for row, move in zip(odds, moves, strict=True)]))
                if not chance:
                    continue
                total += chance * float(weight @ model.reward[a])
                if step + 1 < horizon:
                    seen = (chance * weight @ model.transition[a])[:, None] * model.observation[a]
                    for o in np.flatnonzero(seen.any(0)):
                        pairs = zip(pasts, moves, numbers[1][o], strict=True)
                        key = tuple((*past, (move, heard)) for past, move, heard in pairs)
                        after[key] = seen[:, o]  # no two pasts lead to one
        now = after
    return total

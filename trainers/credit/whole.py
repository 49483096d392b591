"""One advantage a trajectory, given to each of its turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit.trajectory import SeatCredit, Trajectory, groups

Floats = NDArray[np.float64]
EPSILON = 1e-6


def peers(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus the mean return of the OTHERS of its group (RLOO, arXiv:2402.14740); alone, minus the baseline."""
    values = np.array([t.value for t in trajectories])
    advantages = minus_baseline(trajectories, values, config, baselines)
    for group in groups(trajectories).values():
        if len(group) > 1:
            advantages[group] = leave_one_out(values[group])
    return whole(trajectories, advantages)


def grpo(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus its group's mean, over the group's standard deviation + 1e-6 (arXiv:2402.03300)."""
    advantages = np.zeros(len(trajectories))
    for group in groups(trajectories).values():
        advantages[group] = standardised([trajectories[i].value for i in group])
    return whole(trajectories, advantages)


def baseline(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus the running mean of its (game, role), from before this batch (SPIRAL, arXiv:2506.24119)."""
    values = np.array([t.value for t in trajectories])
    return whole(trajectories, minus_baseline(trajectories, values, config, baselines))


def leave_one_out(returns: ArrayLike) -> Floats:
    """Each return minus the mean of the others, float64 [N], N > 1; equal returns give exactly 0."""
    values = np.asarray(returns, np.float64)
    # (n / (n - 1)) (R - mean) is the same number; a constant group must be 0 without rounding
    return (
        np.zeros_like(values) if np.ptp(values) == 0 else (values - values.mean()) * (len(values) / (len(values) - 1))
    )


def standardised(returns: ArrayLike) -> Floats:
    """(R - mean) / (std + 1e-6), float64 [N]; equal returns give exactly 0."""
    values = np.asarray(returns, np.float64)
    return np.zeros_like(values) if np.ptp(values) == 0 else (values - values.mean()) / (values.std() + EPSILON)


def minus_baseline(
    trajectories: Sequence[Trajectory], values: Floats, config: CreditConfig, baselines: Baselines
) -> Floats:
    """`values` [N] minus their running means. All are read first, then each is updated once with its batch mean: the
    order within a batch can't matter.

    Before there is any estimate, the others of the same (game, role) in this batch stand in for it.
    """
    advantages = np.zeros(len(trajectories))
    by_role: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, trajectory in enumerate(trajectories):
        by_role[trajectory.game, trajectory.role].append(i)
    for (game, role), members in by_role.items():
        known = baselines.mean(game, role)
        if known is not None:
            advantages[members] = values[members] - known
        elif len(members) > 1:
            advantages[members] = leave_one_out(values[members])
        baselines.update(game, role, float(values[members].mean()), config.decay)
    return advantages


def whole(trajectories: Sequence[Trajectory], advantages: Floats) -> list[SeatCredit]:
    """One advantage a trajectory, given to each of its turns."""
    return [SeatCredit((float(a),) * len(t.turns)) for t, a in zip(trajectories, advantages, strict=True)]

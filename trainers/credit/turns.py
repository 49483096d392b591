"""An advantage of its own for every turn: what was earned from it on, beside what others earned from theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit.trajectory import SeatCredit, Trajectory, groups
from trainers.credit.whole import Floats, minus_baseline, peers


def turn(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """What a seat earned from each turn on, minus the mean of what the OTHERS of its group earned from that turn on.

    A trajectory counts once at every turn: one that has ended before counts as it did at its last turn. So with one
    reward, at the end, and no discount this is `peers`, however many turns each has.
    """
    returns = [discounted(t.to_go, config.discount) for t in trajectories]
    return _by_turn(trajectories, returns, range(len(trajectories)), config, baselines)


def joint(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """As `turn`, with the return of the team for that of the seat (MAGRPO, arXiv:2508.04652).

    The team's is the mean over its learning seats. Its episodes are compared, each once, whatever its seats and turns:
    two seats of one role never have each other's return for a baseline.
    """
    earned = team(trajectories)
    returns = [discounted([earned[t.episode][j] for j in t.at], config.discount) for t in trajectories]
    return _by_turn(trajectories, returns, [t.episode for t in trajectories], config, baselines)


def gigpo(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """`peers`, plus `anchor_weight` times a comparison of turns at which the same was heard (GiGPO, arXiv:2505.10978).

    Such turns of one group are compared by what was earned from them on; each of the OTHER trajectories that stood
    there counts once, by the mean of its visits. A turn at which no other stood has no such part.
    """
    anchors: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for i, one in enumerate(trajectories):
        for k, own in enumerate(one.turns):
            anchors[one.peers, own.heard].append((i, k))
    returns = [discounted(t.to_go, config.discount) for t in trajectories]
    found = [list(one.advantages) for one in peers(trajectories, config, baselines)]
    for visits in anchors.values():
        relative = against_others([returns[i][k] for i, k in visits], [i for i, _ in visits])
        if relative is not None:
            for (i, k), advantage in zip(visits, relative, strict=True):
                found[i][k] += config.anchor_weight * float(advantage)
    return [SeatCredit(tuple(advantages)) for advantages in found]


def difference(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """The team's return minus its mean over other replies of this seat alone: the counterfactual of its own part.

    Compared are episodes of one deal in which all other seats reply with the same random numbers, as those that
    `rollout.resamples` adds. A seat without such others has said nothing new there, and gets 0.
    """
    earned = team(trajectories)
    values = np.array([earned[t.episode][t.at[0]] for t in trajectories])
    same: dict[Hashable, list[int]] = defaultdict(list)
    for i, one in enumerate(trajectories):
        same[one.peers, one.seat, one.others].append(i)
    advantages = np.zeros(len(trajectories))
    for members in same.values():
        relative = against_others(values[members], [trajectories[i].episode for i in members])
        if relative is not None:
            advantages[members] = relative
    return [SeatCredit((float(a),) * len(t.turns)) for t, a in zip(trajectories, advantages, strict=True)]


def discounted(to_go: Sequence[float], discount: float) -> Floats:
    """What was earned from each of a seat's turns on, when each turn later counts `discount` times as much.

    float64 [turns], from the undiscounted ones: rewards 1, 0, 2 are 3, 2, 2, and with 1/2 they are 1.5, 1, 2.
    """
    found = np.array(to_go, np.float64)
    if discount != 1:  # differences of sums would round
        for i in range(len(found) - 2, -1, -1):
            found[i] = to_go[i] - to_go[i + 1] + discount * found[i + 1]
    return found


def team(trajectories: Sequence[Trajectory]) -> Mapping[int, Floats]:
    """By episode, what its learning seats earned on average from each turn of it on, float64 [turns of the episode]."""
    seats: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    for one in trajectories:
        seats[one.episode].append(one.left)
    return {episode: np.mean(left, axis=0) for episode, left in seats.items()}


def against_others(values: ArrayLike, owners: Sequence[Hashable]) -> Floats | None:
    """Each value minus the mean over the OTHER owners, each once by its own mean: float64 [N]; None for one owner.

    Equal values give exactly 0.
    """
    values = np.asarray(values, np.float64)
    of: dict[Hashable, list[int]] = defaultdict(list)
    for i, owner in enumerate(owners):
        of[owner].append(i)
    if len(of) < 2:
        return None
    if np.ptp(values) == 0:
        return np.zeros_like(values)
    means = {owner: float(values[members].mean()) for owner, members in of.items()}
    total = sum(means.values())
    relative: Floats = values - [(total - means[owner]) / (len(of) - 1) for owner in owners]
    return relative


def _by_turn(
    trajectories: Sequence[Trajectory],
    returns: Sequence[Floats],
    owners: Sequence[Hashable],
    config: CreditConfig,
    baselines: Baselines,
) -> list[SeatCredit]:
    """Each turn's return beside those of other owners at the same turn; without any, the first one's minus the
    baseline, at all turns.
    """
    alone = minus_baseline(trajectories, np.array([r[0] for r in returns]), config, baselines)
    found = [np.full(len(r), a) for r, a in zip(returns, alone, strict=True)]
    for group in groups(trajectories).values():
        for k in range(max(len(returns[i]) for i in group)):
            now = [returns[i][min(k, len(returns[i]) - 1)] for i in group]
            relative = against_others(now, [owners[i] for i in group])
            if relative is None:
                break
            for i, advantage in zip(group, relative, strict=True):
                if k < len(returns[i]):
                    found[i][k] = advantage
    return [SeatCredit(tuple(map(float, advantages))) for advantages in found]

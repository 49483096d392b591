"""Nash averaging: who is good against those who are hard to beat (Balduzzi et al. 2018, "Re-evaluating evaluation")."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def nash_average(points: Array) -> tuple[Array, Array]:
    """(weights, skills) of N agents from their mean points against each other, [N, N] with p + p.T = 1.

    The weights are an equilibrium of the game in which each of two players picks an agent, and the skill of an agent
    is what it scores, above a half, against opponents picked by these weights; at most 0, and 0 for all who carry
    weight. Of several equilibria the most even one is taken: its smallest weight is as large as can be, then the next.
    It is unique. Agents with equal rows count as one and share its weight, so that copies change nobody's skill.
    Raises ValueError for a matrix that is not of that form, ImportError with the remedy without scipy.
    """
    if points.ndim != 2 or not np.allclose(points + points.T, 1.0, atol=1e-9):
        raise ValueError("the points of two agents against each other must add up to 1, a half on the diagonal")
    gains = points - 0.5
    copies, kind = _kinds(gains)
    weights_K = _most_even(gains[np.ix_(copies, copies)])
    weights = weights_K[kind] / np.bincount(kind)[kind]
    return weights, gains @ weights


def _kinds(gains: Array) -> tuple[list[int], npt.NDArray[np.int64]]:
    """The first agent of every kind, and the kind of every agent; agents of equal rows are of one kind."""
    firsts: dict[bytes, int] = {}
    rows = [(np.round(row, 12) + 0.0).tobytes() for row in gains]
    kind = np.array([firsts.setdefault(row, len(firsts)) for row in rows])
    return [rows.index(row) for row in firsts], kind


def _most_even(gains_KK: Array) -> Array:
    """Raise the smallest weight as far as equilibria allow, fix the weights that hold it there, and go on.

    A weight whose bound has a price (a dual above 0) is as small in every solution, so each round fixes one at least.
    """
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise ImportError("Nash averaging needs scipy: pip install 'scrimmage[games]'") from error
    k = len(gains_KK)
    fixed: dict[int, float] = {}
    no_gain = np.hstack([gains_KK, np.zeros((k, 1))])  # no agent scores above a half against the weights
    whole = np.ones((1, k + 1))
    whole[0, -1] = 0.0
    while len(fixed) < k:
        free = [i for i in range(k) if i not in fixed]
        at_least = np.zeros((len(free), k + 1))  # smallest - weight <= 0
        at_least[range(len(free)), free] = -1.0
        at_least[:, -1] = 1.0
        found = linprog(
            [0.0] * k + [-1.0],
            A_ub=np.vstack([no_gain, at_least]),
            b_ub=np.concatenate([np.full(k, 1e-12), np.zeros(len(free))]),
            A_eq=whole,
            b_eq=[1.0],
            bounds=[(fixed.get(i, 0.0), fixed.get(i, 1.0)) for i in range(k)] + [(0.0, 1.0)],
            method="highs",
        )
        if not found.success:
            raise ArithmeticError(f"no equilibrium of {k} agents found: {found.message}")
        prices = -found.ineqlin.marginals[k:]
        held = [i for i, price in zip(free, prices, strict=True) if price > 1e-7]
        for i in held or [free[int(np.argmax(prices))]]:
            fixed[i] = max(0.0, float(found.x[-1]))
    weights = np.array([fixed[i] for i in range(k)])
    total: Array = weights / weights.sum()
    return total

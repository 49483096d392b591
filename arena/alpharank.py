"""Alpha-rank: which agents an evolving population keeps coming back to (Omidshafiei et al. 2019)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ALPHA = 5.0  # how strongly points select; far beyond it rates of takeover leave the range of floats
POPULATION = 50


def alpha_rank(points: Array, alpha: float = ALPHA, population: int = POPULATION) -> Array:
    """The share of time that a population spends with each of N agents; they sum to 1.

    All members play one agent until a mutant of another takes over: with u = alpha times what the mutant scores against
    the others less what they score against it, the probability is (1 - exp(-u)) / (1 - exp(-m u)) for m members.
    `points` [N, N] has the mean points of the row's agent against the column's.
    """
    n = len(points)
    takeover = _takeover(alpha * (points.T - points), population) / max(n - 1, 1)  # [from, to]
    np.fill_diagonal(takeover, 0.0)
    return _stationary(takeover)


def _takeover(u: Array, m: int) -> Array:
    """The probability that one mutant of `m` takes over, 1 / m where nobody is better; written for either sign of u."""
    size = np.abs(u) + 1e-300
    ahead = np.expm1(-size) / np.expm1(-m * size)
    found: Array = np.where(u > 0, ahead, ahead * np.exp(-(m - 1) * size))
    return found


def _stationary(rates: Array) -> Array:
    """The stationary distribution of a chain by elimination of its states, last first, without any subtraction.

    Grassmann, Taksar and Heyman 1985: every digit is right even where rates differ by hundreds of orders of magnitude.
    """
    rates = rates.copy()
    n = len(rates)
    for k in range(n - 1, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    shares = np.ones(n)
    for k in range(1, n):
        shares[k] = shares[:k] @ rates[:k, k]
        shares /= shares[: k + 1].max()
    total: Array = shares / shares.sum()
    return total

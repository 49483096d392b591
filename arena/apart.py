"""Which agents the matches tell apart, which not yet, and how many more matches would do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_quantile = NormalDist().inv_cdf


def bounds(samples_B: Array, level: float) -> tuple[float, float]:
    """Between which two numbers one more sample would lie with probability `level`; the rest is as likely on each side.

    Of n sorted samples the k-th has the share k / (n + 1) below it; numpy's usual quantile cuts off more.
    """
    low, high = np.quantile(samples_B, [(1 - level) / 2, (1 + level) / 2], method="weibull")
    return float(low), float(high)


@dataclass(frozen=True)
class Apart:
    """`strengths` has B samples of every agent's strength; two are apart if one is ahead in nearly all of them.

    Nearly all is (1 + level) / 2: with a level of 0.95, as in a two-sided test at 5 percent, for each pair by itself.
    """

    strengths: Mapping[str, Array]
    level: float

    def __call__(self, a: str, b: str) -> bool:
        """Whether `a` and `b` can be told apart."""
        ahead = float(np.mean(self.strengths[a] > self.strengths[b]))
        return max(ahead, 1 - ahead) >= (1 + self.level) / 2

    def groups(self, ranked: Sequence[str]) -> list[tuple[str, ...]]:
        """The longest runs of a ranked list none of whom is apart from another; a run may overlap the next."""
        found: list[tuple[str, ...]] = []
        end = 0
        for i, agent in enumerate(ranked):
            stop = i + 1
            while stop < len(ranked) and not any(self(other, ranked[stop]) for other in ranked[i:stop]):
                stop += 1
            if stop > end:
                found.append((agent, *ranked[i + 1 : stop]))
                end = stop
        return found

    def needed(self, a: str, b: str, lead: float, worth: float, power: float) -> int | None:
        """How many more matches of `a` and `b` tell them apart with probability `power`; None if no number does.

        A true lead of d is found with that probability once its standard error is d / (z_level + z_power). `lead` is d
        as it is known now, each match adds `worth` to the inverse of the squared error.
        """
        if self(a, b):
            return 0
        if not lead or not worth:
            return None
        wanted = ((_quantile((1 + self.level) / 2) + _quantile(power)) / lead) ** 2
        known = 1 / max(float(np.var(self.strengths[a] - self.strengths[b])), 1e-300)
        return max(1, math.ceil((wanted - known) / worth))

"""A mean of sampled returns and how sure it is, never outside of what a return can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

LEVEL = 0.95
WEIGHINGS = 10_000  # random ones: the ends of an interval are sure to about a hundredth of its width


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval over `n` independent deals."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, samples: Sequence[float], worst: float, best: float) -> Estimate:
        """The interval of returns that lie between `worst` and `best`, the ends of their range.

        The Bayesian bootstrap (Rubin 1981), with half an observation more at either end. Of returns that are won or
        lost and nothing else this is Jeffreys' interval of a share, so that ten wins of ten don't make it certain. The
        same samples give the same interval, in whatever order.
        """
        if not samples or not worst <= min(samples) <= max(samples) <= best:
            raise ValueError(f"samples are {sorted(set(samples))}: they must lie between {worst} and {best}")
        mean, counts = fmean(samples), {float(worst): 0.5, float(best): 0.5}
        for sample in samples:
            counts[float(sample)] = counts.get(float(sample), 0.0) + 1.0
        values_V = np.array(sorted(counts))
        shapes_V = np.array([counts[value] for value in sorted(counts)])
        weights_BV = np.random.default_rng(0).standard_gamma(shapes_V, (WEIGHINGS, len(shapes_V)))
        means_B = (weights_BV @ values_V) / weights_BV.sum(axis=1)
        low, high = np.quantile(means_B, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(mean, max(worst, min(float(low), mean)), min(best, max(float(high), mean)), len(samples))

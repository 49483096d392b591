"""Who scores how much against whom, how sure that is, and how often it runs in circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import networkx
import numpy as np
import numpy.typing as npt

from arena.apart import bounds
from arena.tally import DRAWN, LOST, WON, Comparison

Array = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """Mean points of an agent in `n` comparisons with another, a win being 1 and a draw a half, and its bounds."""

    mean: float
    low: float
    high: float
    n: int


def payoff(
    comparisons: Sequence[Comparison], counts_R3: Array, samples_BR3: Array, rng: np.random.Generator, level: float
) -> dict[tuple[str, str], Cell]:
    """The points of every agent against each that it met, over all games and roles, both ways round.

    `samples_BR3` are the counts under B weighings of the matches. To each of them comes half a win and half a loss on
    the average, as in Jeffreys' interval: one win alone doesn't make a mean of 1 certain.
    """
    rows: dict[tuple[str, str], list[tuple[int, bool]]] = {}
    for row, (_, first, second) in enumerate(comparisons):
        for a, b in {(a, b) for a, _ in first for b, _ in second if a != b}:
            rows.setdefault((min(a, b), max(a, b)), []).append((row, a < b))
    found = {}
    for (a, b), met in sorted(rows.items()):
        seen = _three(counts_R3[None], met)
        weighed = _three(samples_BR3, met)
        weighed[:, [WON, LOST]] += rng.standard_gamma(0.5, (len(weighed), 2))
        mean = float(_points(seen)[0])
        low, high = bounds(_points(weighed), level)
        low, high, n = min(low, mean), max(high, mean), round(float(seen.sum()))
        found[a, b] = Cell(mean, low, high, n)
        found[b, a] = Cell(1 - mean, 1 - high, 1 - low, n)
    return dict(sorted(found.items()))


def _three(counts_BR3: Array, met: Sequence[tuple[int, bool]]) -> Array:
    """Wins, draws and losses of the one agent against the other, [B, 3]."""
    found = np.zeros((len(counts_BR3), 3))
    for row, ahead in met:
        found += counts_BR3[:, row] if ahead else counts_BR3[:, row, ::-1]
    return found


def _points(counts_B3: Array) -> Array:
    points: Array = (counts_B3[:, WON] + counts_B3[:, DRAWN] / 2) / counts_B3.sum(axis=1)
    return points


def matrix(payoff: Mapping[tuple[str, str], Cell], agents: Sequence[str]) -> Array | None:
    """The mean points as a matrix, a half on its diagonal; None if any two of these agents have not met."""
    found = np.full((len(agents), len(agents)), 0.5)
    for (i, a), (j, b) in combinations(enumerate(agents), 2):
        if (a, b) not in payoff:
            return None
        found[i, j], found[j, i] = payoff[a, b].mean, payoff[b, a].mean
    return found


def cycles(payoff: Mapping[tuple[str, str], Cell]) -> float | None:
    """The share of circles (a beats b beats c beats a) among all three agents that have met each other; None if none.

    An order from best to worst says little of agents for which it is large: of random results it is 1/4.
    """
    met = networkx.Graph(list(payoff))
    beats = networkx.DiGraph([pair for pair, cell in payoff.items() if cell.mean > 0.5])
    triples = sum(networkx.triangles(met).values()) // 3
    circles = sum(1 for circle in networkx.simple_cycles(beats, length_bound=3) if len(circle) == 3)
    return circles / triples if triples else None

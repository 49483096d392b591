"""What was dealt together repeats itself, as the pairs of one match of many teams do: it counts for less."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.fit import Design, curvature, differences, odds
from arena.tally import DRAWN, LOST, WON, Tally

Array = npt.NDArray[np.float64]

DOUBT = 2  # blocks beside those seen that end alike throughout: a handful of deals can hardly show that they do


def thinned(design: Design, counted: Tally, best_P: Array) -> Array:
    """The counts of a log less what its blocks only repeat, [R, 3].

    If the pulls of whole blocks on the strengths vary f times as much as those of their comparisons would by
    themselves, then each counts as 1 / f (Pauli, Racugno and Ventura 2011, "Bayesian composite marginal likelihoods").
    Blocks of the same games share their f. It is at least 1, for blocks of few results would else be surer than those,
    and at most what it is if all comparisons of a block end alike; some blocks are taken to, for few tell little of f.
    """
    games = [tuple(sorted({comparison.game for comparison, _ in result})) for result, _ in counted.blocks]
    joint = {of for of, (result, _) in zip(games, counted.blocks, strict=True) if len(result) > 1}
    if not joint:
        return counted.counts()
    pulls, alone = _pulls(design, counted.counts(), best_P)
    row = {comparison: i for i, comparison in enumerate(counted.comparisons)}
    weight = {of: 1.0 for of in games}
    for of in joint:
        whole = parts = blocks = 0.0
        for result, n in (block for block, kind in zip(counted.blocks, games, strict=True) if kind == of):
            rows = [row[comparison] for comparison, _ in result]
            pull = pulls[rows, [column for _, column in result]].sum(axis=0)
            whole, parts, blocks = whole + n * float(pull @ pull), parts + n * float(alone[rows].sum()), blocks + n
        # `parts` is also how many parameters these blocks have settled, and so many of them fit by that alone.
        free = max(blocks - parts, 1e-9 * blocks)
        most = max(len(result) for (result, _), kind in zip(counted.blocks, games, strict=True) if kind == of)
        told = min(max(whole / parts * blocks / free, 1.0), most)
        weight[of] = (blocks + DOUBT) / (blocks * told + DOUBT * most)
    return counted.counts([weight[of] for of in games])


def _pulls(design: Design, counts_R3: Array, best_P: Array) -> tuple[Array, Array]:
    """How each result pulls, [R, 3, P], in standard deviations; and what is expected of the square of it, [R]."""
    d, log_nu = differences(design, best_P[None])
    chances = odds(d[0], log_nu[0])
    lead = (chances[:, WON] - chances[:, LOST]) / 2
    by_d = np.array([0.5, 0.0, -0.5]) - lead[:, None]
    by_nu = np.array([0.0, 1.0, 0.0]) - chances[:, [DRAWN]]
    pulls = np.concatenate([by_d[..., None] * design.x_RF[:, None], by_nu[..., None] * design.draw_RG[:, None]], axis=2)
    pulls = pulls @ np.linalg.inv(np.linalg.cholesky(curvature(design, counts_R3, best_P))).T
    return pulls, (chances * (pulls**2).sum(axis=2)).sum(axis=1)

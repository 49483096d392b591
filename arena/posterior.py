"""How far strengths can be trusted: samples from their posterior.

They are drawn by Hamiltonian Monte Carlo (Neal 2011, "MCMC using Hamiltonian dynamics"), one chain each, begun near the
most probable strengths. The posterior is log-concave, so that a few moves forget that beginning. Fits under random
weights of the matches see no further than the matches do: an agent that never lost would be about as strong as it
seems, where it may be far stronger.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from arena.fit import Design, ascent, curvature, log_posterior

Array = npt.NDArray[np.float64]

_MOVES = 8  # of a chain; a hundred give the same intervals
_WAY = 1.5  # the length of a move in standard deviations: a quarter of a turn, which forgets most of where it began
_CELLS = 2_000_000  # the most numbers that chains moved at once may take in one array


def sample(design: Design, counts_R3: Array, best_P: Array, rng: np.random.Generator, samples: int) -> Array:
    """That many parameters as the posterior has them, [B, P]; `best_P` are the most probable ones."""
    # Rows that lead about one standard deviation away, each in a direction of its own.
    ways_PP = np.linalg.inv(np.linalg.cholesky(curvature(design, counts_R3, best_P)))
    at_once = max(1, _CELLS // max(counts_R3.size, 1))
    sizes = [min(at_once, samples - done) for done in range(0, samples, at_once)]
    return np.concatenate([best_P + _chains(design, counts_R3, best_P, ways_PP, rng, n) @ ways_PP for n in sizes])


def _chains(
    design: Design, counts_R3: Array, best_P: Array, ways_PP: Array, rng: np.random.Generator, chains: int
) -> Array:
    """Where that many chains end, [B, P], in steps of `ways_PP` from the most probable parameters."""
    stride = min(0.5, 0.8 * max(1, len(best_P)) ** -0.25)  # of more dimensions the energy is harder to keep
    strides = math.ceil(_WAY / stride)

    def height(at_BP: Array) -> Array:
        return log_posterior(design, counts_R3, best_P + at_BP @ ways_PP)

    def pull(at_BP: Array) -> Array:
        found: Array = ascent(design, counts_R3, best_P + at_BP @ ways_PP) @ ways_PP.T
        return found

    at = rng.standard_normal((chains, len(best_P)))
    now, force = height(at), pull(at)
    for _ in range(_MOVES):
        speed = rng.standard_normal(at.shape)
        energy = (speed**2).sum(axis=1) / 2 - now
        step = stride * rng.uniform(0.7, 1.0, (chains, 1))  # unequal ones, lest all moves come round to the same place
        there, push = at, force
        for _ in range(strides):
            speed = speed + step / 2 * push
            there = there + step * speed
            push = pull(there)
            speed = speed + step / 2 * push
        then = height(there)
        taken = rng.exponential(size=chains) > (speed**2).sum(axis=1) / 2 - then - energy
        now = np.where(taken, then, now)
        at, force = (np.where(taken[:, None], new, old) for new, old in ((there, at), (push, force)))
    return at

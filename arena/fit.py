"""Strengths from counts: Bradley and Terry's model with Davidson's draws, all matches at once.

With d the difference of two strengths, a first side wins, draws and loses as exp(d / 2) : nu : exp(-d / 2), nu being a
constant of the game (Davidson 1970, "On extending the Bradley-Terry model to accommodate ties"). Of the models with
draws this is the one of the exponential family: the likelihood is concave in the strengths and in log nu, so that
Newton's method finds its only maximum, and a strength depends on the points scored, whoever won them when.

Every strength has a normal prior of TrueSkill's width. Without one an agent that has won all of its matches would be
infinitely strong; a flatter one would say nothing else after some dozen matches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.ratings import BETA, SIGMA
from arena.tally import DRAWN, LOST, WON, Comparison

Array = npt.NDArray[np.float64]

# Two performances of TrueSkill differ by sqrt(2) BETA, and a logistic curve is as steep as a normal one 1.702 as wide.
SPREAD = 1.702 * SIGMA / (math.sqrt(2) * BETA)  # the standard deviation of a strength beforehand: 2.4, or 418 Elo
EQUALS_DRAW = math.log(2 / 9)  # log nu beforehand: of equals one match in ten is a draw

_STEPS = 200
_NEAR = 0.01  # steps of strengths below which Newton's method needs no guard
_LAST = 1e-15  # a step of strengths that changes none of them


@dataclass(frozen=True)
class Design:
    """Which parameters a comparison is about: R comparisons; F agents and fitted seats; G games that had draws.

    `x_RF` is the share that an agent (or a role of a game) has in the first side less that in the second; `draw_RG` is
    1 at the game of the comparison. A game without draws has no column there: in it a draw is impossible.
    """

    agents: tuple[str, ...]
    seats: tuple[tuple[str, str], ...]  # (game, role)
    games: tuple[str, ...]
    x_RF: Array
    draw_RG: Array

    @property
    def prior(self) -> Array:
        """The means of all F + G parameters beforehand."""
        return np.concatenate([np.zeros(self.x_RF.shape[1]), np.full(len(self.games), EQUALS_DRAW)])


def design(comparisons: Sequence[Comparison], agents: Sequence[str], drawn: Sequence[str]) -> Design:
    """The design of these comparisons between `agents`; `drawn` are the games that had draws.

    The roles of a game get strengths of their own if they met each other, and if agents changed roles often enough to
    tell the strength of a role from that of who played it.
    """
    column = {agent: i for i, agent in enumerate(agents)}
    x = np.zeros((len(comparisons), len(agents)))
    for row, (_, first, second) in enumerate(comparisons):
        for side, sign in ((first, 1), (second, -1)):
            for agent, _ in side:
                x[row, column[agent]] += sign / len(side)
    seats: list[tuple[str, str]] = []
    for game in sorted({comparison.game for comparison in comparisons}):
        roles, shares = _roles(comparisons, game)
        apart, wider = _rank(shares), np.hstack([x, shares])
        if apart and _rank(wider) == _rank(x) + apart:
            seats += [(game, role) for role in roles]
            x = wider
    draws = np.array([[float(comparison.game == game) for game in drawn] for comparison in comparisons])
    return Design(tuple(agents), tuple(seats), tuple(drawn), x, draws.reshape(len(comparisons), len(drawn)))


def _roles(comparisons: Sequence[Comparison], game: str) -> tuple[list[str], Array]:
    """The roles of a game, and their shares in every comparison, as those of agents."""
    of_game = [side for c in comparisons if c.game == game for side in (c.first, c.second)]
    roles = sorted({role for side in of_game for _, role in side})
    shares = np.zeros((len(comparisons), len(roles)))
    for row, (played, first, second) in enumerate(comparisons):
        if played == game:
            for side, sign in ((first, 1), (second, -1)):
                for _, role in side:
                    shares[row, roles.index(role)] += sign / len(side)
    return roles, shares


def _rank(matrix: Array) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


def odds(d: Array, log_nu: Array) -> Array:
    """Probabilities of win, draw and loss at differences `d`, [..., 3]; log nu is -inf where no draw is possible."""
    logits = np.stack([d / 2, np.broadcast_to(log_nu, d.shape), -d / 2], axis=-1)
    logits = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    found: Array = logits / logits.sum(axis=-1, keepdims=True)
    return found


def worth(d: float, log_nu: float) -> float:
    """What one match at a difference `d` tells of it: its Fisher information."""
    win, _, loss = odds(np.array(d), np.array(log_nu))
    return float((win + loss) / 4 - ((win - loss) / 2) ** 2)


def fit(design: Design, counts_R3: Array, start_P: Array | None = None) -> Array:
    """The most probable parameters, [P], given how often each comparison was won, drawn and lost.

    `start_P` is a first guess, which changes the time and not the answer. Newton's steps are halved until the posterior
    rises enough: as it is strictly concave, they converge from anywhere. Raises ArithmeticError where numbers are too
    large for that.
    """
    at = np.array(design.prior if start_P is None else start_P)
    before = math.inf
    for _ in range(_STEPS):
        gradient = ascent(design, counts_R3, at[None])[0]
        step = np.linalg.solve(curvature(design, counts_R3, at), gradient)
        length = float(np.abs(step).max(initial=0.0))
        # The curvature changes by less than a factor exp(2 length) on a step, so whole short ones square the error. The
        # posterior is flat to the last digit there, and can't guard them: they go on until they don't get shorter.
        if length < _NEAR:
            # A strength that is 0 by symmetry would shrink for ever: below the last digit of the others nothing moves.
            if not _LAST < length < before:
                return at
            size = 1.0
        else:
            size = _rise(design, counts_R3, at, step, float(gradient @ step))
        at, before = at + size * step, length
    raise ArithmeticError(f"no maximum after {_STEPS} steps of Newton's method: counts up to {counts_R3.max():g}")


def _rise(design: Design, counts_R3: Array, at_P: Array, step_P: Array, slope: float) -> float:
    """How much of a step to take: all of it, or the first half of a half that raises the posterior enough."""
    value, size = log_posterior(design, counts_R3, at_P[None])[0], 1.0
    while log_posterior(design, counts_R3, (at_P + size * step_P)[None])[0] < value + 1e-4 * size * slope:
        size /= 2
    return size


def differences(design: Design, at_BP: Array) -> tuple[Array, Array]:
    """Differences of strength and log nu by comparison, [B, R]."""
    known = design.x_RF.shape[1]
    log_nu = np.where(design.draw_RG.any(axis=1), at_BP[:, known:] @ design.draw_RG.T, -np.inf)
    return at_BP[:, :known] @ design.x_RF.T, log_nu


def log_posterior(design: Design, counts_R3: Array, at_BP: Array) -> Array:
    """The logarithm of the posterior but for a constant, [B]."""
    chances = np.maximum(odds(*differences(design, at_BP)), 1e-300)
    found: Array = (counts_R3 * np.log(chances)).sum(axis=(1, 2)) - ((at_BP - design.prior) ** 2).sum(axis=1) / (
        2 * SPREAD**2
    )
    return found


def ascent(design: Design, counts_R3: Array, at_BP: Array) -> Array:
    """The gradient of the log posterior, [B, P]."""
    d, log_nu = differences(design, at_BP)
    # Odds of the weaker side and of a draw against the stronger one: chains ask for nothing else, so few exponentials.
    weaker, drawn = np.exp(-np.abs(d)), np.exp(log_nu - np.abs(d) / 2)
    whole, n = 1 + weaker + drawn, counts_R3.sum(axis=1)
    by_d = (counts_R3[:, WON] - counts_R3[:, LOST] - n * np.sign(d) * (1 - weaker) / whole) / 2
    by_nu = counts_R3[:, DRAWN] - n * drawn / whole
    pull = np.concatenate([by_d @ design.x_RF, by_nu @ design.draw_RG], axis=1)
    found: Array = pull - (at_BP - design.prior) / SPREAD**2
    return found


def curvature(design: Design, counts_R3: Array, at_P: Array) -> Array:
    """The negative Hessian of the log posterior, [P, P]."""
    win, draw, loss = np.moveaxis(odds(*differences(design, at_P[None])), -1, 0)[:, 0]
    n, lead = counts_R3.sum(axis=1), (win - loss) / 2
    x, e = design.x_RF, design.draw_RG
    xx = (x.T * (n * ((win + loss) / 4 - lead**2))) @ x
    xe = (x.T * (-n * lead * draw)) @ e
    ee = (e.T * (n * draw * (1 - draw))) @ e
    found: Array = np.block([[xx, xe], [xe.T, ee]]) + np.eye(len(at_P)) / SPREAD**2
    return found

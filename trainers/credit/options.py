"""One advantage a legal reply (NeuRD), which no policy gradient multiplies by the reply's probability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.context import Choice
from trainers.baselines import Baselines, information_set
from trainers.config import CreditConfig
from trainers.credit.trajectory import SeatCredit, Trajectory

Floats = NDArray[np.float64]
Magnet = Callable[[Trajectory, Choice], ArrayLike]
FLOOR = 1e-4  # probabilities under this pull as if they were this: log(pi) must not grow without bound


class Visit(NamedTuple):
    """One scored choice of a trajectory, by index, and which option its reply meant (-1: none, it was illegal)."""

    trajectory: int
    choice: int
    option: int


def neurd(
    trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines, magnet: Magnet | None = None
) -> list[SeatCredit]:
    """An advantage for every legal reply of every information set (NeuRD, arXiv:1906.00190), and one for being legal.

    The mean return of each option is kept in `baselines` and fades by `option_decay` a batch, so that rarely drawn
    options keep an estimate. The pull goes to `magnet(trajectory, choice)` [A], or else to the set's own magnet:
    uniform at first, drawn towards the policy by `drift` a batch (magnetic mirror descent, arXiv:2206.05825).
    """
    sets = _visits(trajectories)
    if trajectories and not sets:
        raise ValueError(
            "credit.estimator neurd needs the legal replies and their probabilities: "
            "set rollout.score_options=true, in a game that lists its legal moves"
        )
    baselines.fade(config.option_decay)
    advantages = [[0.0] * len(t.turns) for t in trajectories]
    options: list[dict[int, NDArray[np.float32]]] = [{} for _ in trajectories]
    for key, visits in sets.items():
        choices = [trajectories[v.trajectory].context.choices[v.choice] for v in visits]
        record = baselines.options(key, len(choices[0].options))
        for visit, choice in zip(visits, choices, strict=True):
            trajectory = trajectories[visit.trajectory]
            # A return that another's forfeit gave says nothing of the move.
            if visit.option >= 0 and trajectory.to_blame:
                record.add(visit.option, trajectory.to_go[choice.turn])
        for visit, choice in zip(visits, choices, strict=True):
            anchor = magnet(trajectories[visit.trajectory], choice) if magnet else np.exp(record.log_magnet)
            pushed = option_advantages(
                record.means(), policy(choice), alpha=config.alpha, gap=config.gap, magnet=anchor
            )
            options[visit.trajectory][visit.choice] = pushed.astype(np.float32)
        record.drift(np.mean([np.log(policy(choice)) for choice in choices], axis=0), config.drift)
    for visit, pushed_by in _legality(sets, trajectories):
        trajectory = trajectories[visit.trajectory]
        turn = trajectory.context.choices[visit.choice].turn
        advantages[visit.trajectory][turn] = config.legality * abs(trajectory.forfeit) * pushed_by
    return [SeatCredit(tuple(a), o) for a, o in zip(advantages, options, strict=True)]


def policy(choice: Choice) -> Floats:
    """The probabilities of a choice's options when it was asked, renormalised over them: float64 [A], none quite 0."""
    logprobs = np.asarray(choice.logprobs, np.float64)
    if not np.isfinite(logprobs).all():
        raise ValueError(f"the options {list(choice.moves)} have log-probabilities {logprobs.tolist()}: not all finite")
    weights = np.exp(np.maximum(logprobs - logprobs.max(), -700.0))
    return np.asarray(weights / weights.sum())


def option_advantages(
    q: ArrayLike, pi: ArrayLike, *, alpha: float = 0.0, gap: float = 0.0, magnet: ArrayLike | None = None
) -> Floats:
    """NeuRD's push on each option, float64 [A]: (q - v) - alpha (log pi / m - KL(pi || m)), not multiplied by pi.

    q [A]: mean return of each option, NaN where it was never drawn; such a one neither enters v = sum pi q nor is
    pushed by it. pi [A]: the policy. m [A]: the magnet, uniform unless given. A push that would take pi further under
    `gap`, or further over 1 - gap, is 0, which bounds the logits.
    """
    q, pi = np.asarray(q, np.float64), np.asarray(pi, np.float64)
    known = ~np.isnan(q)
    sampled = np.zeros_like(pi)
    if known.sum() > 1:
        sampled[known] = q[known] - np.average(q[known], weights=pi[known])
    m = np.full_like(pi, 1.0 / len(pi)) if magnet is None else np.asarray(magnet, np.float64)
    pull = np.log(np.maximum(pi, FLOOR)) - np.log(np.maximum(m, FLOOR))
    pushed: Floats = sampled - alpha * (pull - pi @ pull)
    pushed[((pi < gap) & (pushed < 0)) | ((pi > 1 - gap) & (pushed > 0))] = 0.0
    return pushed


def legality_advantages(illegal: Sequence[Sequence[bool]]) -> list[Floats]:
    """For replies grouped by information set: b - 1 for an illegal one, b for a legal one; the batch's mean is 0.

    b is half the illegal rate of the whole batch plus half that of the set: a set in which all is illegal still learns.
    """
    total = sum(len(group) for group in illegal)
    overall = sum(sum(group) for group in illegal) / total if total else 0.0
    return [0.5 * overall + 0.5 * np.mean(group) - np.asarray(group, np.float64) for group in illegal]


def _visits(trajectories: Sequence[Trajectory]) -> dict[str, list[Visit]]:
    """The scored choices that were answered, by information set: game, role, prompt and options."""
    sets: dict[str, list[Visit]] = defaultdict(list)
    for i, trajectory in enumerate(trajectories):
        for j, choice in enumerate(trajectory.context.choices):
            if choice.logprobs is None or choice.turn >= len(trajectory.turns):
                continue
            prompt = trajectory.context.views[choice.view].tokens[: choice.at]
            key = information_set(trajectory.game, trajectory.role, prompt, choice.options)
            sets[key].append(Visit(i, j, choice.taken))
    return sets


def _legality(sets: Mapping[str, list[Visit]], trajectories: Sequence[Trajectory]) -> list[tuple[Visit, float]]:
    """The legality term of every reply that was sampled freely; one drawn among the options can't be illegal."""
    free = [
        [v for v in visits if not trajectories[v.trajectory].context.choices[v.choice].drawn]
        for visits in sets.values()
    ]
    found = legality_advantages([[visit.option < 0 for visit in visits] for visits in free if visits])
    return [
        (visit, float(a))
        for visits, group in zip([visits for visits in free if visits], found, strict=True)
        for visit, a in zip(visits, group, strict=True)
    ]

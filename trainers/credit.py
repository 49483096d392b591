"""Credit among peers: what every turn of every learning seat was worth, in plain numpy."""

from __future__ import annotations

import difflib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.context import Choice, Context
from arena.types import Episode, Turn
from trainers.baselines import Baselines, information_set
from trainers.config import CreditConfig

Floats = NDArray[np.float64]
EPSILON = 1e-6
FLOOR = 1e-4  # probabilities under this pull as if they were this: log(pi) must not grow without bound


@dataclass(frozen=True)
class Trajectory:
    """One learning seat of one scored episode. `value` is its return, `to_go[i]` what it earned from its turn i on.

    `task` is the id of the one it faced ("" if none), `peers` the key of those it is compared with, `forfeit` what an
    illegal reply costs. `to_blame` is False for a seat whose game ended by another's forfeit.
    """

    game: str
    role: str
    task: str
    peers: Hashable
    value: float
    to_go: tuple[float, ...]
    turns: tuple[Turn, ...]
    context: Context
    forfeit: float = -1.0
    to_blame: bool = True


@dataclass(frozen=True)
class SeatCredit:
    """`advantages` has one number a turn of the seat; `options` maps an index into its choices to advantages [A]."""

    advantages: tuple[float, ...]
    options: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)

    def scaled(self, weight: float) -> SeatCredit:
        """The same credit times `weight`."""
        options = {i: (weight * a).astype(np.float32) for i, a in self.options.items()}
        return SeatCredit(tuple(weight * a for a in self.advantages), options)


@dataclass(frozen=True)
class Credit:
    """Credit by (index of the episode, seat), and what was counted on the way."""

    seats: Mapping[tuple[int, str], SeatCredit]
    counters: Mapping[str, float]


Estimator = Callable[[Sequence[Trajectory], CreditConfig, Baselines], Sequence[SeatCredit]]
Magnet = Callable[[Trajectory, Choice], ArrayLike]


def credit(
    episodes: Sequence[Episode],
    roles: Collection[str],
    config: CreditConfig,
    baselines: Baselines,
    forfeits: Mapping[str, float] | None = None,
) -> Credit:
    """Credit of every seat of the learning `roles` in one step's episodes; `baselines` moves on by one batch.

    `forfeits` gives by game what an illegal reply costs (-1 where not given). Seats that could not be scored (no
    return, ending infra), that were cut off (all seats of such a game: none has its whole return; with `drop_cut_off`)
    or that never replied are neither compared nor trained, only counted.
    """
    counters: Counter[str] = Counter(unscored=0, cut_off=0, silent=0)
    kept: dict[tuple[int, str], Trajectory] = {}
    for i, episode in enumerate(episodes):
        for seat in sorted(episode.returns):
            if role_of(seat) not in roles:
                continue
            fate = _fate(episode, seat)
            counters[fate] += fate != "scored"
            if fate == "scored" or (fate == "cut_off" and not config.drop_cut_off):
                kept[i, seat] = _trajectory(episode, seat, (forfeits or {}).get(episode.game, -1.0))
    trajectories = _share(list(kept.values()), config.share)
    found = find(config.estimator)(trajectories, config, baselines)
    if len(found) != len(trajectories):
        raise ValueError(
            f"estimator {config.estimator!r} gave {len(found)} credits for {len(trajectories)} trajectories"
        )
    seats = {
        key: one.scaled(config.role_weights.get(trajectory.role, 1.0))
        for key, trajectory, one in zip(kept, trajectories, found, strict=True)
    }
    return Credit(seats, {**counters, **_group_counts(trajectories), **_role_means(trajectories, seats.values())})


def find(name: str) -> Estimator:
    """The estimator called `name` (one of ESTIMATORS) or "module:function"."""
    module, _, function = name.partition(":")
    if not function:
        if name not in ESTIMATORS:
            near = difflib.get_close_matches(name, ESTIMATORS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(ESTIMATORS)}"
            raise ValueError(f"credit.estimator {name!r} not found: {hint} (your own: 'module:function')")
        return ESTIMATORS[name]
    try:
        estimator: Estimator = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"credit.estimator {name!r} can't be loaded: {error}") from error
    return estimator


def role_of(seat: str) -> str:
    """The role in a seat's name "<role>_<i>"."""
    return seat.rpartition("_")[0]


# -- from episodes to trajectories -------------------------------------------------------------------------------------


def _fate(episode: Episode, seat: str) -> str:
    value = episode.returns[seat]
    if value is None or not math.isfinite(value) or episode.ending == "infra":
        return "unscored"
    if episode.ending == "cut_off":
        return "cut_off"
    return "scored" if any(turn.seat == seat for turn in episode.turns) else "silent"


def _trajectory(episode: Episode, seat: str, forfeit: float) -> Trajectory:
    value = float(episode.returns[seat] or 0.0)
    to_go, own, earned = [], [], 0.0
    for turn in episode.turns:
        if turn.seat == seat:
            own.append(turn)
            to_go.append(value - earned)
        earned += turn.rewards.get(seat, 0.0)
    task = episode.faced.get(seat, "")
    last = next((turn.seat for turn in reversed(episode.turns) if turn.rewards), seat)  # whose reply paid at the end
    to_blame = episode.ending != "forfeit" or last == seat
    role = role_of(seat)
    key = (episode.game, role, task or episode.seed)
    return Trajectory(
        episode.game, role, task, key, value, tuple(to_go), tuple(own), episode.contexts[seat], forfeit, to_blame
    )


def _share(trajectories: list[Trajectory], roles: Sequence[str]) -> list[Trajectory]:
    """In `roles`, who answers the same task with the same first legal move as others shares a positive return."""
    first = [next(((t.game, t.role, t.task, turn.move) for turn in t.turns if turn.legal), None) for t in trajectories]
    counts = Counter(first)
    shared = []
    for trajectory, move in zip(trajectories, first, strict=True):
        if trajectory.role in roles and move is not None and trajectory.value > 0:
            part = 1.0 / counts[move]
            to_go = tuple(part * value for value in trajectory.to_go)
            trajectory = Trajectory(**{**vars(trajectory), "value": part * trajectory.value, "to_go": to_go})
        shared.append(trajectory)
    return shared


def _groups(trajectories: Sequence[Trajectory]) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i, trajectory in enumerate(trajectories):
        groups[trajectory.peers].append(i)
    return groups


def _group_counts(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    groups = _groups(trajectories).values()
    flat = [g for g in groups if len(g) > 1 and len({trajectories[i].value for i in g}) == 1]
    return {
        "groups": len(groups),
        "group_size": len(trajectories) / len(groups) if groups else 0.0,
        "alone": sum(len(group) == 1 for group in groups),
        "zero_signal_groups": len(flat),
    }


def _role_means(trajectories: Sequence[Trajectory], credits: Collection[SeatCredit]) -> dict[str, float]:
    """By role: mean return and mean advantage over trajectories (of a trajectory: the mean over its turns)."""
    values, advantages = defaultdict(list), defaultdict(list)
    for trajectory, one in zip(trajectories, credits, strict=True):
        values[f"return/{trajectory.role}"].append(trajectory.value)
        advantages[f"advantage/{trajectory.role}"].append(float(np.mean(one.advantages or (0.0,))))
    return {key: float(np.mean(found)) for key, found in {**values, **advantages}.items()}


# -- one advantage a trajectory ----------------------------------------------------------------------------------------


def peers(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus the mean return of the OTHERS of its group (RLOO, arXiv:2402.14740); alone, minus the baseline."""
    advantages = _minus_baseline(trajectories, config, baselines)
    for group in _groups(trajectories).values():
        if len(group) > 1:
            advantages[group] = leave_one_out([trajectories[i].value for i in group])
    return _whole(trajectories, advantages)


def grpo(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus its group's mean, over the group's standard deviation + 1e-6 (arXiv:2402.03300)."""
    advantages = np.zeros(len(trajectories))
    for group in _groups(trajectories).values():
        advantages[group] = standardised([trajectories[i].value for i in group])
    return _whole(trajectories, advantages)


def baseline(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> list[SeatCredit]:
    """Return minus the running mean of its (game, role), from before this batch (SPIRAL, arXiv:2506.24119)."""
    return _whole(trajectories, _minus_baseline(trajectories, config, baselines))


def leave_one_out(returns: ArrayLike) -> Floats:
    """Each return minus the mean of the others, float64 [N], N > 1; equal returns give exactly 0."""
    values = np.asarray(returns, np.float64)
    # (n / (n - 1)) (R - mean) is the same number; a constant group must be 0 without rounding
    return (
        np.zeros_like(values) if np.ptp(values) == 0 else (values - values.mean()) * (len(values) / (len(values) - 1))
    )


def standardised(returns: ArrayLike) -> Floats:
    """(R - mean) / (std + 1e-6), float64 [N]; equal returns give exactly 0."""
    values = np.asarray(returns, np.float64)
    return np.zeros_like(values) if np.ptp(values) == 0 else (values - values.mean()) / (values.std() + EPSILON)


def _minus_baseline(trajectories: Sequence[Trajectory], config: CreditConfig, baselines: Baselines) -> Floats:
    """Read every baseline, then update each once with its batch mean: the order within a batch can't matter.

    Before there is any estimate, the others of the same (game, role) in this batch stand in for it.
    """
    advantages = np.zeros(len(trajectories))
    by_role: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, trajectory in enumerate(trajectories):
        by_role[trajectory.game, trajectory.role].append(i)
    for (game, role), members in by_role.items():
        values = np.array([trajectories[i].value for i in members])
        known = baselines.mean(game, role)
        if known is not None:
            advantages[members] = values - known
        elif len(members) > 1:
            advantages[members] = leave_one_out(values)
        baselines.update(game, role, float(values.mean()), config.decay)
    return advantages


def _whole(trajectories: Sequence[Trajectory], advantages: Floats) -> list[SeatCredit]:
    """One advantage a trajectory, given to each of its turns."""
    return [SeatCredit((float(a),) * len(t.turns)) for t, a in zip(trajectories, advantages, strict=True)]


# -- one advantage a legal reply ---------------------------------------------------------------------------------------


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
            if (
                visit.option >= 0 and trajectory.to_blame
            ):  # a return that another's forfeit gave says nothing of the move
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


ESTIMATORS: dict[str, Estimator] = {"peers": peers, "grpo": grpo, "baseline": baseline, "neurd": neurd}

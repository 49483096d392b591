"""Credit among peers: what every turn of every learning seat was worth, in plain numpy."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from arena.types import Episode, role_of
from trainers.baselines import Baselines
from trainers.config import CreditConfig
from trainers.credit.options import legality_advantages, neurd, option_advantages, policy
from trainers.credit.trajectory import Estimator, SeatCredit, Trajectory, fate, groups, shared, trajectory
from trainers.credit.turns import difference, gigpo, joint, turn
from trainers.credit.whole import baseline, grpo, leave_one_out, peers, standardised

__all__ = [
    "ESTIMATORS",
    "Credit",
    "Estimator",
    "SeatCredit",
    "Trajectory",
    "baseline",
    "credit",
    "difference",
    "find",
    "gigpo",
    "grpo",
    "joint",
    "leave_one_out",
    "legality_advantages",
    "neurd",
    "option_advantages",
    "peers",
    "policy",
    "standardised",
    "turn",
]

ESTIMATORS: dict[str, Estimator] = {
    "peers": peers,
    "grpo": grpo,
    "baseline": baseline,
    "joint": joint,
    "turn": turn,
    "gigpo": gigpo,
    "difference": difference,
    "neurd": neurd,
}


@dataclass(frozen=True)
class Credit:
    """Credit by (index of the episode, seat), and what was counted on the way."""

    seats: Mapping[tuple[int, str], SeatCredit]
    counters: Mapping[str, float]


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
            what = fate(episode, seat)
            counters[what] += what != "scored"
            replied = any(turn.seat == seat for turn in episode.turns)
            if what == "scored" or (what == "cut_off" and replied and not config.drop_cut_off):
                kept[i, seat] = trajectory(i, episode, seat, (forfeits or {}).get(episode.game, -1.0))
    trajectories = shared(list(kept.values()), config.share)
    found = find(config.estimator)(trajectories, config, baselines)
    if len(found) != len(trajectories):
        raise ValueError(
            f"estimator {config.estimator!r} gave {len(found)} credits for {len(trajectories)} trajectories"
        )
    seats = {
        key: one.scaled(config.role_weights.get(kept[key].role, 1.0)) for key, one in zip(kept, found, strict=True)
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


def _group_counts(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    members = groups(trajectories).values()
    flat = [g for g in members if len(g) > 1 and len({trajectories[i].value for i in g}) == 1]
    return {
        "groups": len(members),
        "group_size": len(trajectories) / len(members) if members else 0.0,
        "alone": sum(len(group) == 1 for group in members),
        "zero_signal_groups": len(flat),
    }


def _role_means(trajectories: Sequence[Trajectory], credits: Collection[SeatCredit]) -> dict[str, float]:
    """By role: mean return and mean advantage over trajectories (of a trajectory: the mean over its turns)."""
    values, advantages = defaultdict(list), defaultdict(list)
    for of, one in zip(trajectories, credits, strict=True):
        values[f"return/{of.role}"].append(of.value)
        advantages[f"advantage/{of.role}"].append(float(np.mean(one.advantages or (0.0,))))
    return {key: float(np.mean(found)) for key, found in {**values, **advantages}.items()}

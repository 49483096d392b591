"""What an estimator reads and what it gives: the learning seats of a batch, and an advantage for each turn of each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from arena.context import Context
from arena.types import Episode, Turn, role_of
from trainers.baselines import Baselines
from trainers.config import CreditConfig


@dataclass(frozen=True)
class Trajectory:
    """One learning seat of one scored episode. `value` is its return, `to_go[i]` what it earned from its turn i on.

    `game` is the label with the kind of the deal, where the game has several, so that each has baselines of its own.
    `episode` is the index of its episode in the batch; `left[j]` what it earned from turn j of the episode on, whoever
    made that turn, and `at[i]` the place of its own turn i among those. `task` is the id of the one it faced ("" if
    none), `peers` the key of those it is compared with, `forfeit` what an illegal reply costs. `to_blame` is False for
    a seat whose game ended by another's forfeit. `others` are the random numbers that the other seats replied with.
    """

    episode: int
    game: str
    role: str
    seat: str
    task: str
    peers: Hashable
    value: float
    left: tuple[float, ...]
    at: tuple[int, ...]
    turns: tuple[Turn, ...]
    context: Context
    others: Hashable = ()
    forfeit: float = -1.0
    to_blame: bool = True

    @property
    def to_go(self) -> tuple[float, ...]:
        return tuple(self.left[j] for j in self.at)


@dataclass(frozen=True)
class SeatCredit:
    """`advantages` has one number a turn of the seat; `options` maps an index into its choices to advantages [A]."""

    advantages: tuple[float, ...]
    options: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)

    def scaled(self, weight: float) -> SeatCredit:
        """The same credit times `weight`."""
        options = {i: (weight * a).astype(np.float32) for i, a in self.options.items()}
        return SeatCredit(tuple(weight * a for a in self.advantages), options)


Estimator = Callable[[Sequence[Trajectory], CreditConfig, Baselines], Sequence[SeatCredit]]


def fate(episode: Episode, seat: str) -> str:
    """Whether a seat's turns are worth comparing: scored, unscored, cut_off or silent."""
    value = episode.returns[seat]
    if value is None or not math.isfinite(value) or episode.ending == "infra":
        return "unscored"
    if episode.ending == "cut_off":
        return "cut_off"
    return "scored" if any(turn.seat == seat for turn in episode.turns) else "silent"


def trajectory(index: int, episode: Episode, seat: str, forfeit: float) -> Trajectory:
    """The record of one seat of episode number `index` of the batch."""
    value = float(episode.returns[seat] or 0.0)
    left, at, earned = [], [], 0.0
    for j, turn in enumerate(episode.turns):
        left.append(value - earned)
        if turn.seat == seat:
            at.append(j)
        earned += turn.rewards.get(seat, 0.0)
    task, role = episode.faced.get(seat, ""), role_of(seat)
    last = next((turn.seat for turn in reversed(episode.turns) if turn.rewards), seat)  # whose reply paid at the end
    return Trajectory(
        episode=index,
        game=f"{episode.game} {episode.kind}".rstrip(),
        role=role,
        seat=seat,
        task=task,
        peers=(episode.game, role, task or episode.seed),
        value=value,
        left=tuple(left),
        at=tuple(at),
        turns=tuple(episode.turns[j] for j in at),
        context=episode.contexts[seat],
        others=(episode.seed, *(c.seed for s, c in sorted(episode.contexts.items()) if s != seat)),
        forfeit=forfeit,
        to_blame=episode.ending != "forfeit" or last == seat,
    )


def shared(trajectories: Sequence[Trajectory], roles: Sequence[str]) -> list[Trajectory]:
    """In `roles`, who answers the same task with the same first legal move as others shares a positive return."""
    first = [next(((t.game, t.role, t.task, turn.move) for turn in t.turns if turn.legal), None) for t in trajectories]
    counts = Counter(first)
    found = []
    for one, move in zip(trajectories, first, strict=True):
        if one.role in roles and move is not None and one.value > 0:
            part = 1.0 / counts[move]
            one = replace(one, value=part * one.value, left=tuple(part * value for value in one.left))
        found.append(one)
    return found


def groups(trajectories: Sequence[Trajectory]) -> dict[Hashable, list[int]]:
    """The indices of those who are compared with each other."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for i, one in enumerate(trajectories):
        found[one.peers].append(i)
    return found

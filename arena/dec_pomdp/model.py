"""A decentralised POMDP as tables: a hidden state, agents that act at once, and what each of them observes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np

Joint = tuple[str, ...]  # an action, or an observation, of every agent
ROUNDING = 1e-6  # by how much a row of probabilities may miss 1, as files round them


@dataclass(frozen=True, eq=False)
class DecPomdp:
    """n agents with S states, A joint actions and O joint observations, which are numbered with the last agent fastest.

    `transition` is float [A, S, S], over the next state; `observation` [A, S, O], of the next state; `reward` [A, S] is
    what the team gets on average; `start` [S]. `actions` and `observations` are names by agent. Rows of probabilities
    are made to sum to 1 exactly. Raises ValueError in one line that says which part is wrong.
    """

    states: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]
    observations: tuple[tuple[str, ...], ...]
    transition: np.ndarray
    observation: np.ndarray
    reward: np.ndarray
    start: np.ndarray

    def __post_init__(self) -> None:
        if not self.actions or len(self.actions) != len(self.observations):
            raise ValueError(
                f"there are actions of {len(self.actions)} agents and observations of {len(self.observations)}: "
                "give both for every agent"
            )
        check_names(self.states, self.actions, self.observations)
        s, a, o = len(self.states), len(self.joint_actions), len(self.joint_observations)
        shapes = {"transition": (a, s, s), "observation": (a, s, o), "reward": (a, s), "start": (s,)}
        for part, shape in shapes.items():
            table = np.array(getattr(self, part), dtype=np.float64)
            if table.shape != shape:
                raise ValueError(f"{part} has the shape {table.shape}: {shape} is wanted")
            if not np.isfinite(table).all():
                raise ValueError(f"{part} holds a number that isn't finite{self._at(part, ~np.isfinite(table))}")
            if part != "reward":
                table = self._whole(part, table)
            table.setflags(write=False)
            object.__setattr__(self, part, table)

    @property
    def agents(self) -> int:
        return len(self.actions)

    @cached_property
    def joint_actions(self) -> tuple[Joint, ...]:
        return tuple(product(*self.actions))

    @cached_property
    def joint_observations(self) -> tuple[Joint, ...]:
        return tuple(product(*self.observations))

    @cached_property
    def key(self) -> str:
        """Equal for models of equal names and numbers."""
        names = repr((self.states, self.actions, self.observations)).encode()
        tables = (self.transition, self.observation, self.reward, self.start)
        return sha256(names + b"".join(table.tobytes() for table in tables)).hexdigest()

    def _whole(self, part: str, table: np.ndarray) -> np.ndarray:
        """The rows summing to 1 exactly; raises ValueError for one that doesn't nearly."""
        if (wrong := table < 0).any():
            raise ValueError(f"{part} has a negative probability{self._at(part, wrong)}")
        sums = table.sum(-1, keepdims=True)
        if (wrong := abs(sums[..., 0] - 1) > ROUNDING).any():
            total = sums[..., 0][wrong].flat[0]
            raise ValueError(f"{part} sums to {total:.6g}{self._at(part, np.atleast_1d(wrong))}: it must sum to 1")
        return np.asarray(table / sums)

    def _at(self, part: str, wrong: np.ndarray) -> str:
        """Where the first of the wrong entries stands, in words."""
        if part == "start":
            return ""
        action, state = np.argwhere(wrong)[0][:2]
        state = self.states[state]
        where = f"into {state!r}" if part == "observation" else f"in {state!r}"
        return f" for {' '.join(self.joint_actions[action])!r} {where}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecPomdp) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __deepcopy__(self, memo: Any) -> DecPomdp:
        return self  # it never changes, and a tree search copies positions a lot


def tabulate(
    states: Iterable[str],
    actions: Sequence[Sequence[str]],
    observations: Sequence[Sequence[str]],
    *,
    start: Mapping[str, float],
    move: Callable[[str, Joint], Mapping[str, float]],
    sense: Callable[[Joint, str], Sequence[Mapping[str, float]]],
    pay: Callable[[str, Joint, str], float],
) -> DecPomdp:
    """The tables of rules: `move` gives the odds of the next state, `sense` those of what each agent observes there.

    Observations are drawn for each agent by itself; `pay` for a step from one state to another is averaged over these.
    """
    names, own = tuple(states), tuple(map(tuple, actions))
    seen = tuple(map(tuple, observations))
    joint = tuple(product(*own))
    transition = np.array([[_row(names, move(state, moves)) for state in names] for moves in joint])
    observation = np.array([[_product(seen, sense(moves, after)) for after in names] for moves in joint])
    paid = np.array([[[pay(state, moves, after) for after in names] for state in names] for moves in joint])
    return DecPomdp(
        names, own, seen, transition, observation, (transition * paid).sum(-1), np.array(_row(names, start))
    )


def _row(names: Sequence[str], odds: Mapping[str, float]) -> list[float]:
    if unknown := odds.keys() - set(names):
        raise ValueError(f"{min(unknown)!r} isn't one of {', '.join(names)}")
    return [odds.get(name, 0.0) for name in names]


def _product(names: Sequence[Sequence[str]], odds: Sequence[Mapping[str, float]]) -> list[float]:
    """The odds of every joint observation of agents that observe independently."""
    rows = [_row(own, seen) for own, seen in zip(names, odds, strict=True)]
    return [math.prod(parts) for parts in product(*rows)]


def check_names(states: Sequence[str], actions: Sequence[Sequence[str]], observations: Sequence[Sequence[str]]) -> None:
    """Raise ValueError for a list that is empty or names something twice."""
    lists = {"states": states}
    lists |= {f"actions of agent {i}": names for i, names in enumerate(actions)}
    lists |= {f"observations of agent {i}": names for i, names in enumerate(observations)}
    for what, names in lists.items():
        if not names:
            raise ValueError(f"{what}: there are none")
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ValueError(f"{what}: {name!r} is there twice")

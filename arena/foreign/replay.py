"""A foreign environment at one point of a game: made again from its seed and moves, and fenced from global chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np


class Playable(Protocol):
    """What can be taken further by a move; whoever looks at it afterwards finds plain values, and draws nothing."""

    def take(self, move: Any) -> None: ...


P = TypeVar("P", bound=Playable)


class Fence:
    """Streams of `random` and `numpy.random` of one game's own, for environments that use the global ones."""

    def __init__(self, seed: int):
        self.python = random.Random(seed).getstate()
        self.numpy = np.random.RandomState(seed % 2**32).get_state()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """The game's streams stand for the global ones, which are as before afterwards."""
        outer, numpy_outer = random.getstate(), np.random.get_state()
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        try:
            yield
        finally:
            self.python, self.numpy = random.getstate(), np.random.get_state()
            random.setstate(outer)
            np.random.set_state(numpy_outer)


@dataclass(frozen=True)
class _Made(Generic[P]):
    """An environment with its streams and the moves that it has taken."""

    env: P
    fence: Fence
    taken: tuple[Any, ...]


class Replay(Generic[P]):
    """The environment that `begin(seed)` makes, after `moves`; it draws from streams of its own.

    Environments can seldom be copied or pickled: most of PettingZoo's are `EzPickle`, of which deepcopy makes a new one
    that nobody has moved in. So a copy and a pickle hold seed and moves only, and play them again when they are first
    looked at.
    """

    def __init__(self, begin: Callable[[int], P], seed: int, moves: tuple[Any, ...] = ()):
        self.begin, self.seed, self.moves = begin, seed, moves
        self._made: _Made[P] | None = None

    @property
    def now(self) -> P:
        """The environment as it stands, to be looked at and not touched."""
        return self._at(self.moves)

    def play(self, move: Any) -> None:
        """Go on by `move`; what `take` raises leaves everything as it was."""
        self._at((*self.moves, move))
        self.moves = (*self.moves, move)

    def attempt(self, move: Any) -> None:
        """Raise what `play` would raise; nothing that can be seen changes."""
        self._at((*self.moves, move))

    def _at(self, moves: tuple[Any, ...]) -> P:
        """The environment after exactly `moves`: the one at hand if it has taken no others, else a new one."""
        if self._made and self._made.taken == moves:
            return self._made.env
        made, self._made = self._made, None  # until all moves are taken: one that raises leaves it at an unknown point
        if made is None or moves[: len(made.taken)] != made.taken:
            made = None
        fence = made.fence if made else Fence(self.seed)
        with fence():
            env = made.env if made else self.begin(self.seed)
            for move in moves[len(made.taken) if made else 0 :]:
                env.take(move)
        self._made = _Made(env, fence, moves)
        return env

    def __deepcopy__(self, memo: dict[int, Any]) -> Replay[P]:
        return Replay(self.begin, self.seed, self.moves)

    def __reduce__(self) -> tuple[Any, ...]:
        return Replay, (self.begin, self.seed, self.moves)

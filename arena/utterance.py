"""Words as a Gymnasium space: what PettingZoo is told that a seat hears and says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gymnasium import Space


class Utterance(Space[str]):
    """Any string. `sample` draws from `choices()`, so random play is legal play; it is "" where nothing is listed."""

    def __init__(self, choices: Callable[[], Sequence[str]]):
        super().__init__(shape=(), dtype=str)
        self.choices = choices

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A legal string; `mask` (int8 [len(choices)]) keeps those marked 1."""
        choices = self.choices()
        if mask is not None:
            choices = [choice for choice, keep in zip(choices, mask, strict=True) if keep]
        return choices[int(self.np_random.integers(len(choices)))] if choices else ""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

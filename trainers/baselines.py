"""What credit remembers from batch to batch, as part of a checkpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FORGOTTEN = 1e-3  # what has faded to fewer visits than this is not remembered


@dataclass
class OptionRecord:
    """Of one information set with A options: faded sums of returns [A], faded visits [A], log of the magnet [A]."""

    total: Floats
    visits: Floats
    log_magnet: Floats

    def add(self, option: int, value: float) -> None:
        """Count one return of one option."""
        self.total[option] += value
        self.visits[option] += 1.0

    def means(self) -> Floats:
        """Mean return of each option [A]; NaN where it was never drawn, or too long ago."""
        seen = self.visits > FORGOTTEN
        return np.divide(self.total, self.visits, out=np.full_like(self.total, np.nan), where=seen)

    def drift(self, log_policy: Floats, share: float) -> None:
        """Move the magnet by `share` towards the policy, as a geometric mean."""
        moved = (1.0 - share) * self.log_magnet + share * log_policy
        self.log_magnet = moved - np.logaddexp.reduce(moved)


class Baselines:
    """Running mean returns: one a (game, role), and one a legal reply of every information set."""

    def __init__(self) -> None:
        self._means: dict[tuple[str, str], tuple[float, float]] = {}  # faded sum, faded count
        self._options: dict[str, OptionRecord] = {}

    def mean(self, game: str, role: str) -> float | None:
        """The running mean, corrected for its short history; None before the first batch."""
        total, count = self._means.get((game, role), (0.0, 0.0))
        return total / count if count else None

    def update(self, game: str, role: str, batch_mean: float, decay: float) -> None:
        """One batch more. A sum and a count that fade alike have no start value to be biased by."""
        total, count = self._means.get((game, role), (0.0, 0.0))
        self._means[game, role] = (decay * total + batch_mean, decay * count + 1.0)

    def options(self, key: str, count: int) -> OptionRecord:
        """The record of an information set, made at its first visit with a uniform magnet."""
        if key not in self._options:
            uniform = np.full(count, -np.log(count))
            self._options[key] = OptionRecord(np.zeros(count), np.zeros(count), uniform)
        return self._options[key]

    def fade(self, decay: float) -> None:
        """Let one batch pass: old returns of options count `decay` times as much."""
        for record in self._options.values():
            record.total *= decay
            record.visits *= decay
        # with decay 0 the returns are gone at once, yet a magnet that has moved is worth keeping
        self._options = {
            key: record
            for key, record in self._options.items()
            if record.visits.sum() > FORGOTTEN or np.ptp(record.log_magnet) > 0
        }

    def state(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "means": [[game, role, total, count] for (game, role), (total, count) in self._means.items()],
            "options": {
                key: [r.total.tolist(), r.visits.tolist(), r.log_magnet.tolist()] for key, r in self._options.items()
            },
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Become what `state` was taken of."""
        self._means = {(game, role): (total, count) for game, role, total, count in state["means"]}
        self._options = {
            key: OptionRecord(*(np.array(column, np.float64) for column in columns))
            for key, columns in state["options"].items()
        }


def information_set(game: str, role: str, prompt: Sequence[int], options: Sequence[Sequence[int]]) -> str:
    """A name for what a seat knew when it chose: the hash of game, role, the ids before the choice and the options."""
    text = json.dumps([game, role, [int(i) for i in prompt], [[int(i) for i in ids] for ids in options]])
    return hashlib.sha256(text.encode()).hexdigest()[:24]

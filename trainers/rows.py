"""Episodes become rows: the trained ids are the sampled ids, each exactly once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Decision:
    """The legal replies at one turn of a row: `options[a]` follow its first `at` tokens.

    `logprobs` float32 [A] are log p(option) before renormalising, when it was asked. `advantages` float32 [A]: where given,
    every option's logit is pushed by its own (NeuRD); where None, the drawn option `taken` has the one `advantage`.
    """

    at: int
    options: tuple[tuple[int, ...], ...]
    taken: int
    drawn: bool
    logprobs: NDArray[np.float32]
    advantage: float = 0.0
    advantages: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Row:
    """One run of tokens of one seat, all arrays [T]: tokens int32, mask bool (sampled and trained), logprobs float32 (of the
    sampled ids, under their temperature), versions int32, temperatures float32, advantages float32 (0 where not mask)."""

    episode: str
    seat: str
    role: str
    tokens: NDArray[np.int32]
    mask: NDArray[np.bool_]
    logprobs: NDArray[np.float32]
    versions: NDArray[np.int32]
    temperatures: NDArray[np.float32]
    advantages: NDArray[np.float32]
    decisions: tuple[Decision, ...] = ()

"""The rows of one optimizer step, laid end to end, with every weight of the loss already fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.rows import Decision


@dataclass(frozen=True)
class Batch:
    """B rows, N tokens in all; row b is [starts[b], starts[b + 1]). Nothing is padded.

    tokens int64 [N]; mask bool [N]; sampled_logp, weight, advantage, temperature float32 [N] (0, 0, 0, 1 where not mask);
    starts int64 [B + 1]; role int64 [B] into `roles`. `decisions[i]` belongs to row `decision_row[i]` and has weight
    `decision_weight[i]`. The loss is the plain sum of weight x term: no micro-batch, order or rank can change it.
    """

    tokens: NDArray[np.int64]
    mask: NDArray[np.bool_]
    sampled_logp: NDArray[np.float32]
    weight: NDArray[np.float32]
    advantage: NDArray[np.float32]
    temperature: NDArray[np.float32]
    starts: NDArray[np.int64]
    role: NDArray[np.int64]
    roles: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()
    decision_row: tuple[int, ...] = ()
    decision_weight: tuple[float, ...] = ()

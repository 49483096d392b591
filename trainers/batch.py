"""The rows of one optimizer step, laid end to end, with every weight of the loss already fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arena.config import one_of, within
from trainers.config import NORMALISATIONS
from trainers.rows import Decision, Row

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Batch:
    """B rows, N tokens in all; row b is [starts[b], starts[b + 1]). Nothing is padded.

    tokens int64 [N]; mask bool [N]; sampled_logp, weight, advantage, temperature float32 [N] (0, 0, 0, 1 where not
    mask); starts int64 [B + 1]; role int64 [B] into `roles`. `decisions[i]` belongs to row `decision_row[i]` and has
    weight `decision_weight[i]`. The loss is the plain sum of weight x term: no micro-batch, order or rank can change
    it. `names` says for every row whose it is, for error messages.
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
    names: tuple[str, ...] = ()

    def name(self, token: int) -> str:
        """Whose token this is, and where in its row."""
        row = int(np.searchsorted(self.starts, token, side="right")) - 1
        return f"{self.names[row]}, token {token - self.starts[row]}"


def make_batch(rows: Sequence[Row], normalisation: str = "token", constant: float = 1.0) -> Batch:
    """Lay rows end to end. Weights count the whole step: `rows` must be all of it, on all ranks.

    The weight of a trained token, and likewise of a decision among all decisions, is by `normalisation`
      token     1 / number of them in the step
      sequence  1 / number of rows / number of them in its row
      episode   1 / number of episodes
      role      1 / number of roles / number of them of its role
      constant  1 / `constant` (arXiv:2503.20783)
    Rows without anything to train don't count; which rows were dropped for zero signal is decided before.
    """
    one_of("loss.normalisation", normalisation, NORMALISATIONS)
    within("loss.constant", constant, 0, above=True)
    lengths = [len(row.tokens) for row in rows]
    roles = tuple(sorted({row.role for row in rows}))
    per_token = _weights(rows, [int(row.mask.sum()) for row in rows], normalisation, constant)
    per_decision = _weights(rows, [len(row.decisions) for row in rows], normalisation, constant)
    mask = _joined([row.mask for row in rows], np.bool_)
    weight = np.repeat(np.asarray(per_token, np.float64), lengths)
    owners = [b for b, row in enumerate(rows) for _ in row.decisions]
    return Batch(
        tokens=_joined([row.tokens for row in rows], np.int64),
        mask=mask,
        sampled_logp=_joined([row.logprobs for row in rows], np.float32),
        weight=np.where(mask, weight, 0.0).astype(np.float32),
        advantage=_joined([row.advantages for row in rows], np.float32),
        temperature=_joined([row.temperatures for row in rows], np.float32),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        role=np.array([roles.index(row.role) for row in rows], np.int64),
        roles=roles,
        decisions=tuple(decision for row in rows for decision in row.decisions),
        decision_row=tuple(owners),
        decision_weight=tuple(per_decision[b] for b in owners),
        names=tuple(f"episode {row.episode}, {row.seat}, role {row.role}" for row in rows),
    )


def _weights(rows: Sequence[Row], counts: Sequence[int], normalisation: str, constant: float) -> list[float]:
    """By row: the weight of each of its `counts[b]` terms (tokens or decisions), float [B]."""
    some = [b for b, count in enumerate(counts) if count]
    by_role: Counter[str] = Counter()
    for b in some:
        by_role[rows[b].role] += counts[b]
    total, episodes = sum(counts), len({rows[b].episode for b in some})
    weights = [0.0] * len(rows)
    for b in some:
        weights[b] = {
            "token": 1.0 / total,
            "sequence": 1.0 / (len(some) * counts[b]),
            "episode": 1.0 / episodes,
            "role": 1.0 / (len(by_role) * by_role[rows[b].role]),
            "constant": 1.0 / constant,
        }[normalisation]
    return weights


def _joined(columns: Sequence[NDArray[Any]], dtype: type[Scalar]) -> NDArray[Scalar]:
    return np.concatenate(columns).astype(dtype) if columns else np.zeros(0, dtype)

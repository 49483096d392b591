"""Rows and decisions as a network would have sampled them, and their loss written out through its own forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from networks import plain_logits, plain_logp

from trainers.batch import Batch
from trainers.rows import Decision, Row


def row(
    model: Any,
    tokens: Any,
    trained: Any,
    *,
    advantage: Any = 1.0,
    temperature: float = 1.0,
    logprobs: Any = None,
    role: str = "first",
    episode: str = "e",
    decisions: tuple[Decision, ...] = (),
) -> Row:
    """A row that the model of now has sampled, or one with the given `logprobs` of its trained tokens."""
    count, trained = len(tokens), list(trained)
    mask = np.zeros(count, np.bool_)
    mask[trained] = True
    own = np.zeros(count, np.float32)
    if logprobs is None and trained:
        with torch.no_grad():
            logp = torch.log_softmax(plain_logits(model, tokens) / temperature, -1)
        logprobs = [float(logp[t - 1, tokens[t]]) for t in trained]
    own[trained] = [] if logprobs is None else logprobs
    return Row(
        episode,
        f"{role}_0",
        role,
        np.array(tokens, np.int32),
        mask,
        own,
        np.where(mask, 0, -1).astype(np.int32),
        np.where(mask, temperature, 1.0).astype(np.float32),
        np.where(mask, np.float32(advantage), 0).astype(np.float32),
        decisions,
    )


def decision(model: Any, tokens: Any, at: int, options: Any, taken: int = 0, **given: Any) -> Decision:
    """A choice among `options` after the first `at` tokens, scored by the model of now."""
    with torch.no_grad():
        logp = [float(plain_logp(model, tokens[:at], option).sum()) for option in options]
    given = {"drawn": True, **given}
    return Decision(at, tuple(tuple(option) for option in options), taken, logprobs=np.array(logp, np.float32), **given)


def reinforce(model: Any, batch: Batch) -> torch.Tensor:
    """The policy-gradient loss of a batch, row by row through transformers' own forward."""
    loss = torch.zeros((), dtype=torch.float64)
    for b, start in enumerate(batch.starts[:-1]):
        stop = batch.starts[b + 1]
        tokens = batch.tokens[start:stop].tolist()
        logits = plain_logits(model, tokens)
        for t in np.flatnonzero(batch.mask[start:stop]).tolist():
            logp = torch.log_softmax(logits[t - 1] / float(batch.temperature[start + t]), -1)[tokens[t]]
            loss = loss - float(batch.weight[start + t]) * float(batch.advantage[start + t]) * logp
        for d, owner in enumerate(batch.decision_row):
            if owner == b:
                loss = loss + batch.decision_weight[d] * _decided(model, tokens, batch.decisions[d])
    return loss


def _decided(model: Any, tokens: Any, made: Decision) -> torch.Tensor:
    sums = torch.stack([plain_logp(model, tokens[: made.at], option).sum() for option in made.options])
    policy = torch.log_softmax(sums, 0)
    if made.advantages is not None:
        return -(torch.tensor(made.advantages, dtype=torch.float64) * policy).sum()
    return -made.advantage * policy[made.taken]

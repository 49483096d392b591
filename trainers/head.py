"""The language-model head where it is needed: log-probabilities and entropies without ever holding all logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from arena.engines.product import product

CHUNK = 128  # sites whose logits are held at once: 128 x 49,152 x 4 bytes = 25 MB


class _Head(torch.autograd.Function):
    """Sites are rows of `hidden` divided by a temperature; edges are (site, next id), sorted by site."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, temperature: Tensor, site: Tensor, token: Tensor
    ) -> tuple[Tensor, Tensor]:
        normaliser = hidden.new_empty(len(hidden))
        entropy, logp = torch.empty_like(normaliser), hidden.new_empty(len(site))
        for rows, edges in _chunks(len(hidden), site):
            logits = product(hidden[rows], weight).div_(temperature[rows, None])
            normaliser[rows] = torch.logsumexp(logits, -1)
            at = site[edges] - rows.start
            logp[edges] = logits[at, token[edges]] - normaliser[rows][at]
            logits.sub_(normaliser[rows, None])
            entropy[rows] = -(logits.exp() * logits).sum(-1)
        ctx.save_for_backward(hidden, weight, temperature, site, token, normaliser, entropy)
        return logp, entropy

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_logp, grad_entropy = grads
        hidden, weight, temperature, site, token, normaliser, entropy = ctx.saved_tensors
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        with_entropy = bool(grad_entropy.any())
        for rows, edges in _chunks(len(hidden), site):
            logp = product(hidden[rows], weight).div_(temperature[rows, None]).sub_(normaliser[rows, None])
            p = logp.exp()
            at, g = site[edges] - rows.start, grad_logp[edges]
            mass = torch.zeros_like(normaliser[rows]).index_add_(0, at, g)
            # d logp_e / dz = onehot - p;  d entropy / dz = -p (log p + entropy)
            scale = -mass[:, None]
            if with_entropy:
                scale = scale - grad_entropy[rows, None] * (logp.add_(entropy[rows, None]))
            grad = p.mul_(scale)
            grad.index_put_((at, token[edges]), g, accumulate=True)
            grad.div_(temperature[rows, None])
            grad_hidden[rows] = product(grad, weight.t())
            if grad_weight is not None:
                grad_weight.addmm_(grad.t(), hidden[rows])
        return grad_hidden, grad_weight, None, None, None


def _chunks(sites: int, site: Tensor) -> list[tuple[slice, slice]]:
    starts = list(range(0, sites, CHUNK))
    bounds = torch.searchsorted(site, torch.tensor([*starts, sites], device=site.device)).tolist()
    return [
        (slice(first, min(first + CHUNK, sites)), slice(bounds[i], bounds[i + 1])) for i, first in enumerate(starts)
    ]


def head(hidden: Tensor, weight: Tensor, temperature: Tensor, site: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
    """log p(token[e] | site[e]) [E] and the entropy of every site [S] in nats.

    hidden [S, D] final hidden states, weight [V, D], temperature [S], site int64 [E] ascending, token int64 [E]. Logits
    are held `CHUNK` sites at a time and computed again in the backward pass.
    """
    return _Head.apply(hidden, weight, temperature, site, token)  # type: ignore[no-untyped-call,no-any-return]

"""One policy and its optimizer: a batch in, weights moved, numbers out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from arena.engines.transformer import Transformer
from trainers.batch import Batch
from trainers.config import LoraConfig, LossConfig, OptimConfig
from trainers.loss import Stats, decision_terms, padded, token_terms
from trainers.pack import Pack, packs
from trainers.ranks import ALONE, Ranks


class NonFinite(RuntimeError):
    """A gradient that is no number; the weights are as before."""


def adapted(model: Any, config: LoraConfig, seed: int) -> Any:
    """The model itself, all of it trained, or with a fresh LoRA adapter (peft) of `config.rank` on frozen weights."""
    if not config.rank:
        return model.requires_grad_(True)
    from peft import LoraConfig as PeftConfig
    from peft import get_peft_model

    peft = PeftConfig(r=config.rank, lora_alpha=config.alpha, lora_dropout=0.0, target_modules=list(config.targets))
    with warnings.catch_warnings():  # peft asks transformers by a name that is going to change
        warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
        with torch.random.fork_rng(devices=[]):  # peft draws A from torch's own generator; ours comes from the seed
            wrapped = get_peft_model(model, peft)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_A" in name:
                bound = 1.0 / math.sqrt(parameter.shape[1])
                parameter.copy_(torch.rand(parameter.shape, generator=generator).mul_(2 * bound).sub_(bound))
    return wrapped


@dataclass(frozen=True)
class Update:
    """What one optimizer step did. `tokens` are distinct ones; `seconds` of forward, backward and optimizer."""

    loss: float
    gradient_norm: float
    learning_rate: float
    tokens: int
    flops: float
    seconds: float
    stats: dict[str, float]


class Learner:
    """Owns the trained parameters, the optimizer and the frozen copies that regularisers pull to.

    `transformer` is the view of the weights that an engine may share. `steps` is the length of the run in updates. Of
    several `ranks` each takes every so many packs of a batch; all of them get the whole gradient, and the same step.
    """

    def __init__(self, model: Any, optim: OptimConfig, loss: LossConfig, steps: int, ranks: Ranks = ALONE):
        self.model, self.optim, self.loss, self.steps, self.ranks = model, optim, loss, steps, ranks
        self.transformer = Transformer(model)
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=optim.lr,
            betas=(optim.beta1, optim.beta2),
            weight_decay=optim.weight_decay,
            fused=True,
        )
        self.step = 0
        self.start = self.untrained() if loss.kl else None  # a KL term holds on to it
        self.magnet = self.transformer.frozen() if loss.magnet and loss.magnet_every else None

    def untrained(self) -> Transformer:
        """The policy as it was at the start, asked for before any update; a LoRA run has it under its adapter."""
        adapted = any(linear.lora for layer in self.transformer.layers for linear in layer.linears)
        return Transformer(self.model, adapter=False) if adapted else self.transformer.frozen()

    def rate(self) -> float:
        """The learning rate of the next step: linear warm-up, then geometric from `lr` to `lr_end`."""
        if self.step < self.optim.warmup:
            return self.optim.lr * (self.step + 1) / self.optim.warmup
        first, last = self.optim.lr, self.optim.lr_end
        if not first or last is None:
            return first
        return float(first * (last / first) ** min(1.0, self.step / max(1, self.steps)))

    def update(self, batch: Batch) -> Update:
        """One optimizer step on the whole batch. Raises `NonFinite` before anything has moved."""
        started = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=False)
        loss, stats, tokens, flops = self.gradient(batch)
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.optim.clip_norm or math.inf))
        if not math.isfinite(norm) or not math.isfinite(loss):
            raise NonFinite(
                f"loss {loss}, gradient norm {norm}: the step is not taken; lower optim.lr or the weights of the loss"
            )
        rate = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.step += 1
        self.transformer.merge()
        if self.magnet is not None and self.step % self.loss.magnet_every == 0:
            self.magnet = self.transformer.frozen()
        return Update(loss, norm, rate, tokens, flops, time.perf_counter() - started, stats.means())

    def gradient(self, batch: Batch) -> tuple[float, Stats, int, float]:
        """Add the gradient of the batch's loss to the parameters: loss, statistics, distinct tokens, flops."""
        total, stats, tokens, flops = 0.0, Stats(), 0, 0.0
        model = self.transformer
        for pack in islice(packs(batch, self.optim.micro_tokens), self.ranks.rank, None, self.ranks.size):
            loss, part = self._loss(batch, pack)
            loss.backward()  # type: ignore[no-untyped-call]
            total, stats, tokens = total + float(loss.detach()), stats + part, tokens + len(pack.tree)
            passes = 3 if len(self.parameters) and model.embedding.requires_grad else 2
            flops += 2.0 * passes * len(pack.tree) * model.parameters_per_token
            flops += 2.0 * (passes + 1) * len(pack.site_node) * model.head.numel()
        return self._together(total, stats, tokens, flops) if self.ranks.size > 1 else (total, stats, tokens, flops)

    def _together(self, total: float, stats: Stats, tokens: int, flops: float) -> tuple[float, Stats, int, float]:
        """Make the gradient of this rank's packs that of all packs, and the figures likewise."""
        for parameter in self.parameters.values():
            if parameter.grad is None:  # this rank had no pack
                parameter.grad = torch.zeros_like(parameter)
        parts = self.ranks.gather([total, stats.sums, stats.peaks, tokens, flops])
        self.ranks.add_up(parameter.grad for parameter in self.parameters.values() if parameter.grad is not None)
        totals, sums, peaks, counts, efforts = zip(*parts, strict=True)
        whole = Stats()
        for part, highest in zip(sums, peaks, strict=True):
            whole += Stats({name: (value, weight) for name, (value, weight) in part.items()}, highest)
        return sum(totals), whole, sum(counts), sum(efforts)

    def _loss(self, batch: Batch, pack: Pack) -> tuple[Tensor, Stats]:
        logp, entropy = pack.forward(self.transformer)
        with torch.no_grad():
            start = pack.forward(self.start)[0] if self.start is not None else None
            magnet = pack.forward(self.magnet)[0] if self.magnet is not None else None
        loss, stats = self._token_loss(batch, pack, logp, entropy, start)
        if pack.decisions:
            more, others = self._decision_loss(batch, pack, logp, start, magnet)
            loss, stats = loss + more, stats + others
        return loss, stats

    def _token_loss(
        self, batch: Batch, pack: Pack, logp: Tensor, entropy: Tensor, start: Tensor | None
    ) -> tuple[Tensor, Stats]:
        def given(column: Any) -> Tensor:
            return torch.from_numpy(column)[pack.tokens].to(logp)

        edge = pack.token_edge.to(logp.device)
        rows = torch.searchsorted(torch.from_numpy(batch.starts), pack.tokens, right=True) - 1
        roles = [batch.roles[r] for r in batch.role[rows.numpy()].tolist()]
        return token_terms(
            logp[edge],
            given(batch.sampled_logp),
            given(batch.advantage),
            given(batch.weight),
            self.loss,
            entropy=entropy[pack.token_site.to(logp.device)],
            reference_logp=start[edge] if start is not None else None,
            role=roles,
            name=lambda i: batch.name(int(pack.tokens[i])),
        )

    def _decision_loss(
        self, batch: Batch, pack: Pack, logp: Tensor, start: Tensor | None, magnet: Tensor | None
    ) -> tuple[Tensor, Stats]:
        def sums(values: Tensor) -> tuple[Tensor, Tensor]:
            return padded([torch.stack([values[edges].sum() for edges in options]) for options in pack.option_edges])

        option_logp, valid = sums(logp)
        decisions: Sequence[Any] = [batch.decisions[d] for d in pack.decisions]
        rows = [batch.decision_row[d] for d in pack.decisions]
        return decision_terms(
            option_logp,
            valid,
            decisions,
            torch.tensor([batch.decision_weight[d] for d in pack.decisions]).to(logp),
            self.loss,
            magnet_logp=sums(magnet)[0] if magnet is not None else None,
            reference_logp=sums(start)[0] if start is not None else None,
            role=[batch.roles[int(batch.role[row])] for row in rows],
            name=lambda i: batch.names[rows[i]],
        )

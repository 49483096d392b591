"""The loss: flat tensors in, a weighted sum and its statistics out; no games, no models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, pad

from trainers.config import LossConfig
from trainers.rows import Decision

LARGE = 1e30  # stands for infinity where a gradient must stay a number
FARTHEST = 20.0  # a log ratio beyond this is cut, so that exp stays finite in float32
Name = Callable[[int], str]


@dataclass
class Stats:
    """Sums, counts and peaks of one or more parts of a batch; `+` joins parts, `means` reads them."""

    sums: dict[str, tuple[float, float]] = field(default_factory=dict)  # sum of values, sum of their weights
    peaks: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: Stats) -> Stats:
        sums, peaks = dict(self.sums), dict(self.peaks)
        for key, (value, weight) in other.sums.items():
            before = sums.get(key, (0.0, 0.0))
            sums[key] = (before[0] + value, before[1] + weight)
        for key, value in other.peaks.items():
            peaks[key] = max(peaks.get(key, value), value)
        return Stats(sums, peaks)

    def means(self) -> dict[str, float]:
        """Every mean and every peak, by name."""
        return {**{key: value / weight for key, (value, weight) in self.sums.items() if weight}, **self.peaks}

    def mean(self, name: str, values: Tensor, role: Sequence[str] = ()) -> None:
        """Take in values [n]: over all, and over each role if `role` [n] says whose they are."""
        numbers = values.detach().double()
        self._sum(name, numbers)
        for each in sorted(set(role)):
            self._sum(f"{name}/{each}", numbers[[r == each for r in role]])

    def peak(self, name: str, values: Tensor, role: Sequence[str] = ()) -> None:
        """The same for the largest value."""
        numbers = values.detach().double()
        if not len(numbers):
            return
        self.peaks[name] = max(self.peaks.get(name, -math.inf), float(numbers.max()))
        for each in sorted(set(role)):
            of_role = float(numbers[[r == each for r in role]].max())
            self.peaks[f"{name}/{each}"] = max(self.peaks.get(f"{name}/{each}", -math.inf), of_role)

    def _sum(self, name: str, numbers: Tensor) -> None:
        value, weight = self.sums.get(name, (0.0, 0.0))
        self.sums[name] = (value + float(numbers.sum()), weight + len(numbers))


def token_terms(
    logp: Tensor,
    sampled_logp: Tensor,
    advantage: Tensor,
    weight: Tensor,
    config: LossConfig,
    *,
    entropy: Tensor | None = None,
    reference_logp: Tensor | None = None,
    role: Sequence[str] = (),
    name: Name = "token {}".format,
) -> tuple[Tensor, Stats]:
    """The weighted sum over n sampled tokens, all tensors [n]; `role` [n] splits the statistics.

    logp: log p(token) now, sampled_logp: when it was sampled, both under its temperature; entropy: of the whole
    distribution at its place, in nats; reference_logp: log p(token) of the policy that `kl` holds on to. `name` says
    what the i-th token is; a value that is not finite raises ValueError with it.
    """
    given = {"logp": logp, "sampled_logp": sampled_logp, "advantage": advantage, "weight": weight}
    if entropy is not None:
        given["entropy"] = entropy
    if reference_logp is not None:
        given["reference_logp"] = reference_logp
    _check(given, name)
    stats = Stats()
    _ratio_stats(stats, "token", logp - sampled_logp, advantage, config, role)
    term = _surrogate(logp, sampled_logp, advantage, config)
    if entropy is not None:
        stats.mean("token/entropy", entropy, role)
        term = term - config.entropy * entropy
    if reference_logp is not None:
        away = reference_logp - logp
        stats.mean("token/kl", away.clamp(-FARTHEST, FARTHEST).expm1() - away, role)  # k3: never negative, low variance
        term = term + config.kl * 0.5 * away.square()  # k2: its gradient is that of KL(policy || reference)
    return (weight * term).sum(), stats


def decision_terms(
    option_logp: Tensor,
    valid: Tensor,
    decisions: Sequence[Decision],
    weight: Tensor,
    config: LossConfig,
    *,
    magnet_logp: Tensor | None = None,
    reference_logp: Tensor | None = None,
    role: Sequence[str] = (),
    name: Name = "decision {}".format,
) -> tuple[Tensor, Stats]:
    """The weighted sum over D decisions with at most A options each; `weight` [D], `role` [D].

    option_logp [D, A]: log p(option) now, not renormalised, where `valid` [D, A] (elsewhere anything). A decision with
    advantages pushes each option's renormalised log-probability by its own (NeuRD); one with a single advantage that
    was drawn is a policy-gradient term on its renormalised ratio. The magnet is `magnet_logp` [D, A], also not
    renormalised, or uniform; KL and entropy are exact over the options.
    """
    if not decisions:
        return option_logp.sum(), Stats()
    old_logp, advantages, taken = _decided(decisions, option_logp)
    for what, table in (("option_logp", option_logp), ("magnet_logp", magnet_logp), ("reference_logp", reference_logp)):
        if table is not None:
            _check({what: table.masked_fill(~valid, 0.0)}, name)
    _check({"logprobs": old_logp, "advantages": advantages, "weight": weight}, name)
    policy, old = _renormalised(option_logp, valid), _renormalised(old_logp, valid)
    stats = Stats()
    stats.peak("decision/moved_max", (policy - old).abs().amax(1), role)
    stats.mean("decision/legal_mass", option_logp.masked_fill(~valid, -LARGE).logsumexp(1).exp(), role)
    term = torch.where(_which(decisions, "neurd", weight), -(advantages * policy).sum(1), torch.zeros_like(weight))
    drawn = _which(decisions, "drawn", weight)
    if bool(drawn.any()):
        logp, sampled, advantage = (table[drawn].gather(1, taken[drawn])[:, 0] for table in (policy, old, advantages))
        roles = [r for r, keep in zip(role, drawn.tolist(), strict=True) if keep] if role else []
        _ratio_stats(stats, "decision", logp - sampled, advantage, config, roles)
        term = term.masked_scatter(drawn, _surrogate(logp, sampled, advantage, config))
    probability = policy.exp() * valid
    entropy = -(probability * policy).sum(1)
    stats.mean("decision/entropy", entropy, role)
    term = term - config.entropy * entropy
    anchor = torch.zeros_like(policy) if magnet_logp is None else magnet_logp
    pull = _divergence(probability, policy, _renormalised(anchor, valid))
    stats.mean("decision/magnet", pull, role)
    term = term + config.magnet * pull
    if reference_logp is not None:
        away = _divergence(probability, policy, _renormalised(reference_logp, valid))
        stats.mean("decision/kl", away, role)
        term = term + config.kl * away
    return (weight * term).sum(), stats


def padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Rows of A_i numbers each as [D, max A] and where they are, bool [D, max A]; gradients flow back to the rows."""
    widest = max((len(row) for row in rows), default=0)
    if not rows:
        return torch.zeros(0, 0), torch.zeros(0, 0, dtype=torch.bool)
    table = torch.stack([pad(row, (0, widest - len(row))) for row in rows])
    lengths = torch.tensor([len(row) for row in rows], device=table.device)
    return table, torch.arange(widest, device=table.device) < lengths[:, None]


def _surrogate(logp: Tensor, sampled_logp: Tensor, advantage: Tensor, config: LossConfig) -> Tensor:
    """The policy-gradient loss of each element [n]: PPO (arXiv:1707.06347, dual clip 1912.09729) or REINFORCE."""
    if config.kind == "reinforce":
        return -advantage * logp
    ratio = (logp - sampled_logp).clamp(-FARTHEST, FARTHEST).exp()
    gain = torch.minimum(ratio * advantage, ratio.clamp(1 - config.clip_low, 1 + config.clip_high) * advantage)
    if config.dual_clip:
        gain = torch.where(advantage < 0, torch.maximum(gain, config.dual_clip * advantage), gain)
    return -gain


def _ratio_stats(
    stats: Stats, prefix: str, moved: Tensor, advantage: Tensor, config: LossConfig, role: Sequence[str]
) -> None:
    """How far the log-probabilities are from when they were sampled, before any clipping, and what the clip stops."""
    size = moved.detach().abs()
    ratio = moved.detach().clamp(-FARTHEST, FARTHEST).exp()
    stopped = ((ratio > 1 + config.clip_high) & (advantage > 0)) | ((ratio < 1 - config.clip_low) & (advantage < 0))
    stats.mean(f"{prefix}/dlogp", size, role)
    stats.peak(f"{prefix}/dlogp_max", size, role)
    stats.peak(f"{prefix}/ratio_max", ratio, role)
    stats.mean(f"{prefix}/clipped", stopped.double() * (config.kind == "ppo"), role)


def _decided(decisions: Sequence[Decision], like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """logprobs [D, A], advantages [D, A] (a single one stands at the option taken) and taken [D, 1], padded by 0."""
    old, advantages = torch.zeros(like.shape), torch.zeros(like.shape)
    chosen = torch.zeros(len(decisions), 1, dtype=torch.long)
    for i, decision in enumerate(decisions):
        count = len(decision.options)
        old[i, :count] = torch.as_tensor(decision.logprobs)
        if decision.advantages is not None:
            advantages[i, :count] = torch.as_tensor(decision.advantages)
        elif decision.drawn:
            advantages[i, decision.taken] = decision.advantage
        chosen[i] = max(decision.taken, 0)
    return old.to(like), advantages.to(like), chosen.to(like.device)


def _which(decisions: Sequence[Decision], kind: str, like: Tensor) -> Tensor:
    """Which decisions are of a kind, bool [D]: `neurd` push every option, `drawn` ones the option taken."""
    of_kind = [(d.advantages is not None) if kind == "neurd" else (d.drawn and d.advantages is None) for d in decisions]
    return torch.tensor(of_kind, dtype=torch.bool, device=like.device)


def _renormalised(logp: Tensor, valid: Tensor) -> Tensor:
    """Log-probabilities over the valid options alone [D, A]; 0 elsewhere, where no gradient comes from either."""
    return log_softmax(logp.masked_fill(~valid, -LARGE), dim=1).masked_fill(~valid, 0.0)


def _divergence(probability: Tensor, policy: Tensor, anchor: Tensor) -> Tensor:
    """KL(policy || anchor) [D], from renormalised log-probabilities."""
    return (probability * (policy - anchor.detach())).sum(1)


def _check(given: dict[str, Tensor], name: Name) -> None:
    for what, values in given.items():
        finite = torch.isfinite(values.detach())
        finite = finite.all(1) if finite.ndim > 1 else finite
        if not bool(finite.all()):
            first = int((~finite).nonzero()[0, 0])
            raise ValueError(f"{what} of {name(first)} is {values[first].tolist()}: the step is not taken")

"""Every knob of a training run, on the dataclass of the part that turns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from arena.cast import POLICY
from arena.config import ConfigError, one_of, within
from arena.curriculum import CurriculumConfig
from arena.make import GameConfig

KINDS = ("ppo", "reinforce")
NORMALISATIONS = ("token", "sequence", "episode", "role", "constant")


@dataclass(frozen=True)
class SeatConfig:
    """Who plays the seats of one role.

    `agent` is `policy` (learns), `base` (the untrained model, which stays so), or an agent as on the command line:
    random, oracle, ... `role` is a name of the role library or a YAML path; `changes` override fields of it. The policy
    learns of these seats in every `every`-th step, the first one being number `first`: so roles can learn in turns.
    """

    role: str = "player"
    agent: str = POLICY
    changes: dict[str, Any] = field(default_factory=dict)
    every: int = 1
    first: int = 0


@dataclass(frozen=True)
class RolloutConfig:
    """`deals` different deals a step, each played `samples` times.

    `score_options` has the engine score the legal replies at every turn, as `neurd` and the exact metrics want it.
    `resamples` plays each game again so many times for every seat that learns, with new random numbers for that seat
    alone: what `difference` compares.
    """

    deals: int = 16
    samples: int = 4
    score_options: bool = False
    resamples: int = 0

    def __post_init__(self) -> None:
        within("rollout.deals", self.deals, 1)
        within("rollout.samples", self.samples, 1)
        within("rollout.resamples", self.resamples, 0)


@dataclass(frozen=True)
class CreditConfig:
    """`estimator` is a name of `trainers.credit` or "module:function"; `role_weights` multiply a role's advantages.

    `decay` is of the `baseline` averages. `share` divides a proposer's positive return by the number of times the same
    task was proposed in the batch. For `neurd`: `gap` is the probability under (or over 1 - gap) which an option is not
    pushed further out, `legality` the weight of the term that keeps replies legal, `alpha` that of the pull to the
    magnet; `option_decay` fades the returns of each option from batch to batch (0: this batch alone), `drift` is the
    share by which an information set's magnet follows the policy (0: it stays uniform). For `turn`, `joint`, `gigpo`:
    what a seat earns one of its turns later counts `discount` times as much; `anchor_weight` is of what `gigpo` adds to
    `peers`.
    """

    estimator: str = "peers"
    decay: float = 0.95
    discount: float = 1.0
    anchor_weight: float = 1.0
    role_weights: dict[str, float] = field(default_factory=dict)
    share: list[str] = field(default_factory=list)
    gap: float = 0.02
    legality: float = 1.0
    alpha: float = 0.0
    option_decay: float = 0.5
    drift: float = 0.0
    drop_cut_off: bool = True

    def __post_init__(self) -> None:
        within("credit.decay", self.decay, 0, 1)
        within("credit.discount", self.discount, 0, 1)
        within("credit.anchor_weight", self.anchor_weight, 0)
        within("credit.gap", self.gap, 0, 0.5, below=True)
        within("credit.legality", self.legality, 0)
        within("credit.alpha", self.alpha, 0)
        within("credit.option_decay", self.option_decay, 0, 1)
        within("credit.drift", self.drift, 0, 1)
        for role, weight in self.role_weights.items():
            within(f"credit.role_weights.{role}", weight)


@dataclass(frozen=True)
class LossConfig:
    """`kind` is ppo or reinforce; `normalisation` token, sequence, episode, role or constant (then / `constant`).

    `clip_low`, `clip_high` bound the ratio, `dual_clip` (0: off) the loss of negative advantages. `entropy` is the
    bonus a nat, `kl` the weight of KL(policy || start). `magnet` is the weight of KL(policy || magnet); the magnet is a
    copy of the policy renewed every `magnet_every` steps, or the uniform distribution over legal replies if that is 0.
    `updates` optimizer steps are taken on each batch.
    """

    kind: str = "ppo"
    normalisation: str = "token"
    constant: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    magnet: float = 0.0
    magnet_every: int = 0
    updates: int = 1

    def __post_init__(self) -> None:
        one_of("loss.kind", self.kind, KINDS)
        one_of("loss.normalisation", self.normalisation, NORMALISATIONS)
        within("loss.constant", self.constant, 0, above=True)
        within("loss.clip_low", self.clip_low, 0, 1)
        within("loss.clip_high", self.clip_high, 0)
        if self.dual_clip:
            within("loss.dual_clip", self.dual_clip, 1, above=True)  # (arXiv:1912.09729: c > 1)
        within("loss.entropy", self.entropy)
        within("loss.kl", self.kl, 0)
        within("loss.magnet", self.magnet, 0)
        within("loss.magnet_every", self.magnet_every, 0)
        within("loss.updates", self.updates, 1)


@dataclass(frozen=True)
class OptimConfig:
    """AdamW; the rate goes from `lr` to `lr_end` (geometric; not given: it stays) over the run, after `warmup` steps.

    `clip_norm` bounds the norm of the gradient (0: it does not), `micro_tokens` the distinct tokens of a forward pass.
    """

    lr: float = 1e-5
    lr_end: float | None = None
    warmup: int = 0
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    micro_tokens: int = 512

    def __post_init__(self) -> None:
        within("optim.lr", self.lr, 0)
        if self.lr_end is not None:
            within("optim.lr_end", self.lr_end, 0, above=True)
        within("optim.warmup", self.warmup, 0)
        within("optim.beta1", self.beta1, 0, 1, below=True)
        within("optim.beta2", self.beta2, 0, 1, below=True)
        within("optim.weight_decay", self.weight_decay, 0)
        within("optim.clip_norm", self.clip_norm, 0)
        within("optim.micro_tokens", self.micro_tokens, 1)


@dataclass(frozen=True)
class LoraConfig:
    """`rank` 0 trains all weights."""

    rank: int = 0
    alpha: int = 32
    targets: list[str] = field(
        default_factory=lambda: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    )

    def __post_init__(self) -> None:
        within("lora.rank", self.rank, 0)
        within("lora.alpha", self.alpha, 0, above=True)
        if self.rank and not self.targets:
            raise ConfigError(
                "lora.targets is empty", remedy="name layers to adapt, or set lora.rank=0", key="lora.targets"
            )


@dataclass(frozen=True)
class ProbeConfig:
    """Measured beside training: `exploitability` every step where the tree is small, `evaluate` every `every` steps
    (0: never) with the game's "module:function", an async function of (role, temperature=) -> agent and the game."""

    exploitability: bool = False
    every: int = 0
    evaluate: str = ""

    def __post_init__(self) -> None:
        within("probe.every", self.every, 0)


@dataclass(frozen=True)
class TrainConfig:
    """One training run. `model` is smollm2-135m, tiny, a folder or a Hugging Face id in the local cache.

    `ranks` processes share the work of every step, each on `threads` cores.
    """

    name: str = MISSING
    model: str = "smollm2-135m"
    seed: int = 0
    steps: int = 10
    save_every: int = 10
    threads: int = 2
    ranks: int = 1
    max_empty: int = 5
    game: GameConfig = field(default_factory=GameConfig)
    seats: dict[str, SeatConfig] = field(default_factory=dict)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    credit: CreditConfig = field(default_factory=CreditConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    lora: LoraConfig = field(default_factory=LoraConfig)
    probe: ProbeConfig = field(default_factory=ProbeConfig)

    def __post_init__(self) -> None:
        within("steps", self.steps, 1)
        within("save_every", self.save_every, 1)
        within("threads", self.threads, 1)
        within("ranks", self.ranks, 1, self.rollout.deals * self.rollout.samples)
        within("max_empty", self.max_empty, 1)
        for name, seat in self.seats.items():
            within(f"seats.{name}.every", seat.every, 1)
            within(f"seats.{name}.first", seat.first, 0)
        estimator, resamples = self.credit.estimator, self.rollout.resamples
        if ":" not in estimator and (estimator == "difference") != (resamples > 0):
            remedy = "set rollout.resamples=4" if not resamples else "set it to 0, or credit.estimator=difference"
            raise ConfigError(
                f"rollout.resamples is {resamples} and credit.estimator {estimator}",
                remedy=remedy,
                key="rollout.resamples",
            )

"""The training loop: play, give credit, take one step, look, save; killed anywhere, it goes on as if it was not."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version as installed
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Protocol

import torch

from arena import config as configs
from arena import solve
from arena.cast import BASE
from arena.chat import Chat
from arena.commands import reach
from arena.curriculum import Curriculum
from arena.engines import models
from arena.engines.torch import TorchEngine
from arena.make import make
from arena.store import Store
from arena.strategy import strategy
from arena.types import Episode, Match, role_of
from roles import Reply
from trainers import checkpoint, probe, ranks
from trainers.baselines import Baselines
from trainers.batch import make_batch
from trainers.config import TrainConfig
from trainers.credit import credit
from trainers.figures import figures
from trainers.learner import Learner, Update, adapted
from trainers.ranks import ALONE, Ranks
from trainers.rollout import Rollout
from trainers.rows import all_rows
from trainers.speed import gemm_rate

DISAGREE = 1e-2  # nats a token, on average; float32 rounding is a thousandth of it
KEPT = 2  # episodes a step whose words go into the store
FOLLOW = "import sys; from trainers import train; train.follow(*sys.argv[1:])"  # the program of another rank
SHOWN = ("illegal", "nash_conv", "accuracy", "entropy", "tok/s", "gemm")


class TrainingStopped(RuntimeError):
    """The run can't go on, and why; what is saved stays."""


class Tick(Protocol):
    """Hears of progress: steps done and the figures to show."""

    def __call__(self, done: int, figures: Mapping[str, float | str] | None = None) -> None: ...


def run(config: TrainConfig, folder: Path, tick: Tick = lambda done, figures=None: None) -> Path:
    """Train until `config.steps`; the folder. An earlier part of the same run in it is gone on with.

    Raises ConfigError if another config has been run there, TrainingStopped if nothing can be learned, and
    KeyboardInterrupt after Ctrl-C once the step under way is saved.
    """
    make(config.game.name, **config.game.params).ready()
    folder.mkdir(parents=True, exist_ok=True)
    configs.claim(folder, config)
    models.find(config.model)  # made once, before several ranks ask for it
    with ranks.started(config.ranks, FOLLOW, str(folder)) as all_ranks, Store(folder / "store.db") as store:
        store.start(config.name, "train", asdict(config))
        training = Training(config, folder, store, all_ranks)
        sign(config, training.engine.checksum(), folder / "manifest.json")
        training.resume()
        with _interrupts() as interrupted:
            _train(training, tick, interrupted)
    return folder


def follow(folder: str, *meeting: str) -> None:
    """Be another rank of the run in `folder`: do the same, and write nothing."""
    config = configs.load(TrainConfig, Path(folder) / "config.yaml")
    with ranks.joined(*meeting) as all_ranks:
        training = Training(config, Path(folder), None, all_ranks)
        training.resume()
        _train(training, lambda done, figures=None: None, lambda: False)


def _train(training: Training, tick: Tick, interrupted: Callable[[], bool]) -> None:
    config = training.config
    while training.step < config.steps:
        figures = training.advance()
        tick(training.step, figures)
        stop = any(training.ranks.gather(interrupted()))
        if stop or training.step == config.steps or training.step % config.save_every == 0:
            training.save()
        if stop:
            raise KeyboardInterrupt(f"saved at step {training.step}")


def sign(config: TrainConfig, weights: str, path: Path) -> None:
    """Write down, once, with what a run was begun: the versions and the machine that its figures depend on.

    `weights` is the checksum of the untrained model; a run that goes on with another one is refused.
    """
    if path.exists():
        before = json.loads(path.read_text()).get("weights")
        if before != weights:
            raise configs.ConfigError(
                f"the run began on weights {before}, {config.model!r} now has {weights}",
                str(path.parent),
                remedy="give the model it began with, or --folder",
            )
        return
    facts = {
        "packages": {name: installed(name) for name in ("torch", "transformers", "numpy", "pettingzoo")},
        "python": platform.python_version(),
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.system()},
        "seed": config.seed,
        "model": config.model,
        "weights": weights,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")


class Training:
    """A run in memory: policy, optimizer, engine and everything that a checkpoint holds.

    Every rank has one, all equal to the last byte. Only the first has a `store`, and it alone writes to `folder`.
    """

    def __init__(self, config: TrainConfig, folder: Path, store: Store | None, ranks: Ranks = ALONE):
        self.config, self.folder, self.store, self.ranks = config, folder, store, ranks
        torch.set_num_threads(config.threads)
        model, tokenizer = models.load(models.find(config.model))
        adapter = adapted(model, config.lora, config.seed)
        self.learner = Learner(adapter, config.optim, config.loss, config.steps * config.loss.updates, ranks)
        self.engine = TorchEngine(self.learner.transformer)
        self.rollout = Rollout(config, self.engine, Chat(tokenizer))
        if any(role.policy == BASE for role in self.rollout.roles.values()):
            self.engine.put(BASE, self.learner.untrained())
        scored = config.rollout.score_options or all(r.reply is Reply.legal for r in self.rollout.roles.values())
        if config.loss.magnet and not scored:
            raise configs.ConfigError(
                "a magnet pulls on the odds of legal replies, which nobody asks for here",
                "loss.magnet",
                remedy="set rollout.score_options=true or the roles' reply: legal",
            )
        self.baselines = Baselines()
        self.curriculum = Curriculum(config.curriculum, self.rollout.game.canon)
        for task in self.rollout.game.first_tasks():
            self.curriculum.admit(task)
        self.step = 0
        self.empty = 0
        self.tree = solve.tree(self.rollout.game) if config.probe.exploitability else None
        self.evaluate = reach(config.probe.evaluate) if config.probe.evaluate else None
        self.peak = gemm_rate(self.learner.transformer.device)

    # -- one step --------------------------------------------------------------------------------------------------

    def advance(self) -> dict[str, float]:
        """Play and learn one step; the figures to show."""
        started, before = time.perf_counter(), self.engine.usage.copy()
        measured = self._probe()
        episodes = self.rollout.play(self.step, self.ranks, self.curriculum)
        self._refuse_broken(episodes)
        self.engine.rest()
        played = time.perf_counter()
        metrics, updates = self._learn(episodes)
        metrics = {**measured, **metrics}
        used = self.engine.usage.since(before)
        rate = (used.prompt + used.sampled) / max(used.seconds, 1e-9)
        rates, flops = (sum(column) for column in zip(*self.ranks.gather([rate, used.flops]), strict=True))
        seconds = time.perf_counter() - started
        flops += sum(update.flops for update in updates)
        metrics |= {
            "perf/rollout_seconds": played - started,
            "perf/update_seconds": sum(update.seconds for update in updates),
            "perf/tokens_per_second": rates,
            "perf/gemm_share": flops / (seconds * self.peak * self.ranks.size),
        }
        self._record(metrics, episodes)
        self.step += 1
        return self._shown(metrics)

    def _learn(self, episodes: list[Episode]) -> tuple[dict[str, float], list[Update]]:
        config = self.config
        forfeits = {str(self.rollout.game): self.rollout.game.info.forfeit}
        given = credit(episodes, self.rollout.learning(self.step), config.credit, self.baselines, forfeits)
        held = bool(config.loss.entropy or config.loss.kl or config.loss.magnet)
        rows, counts = all_rows(episodes, given, version=self.engine.version(), regularised=held)
        metrics: dict[str, float] = {**given.counters, **counts}
        metrics["illegal"] = sum(episode.illegal for episode in episodes) / len(episodes)
        metrics["duplicates"] = duplicates(episodes)
        metrics |= figures(episodes) | self.curriculum.absorb(self.step, episodes)
        updates: list[Update] = []
        if rows:
            batch = make_batch(rows, config.loss.normalisation, config.loss.constant)
            updates = [self.learner.update(batch) for _ in range(config.loss.updates)]
            self.engine.renew("live", self.engine.version() + 1)
            first = updates[0]
            self._compare(first.stats)
            metrics |= first.stats | {"loss": first.loss, "gradient_norm": first.gradient_norm}
            metrics |= {"learning_rate": first.learning_rate, "update_tokens": float(first.tokens)}
            self.empty = 0
        else:
            self.empty += 1
            if self.empty >= config.max_empty:
                raise TrainingStopped(
                    f"{self.empty} steps in a row gave nothing to learn from: all returns of each group are equal; "
                    "play more samples a deal, or make the game easier or harder"
                )
        return metrics, updates

    @staticmethod
    def _compare(stats: Mapping[str, float]) -> None:
        """Before the first update of a batch the trainer's log-probabilities must be those that it was sampled with."""
        found = stats.get("token/dlogp", 0.0)
        if found > DISAGREE:
            raise TrainingStopped(
                f"engine and trainer differ by {found:.3g} nats a token on the same weights: the ratio means nothing"
            )

    def _probe(self) -> dict[str, float]:
        """What the policy of this step is, before it is changed; it is the same on all ranks, and the first asks it."""
        found: dict[str, float] = {}
        if not self.ranks.leads:
            return found
        due = self.config.probe.every and self.step % self.config.probe.every == 0
        if self.tree is not None:
            agents = {role: self.rollout.agent(role) for role in self.rollout.game.roles if role in self.rollout.roles}
            if len(agents) == len(self.rollout.game.roles):
                table = asyncio.run(strategy(self.tree, agents, canonical=True))
                found |= probe.summary(self.tree, table)
        if self.evaluate is not None and due:
            found |= asyncio.run(self.evaluate(self.rollout.agent, self.rollout.game))
        return found

    @staticmethod
    def _refuse_broken(episodes: list[Episode]) -> None:
        broken = [episode for episode in episodes if episode.ending == "infra"]
        if 2 * len(broken) > len(episodes):
            raise TrainingStopped(f"{len(broken)} of {len(episodes)} games broke; the first: {broken[0].reason}")

    def _record(self, metrics: Mapping[str, float], episodes: list[Episode]) -> None:
        if self.store is None:
            return
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"step": self.step, **metrics}) + "\n")
        self.store.metric(self.config.name, self.step, metrics)
        game = self.rollout.game
        for i, episode in enumerate(episodes[:KEPT]):
            teams = game.teams()
            scores = [fmean(episode.returns[seat] or 0.0 for seat in team) for team in teams]
            match = Match(
                id=f"{self.config.name}-{self.step}-{i}",
                game=episode.game,
                teams=tuple(tuple(episode.agents[seat] for seat in team) for team in teams),
                scores=tuple(scores),
                roles=tuple(tuple(role_of(seat) for seat in team) for team in teams),
                ending=episode.ending,
                pool="train",
                episodes=(episode.id,),
            )
            self.store.add(match, [episode])

    def _shown(self, metrics: Mapping[str, float]) -> dict[str, float]:
        names = {"entropy": "decision/entropy" if "decision/entropy" in metrics else "token/entropy"}
        names |= {"tok/s": "perf/tokens_per_second", "gemm": "perf/gemm_share"}
        shown = {name: metrics[names.get(name, name)] for name in SHOWN if names.get(name, name) in metrics}
        return {**shown, **{k: v for k, v in metrics.items() if k.startswith("return/")}}

    # -- keeping it ------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a checkpoint of everything that the next step depends on; the middle and the last one stay."""
        self._agree()
        gone, self.curriculum.forgotten = self.curriculum.forgotten, []
        if not self.ranks.leads:
            return
        moments, groups = checkpoint.pack_optimizer(self.learner.optimizer)
        random_state, random_tensors = checkpoint.rng_state()
        tensors = {"weights": self.learner.parameters, "optimizer": moments, "random": random_tensors}
        if self.learner.magnet is not None:
            tensors["magnet"] = self.learner.magnet.weights()
        state = {
            "optimizer": groups,
            "random": random_state,
            "baselines": self.baselines.state(),
            "curriculum": self.curriculum.state(),
            "learner_step": self.learner.step,
            "version": self.engine.version(),
            "empty": self.empty,
        }
        pinned = (self.config.steps // 2 // self.config.save_every * self.config.save_every, self.config.steps)
        checkpoint.save(self.folder / "checkpoints", self.step, tensors, state, keep=KEPT, pinned=pinned)
        if self.store is not None:
            tasks = (*gone, *self.curriculum.entries.values(), *self.curriculum.refused)
            self.store.keep(self.config.name, tasks, self.curriculum.lineage.edges)

    def _agree(self) -> None:
        """See that all ranks are one: they compute alike, so nobody's weights are ever sent."""
        found = self.ranks.gather([self.step, self.engine.checksum()]) if self.ranks.size > 1 else []
        for rank, (step, weights) in enumerate(found):
            if [step, weights] != found[0]:
                raise TrainingStopped(
                    f"rank {rank} has weights {weights} of step {step}, rank 0 {found[0][1]} of step {found[0][0]}: "
                    "ranks must compute alike to the last byte; go on with ranks=1 in another folder"
                )

    def resume(self) -> None:
        """Go back to the newest whole checkpoint, if there is one; forget what was logged after it."""
        path, problems = checkpoint.latest(self.folder / "checkpoints")
        if path is not None:
            self.restore(checkpoint.load(path))
        self._agree()
        if self.store is None:
            return
        for problem in problems:
            self.store.event(self.config.name, "checkpoint passed over", {"reason": problem})
        metrics = self.folder / "metrics.jsonl"
        if metrics.exists():
            lines = metrics.read_text().splitlines()
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] < self.step]
            if kept != lines:
                part = metrics.with_suffix(".part")  # a kill in between must not cost the whole log
                part.write_text("".join(line + "\n" for line in kept))
                part.replace(metrics)

    def restore(self, saved: checkpoint.Checkpoint) -> None:
        """Become what `saved` was taken of."""
        load_weights(self.learner.parameters, saved)
        checkpoint.unpack_optimizer(self.learner.optimizer, saved.tensors["optimizer"], saved.state["optimizer"])
        checkpoint.set_rng_state(saved.state["random"], saved.tensors["random"])
        if self.learner.magnet is not None:
            self.learner.magnet.put(saved.tensors["magnet"])
        self.baselines.load(saved.state["baselines"])
        self.curriculum.load(saved.state["curriculum"])
        self.learner.step = int(saved.state["learner_step"])
        self.empty = int(saved.state["empty"])
        self.step = saved.step
        self.engine.renew("live", int(saved.state["version"]))


def load_weights(parameters: Mapping[str, torch.nn.Parameter], saved: checkpoint.Checkpoint) -> None:
    """Copy the saved weights into parameters of the same names; raises ValueError if the names differ."""
    found = saved.tensors["weights"]
    if found.keys() != parameters.keys():
        strange = sorted(found.keys() ^ parameters.keys())[0]
        raise ValueError(f"step {saved.step} was saved of another model or LoRA: {strange!r} is in one of them only")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(found[name])


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C is only noted; the second one raises at once."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, where signals go: then Ctrl-C isn't ours
        yield lambda: False
        return
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, before)


def duplicates(episodes: Sequence[Episode]) -> float:
    """The share of first replies that repeat, word for word, one of their peers': same role, same task or deal.

    Near 1 the samples of a group are copies, and there is nothing to compare.
    """
    first: Counter[tuple[str | int, str, str]] = Counter()
    for episode in episodes:
        said = {turn.seat: turn.reply for turn in reversed(episode.turns)}
        for seat, reply in said.items():
            first[episode.faced.get(seat, episode.seed), role_of(seat), reply] += 1
    return sum(count - 1 for count in first.values()) / max(1, first.total())

"""What a run has learned: its untrained start, its middle and its end, measured exactly where the game is small."""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from arena import config as configs
from arena import evaluation
from arena.agent import Agent, LLMAgent
from arena.cast import BASE, Cast
from arena.chat import Chat
from arena.commands import reach
from arena.engines import models
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from arena.evaluation import DEALS, Row, Trial
from arena.exact import Space
from arena.suited import Unsuited
from trainers import checkpoint, report
from trainers.config import TrainConfig
from trainers.learner import adapted
from trainers.rollout import Rollout
from trainers.train import load_weights


def run(run: Path, deals: int = DEALS, against: Sequence[str] = ()) -> dict[str, Any]:
    """Measure step 0, the middle and the last checkpoint of a run, print it, and note it in the run's report.json.

    `against` are the words of more opponents. The key `evaluation` of what is returned (and written) holds a row for
    each step, by its number as text.
    """
    policies = Policies(run)
    game = policies.rollout.game
    cast = Cast()
    for word in against:
        with suppress(Unsuited):  # `opponents` leaves it out, and says why
            cast.check(word, game)
    met, unmet = evaluation.opponents(game, {word: cast.agent(word) for word in against})
    space = evaluation.unfold(game, {role: policies.agent(role, 0) for role in policies.rollout.roles})
    rows = {}
    for step in policies.steps:
        row = asyncio.run(measure(policies, step, space, met, deals))
        rows[str(step)] = {**row, "left_out": {**row["left_out"], **unmet}}
    report.update(run / report.NAME, evaluation=rows)
    show(policies.config.name, rows)
    return report.read(run / report.NAME)


class Policies:
    """A run's untrained start and some of its checkpoints, each a policy of one engine, speaking as in training.

    The checkpoints are those `wanted`, or else the middle and the newest.
    """

    def __init__(self, run: Path, wanted: Sequence[int] = ()):
        self.config = configs.load(TrainConfig, run / "config.yaml")
        self.steps = sorted({0, *wanted}) if wanted else steps(run / "checkpoints")
        torch.set_num_threads(self.config.threads)
        model, tokenizer = models.load(models.find(self.config.model))
        model = adapted(model, self.config.lora, self.config.seed)
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        transformer = Transformer(model)
        self.engine = TorchEngine(transformer)
        for step in self.steps:
            if step:
                load_weights(trained, checkpoint.load(run / "checkpoints" / f"step_{step:06d}"))
                transformer.merge()
            self.engine.put(named(step), transformer.frozen(), step)
            if not step:
                self.engine.put(BASE, transformer.frozen())  # what seats of that word play
        self.rollout = Rollout(self.config, self.engine, Chat(tokenizer))

    def agent(self, role: str, step: int) -> LLMAgent:
        """The policy of a step at the seats of a role."""
        return replace(self.rollout.agent(role, named(step)), score_options=False)


def named(step: int) -> str:
    """The name of a step's policy."""
    return f"step_{step}"


def steps(checkpoints: Path) -> list[int]:
    """Step 0, the saved step nearest to the middle of the run, and the newest; two if nothing was saved in between."""
    newest, problems = checkpoint.latest(checkpoints)
    if newest is None:
        raise ValueError(f"{checkpoints} has no whole checkpoint: {'; '.join(problems) or 'train first'}")
    last = int(newest.name.rpartition("_")[2])
    between = [step for step in checkpoint.steps(checkpoints) if 0 < step < last]
    return sorted({0, last, *sorted(between, key=lambda step: (abs(2 * step - last), step))[:1]})


def settled(run: Path, last: int = 10) -> float:
    """The mean NashConv of the last so many steps, as measured while training."""
    lines = (run / "metrics.jsonl").read_text().splitlines()[-last:]
    return statistics.fmean(json.loads(line)["nash_conv"] for line in lines)


# -- measuring -----------------------------------------------------------------------------------------------------


async def measure(policies: Policies, step: int, space: Space | str, met: Mapping[str, Agent], deals: int) -> Row:
    """All that can be told of one step, and what the game adds."""
    rollout, config = policies.rollout, policies.config
    agents = {role: policies.agent(role, step) for role in rollout.roles}
    trial = Trial(rollout.game, agents, f"{config.name}, step {step}", deals, config.seed)
    row = await evaluation.measure(trial, space, met)
    if config.probe.evaluate:
        row |= await reach(config.probe.evaluate)(partial(rollout.agent, policy=named(step)), rollout.game)
    return row


def show(name: str, rows: Mapping[str, Row]) -> None:
    """The rows of a run's evaluation as tables."""
    evaluation.show(name, rows, "step")

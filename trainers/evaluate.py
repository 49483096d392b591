"""What a run has learned: its untrained start, its middle and its end, measured exactly where the game is small."""

from __future__ import annotations

import asyncio
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from arena import config as configs
from arena import solve, terminal
from arena.agent import Agent, LLMAgent, OracleAgent, RandomAgent
from arena.chat import Chat
from arena.engines import models
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from arena.game import Game
from arena.make import make
from arena.play import Job, play_many
from arena.seeding import derive
from arena.solve import Tree
from roles import Reply
from trainers import checkpoint, probe, report
from trainers.config import TrainConfig
from trainers.learner import adapted
from trainers.rollout import Rollout
from trainers.train import load_weights

DEALS = 200  # sampled games for each seat, opponent and step
NODES = 8000  # of the largest tree whose every information set is asked for
Z95 = statistics.NormalDist().inv_cdf(0.975)


def run(run: Path, deals: int = DEALS) -> dict[str, Any]:
    """Measure step 0, the middle and the last checkpoint of a run, print it, and note it in the run's report.json.

    The key `evaluation` of what is returned (and written) holds a row for each step, by its number as text.
    """
    policies = Policies(run)
    tree = enumerable(policies.rollout)
    rows = {}
    for step in policies.steps:
        terminal.note(f"{run}: measuring step {step}")
        rows[str(step)] = asyncio.run(measure(policies, step, tree, deals))
    report.update(run / report.NAME, evaluation=rows)
    show(policies.config.name, rows)
    return report.read(run / report.NAME)


class Policies:
    """A run's untrained start and some of its checkpoints, each a policy of one engine, speaking as in training."""

    def __init__(self, run: Path):
        self.config = configs.load(TrainConfig, run / "config.yaml")
        self.steps = steps(run / "checkpoints")
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


async def measure(policies: Policies, step: int, tree: Tree | None, deals: int) -> dict[str, Any]:
    """All that can be told of one step: nash_conv, illegal_games, of a team its return beside the best one, vs_random,
    vs_equilibrium, and what the game adds."""
    rollout, config = policies.rollout, policies.config
    row: dict[str, Any] = {}
    if tree is not None:
        agents = {role: policies.agent(role, step) for role in rollout.roles}
        table = await probe.strategy(tree, agents)
        row["nash_conv"] = solve.nash_conv(tree, table)
        row["illegal_games"] = probe.illegal_games(tree, table)
        row["illegal_mass"] = probe.illegal_mass(table)
        row |= probe.team(tree, table)
        row["vs_random"] = {"exact": exact(tree, table, solve.uniform(tree))}
        if None not in tree.oracle:
            row["vs_equilibrium"] = {"exact": exact(tree, table, solve.oracle_policy(tree))}
    for name, opponent in opponents(rollout.game).items():
        row.setdefault(name, {})["sampled"] = await sampled(policies, step, opponent, deals)
    if config.probe.evaluate:
        module, _, name = config.probe.evaluate.partition(":")
        row |= await getattr(import_module(module), name)(partial(rollout.agent, policy=named(step)), rollout.game)
    return row


def enumerable(rollout: Rollout) -> Tree | None:
    """The game's tree if it is small, the policy plays all of it, and the odds of replies are exact; else None."""
    info = rollout.game.info
    speak = [role.reply is Reply.legal or role.sampling.temperature == 1 for role in rollout.roles.values()]
    if not (info.zero_sum or info.cooperative) or rollout.roles.keys() != rollout.game.roles.keys() or not all(speak):
        return None
    try:
        return solve.tree(make(rollout.config.game.name, **rollout.config.game.params), limit=NODES)
    except ValueError:  # its way of saying: too many nodes, or chances and moves that can't be listed
        return None


def exact(tree: Tree, mine: solve.Policy, theirs: solve.Policy) -> dict[str, float]:
    """The expected return in every seat, and their `mean`."""
    found = solve.against(tree, mine, theirs)
    return {**found, "mean": statistics.fmean(found.values())}


def opponents(game: Game) -> dict[str, Agent]:
    """Fixed players to measure against, where the returns of a game say who plays better."""
    if not (game.info.zero_sum or game.info.cooperative):
        return {}
    game.reset(seed=0)
    perfect = bool(game.oracle(game.acting[0]))
    return {"vs_random": RandomAgent(), **({"vs_equilibrium": OracleAgent()} if perfect else {})}


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval, by the normal distribution over `n` independent deals, at least 2."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Estimate:
        mean = statistics.fmean(samples)
        half = Z95 * statistics.stdev(samples) / math.sqrt(len(samples))
        return cls(mean, mean - half, mean + half, len(samples))


async def sampled(policies: Policies, step: int, opponent: Agent, deals: int) -> dict[str, dict[str, float]]:
    """The return in every learned seat with the opponent in all others, and the `mean` over seats of each deal.

    Every seat, step and opponent gets the same deals, so that luck of the cards cancels in comparisons.
    """
    rollout, config = policies.rollout, policies.config
    seats = [seat for seat in rollout.game.possible_agents if seat.rpartition("_")[0] in rollout.roles]
    jobs = [
        Job(
            make(config.game.name, **config.game.params),
            {
                other: policies.agent(seat.rpartition("_")[0], step) if other == seat else opponent
                for other in rollout.game.possible_agents
            },
            seed=derive(config.seed, "evaluate", deal),
            stream=(config.seed, "evaluate", seat),
        )
        for deal in range(deals)
        for seat in seats
    ]
    episodes = await play_many(jobs, concurrency=len(jobs))
    returns = [episode.returns[seats[i % len(seats)]] for i, episode in enumerate(episodes)]
    broken = next((episode.reason for episode in episodes if episode.ending == "infra"), None)
    if broken is not None:
        raise RuntimeError(f"a game broke off while step {step} was measured: {broken}")
    whole = [value for value in returns if value is not None]
    by_seat = {seat: whole[i :: len(seats)] for i, seat in enumerate(seats)}
    by_seat["mean"] = [statistics.fmean(deal) for deal in zip(*by_seat.values(), strict=True)]
    return {name: vars(Estimate.of(samples)) for name, samples in by_seat.items()}


# -- showing -------------------------------------------------------------------------------------------------------


def show(name: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """The rows of an evaluation as tables."""
    plain = list(dict.fromkeys(key for row in rows.values() for key, value in row.items() if isinstance(value, float)))
    terminal.say(f"\n{name}:")
    terminal.table(("step", *plain), [(int(step), *(row[key] for key in plain)) for step, row in rows.items()])
    played = [
        (int(step), key.removeprefix("vs_"), seat, exact_text(row[key], seat), interval(estimate))
        for key in dict.fromkeys(key for row in rows.values() for key in row if key.startswith("vs_"))
        for step, row in rows.items()
        for seat, estimate in row[key]["sampled"].items()
    ]
    if played:
        columns = ("step", "against", "seat", "exact return", "sampled, 95 % interval")
        terminal.table(columns, played)


def exact_text(value: Mapping[str, Any], seat: str) -> str:
    return f"{value['exact'][seat]:+.3f}" if "exact" in value else ""


def interval(estimate: Mapping[str, float]) -> str:
    return f"{estimate['mean']:+.3f} [{estimate['low']:+.3f}, {estimate['high']:+.3f}]"

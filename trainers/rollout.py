"""The games of one step: who sits where, what is dealt, and all of it played at once."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

from arena.agent import Agent, LLMAgent
from arena.cast import BASE, POLICY, Cast
from arena.chat import Chat
from arena.curriculum import Curriculum
from arena.engines import Engine
from arena.make import make
from arena.play import Job, play_many
from arena.seeding import derive
from arena.types import Episode, Task, role_of
from roles import Role
from roles import load as load_role
from trainers.config import TrainConfig
from trainers.ranks import ALONE, Ranks


class Rollout:
    """Plays the games of a run; `roles` are those of the seats where the model sits, `agents` sit by role."""

    def __init__(self, config: TrainConfig, engine: Engine, chat: Chat):
        self.config, self.engine, self.chat = config, engine, chat
        self.game = make(config.game.name, **config.game.params)
        missing = [role for role in self.game.roles if role not in config.seats]
        if missing:
            raise ValueError(f"seats has nobody for {', '.join(missing)} of {config.game.name}: add seats.{missing[0]}")
        self.roles: dict[str, Role] = {}
        self.agents: dict[str, Agent] = {}
        cast = Cast()
        for name, seat in config.seats.items():
            role = load_role(seat.role, **seat.changes)
            if seat.agent == BASE:
                role = replace(role, policy=BASE, train=False)
            if seat.agent in (POLICY, BASE):
                self.roles[name] = role
                self.agents[name] = self.agent(name)
            else:
                self.agents[name] = cast.agent(seat.agent)

    def learning(self, step: int) -> list[str]:
        """The roles whose seats are trained in a step."""
        seats = self.config.seats
        return [
            name
            for name, role in self.roles.items()
            if role.train and step >= seats[name].first and (step - seats[name].first) % seats[name].every == 0
        ]

    def agent(self, role: str, policy: str = "live", temperature: float | None = None) -> LLMAgent:
        """The model in a seat of `role`, as in training or at another temperature; a frozen role keeps its policy."""
        own = self.roles[role]
        if own.policy == BASE:
            policy = BASE
        if temperature is not None:
            own = replace(own, sampling=replace(own.sampling, temperature=temperature))
        return LLMAgent(policy, own, self.engine, self.chat, policy, self.config.rollout.score_options)

    def jobs(self, step: int, curriculum: Curriculum | None = None) -> list[Job]:
        """The games of a step: every deal `samples` times, each with random numbers of its own.

        After each come its `resamples`, in which one learning seat draws new ones. The first deals take tasks of the
        `curriculum`, up to the share that its config gives to the past; the others show some of it to who proposes.
        """
        config = self.config
        tasks: list[Task | None] = []
        if curriculum is not None:
            rng = random.Random(derive(config.seed, step, "curriculum"))
            tasks += curriculum.choose(round(config.curriculum.past * config.rollout.deals), rng)
            tasks += [curriculum.past(rng) for _ in range(config.rollout.deals - len(tasks))]
        return [
            Job(
                make(config.game.name, **config.game.params),
                self.agents,
                seed=derive(config.seed, step, deal),
                task=tasks[deal] if tasks else None,
                stream=(config.seed, step, sample),
                apart=apart,
            )
            for deal in range(config.rollout.deals)
            for sample in range(config.rollout.samples)
            for apart in self._apart(step)
        ]

    def _apart(self, step: int) -> list[dict[str, int]]:
        """Who draws new random numbers in each game of one sample: nobody in the first."""
        learning = self.learning(step) if self.config.rollout.resamples else []
        seats = [seat for seat in self.game.possible_agents if role_of(seat) in learning]
        return [{}, *({seat: i} for seat in seats for i in range(self.config.rollout.resamples))]

    def play(self, step: int, ranks: Ranks = ALONE, curriculum: Curriculum | None = None) -> list[Episode]:
        """The episodes of a step, in the order of the jobs; of several ranks each plays a share and hears the rest."""
        jobs = ranks.share(self.jobs(step, curriculum))
        episodes = asyncio.run(play_many(jobs, concurrency=len(jobs)))
        if ranks.size == 1:
            return episodes
        parts = ranks.gather([episode.to_json() for episode in episodes])
        return [Episode.from_json(record) for part in parts for record in part]

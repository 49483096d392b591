"""Our side of bench/rollout.py: whole games by `TorchEngine`, timed, and every request of them written down."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # before bench/, whose arena.py is not the package

import torch
from contender import answer
from machine import versions

import roles
from arena.agent import LLMAgent
from arena.chat import Chat
from arena.engines import Completion, Decoding, Engine, models
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from arena.make import make
from arena.play import Job, play_many
from arena.types import Episode

Request = dict[str, Any]  # prompt, max_tokens, stop: what any engine needs to know


class Recorder:
    """The engine as one game sees it. `asked` holds each request with its wave: how many replies had to come first."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.asked: list[tuple[int, Request]] = []
        self.sampled = 0
        self._replied = 0

    async def generate(
        self, ids: Sequence[int], decoding: Decoding, *, policy: str = "live", seed: int = 0
    ) -> Completion:
        wave = self._replied
        request = {"prompt": list(ids), "max_tokens": decoding.max_tokens, "stop": sorted(decoding.stop)}
        self.asked.append((wave, request))
        reply = await self.engine.generate(ids, decoding, policy=policy, seed=seed)
        self._replied = max(self._replied, wave + 1)
        self.sampled += len(reply.ids)
        return reply

    async def score(
        self, ids: Sequence[int], replies: Sequence[Sequence[int]], *, policy: str = "live"
    ) -> list[list[float]]:
        return await self.engine.score(ids, replies, policy=policy)

    def version(self, policy: str = "live") -> int:
        return self.engine.version(policy)


def waves(recorders: Sequence[Recorder]) -> list[list[Request]]:
    """All requests by wave, in a wave by game: those of one wave could be asked at once."""
    asked = [pair for recorder in recorders for pair in recorder.asked]
    count = max((wave for wave, _ in asked), default=-1) + 1
    return [[request for wave, request in asked if wave == w] for w in range(count)]


def games(work: Mapping[str, Any], engine: Engine, chat: Chat) -> tuple[list[Job], list[Recorder]]:
    """The games of a work, each with a deal and a recorder of its own."""
    jobs, recorders = [], []
    for seed in range(work["games"]):
        recorder = Recorder(engine)
        cast = {seat: LLMAgent("policy", roles.load(role), recorder, chat) for seat, role in work["seats"].items()}
        jobs.append(Job(make(work["game"], **work["params"]), cast, seed=seed))
        recorders.append(recorder)
    return jobs, recorders


def measure(work: Mapping[str, Any], engine: TorchEngine, chat: Chat, repeats: int) -> dict[str, Any]:
    """Play a work `repeats` times, each time from an empty cache. Raises RuntimeError if the games differ."""
    seconds, found = [], None
    asyncio.run(play_many(games({**work, "games": 1}, engine, chat)[0], concurrency=1))  # warms the libraries up
    for _ in range(repeats):
        engine.renew("live", engine.version() + 1)
        jobs, recorders = games(work, engine, chat)
        before, started = engine.usage.copy(), time.perf_counter()
        episodes = asyncio.run(play_many(jobs, concurrency=len(jobs)))
        seconds.append(time.perf_counter() - started)
        used, asked = engine.usage.since(before), waves(recorders)
        if found is not None and found != asked:
            raise RuntimeError(f"{work['game']}: the same seeds played other games the second time")
        found = asked
    return {
        "waves": found,
        "seconds": seconds,
        "sampled_tokens": sum(recorder.sampled for recorder in recorders),
        "forwarded_tokens": used.forwarded,
        "illegal": sum(episode.illegal for episode in _whole(episodes)) / len(episodes),
    }


def _whole(episodes: Sequence[Episode]) -> Sequence[Episode]:
    for episode in episodes:
        if episode.ending == "infra":
            raise RuntimeError(f"a game of {episode.game} broke: {episode.reason}")
    return episodes


def main(asked: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(asked["threads"])
    folder = models.find(asked["model"])
    model, tokenizer = models.load(folder)
    engine, chat = TorchEngine(Transformer(model.requires_grad_(False))), Chat(tokenizer)
    works = {name: measure(work, engine, chat, asked["repeats"]) for name, work in asked["works"].items()}
    return {"works": works, "folder": str(folder), "versions": versions("torch", "transformers", "numpy")}


if __name__ == "__main__":
    answer(main)

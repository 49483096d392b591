"""A peer's side of bench/rollout.py: the recorded waves, asked again one after another.

Only the standard library is used, as in machine.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Request = dict[str, Any]  # prompt, max_tokens, stop
Generate = Callable[[Sequence[Request]], int]  # answers one wave; how many ids it sampled


def replay(
    works: Mapping[str, Sequence[Sequence[Request]]], generate: Generate, forget: Callable[[], None], repeats: int
) -> dict[str, Any]:
    """Seconds of each repeat and ids sampled in the last one, by work; `forget` empties caches before each."""
    found: dict[str, Any] = {}
    for name, waves in works.items():
        seconds, sampled = [], 0
        generate(waves[0][:1])  # warms the libraries up
        for _ in range(repeats):
            forget()
            started = time.perf_counter()
            sampled = sum(generate(wave) for wave in waves)
            seconds.append(time.perf_counter() - started)
        found[name] = {"seconds": seconds, "sampled_tokens": sampled}
    return found


def alike(wave: Sequence[Request], most: int) -> Iterator[list[Request]]:
    """The requests of a wave in batches of equal limit and stops, up to `most` in each."""
    kinds: dict[tuple[int, tuple[int, ...]], list[Request]] = {}
    for request in wave:
        kinds.setdefault((request["max_tokens"], tuple(request["stop"])), []).append(request)
    for kind in kinds.values():
        for first in range(0, len(kind), most):
            yield kind[first : first + most]

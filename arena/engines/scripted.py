"""An engine without a model: it says what it is told to say. For tests and for showing how things work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from arena.engines import Completion, ContextFull, Decoding

Speak = Callable[[Sequence[int], int], str]
Weigh = Callable[[Sequence[int], Sequence[int]], Sequence[float]]


class ScriptedEngine:
    """Replies in order, or from a function of the prompt's ids and the seed.

    `encode` turns a reply into ids (`Chat.encode`). A reply that meets no stop id before its end gets `end`, where that
    is given and there is room. `weigh` gives the log-probability of each id of a reply after a prompt, -1 by default.
    `limit` is how many tokens prompt and reply may have together (0: any number).
    """

    def __init__(
        self,
        encode: Callable[[str], Sequence[int]],
        replies: Iterable[str] | Speak,
        *,
        end: int | None = None,
        weigh: Weigh | None = None,
        limit: int = 0,
    ):
        self.encode, self.end, self.limit = encode, end, limit
        self.weigh: Weigh = weigh or (lambda ids, reply: [-1.0] * len(reply))
        self._speak: Speak | None = replies if callable(replies) else None
        self._replies: Iterator[str] = iter(()) if callable(replies) else iter(replies)
        self._versions = {"live": 0}
        self.asked: list[tuple[tuple[int, ...], Decoding, int]] = []  # (prompt, decoding, seed) of every request

    async def generate(
        self, ids: Sequence[int], decoding: Decoding, *, policy: str = "live", seed: int = 0
    ) -> Completion:
        version = self._versions[policy]
        self._fit(len(ids) + decoding.max_tokens)
        self.asked.append((tuple(ids), decoding, seed))
        text = self._speak(ids, seed) if self._speak else next(self._replies, None)
        if text is None:
            raise ValueError(f"the script has {len(self.asked) - 1} replies and is asked for one more: add it")
        reply = [*self.encode(text)]
        if self.end is not None:
            reply.append(self.end)
        ends = [i for i, token in enumerate(reply) if token in decoding.stop]
        reply = reply[: ends[0] + 1] if ends else reply
        reply = reply[: decoding.max_tokens]
        stopped = bool(reply) and reply[-1] in decoding.stop
        return Completion(tuple(reply), tuple(self.weigh(ids, reply)), version, "stop" if stopped else "length")

    async def score(
        self, ids: Sequence[int], replies: Sequence[Sequence[int]], *, policy: str = "live"
    ) -> list[list[float]]:
        self.version(policy)
        self._fit(len(ids) + max(map(len, replies), default=0))
        return [list(self.weigh(ids, reply)) for reply in replies]

    def version(self, policy: str = "live") -> int:
        return self._versions[policy]

    def load(self, policy: str, weights: Weigh, version: int) -> str:
        """The `weights` of this engine are its `weigh`; there is nothing cached, and the checksum is the version."""
        self.weigh = weights
        self._versions[policy] = version
        return f"{version:016x}"

    def _fit(self, needed: int) -> None:
        if self.limit and needed > self.limit:
            raise ContextFull(needed, self.limit)

"""The embedded engine: continuous batching over a token tree, on the very weights that the learner trains."""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arena.engines import Completion, ContextFull, Decoding
from arena.engines.product import product
from arena.engines.transformer import Cache, Transformer
from arena.engines.tree import TokenTree

# Event-loop turns without a new request after which the engine takes a step: enough for every game whose reply has
# just come to play it and ask for the next one, so what is batched never depends on the clock.
QUIET = 6


@dataclass
class Usage:
    """What the engine has done since it was made. Tokens are counts, `seconds` is time spent computing.

    prompt: prompt ids of all requests; sampled: ids of all completions; forwarded: distinct tokens that went through
    the layers; rows: distinct positions that went through the head; flops: multiply-adds x 2 of both and of attention.
    """

    prompt: int = 0
    sampled: int = 0
    forwarded: int = 0
    rows: int = 0
    flops: float = 0.0
    seconds: float = 0.0

    def since(self, past: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) - getattr(past, name) for name in vars(self)})

    def copy(self) -> Usage:
        return Usage(**vars(self))


@dataclass(eq=False)
class _Draw:
    """A completion being sampled; `node` is the last node of its text, `room` how many ids it may still take."""

    future: asyncio.Future[Completion]
    node: int
    decoding: Decoding
    rng: random.Random
    room: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def tips(self) -> tuple[int, ...]:
        return (self.node,)


@dataclass(eq=False)
class _Score:
    """Replies being scored: `edges[r]` lists (node, next id) along reply r."""

    future: asyncio.Future[list[list[float]]]
    edges: list[list[tuple[int, int]]]
    tips: tuple[int, ...]


class _Session:
    """One policy's weights with its token tree, its cache and its pending requests."""

    def __init__(self, model: Transformer):
        self.model = model
        self.version = 0
        self.draws: list[_Draw] = []
        self.scores: list[_Score] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything computed, and free its memory."""
        self.model.unpack()
        self.packed = False
        self.tree = TokenTree()
        self.ends: dict[tuple[int, ...], int] = {}  # the last node of each whole prompt
        self.cache = Cache(self.model)
        self.computed = 0  # nodes [0, computed) have keys, values and hidden states

    def tip(self, ids: Sequence[int]) -> int:
        """The last node of a prompt."""
        key = tuple(ids)
        node = self.ends.get(key)
        if node is None:
            node = self.ends[key] = self.tree.add(key)
        return node

    @property
    def busy(self) -> bool:
        return bool(self.draws or self.scores)

    def futures(self) -> list[asyncio.Future[Any]]:
        return [draw.future for draw in self.draws] + [score.future for score in self.scores]


class TorchEngine:
    """Torch on CPU or one GPU, several named policies, nothing computed twice.

    All pending prompts of a policy share one token tree, whose keys, values and final hidden states are kept from turn
    to turn until the weights change. `step_tokens` bounds the tokens of one forward pass, `cache_tokens` the nodes kept
    while no pending request stands on them.
    """

    def __init__(self, model: Transformer, *, step_tokens: int = 512, cache_tokens: int = 32768):
        self._sessions = {"live": _Session(model)}
        self._step_tokens, self._cache_tokens = step_tokens, cache_tokens
        self._runner: asyncio.Task[None] | None = None
        self._arrivals = 0
        self.usage = Usage()

    # -- the protocol ----------------------------------------------------------------------------------------------

    async def generate(
        self, ids: Sequence[int], decoding: Decoding, *, policy: str = "live", seed: int = 0
    ) -> Completion:
        session = self._session(policy)
        self._check(ids, decoding.max_tokens, session)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        draw = _Draw(future, session.tip(ids), decoding, random.Random(seed), decoding.max_tokens)
        if draw.room < 1:
            return Completion((), (), session.version, "length")
        session.draws.append(draw)
        self._arrived(len(ids))
        return await future

    async def score(
        self, ids: Sequence[int], replies: Sequence[Sequence[int]], *, policy: str = "live"
    ) -> list[list[float]]:
        session = self._session(policy)
        self._check(ids, max((len(reply) for reply in replies), default=0), session)
        future: asyncio.Future[list[list[float]]] = asyncio.get_running_loop().create_future()
        tip = session.tip(ids)
        edges = [self._edges(session.tree, tip, reply) for reply in replies]
        tips = (tip, *(reply[-1][0] for reply in edges if reply))
        session.scores.append(_Score(future, edges, tips))
        self._arrived(len(ids))
        return await future

    # -- weights ---------------------------------------------------------------------------------------------------

    def put(self, policy: str, model: Transformer, version: int = 0) -> str:
        """Add or replace a policy; its checksum."""
        if policy in self._sessions and self._sessions[policy].busy:
            raise RuntimeError(f"policy {policy!r} has requests in flight: its weights can't be swapped under them")
        self._sessions[policy] = _Session(model)
        self._sessions[policy].version = version
        return self.checksum(policy)

    def renew(self, policy: str, version: int) -> None:
        """The weights that `policy` shares with the learner have changed: forget all that came of the old ones."""
        session = self._session(policy)
        if session.busy:
            raise RuntimeError(f"policy {policy!r} has requests in flight: its weights can't change under them")
        session.model.merge()
        session.clear()
        session.version = version

    def rest(self) -> None:
        """Free what was computed for idle policies, so that a learner has the memory."""
        for session in self._sessions.values():
            if not session.busy:
                session.clear()

    def drop(self, policy: str) -> None:
        """Forget a policy."""
        if self._session(policy).busy:
            raise RuntimeError(f"policy {policy!r} has requests in flight: they would wait for ever")
        del self._sessions[policy]

    def version(self, policy: str = "live") -> int:
        return self._session(policy).version

    def checksum(self, policy: str = "live") -> str:
        """A checksum of the weights that the forward pass of `policy` multiplies with, as 8 hex digits."""
        return checksum(self._session(policy).model)

    # -- the loop --------------------------------------------------------------------------------------------------

    def _session(self, policy: str) -> _Session:
        try:
            return self._sessions[policy]
        except KeyError:
            raise KeyError(f"policy {policy!r} is not loaded: there are {', '.join(sorted(self._sessions))}") from None

    @staticmethod
    def _check(ids: Sequence[int], more: int, session: _Session) -> None:
        if not ids:
            raise ValueError("an empty prompt has no last token to continue: give at least one id")
        if len(ids) + more > session.model.context:
            raise ContextFull(len(ids) + more, session.model.context)

    @staticmethod
    def _edges(tree: TokenTree, tip: int, reply: Sequence[int]) -> list[tuple[int, int]]:
        edges, node = [], tip
        for i, token in enumerate(reply):
            edges.append((node, token))
            if i + 1 < len(reply):
                node = tree.add((token,), node)
        return edges

    def _arrived(self, prompt: int) -> None:
        self._arrivals += 1
        self.usage.prompt += prompt
        loop = asyncio.get_running_loop()
        if self._runner is None or self._runner.done() or self._runner.get_loop() is not loop:
            self._runner = loop.create_task(self._run())

    async def _run(self) -> None:
        try:
            while any(session.busy for session in self._sessions.values()):
                await self._settle()
                for session in self._sessions.values():
                    if session.busy:
                        self._step(session)
        except BaseException as error:
            # Nobody may be left waiting for a reply that never comes.
            cause = error if isinstance(error, Exception) else asyncio.CancelledError()
            for session in self._sessions.values():
                for future in session.futures():
                    if not future.done():
                        future.set_exception(cause)
                session.draws, session.scores = [], []
            if not isinstance(error, Exception):
                raise

    async def _settle(self) -> None:
        quiet = 0
        while quiet < QUIET:
            before = self._arrivals
            await asyncio.sleep(0)
            quiet = quiet + 1 if before == self._arrivals else 0

    def _step(self, session: _Session) -> None:
        """Forward what is new in the tree, then sample or score wherever the last node is known."""
        started = time.perf_counter()
        session.draws = [draw for draw in session.draws if not draw.future.done()]
        session.scores = [score for score in session.scores if not score.future.done()]
        with torch.inference_mode():
            self._make_room(session)
            self._forward(session)
            self._sample(session)
            self._finish_scores(session)
        self.usage.seconds += time.perf_counter() - started

    def _make_room(self, session: _Session) -> None:
        """Once the tree has outgrown the cache, keep only the nodes that pending requests stand on."""
        if len(session.tree) > max(self._cache_tokens, session.cache.slots // 2) and session.computed:
            requests: list[_Draw | _Score] = [*session.draws, *session.scores]
            tips = [tip for request in requests for tip in request.tips]
            order = session.tree.keep(tips)
            session.ends.clear()
            computed = int(np.searchsorted(order, session.computed))
            session.cache.move(torch.from_numpy(order[:computed]))
            new = {int(old): i for i, old in enumerate(order)}
            for draw in session.draws:
                draw.node = new[draw.node]
            for score in session.scores:
                score.edges = [[(new[node], token) for node, token in reply] for reply in score.edges]
                score.tips = tuple(new[tip] for tip in score.tips)
            session.computed = computed

    def _forward(self, session: _Session) -> None:
        tree, cache, model = session.tree, session.cache, session.model
        start, stop = session.computed, min(len(tree), session.computed + self._step_tokens)
        if start == stop:
            return
        if not session.packed:
            model.pack()
            session.packed = True
        cache.reserve(len(tree))
        plan = tree.plan(range(start, stop))
        ids, depths = torch.tensor(tree.ids[start:stop]), torch.tensor(tree.depths[start:stop])
        slots = torch.arange(start, stop)
        device = model.device
        model.forward(ids.to(device), depths.to(device), plan, cache, slots.to(device))
        session.computed = stop
        self.usage.forwarded += stop - start
        self.usage.flops += 2.0 * (stop - start) * model.parameters_per_token
        self.usage.flops += 4.0 * plan.pairs * model.heads * model.head_width * len(model.layers)

    def _logp(self, session: _Session, nodes: Sequence[int], temperature: float) -> Tensor:
        """log p(next | text of node) at `temperature` (0: at 1) [len(nodes), V]."""
        model = session.model
        logits = product(session.cache.hidden[torch.tensor(nodes, device=model.device)], model.head)
        self.usage.rows += len(nodes)
        self.usage.flops += 2.0 * len(nodes) * model.head.numel()
        if temperature not in (0.0, 1.0):
            logits /= temperature
        return torch.log_softmax(logits.float(), -1)

    def _sample(self, session: _Session) -> None:
        ready: dict[float, dict[int, list[_Draw]]] = {}
        for draw in session.draws:
            if draw.node < session.computed:
                ready.setdefault(draw.decoding.temperature, {}).setdefault(draw.node, []).append(draw)
        for temperature, by_node in ready.items():
            nodes = list(by_node)
            for first in range(0, len(nodes), 128):  # bounds the logits held at once
                part = nodes[first : first + 128]
                logp = self._logp(session, part, temperature)
                drawn = _draw(logp, [by_node[node] for node in part], temperature)
                for node, picks in zip(part, drawn, strict=True):
                    for draw, (token, value) in zip(by_node[node], picks, strict=True):
                        self._take(session, draw, token, value)
        session.draws = [draw for draw in session.draws if not draw.future.done()]

    def _take(self, session: _Session, draw: _Draw, token: int, logprob: float) -> None:
        draw.ids.append(token)
        draw.logprobs.append(logprob)
        self.usage.sampled += 1
        draw.room -= 1
        stopped = token in draw.decoding.stop
        if stopped or draw.room == 0:
            stop = "stop" if stopped else "length"
            draw.future.set_result(Completion(tuple(draw.ids), tuple(draw.logprobs), session.version, stop))  # type: ignore[arg-type]
        else:
            draw.node = session.tree.add((token,), draw.node)

    def _finish_scores(self, session: _Session) -> None:
        ready = [score for score in session.scores if all(tip < session.computed for tip in score.tips)]
        edges = list(dict.fromkeys(edge for score in ready for reply in score.edges for edge in reply))
        nodes = list(dict.fromkeys(node for node, _ in edges))
        row = {node: i for i, node in enumerate(nodes)}
        values: dict[tuple[int, int], float] = {}
        for first in range(0, len(nodes), 128):
            logp = self._logp(session, nodes[first : first + 128], 1.0)
            part = [(node, token) for node, token in edges if first <= row[node] < first + 128]
            rows, tokens = ([row[node] - first for node, _ in part], [token for _, token in part])
            values.update(zip(part, logp[rows, tokens].tolist(), strict=True))
        for score in ready:
            score.future.set_result([[values[edge] for edge in reply] for reply in score.edges])
        session.scores = [score for score in session.scores if not score.future.done()]


def _draw(logp: Tensor, draws: Sequence[Sequence[_Draw]], temperature: float) -> list[list[tuple[int, float]]]:
    """For every row of logp [R, V], one (id, logprob) for each of its draws: by the inverse of the distribution
    function at the request's own uniform number, so that no other request can change it."""
    if temperature == 0.0:
        best = logp.argmax(-1)
        values = logp.gather(1, best[:, None])[:, 0].tolist()
        return [[(token, value)] * len(row) for token, value, row in zip(best.tolist(), values, draws, strict=True)]
    cumulative = logp.exp().cumsum_(-1).cpu().numpy()
    picks = []
    for mass, row in zip(cumulative, draws, strict=True):
        # Scaled by the true total and found from the right: an id of no mass is never drawn.
        uniform = (np.array([draw.rng.random() for draw in row]) * float(mass[-1])).astype(np.float32)
        found = np.searchsorted(mass, np.minimum(uniform, np.nextafter(mass[-1], np.float32(0))), "right")
        picks.append(found.tolist())
    rows = [r for r, row in enumerate(picks) for _ in row]
    values = logp[rows, [token for row in picks for token in row]].tolist()
    flat = iter(values)
    return [[(token, next(flat)) for token in row] for row in picks]


def checksum(model: Transformer) -> str:
    """CRC of the sums of the bit patterns of all weights of the forward pass: cheap, and any changed bit changes it."""
    crc = 0
    for weight in model.weights().values():
        bits = weight.detach().contiguous().view(torch.int32 if weight.element_size() == 4 else torch.int16)
        crc = zlib.crc32(int(bits.sum(dtype=torch.int64)).to_bytes(8, "big", signed=True), crc)
    return f"{crc:08x}"

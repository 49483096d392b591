"""Rows packed as token trees: what is forwarded and back-propagated once, however many rows share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from arena.engines.transformer import Transformer
from arena.engines.tree import TokenTree
from trainers.batch import Batch
from trainers.head import head


@dataclass(frozen=True)
class Pack:
    """One micro-batch: the distinct tokens of some rows and where their trained tokens and options lie among them.

    A site is a (node, temperature) whose next-token distribution is needed, an edge a (site, next id). `tokens` are the
    indices into the batch of the trained tokens, `token_edge` the edge of each. `decisions` are indices of decisions,
    `option_edges[i][a]` the edges along option a of the i-th of them.
    """

    tree: TokenTree
    site_node: Tensor  # int64 [S]
    temperature: Tensor  # float32 [S]
    edge_site: Tensor  # int64 [E], ascending
    edge_token: Tensor  # int64 [E]
    tokens: Tensor  # int64 [M]
    token_edge: Tensor  # int64 [M]
    decisions: tuple[int, ...]
    option_edges: tuple[tuple[Tensor, ...], ...]

    @property
    def token_site(self) -> Tensor:
        """The site of each trained token, int64 [M]."""
        return self.edge_site[self.token_edge]

    def forward(self, model: Transformer) -> tuple[Tensor, Tensor]:
        """log p of every edge [E] and the entropy of every site [S] under `model`, in nats."""
        device = model.device
        nodes = len(self.tree)
        ids, depths = torch.tensor(self.tree.ids, device=device), torch.tensor(self.tree.depths, device=device)
        hidden = model.forward(ids, depths, self.tree.plan(range(nodes)))
        sites = (self.site_node, self.temperature, self.edge_site, self.edge_token)
        node, temperature, site, token = (x.to(device) for x in sites)
        return head(hidden.index_select(0, node), model.head, temperature.to(model.dtype), site, token)


class _Builder:
    """A pack that grows row by row."""

    def __init__(self) -> None:
        self.tree = TokenTree()
        self.edges: dict[tuple[int, float, int], int] = {}
        self.tokens: list[int] = []
        self.token_edge: list[int] = []
        self.decisions: list[int] = []
        self.options: list[list[list[int]]] = []

    def edge(self, node: int, temperature: float, token: int) -> int:
        return self.edges.setdefault((node, temperature, token), len(self.edges))

    def add(self, batch: Batch, row: int, decisions: Sequence[int]) -> None:
        start, stop = int(batch.starts[row]), int(batch.starts[row + 1])
        ids = batch.tokens[start:stop].tolist()
        trained = np.flatnonzero(batch.mask[start:stop])
        if len(trained) and trained[0] == 0:
            raise ValueError(f"{batch.name(start)}: its first token is trained, but nothing comes before it")
        reach = max(int(trained[-1]) if len(trained) else 0, *(batch.decisions[d].at for d in decisions), 0)
        path = self.tree.path(self.tree.add(ids[:reach])) if reach else np.empty(0, np.int64)
        for t in trained.tolist():
            self.tokens.append(start + t)
            self.token_edge.append(self.edge(int(path[t - 1]), float(batch.temperature[start + t]), ids[t]))
        for d in decisions:
            decision = batch.decisions[d]
            self.decisions.append(d)
            self.options.append([self._along(int(path[decision.at - 1]), option) for option in decision.options])

    def _along(self, node: int, option: Sequence[int]) -> list[int]:
        found = []
        for i, token in enumerate(option):
            found.append(self.edge(node, 1.0, token))
            if i + 1 < len(option):
                node = self.tree.add((token,), node)
        return found

    def pack(self) -> Pack:
        sites = {site: i for i, site in enumerate(dict.fromkeys((n, t) for n, t, _ in self.edges))}
        unsorted = np.array([sites[n, t] for n, t, _ in self.edges], np.int64)
        order = np.argsort(unsorted, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        tokens = np.array([token for _, _, token in self.edges], np.int64)
        return Pack(
            self.tree,
            torch.tensor([n for n, _ in sites], dtype=torch.int64),
            torch.tensor([t for _, t in sites], dtype=torch.float32),
            torch.from_numpy(unsorted[order]),
            torch.from_numpy(tokens[order]),
            torch.tensor(self.tokens, dtype=torch.int64),
            torch.from_numpy(place[np.array(self.token_edge, np.int64)]),
            tuple(self.decisions),
            tuple(tuple(torch.from_numpy(place[np.array(o, np.int64)]) for o in several) for several in self.options),
        )


def packs(batch: Batch, limit: int) -> Iterator[Pack]:
    """The rows of `batch` in packs of about `limit` distinct tokens (one row may be longer).

    Rows are taken in the order of their tokens, so those that share a prefix meet in one pack.
    """
    by_row: dict[int, list[int]] = {}
    for d, row in enumerate(batch.decision_row):
        by_row.setdefault(row, []).append(d)
    spans = [batch.tokens[batch.starts[b] : batch.starts[b + 1]] for b in range(len(batch.starts) - 1)]
    builder = _Builder()
    for row in sorted(range(len(spans)), key=lambda b: spans[b].astype(">i4").tobytes()):
        if not batch.mask[batch.starts[row] : batch.starts[row + 1]].any() and row not in by_row:
            continue
        more = len(spans[row]) - _shared(builder.tree, spans[row])
        more += sum(len(option) for d in by_row.get(row, ()) for option in batch.decisions[d].options)
        if len(builder.tree) and more and len(builder.tree) + more > limit:
            yield builder.pack()
            builder = _Builder()
        builder.add(batch, row, by_row.get(row, ()))
    if builder.edges:
        yield builder.pack()


def _shared(tree: TokenTree, ids: np.ndarray) -> int:
    """How many of the first ids are in the tree already."""
    node, count = -1, 0
    for token in ids.tolist():
        found = tree.child(node, token)
        if found is None:
            break
        node, count = found, count + 1
    return count

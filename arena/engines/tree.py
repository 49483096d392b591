"""A token tree: every distinct prefix once. The engine grows one; the learner builds one from the rows of a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]

# Relative price of copying one key/value pair into a block against attending to it once, measured on CPU.
GATHER = 7


class TokenTree:
    """Nodes are numbered in the order in which they were added, so a parent always precedes its children.

    `ids[n]` is the token of node n, `parents[n]` its parent (-1 at the root), `depths[n]` its position in the text.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self._children: dict[tuple[int, int], int] = {}
        self._paths: dict[int, Nodes] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def child(self, node: int, token: int) -> int | None:
        """The child of `node` that carries `token`, if there is one."""
        return self._children.get((node, token))

    def add(self, tokens: Iterable[int], node: int = -1) -> int:
        """Follow `tokens` down from `node`, adding what is missing; the last node."""
        children, ids, parents, depths = self._children, self.ids, self.parents, self.depths
        for token in tokens:
            key = (node, token)
            found = children.get(key)
            if found is None:
                found = len(ids)
                children[key] = found
                ids.append(token)
                parents.append(node)
                depths.append(depths[node] + 1 if node >= 0 else 0)
            node = found
        return node

    def path(self, node: int) -> Nodes:
        """The nodes from the root down to `node`, int64 [depth + 1]."""
        tail: list[int] = []
        while node >= 0 and node not in self._paths:
            tail.append(node)
            node = self.parents[node]
        head = self._paths[node] if node >= 0 else np.empty(0, np.int64)
        return np.concatenate([head, np.array(tail[::-1], np.int64)])

    def tokens(self, node: int) -> tuple[int, ...]:
        """The text that ends at `node`, as ids."""
        return tuple(self.ids[n] for n in self.path(node))

    def plan(self, nodes: Sequence[int]) -> Plan:
        """Who attends to whom when `nodes` are forwarded together: ascending, parents computed before or among them."""
        runs = _runs(nodes, self.parents)
        paths = [self.path(nodes[stop - 1]) for _, stop in runs]
        # The paths of this step's last nodes are the heads of the next step's: decoding never walks up a whole text.
        self._paths = {nodes[stop - 1]: path for (_, stop), path in zip(runs, paths, strict=True)}
        return Plan.of(runs, paths, len(nodes))

    def keep(self, tips: Iterable[int]) -> Nodes:
        """Forget every node that no tip stands on; the old numbers of the kept nodes in their new order."""
        kept: set[int] = set()
        for tip in tips:
            node = tip
            while node >= 0 and node not in kept:
                kept.add(node)
                node = self.parents[node]
        order = sorted(kept)
        new = {old: i for i, old in enumerate(order)} | {-1: -1}
        self.ids = [self.ids[n] for n in order]
        self.depths = [self.depths[n] for n in order]
        self.parents = [new[self.parents[n]] for n in order]
        self._children = {(p, t): i for i, (p, t) in enumerate(zip(self.parents, self.ids, strict=True))}
        self._paths = {}
        return np.array(order, np.int64)


def _runs(nodes: Sequence[int], parents: Sequence[int]) -> list[tuple[int, int]]:
    """Maximal stretches [start, stop) of `nodes` in which each node is the child of the one before."""
    starts = [i for i in range(len(nodes)) if i == 0 or parents[nodes[i]] != nodes[i - 1]]
    return list(zip(starts, [*starts[1:], len(nodes)], strict=True))


@dataclass(frozen=True)
class Block:
    """Queries that are answered from one set of keys: `queries` [R] are rows of the step, `keys` [U] nodes."""

    queries: Nodes
    keys: Nodes
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Bucket:
    """Blocks of about one size, padded to be attended together: queries [b, R], keys [b, U], mask bool [b, R, U]."""

    queries: Nodes
    keys: Nodes
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Plan:
    """The buckets of a step, and where row n of the step lies among their flattened queries: `where` int64 [N]."""

    buckets: tuple[Bucket, ...]
    where: Nodes

    @classmethod
    def of(cls, runs: Sequence[tuple[int, int]], paths: Sequence[Nodes], rows: int) -> Plan:
        groups: dict[tuple[int, int], list[Block]] = {}
        for block in _blocks(runs, paths):
            shape = (len(block.queries) - 1).bit_length(), (len(block.keys) - 1).bit_length()
            groups.setdefault(shape, []).append(block)
        where = np.empty(rows, np.int64)
        buckets, offset = [], 0
        for _, blocks in sorted(groups.items()):
            bucket = _pad(blocks)
            width = bucket.queries.shape[1]
            for b, block in enumerate(blocks):
                where[block.queries] = offset + b * width + np.arange(len(block.queries))
            offset += bucket.queries.size
            buckets.append(bucket)
        return cls(tuple(buckets), where)

    @property
    def pairs(self) -> int:
        """Query-key pairs that are computed, padding included."""
        return sum(bucket.mask.size for bucket in self.buckets)


def _blocks(runs: Sequence[tuple[int, int]], paths: Sequence[Nodes]) -> list[Block]:
    """Runs with near-by paths share a block while that costs less than copying the shared keys again."""
    # Big-endian bytes compare as the paths do: neighbours in this order share the longest prefixes.
    order = sorted(range(len(runs)), key=lambda i: paths[i].astype(">i4").tobytes())
    blocks: list[Block] = []
    members: list[tuple[int, int]] = []  # (run, length of the prefix shared with the member before)
    queries = keys = 0
    for i in order:
        count, length = runs[i][1] - runs[i][0], len(paths[i])
        shared = _shared(paths[members[-1][0]], paths[i]) if members else 0
        more = keys + length - shared
        together = GATHER * (length - shared) + (queries + count) * more - queries * keys
        if members and together > GATHER * length + count * length:
            blocks.append(_block(members, runs, paths))
            members, queries, keys, shared, more = [], 0, 0, 0, length
        members.append((i, shared))
        queries, keys = queries + count, more
    if members:
        blocks.append(_block(members, runs, paths))
    return blocks


def _shared(a: Nodes, b: Nodes) -> int:
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _block(members: Sequence[tuple[int, int]], runs: Sequence[tuple[int, int]], paths: Sequence[Nodes]) -> Block:
    queries = np.concatenate([np.arange(*runs[i]) for i, _ in members])
    keys = np.concatenate([paths[i][shared:] for i, shared in members])
    mask = np.zeros((len(queries), len(keys)), np.bool_)
    columns, row, column = np.empty(0, np.int64), 0, 0
    for i, shared in members:
        count, length = runs[i][1] - runs[i][0], len(paths[i])
        columns = np.concatenate([columns[:shared], np.arange(column, column + length - shared)])
        mask[row : row + count, columns] = np.tri(count, length, length - count, dtype=np.bool_)
        row, column = row + count, column + length - shared
    return Block(queries, keys, mask)


def _pad(blocks: Sequence[Block]) -> Bucket:
    rows = max(len(block.queries) for block in blocks)
    width = max(len(block.keys) for block in blocks)
    queries = np.zeros((len(blocks), rows), np.int64)
    keys = np.zeros((len(blocks), width), np.int64)
    mask = np.zeros((len(blocks), rows, width), np.bool_)
    for b, block in enumerate(blocks):
        r, u = block.mask.shape
        queries[b, :r], keys[b, :u], mask[b, :r, :u] = block.queries, block.keys, block.mask
        keys[b, u:] = block.keys[0]
        mask[b, r:, 0] = True  # a padded query attends to something, so that its (unused) output stays finite
    return Bucket(queries, keys, mask)

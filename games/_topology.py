"""Who hears whom at a table, as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMES = ("complete", "ring", "star", "pairs")


def graph(topology: str | Sequence[Sequence[int]], size: int) -> Any:
    """An undirected networkx graph over 0..size-1: by its name, or by its edges.

    In a star, 0 is in the middle; pairs are 0-1, 2-3 and so on. Raises ValueError for what names no such graph.
    """
    import networkx as nx

    if topology == "pairs" and size % 2:
        raise ValueError(f"topology is 'pairs' with {size} seats: use an even number of them")
    if isinstance(topology, str):
        if topology not in NAMES:
            raise ValueError(f"topology is {topology!r}: use {', '.join(NAMES)}, or pairs of numbers")
        made = {
            "complete": lambda: nx.complete_graph(size),
            "ring": lambda: nx.cycle_graph(size),
            "star": lambda: nx.star_graph(size - 1),
            "pairs": lambda: nx.Graph((i, i + 1) for i in range(0, size, 2)),
        }
        return made[topology]()
    edges = [tuple(pair) for pair in topology]
    for pair in edges:
        if len(set(pair)) != 2 or not set(pair) <= set(range(size)):
            raise ValueError(f"topology has the pair {list(pair)}: give two different numbers below {size}")
    found = nx.Graph(edges)
    found.add_nodes_from(range(size))
    return found


def hearers(topology: str | Sequence[Sequence[int]], size: int) -> dict[int, tuple[int, ...]]:
    """For each of 0..size-1 the others whom it hears, in order."""
    neighbours = graph(topology, size)
    return {i: tuple(sorted(neighbours[i])) for i in range(size)}

"""Equilibria of two-player zero-sum games, by linear programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.sequences import Sequences, sequences
from arena.tree import Information, Tree

Cells = tuple[list[float], tuple[list[int], list[int]]]  # values, (rows, columns): a sparse matrix


def equilibrium(tree: Tree) -> dict[Information, tuple[float, ...]]:
    """A policy that neither seat gains by leaving, of legal moves only; exact but for rounding, and always the same.

    Koller, Megiddo and von Stengel 1996: what one seat does best is a linear program over its sequences, and what the
    other does best is its dual. All moves are equally likely where the seat's own play never comes. Raises ValueError
    unless there are two seats whose returns sum to 0, ImportError without scipy.
    """
    if len(tree.seats) != 2 or any(returns and abs(sum(returns)) > 1e-9 for returns in tree.returns):
        raise ValueError(
            f"an equilibrium takes two seats whose returns sum to 0; this game has {', '.join(tree.seats)}"
        )
    one, two = sequences(tree)
    policy = {}
    for seat, weights in zip((one, two), _solved(tree, one, two), strict=True):
        for i, (_, moves) in seat.sets.items():
            mass = np.maximum(weights[moves.start : moves.stop], 0.0)
            comes = mass.sum() > 1e-9
            policy[tree.information[i]] = tuple((mass / mass.sum() if comes else mass * 0 + 1 / len(moves)).tolist())
    return policy


def _solved(tree: Tree, one: Sequences, two: Sequences) -> tuple[Any, Any]:
    """By seat, the weight of each sequence, float [count]: the product of the seat's own probabilities."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack
    except ImportError:
        raise ImportError("an equilibrium needs scipy: pip install 'scrimmage[games]'") from None
    pay = coo_array(_pay(tree, one, two), (one.count, two.count))
    mine, theirs = (coo_array(_flow(seat)) for seat in (one, two))
    values = theirs.shape[0]  # of each information set to the second seat, the whole game's first
    found = linprog(
        np.concatenate([np.zeros(one.count), -np.eye(1, values)[0]]),
        A_ub=hstack([-pay.T, theirs.T]),
        b_ub=np.zeros(two.count),
        A_eq=hstack([mine, coo_array((mine.shape[0], values))]),
        b_eq=np.eye(1, mine.shape[0])[0],
        bounds=[(0, None)] * one.count + [(None, None)] * values,
        method="highs",
    )
    if not found.success:
        raise ArithmeticError(f"no equilibrium found: {found.message}")
    return found.x[: one.count], -found.ineqlin.marginals


def _pay(tree: Tree, one: Sequences, two: Sequences) -> Cells:
    """As [sequences of the first, of the second]: the chance of each legal end, times the first seat's return."""
    chance = [1.0] * len(tree.parent)
    for n in range(1, len(chance)):
        drawn = tree.slot[n] < len(tree.chance)
        chance[n] = chance[tree.parent[n]] * (tree.chance[tree.slot[n]] if drawn else 1.0)
    ends = [(n, r[0]) for n, r in enumerate(tree.returns) if r is not None and min(one.last[n], two.last[n]) >= 0]
    return [chance[n] * first for n, first in ends], ([one.last[n] for n, _ in ends], [two.last[n] for n, _ in ends])


def _flow(seat: Sequences) -> Cells:
    """As [1 + information sets, sequences]: to begin is sure, and moves share what leads to their set."""
    cells = [(1.0, 0, 0)]
    for row, (above, moves) in enumerate(seat.sets.values(), 1):
        cells += [(-1.0, row, above), *((1.0, row, move) for move in moves)]
    amounts, rows, columns = (list(part) for part in zip(*cells, strict=True))
    return amounts, (rows, columns)

"""The table of a matrix game: what every profile of moves pays, and the play that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

SEATS = 6  # the most
ENUMERATED = 5  # tables of two seats with more moves are too wide to look through every support
Strategies = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Table:
    """One round: `moves` by seat, and `pay`, float [moves of the first seat, ..., of the last, seats]."""

    moves: tuple[tuple[str, ...], ...]
    pay: np.ndarray

    def __deepcopy__(self, memo: Any) -> Table:
        return self  # it never changes, and a tree search copies positions a lot

    @cached_property
    def zero_sum(self) -> bool:
        return bool(np.allclose(self.pay.sum(-1), 0, rtol=0, atol=1e-12))

    @cached_property
    def common(self) -> bool:
        """Whether all seats always get the same, which isn't always nothing."""
        return bool((self.pay == self.pay[..., :1]).all()) and not self.zero_sum

    @cached_property
    def symmetric(self) -> bool:
        """Whether seats may be exchanged: any two neighbours that change places get each other's pay."""
        seats = range(len(self.moves))
        if len(set(self.moves)) > 1:
            return False
        swapped = (
            np.take(np.swapaxes(self.pay, i, j), [{i: j, j: i}.get(s, s) for s in seats], -1)
            for i, j in pairwise(seats)
        )
        return all(np.array_equal(self.pay, other) for other in swapped)

    @cached_property
    def best(self) -> tuple[np.ndarray, ...] | None:
        """By seat, the probabilities of its moves in perfect play; None where the table alone doesn't say what that is.

        Zero-sum between two seats it is an equilibrium, and the first of the best profiles where all get the same.
        """
        if self.zero_sum and len(self.moves) == 2:
            _, one, two = zero_sum(self.pay[..., 0])
            return (one, one) if self.symmetric else (one, two)
        if self.common:
            profile = np.unravel_index(np.argmax(self.pay[..., 0]), self.pay.shape[:-1])
            return tuple(np.eye(len(own))[i] for own, i in zip(self.moves, profile, strict=True))
        return None

    @cached_property
    def known(self) -> dict[str, float]:
        """Zero-sum: the value, and NashConv of uniform play; else mean pay a seat, at the best and in equilibria."""
        pay = self.pay
        if self.zero_sum:
            if len(self.moves) > 2:
                return {}
            gain = pay[..., 0].mean(1).max() - pay[..., 0].mean(0).min()
            return {"value": zero_sum(pay[..., 0])[0], "uniform_nash_conv": float(gain)}
        mean = pay.mean(-1)
        found = {"welfare": float(mean.max())}
        if len(self.moves) == 2 and max(mean.shape) <= ENUMERATED:
            worth = [float(one @ mean @ two) for one, two in equilibria(pay[..., 0], pay[..., 1])]
            found |= {"equilibria": float(len(worth))}
            found |= {"worst_equilibrium": min(worth), "best_equilibrium": max(worth)} if worth else {}
        return found


def table(moves: Sequence[Any], payoffs: Sequence[Any]) -> Table:
    """A table from nested lists, as `MatrixGame` takes them; raises ValueError for one that doesn't fit."""
    try:
        pay = np.array(payoffs, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"payoffs aren't a table of numbers: {error}") from None
    seats = pay.ndim - 1
    if not 2 <= seats <= SEATS:
        raise ValueError(f"payoffs are nested {pay.ndim} deep, which makes {seats} seats: use 2 to {SEATS}")
    alike = all(isinstance(move, str) for move in moves)
    by_seat = (tuple(moves),) * seats if alike else tuple(tuple(own) for own in moves)
    for move in (move for own in by_seat for move in own):
        if not isinstance(move, str) or move != " ".join(move.split()) or not move or set(move) & set("[]"):
            raise ValueError(f"move {move!r} can't be said: use words without brackets")
    if any(len(set(own)) < len(own) for own in by_seat):
        raise ValueError(f"moves are {moves}: a seat has the same one twice")
    shape = (*map(len, by_seat), seats)
    if pay.shape != shape:
        raise ValueError(f"payoffs have shape {pay.shape}, but the moves of {len(by_seat)} seats ask for {shape}")
    if not np.isfinite(pay).all():
        raise ValueError("payoffs aren't all finite: use numbers")
    return Table(by_seat, pay)


def zero_sum(pay: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Value and an equilibrium of `pay` [R, C], what the rows get from the columns: probabilities [R] and [C].

    The uniform one if that is one; else the vertex at which the dual simplex of HiGHS ends, and for the columns its
    dual. Raises ImportError without scipy.
    """
    rows, columns = pay.shape
    if pay.mean(1).max() - pay.mean(0).min() < 1e-12:
        return float(pay.mean()), np.full(rows, 1 / rows), np.full(columns, 1 / columns)
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise ImportError("the equilibrium of a matrix game needs scipy: pip install 'scrimmage[games]'") from None
    found = linprog(
        [0.0] * rows + [-1.0],
        A_ub=np.hstack([-pay.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[1.0] * rows + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs-ds",
    )
    if not found.success:
        raise ArithmeticError(f"no equilibrium found: {found.message}")
    one, two = (np.maximum(part, 0.0) for part in (found.x[:-1], -found.ineqlin.marginals))
    return float(found.x[-1]) + 0.0, one / one.sum(), two / two.sum()


def equilibria(one: np.ndarray, two: np.ndarray) -> list[Strategies]:
    """Every equilibrium of a nondegenerate game of two seats, by what they get, [R, C] each: probabilities [R] and [C].

    By support enumeration (Porter, Nudelman and Shoham 2004). In a degenerate game, where a seat has more best answers
    than the other mixes moves, those with supports of one size are found.
    """
    return [found for rows, columns in _supports(*one.shape) if (found := _mixed(one, two, rows, columns))]


def _supports(rows: int, columns: int) -> Iterator[tuple[list[int], list[int]]]:
    for size in range(1, min(rows, columns) + 1):
        for some, others in product(combinations(range(rows), size), combinations(range(columns), size)):
            yield list(some), list(others)


def _mixed(one: np.ndarray, two: np.ndarray, rows: list[int], columns: list[int]) -> Strategies | None:
    """The equilibrium with just these moves, if there is one."""
    x, y = np.zeros(len(one)), np.zeros(one.shape[1])
    try:
        x[rows] = _indifference(two[np.ix_(rows, columns)].T)
        y[columns] = _indifference(one[np.ix_(rows, columns)])
    except np.linalg.LinAlgError:
        return None
    if min(x[rows].min(), y[columns].min()) < 1e-9:
        return None
    gain = max((one @ y).max() - x @ one @ y, (x @ two).max() - x @ two @ y)
    return (x, y) if gain < 1e-9 else None


def _indifference(pay: np.ndarray) -> np.ndarray:
    """The mixture of the columns of `pay` [S, S] that makes its rows equally good."""
    size = len(pay)
    system = np.block([[pay, -np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    return np.linalg.solve(system, np.eye(size + 1)[size])[:size]

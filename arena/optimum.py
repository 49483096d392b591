"""The best that a team can do together, by trying every joint plan."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from arena import solve
from arena.sequences import Sequences, sequences
from arena.tree import Information, Tree


def optimum(tree: Tree, limit: int = 10_000) -> dict[Information, tuple[float, ...]]:
    """A deterministic policy with the highest common return, of legal moves only; always the same one.

    Every plan of all seats but one is tried, and that one, the seat with the most plans, answers it best. Raises
    ValueError where seats aren't paid alike, and where more than `limit` plans are to be tried.
    """
    if any(returns and max(returns) - min(returns) > 1e-9 for returns in tree.returns):
        raise ValueError(f"an optimum takes seats that are paid alike; {', '.join(tree.seats)} aren't")
    by_seat = sequences(tree)
    counts = [_count(_below(seat), 0) for seat in by_seat]
    last = counts.index(max(counts))
    others = [_below(seat) for s, seat in enumerate(by_seat) if s != last]
    if (tries := math.prod(counts) // counts[last]) > limit:
        raise ValueError(f"an optimum takes {tries} plans to be tried: more than {limit}")
    first = {known: _pure(known, 0) for known in tree.information}
    best, found = -math.inf, first
    for plans in itertools.product(*(list(_plans(below, below[0])) for below in others)):
        chosen = {tree.information[i]: a for plan in plans for i, a in plan.items()}
        joint = first | {known: _pure(known, a) for known, a in chosen.items()}
        value = solve.best_response(tree, joint, tree.seats[last])
        if value > best + 1e-12:  # what differs by rounding only is as good
            best, found = value, joint
    return found | solve.reply(tree, found, tree.seats[last])


Below = dict[int, list[tuple[int, range]]]  # sequence -> the information sets it leads to, and the sequences from there


def _below(seat: Sequences) -> Below:
    below: Below = {sequence: [] for sequence in range(seat.count)}
    for i, (above, moves) in seat.sets.items():
        below[above].append((i, moves))
    return below


def _count(below: Below, sequence: int) -> int:
    """How many plans there are from `sequence` on, those that differ only where they never come counted once."""
    return math.prod(sum(_count(below, move) for move in moves) for _, moves in below[sequence])


def _plans(below: Below, waiting: list[tuple[int, range]]) -> Iterator[dict[int, int]]:
    """Each of them: information set -> the index of its move."""
    if not waiting:
        yield {}
        return
    (i, moves), *rest = waiting
    for a, move in enumerate(moves):
        for plan in _plans(below, rest + below[move]):
            yield {i: a, **plan}


def _pure(known: Information, a: int) -> tuple[float, ...]:
    return tuple(float(a == move) for move in range(len(known.legal)))

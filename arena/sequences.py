"""What a seat may have done so far, in a game where nobody forgets."""

from __future__ import annotations

from dataclasses import dataclass

from arena.tree import Tree


@dataclass(frozen=True)
class Sequences:
    """The sequences of legal moves of one seat. Number 0 is to have done nothing yet, the others end by a move each.

    `sets[i]` has, for each of its information sets i, the sequence that leads there and those of its moves; `last[n]`
    is the sequence at node n, -1 after an illegal move of anybody.
    """

    sets: dict[int, tuple[int, range]]
    last: tuple[int, ...]

    @property
    def count(self) -> int:
        return 1 + sum(len(moves) for _, moves in self.sets.values())


def sequences(tree: Tree) -> tuple[Sequences, ...]:
    """By seat."""
    number = {slot: i for i, slot in enumerate(tree.slots)}
    return tuple(_of(tree, number, seat) for seat in range(len(tree.seats)))


def _of(tree: Tree, number: dict[int, int], seat: int) -> Sequences:
    sets: dict[int, tuple[int, range]] = {}
    last, count = [0] * len(tree.parent), 1
    for n, kids in enumerate(tree.children):
        for kid in kids:
            last[kid] = last[n]
        if tree.mover[n] == seat:
            i = number[tree.slot[kids[0]]]
            if i not in sets:
                sets[i] = last[n], range(count, count + len(kids) - 1)
                count += len(kids) - 1
            for kid, sequence in zip(kids, sets[i][1], strict=False):
                last[kid] = sequence
        if tree.mover[n] >= 0:
            last[kids[-1]] = -1
    return Sequences(sets, tuple(last))

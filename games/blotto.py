"""Colonel Blotto: two armies, and which fields to send them to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from math import comb

import numpy as np

from games._bounds import counted
from games._matrix import Table, table
from games.matrix_game import MatrixGame

WAYS = 500  # to send an army: each is a move


class Blotto(MatrixGame):
    """Both at once spread `soldiers` over `fields`; a field is won by who has more there. Pays fields won minus lost.

    Borel 1921. The value is 0; an equilibrium is found among all the allocations, of which (5, 3) has 21.
    """

    shown = False  # the rule is shorter than the table

    def __init__(self, soldiers: int = 5, fields: int = 3):
        self.soldiers = counted("soldiers", soldiers, WAYS)
        self.fields = counted("fields", fields, WAYS, least=2)
        if (ways := comb(soldiers + fields - 1, soldiers)) > WAYS:
            raise ValueError(f"{soldiers} soldiers on {fields} fields can be sent in {ways} ways: use at most {WAYS}")
        self.use(battlefield(soldiers, fields), rounds=1)
        self.read_facts()

    def brief(self, i: int) -> str:
        return f"Soldiers: {self.soldiers}. Fields: {self.fields}. "


@cache
def battlefield(soldiers: int, fields: int) -> Table:
    """The table of all ways to spread the soldiers, named like "3 1 1"."""
    spreads = np.array(list(allocations(soldiers, fields)))
    won = np.array([np.sign(one - spreads).sum(1) for one in spreads])
    return table([" ".join(map(str, spread)) for spread in spreads.tolist()], np.stack([won, -won], -1))


def allocations(soldiers: int, fields: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread all soldiers, the first field fullest first: where the borders may stand in a row of them."""
    row = soldiers + fields - 1
    for borders in reversed(list(combinations(range(row), fields - 1))):
        yield tuple(right - left - 1 for left, right in pairwise((-1, *borders, row)))

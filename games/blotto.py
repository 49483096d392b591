"""Colonel Blotto: two armies, and which fields to send them to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from games._matrix import Table, table
from games.matrix_game import MatrixGame


class Blotto(MatrixGame):
    """Both at once spread `soldiers` over `fields`; a field is won by who has more there. Pays fields won minus lost.

    Borel 1921. The value is 0; an equilibrium is found among all the allocations, of which (5, 3) has 21.
    """

    shown = False  # the rule is shorter than the table

    def __init__(self, soldiers: int = 5, fields: int = 3):
        if soldiers < 1 or fields < 2:
            raise ValueError(f"{soldiers} soldiers on {fields} fields: use at least 1 on at least 2")
        self.soldiers, self.fields = soldiers, fields
        self.use(battlefield(soldiers, fields), rounds=1)
        self.read_facts()

    def brief(self, i: int) -> str:
        return f"Soldiers: {self.soldiers}. Fields: {self.fields}. "


@cache
def battlefield(soldiers: int, fields: int) -> Table:
    """The table of all ways to spread the soldiers, named like "3 1 1"."""
    spreads = list(allocations(soldiers, fields))
    if len(spreads) > 500:
        raise ValueError(f"{soldiers} soldiers on {fields} fields can be sent in {len(spreads)} ways: use at most 500")
    won = [[sum((a > b) - (a < b) for a, b in zip(one, two, strict=True)) for two in spreads] for one in spreads]
    return table([" ".join(map(str, spread)) for spread in spreads], [[[win, -win] for win in row] for row in won])


def allocations(soldiers: int, fields: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread all soldiers, the first field fullest first."""
    if fields == 1:
        yield (soldiers,)
        return
    for here in range(soldiers, -1, -1):
        for rest in allocations(soldiers - here, fields - 1):
            yield (here, *rest)

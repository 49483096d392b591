"""Exact measurements of a policy while it learns."""

from __future__ import annotations

from arena import solve
from arena.solve import Tree
from arena.strategy import Table, illegal_mass, team


def summary(tree: Tree, table: Table) -> dict[str, float]:
    """NashConv, illegal mass, the mean value over seats against the oracle and against uniform play, and `team`."""
    found = {"nash_conv": solve.nash_conv(tree, table), "illegal_mass": illegal_mass(table), **team(tree, table)}
    if all(row is not None for row in tree.oracle):
        found["vs_oracle"] = mean_value(tree, table, solve.oracle_policy(tree))
    found["vs_uniform"] = mean_value(tree, table, solve.uniform(tree))
    return found


def mean_value(tree: Tree, mine: solve.Policy, theirs: solve.Policy) -> float:
    """The expected return of `mine` against `theirs`, averaged over the seats it may take."""
    values = solve.against(tree, mine, theirs)
    return sum(values.values()) / len(values)

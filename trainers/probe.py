"""Exact measurements of a policy: its whole strategy, read off the probabilities of its legal replies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from arena import solve
from arena.agent import LLMAgent
from arena.context import Context
from arena.solve import Information, Tree

Table = dict[Information, tuple[float, ...]]


async def strategy(tree: Tree, agents: Mapping[str, LLMAgent], *, canonical: bool = False) -> Table:
    """The probability of every legal move in every information set, one query each; agents by role.

    What a row lacks to 1 is any other reply: illegal. `canonical` counts only the usual spelling of each reply, which
    is a lower bound and much cheaper.
    """
    asked = [_odds(agents[known.role], known, canonical) for known in tree.information]
    found = await asyncio.gather(*asked)
    return dict(zip(tree.information, found, strict=True))


async def _odds(agent: LLMAgent, known: Information, canonical: bool) -> tuple[float, ...]:
    context = Context()
    for heard, move in zip(known.heard, known.moves, strict=False):
        context.hear(heard)
        agent.recall(context, move)
    context.hear(known.heard[-1])
    context.legal = known.legal
    odds = await agent.odds(context, canonical=canonical)
    excess = sum(odds)
    return tuple(p / excess for p in odds) if excess > 1 else tuple(odds)  # rounding alone can exceed 1


def illegal_mass(table: Table) -> float:
    """The mean probability of an illegal reply over information sets."""
    return sum(max(0.0, 1.0 - sum(row)) for row in table.values()) / len(table)


def illegal_games(tree: Tree, policy: solve.Policy) -> float:
    """The probability that a game of `policy` against itself comes to an illegal reply."""
    illegal = {kids[-1] for kids, mover in zip(tree.children, tree.mover, strict=True) if mover >= 0}
    ends = (None if r is None else (float(n in illegal),) * len(r) for n, r in enumerate(tree.returns))
    return next(iter(solve.values(replace(tree, returns=tuple(ends)), policy).values()))


def team(tree: Tree, table: Table) -> dict[str, float]:
    """The return of a team that plays `table` in every seat, beside what is known of its game; {} of no team."""
    game = tree.positions[0]
    if not game.info.cooperative:
        return {}
    mine = solve.values(tree, table)[tree.seats[0]]  # all seats get the same, and it is counted once
    return {"team/return": mine, **{f"team/{name}": value for name, value in game.known.items()}}


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

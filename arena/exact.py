"""What can be told exactly of whole strategies: over a game's tree or, where nobody needs memory, its positions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from arena import positions, solve, strategy, treesize
from arena.agent import Agent
from arena.game import Game
from arena.make import make
from arena.optimum import optimum
from arena.positions import Positions
from arena.solve import Policy, Tree
from arena.strategy import Table

# Unfolding takes about 40 microseconds a node where the rules are quick, so that such a tree is there within 4 seconds.
NODES = 100_000

Space = Tree | Positions


def unfold(game: Game, agents: Mapping[str, Agent], told: Callable[[int], None] = lambda nodes: None) -> Space:
    """The positions of a game of perfect information without chance, if no agent has a memory, else its tree.

    Raises ValueError where it is too large, or chances and moves can't be listed; at once where the tree is far too
    large. `told` hears of a tree now and then how many nodes it has so far.
    """
    info = game.info
    plain = info.perfect_information and not info.chance and not info.simultaneous
    own = make(game.name, **game.params)
    if plain and not any(map(strategy.remembers, agents.values())):
        return positions.positions(own)
    if (nodes := treesize.estimate(make(game.name, **game.params))) > treesize.SURELY * NODES:
        raise ValueError(f"the tree has about {nodes:.0e} nodes: more than {NODES} are too many to enumerate")
    return solve.tree(own, limit=NODES, told=told)


def summary(space: Space, table: Table) -> dict[str, Any]:
    """Of agents that play `table` in every seat: how far from an equilibrium, and how often illegal."""
    if isinstance(space, Positions):
        gain, illegal = positions.nash_conv(space, table), positions.illegal_games(space, table)
    else:
        gain, illegal = solve.nash_conv(space, table), strategy.illegal_games(space, table)
    return {
        "information_sets": len(table),
        "nash_conv": gain,
        "exploitability": gain / len(space.seats),
        "illegal_games": illegal,
        "illegal_mass": strategy.illegal_mass(table),
    }


def against(space: Space, mine: Policy, theirs: Policy) -> dict[str, float]:
    """By seat, the expected return of `mine` there with `theirs` in all others; and the `mean` over seats."""
    found = {}
    for seat in space.seats:
        by_seat = {s: mine if s == seat else theirs for s in space.seats}
        if isinstance(space, Positions):
            found[seat] = positions.values(space, by_seat)[seat]
        else:
            found[seat] = solve.values(space, solve.mixed(space, by_seat))[seat]
    return {**found, "mean": statistics.fmean(found.values())}


def team(tree: Tree, table: Table) -> tuple[dict[str, float], dict[str, str]]:
    """A team's return beside what is known of its game, the best one and that of random play; and what lacks, and why.

    The keys are team/return, team/optimum, team/centralised (all observations shared at once), team/random, ...
    """
    found, lacks = strategy.team(tree, table), {}
    found["team/random"] = solve.values(tree, solve.uniform(tree))[tree.seats[0]]
    if "team/optimum" not in found:
        try:
            found["team/optimum"] = solve.values(tree, optimum(tree))[tree.seats[0]]
        except ValueError as error:
            lacks["team/optimum"] = str(error)
    if "team/centralised" not in found:
        lacks["team/centralised"] = (
            "only games with a Dec-POMDP behind them know what sharing all observations is worth"
        )
    return found, lacks

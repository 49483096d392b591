"""The exact solver: values, best responses and NashConv of policies over the whole tree of a small game.

A policy maps each information set to probabilities over its legal moves, in their order. What they lack to 1 is the
probability of an illegal move, which forfeits at once (as under `max_illegal` 0).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from arena.tree import Information as Information
from arena.tree import Tree as Tree
from arena.tree import tree as unfold

tree = unfold  # under the name by which its readers say it: solve.tree(game)
Policy = Mapping[Information, Sequence[float]]


def values(tree: Tree, policy: Policy) -> dict[str, float]:
    """The expected return of every seat when all play `policy`."""
    return _values(tree, _weights(tree, policy))


def best_response(tree: Tree, policy: Policy, seat: str) -> float:
    """The most that `seat` can expect, with legal moves, against the others' `policy`."""
    return _best_response(tree, _weights(tree, policy), tree.seats.index(seat))[0]


def reply(tree: Tree, policy: Policy, seat: str) -> dict[Information, tuple[float, ...]]:
    """A deterministic best response itself: the first best move in each information set of `seat`."""
    _, best = _best_response(tree, _weights(tree, policy), tree.seats.index(seat))
    own = [(known, slot) for known, slot in zip(tree.information, tree.slots, strict=True) if known.seat == seat]
    return {known: tuple(float(a == best[slot]) for a in range(len(known.legal))) for known, slot in own}


def nash_conv(tree: Tree, policy: Policy) -> float:
    """The sum over seats of what each would gain by a best response; 0 exactly at an equilibrium."""
    weights = _weights(tree, policy)
    now = _values(tree, weights)
    return sum(_best_response(tree, weights, i)[0] - now[seat] for i, seat in enumerate(tree.seats))


def exploitability(tree: Tree, policy: Policy) -> float:
    """NashConv a seat."""
    return nash_conv(tree, policy) / len(tree.seats)


def uniform(tree: Tree) -> dict[Information, tuple[float, ...]]:
    """Every legal move equally likely."""
    return {known: (1 / len(known.legal),) * len(known.legal) for known in tree.information}


def oracle_policy(tree: Tree) -> dict[Information, tuple[float, ...]]:
    """The game's own perfect play; raises ValueError where it has none."""
    policy = {}
    for known, probabilities in zip(tree.information, tree.oracle, strict=True):
        if probabilities is None:
            raise ValueError(f"the game has no oracle for {known.seat} after {known.heard[-1]!r}")
        policy[known] = probabilities
    return policy


def by_knowledge(tree: Tree, policy: Policy) -> dict[tuple[str, Hashable], dict[str, float]]:
    """The probabilities of moves by seat and what `Game.knows` says there, for a game's own oracle."""
    asked = zip(tree.information, tree.positions, strict=True)
    return {(k.seat, game.knows(k.seat)): dict(zip(k.legal, policy[k], strict=True)) for k, game in asked}


def mixed(tree: Tree, by_seat: Mapping[str, Policy]) -> dict[Information, Sequence[float]]:
    """One policy in which every seat plays its own."""
    return {known: by_seat[known.seat][known] for known in tree.information}


def against(tree: Tree, mine: Policy, theirs: Policy) -> dict[str, float]:
    """By seat, the expected return of `mine` in that seat when `theirs` has all the others."""
    swapped = {seat: {s: mine if s == seat else theirs for s in tree.seats} for seat in tree.seats}
    return {seat: values(tree, mixed(tree, by_seat))[seat] for seat, by_seat in swapped.items()}


def row(known: Information, policy: Policy) -> tuple[float, ...]:
    """The probability of each legal move, and of an illegal one last; raises ValueError where they are none."""
    try:
        chances = tuple(float(p) for p in policy[known])
    except KeyError:
        raise ValueError(f"the policy has nothing for {known.seat} after {known.heard[-1]!r}") from None
    illegal = 1.0 - sum(chances)
    if len(chances) != len(known.legal) or not illegal > -1e-5 or not all(p >= 0 for p in chances):
        raise ValueError(
            f"{chances} for {known.seat}: give one probability for each of {known.legal}, at most 1 in all"
        )
    return (*chances, illegal if illegal > 1e-12 else 0.0)  # rounding is not illegal play


def _weights(tree: Tree, policy: Policy) -> list[float]:
    """The weight of every slot."""
    weights = list(tree.chance)
    for known in tree.information:
        weights += row(known, policy)
    return weights


def _reach(tree: Tree, weights: Sequence[float], exempt: int = -2) -> list[float]:
    """The probability of coming to every node, float [N]; the moves of seat number `exempt` count as certain."""
    parent, slot, mover = tree.parent, tree.slot, tree.mover
    reach = [1.0] * len(parent)
    for n in range(1, len(reach)):
        above = parent[n]
        reach[n] = reach[above] if mover[above] == exempt else reach[above] * weights[slot[n]]
    return reach


def _values(tree: Tree, weights: Sequence[float]) -> dict[str, float]:
    totals = [0.0] * len(tree.seats)
    for probability, returns in zip(_reach(tree, weights), tree.returns, strict=True):
        if returns is not None and probability:
            for i, value in enumerate(returns):
                totals[i] += probability * value
    return dict(zip(tree.seats, totals, strict=True))


def _best_response(tree: Tree, weights: Sequence[float], i: int) -> tuple[float, dict[int, int]]:
    """The value to seat number i, and its best move in each of its information sets by the slot of the first move."""
    reach = _reach(tree, weights, i)
    children, slot = tree.children, tree.slot
    value = [0.0 if returns is None else returns[i] for returns in tree.returns]
    chosen = {}
    for own, others in tree.plans[i]:
        for nodes in own:
            moves = len(children[nodes[0]]) - 1  # without the illegal one
            gains = [sum(reach[n] * value[children[n][a]] for n in nodes) for a in range(moves)]
            best = chosen[slot[children[nodes[0]][0]]] = gains.index(max(gains))
            for n in nodes:
                value[n] = value[children[n][best]]
        for n in others:
            value[n] = sum(weights[slot[child]] * value[child] for child in children[n])
    return value[0], chosen

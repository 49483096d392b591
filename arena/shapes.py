"""The shapes of a tournament: who meets whom in a round, given the rounds before it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from statistics import NormalDist

from arena.ratings import Rating, Ratings
from arena.seeding import derive
from arena.types import RATED, Match

Meeting = tuple[str, ...]  # entrants by place


@dataclass(frozen=True)
class Round:
    """What a shape may look at: one game, the entrants still in it, and its earlier rounds.

    `size` entrants meet, who share a team and may sit with themselves if `cooperative`. `past` holds the meetings of
    every earlier round, `log` what came of them; `seed` breaks ties.
    """

    field: tuple[str, ...]
    size: int
    cooperative: bool
    challengers: tuple[str, ...]
    past: Sequence[Sequence[Meeting]]
    log: Sequence[Match]
    seed: int

    def everybody(self) -> Iterable[Meeting]:
        """All meetings that are possible, every one once."""
        return (combinations_with_replacement if self.cooperative else combinations)(self.field, self.size)

    def met(self) -> Counter[frozenset[str]]:
        """How often every two entrants have met."""
        return Counter(frozenset(two) for meetings in self.past for one in meetings for two in combinations(one, 2))


Shape = Callable[[Round], list[Meeting]]


def round_robin(now: Round) -> list[Meeting]:
    """Everybody meets everybody; in a cooperative game also itself."""
    return list(now.everybody())


def gauntlet(now: Round) -> list[Meeting]:
    """Every challenger meets everybody of the others, who don't meet each other."""
    challengers = set(now.challengers)
    return [one for one in now.everybody() if len(challengers & set(one)) == 1]


def swiss(now: Round) -> list[Meeting]:
    """Equals by points meet, who have met the least before; who must sit out is low, and has done so the least.

    A win is a point, a draw half of one, sitting out a point. Pairs are matched at the least sum of squared differences
    of points, and a meeting again costs more than any difference.
    """
    scored = points(now.log)
    idle = Counter(
        {one: sum(one not in {n for m in meetings for n in m} for meetings in now.past) for one in now.field}
    )
    order = sorted(now.field, key=lambda one: (-scored[one] - idle[one], derive(now.seed, len(now.past), one)))
    playing = _seated(order, now.size, idle)
    if now.size != 2:
        return [tuple(sorted(playing[i : i + now.size])) for i in range(0, len(playing), now.size)]
    total, met, n = {one: scored[one] + idle[one] for one in playing}, now.met(), len(playing)
    again = 1 + n * (max(total.values(), default=0) - min(total.values(), default=0)) ** 2
    cost = {
        (a, b): (total[playing[a]] - total[playing[b]]) ** 2
        + (b - a) / n**3  # of equally good matchings the one that keeps to the order
        + again * met[frozenset((playing[a], playing[b]))]
        for a, b in combinations(range(n), 2)
    }
    return _matched(playing, cost)


def ladder(now: Round) -> list[Meeting]:
    """Those meet whose order is least certain: where the most skill would be lost, in expectation, if it were wrong.

    With a difference d of the means and a standard deviation s of the difference this is s (phi(z) - z Phi(-z)),
    z = |d| / s: large for near equals and for who has played little, and smaller with every match.
    """
    if now.size < 2:
        return round_robin(now)
    ratings = Ratings.rebuild(now.log, frozen=now.field)
    pool = now.log[0].pool if now.log else "main"
    rated = {one: ratings.rating(one, pool) for one in now.field}
    doubt = {frozenset((a, b)): regret(rated[a], rated[b]) for a, b in combinations(now.field, 2)}
    order = sorted(now.field, key=lambda one: derive(now.seed, len(now.past), one))
    free, found = dict.fromkeys(order), list[Meeting]()
    while len(free) >= now.size:
        first = max(combinations(free, 2), key=lambda two: doubt[frozenset(two)])
        table = list(first)
        while len(table) < now.size:
            rest = [one for one in free if one not in table]
            table.append(max(rest, key=lambda one: sum(doubt[frozenset((one, other))] for other in table)))
        for one in table:
            del free[one]
        found.append(tuple(sorted(table)))
    return found


SHAPES: Mapping[str, Shape] = {"round_robin": round_robin, "swiss": swiss, "gauntlet": gauntlet, "ladder": ladder}
ADAPTIVE = ("swiss", "ladder")  # their rounds depend on how the ones before ended


def regret(one: Rating, other: Rating) -> float:
    """The skill that is lost in expectation by taking the one with the higher mean for the better one."""
    s = math.hypot(one.sigma, other.sigma)
    z = abs(one.mu - other.mu) / s
    normal = NormalDist()
    return s * (normal.pdf(z) - z * normal.cdf(-z))


def points(log: Iterable[Match]) -> defaultdict[str, float]:
    """What everybody won: of each match the share of the other teams that were beaten, half of it for a draw."""
    found: defaultdict[str, float] = defaultdict(float)
    for match in log:
        if match.ending in RATED:
            for team, share in zip(match.teams, shares(match.scores), strict=True):
                for agent in set(team):
                    found[agent] += share
    return found


def shares(scores: Sequence[float]) -> list[float]:
    """Of each team the share of the others that it beat, in [0, 1]; half for a draw. Rounding errors are draws."""
    exact = [round(float(score), 9) for score in scores]
    beaten = [sum(1.0 if one > other else 0.5 for other in exact if one >= other) - 0.5 for one in exact]  # not itself
    return [n / max(len(exact) - 1, 1) for n in beaten]


def _seated(order: Sequence[str], size: int, idle: Mapping[str, int]) -> list[str]:
    """The order without those who find no table: of the ones that sat out the least, the lowest."""
    out = len(order) % size if size else 0
    leaving = sorted(range(len(order)), key=lambda i: (idle[order[i]], -i))[:out]
    return [one for i, one in enumerate(order) if i not in leaving]


def _matched(playing: Sequence[str], cost: Mapping[tuple[int, int], float]) -> list[Meeting]:
    """The pairs, of all ways to pair everybody, that cost the least."""
    import networkx as nx  # a sixth of a second that other shapes needn't wait for

    graph = nx.Graph()
    graph.add_nodes_from(range(len(playing)))
    graph.add_weighted_edges_from((a, b, -paid) for (a, b), paid in cost.items())
    pairs = sorted(tuple(sorted(two)) for two in nx.max_weight_matching(graph, maxcardinality=True))
    return [tuple(sorted((playing[a], playing[b]))) for a, b in pairs]

"""A match log as counts: how often who stood above whom, in which game and at which roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arena.ratings import check, contest, places
from arena.types import RATED, Match

Array = npt.NDArray[np.float64]
Side = tuple[tuple[str, str], ...]  # the (agent, role) of every seat of a team, sorted

WON, DRAWN, LOST = range(3)  # the columns of all counts, seen from the first side


class Comparison(NamedTuple):
    """Two teams that met in a game; `first` is the one that sorts first, in whatever order matches list them."""

    game: str
    first: Side
    second: Side


Result = tuple[tuple[Comparison, int], ...]  # what one block of matches has shown: (comparison, column) pairs, sorted


@dataclass(frozen=True)
class Tally:
    """What a log says, without its order.

    `blocks` counts equal results of what was dealt together; `matches` the rated matches of each agent, tasks among
    them. The two hold integers only, so that any two logs of the same matches have the same tally.
    """

    blocks: tuple[tuple[Result, int], ...]
    matches: dict[str, int]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All R comparisons, sorted."""
        return sorted({comparison for result, _ in self.blocks for comparison, _ in result})

    def counts(self, weights: Sequence[float] | None = None) -> Array:
        """How often the first side of each comparison won, drew and lost, [R, 3]; a block may count as its weight."""
        weights = [1.0] * len(self.blocks) if weights is None else weights
        totals = (np.array([weight * n]) for weight, (_, n) in zip(weights, self.blocks, strict=True))
        found: Array = self._spread(totals, 1)[0]
        return found

    def weigh(self, rng: np.random.Generator, samples: int) -> Array:
        """The counts under random weights of the blocks, [B, R, 3], for B samples.

        Every block weighs as much as an exponential variable of mean 1, matches dealt together always the same: the
        Bayesian bootstrap (Rubin 1981). `n` equal blocks weigh, in sum, as much as a gamma variable of shape n.
        """
        return self._spread((rng.standard_gamma(n, samples) for _, n in self.blocks), samples)

    def _spread(self, weights: Iterable[Array], samples: int) -> Array:
        """Weights [B] of each block as those of the comparisons that it shows, [B, R, 3]."""
        row = {comparison: i for i, comparison in enumerate(self.comparisons)}
        found = np.zeros((len(row), 3, samples))
        for (result, _), weights_B in zip(self.blocks, weights, strict=True):
            for comparison, column in result:
                found[row[comparison], column] += weights_B
        return np.ascontiguousarray(found.transpose(2, 0, 1))


def tally(log: Iterable[Match], block: Callable[[Match], str] | None = None) -> Tally:
    """Count a log. A match of k teams is k (k - 1) / 2 comparisons; `block` names what was dealt together.

    Matches that rate nobody are left out, and a match counts once, by its id. Raises ValueError for a match that makes
    no sense, and for two different ones of one id.
    """
    seen: dict[str, tuple[Result, str]] = {}
    known: dict[object, Result] = {}  # most matches are like others: their results are made once
    members: Counter[str] = Counter()
    for match in log:
        check(match)
        if match.ending not in RATED or not contest(match.teams):
            continue
        shape = (match.game, match.teams, match.roles, tuple(places(match)))
        if shape not in known:
            known[shape] = _result(match)
        what = (known[shape], block(match) if block else match.id)
        if match.id in seen:
            if seen[match.id] != what:
                raise ValueError(f"two different matches have the id {match.id!r}: give every match an id of its own")
            continue
        seen[match.id] = what
        members.update({agent for team in match.teams for agent in team})
    blocks: dict[str, list[Result]] = {}
    for result, name in seen.values():
        blocks.setdefault(name, []).append(result)
    counted = Counter(
        results[0] if len(results) == 1 else tuple(sorted(pair for result in results for pair in result))
        for results in blocks.values()
    )
    return Tally(tuple(sorted(counted.items())), dict(sorted(members.items())))


def _result(match: Match) -> Result:
    roles = match.roles or tuple(("",) * len(team) for team in match.teams)
    sides = [tuple(sorted(zip(team, told, strict=True))) for team, told in zip(match.teams, roles, strict=True)]
    ranked = sorted(zip(sides, places(match), strict=True))
    found = []
    for i, (first, place) in enumerate(ranked):
        for second, other in ranked[i + 1 :]:
            column = WON if place < other else LOST if place > other else DRAWN
            found.append((Comparison(match.game, first, second), column))
    return tuple(found)

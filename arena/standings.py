"""How agents stand after a whole log of matches: a batch fit, and how far it can be trusted.

Online TrueSkill depends on the order of matches, and serves training. What a tournament publishes is computed here from
counts alone, so that a shuffled log gives the same numbers to the last digit.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, pairwise, zip_longest
from statistics import fmean
from string import ascii_lowercase
from typing import Any, NamedTuple

import networkx
import numpy as np
import numpy.typing as npt
from rich.table import Table
from rich.text import Text

from arena.alpharank import alpha_rank
from arena.apart import Apart, bounds
from arena.blocks import thinned
from arena.fit import Design, design, fit, odds, worth
from arena.nash import nash_average
from arena.payoff import Cell, cycles, matrix, payoff
from arena.posterior import sample
from arena.ratings import TASK, Forecast
from arena.tally import DRAWN, Comparison, Tally, tally
from arena.terminal import one_line
from arena.types import Match

Array = npt.NDArray[np.float64]

ELO = 400 / math.log(10)  # Elo points of one unit of strength: 400 make odds of 10 to 1


@dataclass(frozen=True)
class Standing:
    """One agent's line. `elo` is relative to the mean of its island, `low` and `high` bound it at the wanted level.

    All three are None for an agent that nobody was compared with. `points` is its mean over comparisons, a draw being
    a half. `needed` counts the matches that the agent and the next one on the list still owe each other until they are
    likely told apart: 0 if they are, None if no number would do or there is no next one on its island. `nash`, `skill`
    and `alpha` are its weight and skill in Nash averaging, and its share in alpha-rank, where they could be computed.
    """

    agent: str
    elo: float | None
    low: float | None
    high: float | None
    matches: int
    points: float | None
    island: int
    needed: int | None = None
    nash: float | None = None
    skill: float | None = None
    alpha: float | None = None


@dataclass(frozen=True)
class Standings:
    """How agents stand, by island and strength.

    `groups` are the longest runs of neighbours none of whom can be told from another; agents may be in several, and one
    whom nobody was compared with is in none.
    `islands` are the sets of agents that are linked by matches: strengths of different ones can't be compared.
    `draws` has how often equals draw, by game; `seats` the Elo points that a role of a game is worth, relative to the
    mean of its roles, where agents changed roles enough to tell. `cycles` is the share of circles among threes that met
    each other. `notes` say what could not be computed, and why.
    """

    rows: tuple[Standing, ...]
    groups: tuple[tuple[str, ...], ...]
    islands: tuple[tuple[str, ...], ...]
    payoff: Mapping[tuple[str, str], Cell]
    draws: Mapping[str, float]
    seats: Mapping[tuple[str, str], float]
    cycles: float | None
    level: float
    power: float
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        log: Iterable[Match],
        *,
        entrants: Iterable[str] = (),
        block: Callable[[Match], str] | None = None,
        level: float = 0.95,
        power: float = 0.8,
        samples: int = 400,
        seed: int = 0,
    ) -> Standings:
        """The standings after `log`, in whatever order it comes; `entrants` are listed even if they have not played.

        Intervals and groups are of confidence `level`, and `needed` has the chance `power` of being enough. `block`
        names what a match was dealt with, so that what matches of one deal only repeat counts for less; without it each
        match stands alone. `samples` and `seed` are of the intervals.
        """
        if not 0 < level < 1 or not 0 < power < 1:
            raise ValueError(f"level is {level} and power {power}: both are probabilities between 0 and 1")
        if samples < 2:
            raise ValueError(f"samples is {samples}: an interval needs at least 2, and 400 for its second digit")
        counted = tally(log, block)
        return _stand(counted, sorted({*counted.matches, *entrants}), level, power, samples, seed)

    def row(self, agent: str) -> Standing:
        """The line of an agent. Raises ValueError with the nearest name for one that is not listed."""
        for row in self.rows:
            if row.agent == agent:
                return row
        near = difflib.get_close_matches(agent, [row.agent for row in self.rows], 1)
        raise ValueError(f"no agent {agent!r} in these standings" + (f": did you mean {near[0]!r}?" if near else ""))

    def forecast(self, first: str, second: str, game: str = "") -> Forecast:
        """How a match will end if nobody has the better seat; `game` may be left out where there is one only.

        Raises ValueError for agents that no chain of matches links, and for a game that the log doesn't have.
        """
        one, two = self.row(first), self.row(second)
        if one.elo is None or two.elo is None or one.island != two.island:
            raise ValueError(f"no matches link {first!r} and {second!r}: let them meet, or both meet a third")
        if not game and len(self.draws) == 1:
            (game,) = self.draws
        if game not in self.draws:
            raise ValueError(f"no game {game!r} in these standings: they are of {', '.join(sorted(self.draws))}")
        d = np.array((one.elo - two.elo) / ELO)
        return Forecast(*(float(p) for p in odds(d, np.array(_log_nu(self.draws[game])))))

    def table(self, title: str = "") -> Table:
        """For a rich console: one line an agent; those that share a letter can't be told apart."""
        table = Table(title=Text(one_line(title)) if title else None, title_justify="left", box=None)
        columns = _columns(self)
        for column in columns:
            words = column.heading in ("agent", "group")
            table.add_column(Text(column.heading), justify="left" if words else "right", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(column.cell(row)) for column in columns))
        return table

    def letters(self, agent: str) -> str:
        """The groups of an agent as letters from the top, as in "bc"; numbers where the alphabet is too short."""
        found = [i for i, group in enumerate(self.groups) if agent in group]
        if len(self.groups) <= len(ascii_lowercase):
            return "".join(ascii_lowercase[i] for i in found)
        return " ".join(str(i + 1) for i in found)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, to all digits; what could not be computed is null."""
        return {
            "level": self.level,
            "power": self.power,
            "rows": [asdict(row) for row in self.rows],
            "groups": [list(group) for group in self.groups],
            "islands": [list(island) for island in self.islands],
            "payoff": [{"agent": a, "other": b, **cell._asdict()} for (a, b), cell in self.payoff.items()],
            "draws": dict(self.draws),
            "seats": [{"game": game, "role": role, "elo": elo} for (game, role), elo in self.seats.items()],
            "cycles": self.cycles,
            "notes": list(self.notes),
        }


# -- the computation -----------------------------------------------------------------------------------------------


def _stand(counted: Tally, names: list[str], level: float, power: float, samples: int, seed: int) -> Standings:
    comparisons, counts = counted.comparisons, counted.counts()
    games = sorted({comparison.game for comparison in comparisons})
    drawn = sorted({c.game for c, row in zip(comparisons, counts, strict=True) if row[DRAWN]})
    form = design(comparisons, names, drawn)
    best = fit(form, counts)
    rng = np.random.default_rng(seed)
    sampled = sample(form, thinned(form, counted, best), best, rng, samples)

    islands = _islands(comparisons, names)
    strengths = dict(zip(names, _centred(best[None], names, islands)[0].tolist(), strict=True))
    spread = dict(zip(names, _centred(sampled, names, islands).T, strict=True))
    apart = Apart(spread, level)
    log_nu = dict(zip(drawn, best[form.x_RF.shape[1] :].tolist(), strict=True))
    share = {game: sum(counts[r].sum() for r, c in enumerate(comparisons) if c.game == game) for game in games}
    total = sum(share.values())

    def needed(a: str, b: str) -> int | None:
        lead = round(strengths[a] - strengths[b], 9)  # equals differ by what Newton's method leaves
        told = sum(share[game] / total * worth(lead, log_nu.get(game, -math.inf)) for game in games)
        return apart.needed(a, b, lead, float(told), power)

    rows: list[Standing] = []
    groups: list[tuple[str, ...]] = []
    for number, island in enumerate(islands):
        ranked = sorted((a for a in island if not a.startswith(TASK)), key=lambda agent: (-strengths[agent], agent))
        if len(island) > 1:  # of whom nobody was compared with nothing is known, not even that others are better
            groups += apart.groups(ranked)
        for agent, below in zip_longest(ranked, ranked[1:]):
            elo = low = high = None
            if len(island) > 1:
                elo = ELO * strengths[agent]
                low, high = (ELO * bound for bound in bounds(spread[agent], level))
            left = needed(agent, below) if below is not None else None
            played, points = counted.matches.get(agent, 0), _points(comparisons, counts, agent)
            rows.append(Standing(agent, elo, low, high, played, points, number, left))

    met = payoff(comparisons, counts, counted.weigh(rng, samples), rng, level)
    rows, notes = _populations(rows, met)
    if len(islands) > 1:
        notes = (f"{len(islands)} islands that no match links: strengths compare within an island only", *notes)
    return Standings(
        rows=tuple(rows),
        groups=tuple(groups),
        islands=tuple(islands),
        payoff=met,
        draws={game: _equals_draw(log_nu[game]) if game in log_nu else 0.0 for game in games},
        seats=_seats(form, best),
        cycles=cycles(met),
        level=level,
        power=power,
        notes=notes,
    )


def _islands(comparisons: Sequence[Comparison], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The sets of agents that matches link, the largest first, equals by name."""
    links = networkx.Graph()
    links.add_nodes_from(names)
    for _, first, second in comparisons:
        met = [agent for agent, _ in (*first, *second)]
        links.add_edges_from(pairwise(met))
    return sorted(
        (tuple(sorted(island)) for island in networkx.connected_components(links)), key=lambda i: (-len(i), i)
    )


def _centred(samples_BP: Array, names: Sequence[str], islands: Sequence[Sequence[str]]) -> Array:
    """Strengths less the mean of their island, [B, N]; a shift of a whole island can't be known."""
    found = samples_BP[:, : len(names)].copy()
    for island in islands:
        columns = [names.index(agent) for agent in island]
        found[:, columns] -= found[:, columns].mean(axis=1, keepdims=True)
    return found


def _points(comparisons: Sequence[Comparison], counts_R3: Array, agent: str) -> float | None:
    """The mean points of an agent over all comparisons of its teams."""
    won = played = 0.0
    for (_, first, second), (win, draw, loss) in zip(comparisons, counts_R3.tolist(), strict=True):
        for side, ahead in ((first, win), (second, loss)):
            if any(member == agent for member, _ in side):
                won, played = won + ahead + draw / 2, played + win + draw + loss
    return won / played if played else None


def _seats(form: Design, best: Array) -> dict[tuple[str, str], float]:
    """What the roles of a game are worth in Elo points, relative to their mean."""
    n = len(form.agents)
    found = dict(zip(form.seats, (ELO * best[n : n + len(form.seats)]).tolist(), strict=True))
    means = {game: fmean(elo for (other, _), elo in found.items() if other == game) for game, _ in found}
    return {(game, role): elo - means[game] for (game, role), elo in found.items()}


def _populations(
    rows: Sequence[Standing], met: Mapping[tuple[str, str], Cell]
) -> tuple[list[Standing], tuple[str, ...]]:
    """The rows with Nash averaging and alpha-rank, or with a note of why there is none."""
    agents = sorted(row.agent for row in rows)
    points = matrix(met, agents)
    if points is None:
        absent = next((a, b) for a, b in combinations(agents, 2) if (a, b) not in met)
        note = f"no Nash averaging, no alpha-rank: {' and '.join(map(repr, absent))} have not met"
        return list(rows), (note,)
    if len(agents) < 2:
        return list(rows), ()
    alpha = dict(zip(agents, alpha_rank(points).tolist(), strict=True))
    found = [replace(row, alpha=alpha[row.agent]) for row in rows]
    try:
        weights, skills = nash_average(points)
    except ImportError as error:
        return found, (f"no Nash averaging: {error}",)
    nash = dict(zip(agents, zip(weights.tolist(), skills.tolist(), strict=True), strict=True))
    return [replace(row, nash=nash[row.agent][0], skill=nash[row.agent][1]) for row in found], ()


def _equals_draw(log_nu: float) -> float:
    """How often equals draw."""
    return math.exp(log_nu) / (2 + math.exp(log_nu))


def _log_nu(equals_draw: float) -> float:
    return math.log(2 * equals_draw / (1 - equals_draw)) if equals_draw else -math.inf


# -- the table -----------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A heading, and what a row says there; a column in which no row says anything is left out."""

    heading: str
    of: Callable[[Standing], float | int | str | None]
    form: str = ""

    def cell(self, row: Standing) -> str:
        value = self.of(row)
        return "" if value is None else one_line(format(value, self.form))


def _columns(standings: Standings) -> list[_Column]:
    percent = f"{100 * standings.level:g} %"
    columns = [
        _Column("agent", lambda row: row.agent),
        _Column("island", lambda row: row.island + 1 if len(standings.islands) > 1 else None),
        _Column("Elo", lambda row: row.elo, "+.0f"),
        _Column(f"{percent} low", lambda row: row.low, "+.0f"),
        _Column("high", lambda row: row.high, "+.0f"),
        _Column("group", lambda row: standings.letters(row.agent)),
        _Column("points", lambda row: row.points, ".3f"),
        _Column("matches", lambda row: row.matches, "d"),
        _Column("needed", lambda row: row.needed, "d"),
        _Column("Nash", lambda row: row.nash, ".3f"),
        _Column("skill", lambda row: row.skill, "+.3f"),
        _Column("alpha", lambda row: row.alpha, ".3f"),
    ]
    return [column for column in columns if any(column.cell(row) for row in standings.rows)]

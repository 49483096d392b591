"""How a tournament stands: who is how good, who met whom, and what went wrong."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import permutations
from math import inf
from string import ascii_lowercase
from typing import Any, NamedTuple

from arena.pairing import round_of
from arena.ratings import TASK, Forecast, Rating, Ratings, ordered
from arena.schedule import Schedule
from arena.shapes import shares
from arena.standings import Standing, Standings
from arena.types import RATED, Match


class Mean(NamedTuple):
    """The mean score of an entrant over `n` matches with another one."""

    mean: float
    n: int


class Fault(NamedTuple):
    """So many matches of a game an entrant ended before their time; `reason` is that of the first."""

    agent: str
    game: str
    ending: str
    matches: int
    reason: str


@dataclass(frozen=True)
class Board:
    """One list: of a game, or of all of them with `game` "".

    `standings` are what is published, for the order of matches doesn't touch them; `ratings` are online TrueSkill, best
    first. `payoff[a, b]` is what `a` scored where it met (or sat with) `b`: its mean score in a game, and over several
    games its mean share of a point. `record` has (won, drawn, lost) against other teams, and tasks.
    """

    game: str
    pool: str
    entrants: tuple[str, ...]
    log: tuple[Match, ...]
    ratings: tuple[Rating, ...]
    payoff: Mapping[tuple[str, str], Mean]
    record: Mapping[str, tuple[int, int, int]]
    endings: Mapping[str, int]

    @cached_property
    def standings(self) -> Standings:
        """The batch fit with its intervals: made when first asked for, since it takes a second."""

        def dealt(match: Match) -> str:
            """Who met in a round of a game: all their seatings have the same deal."""
            met = sorted({agent for team in match.teams for agent in team})
            return json.dumps([match.game, round_of(match.id, self.pool), met])

        return Standings.of(self.log, entrants=self.entrants, block=dealt)

    @cached_property
    def forecasts(self) -> Mapping[tuple[str, str], Forecast]:
        """How a match of any two that matches link will end; none over several games, or where all are one team."""
        alone = not self.game or any(agent.startswith(TASK) for island in self.standings.islands for agent in island)
        linked = [] if alone else permutations((row for row in self.rows if row.elo is not None), 2)
        return {
            (one.agent, other.agent): self.standings.forecast(one.agent, other.agent, self.game)
            for one, other in linked
            if one.island == other.island
        }

    @property
    def matches(self) -> int:
        return sum(self.endings.values())

    @property
    def rows(self) -> tuple[Standing, ...]:
        """The entrants' lines, best first; tasks are left out."""
        return tuple(row for row in self.standings.rows if not row.agent.startswith(TASK))

    @property
    def groups(self) -> dict[str, str]:
        """By entrant the letters of the groups that it is in: who shares one can't be told apart yet."""
        members = [group for group in self.standings.groups if any(not agent.startswith(TASK) for agent in group)]
        return {
            row.agent: "".join(_letter(i) for i, group in enumerate(members) if row.agent in group) for row in self.rows
        }

    @property
    def widest(self) -> float:
        """The width in Elo points of the widest interval; infinite while somebody has none."""
        return max(row.high - row.low if row.low is not None and row.high is not None else inf for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Everything, to all digits. In `payoff` are `mean`, the mean score, and the mean points with their bounds."""
        groups, met = self.groups, self.standings.payoff
        whole = {key: value for key, value in self.standings.to_json().items() if key not in ("rows", "payoff")}
        return {
            "game": self.game,
            "matches": self.matches,
            "endings": dict(self.endings),
            "table": [
                {
                    **asdict(row),
                    "group": groups[row.agent],
                    **dict(zip(("won", "drawn", "lost"), self.record[row.agent], strict=True)),
                }
                for row in self.rows
            ],
            "ratings": [{**asdict(rating), "low": rating.low} for rating in self.ratings],
            "payoff": [
                {"agent": a, "other": b, "mean": mean, "n": n}
                | ({"points": met[a, b].mean, "low": met[a, b].low, "high": met[a, b].high} if (a, b) in met else {})
                for (a, b), (mean, n) in self.payoff.items()
            ],
            "forecasts": [
                {"agent": a, "other": b, "win": odds.p_win, "draw": odds.p_draw, "loss": odds.p_loss}
                for (a, b), odds in self.forecasts.items()
            ],
            **whole,
        }


@dataclass(frozen=True)
class Scoreboard:
    """How a tournament stands: the list over all games, that of each game, and who fell out why."""

    name: str
    shape: str
    overall: Board
    games: tuple[Board, ...]
    faults: tuple[Fault, ...]
    withdrawn: Mapping[tuple[str, str], str]
    rated: Ratings

    def to_json(self) -> dict[str, Any]:
        withdrawn = [{"agent": a, "game": g, "reason": why} for (a, g), why in self.withdrawn.items()]
        return {
            "name": self.name,
            "shape": self.shape,
            **self.overall.to_json(),
            "games": [board.to_json() for board in self.games],
            "faults": [fault._asdict() for fault in self.faults],
            "withdrawn": withdrawn,
        }


def scoreboard(schedule: Schedule, results: Mapping[str, Match]) -> Scoreboard:
    """Rate in the order of ids, so that it doesn't matter which match was finished first; entrants don't learn."""
    plan = schedule.plan
    log = [results[id] for id in sorted(results)]
    rated = Ratings.rebuild(log, plan.entrants, schedule.draws)
    games = []
    for game in schedule.rules:
        own = [match for match in log if match.game == game]
        alone = Ratings.rebuild(own, plan.entrants, schedule.draws) if len(schedule.rules) > 1 else rated
        games.append(_board(game, own, alone, plan.name, schedule.field(game), payoff(own)))
    overall = overall_board(schedule, results, rated) if games[1:] else games[0]
    return Scoreboard(plan.name, plan.shape, overall, tuple(games), faults(log), schedule.withdrawn(results), rated)


def overall_board(schedule: Schedule, results: Mapping[str, Match], rated: Ratings | None = None) -> Board:
    """The list over all games."""
    plan, log = schedule.plan, [results[id] for id in sorted(results)]
    rated = rated or Ratings.rebuild(log, plan.entrants, schedule.draws)
    return _board("", log, rated, plan.name, sorted(plan.entrants), payoff(_in_points(log)))


def _board(
    game: str,
    log: Sequence[Match],
    ratings: Ratings,
    pool: str,
    entrants: Sequence[str],
    pairs: Mapping[tuple[str, str], Mean],
) -> Board:
    record = records(log)
    return Board(
        game,
        pool,
        tuple(entrants),
        tuple(log),
        tuple(ordered(ratings.rating(who, pool) for who in entrants)),
        pairs,
        {who: record[who] for who in entrants},
        dict(sorted(Counter(match.ending for match in log).items())),
    )


def _letter(number: int) -> str:
    """a, b, ..., z, a2, ..."""
    return f"{ascii_lowercase[number % 26]}{number // 26 + 1 if number >= 26 else ''}"


def _in_points(matches: Iterable[Match]) -> Iterable[Match]:
    """The same matches with every score as a share of a point, so that games of unlike pay-offs can be added."""
    for match in matches:
        if match.ending in RATED:
            yield replace(match, scores=tuple(shares(match.scores)))


def payoff(matches: Iterable[Match]) -> dict[tuple[str, str], Mean]:
    """The mean score of `a` against `b`, or beside it where the team plays a task; rated matches only."""
    sums: dict[tuple[str, str], list[float]] = {}
    for match in matches:
        if match.ending not in RATED:
            continue
        cooperative = any(agent.startswith(TASK) for team in match.teams for agent in team)
        for i, (team, score) in enumerate(zip(match.teams, match.scores, strict=True)):
            if cooperative:
                met = {
                    (a, b) for k, a in enumerate(team) for j, b in enumerate(team) if j != k and not a.startswith(TASK)
                }
            else:
                met = {(a, b) for a in team for j, other in enumerate(match.teams) if j != i for b in other}
            for pair in met:
                sums.setdefault(pair, []).append(float(score))
    return {pair: Mean(sum(scores) / len(scores), len(scores)) for pair, scores in sorted(sums.items())}


def records(matches: Iterable[Match]) -> defaultdict[str, tuple[int, int, int]]:
    """(won, drawn, lost) of everybody against every other team of its rated matches; rounding errors are draws."""
    found: defaultdict[str, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for match in matches:
        scores = [round(float(score), 9) for score in match.scores] if match.ending in RATED else []
        for i, score in enumerate(scores):
            others = [other for j, other in enumerate(scores) if j != i]
            more = (sum(score > o for o in others), sum(score == o for o in others), sum(score < o for o in others))
            for agent in set(match.teams[i]):
                won, drawn, lost = found[agent]
                found[agent] = (won + more[0], drawn + more[1], lost + more[2])
    return found


def faults(matches: Iterable[Match]) -> tuple[Fault, ...]:
    """What went wrong, by entrant, game and ending."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for match in matches:
        if match.fault or match.ending == "infra":
            found.setdefault((match.fault, match.game, match.ending), []).append(match.reason)
    return tuple(Fault(*key, len(reasons), reasons[0]) for key, reasons in sorted(found.items()))

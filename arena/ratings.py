"""TrueSkill from a match log: who is how good, and how sure we are."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from statistics import NormalDist
from typing import NamedTuple

import trueskill

from arena.types import ENDINGS, RATED, Match

MU = 25.0
SIGMA = MU / 3
BETA = SIGMA / 2  # the standard deviation of one performance around its skill
TAU = SIGMA / 100  # how much skill may drift between two matches
DRAW_FLOOR = 0.01
TASK = "task:"  # agents of this prefix are tasks: the opponent of a cooperative team; they don't learn

_TWO_BETA_2 = 2.0 * BETA * BETA
_ROOT_2, _ROOT_2_PI = math.sqrt(2), math.sqrt(2 * math.pi)
_quantile = NormalDist().inv_cdf


@dataclass(frozen=True)
class Rating:
    """Skill as a normal distribution, after `matches` rated matches."""

    agent: str
    mu: float = MU
    sigma: float = SIGMA
    matches: int = 0

    @property
    def low(self) -> float:
        """The skill that the agent has almost surely: what boards sort by."""
        return self.mu - 3 * self.sigma


class Forecast(NamedTuple):
    """Probabilities of one match, seen from its first side; they sum to 1."""

    p_win: float
    p_draw: float
    p_loss: float


class Player(NamedTuple):
    """One member of a team; `seats` is how many seats of the team it fills."""

    mu: float
    sigma: float
    seats: int = 1


# -- the arithmetic ------------------------------------------------------------------------------------------------


def _pdf(x: float) -> float:
    return math.exp(-0.5 * x * x) / _ROOT_2_PI


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / _ROOT_2)


def margin(draw_probability: float, performances: float = 2.0) -> float:
    """The difference of two team performances up to which a match is a draw; `performances` add up."""
    return _quantile((draw_probability + 1) / 2) * math.sqrt(performances) * BETA


def _truncate(t: float, e: float, drawn: bool) -> tuple[float, float]:
    """(v, w) of a standard normal around t cut to x > e, or to |x| < e if drawn: shift of the mean, loss of variance.

    Herbrich, Minka and Graepel 2006, "TrueSkill". Far out in the tails the mass is 0; there v -> -(t - e) and w -> 1.
    """
    if not drawn:
        x = t - e
        p = 0.5 * math.erfc(-x / _ROOT_2)  # written out, as are the bounds of w: a long log spends its time here
        if p < 1e-300:
            return -x, 1.0
        v = math.exp(-0.5 * x * x) / _ROOT_2_PI / p
        w = v * (v + x)
        return v, 0.0 if w < 0.0 else 1.0 if w > 1.0 else w
    high, low = e - abs(t), -e - abs(t)
    p = _cdf(high) - _cdf(low)
    if p < 1e-300 or e < 1e-9:
        return (high if t >= 0 else -high), 1.0
    v = (_pdf(low) - _pdf(high)) / p
    w = v * v + (high * _pdf(high) - low * _pdf(low)) / p
    return (v if t >= 0 else -v), min(max(w, 0.0), 1.0)


def rate_pair(
    first: Sequence[Player], second: Sequence[Player], drawn: bool, draw_probability: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """(mu, sigma) of every player after `first` beat `second`, or drew: the closed form of TrueSkill for two teams."""
    gap = variance = performances = 0.0
    for players, sign in ((first, 1), (second, -1)):
        for mu, sigma, seats in players:
            gap += sign * seats * mu
            variance += seats * seats * sigma * sigma
            performances += seats * seats
    c = math.sqrt(variance + performances * BETA * BETA)
    v, w = _truncate(gap / c, margin(draw_probability, performances) / c, drawn)
    shift, shrink = v / c, w / (c * c)
    won = [(m + s * s * n * shift, s * math.sqrt(1 - s * s * n * n * shrink)) for m, s, n in first]
    lost = [(m - s * s * n * shift, s * math.sqrt(1 - s * s * n * n * shrink)) for m, s, n in second]
    return won, lost


def rate_duel(
    mu: float, sigma: float, nu: float, tau: float, drawn: bool, margin: float
) -> tuple[float, float, float, float]:
    """(mu, sigma) of the winner and (nu, tau) of the loser, or of two who drew, after a match of one against one.

    It is `rate_pair` written out, operation by operation, as nearly all matches of a long log are duels; `margin` is
    that of two performances.
    """
    won, lost = sigma * sigma, tau * tau
    c = math.sqrt(won + lost + _TWO_BETA_2)
    v, w = _truncate((mu - nu) / c, margin / c, drawn)
    shift, shrink = v / c, w / (c * c)
    return (
        mu + won * shift,
        sigma * math.sqrt(1 - won * shrink),
        nu - lost * shift,
        tau * math.sqrt(1 - lost * shrink),
    )


def _v_win(t: float, e: float) -> float:
    return _truncate(t, e, False)[0]


def _v_draw(t: float, e: float) -> float:
    return _truncate(t, e, True)[0]


def _w_win(t: float, e: float) -> float:
    return min(_truncate(t, e, False)[1], 1 - 1e-9)  # the package divides by 1 - w


def _w_draw(t: float, e: float) -> float:
    return min(_truncate(t, e, True)[1], 1 - 1e-9)


def rate_many(
    teams: Sequence[Sequence[Player]], places: Sequence[int], draw_probability: float
) -> list[list[tuple[float, float]]]:
    """(mu, sigma) of every player after a match of three or more teams; place 0 is best, equal places are a draw.

    The package chains teams by place, so of three equals the middle one is compared twice: teams of equal place are
    ordered by what they brought, never by where they were listed, and equals who drew share the mean of their results.
    """
    env = trueskill.TrueSkill(beta=BETA, tau=0.0, draw_probability=draw_probability, backend=(_cdf, _pdf, _quantile))
    env.v_win, env.v_draw, env.w_win, env.w_draw = _v_win, _v_draw, _w_win, _w_draw
    order = sorted(range(len(teams)), key=lambda i: (places[i], tuple(teams[i])))
    groups = [tuple(env.create_rating(p.mu, p.sigma) for p in teams[i]) for i in order]
    weights = [tuple(p.seats for p in teams[i]) for i in order]
    rated = env.rate(groups, ranks=[places[i] for i in order], weights=weights, min_delta=1e-9)
    found = {i: [(rating.mu, rating.sigma) for rating in group] for i, group in zip(order, rated, strict=True)}
    equals: dict[tuple[int, tuple[Player, ...]], list[int]] = {}
    for i in order:
        equals.setdefault((places[i], tuple(teams[i])), []).append(i)
    for members in equals.values():
        for p, results in enumerate(zip(*(found[i] for i in members), strict=True)):
            mu, sigma = (math.fsum(x) / len(x) for x in zip(*results, strict=True))
            for i in members:
                found[i][p] = (mu, sigma)
    return [found[i] for i in range(len(teams))]


def forecast(first: Rating, second: Rating, draw_probability: float = 0.0) -> Forecast:
    """How one match of `first` against `second` will end, by the margin that also rates it."""
    c = math.sqrt(2 * BETA**2 + first.sigma**2 + second.sigma**2)
    gap, e = first.mu - second.mu, margin(draw_probability)
    win, loss = _cdf((gap - e) / c), _cdf((-gap - e) / c)
    return Forecast(win, max(0.0, 1.0 - win - loss), loss)


# -- the log -------------------------------------------------------------------------------------------------------

Key = tuple[str, str, str, str]  # pool, game, agent, role; the overall list of a pool has game "" and role ""


_NEW = (MU, SIGMA, 0)


class Ratings:
    """Ratings as a pure function of the match log: the same matches in the same order give the same numbers.

    There is a list for every (pool, game, role), and one over all games for every pool. A match id counts once. Nobody
    is rated by a match whose ending says nothing about skill (infra, cut_off), or in which an agent sits in two teams.
    `frozen` agents don't learn: their skill doesn't drift. `draws` fixes the draw probability of a game, where 0 means
    that the game has no draws and one is an error; otherwise it is estimated from the matches seen so far.
    """

    def __init__(self, frozen: Collection[str] = (), draws: Mapping[str, float] | None = None):
        for game, probability in (draws or {}).items():
            if not (probability >= 0 and (probability + 1) / 2 < 1):  # just below 1 this rounds to a margin of infinity
                raise ValueError(f"draw probability of {game!r} is {probability}: it must be at least 0 and below 1")
        self.frozen = frozenset(frozen)
        self.draws = dict(draws or {})
        self._ratings: dict[Key, tuple[float, float, int]] = {}
        self._seen: set[str] = set()
        self._ties: dict[tuple[str, str], tuple[int, int]] = {}  # (pool, game) -> draws, neighbours compared

    @classmethod
    def rebuild(
        cls, matches: Iterable[Match], frozen: Collection[str] = (), draws: Mapping[str, float] | None = None
    ) -> Ratings:
        """The ratings after a whole log, in its order."""
        ratings = cls(frozen, draws)
        for match in matches:
            ratings.add(match)
        return ratings

    def add(self, match: Match) -> bool:
        """Rate a match; False if it rates nobody. Raises ValueError, and changes nothing, if it makes no sense."""
        if match.id in self._seen:
            return False
        check(match)
        if match.ending not in RATED or not contest(match.teams):
            return False
        order = places(match)
        ties = len(order) - len(set(order))
        draw_probability = self.draw_probability(match.game, match.pool)
        if ties and not draw_probability:
            raise ValueError(
                f"match {match.id!r}: {match.game!r} has draw probability 0, but scores are {list(match.scores)}: "
                f"break the tie, or give draws={{{match.game!r}: p}} with p above 0"
            )
        self._seen.add(match.id)
        drawn, compared = self._ties.get((match.pool, match.game), (0, 0))
        self._ties[match.pool, match.game] = drawn + ties, compared + len(order) - 1
        if len(order) == 2 and len(match.teams[0]) == len(match.teams[1]) == 1:
            self._rate_duel(match, order, draw_probability)
            return True
        overall = [[(match.pool, "", agent, "") for agent in team] for team in match.teams]
        self._rate(overall, order, draw_probability)
        roles = match.roles or tuple(("",) * len(team) for team in match.teams)
        seats = zip(match.teams, roles, strict=True)
        keys = [[(match.pool, match.game, *seat) for seat in zip(team, told, strict=True)] for team, told in seats]
        self._rate(keys, order, draw_probability)
        return True

    def _rate_duel(self, match: Match, order: Sequence[int], draw_probability: float) -> None:
        """What `_rate` would do to both lists, without the lists of teams."""
        best, other = (0, 1) if order[0] <= order[1] else (1, 0)
        winner, loser = match.teams[best][0], match.teams[other][0]
        role, against = (match.roles[best][0], match.roles[other][0]) if match.roles else ("", "")
        drift, drift_of_loser = self._drift(winner), self._drift(loser)
        drawn, limit = order[0] == order[1], margin(draw_probability)
        pool, ratings = match.pool, self._ratings
        for one, two in (
            ((pool, "", winner, ""), (pool, "", loser, "")),
            ((pool, match.game, winner, role), (pool, match.game, loser, against)),
        ):
            mu, sigma, n = ratings.get(one, _NEW)
            nu, tau, k = ratings.get(two, _NEW)
            sigma, tau = math.hypot(sigma, drift), math.hypot(tau, drift_of_loser)
            mu, sigma, nu, tau = rate_duel(mu, sigma, nu, tau, drawn, limit)
            ratings[one], ratings[two] = (mu, sigma, n + 1), (nu, tau, k + 1)

    def _rate(self, keys: Sequence[Sequence[Key]], places: Sequence[int], draw_probability: float) -> None:
        members = [{key: team.count(key) for key in team} if len(team) > 1 else {team[0]: 1} for team in keys]
        if len({seats for team in members for seats in team.values()}) == 1:
            members = [dict.fromkeys(team, 1) for team in members]  # two seats against two is one against one
        teams = [[self._player(key, seats) for key, seats in team.items()] for team in members]
        if len(teams) == 2:
            best, other = (0, 1) if places[0] <= places[1] else (1, 0)
            rated = rate_pair(teams[best], teams[other], places[0] == places[1], draw_probability)
            results: Sequence[list[tuple[float, float]]] = (rated[best], rated[other])
        else:
            results = rate_many(teams, places, draw_probability)
        for team, result in zip(members, results, strict=True):
            for key, (mu, sigma) in zip(team, result, strict=True):
                self._ratings[key] = (mu, sigma, self._ratings[key][2] + 1 if key in self._ratings else 1)

    def _player(self, key: Key, seats: int) -> Player:
        mu, sigma, _ = self._ratings.get(key, _NEW)
        return Player(mu, math.hypot(sigma, self._drift(key[2])), seats)

    def _drift(self, agent: str) -> float:
        return 0.0 if agent in self.frozen or agent.startswith(TASK) else TAU

    def draw_probability(self, game: str, pool: str = "main") -> float:
        """The share of draws so far, with ten matches at the usual 0.1 counted in beforehand; at least 0.01."""
        if game in self.draws:
            return self.draws[game]
        drawn, compared = self._ties.get((pool, game), (0, 0))
        return max(DRAW_FLOOR, (drawn + 1) / (compared + 10))

    def rating(self, agent: str, pool: str = "main", game: str = "", role: str = "") -> Rating:
        """One agent's rating over all games, or at one role of one game; the prior if it has not been rated."""
        return Rating(agent, *self._ratings.get((pool, game, agent, role), _NEW))

    def table(self, pool: str = "main", game: str = "", role: str = "", *, tasks: bool = False) -> list[Rating]:
        """The list of a pool, or of one role of one game in it, best `low` first; the tasks in it only if asked for."""
        found = [
            Rating(key[2], *rating)
            for key, rating in self._ratings.items()
            if (key[0], key[1], key[3]) == (pool, game, role)
        ]
        return ordered(found, tasks=tasks)

    def lists(self) -> list[tuple[str, str, str]]:
        """The (pool, game, role) of every list; game and role are "" for the overall list of a pool."""
        return sorted({(pool, game, role) for pool, game, _, role in self._ratings})


def ordered(ratings: Iterable[Rating], *, tasks: bool = False) -> list[Rating]:
    """Ratings as they stand on a board: best `low` first, equals by name, tasks only if asked for."""
    shown = (rating for rating in ratings if tasks or not rating.agent.startswith(TASK))
    return sorted(shown, key=lambda rating: (-rating.low, rating.agent))


def contest(teams: Sequence[Sequence[str]]) -> bool:
    """Whether it rates anybody: at least two teams, and no agent in more than one of them."""
    if len(teams) == 2:
        return not set(teams[0]).intersection(teams[1])
    members = [agent for team in teams for agent in set(team)]
    return len(teams) > 1 and len(members) == len(set(members))


def places(match: Match) -> list[int]:
    """The place of every team, 0 the best; equal scores share one.

    Sums of rewards carry rounding errors: what agrees to 9 decimals is equal.
    """
    if len(match.scores) == 2:
        first, second = match.scores
        if abs(first - second) > 2e-9:  # they are equal to no 9 decimals, and rounding takes its time
            return [0, 1] if first > second else [1, 0]
    scores = [round(float(score), 9) for score in match.scores]
    ranks = sorted(set(scores), reverse=True)
    return [ranks.index(score) for score in scores]


def _finite(score: object) -> bool:
    """Whether it is a real number that a float can hold."""
    if isinstance(score, bool) or not isinstance(score, Real):
        return False
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


def check(match: Match) -> None:
    """Raise ValueError, with what is allowed, unless the match can be read in one way only."""
    if match.ending not in ENDINGS:
        near = difflib.get_close_matches(str(match.ending), ENDINGS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(ENDINGS)}"
        raise ValueError(f"match {match.id!r} has ending {match.ending!r}: {hint}")
    for part in (match.id, match.game, *chain.from_iterable(match.teams)):
        if not isinstance(part, str) or not part:
            raise ValueError(f"match {match.id!r}: id, game and agents must be names, not {part!r}")
    if not all(match.teams):
        raise ValueError(f"match {match.id!r} has a team without agents: {match.teams}")
    if match.roles and [len(team) for team in match.roles] != [len(team) for team in match.teams]:
        raise ValueError(f"match {match.id!r}: roles {match.roles} don't fit the teams {match.teams}")
    if match.ending not in RATED:
        return
    if len(match.scores) != len(match.teams):
        raise ValueError(f"match {match.id!r} has {len(match.teams)} teams but {len(match.scores)} scores")
    for score in match.scores:
        # Most scores are floats, and to ask whether one is a number of any other kind takes longer than to rate it.
        if not (math.isfinite(score) if type(score) is float else _finite(score)):
            raise ValueError(
                f"match {match.id!r} has the score {score!r}: give every team a finite number, the higher the better, "
                "equal ones for a draw; a match that can't be scored has ending 'infra'"
            )

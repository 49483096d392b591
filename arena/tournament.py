"""Tournaments: everybody meets everybody, in every seat, on the same deals."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple

from omegaconf import MISSING
from rich.table import Table
from rich.text import Text

from arena.agent import Agent
from arena.config import within
from arena.game import Game
from arena.make import GameConfig, make
from arena.play import in_parallel, play
from arena.ratings import TASK, Rating, Ratings, ordered
from arena.seeding import derive
from arena.store import Store
from arena.terminal import one_line
from arena.types import ENDINGS, RATED, Episode, Match

Entrant = Callable[[str], Agent]  # makes the agent that plays a given role of the game


@dataclass(frozen=True)
class EntrantConfig:
    """Who takes part. `agent` is a word as on the command line: random, oracle, MODEL@ROLE, an exported folder.

    `seats` has another word for single roles of the game, as in `{first: runs/a/export}`.
    """

    name: str = MISSING
    agent: str = MISSING
    seats: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TournamentConfig:
    """A round robin: `rounds` deals a pairing, each played in every rotation of the seats; `concurrency` at once.

    `paired` scores the rotations of a deal together as one match, so that nobody wins by the cards or the seat; without
    it every game is a match, and there are ratings by role. One that takes longer than `patience` seconds (0: no limit)
    ends as infra.
    """

    name: str = MISSING
    seed: int = 0
    rounds: int = 20
    paired: bool = True
    concurrency: int = 64
    patience: float = 0.0
    game: GameConfig = field(default_factory=GameConfig)
    entrants: list[EntrantConfig] = field(default_factory=list)

    def __post_init__(self) -> None:
        within("rounds", self.rounds, 1)
        within("concurrency", self.concurrency, 1)
        within("patience", self.patience, 0)


class Pairing(NamedTuple):
    """One match to be played: the seed of its deal, and for each of its games the entrant at every seat."""

    id: str
    deal: int
    seatings: tuple[Mapping[str, str], ...]


class Cell(NamedTuple):
    """The mean score of an entrant over `n` matches with another one."""

    mean: float
    n: int


@dataclass(frozen=True)
class Standings:
    """How it ended. `ratings` are best first; `payoff[a, b]` is what `a` scored where it met (or sat with) `b`."""

    name: str
    game: str
    ratings: tuple[Rating, ...]
    payoff: Mapping[tuple[str, str], Cell]
    endings: Mapping[str, int]

    @property
    def matches(self) -> int:
        return sum(self.endings.values())

    def table(self) -> Table:
        """The ratings, and beside them the mean score against every entrant; for a rich console."""
        table = Table(
            title=Text(one_line(f"{self.name}: {self.game}, {self._counts()}")), title_justify="left", box=None
        )
        table.add_column("agent")
        names = [rating.agent for rating in self.ratings]
        for heading in ("low", "mu", "sigma", "matches", *names):
            table.add_column(Text(one_line(heading)), justify="right")
        for rating in self.ratings:
            numbers = [f"{rating.low:.2f}", f"{rating.mu:.2f}", f"{rating.sigma:.2f}", str(rating.matches)]
            met = [self.payoff.get((rating.agent, other)) for other in names]
            scores = [f"{cell.mean:+.3f}" if cell else "" for cell in met]
            table.add_row(*(Text(one_line(cell)) for cell in (rating.agent, *numbers, *scores)))
        return table

    def _counts(self) -> str:
        return f"{self.matches} matches ({', '.join(f'{n} {ending}' for ending, n in sorted(self.endings.items()))})"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "game": self.game,
            "matches": self.matches,
            "endings": dict(self.endings),
            "ratings": [{**asdict(rating), "low": rating.low} for rating in self.ratings],
            "payoff": [{"agent": a, "other": b, "mean": c.mean, "n": c.n} for (a, b), c in self.payoff.items()],
        }


# -- who meets whom ------------------------------------------------------------------------------------------------


def schedule(
    entrants: Iterable[str],
    game: GameConfig,
    rounds: int,
    seed: int,
    name: str = "round_robin",
    *,
    paired: bool = True,
) -> list[Pairing]:
    """All matches of a round robin; ids and deals follow from the arguments alone, in whatever order entrants come.

    An entrant takes a whole team of the game, or a single seat where the game is cooperative; there it also sits with
    itself. All rotations of one pairing share a deal, and are one match if `paired`. Raises ValueError where the
    entrants don't fill the game.
    """
    names = list(entrants)
    rules = make(game.name, **game.params)
    _refuse(names, rules, rounds)
    meet = combinations_with_replacement if rules.info.cooperative else combinations
    places = _places(rules)
    what = (name, game.name, json.dumps(game.params, sort_keys=True), seed)
    found = []
    for met in meet(sorted(names), len(places)):
        turned = list(dict.fromkeys((*met[i:], *met[:i]) for i in range(len(met))))
        for number in range(rounds):
            deal = derive(*what, "deal", *met, number)
            for games in [turned] if paired else [[one] for one in turned]:
                id = f"{name}-{derive(*what, 'match', *(who for one in games for who in one), number):016x}"
                seatings = tuple(
                    {seat: who for place, who in zip(places, one, strict=True) for seat in place} for one in games
                )
                found.append(Pairing(id, deal, seatings))
    return found


def _places(game: Game) -> list[tuple[str, ...]]:
    """What an entrant takes: the seats of a team, or one seat in a cooperative game."""
    return [(seat,) for seat in game.possible_agents] if game.info.cooperative else [tuple(t) for t in game.teams()]


def _refuse(names: list[str], game: Game, rounds: int) -> None:
    """Raise ValueError, with the remedy, for a tournament that can't be played or rated."""
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}: play at least 1")
    for entrant in names:
        if not entrant or entrant.startswith(TASK) or names.count(entrant) > 1:
            raise ValueError(
                f"entrant {entrant!r}: give every entrant a name of its own, which does not begin with {TASK!r}"
            )
    info = game.info
    if info.cooperative and info.par is None:
        raise ValueError(f"{game} has no par: a cooperative team is rated against the return that good play reaches")
    if not info.cooperative and not info.zero_sum and len(game.roles) > 1:
        raise ValueError(
            f"{game} is not zero-sum: the returns of {', '.join(game.roles)} can't be held against each other"
        )
    needed = 1 if info.cooperative else len(game.teams())
    if len(names) < needed:
        raise ValueError(
            f"{game} is played by {needed}, but there are {len(names)} entrants: {', '.join(names) or 'none'}"
        )


def match_of(episode: Episode, game: Game, *, id: str = "", pool: str = "main") -> Match:
    """The match that an episode was, for ratings: teams score the mean return of their seats.

    A cooperative team plays the task, which scores the game's par. An episode that could not be scored has no scores.
    """
    teams = [tuple(episode.agents[seat] for seat in team) for team in game.teams()]
    roles = [tuple(seat.rpartition("_")[0] for seat in team) for team in game.teams()]
    returns = [[episode.returns[seat] for seat in team] for team in game.teams()]
    scores = [sum(r for r in team if r is not None) / len(team) for team in returns if None not in team]
    if game.info.cooperative:
        if game.info.par is None:
            raise ValueError(
                f"{game} has no par: a cooperative team is rated against the return that good play reaches"
            )
        teams.append((f"{TASK}{episode.task.id if episode.task else game}",))
        roles.append(("",))
        scores.append(game.info.par)
    whole = len(scores) == len(teams)
    return Match(
        id=id or episode.id,
        game=episode.game,
        teams=tuple(teams),
        scores=tuple(scores) if whole else (),
        roles=tuple(roles),
        ending=episode.ending if whole else "infra",
        pool=pool,
        episodes=(episode.id,),
    )


def together(games: Sequence[Match], id: str) -> Match:
    """Games of the same teams as one match: a team scores its mean, and the match ends as the worst of them did."""
    if len(games) == 1:
        return replace(games[0], id=id)
    ending = max((game.ending for game in games), key=ENDINGS.index)
    sums: dict[tuple[str, ...], float] = {}
    for game in games:
        for team, score in zip(game.teams, game.scores or (0.0,) * len(game.teams), strict=True):
            key = tuple(sorted(team))
            sums[key] = sums.get(key, 0.0) + score
    return Match(
        id=id,
        game=games[0].game,
        teams=tuple(sums),
        scores=() if ending == "infra" else tuple(total / len(games) for total in sums.values()),
        ending=ending,
        pool=games[0].pool,
        episodes=tuple(episode for game in games for episode in game.episodes),
    )


# -- the play ------------------------------------------------------------------------------------------------------


async def round_robin(
    entrants: Mapping[str, Entrant],
    game: GameConfig,
    rounds: int,
    seed: int,
    store: Store | None = None,
    *,
    name: str = "round_robin",
    paired: bool = True,
    concurrency: int = 64,
    patience: float = 0.0,
    tick: Callable[[int], object] | None = None,
) -> Standings:
    """Play what `schedule` says, and rate it. `name` is the pool, and the matches' ids in the store begin with it.

    Matches that the store has are not played again, except those that ended as infra; every other is stored as soon as
    it is over, so that an interrupted tournament goes on with the same call. An agent that raises costs one match.
    `tick` is told the number of matches done.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: at least one match must be under way")
    pairings = schedule(entrants, game, rounds, seed, name, paired=paired)
    known = {match.id: match for match in store.log(name) if match.ending != "infra"} if store else {}
    done = {pairing.id: known[pairing.id] for pairing in pairings if pairing.id in known}
    waiting = iter([pairing for pairing in pairings if pairing.id not in done])
    rules = make(game.name, **game.params)
    agents = {(n, role): entrant(role) for n, entrant in entrants.items() for role in rules.roles}

    async def work() -> None:
        table = make(game.name, **game.params)
        for pairing in waiting:
            games = _play(table, pairing, agents)
            try:
                episodes = await asyncio.wait_for(games, patience or None)
            except TimeoutError:
                episodes = []
            match = _judge(table, pairing, episodes, name)
            if store is not None:
                store.add(match, episodes)
            done[match.id] = match
            if tick is not None:
                tick(len(done))

    await in_parallel(work, min(concurrency, len(pairings) - len(done)))
    return _stand(entrants, str(rules), done, store, name)


async def _play(game: Game, pairing: Pairing, agents: Mapping[tuple[str, str], Agent]) -> list[Episode]:
    """The games of a pairing, up to the first that breaks off.

    They share the deal and no other chance: the replies of each are seeded by its own id.
    """
    episodes: list[Episode] = []
    for number, seating in enumerate(pairing.seatings):
        id = f"{pairing.id}.{number}"
        seats = {seat: agents[who, seat.rpartition("_")[0]] for seat, who in seating.items()}
        episode = await play(game, seats, seed=pairing.deal, id=id, stream=(id,))
        # What an entrant's agents call themselves is their business: here they go by its name.
        episodes.append(replace(episode, agents=dict(seating)))
        if episode.ending == "infra":
            break
    return episodes


def _judge(game: Game, pairing: Pairing, episodes: Sequence[Episode], pool: str) -> Match:
    """The match of a pairing; infra if it has no episodes, which means that time ran out."""
    if episodes:
        return together([match_of(episode, game, pool=pool) for episode in episodes], pairing.id)
    teams = tuple(tuple(pairing.seatings[0][seat] for seat in team) for team in game.teams())
    return Match(pairing.id, str(game), teams, (), ending="infra", pool=pool)


def _stand(
    entrants: Iterable[str], game: str, matches: Mapping[str, Match], store: Store | None, name: str
) -> Standings:
    """Rate in the order of ids, so that it doesn't matter which match was finished first; entrants don't learn."""
    names = list(entrants)
    log = [matches[id] for id in sorted(matches)]
    ratings = Ratings.rebuild(log, frozen=names)
    if store is not None:
        store.rate(ratings)
    table = ordered(ratings.rating(entrant, name) for entrant in names)
    endings = Counter(match.ending for match in log)
    return Standings(name, game, tuple(table), payoff(log), dict(sorted(endings.items())))


def payoff(matches: Iterable[Match]) -> dict[tuple[str, str], Cell]:
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
    return {pair: Cell(sum(scores) / len(scores), len(scores)) for pair, scores in sorted(sums.items())}


async def run(
    config: TournamentConfig,
    agent: Callable[[str], Agent],
    store: Store | None = None,
    tick: Callable[[int], object] | None = None,
) -> Standings:
    """Play a config; `agent` makes an agent of its word, as `Cast.agent` does."""

    def entrant(who: EntrantConfig) -> Entrant:
        return lambda role: agent(who.seats.get(role, who.agent))

    names = [who.name for who in config.entrants]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"two entrants are called {twice[0]!r}: give every entrant a name of its own")
    roles = list(make(config.game.name, **config.game.params).roles)
    for who in config.entrants:
        for role in who.seats:
            if role not in roles:
                near = difflib.get_close_matches(role, roles, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(roles)}"
                raise ValueError(f"entrant {who.name!r}: {config.game.name} has no role {role!r}: {hint}")
    return await round_robin(
        {who.name: entrant(who) for who in config.entrants},
        config.game,
        config.rounds,
        config.seed,
        store,
        name=config.name,
        paired=config.paired,
        concurrency=config.concurrency,
        patience=config.patience,
        tick=tick,
    )

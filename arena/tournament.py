"""Tournaments: entrants meet on the same deals, in every seat, until it is known who is better."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omegaconf import MISSING

from arena.agent import Agent
from arena.config import ConfigError, one_of, within
from arena.game import Game
from arena.guard import Guarded, Rules
from arena.make import GameConfig, make
from arena.match import match_of, together
from arena.pairing import Pairing, refuse_words, round_of
from arena.play import in_parallel, play
from arena.schedule import Plan, Schedule
from arena.scoreboard import Scoreboard, overall_board, scoreboard
from arena.shapes import SHAPES
from arena.store import Store
from arena.types import Episode, Match, role_of

Entrant = Callable[[str, str], Agent]  # (label of a game, role) -> the agent that plays it
Watch = Callable[[Match, int], object]  # hears every match just played, and how many are done and not tried again


@dataclass(frozen=True)
class EntrantConfig:
    """Who takes part. `agent` is a word as on the command line: random, oracle, bot:NAME, mcts:N, MODEL@ROLE, a folder.

    `seats` has another word for single roles, as in `{first: runs/a/export}`. One who doesn't play all games, or not
    with the same agent, has `games` instead: its agent by game, as in `{nim: tiny@nim, kuhn_poker: tiny@kuhn}`.
    """

    name: str = MISSING
    agent: str = ""
    seats: dict[str, str] = field(default_factory=dict)
    games: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.agent) == bool(self.games):
            raise ConfigError(
                f"entrant {self.name!r} has agent {self.agent!r} and games {self.games}",
                remedy="give agent for all games, or games: an agent for each that it plays",
            )

    def word(self, game: Game, role: str) -> str:
        """The word of the agent that plays this role of this game."""
        return self.seats.get(role) or self.games.get(str(game)) or self.games.get(game.name) or self.agent


@dataclass(frozen=True)
class TournamentConfig:
    """Everybody who enters, and what they play, in which shape, for how long.

    A round is one deal for every meeting, played in every rotation of the seats. `paired` scores the rotations of a
    deal together as one match, so that nobody wins by the cards or the seat; without it every game is a match, and
    there are ratings by role. `until` ends it when nobody's interval is wider, `rounds` in any case. `game` stands for
    a list of one in `games`.
    """

    name: str = MISSING
    seed: int = 0
    shape: str = "round_robin"
    rounds: int = 20
    until: float = 0.0
    paired: bool = True
    concurrency: int = 64
    game: GameConfig = field(default_factory=lambda: GameConfig(""))
    games: list[GameConfig] = field(default_factory=list)
    entrants: list[EntrantConfig] = field(default_factory=list)
    challengers: list[str] = field(default_factory=list)
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        one_of("shape", self.shape, list(SHAPES))
        within("rounds", self.rounds, 1)
        within("until", self.until, 0)
        within("concurrency", self.concurrency, 1)
        if bool(self.game.name) == bool(self.games):
            told = "both game and games" if self.games else "neither game nor games"
            raise ConfigError(f"there is {told}", remedy="give game={name: ...}, or games with one entry for each")

    def plan(self) -> Plan:
        """What decides which matches there are."""
        twice = [name for name, n in Counter(who.name for who in self.entrants).items() if n > 1]
        if twice:
            raise ValueError(f"two entrants are called {twice[0]!r}: give every entrant a name of its own")
        return Plan(
            name=self.name,
            games=tuple(self.games or [self.game]),
            entrants=tuple(who.name for who in self.entrants),
            rounds=self.rounds,
            seed=self.seed,
            shape=self.shape,
            paired=self.paired,
            challengers=tuple(self.challengers),
            only={who.name: tuple(who.games) for who in self.entrants if who.games},
            strikes=self.rules.strikes,
            until=self.until,
        )

    def words(self) -> set[str]:
        """The words of all agents that take part."""
        return {word for who in self.entrants for word in (who.agent, *who.seats.values(), *who.games.values()) if word}


def check(config: TournamentConfig, suits: Callable[[str, Game, str], object] | None = None) -> Schedule:
    """The schedule of a config; raises ValueError, with the remedy, for whatever can be seen before anybody plays.

    `suits` raises it for the word of an agent that can't play a game in a role, as `Cast.check` does.
    """
    schedule = Schedule(config.plan())
    roles = list(dict.fromkeys(role for game in schedule.rules.values() for role in game.roles))
    for who in config.entrants:
        refuse_words(f"entrant {who.name!r}: no game has the role", list(who.seats), roles)
        plays = [game for label, game in schedule.rules.items() if who.name in schedule.field(label)]
        asked = [(game, role) for game in plays for role in game.roles]
        for game, role in asked:
            try:
                if suits is not None:
                    suits(who.word(game, role), game, role)
            except ValueError as error:
                raise ValueError(f"entrant {who.name!r} at {game}: {error}") from error
    return schedule


async def run(
    config: TournamentConfig,
    agent: Callable[[str], Agent],
    store: Store | None = None,
    watch: Watch | None = None,
) -> Scoreboard:
    """Play a config; `agent` makes an agent of its word, as `Cast.agent` does."""
    games = check(config).rules

    def entrant(who: EntrantConfig) -> Entrant:
        return lambda game, role: agent(who.word(games[game], role))

    entrants = {who.name: entrant(who) for who in config.entrants}
    return await contest(
        config.plan(), entrants, store, rules=config.rules, concurrency=config.concurrency, watch=watch
    )


async def contest(
    plan: Plan,
    entrants: Mapping[str, Entrant],
    store: Store | None = None,
    *,
    rules: Rules | None = None,
    concurrency: int = 64,
    watch: Watch | None = None,
) -> Scoreboard:
    """Play what the schedule lays out, and rate it. The plan's name is the pool, and the matches' ids begin with it.

    Every match is stored as soon as it is over, and what the store has isn't played again: an interrupted tournament
    goes on with the same call. Matches that ended as infra are tried once more, unless later rounds already depend on
    them. An agent that fails costs a match, never the tournament. Raises ValueError where `refuse_log` does.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: at least one match must be under way")
    schedule, seats = Schedule(plan), _Seats(entrants, rules or Rules())
    log = list(store.log(plan.name)) if store else []
    refuse_log(plan, log)
    if store is not None:
        store.rule(plan.name, plan.entrants, schedule.draws)  # before the first match: whatever is stored can be rated
    done: dict[str, Match] = {}
    again: set[str] = set()

    def finished(match: Match, episodes: Sequence[Episode]) -> None:
        if store is not None:
            store.add(match, episodes)
        done[match.id] = match
        again.discard(match.id)
        if watch is not None:
            watch(match, len(done) - len(again))

    for block, broken in _blocks(schedule, log, done):
        again.update(broken)
        await _play_all([p for p in block if p.id not in done or p.id in again], plan, seats, concurrency, finished)
    board = scoreboard(schedule, done)
    if store is not None:
        store.rate(board.rated)
    return board


def refuse_log(plan: Plan, log: Iterable[Match]) -> None:
    """Raise ValueError, with the remedy, for matches in a store that this plan doesn't lay out.

    They would be missing in its table, and yet count in the ratings that are made anew from the store.
    """
    left = {match.id: match for match in log}
    latest = max((round_of(id, plan.name) for id in left), default=-1)
    if latest >= plan.rounds:
        raise ValueError(
            f"rounds is {plan.rounds}, but matches of {latest + 1} rounds were played: give rounds={latest + 1} or "
            "more, or another folder"
        )
    schedule, done = Schedule(plan), dict[str, Match]()
    while left and (block := schedule.block(done)):
        done.update({pairing.id: left.pop(pairing.id) for pairing in block if pairing.id in left})
        if schedule.adaptive and any(pairing.id not in done for pairing in block):
            break
    if left:
        raise ValueError(
            f"{len(left)} stored matches of {plan.name!r} are not of this tournament, such as {min(left)!r}: "
            "give it another name or folder"
        )


def so_far(plan: Plan, log: Iterable[Match]) -> Scoreboard:
    """How a tournament stands by the matches in the log, which may end anywhere."""
    schedule, done = Schedule(plan), dict[str, Match]()
    for block, _ in _blocks(schedule, log, done):
        if any(pairing.id not in done for pairing in block):
            break
    return scoreboard(schedule, done)


def _blocks(
    schedule: Schedule, log: Iterable[Match], done: dict[str, Match]
) -> Iterator[tuple[list[Pairing], Collection[str]]]:
    """The blocks of a tournament, and the ids in each that broke off and are to be tried again.

    What the log has of a block is put into `done` first; whoever iterates adds the rest before asking for the next.
    `until` ends it after the last block that the log has something of, never before: what was played counts.
    """
    plan = schedule.plan
    known = {match.id: match for match in log}
    latest = max((round_of(id, plan.name) for id in known), default=-1)
    while block := schedule.block(done):
        done.update({pairing.id: known[pairing.id] for pairing in block if pairing.id in known})
        final = (schedule.adaptive or plan.until > 0) and block[-1].round < latest
        yield block, () if final else {p.id for p in block if p.id in done and done[p.id].ending == "infra"}
        if plan.until and block[-1].round >= latest and overall_board(schedule, done).widest <= plan.until:
            return


class _Seats:
    """The agents of every entrant under the rules, each made when it first plays a game."""

    def __init__(self, entrants: Mapping[str, Entrant], rules: Rules):
        self.entrants, self.rules = entrants, rules
        self._made: dict[tuple[str, str], dict[str, Agent]] = {}

    def of(self, who: str, game: Game) -> dict[str, Agent]:
        """By role."""
        key = (who, str(game))
        if key not in self._made:
            self._made[key] = {role: Guarded(self.entrants[who](str(game), role), self.rules) for role in game.roles}
        return self._made[key]


async def _play_all(
    pairings: Sequence[Pairing],
    plan: Plan,
    seats: _Seats,
    concurrency: int,
    finished: Callable[[Match, Sequence[Episode]], None],
) -> None:
    """Play these, up to `concurrency` at once; `finished` hears of each as it ends."""
    waiting = iter(pairings)

    async def work() -> None:
        games = {str(game): game for game in (make(config.name, **config.params) for config in plan.games)}
        for pairing in waiting:
            game = games[pairing.game]
            episodes = await _play(game, pairing, {who: seats.of(who, game) for who in pairing.met})
            finished(together([match_of(one, game, pool=plan.name) for one in episodes], pairing.id), episodes)
            await asyncio.sleep(0)  # agents that never wait would keep Ctrl-C from being heard before the block is over

    await in_parallel(work, min(concurrency, len(pairings)))


async def _play(game: Game, pairing: Pairing, agents: Mapping[str, Mapping[str, Agent]]) -> list[Episode]:
    """The games of a pairing, up to the first that breaks off; `agents` by entrant and role.

    They share the deal and no other chance: the replies of each are seeded by its own id.
    """
    episodes: list[Episode] = []
    for number, seating in enumerate(pairing.seatings):
        id = f"{pairing.id}.{number}"
        seats = {seat: agents[who][role_of(seat)] for seat, who in seating.items()}
        episode = await play(game, seats, seed=pairing.deal, id=id, stream=(id,))
        # What an entrant's agents call themselves is their business: here they go by its name.
        episodes.append(replace(episode, agents=dict(seating)))
        if episode.ending == "infra":
            break
    return episodes

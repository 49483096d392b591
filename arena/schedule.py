"""The matches of a tournament, block by block: what is played next follows from the plan and what was played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from arena.game import Game
from arena.make import GameConfig, make
from arena.pairing import Pairing, pair, places, refuse_game, refuse_names, refuse_words
from arena.seeding import derive
from arena.shapes import ADAPTIVE, SHAPES, Round
from arena.types import Match

BLOCK = 256  # matches; the fewest that a shape lays out at once, where rounds don't depend on each other


@dataclass(frozen=True)
class Plan:
    """Who plays what, in which shape, and for how many rounds: all that decides which matches there are.

    `only` holds the games, by name or label, of entrants that don't play all of them. `challengers` are those of a
    gauntlet. A round is one deal for every meeting. `strikes` matches of a game broken by an entrant withdraw it; it is
    over before the last round when nobody's interval is wider than `until` (0: play all rounds).
    """

    name: str
    games: tuple[GameConfig, ...]
    entrants: tuple[str, ...]
    rounds: int = 20
    seed: int = 0
    shape: str = "round_robin"
    paired: bool = True
    challengers: tuple[str, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strikes: int = 3
    until: float = 0.0


class Schedule:
    """Lays out a plan. Raises ValueError, with the remedy, for one that can't be played or rated."""

    def __init__(self, plan: Plan):
        refuse_names(plan.entrants)
        if plan.rounds < 1:
            raise ValueError(f"rounds is {plan.rounds}: play at least 1")
        self.plan = plan
        self.rules: dict[str, Game] = {}
        for config in plan.games:
            game = make(config.name, **config.params)
            game.ready()
            if str(game) in self.rules:
                raise ValueError(
                    f"game {str(game)!r} is listed twice: once is enough, rounds say how often it is played"
                )
            self.rules[str(game)] = game
        if not self.rules:
            raise ValueError("there is no game: give game, or games with one entry for each")
        titles = [*dict.fromkeys([*self.rules, *(game.name for game in self.rules.values())])]
        for games in plan.only.values():
            refuse_words("no such game among those played:", games, titles)
        refuse_words("no such entrant to be a challenger:", plan.challengers, plan.entrants)
        if (plan.shape == "gauntlet") != bool(plan.challengers):
            raise ValueError(f"shape is {plan.shape!r}: challengers are for a gauntlet, which needs at least one")
        for game in self.rules.values():
            refuse_game(game, self.field(str(game)), paired=plan.paired)
        self.past: list[dict[str, list[tuple[str, ...]]]] = []

    @property
    def adaptive(self) -> bool:
        """Whether a round depends on how the matches before it ended."""
        return self.plan.shape in ADAPTIVE

    @property
    def draws(self) -> dict[str, float]:
        """A draw probability of 0 for each game that can't be drawn; the mean over a rotation can be equal in any."""
        return {} if self.plan.paired else {label: 0.0 for label, game in self.rules.items() if not game.info.draws}

    def field(self, game: str, out: Collection[tuple[str, str]] = ()) -> list[str]:
        """The entrants of a game that are still in it, in an order that isn't the one they were listed in."""
        wanted = (game, self.rules[game].name)
        plays = (who for who in self.plan.entrants if not self.plan.only.get(who) or {*self.plan.only[who]} & {*wanted})
        return sorted(who for who in plays if (who, game) not in out)

    def withdrawn(self, results: Mapping[str, Match]) -> dict[tuple[str, str], str]:
        """(entrant, game) that is played no more, with the reason of the last match that the entrant broke."""
        broken = [results[id] for id in sorted(results) if results[id].ending == "infra" and results[id].fault]
        strikes = Counter((match.fault, match.game) for match in broken)
        last = {(match.fault, match.game): match.reason for match in broken}
        return {key: last[key] for key, n in strikes.items() if 0 < self.plan.strikes <= n}

    def block(self, results: Mapping[str, Match]) -> list[Pairing]:
        """The next matches, given the results by id of all that were laid out before; none when it is over.

        A block is a round. Where no round depends on another it is as many as make `BLOCK` matches, which may all be
        under way at once. Only between blocks is anybody withdrawn: the matches don't depend on what ran beside what.
        """
        found: list[Pairing] = []
        log = [results[id] for id in sorted(results)]
        out = self.withdrawn(results)
        while len(self.past) < self.plan.rounds and (not found or (not self.adaptive and len(found) < BLOCK)):
            number = len(self.past)
            meetings = {game: self._meetings(game, log, out) for game in self.rules}
            self.past.append(meetings)
            for game, tables in meetings.items():
                for met in tables:
                    found += self._pair(game, met, number)
            if not any(meetings.values()):
                break
        return found

    def _pair(self, game: str, met: tuple[str, ...], number: int) -> list[Pairing]:
        plan = self.plan
        return pair(plan.name, plan.seed, self.rules[game], met, number, paired=plan.paired)

    def _meetings(self, game: str, log: list[Match], out: Mapping[tuple[str, str], str]) -> list[tuple[str, ...]]:
        """Who meets whom at this game in the next round; nobody where too few are left."""
        rules, field = self.rules[game], self.field(game, out)
        size = len(places(rules))
        if len(field) < (1 if rules.info.cooperative else size):
            return []
        now = Round(
            tuple(field),
            size,
            rules.info.cooperative,
            self.plan.challengers,
            [meetings[game] for meetings in self.past],
            [match for match in log if match.game == game],
            derive(self.plan.seed, self.plan.name, game),
        )
        return SHAPES[self.plan.shape](now)

    @property
    def expected(self) -> int:
        """How many matches there will be if nobody is withdrawn and nothing stops it early."""
        afresh = Schedule(self.plan)
        first = {game: afresh._meetings(game, [], {}) for game in self.rules}
        pairings = [one for game, tables in first.items() for met in tables for one in self._pair(game, met, 0)]
        return len(pairings) * self.plan.rounds

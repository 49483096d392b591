"""Moves that lose value, in games of perfect information whose perfect play is known.

A position is worth to each seat what it gets if everybody plays on perfectly, as the game's oracle does. A move is a
blunder if it leaves its seat a position that is worth less than before; so there are none where all is lost already,
nor where every move wins. An illegal reply that forfeits is a move, and a blunder if the seat had more to lose than the
forfeit takes. One that is told and asked again is no move yet.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from arena import positions
from arena.game import Game
from arena.positions import Positions
from arena.solve import Policy
from arena.types import Episode

LOSS = 1e-9  # what differs by rounding only is worth as much
Z95 = 1.959963984540054  # the normal quantile of 0.975


def unknown(game: Game) -> str:
    """Why blunders can't be told in a game, "" where they can."""
    info = game.info
    if not info.perfect_information or info.simultaneous or info.chance:
        return f"a blunder takes a game of perfect information without chance: {game} is none"
    game.reset(seed=0)
    if not game.oracle(game.turn()):
        return f"a blunder takes a game that has an oracle: {game} has none"
    return ""


class Ply(NamedTuple):
    """Moves number `ply` of a game, counted from 0 over all seats: how many a game, and the share that lose value."""

    ply: int
    moves: float
    rate: float


@dataclass(frozen=True)
class Blunders:
    """How often moves lose value.

    `rate` is the share of all moves that do; `at_stake` the share among moves made where a legal move would, None if
    there were none; `illegal` the share of all moves that lose value by an illegal reply. `moves` and `lost`, the value
    lost, are a game. `low` and `high` are the 95 % Wilson interval of a sampled rate in which each game counts as one
    move, for moves of one game hang together; both are the rate where it is exact. `games` is 0 there.
    """

    rate: float
    at_stake: float | None
    illegal: float
    moves: float
    lost: float
    low: float
    high: float
    games: int
    by_ply: tuple[Ply, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "by_ply": [ply._asdict() for ply in self.by_ply]}


@dataclass
class _Tally:
    """Weights of moves: all, those made where a legal one loses value, and those that lose it; then by ply."""

    moves: float = 0.0
    staked: float = 0.0
    staked_blunders: float = 0.0
    illegal: float = 0.0
    lost: float = 0.0
    plies: dict[int, tuple[float, float]] = field(default_factory=dict)  # ply -> moves, blunders

    def add(self, weight: float, ply: int, loss: float, staked: bool, illegal: bool = False) -> None:
        blunder = weight if loss > LOSS else 0.0
        self.moves += weight
        self.staked += weight * staked
        self.staked_blunders += blunder * staked
        self.illegal += blunder * illegal
        self.lost += weight * max(0.0, loss)
        moves, blunders = self.plies.get(ply, (0.0, 0.0))
        self.plies[ply] = moves + weight, blunders + blunder

    def blunders(self, weight: float, games: int) -> Blunders:
        """Of games of this weight in all."""
        blunders = sum(bad for _, bad in self.plies.values())
        rate = blunders / self.moves if self.moves else 0.0
        low, high = wilson(rate, games) if games else (rate, rate)
        return Blunders(
            rate=rate,
            at_stake=self.staked_blunders / self.staked if self.staked else None,
            illegal=self.illegal / self.moves if self.moves else 0.0,
            moves=self.moves / weight,
            lost=self.lost / weight,
            low=low,
            high=high,
            games=games,
            by_ply=tuple(
                Ply(ply, moves / weight, bad / moves) for ply, (moves, bad) in sorted(self.plies.items()) if moves
            ),
        )


def wilson(rate: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share that was seen in n independent trials (Wilson 1927)."""
    centre, scale = rate + Z95**2 / (2 * n), 1 + Z95**2 / n
    half = Z95 * math.sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n**2))
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


# -- over all positions --------------------------------------------------------------------------------------------


def exact(table: Positions, mine: Policy, theirs: Policy, perfect: Policy) -> Blunders:
    """Of the moves of `mine`, weighted by their probability, in every seat in turn with `theirs` in the others."""
    worths = positions.worths(table, dict.fromkeys(table.seats, perfect))
    tally = _Tally()
    for own, seat in enumerate(table.seats):
        came = positions.reach(table, {s: mine if s == seat else theirs for s in table.seats})
        for n in (n for n, mover in enumerate(table.mover) if mover == own and came[n]):
            losses = [worths[n][own] - positions.gains(there, worths)[own] for there in table.after[n]]
            staked = max(losses[:-1]) > LOSS
            for ply, reach in came[n].items():
                for a, (p, loss) in enumerate(zip(positions.weights(table, n, mine), losses, strict=True)):
                    tally.add(reach * p, ply, loss, staked, illegal=a == len(losses) - 1)
    return tally.blunders(len(table.seats), 0)


# -- over games that were played -----------------------------------------------------------------------------------


class Judge:
    """Knows what positions of a game are worth, by playing on perfectly; each is looked at once."""

    def __init__(self, game: Game):
        if reason := unknown(game):
            raise ValueError(reason)
        self.game = copy.deepcopy(game)
        self._worth: dict[tuple[str, str], Mapping[str, float]] = {}

    def worth(self, position: Game) -> Mapping[str, float]:
        """What every seat still gets by perfect play of all."""
        path: list[tuple[tuple[str, str], Mapping[str, float]]] = []  # positions, and what going on from there earns
        game = copy.deepcopy(position)
        key = _key(game)
        while not game.ending and key not in self._worth:
            odds = game.oracle(game.turn())
            earned = _step(game, max(odds, key=lambda move: odds[move]))
            path.append((key, earned))
            key = _key(game)
        ahead = {} if game.ending else self._worth[key]
        for key, earned in reversed(path):
            ahead = self._worth[key] = _sum(earned, ahead)
        return ahead

    def loss(self, position: Game, move: str) -> float:
        """What a move, or an illegal reply that forfeits, costs the seat that makes it."""
        seat = position.turn()
        game = copy.deepcopy(position)
        earned = _step(game, move)
        return self.worth(position).get(seat, 0.0) - _sum(earned, self.worth(game)).get(seat, 0.0)

    def sampled(self, episodes: Iterable[tuple[Episode, str]]) -> Blunders:
        """Of the moves that one seat made in each of these games."""
        tally, games = _Tally(), 0
        for episode, seat in episodes:
            self._count(episode, seat, tally)
            games += 1
        return tally.blunders(games, games)

    def _count(self, episode: Episode, seat: str, tally: _Tally) -> None:
        game, ply = self.game, 0
        game.reset(seed=episode.seed, options={"task": episode.task})
        for turn in episode.turns:
            mover, before = game.turn(), copy.deepcopy(game)
            if mover != turn.seat:
                raise ValueError(f"episode {episode.id} has {turn.seat} to move where the rules have {mover}")
            game.step(turn.move)
            if game.judged and not game.ending:
                continue
            if mover == seat:
                staked = any(self.loss(before, move) > LOSS for move in before.legal(seat))
                tally.add(1.0, ply, self.loss(before, turn.move), staked, illegal=bool(game.judged))
            ply += 1


def _key(game: Game) -> tuple[str, str]:
    """A position of a game of perfect information."""
    return game.turn(), game.state_text()


def _step(game: Game, move: str) -> Mapping[str, float]:
    """Make a move; what it earned by seat."""
    game.step(move)
    return dict(game.rewards)


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {seat: one.get(seat, 0.0) + other.get(seat, 0.0) for seat in one.keys() | other.keys()}

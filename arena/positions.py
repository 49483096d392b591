"""Every position of a game of perfect information, however it came about, and what play is worth there.

Where neither chance nor memory matters, a game's positions are far fewer than the ways to go through them: tic-tac-toe
has 4,520 boards at which somebody moves, and 255,168 games. Policies are tables as in `arena.solve`: what a row lacks
to 1 is an illegal reply, which forfeits at once.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from arena.game import Game
from arena.solve import Policy, row
from arena.tree import Information

OVER = -1  # where the game has ended


class After(NamedTuple):
    """What a move earns by seat, and the number of the position it leads to."""

    earned: tuple[float, ...]
    next: int


@dataclass(frozen=True)
class Positions:
    """Those at which a seat moves, N in all; number 0 comes first.

    `information[n]` is what a seat without memory reads there, `positions[n]` the game itself, `mover[n]` the index of
    the seat, and `after[n]` follows its legal moves, with an illegal reply last. `order` has every position after those
    it leads to.
    """

    seats: tuple[str, ...]
    information: tuple[Information, ...]
    positions: tuple[Game, ...]
    mover: tuple[int, ...]
    after: tuple[tuple[After, ...], ...]
    order: tuple[int, ...]


def positions(game: Game, limit: int = 10_000) -> Positions:
    """Play `game` in every way, going on from each position once.

    Raises ValueError for a game with chance, hidden or simultaneous moves, where legal moves aren't listed, for one
    that comes back to where it was, whose positions look alike, or that has more than `limit` of them.
    """
    info = game.info
    if not info.perfect_information or info.simultaneous or info.chance:
        raise ValueError(f"positions take a game of perfect information without chance: {game} is none")
    game = copy.deepcopy(game)
    game.reset(seed=0)
    seats = tuple(game.possible_agents)
    number, games = {_key(game): 0}, [game]
    known: dict[Information, int] = {}
    mover: list[int] = []
    after: list[tuple[After, ...]] = []
    for here in games:  # grows while it is gone through
        seat = here.turn()
        legal = tuple(here.legal(seat))
        if not legal:
            raise ValueError(f"{game} doesn't list the legal moves of {seat}: its positions can't be enumerated")
        looks = Information(seat, (here.observe(seat)["text"],), (), legal)
        if known.setdefault(looks, len(mover)) != len(mover):
            raise ValueError(f"two positions of {game} look alike to {seat}: {looks.heard[0]!r}")
        mover.append(seats.index(seat))
        follow: list[After] = []
        for move in (*legal, None):
            there = copy.deepcopy(here)
            there.rewards = dict.fromkeys(there.rewards, 0.0)
            if move is None:
                there.forfeit(seat, "illegal move")
            else:
                there.step(move)
            earned = tuple(there.rewards.get(s, 0.0) for s in seats)
            follow.append(After(earned, OVER if there.ending else number.setdefault(_key(there), len(games))))
            if follow[-1].next == len(games):
                games.append(there)
        after.append(tuple(follow))
        if len(games) > limit:
            raise ValueError(f"{game} has more than {limit} positions: too many to enumerate")
    return Positions(seats, tuple(known), tuple(games), tuple(mover), tuple(after), _order(game, after))


def _key(game: Game) -> Hashable:
    """What tells positions apart: the rules' own view, and what every seat would read next."""
    return game.turn(), game.state_text(), tuple(game.observe(seat)["text"] for seat in game.possible_agents)


def _order(game: Game, after: list[tuple[After, ...]]) -> tuple[int, ...]:
    graph = {n: {there.next for there in follow} - {OVER} for n, follow in enumerate(after)}
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ValueError(f"{game} can come back to an earlier position: its positions are no table") from error


# -- what play is worth --------------------------------------------------------------------------------------------


def weights(positions: Positions, n: int, policy: Policy) -> tuple[float, ...]:
    """The probability of each of `after[n]`; raises ValueError for a row that is none of probabilities."""
    return row(positions.information[n], policy)


def worths(positions: Positions, by_seat: Mapping[str, Policy]) -> list[tuple[float, ...]]:
    """At every position, what every seat still expects to get when each plays its own policy from there on."""
    seats = range(len(positions.seats))
    found: list[tuple[float, ...]] = [()] * len(positions.mover)
    for n in positions.order:
        chances = weights(positions, n, by_seat[positions.seats[positions.mover[n]]])
        ahead = [gains(there, found) for there in positions.after[n]]
        found[n] = tuple(sum(p * gain[i] for p, gain in zip(chances, ahead, strict=True)) for i in seats)
    return found


def gains(there: After, worths: list[tuple[float, ...]]) -> tuple[float, ...]:
    """What every seat gets by a move and from there on."""
    if there.next == OVER:
        return there.earned
    return tuple(now + later for now, later in zip(there.earned, worths[there.next], strict=True))


def values(positions: Positions, by_seat: Mapping[str, Policy]) -> dict[str, float]:
    """The expected return of every seat when each plays its own policy."""
    return dict(zip(positions.seats, worths(positions, by_seat)[0], strict=True))


def best_response(positions: Positions, policy: Policy, seat: str) -> float:
    """The most that `seat` can expect, with legal moves, against the others' `policy`."""
    own = positions.seats.index(seat)
    found = [0.0] * len(positions.mover)
    for n in positions.order:
        ahead = [move.earned[own] + (0.0 if move.next == OVER else found[move.next]) for move in positions.after[n]]
        if positions.mover[n] == own:
            found[n] = max(ahead[:-1])
        else:
            found[n] = sum(p * gain for p, gain in zip(weights(positions, n, policy), ahead, strict=True))
    return found[0]


def nash_conv(positions: Positions, policy: Policy) -> float:
    """The sum over seats of what each would gain by a best response; 0 exactly at an equilibrium."""
    now = values(positions, dict.fromkeys(positions.seats, policy))
    return sum(best_response(positions, policy, seat) - now[seat] for seat in positions.seats)


def reach(positions: Positions, by_seat: Mapping[str, Policy]) -> list[dict[int, float]]:
    """At every position, the probability of coming there after so many moves of all seats; 0 is left out."""
    found: list[dict[int, float]] = [{} for _ in positions.mover]
    found[0][0] = 1.0
    for n in reversed(positions.order):
        chances = weights(positions, n, by_seat[positions.seats[positions.mover[n]]])
        for there, p in zip(positions.after[n], chances, strict=True):
            if p and there.next != OVER:
                for ply, came in found[n].items():
                    found[there.next][ply + 1] = found[there.next].get(ply + 1, 0.0) + p * came
    return found


def illegal_games(positions: Positions, policy: Policy) -> float:
    """The probability that a game of `policy` against itself comes to an illegal reply."""
    came = reach(positions, dict.fromkeys(positions.seats, policy))
    return sum(sum(came[n].values()) * weights(positions, n, policy)[-1] for n in range(len(came)))

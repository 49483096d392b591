"""Whether an agent can play a game at all, as far as first turns tell: asked before anything is played."""

from __future__ import annotations

from collections.abc import Iterator

from arena.game import Game
from arena.types import role_of

STEPS = 50  # moves after which nobody's first turn is looked for any more


class Unsuited(ValueError):
    """The agent can't play the game; the message says why, and what to do."""


def first_turns(game: Game, role: str = "") -> Iterator[str]:
    """Each seat of `role`, or of all roles, when it is asked for the first time in a game of first legal moves.

    The game stands at that position while the seat is looked at; the walk ends where moves aren't listed.
    """
    game.reset(seed=0)
    seen: set[str] = set()
    for _ in range(STEPS):
        seat = game.turn()
        if not seat:
            return
        if seat not in seen and role in ("", seat, role_of(seat)):
            yield seat
        seen.add(seat)
        legal = game.legal(seat)
        if not legal or len(seen) == len(game.possible_agents):
            return
        game.step(legal[0])


def needs_listed_moves(name: str, game: Game, role: str = "") -> None:
    """Raise `Unsuited` where the agent of this name would come to a turn whose legal moves aren't listed."""
    never = type(game).legal is Game.legal
    if never or not all(game.legal(seat) for seat in first_turns(game, role)):
        raise Unsuited(f"agent {name!r} needs a game that lists its legal moves, which {game} does not: seat another")

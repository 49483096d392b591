"""A random game as all that can be read of it from outside: what two games are compared by."""

from __future__ import annotations

import random
from typing import Any

from arena.game import Game
from arena.twins import Speak

State = tuple[Any, ...]


def say(game: Game, seat: str, rng: random.Random) -> str:
    """A random legal move; a plain word where none is listed."""
    legal = game.legal(seat)
    return rng.choice(legal) if legal else rng.choice(("yes", "no", "maybe"))


def transcript(game: Game, seed: int, speak: Speak = say, moves: int | None = None) -> list[State]:
    """A whole random game: every state and move. `moves` seeds the moves, by default `seed` does."""
    game.reset(seed=seed)
    return play_on(game, speak, random.Random(seed if moves is None else moves))


def play_on(game: Game, speak: Speak, rng: random.Random) -> list[State]:
    """The rest of a transcript, from the position that `game` is in."""
    states: list[State] = [state(game)]
    while seat := game.turn():
        text = speak(game, seat, rng)
        game.step(text)
        states.append((text, game.judged, *state(game)))
    return states


def state(game: Game) -> State:
    """All that can be read from outside, of every seat."""
    seats = game.possible_agents
    heard = [game.observe(seat)["text"] for seat in seats]
    legal = [tuple(game.legal(seat)) for seat in game.acting]
    posed = {seat: task.id for seat, task in game.faced.items()}
    return heard, legal, game.acting, game.stage, dict(game.rewards), posed, game.ending, game.reason, game.state_text()


def difference(one: Any, two: Any) -> str:
    """The first parts that differ, shortened."""
    while isinstance(one, (tuple, list)) and isinstance(two, (tuple, list)) and len(one) == len(two):
        pairs = [(a, b) for a, b in zip(one, two, strict=True) if a != b]
        if not pairs:
            break
        one, two = pairs[0]
    return f"{one!r:.300} or {two!r:.300}"

"""Other people's games, played in words: "openspiel:kuhn_poker", "pettingzoo:tictactoe", "textarena:TicTacToe-v0".

Each house has a module of its name here, whose `load(name, params)` makes a game; its package is imported only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from arena.game import Game

HOUSES = ("openspiel", "pettingzoo", "textarena")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class House(Protocol):
    """What a module of this package offers."""

    def load(self, name: str, params: Mapping[str, Any]) -> Game: ...
    def defaults(self, name: str) -> dict[str, Any]: ...


def is_foreign(name: str) -> bool:
    """Whether `name` belongs to one of the houses."""
    house, colon, _ = name.partition(":")
    return bool(colon) and house in HOUSES


def load(name: str, params: Mapping[str, Any]) -> Game:
    """The game "<house>:<its name there>"; ValueError says what is missing, what was near, or why it's refused."""
    house, _, rest = name.partition(":")
    return _house(house).load(rest, params)


def defaults(name: str) -> dict[str, Any]:
    """The parameters that a foreign game takes where it isn't told otherwise."""
    house, _, rest = name.partition(":")
    return _house(house).defaults(rest)


def _house(name: str) -> House:
    module: House = import_module(f"arena.foreign.{name}")
    return module


def need(module: str, package: str) -> ModuleType:
    """Import `module`; where its package is absent, a ValueError names the extra that brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{package} is not installed ({error}): it belongs to the extra 'games': pip install 'scrimmage[games]'"
        ) from error


def roles_of(seats: int) -> dict[str, int]:
    """Roles of seats that aren't interchangeable: first, second, ...; beyond ten all are called player."""
    if seats == 1:
        return {"player": 1}
    return dict.fromkeys(ORDINALS[:seats], 1) if seats <= len(ORDINALS) else {"player": seats}


def sayable(texts: list[str]) -> tuple[str, ...]:
    """The texts as moves that can stand in square brackets: on one line, without brackets, no two of them alike."""
    said: dict[str, None] = {}
    for text in texts:
        word = " ".join(text.replace("[", "(").replace("]", ")").split()) or "-"
        unlike, count = word, 1
        while unlike in said:
            count += 1
            unlike = f"{word} #{count}"
        said[unlike] = None
    return tuple(said)


def choices(words: tuple[str, ...], shown: int = 100) -> str:
    """The line that offers `words`; beyond `shown` of them only their number is told."""
    more = f" ... ({len(words)} in all)" if len(words) > shown else ""
    return "Actions: " + " ".join(f"[{word}]" for word in words[:shown]) + more

"""Games by name: one file, one game; anything else by "module:Class"."""

from __future__ import annotations

import difflib
import pkgutil
from importlib import import_module
from typing import Any

from arena.game import Game


def names() -> list[str]:
    """The built-in games: every module of the package `games` that holds a game of its name."""
    found = pkgutil.iter_modules(import_module("games").__path__)
    return sorted(m.name for m in found if not m.ispkg and not m.name.startswith("_"))


def find(name: str) -> type[Game]:
    """The class of a game; raises ValueError with the nearest match if there is none."""
    module, _, cls = name.partition(":")
    if not cls:
        if module not in names():
            near = difflib.get_close_matches(module, names(), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
            raise ValueError(f"game {name!r} not found: {hint} (your own: 'module:Class')")
        module, cls = f"games.{module}", "".join(word.title() for word in module.split("_"))
    try:
        found = getattr(import_module(module), cls)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"game {name!r} can't be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Game)):
        raise ValueError(f"game {name!r}: {module}.{cls} is not a Game")
    return found


def make(name: str, **params: Any) -> Game:
    """`make("kuhn_poker")` is `KuhnPoker` in games/kuhn_poker.py; `make("my.module:Auction")` is yours."""
    cls = find(name)
    try:
        game = cls(**params)
    except TypeError as error:
        raise ValueError(f"game {name!r} with {params}: {error}") from error
    game.name = name
    return game

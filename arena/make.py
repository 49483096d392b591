"""Games by name: one file, one game; anything else by "module:Class", or of another house as "openspiel:hex"."""

from __future__ import annotations

import json
import pkgutil
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from omegaconf import MISSING

from arena import foreign
from arena.config import nearest
from arena.game import Game
from arena.parameters import check


@dataclass(frozen=True)
class GameConfig:
    """`name` as for `arena.make`; `params` go to its constructor."""

    name: str = MISSING
    params: dict[str, Any] = field(default_factory=dict)


def names() -> list[str]:
    """The built-in games: every module of the package `games` that holds a game of its name."""
    found = pkgutil.iter_modules(import_module("games").__path__)
    return sorted(m.name for m in found if not m.ispkg and not m.name.startswith("_"))


def find(name: str) -> type[Game]:
    """The class of a game; raises ValueError with the nearest match if there is none."""
    module, _, cls = name.partition(":")
    if not cls:
        home, cls = f"games.{module}", "".join(word.title() for word in module.split("_"))
        # What is loaded isn't looked for: to list the folder takes longer than many a game.
        if not hasattr(sys.modules.get(home), cls) and module not in names():
            near = nearest(module, names())
            hint = f"did you mean {near!r}?" if near else "scrimmage games lists them"
            raise ValueError(f"game {name!r} not found: {hint} (your own: 'module:Class')")
        module = home
    try:
        found = getattr(import_module(module), cls)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"game {name!r} can't be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Game)):
        raise ValueError(f"game {name!r}: {module}.{cls} is not a Game")
    return found


def make(name: str, **params: Any) -> Game:
    """`make("kuhn_poker")` is `KuhnPoker` in games/kuhn_poker.py; `make("my.module:Auction")` is yours.

    `make("openspiel:hex", board_size=5)` is of another house (`arena.foreign`). A label such as `dec_tiger(horizon=3)`
    is read too. Raises ValueError for a game that isn't there and for `params` that it doesn't take or refuses.
    """
    name, told = read(name)
    params = {**told, **params}
    game = foreign.load(name, params) if foreign.is_foreign(name) else _own(name, params)
    game.label = label(game.name, game.params)
    return game


def _own(name: str, params: dict[str, Any]) -> Game:
    cls = find(name)
    check(f"game {name!r}", cls, params)
    try:
        game = cls(**params)
    except (TypeError, ValueError) as error:
        raise ValueError(f"game {name!r} with {params}: {error}") from error
    game.name, game.params = name, params
    return game


def label(name: str, params: Mapping[str, Any]) -> str:
    """The name with those parameters that aren't the constructor's defaults: `dec_tiger(horizon=3)`.

    What was made alike has one label, and only that: matches, records and ratings are kept apart by it. Values stand
    as JSON; one that isn't JSON stands as Python writes it, and such a label can't be read again.
    """
    usual = {key: _written(default) for key, default in _defaults(name).items()}
    told = {key: _written(value) for key, value in sorted(params.items())}
    shown = ", ".join(f"{key}={value}" for key, value in told.items() if usual.get(key) != value)
    return f"{name}({shown})" if shown else name


def _defaults(name: str) -> dict[str, Any]:
    """What a game takes where it isn't told otherwise."""
    if foreign.is_foreign(name):
        return foreign.defaults(name)
    takes = signature(find(name)).parameters
    return {key: taken.default for key, taken in takes.items() if taken.default is not Parameter.empty}


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def read(label: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a label; a word that isn't one is all name."""
    name, bracket, rest = label.partition("(")
    params: dict[str, Any] = {}
    decoder, at = json.JSONDecoder(), 0
    while bracket and (key := re.compile(r"(\w+)=").match(rest, at)):
        try:
            params[key[1]], at = decoder.raw_decode(rest, key.end())
        except ValueError:
            break
        if rest[at:] == ")":
            return name, params
        if not (comma := re.compile(r",\s*").match(rest, at)):
            break
        at = comma.end()
    return label, {}

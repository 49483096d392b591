"""Games of TextArena, as "textarena:TicTacToe-v0": offline ones, fenced from its global seed, judged by our rules."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from arena.config import nearest
from arena.foreign import need, roles_of
from arena.foreign.replay import Replay
from arena.foreign.textarena_refused import REFUSED
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task

OTHERWISE_WRAPPED = ("-raw", "-train")  # endings of ids that name the same game inside other wrappers
SIZES = (2, 1, *range(3, 16))  # how many players a game is tried with, where it isn't told


class Sitting:
    """A game of TextArena under way, without its wrappers.

    `said` has what each player was told by the last step, without its own words, and `player` who moves next; the
    rewards come at the end only. A move that TextArena calls invalid, or fails on, raises `IllegalMove`.
    """

    def __init__(self, make: partial[Any], players: int, seed: int):
        with redirect_stdout(io.StringIO()):  # some print what they do
            self.env = make()
            self.env.reset(num_players=players, seed=seed)
        self.env.state.set_invalid_move = self._refuse
        self.refused = ""
        self.rewards: Mapping[int, float] | None = None
        self._listen()

    def take(self, action: str) -> None:
        try:
            with redirect_stdout(io.StringIO()):
                done, _ = self.env.step(action)
        except IllegalMove:
            raise
        except Exception as error:
            raise IllegalMove(f"the game fails on it ({type(error).__name__}: {error!s:.200})") from error
        if self.refused:  # some games catch what `_refuse` raises
            raise IllegalMove(self.refused)
        self._listen()
        if done:
            self.rewards = self.env.close()[0] or {}

    def _refuse(self, *told: Any, **named: Any) -> None:
        """Stands for TextArena's own judgement; the reason is the text among what it is given."""
        reasons = [part for part in (*told, *named.values()) if isinstance(part, str) and part]
        self.refused = reasons[0] if reasons else "TextArena gives no reason"
        raise IllegalMove(self.refused)

    def _listen(self) -> None:
        state = self.env.state
        self.player = int(state.current_player_id)
        waiting, state.observations = state.observations, {player: [] for player in state.observations}
        self.said = {
            player: tuple(self._told(message) for message in messages if message[0] != player)
            for player, messages in waiting.items()
        }

    def _told(self, message: tuple[Any, ...]) -> str:
        """The text of a message and who says it; some games give its parts in another order than sender, text, kind."""
        sender = next((part for part in message if isinstance(part, int)), -1)
        text = next((part for part in message if isinstance(part, str)), "").strip()
        return text if sender < 0 else f"{self.env.state.role_mapping.get(sender, f'Player {sender}')}: {text}"


class TextArena(Game):
    """A game of TextArena. Player i of it has the i-th seat; what one hears is what TextArena tells that player.

    Its moves can't be listed. Rewards are paid at the end, and not at all if the game is cut short.
    """

    def __init__(self, name: str, params: Mapping[str, Any]):
        kwargs = dict(params)
        players = kwargs.pop("players", None)
        spec = _specs()[name]
        kind = _class(spec)
        make = partial(kind, **{**spec.kwargs, **kwargs})
        self.brackets = any(wrapper.__name__ == "ActionFormattingWrapper" for wrapper in spec.default_wrappers or ())
        self.players, state = _seated(make, players)
        self.begin = partial(Sitting, make, self.players)
        self.roles = roles_of(self.players)
        source = _source(kind)
        self.info = GameInfo(
            zero_sum=state == "TwoPlayerState" and not re.search(r"\.rewards\s*=|set_game_outcome", source),
            chance=bool(re.search(r"\brandom\.|\brng\b", source)),
        )

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.sitting: Replay[Sitting] = Replay(self.begin, rng.getrandbits(31) if self.info.chance else 0)
        return self._next()

    def parse(self, seat: str, text: str) -> str:
        """What TextArena is told: `text`, or `text` in brackets where its wrapper would put them or it wants them."""
        if set(text) & set("[]"):
            return self._attempt(text)
        if self.brackets:
            return self._attempt(f"[{text}]")
        try:
            return self._attempt(text)
        except IllegalMove as plain:
            try:
                return self._attempt(f"[{text}]")
            except IllegalMove:
                raise plain from None

    def _attempt(self, action: str) -> str:
        self.sitting.attempt(action)
        return action

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((_, action),) = moves.items()
        self.sitting.play(action)
        return self._next()

    def state_text(self) -> str:
        """TextArena's own record of the position."""
        state = self.sitting.now.env.state
        position = re.sub(r" at 0x[0-9a-f]+", "", repr(state.game_state))  # addresses differ from copy to copy
        return f"Turn {state.turn}, player {state.current_player_id}: {position}"

    def _next(self) -> Seats:
        """Pass on what was said, pay at the end, and ask whoever moves next."""
        now = self.sitting.now
        for seat, messages in zip(self._seats, (now.said[player] for player in range(self.players)), strict=True):
            if messages:
                self.tell("\n".join(messages), seat)
        if now.rewards is None:
            return (self._seats[now.player],)
        self.score(**{self._seats[player]: float(reward) for player, reward in now.rewards.items()})
        return ()


def load(name: str, params: Mapping[str, Any]) -> TextArena:
    """The game of an id, such as "TicTacToe-v0"; `players` and what its constructor takes are `params`."""
    # The package takes seconds to import, and a refused id mostly begins with the name of its family.
    reason = REFUSED.get(re.split(r"-v\d", name, maxsplit=1)[0], "")
    known = {} if reason else defaults(name)
    if reason := reason or refusal(name):
        raise ValueError(f"textarena game {name!r} is refused: {reason}")
    takes = ["players", *known, *signature(_class(_specs()[name])).parameters]
    for key in params:
        if key not in takes:
            near = nearest(key, takes)
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(dict.fromkeys(takes))}"
            raise ValueError(f"textarena game {name!r} has no parameter {key!r}: {hint}")
    game = TextArena(name, params)
    game.name, game.params = f"textarena:{name}", dict(params)
    return game


def defaults(name: str) -> dict[str, Any]:
    """What a game is made with where it isn't told otherwise; ValueError for one that TextArena doesn't have."""
    if name not in names():
        near = nearest(name, names())
        hint = f"did you mean 'textarena:{near}'?" if near else f"there are {', '.join(names())}"
        raise ValueError(f"textarena game {name!r} not found: {hint}")
    return dict(_specs()[name].kwargs)


def names() -> list[str]:
    """Every id of TextArena, refused ones too, but for those that name the same game in other wrappers."""
    return sorted(name for name in _specs() if not name.endswith(OTHERWISE_WRAPPED))


def refusal(name: str) -> str:
    """Why a game can't be played here, "" if it can."""
    if reason := REFUSED.get(family(name)):
        return reason
    try:
        _class(_specs()[name])
    except SyntaxError as error:
        return f"this Python can't read its file: {error}"
    except ImportError as error:
        return f"it can't be imported: {error}"
    return ""


def family(name: str) -> str:
    """The game that an id is a size or a variant of: the folder of its rules in TextArena."""
    folder: str = _specs()[name].entry_point.split(".")[2]
    return folder


def _specs() -> dict[str, Any]:
    need("textarena", "textarena")
    registry: dict[str, Any] = import_module("textarena.envs.registration").ENV_REGISTRY
    return registry


def _class(spec: Any) -> Any:
    module, _, name = spec.entry_point.partition(":")
    return getattr(import_module(module), name)


def _source(kind: Any) -> str:
    """The rules as they are written: the only place that tells whether a game draws, and what it can pay."""
    folder = Path(str(import_module(kind.__module__).__file__)).parent
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def _seated(make: partial[Any], players: int | None) -> tuple[int, str]:
    """How many players a game is for, as told or else the first of `SIZES` that it starts with; its kind of state."""
    refused: Exception | None = None
    for count in SIZES if players is None else (players,):
        try:
            table = Replay(partial(Sitting, make, count), 0).now
        except Exception as error:  # noqa: BLE001 - they refuse a number by `assert`, by ValueError, or by failing on it
            refused = refused or error
        else:
            return count, type(table.env.state).__name__
    wanted = "any number of" if players is None else players
    raise ValueError(f"textarena game {make.func.__name__} doesn't start with {wanted} players: {refused}")

"""Any playable game of OpenSpiel, as "openspiel:NAME" or "openspiel:NAME(key=value)"."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Any, Self

from arena.config import nearest
from arena.foreign import choices, need, roles_of, sayable
from arena.foreign.openspiel_words import RAW, WORDS, Words
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task

EXTRA_GAMES = "open_spiel.python.games"  # registers those written in Python
STRUCTURED = ("crossword",)  # actions without numbers
SECRET = ("python_hangman",)  # is called perfect information, though its state holds the word that is to be guessed
SEEDED = "rng_seed"  # the parameter that seeds games whose chance is hidden inside OpenSpiel


class Position:
    """A state of an OpenSpiel game, which copies fast and pickles as the actions that led to it.

    `log` holds one entry an action: an int, or a list of ints by player at a simultaneous node. Chance that OpenSpiel
    draws inside itself (`sampled`) lives in the rules object that all its states share, so there a copy is a replay.
    """

    def __init__(self, name: str, params: Mapping[str, Any], log: list[int | list[int]] | None = None):
        self.name, self.params = name, dict(params)
        self.rules = _pyspiel().load_game(name, self.params)
        self.sampled = self.rules.get_type().chance_mode == _pyspiel().GameType.ChanceMode.SAMPLED_STOCHASTIC
        self.state = self.rules.new_initial_state()
        self.log: list[int | list[int]] = []
        for action in log or ():
            self.apply(action)

    def apply(self, action: int | list[int]) -> None:
        """Play one legal action, or one by player at a simultaneous node."""
        self.log.append(action)
        if isinstance(action, list):
            self.state.apply_actions(action)
        else:
            self.state.apply_action(action)

    def fresh(self, rng: random.Random) -> Position:
        """The start of a game; what OpenSpiel draws inside itself comes from `rng` too."""
        if self.sampled:
            return Position(self.name, {**self.params, SEEDED: rng.getrandbits(31)})
        return self._at(self.rules.new_initial_state(), [])

    def _at(self, state: Any, log: list[int | list[int]]) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, state=state, log=log)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        if self.sampled:
            return Position(self.name, self.params, self.log)
        return self._at(self.state.clone(), self.log.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return Position, (self.name, self.params, self.log)


class OpenSpiel(Game):
    """A game of OpenSpiel: chance comes from the match's seed, a simultaneous node is one stage.

    Seats are first, second, ... in OpenSpiel's order of players, starting with the one that begins (1 in chess). Each
    hears its own view of the game only: put in words for the games of `openspiel_words.WORDS`, else OpenSpiel's own
    text of what that player has observed.
    """

    def __init__(self, name: str, params: Mapping[str, Any]):
        self.position = Position(name, params)
        rules, kind, pyspiel = self.position.rules, self.position.rules.get_type(), _pyspiel()
        sequential = kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        seats = rules.num_players()
        self.roles = roles_of(seats)
        first = max(0, self.position.state.current_player())  # chance and several at once have negative numbers
        self.player = {seat: (first + i) % seats for i, seat in enumerate(self._seats)}
        self.seat = {player: seat for seat, player in self.player.items()}
        self.info = GameInfo(
            zero_sum=kind.utility == pyspiel.GameType.Utility.ZERO_SUM and seats > 1,
            cooperative=kind.utility == pyspiel.GameType.Utility.IDENTICAL and seats > 1,
            simultaneous=not sequential and seats > 1,
            chance=kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC,
            perfect_information=sequential
            and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
            and name not in SECRET,
            max_stages=max(1, rules.max_game_length()),
            forfeit=least if -math.inf < (least := float(rules.min_utility())) < 0 else -1.0,
        )

    @property
    def words(self) -> Words:
        return WORDS.get(self.position.name, RAW)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.position = self.position.fresh(rng)
        self.earned = dict.fromkeys(self._seats, 0.0)
        self.offered: dict[str, dict[str, int]] = {}  # seat -> what it may say -> OpenSpiel's action
        if self.words.rules:
            self.tell(self.words.rules)
        return self._next()

    def legal(self, seat: str) -> tuple[str, ...]:
        return tuple(self.offered.get(seat, ()))

    def parse(self, seat: str, text: str) -> str:
        if text not in self.offered[seat]:
            raise IllegalMove(choices(self.legal(seat), 20))
        return text

    def play(self, moves: Mapping[str, Any]) -> Seats:
        state = self.position.state
        actions = {self.player[seat]: self.offered[seat][word] for seat, word in moves.items()}
        for player, action in actions.items():  # an illegal id can pass OpenSpiel in silence
            if action not in state.legal_actions(player):
                raise RuntimeError(f"{self}: action {action} of player {player} is not legal in {state}")
        if state.is_simultaneous_node():
            self.position.apply([actions.get(player, 0) for player in range(len(self._seats))])
        else:
            ((_, action),) = actions.items()
            self.position.apply(action)
        return self._next()

    def forfeit(self, seat: str, reason: str) -> None:
        """End the game at the cost of `seat`, as everywhere; what it has earned is lost too, so that it never pays."""
        together = self.info.zero_sum or self.info.cooperative
        self.score(**{s: -self.earned[s] for s in (self._seats if together else (seat,))})
        super().forfeit(seat, reason)

    def knows(self, seat: str) -> tuple[str, tuple[str, ...]]:
        """What OpenSpiel shows to the seat, and its moves, for some games tell a die or a bid by those alone."""
        return self.state_text() if self.info.perfect_information else self._seen(seat), self.legal(seat)

    def state_text(self) -> str:
        return str(self.position.state)

    def _next(self) -> Seats:
        """Let chance play, pay what has been earned, and ask whoever moves next."""
        self.offered = {}
        state = self.position.state
        while not state.is_terminal():
            if state.is_chance_node():
                self.position.apply(self._drawn())
            elif self._ask():
                break
            else:  # a simultaneous node at which nobody has a choice
                self.position.apply([0] * len(self._seats))
        returns = {seat: float(state.returns()[player]) for seat, player in self.player.items()}
        self.score(**{seat: now - self.earned[seat] for seat, now in returns.items()})
        self.earned = returns
        if not self.offered:
            self.tell(f"The game is over. Returns: {', '.join(f'{s} {r:g}' for s, r in returns.items())}.")
        for seat, words in self.offered.items():
            view = self.words.view(self._seen(seat), self.player[seat], self.position.rules)
            self.tell(f"{view}\n{choices(tuple(words))}", seat)
        return tuple(self.offered)

    def _drawn(self) -> int:
        """An outcome of chance; where OpenSpiel draws inside itself it offers a single one."""
        outcomes, odds = zip(*self.position.state.chance_outcomes(), strict=True)
        (drawn,) = self.rng.choices(outcomes, odds) if len(outcomes) > 1 else outcomes
        return int(drawn)

    def _ask(self) -> bool:
        """Note what each seat on move may say; whether there is any such seat."""
        state = self.position.state
        players = range(len(self._seats)) if state.is_simultaneous_node() else (state.current_player(),)
        for player in players:
            ids = state.legal_actions(player)
            said = sayable([self.words.move(state.action_to_string(player, action)) for action in ids])
            if ids:
                self.offered[self.seat[player]] = dict(zip(said, ids, strict=True))
        return bool(self.offered)

    def _seen(self, seat: str) -> str:
        """OpenSpiel's text of what `seat` has observed: all the past where there is such a text, else the present."""
        player, kind, state = self.player[seat], self.position.rules.get_type(), self.position.state
        if kind.provides_information_state_string and (
            not self.info.perfect_information or not kind.provides_observation_string
        ):
            return str(state.information_state_string(player))
        if kind.provides_observation_string:
            return str(state.observation_string(player))
        return str(state) if kind.information == _pyspiel().GameType.Information.PERFECT_INFORMATION else ""


def load(name: str, params: Mapping[str, Any]) -> OpenSpiel:
    """The game "NAME", or "NAME(key=value)" as OpenSpiel writes it; `params` add to those in the name."""
    short, told = _parsed(name)
    for key in told:
        if key in params:
            raise ValueError(f"openspiel game {name!r}: {key!r} is given in its name and beside it: give it once")
    takes = defaults(short)
    given = {key: _typed(value, takes.get(key)) for key, value in {**told, **params}.items()}
    for key in given:
        if key not in takes:
            near = nearest(key, list(takes))
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(takes) or 'none'}"
            raise ValueError(f"openspiel game {short!r} has no parameter {key!r}: {hint}")
    if reason := refusal(short, given):
        raise ValueError(f"openspiel game {short!r} is refused: {reason}")
    try:
        game = OpenSpiel(short, given)
    except (_pyspiel().SpielError, TypeError, ValueError) as error:
        why = re.sub(r"^\S+\.(cc|h):\d+ ", "", " ".join(str(error).split()))  # without the place in OpenSpiel's source
        raise ValueError(f"openspiel game {short!r} with {given}: {why:.300}") from error
    game.name, game.params = f"openspiel:{short}", given
    return game


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a game with their usual values; ValueError for a game that OpenSpiel doesn't have."""
    return dict(_kind(name).parameter_specification)


def refusal(name: str, params: Mapping[str, Any] | None = None) -> str:
    """Why a game of OpenSpiel can't be played here with these parameters, "" if it can."""
    kind, given = _kind(name), params or {}
    if kind.dynamics == _pyspiel().GameType.Dynamics.MEAN_FIELD:
        return "a mean-field game is moved by a distribution over players, not by seats"
    if not kind.default_loadable and not given:
        return f"it can't be loaded without parameters: it takes {', '.join(kind.parameter_specification)}"
    if SEEDED in given:
        return f"its chance comes from the match's seed: leave {SEEDED!r} out"
    if name in STRUCTURED:
        return "its actions are structures, which have no names"
    return ""


def names() -> list[str]:
    """Every game that this OpenSpiel knows, refused ones too."""
    return sorted(kind.short_name for kind in _pyspiel().registered_games())


def _pyspiel() -> Any:
    module = need("pyspiel", "open_spiel")
    need(EXTRA_GAMES, "open_spiel")
    return module


def _parsed(name: str) -> tuple[str, dict[str, Any]]:
    """The short name and the parameters written behind it."""
    short, bracket, rest = name.partition("(")
    if bracket and not rest.endswith(")"):
        raise ValueError(f"openspiel game {name!r}: close the bracket, as in openspiel:hex(board_size=5)")
    _kind(short)
    given = _pyspiel().game_parameters_from_string(name) if bracket else {}
    return short, {key: value for key, value in given.items() if key != "name"}


def _kind(name: str) -> Any:
    """OpenSpiel's facts of a game; ValueError with the nearest match if it has none of that name."""
    for kind in _pyspiel().registered_games():
        if kind.short_name == name:
            return kind
    near = nearest(name, names())
    hint = f"did you mean 'openspiel:{near}'?" if near else f"there are {', '.join(names())}"
    raise ValueError(f"openspiel game {name!r} not found: {hint}")


def _typed(value: Any, usual: Any) -> Any:
    """A parameter as OpenSpiel wants it: 1.0 for 1, and a game for its text, such as "goofspiel(num_cards=3)"."""
    if isinstance(usual, float) and type(value) is int:
        return float(value)
    if isinstance(usual, dict) and isinstance(value, str):
        return _pyspiel().game_parameters_from_string(value)
    return value

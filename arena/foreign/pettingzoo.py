"""Any PettingZoo environment in words: `Worded(env, describe, moves)`, or by name as "pettingzoo:tictactoe"."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from pettingzoo import AECEnv, ParallelEnv

from arena.config import nearest
from arena.foreign import choices, sayable
from arena.foreign.replay import Replay
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task

Describe = Callable[[str, Any], str]  # (agent, observation) -> what it reads
Moves = Callable[[str, Any], Mapping[str, Any]]  # (agent, observation) -> what it may say -> the action it means


@dataclass(frozen=True)
class Now:
    """A game as it stands: who moves, what the last step paid, and what each agent still there is shown.

    `shown` has its observation and its info. `cut`: all that were left have been stopped rather than done.
    """

    acting: tuple[str, ...]
    rewards: Mapping[str, float]
    shown: Mapping[str, tuple[Any, Mapping[str, Any]]]
    cut: bool


class Table:
    """A game of an AEC environment under way."""

    def __init__(self, env: AECEnv, seed: int):
        self.env = env
        env.reset(seed=seed)
        self.now = self._settle({})

    def take(self, actions: Mapping[str, Any]) -> None:
        ((_, action),) = actions.items()
        self.env.step(action)
        self.now = self._settle(dict(self.env.rewards))  # read before the dead steps, which clear them

    def _settle(self, rewards: Mapping[str, float]) -> Now:
        """Step out every agent that is finished."""
        env = self.env
        cut = bool(env.agents) and all(env.truncations[a] and not env.terminations[a] for a in env.agents)
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        shown = {agent: (env.observe(agent), env.infos.get(agent, {})) for agent in env.agents}
        return Now((env.agent_selection,) if env.agents else (), rewards, shown, cut)


class ParallelTable:
    """A game of a Parallel environment under way."""

    def __init__(self, env: ParallelEnv, seed: int):
        self.env = env
        seen, infos = env.reset(seed=seed)
        self.now = self._settle({}, seen, infos, cut=False)

    def take(self, actions: Mapping[str, Any]) -> None:
        seen, rewards, done, stopped, infos = self.env.step(dict(actions))
        cut = bool(stopped) and all(stopped[agent] and not done[agent] for agent in stopped)
        self.now = self._settle(rewards, seen, infos, cut=cut)

    def _settle(
        self, rewards: Mapping[str, float], seen: Mapping[str, Any], infos: Mapping[str, Any], *, cut: bool
    ) -> Now:
        agents = tuple(self.env.agents)
        return Now(agents, rewards, {agent: (seen[agent], infos.get(agent, {})) for agent in agents}, cut)


class Worded(Game):
    """A PettingZoo environment, AEC or Parallel, as a game in words.

    `env` is the environment, or a function of no arguments that makes one. `describe(agent, observation)` is what an
    agent reads at its turn; `moves(agent, observation)` maps what it may say to actions, of which those that an action
    mask forbids are left out. `agent` is the environment's own name for it: `roles` maps each of our roles to those in
    it, by default everything before a number at a name's end. Agents of a Parallel environment move at once. `info` is
    for you to state, and for `arena.testing.check_game` to check: with `chance` each game gets a seed of its own.
    """

    def __init__(
        self,
        env: AECEnv | ParallelEnv | Callable[[], AECEnv | ParallelEnv],
        describe: Describe,
        moves: Moves,
        *,
        rules: str = "",
        roles: Mapping[str, Sequence[str]] | None = None,
        info: GameInfo | None = None,
    ):
        self.env: Callable[[], Any] = partial(_apart, env) if isinstance(env, (AECEnv, ParallelEnv)) else env
        first: Any = env if isinstance(env, (AECEnv, ParallelEnv)) else env()
        self.chain = _chain(first)
        self.describe, self.moves, self.rules = describe, moves, rules
        self.info = info or GameInfo(simultaneous=isinstance(first, ParallelEnv))
        grouped = roles or _grouped(first.possible_agents)
        self.roles = {role: len(agents) for role, agents in grouped.items()}
        self.agent = dict(zip(self._seats, (agent for agents in grouped.values() for agent in agents), strict=True))
        self.seat = {agent: seat for seat, agent in self.agent.items()}
        if set(self.seat) != set(first.possible_agents):
            raise ValueError(f"roles name the agents {sorted(self.seat)}, the environment has {first.possible_agents}")

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.table: Replay[Any] = Replay(partial(_open, self.env), rng.getrandbits(31) if self.info.chance else 0)
        self.seen: dict[str, Hashable] = {}
        self.views: dict[str, str] = {}
        if self.rules:
            self.tell(self.rules)
        return self._next()

    def legal(self, seat: str) -> tuple[str, ...]:
        return tuple(self.offered.get(seat, ()))

    def parse(self, seat: str, text: str) -> str:
        if text not in self.offered[seat]:
            raise IllegalMove(choices(self.legal(seat), 20))
        return text

    def play(self, moves: Mapping[str, Any]) -> Seats:
        self.table.play({self.agent[seat]: self.offered[seat][word] for seat, word in moves.items()})
        return self._next()

    def knows(self, seat: str) -> Hashable:
        return self.state_text() if self.info.perfect_information else self.seen.get(seat)

    def state_text(self) -> str:
        """What every seat still in the game sees now, or saw last."""
        return "\n".join(f"{seat}:\n{view}" for seat, view in self.views.items())

    def _next(self) -> Seats:
        """Look at what each agent sees now, and ask those on move."""
        now: Now = self.table.now.now
        self.offered: dict[str, dict[str, Any]] = {}  # seat -> what it may say -> the action
        self.cut = now.cut
        self.score(**{self.seat[agent]: float(reward) for agent, reward in now.rewards.items()})
        for agent, (observation, info) in now.shown.items():
            seat = self.seat[agent]
            self.seen[seat], self.views[seat] = _frozen(observation), self.describe(agent, observation)
            if agent in now.acting:
                allowed = _allowed(self.moves(agent, observation), observation, info)
                if not allowed:
                    raise RuntimeError(
                        f"{self}: {seat} is on move and has no legal move: what do moves() and masks say?"
                    )
                self.offered[seat] = dict(zip(sayable(list(allowed)), allowed.values(), strict=True))
                self.tell(f"{self.views[seat]}\n{choices(self.legal(seat))}", seat)
        if not now.acting:
            self.tell("The game is over.")
        return tuple(self.seat[agent] for agent in now.acting)

    def _end(self, ending: str, reason: str = "") -> None:
        """As everywhere; a game that the environment itself cuts short is truncated, not over."""
        if ending == "over" and self.cut:
            ending, reason = "truncated", f"the environment stopped after {self.stage} stages"
        super()._end(ending, reason)


def plain(env: Callable[[], Any]) -> Worded:
    """An environment of discrete actions with no words but numbers, for whoever has not written any yet."""
    first = env()
    for agent in first.possible_agents:
        space = first.action_space(agent)
        if not hasattr(space, "n"):
            raise ValueError(f"actions of {agent} are {space}, which have no names: write Worded(env, describe, moves)")
    starts = {
        agent: (int(first.action_space(agent).start), int(first.action_space(agent).n))
        for agent in first.possible_agents
    }
    simultaneous = isinstance(first, ParallelEnv)
    return Worded(env, _numbers, partial(_numbered, starts), info=GameInfo(simultaneous=simultaneous, chance=True))


def load(name: str, params: Mapping[str, Any]) -> Game:
    """The game of a ready-made name, or of "package.module:env": a function, called with `params`, or an object.

    What it gives may be a `Worded` already, which is taken as it is, or an environment, which then speaks in numbers.
    """
    make = _maker(name)
    takes = signature(make).parameters
    for key in params:
        if key not in takes and not any(taken.kind is Parameter.VAR_KEYWORD for taken in takes.values()):
            near = nearest(key, list(takes))
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(takes) or 'none'}"
            raise ValueError(f"pettingzoo game {name!r} has no parameter {key!r}: {hint}")
    build = partial(make, **params)
    try:
        made = build()
        if not isinstance(made, (AECEnv, ParallelEnv)):
            raise TypeError(f"it gives {type(made).__name__}, which is neither an environment nor a game")
        game = made if isinstance(made, Game) else plain(build)
    except (TypeError, ValueError) as error:
        raise ValueError(f"pettingzoo game {name!r} with {dict(params)}: {error}") from error
    game.name, game.params = f"pettingzoo:{name}", dict(params)
    return game


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a game that have usual values."""
    takes = signature(_maker(name)).parameters
    return {key: taken.default for key, taken in takes.items() if taken.default is not Parameter.empty}


def _maker(name: str) -> Callable[..., Any]:
    """What makes the game of a name or path; ValueError with the nearest name if there is none."""
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise ValueError(f"pettingzoo game {name!r} can't be loaded: {error}{_remedy(module, error)}") from error
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"pettingzoo game {name!r} can't be loaded: {error}") from error
        return found if callable(found) else partial(_apart, found)
    ready: Mapping[str, Callable[..., Worded]] = import_module("arena.foreign.classic").READY  # it imports `Worded`
    if name not in ready:
        near = nearest(name, list(ready))
        hint = f"did you mean 'pettingzoo:{near}'?" if near else f"there are {', '.join(ready)}"
        raise ValueError(f"pettingzoo game {name!r} not found: {hint} (any other: 'pettingzoo:package.module:env')")
    return ready[name]


def _remedy(module: str, error: ModuleNotFoundError) -> str:
    """How to bring what a game of PettingZoo's own needs besides; "" for a module that isn't there itself."""
    house, _, rest = module.partition(".")
    if house != "pettingzoo" or not error.name or error.name.partition(".")[0] == house:
        return ""
    return f": it belongs to PettingZoo's own extra: pip install 'pettingzoo[{rest.partition('.')[0]}]'"


def _open(env: Callable[[], Any], seed: int) -> Table | ParallelTable:
    made = env()
    return ParallelTable(made, seed) if isinstance(made, ParallelEnv) else Table(made, seed)


def _apart(env: Any) -> Any:
    """A copy of an environment that was handed over as an object: each game has one of its own."""
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise ValueError(
            f"{type(env).__name__} can't be copied ({error}): hand over a function that makes it"
        ) from error


def _chain(env: Any) -> tuple[str, ...]:
    """The wrappers around an environment, outermost first; ValueError where one of them speaks in words already."""
    names = ["Worded"]
    while env is not None:
        if isinstance(env, Game):
            raise ValueError(
                f"{env} speaks in words already ({' > '.join([*names, type(env).__name__])}): wrap it once"
            )
        names.append(type(env).__name__)
        inner = vars(env)
        env = next(
            (inner[key] for key in ("env", "aec_env", "par_env") if isinstance(inner.get(key), (AECEnv, ParallelEnv))),
            None,
        )
    return tuple(names)


def _grouped(agents: Sequence[str]) -> dict[str, list[str]]:
    """Roles from names: "wolf_0" and "wolf_1" play wolf, "alice" plays alice, "3" plays player."""
    grouped: dict[str, list[str]] = {}
    for agent in agents:
        role = re.sub(r"_?\d+$", "", str(agent)) or "player"
        grouped.setdefault(role, []).append(agent)
    return grouped


def _allowed(words: Mapping[str, Any], observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    """The words whose actions the mask allows, wherever the environment shows it."""
    shown = observation if isinstance(observation, Mapping) and "action_mask" in observation else info
    mask = shown.get("action_mask")
    return {word: action for word, action in words.items() if mask is None or mask[action]}


def _frozen(part: Any) -> Hashable:
    """An observation as a value that can be compared: all that the environment shows to an agent."""
    if isinstance(part, Mapping):
        return tuple((key, _frozen(value)) for key, value in part.items())
    if isinstance(part, (tuple, list)):
        return tuple(map(_frozen, part))
    return (part.tobytes(), str(part.dtype), part.shape) if hasattr(part, "tobytes") else part


def _numbers(agent: str, observation: Any) -> str:
    shown = (
        observation["observation"] if isinstance(observation, Mapping) and "observation" in observation else observation
    )
    return f"You are {agent}. You observe: {shown.tolist() if hasattr(shown, 'tolist') else shown}"


def _numbered(spans: Mapping[str, tuple[int, int]], agent: str, observation: Any) -> dict[str, int]:
    start, count = spans[agent]
    return {str(action): action for action in range(start, start + count)}

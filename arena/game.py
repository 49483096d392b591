"""A text game is a PettingZoo AEC environment whose moves are words."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Dict
from pettingzoo import AECEnv

from arena.types import Task

Seats = tuple[str, ...]


class IllegalMove(ValueError):
    """Raised by `Game.parse`; the seat is told the message and asked again, or forfeits."""


class Utterance(Space[str]):
    """Any string. `sample` draws from `choices()`, so random play is legal play."""

    def __init__(self, choices: Callable[[], Sequence[str]]):
        super().__init__(shape=(), dtype=str)  # type: ignore[arg-type]
        self.choices = choices

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A legal string; `mask` (int8 [len(choices)]) keeps those marked 1."""
        choices = self.choices()
        if mask is not None:
            choices = [choice for choice, keep in zip(choices, mask, strict=True) if keep]
        return choices[int(self.np_random.integers(len(choices)))]

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


@dataclass(frozen=True)
class GameInfo:
    """Facts that an algorithm may read instead of knowing the game; `arena.testing.check_game` tests each.

    `forfeit` is the reward of a seat that runs out of tries: its opponents share the opposite in a zero-sum game, the whole
    team gets it in a cooperative one. `par` is a return that good play reaches, `max_illegal` how often a seat is asked again.
    """

    zero_sum: bool = False
    cooperative: bool = False
    simultaneous: bool = False
    chance: bool = False
    perfect_information: bool = False
    par: float | None = None
    max_stages: int = 1000
    max_illegal: int = 1
    forfeit: float = -1.0


class Game(AECEnv):  # type: ignore[misc]
    """Rules in two verbs: `start` deals, `play` applies one stage of moves.

    Both return the seats that move next, all at once if there are several; an empty tuple ends the game. Everything
    that PettingZoo asks of an environment is derived here from those two answers. A game keeps its whole position in
    attributes set by `start`, so that positions can be pickled and deep-copied.
    """

    roles: Mapping[str, int]  # role -> number of seats, named "<role>_<i>"
    info: GameInfo = GameInfo()
    name: str = ""  # how `arena.make` was asked for it
    render_mode: ClassVar[None] = None

    # -- written by a game -----------------------------------------------------------------------------------------

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        """Deal. `rng` stays readable as `self.rng`; any chance of the game comes from it."""
        raise NotImplementedError

    def play(self, moves: Mapping[str, Any]) -> Seats:
        """Apply one stage: what `parse` returned, by seat, for every acting seat."""
        raise NotImplementedError

    def parse(self, seat: str, text: str) -> Any:
        """The move that `text` means; raises `IllegalMove`. By default any of `legal(seat)`."""
        legal = self.legal(seat)
        if text not in legal:
            raise IllegalMove(f"say {' or '.join(f'[{move}]' for move in legal)}")
        return text

    def legal(self, seat: str) -> Sequence[str]:
        """The legal moves of `seat` as text, in a fixed order; an empty sequence where they can't be listed."""
        return ()

    def state_text(self) -> str:
        """The whole position, hidden parts too: for spectators, critics and oracles, never for a prompt."""
        return ""

    def teams(self) -> tuple[Seats, ...]:
        """Who shares a fate in ratings: every seat alone, or all together in a cooperative game."""
        seats = tuple(self.possible_agents)
        return (seats,) if self.info.cooperative else tuple((seat,) for seat in seats)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """A perfect player's probabilities over `legal(seat)`, from what the seat may know; empty if there is none."""
        return {}

    # -- used by a game --------------------------------------------------------------------------------------------

    def tell(self, text: str, *seats: str) -> None:
        """Say `text` to `seats`, or to everybody."""
        for seat in seats or self._seats:
            self._heard[seat].append(text)

    def pose(self, task: Task, *seats: str) -> None:
        """Put `task` before `seats`: they hear its prompt, and are compared with others who face it."""
        for seat in seats:
            self.faced[seat] = task
        self.tell(task.prompt, *seats)

    def score(self, **rewards: float) -> None:
        """Add rewards by seat to the stage that is being played."""
        for seat, reward in rewards.items():
            self.rewards[seat] += reward

    # -- read by PettingZoo and the arena --------------------------------------------------------------------------

    @cached_property
    def _seats(self) -> tuple[str, ...]:
        return tuple(f"{role}_{i}" for role, count in self.roles.items() for i in range(count))

    @property
    def possible_agents(self) -> list[str]:
        return list(self._seats)

    @property
    def metadata(self) -> dict[str, Any]:
        return {"name": type(self).__name__, "render_modes": [], "is_parallelizable": False}

    @cached_property
    def _spaces(self) -> dict[str, tuple[Space[Any], Space[Any]]]:
        silent = partial(tuple, ("",))
        return {s: (Dict(text=Utterance(silent)), Utterance(partial(self.legal, s))) for s in self._seats}

    def observation_space(self, agent: str) -> Space[Any]:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Space[Any]:
        return self._spaces[agent][1]

    def observe(self, agent: str) -> dict[str, str]:
        """What `agent` has heard since it last moved."""
        return {"text": "\n".join(self._heard[agent])}

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """A fresh game. Equal seeds give equal games; without one the next game of this object's own stream."""
        if seed is None:
            previous = self.__dict__.get("rng")
            seed = previous.getrandbits(64) if previous is not None else 0
        self.rng = random.Random(seed)
        self.agents = list(self._seats)
        self.rewards = dict.fromkeys(self._seats, 0.0)
        self._cumulative_rewards = dict.fromkeys(self._seats, 0.0)
        self.terminations = dict.fromkeys(self._seats, False)
        self.truncations = dict.fromkeys(self._seats, False)
        self.infos: dict[str, dict[str, Any]] = {seat: {} for seat in self._seats}
        self._heard: dict[str, list[str]] = {seat: [] for seat in self._seats}
        self._illegal = dict.fromkeys(self._seats, 0)
        self.faced: dict[str, Task] = {}
        self.stage = 0
        self.ending = ""  # over, forfeit or truncated once the game has ended
        self.reason = ""
        self.judged = ""  # why the last step was illegal, "" if it was legal
        self._turn_to(self.start(self.rng, (options or {}).get("task")))
        self._select()

    def step(self, action: str | int | None) -> None:
        """Take the move of `agent_selection`; an int is an index into its legal moves.

        Moves of one stage stay hidden until all are in. An illegal one is told to its seat alone, which is asked again
        once the others have moved, and forfeits after `info.max_illegal` such answers.
        """
        seat = self.agent_selection
        if self.terminations[seat] or self.truncations[seat]:
            self._was_dead_step(action)
            return
        for s in self.rewards:
            self.rewards[s] = 0.0
        self._cumulative_rewards[seat] = 0.0
        self._heard[seat].clear()
        self._queue.pop(0)
        self.judged = ""
        try:
            text = self.legal(seat)[action] if isinstance(action, (int, np.integer)) else str(action)
            self._moves[seat] = self.parse(seat, text)
        except IllegalMove as error:
            self._refuse(seat, str(error))
        if len(self._moves) == len(self._stage_seats) and not self.ending:
            self.stage += 1
            self._turn_to(self.play(self._moves))
        self._select()
        for s, reward in self.rewards.items():
            self._cumulative_rewards[s] += reward

    @property
    def acting(self) -> Seats:
        """The seats that owe a move now, in the order in which they are asked."""
        return () if self.ending else tuple(s for s in self._stage_seats if s not in self._moves)

    def _turn_to(self, seats: Seats) -> None:
        self._stage_seats, self._moves, self._queue = tuple(seats), {}, list(seats)
        if not seats:
            self._end("over")
        elif self.stage >= self.info.max_stages:
            self._end("truncated", f"{self.stage} stages played")

    def _select(self) -> None:
        if self.ending:
            self.agent_selection = self.agents[0] if self.agents else ""
            return
        if not self._queue:
            self._queue = list(self.acting)
        self.agent_selection = self._queue[0]
        for seat in self._queue:
            legal = tuple(self.legal(seat))
            self.infos[seat] = {"legal_actions": legal, "action_mask": np.ones(len(legal), np.int8)}

    def _refuse(self, seat: str, reason: str) -> None:
        self.judged = reason
        self._illegal[seat] += 1
        self.tell(f"That is not a legal move: {reason}", seat)
        if self._illegal[seat] > self.info.max_illegal:
            self._forfeit(seat, reason)

    def _forfeit(self, seat: str, reason: str) -> None:
        others = [s for s in self._seats if s != seat]
        if self.info.cooperative:
            self.score(**dict.fromkeys(self._seats, self.info.forfeit))
        else:
            self.score(**{seat: self.info.forfeit})
            if self.info.zero_sum:
                self.score(**dict.fromkeys(others, -self.info.forfeit / len(others)))
        self.infos[seat]["forfeit"] = reason
        self._end("forfeit", f"{seat}: {reason}")

    def _end(self, ending: str, reason: str = "") -> None:
        self.ending, self.reason = ending, reason
        flags = self.truncations if ending == "truncated" else self.terminations
        for seat in self._seats:
            flags[seat] = True

    def __str__(self) -> str:
        return self.name or type(self).__name__

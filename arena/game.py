"""A text game is a PettingZoo AEC environment whose moves are words."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Dict
from pettingzoo import AECEnv

from arena.clusters import canonical
from arena.copies import Parts, twin
from arena.types import Offer, Task
from arena.utterance import Utterance

Seats = tuple[str, ...]
Bot = Callable[[Any, str], Mapping[str, float]]  # (game, seat) -> probabilities over legal moves, as an oracle's
PARTS = Parts(
    fixed={"roles", "info", "known", "params", "bots", "_seats", "_known", "_stage_seats"},
    flat={
        *("agents", "rewards", "_cumulative_rewards", "terminations", "truncations", "faced", "_refused", "_illegal"),
        *("_queue", "_leaving", "paid", "notes", "offers", "unscored"),
    },
    nested={"_heard"},
)


class IllegalMove(ValueError):
    """Raised by `Game.parse`; the seat is told the message and asked again, or forfeits."""


@dataclass(frozen=True)
class GameInfo:
    """Facts that an algorithm may read instead of knowing the game; `arena.testing.check_game` tests each.

    `forfeit` is the reward of a seat that runs out of tries: its opponents share the opposite in a zero-sum game, the
    whole team gets it in a cooperative one. `par` is a return that good play reaches, `max_illegal` how often a seat is
    asked again in one game. `shows_past`: a task with the payload `past` shows those tasks to who proposes the next.
    `draws`: two teams may end equal; where they can't, ratings refuse that they did.
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
    shows_past: bool = False
    draws: bool = True


class Game(AECEnv):  # type: ignore[misc]
    """Rules in two verbs: `start` deals, `play` applies one stage of moves.

    Both return the seats that move next, all at once if there are several; an empty tuple ends the game. Everything
    that PettingZoo asks of an environment is derived here from those two answers. A game keeps its whole position in
    attributes set by `start`, so that positions can be pickled and deep-copied.
    """

    roles: Mapping[str, int]  # role -> number of seats, named "<role>_<i>"
    info: GameInfo = GameInfo()
    name: str = ""  # how `arena.make` was asked for it
    params: Mapping[str, Any] = {}  # how it was made, besides its name
    label: str = ""  # the name, with those of the parameters that aren't default: the key of its matches and ratings
    bots: Mapping[str, Bot] = {}  # fixed players by name, such as "tit_for_tat", beside the oracle
    designs: Mapping[str, Sequence[Any]] = {}  # parameters that an environment designer may set -> values it may give
    known: Mapping[str, float] = {}  # values to compare with, by name; the source stands beside them
    kind: str = ""  # of this deal, set by `start` where a game has several: credit keeps a baseline for each
    render_mode: ClassVar[None] = None

    _infos: dict[str, dict[str, Any]] | None = None
    _forfeiter: str = ""
    _moves: dict[str, Any]
    reason: str = ""

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

    def knows(self, seat: str) -> Hashable:
        """All that `seat` may know now; positions in which it is equal must look equal to that seat.

        Nothing in play reads it: it declares what is hidden, so that `arena.testing.check_game` can look for leaks. By
        default the whole position of a game of perfect information; None where it isn't declared.
        """
        return self.state_text() if self.info.perfect_information else None

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

    def canon(self, task: Task) -> str:
        """Equal texts for tasks that are the same one, however they are put: a curriculum admits each of them once."""
        return canonical(task.prompt)

    def bot(self, name: str) -> Bot:
        """A fixed player of this game; raises ValueError with the nearest match if there is none of that name."""
        if name in self.bots:
            return self.bots[name]
        near = difflib.get_close_matches(name, self.bots, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"{self} has no bot {name!r}: {hint}it has {', '.join(self.bots) or 'none'}")

    def first_tasks(self) -> Sequence[Task]:
        """Tasks that a pool of this game begins with; none, where those who propose need nothing to start from."""
        return ()

    def ready(self) -> None:
        """Raise, in one line, what this machine lacks to play the game; asked before a model is loaded for it."""

    # -- used by a game --------------------------------------------------------------------------------------------

    def tell(self, text: str, *seats: str) -> None:
        """Say `text` to `seats`, or to everybody."""
        for seat in seats or self._seats:
            self._heard[seat].append(text)

    def pose(self, task: Task, *seats: str) -> None:
        """Put `task` before `seats`, or everybody: they hear its prompt, and are compared with others who face it."""
        for seat in seats or self._seats:
            self.faced[seat] = task
            self._heard[seat].append(task.prompt)

    def score(self, name: str = "", /, **rewards: float) -> None:
        """Add rewards by seat to the stage that is being played; what has a `name` is also logged under it, by seat.

        A seat is paid for the last time in the stage in which it retires.
        """
        for seat, reward in rewards.items():
            if seat not in self.rewards:
                raise ValueError(f"{self}: {seat!r} can't be paid: {self._absent(seat)}")
            self.rewards[seat] += reward
            if name:
                self.paid[seat, name] = self.paid.get((seat, name), 0.0) + reward

    def retire(self, *seats: str) -> None:
        """The game is over for `seats`, as after an elimination, and goes on for the others: call it in `play`.

        They have what they have earned, this stage included, and neither move nor earn from now on. In a cooperative
        game all share what is still to come, so there a seat that is done simply isn't asked again.
        """
        for seat in seats:
            if seat not in self.terminations or self.terminations[seat]:
                raise ValueError(f"{self}: {seat!r} can't retire: {self._absent(seat)}")
            if self.info.cooperative:
                raise ValueError(f"{self}: {seat!r} can't retire from a cooperative game: just don't ask it again")
            self.terminations[seat] = True
            self._leaving.append(seat)

    def _absent(self, seat: str) -> str:
        return "it has retired already" if seat in self._known else f"the seats are {', '.join(self._seats)}"

    def unscore(self, *seats: str) -> None:
        """What `seats` are worth can't be told, as after a verdict that says nothing: their return is None, never 0.

        They are neither trained nor rated by this game; what others earn in it still counts.
        """
        for seat in seats:
            if seat not in self._known:
                raise ValueError(f"{self}: {seat!r} can't be left unscored: the seats are {', '.join(self._seats)}")
            self.unscored.add(seat)

    def note(self, **values: float) -> None:
        """Record figures of this game that pay nobody, such as whether a judge was right; the last of a name counts."""
        self.notes.update(values)

    def mark(self, **solved: bool) -> None:
        """Record whether seats solved the task they face, where their pay doesn't say it: a curriculum counts this."""
        self.marks.update(solved)

    def offer(self, task: Task, seat: str, gate: str = "", reason: str = "") -> None:
        """Record a task that `seat` proposed, for the curriculum; with the `gate` that refused it if one did."""
        self.offers.append(Offer(task, seat, gate, reason))

    # -- read by PettingZoo and the arena --------------------------------------------------------------------------

    @cached_property
    def _seats(self) -> tuple[str, ...]:
        return tuple(f"{role}_{i}" for role, count in self.roles.items() for i in range(count))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._seats)

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
        """What `agent` has heard since its last legal move; after an illegal one the reason comes first."""
        heard, refused = self._heard[agent], self._refused.get(agent)
        return {"text": "\n".join([refused, *heard] if refused else heard)}

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """By seat: `legal_actions` and `action_mask` where they owe a move, `forfeit` where they lost by one.

        Made when first read after a step, since the arena itself never reads them.
        """
        if self._infos is None:
            infos: dict[str, dict[str, Any]] = {seat: {} for seat in self.agents}
            for seat in self.acting:
                if legal := tuple(self.legal(seat)):
                    infos[seat] = {"legal_actions": legal, "action_mask": np.ones(len(legal), np.int8)}
            if self._forfeiter in infos:
                infos[self._forfeiter]["forfeit"] = self.reason
            self._infos = infos
        return self._infos

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """A fresh game. Equal seeds give equal games; without one the next game of this object's own stream."""
        rng = self.__dict__.get("rng")
        if seed is None:
            seed = rng.getrandbits(64) if rng is not None else 0
        if type(rng) is random.Random:
            rng.seed(seed)  # half the time of a new one
        else:
            rng = random.Random(seed)
        self.deal(rng, (options or {}).get("task"))

    def deal(self, rng: random.Random, task: Task | None = None) -> None:
        """A fresh game whose chance comes from `rng`."""
        self.rng = rng
        self.agents = list(self._seats)
        self.rewards = dict.fromkeys(self._seats, 0.0)
        self._cumulative_rewards = dict.fromkeys(self._seats, 0.0)
        self.terminations = dict.fromkeys(self._seats, False)
        self.truncations = dict.fromkeys(self._seats, False)
        self._skip_agent_selection = None  # PettingZoo's own, left over where a game was given up among its dead steps
        self._infos = None
        self.paid: dict[tuple[str, str], float] = {}  # (seat, name) -> sum
        self.notes: dict[str, float] = {}
        self.marks: dict[str, bool] = {}
        self.offers: list[Offer] = []  # tasks proposed in play
        self.unscored: set[str] = set()
        self._heard: dict[str, list[str]] = {seat: [] for seat in self._seats}
        self._refused: dict[str, str] = {}
        self._illegal = dict.fromkeys(self._seats, 0)
        self._forfeiter = ""
        self._leaving: list[str] = []  # retired seats that PettingZoo hasn't seen off yet
        self.faced: dict[str, Task] = {}
        self.stage = 0
        self.ending = ""  # over, forfeit or truncated once the game has ended
        self.reason = ""
        self.judged = ""  # why the last step was illegal, "" if it was legal
        self._turn_to(self.start(rng, task))
        self._select()

    def step(self, action: str | int | None) -> None:
        """Take the move of `agent_selection`; an int is an index into its legal moves.

        Moves of one stage stay hidden until all are in. An illegal one is told to its seat alone, which is asked again
        once the others have moved, and forfeits after `info.max_illegal` such answers. A seat that has retired is
        selected once more, before anybody moves, and leaves by `step(None)`.
        """
        seat = self.agent_selection
        if self.ending:
            if not self.agents:
                raise RuntimeError(f"{self}: the game has ended and every seat has left; call reset() for the next one")
            self._was_dead_step(action)
            return
        if self._leaving:
            self._was_dead_step(action)
            del self._leaving[0]
            self._select()
            return
        rewards, totals = self.rewards, self._cumulative_rewards
        for s in rewards:
            rewards[s] = 0.0
        totals[seat] = 0.0
        self._infos = None
        self.judged = ""
        del self._queue[0]
        try:
            self._moves[seat] = self.parse(seat, action if type(action) is str else self._worded(seat, action))
        except IllegalMove as error:
            self._refuse(seat, str(error))
        else:
            self._heard[seat].clear()
            self._refused.pop(seat, None)
            if len(self._moves) == len(self._stage_seats):
                self.stage += 1
                self._turn_to(self.play(self._moves))
        self._select()
        for s, reward in rewards.items():
            totals[s] += reward

    def forfeit(self, seat: str, reason: str) -> None:
        """End the game at the cost of `seat`, as after one illegal move too many."""
        if self.info.cooperative:
            self.score("forfeit", **dict.fromkeys(self._seats, self.info.forfeit))
        else:
            self.score("forfeit", **{seat: self.info.forfeit})
            if self.info.zero_sum:
                others = [s for s, left in self.terminations.items() if s != seat and not left]
                self.score("forfeit", **dict.fromkeys(others, -self.info.forfeit / len(others)))
        self._forfeiter = seat
        self._end("forfeit", f"{seat}: {reason}")

    def turn(self) -> str:
        """The seat whose move `step` takes next, "" at the end; seats that have retired are seen off first.

        A loop of your own is `while seat := game.turn(): game.step(...)`; PettingZoo's see off every seat themselves.
        """
        while self._leaving and not self.ending:
            self.step(None)
        return "" if self.ending else self.agent_selection

    @property
    def acting(self) -> Seats:
        """The seats that owe a move now, in the order in which they are asked."""
        if self.ending:
            return ()
        return tuple([s for s in self._stage_seats if s not in self._moves]) if self._moves else self._stage_seats

    def _worded(self, seat: str, action: Any) -> str:
        """The move at index `action`, or an `IllegalMove` for what is neither text nor an index."""
        if isinstance(action, str):  # a subclass, as numpy's
            return str(action)
        if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
            raise IllegalMove(f"a move is text or an index, not {type(action).__name__}")
        legal = self.legal(seat)
        if not 0 <= action < len(legal):
            raise IllegalMove(f"there is no move {action}: indices are below {len(legal)}")
        return legal[int(action)]

    def _turn_to(self, seats: Seats) -> None:
        if not isinstance(seats, (tuple, list)) or len(set(seats)) != len(seats) or not self._known.issuperset(seats):
            raise ValueError(f"{self}: next to move is {seats!r}: return a tuple of different seats of {self._seats}")
        if gone := [seat for seat in seats if self.terminations.get(seat, True)]:
            raise ValueError(f"{self}: next to move is {seats!r}: {gone[0]!r} has retired, so don't ask it")
        self._stage_seats, self._moves, self._queue = tuple(seats), {}, list(seats)
        if not seats:
            self._end("over")
        elif self.stage >= self.info.max_stages:
            self._end("truncated", f"{self.stage} stages played")

    def _select(self) -> None:
        if self.ending:
            self.agent_selection = self.agents[0]
            return
        if self._leaving:
            self.agent_selection = self._leaving[0]
            return
        if not self._queue:
            self._queue = list(self.acting)
        self.agent_selection = self._queue[0]

    def _refuse(self, seat: str, reason: str) -> None:
        self.judged = reason
        self._illegal[seat] += 1
        self._refused[seat] = f"That is not a legal move: {reason}"
        if self._illegal[seat] > self.info.max_illegal:
            self.forfeit(seat, reason)

    def _end(self, ending: str, reason: str = "") -> None:
        self.ending, self.reason = ending, reason
        flags = self.truncations if ending == "truncated" else self.terminations
        for seat in self.agents:
            if not self.terminations[seat]:
                flags[seat] = True

    def __getstate__(self) -> dict[str, Any]:
        """A position, without what is made again when asked for: the spaces and their streams of samples, and infos."""
        state = {**self.__dict__, "_infos": None}
        state.pop("_spaces", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A position apart from this one."""
        return twin(self, self.__getstate__(), PARTS, memo)

    def __str__(self) -> str:
        return self.label or type(self).__name__

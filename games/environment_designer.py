"""A designer sets the parameters of another game, and several tables play it at once."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from arena.config import nearest
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.make import find, make
from arena.types import Task
from games._bounds import SEATS, counted

DESIGNER = "designer_0"
LISTED = 500  # designs that are listed as legal moves; more can't be
LONG = 200  # characters of a design


class EnvironmentDesigner(Game):
    """The designer names parameters of `game`, such as `heaps=2,3 misere=true`; `tables` games of it are then played.

    It earns 4p(1 - p), where p is the share of tables at which the first role wins, or the team reaches par: most where
    the outcome is open. Parameters that the game doesn't declare cost it 0.5. A task with `params` needs no designer.
    """

    def __init__(self, game: str = "nim", tables: int = 4):
        rules = make(game)
        counted("tables", tables, SEATS // max(rules.roles.values()))
        self.designs: Mapping[str, Sequence[Any]] = dict(find(game).designs)
        if not self.designs:
            raise ValueError(f"game {game!r} declares no designs: give it a mapping from parameters to their values")
        if "designer" in rules.roles:
            raise ValueError(f"game {game!r} has a role designer of its own")
        self.game, self.tables = game, tables
        self.inner = rules.roles
        self.roles = {"designer": 1, **{role: count * tables for role, count in rules.roles.items()}}
        inner = rules.info
        self.info = GameInfo(
            simultaneous=True,
            chance=inner.chance,
            max_stages=inner.max_stages + 1,
            max_illegal=inner.max_illegal,
            forfeit=inner.forfeit,
        )
        self.known = {"designer_max": 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.boards: list[Game] = []
        self.designed = task is None or "params" not in task.payload
        if task is not None and not self.designed:
            return self._open(task, make(self.game, **task.payload["params"]))
        self.pose(Task.new(self._brief(), game=self.game), DESIGNER)
        return (DESIGNER,)

    def _brief(self) -> str:
        return (
            f"Game: {self.game}. Parameters: {'; '.join(f'{key}: {listed(self.designs[key])}' for key in self.designs)}"
        )

    def legal(self, seat: str) -> Sequence[str]:
        if seat != DESIGNER:
            board, own = self._place(seat)
            return board.legal(own)
        if prod(len(allowed) for allowed in self.designs.values()) > LISTED:
            return ()
        values = [list(map(shown, allowed)) for allowed in self.designs.values()]
        return [written(dict(zip(self.designs, found, strict=True))) for found in product(*values)]

    def parse(self, seat: str, text: str) -> Any:
        """A designer's parameters, or what the game at the seat's own table makes of a move."""
        if seat == DESIGNER:
            return read(text)
        board, own = self._place(seat)
        board.parse(own, text)  # refuses it if it is illegal there
        return text

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if DESIGNER in moves:
            return self._design(moves[DESIGNER])
        for table, board in enumerate(self.boards):
            for own in board.acting:
                board.step(moves[self._outer(table, own)])
                for other, reward in board.rewards.items():
                    self.score("table", **{self._outer(table, other): reward})
                    self.returns[table][other] += reward
            self.unscore(*(self._outer(table, own) for own in board.unscored))
        return self._ask()

    def _design(self, said: Mapping[str, str]) -> Seats:
        task = Task.new(f"{self.game}: {written(said)}", game=self.game, params=dict(said), author=DESIGNER)
        try:
            params = {key: self._value(key, text) for key, text in said.items()}
            task = Task.new(f"{self.game}: {written(said)}", game=self.game, params=params, author=DESIGNER)
            board = make(self.game, **params)  # each value may be allowed, but not all of them together
        except ValueError as error:
            self.offer(task, DESIGNER, "schema", str(error))
            self.score("invalid", **{DESIGNER: -0.5})
            self.tell(str(error), DESIGNER)
            return ()
        self.offer(task, DESIGNER)
        return self._open(task, board)

    def _value(self, key: str, text: str) -> Any:
        """The declared value that a text stands for; raises ValueError with the nearest match."""
        if key not in self.designs:
            near = nearest(key, list(self.designs))
            raise ValueError(
                f"there is no parameter {key!r}: " + (f"did you mean {near!r}?" if near else self._brief())
            )
        for value in self.designs[key]:
            if shown(value) == text:
                return value
        raise ValueError(f"{key} can't be {text}: it is one of {listed(self.designs[key])}")

    def _open(self, task: Task, board: Game) -> Seats:
        self.pose(task, *(seat for seat in self.possible_agents if seat != DESIGNER))
        self.boards = [copy.deepcopy(board) for _ in range(self.tables)]
        for table in self.boards:
            table.reset(seed=self.rng.getrandbits(64))
        self.returns = [dict.fromkeys(board.possible_agents, 0.0) for board in self.boards]
        return self._ask()

    def _ask(self) -> Seats:
        """Who moves next at any table, each told what is new there; when all tables are done, the designer's pay."""
        asked = []
        for table, board in enumerate(self.boards):
            for own in board.acting:
                asked.append(self._outer(table, own))
                self.tell(board.observe(own)["text"], asked[-1])
        if not asked:
            for table, board in enumerate(self.boards):
                for own in board.possible_agents:
                    self.tell(board.observe(own)["text"], self._outer(table, own))
                if board.info.cooperative and board.info.par is not None:  # the sign of their pay tells nothing then
                    won = self._won(table)
                    self.mark(**{self._outer(table, own): won for own in board.possible_agents})
            p = sum(map(self._won, range(self.tables))) / self.tables
            self.note(p=p)
            if self.designed:
                self.score("open", **{DESIGNER: 4 * p * (1 - p)})
        return tuple(asked)

    def forfeit(self, seat: str, reason: str) -> None:
        """Who gives up loses by the rules of its table. Tables that go on, and the designer, can't be scored."""
        if seat != DESIGNER:
            at, own = self._place(seat)
            earned = dict(at.rewards)
            at.forfeit(own, reason)
            for other, reward in at.rewards.items():
                if other != own:  # its own cost is this game's too
                    self.score("forfeit", **{self._outer(self.boards.index(at), other): reward - earned[other]})
            for table, board in enumerate(self.boards):
                idle = board.unscored if board.ending else board.possible_agents
                self.unscore(*(self._outer(table, other) for other in idle))
            if self.designed:
                self.unscore(DESIGNER)
        super().forfeit(seat, reason)

    def _won(self, table: int) -> bool:
        """Whether a table went well: the first role won something, or the team reached par."""
        info, returns = self.boards[table].info, self.returns[table]
        first = next(iter(returns.values()))
        return first >= info.par if info.cooperative and info.par is not None else first > 0

    def _outer(self, table: int, own: str) -> str:
        """The seat here of a seat at a table."""
        role, _, i = own.rpartition("_")
        return f"{role}_{table * self.inner[role] + int(i)}"

    def _place(self, seat: str) -> tuple[Game, str]:
        """The table of a seat, and what it is called there."""
        role, _, i = seat.rpartition("_")
        table, own = divmod(int(i), self.inner[role])
        return self.boards[table], f"{role}_{own}"

    def knows(self, seat: str) -> Any:
        if not self.boards:
            return self._brief()
        if seat == DESIGNER:
            return len(self.boards)
        board, own = self._place(seat)
        return board.label, board.knows(own), own in board.acting

    def state_text(self) -> str:
        return "\n".join(f"Table {i}: {board.state_text()}" for i, board in enumerate(self.boards)) or self._brief()

    def oracle(self, seat: str) -> Mapping[str, float]:
        if seat == DESIGNER:
            return {}
        board, own = self._place(seat)
        return board.oracle(own)


def shown(value: Any) -> str:
    """A value as a designer says it: `3`, `true`, `2,3`. Brackets would be taken for those around a move."""
    return ",".join(map(shown, value)) if isinstance(value, (list, tuple)) else json.dumps(value)


def listed(values: Sequence[Any]) -> str:
    """The values that there are to choose from."""
    return " ".join(map(shown, values))


def written(said: Mapping[str, str]) -> str:
    """Parameters as a designer says them: `heaps=2,3 misere=true`."""
    return " ".join(f"{key}={text}" for key, text in said.items())


def read(text: str) -> dict[str, str]:
    """The text of each parameter's value; raises `IllegalMove` unless all of it is `name=value`, each name once."""
    pairs = [word.split("=") for word in text.split()] if len(text) <= LONG else []
    found = {pair[0]: pair[-1] for pair in pairs if len(pair) == 2 and pair[0].isidentifier() and pair[1]}
    if not found or len(found) < len(pairs):
        raise IllegalMove("say each parameter once, as name=value")
    return found

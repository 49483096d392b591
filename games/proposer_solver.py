"""A proposer poses a sum, and every solver tries it at once.

The plainest of its family: in `riddles` problems of other kinds are set and solved like this, in `absolute_zero`
programs.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from arena.agent import Agent
from arena.context import Context
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import HELD_OUT, SEATS, counted

Pair = tuple[int, int]
PROPOSER = "proposer_0"
HIGHEST = 999  # operand: all sums that continue a digit are listed
SUM = re.compile(r"([1-9][0-9]*) \+ ([1-9][0-9]*)")  # [0-9] and not \d: other scripts have digits too


def held_out(count: int = 200, seed: int = 7, low: int = 10, high: int = 99) -> tuple[Pair, ...]:
    """`count` sums to measure with, no two of them the same up to the order of the operands."""
    counted("held_out", count, HELD_OUT, least=0)
    size = high - low + 1
    if count > size * (size + 1) // 2:
        raise ValueError(f"held_out count is {count}: {low}..{high} has {size * (size + 1) // 2} different sums")
    rng, chosen = random.Random(seed), dict[Pair, None]()
    while len(chosen) < count:
        a, b = rng.randint(low, high), rng.randint(low, high)
        if (b, a) not in chosen:
            chosen[a, b] = None
    return tuple(chosen)


async def accuracy(agent: Callable[..., Agent], game: ProposerSolver) -> dict[str, float]:
    """The share of right answers to the sums that `game` holds out, when the solver takes its likeliest tokens.

    `agent(role, temperature=)` makes the player of a role. Raises ValueError where no sum is held out.
    """
    if not game.held_out:
        raise ValueError("no sum is held out to measure with: set game.params.held_out=200")
    solver = agent("solver", temperature=0.0)

    async def right(a: int, b: int) -> bool:
        context = Context()
        context.hear(f"{a} + {b} = ")
        context.legal = _answers(game.low, game.high)  # for solvers that reply with legal moves only
        return solver.role.move(await solver.act(context)) == str(a + b)

    return {"accuracy": sum(await asyncio.gather(*(right(a, b) for a, b in game.held_out))) / len(game.held_out)}


class ProposerSolver(Game):
    """The proposer continues the digit it hears to a sum: after `4`, `7 + 12` is 47 + 12. Solvers reply its answer.

    A right solver earns 1, the proposer 4p(1 - p) where p is the share of right solvers: most when half are right. A
    malformed or held-out sum costs it 0.5 and reaches no solver. `held_out` is a number of sums, as drawn by the
    function of that name, or the pairs themselves; both orders of the operands are kept out. A task with an `answer`
    goes to the solvers at once.
    """

    info = GameInfo(simultaneous=True, chance=True, max_illegal=0, forfeit=-0.5)
    # 4p(1 - p) peaks at 1, where half of the solvers are right.
    known: Mapping[str, float] = {"proposer_max": 1.0, "solver_max": 1.0}

    def __init__(self, solvers: int = 8, low: int = 10, high: int = 99, held_out: int | Iterable[Iterable[int]] = 0):
        if not 10 <= low <= high <= HIGHEST:
            raise ValueError(
                f"operands are {low}..{high}: use 10 <= low <= high <= {HIGHEST}, so that a digit can be continued"
            )
        counted("solvers", solvers, SEATS)
        self.roles = {"proposer": 1, "solver": solvers}
        self.solvers = tuple(f"solver_{i}" for i in range(solvers))
        self.low, self.high = low, high
        pairs = _held_out(held_out, low=low, high=high) if isinstance(held_out, int) else held_out
        self.held_out: tuple[Pair, ...] = tuple((a, b) for a, b in pairs)
        self.excluded = frozenset(pair for a, b in self.held_out for pair in ((a, b), (b, a)))
        self.digits = sorted({str(a)[0] for a in range(low, high + 1)})

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        if task is not None and "answer" in task.payload:  # a problem that was proposed before
            self.digit, self.problem, self.answer = task.prompt[:1], task.prompt, str(task.payload["answer"])
            self.pose(task, *self.solvers)
            return self.solvers
        digit = self._digit(task) if task else rng.choice(self.digits)
        if task is None or task.prompt != digit:
            task = Task.new(digit, digit=int(digit), parents=(task.id,) if task else ())
        self.digit = digit
        self.problem, self.answer = "", ""
        self.pose(task, PROPOSER)
        return (PROPOSER,)

    def _digit(self, task: Task) -> str:
        digit = str(task.payload.get("digit", task.payload.get("a", "")))[:1]
        if digit not in self.digits:
            raise ValueError(f"task {task.id} has payload {dict(task.payload)}: give a digit, one of {self.digits}")
        return digit

    def legal(self, seat: str) -> tuple[str, ...]:
        if seat == PROPOSER:
            return _continuations(self.digit, self.low, self.high, self.excluded)
        return _answers(self.low, self.high)

    def parse(self, seat: str, text: str) -> Any:
        """A proposer's pair of operands, or a solver's text as it is: any wrong answer is just wrong."""
        if seat != PROPOSER:
            return text
        found = SUM.fullmatch(self.digit + text) if len(text) <= 2 * len(str(self.high)) + 3 else None
        if not found:
            raise IllegalMove(f"continue the digit {self.digit} to a sum like {self.digit}7 + 12")
        a, b = int(found[1]), int(found[2])
        if not (self.low <= a <= self.high and self.low <= b <= self.high):
            raise IllegalMove(f"both numbers must be in {self.low}..{self.high}")
        if (a, b) in self.excluded:
            raise IllegalMove(f"{a} + {b} is held out")
        return a, b

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if PROPOSER in moves:
            a, b = moves[PROPOSER]
            self.problem, self.answer = f"{a} + {b} = ", str(a + b)
            seed = self.faced[PROPOSER]
            task = Task.new(self.problem, answer=a + b, parents=(seed.id,), author=PROPOSER)
            self.offer(task, PROPOSER)
            self.pose(task, *self.solvers)
            return self.solvers
        right = {seat: float(reply == self.answer) for seat, reply in moves.items()}
        p = sum(right.values()) / len(right)
        if PROPOSER in self.faced:  # not where the problem is of an earlier game
            self.score("learnable", **{PROPOSER: 4 * p * (1 - p)})
        self.score("right", **right)
        self.tell(f"The answer is {self.answer}; {p:.0%} of the solvers found it.")
        return ()

    def canon(self, task: Task) -> str:
        """Both orders of the operands are one sum."""
        return " + ".join(sorted(task.prompt.removesuffix(" = ").split(" + ")))

    def knows(self, seat: str) -> str:
        return self.digit if seat == PROPOSER and not self.problem else self.problem

    def state_text(self) -> str:
        return f"Digit: {self.digit}. Problem: {self.problem}{self.answer}"

    def oracle(self, seat: str) -> Mapping[str, float]:
        return {} if seat == PROPOSER else {self.answer: 1.0}


_held_out = held_out  # the constructor has an argument of that name


@lru_cache(maxsize=64)
def _continuations(digit: str, low: int, high: int, excluded: frozenset[Pair]) -> tuple[str, ...]:
    firsts = [a for a in range(low, high + 1) if str(a)[0] == digit]
    return tuple(f"{str(a)[1:]} + {b}" for a in firsts for b in range(low, high + 1) if (a, b) not in excluded)


@lru_cache(maxsize=8)
def _answers(low: int, high: int) -> tuple[str, ...]:
    return tuple(str(answer) for answer in range(2 * low, 2 * high + 1))

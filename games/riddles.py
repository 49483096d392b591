"""A proposer writes a problem whose answer is computed, and every solver tries it at once."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from arena.agent import Agent
from arena.clusters import canonical
from arena.context import Context
from arena.game import Seats
from arena.types import Task, Verdict
from games._proposing import PROPOSER, Made, Proposing, known_kinds
from games.verify import arithmetic, countdown, satisfy, sequence
from games.verify.kind import NoProblem, choices
from games.verify.problems import Problems, check

LONG = 120  # characters of a proposal


class Setting(NamedTuple):
    """How a kind of problem is proposed: what is asked for, proposals to begin with, and what reads one."""

    asked: str
    examples: tuple[str, ...]
    read: Callable[[str], tuple[str, dict[str, Any]]]


SETTINGS: Mapping[str, Setting] = {
    "arithmetic": Setting("Write a sum for others to work out.", ("3 + 4 * 2", "8 * 7 - 9", "5 - 6"), arithmetic.read),
    "countdown": Setting(
        "Write a sum: others are told its numbers and its result, and look for it.",
        ("(3 + 9) * 2", "8 * 7 - 9 + 1", "6 - 5 + 3"),
        countdown.read,
    ),
    "sequence": Setting(
        "Write a rule in n: others see what it gives for n = 1 to 5, and say what comes next.",
        ("n * n + 1", "3 * n - 2", "n + n * (n - 1)"),
        sequence.read,
    ),
    "logic": Setting(
        "Write a formula with ~ & | -> that is neither always true nor never: others look for values to make it true.",
        ("(p | q) & ~p", "p -> q & r", "~(p -> q)"),
        satisfy.read,
    ),
}
KINDS = tuple(SETTINGS)


class Riddles(Proposing):
    """The proposer writes a problem of one of four `kinds`, and all solvers try it.

    arithmetic: the value of an expression. countdown: an expression of given numbers with a given value, any that has
    it. sequence: the number after five terms of a rule in n. logic: values that make a formula true, any that do. A
    solver earns 1 if it is right, -0.5 if wrong, -1 for what is no answer; the proposer 1 - p where some solvers are
    right but not all, p being their share, else 0. A trivial problem or one held out costs it 0.5, what is no problem
    1. `held_out` problems of each kind at `level` measure the solvers. A task of a kind is solved at once.
    """

    def __init__(self, solvers: int = 8, kinds: Sequence[str] = KINDS, held_out: int = 0, level: int = 2):
        self.seats(solvers)
        self.kinds = known_kinds(kinds, KINDS)
        self.held_out = tuple(task for kind in self.kinds for task in Problems(kind, level, held_out).held_out)
        self.excluded = frozenset(map(self.canon, self.held_out))

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.outcome = ""
        if task is not None and "kind" in task.payload:
            check(task, "")  # a task may come from anywhere
            self.kind = str(task.payload["kind"])
            return self.ask(task)
        self.kind = rng.choice(self.kinds)
        setting = SETTINGS[self.kind]
        past = [Task.from_json(record) for record in task.payload.get("past", ())] if task else []
        past = [one for one in past if one.payload.get("kind") == self.kind and "said" in one.payload]
        seen = [str(one.payload["said"]) for one in past] or [rng.choice(setting.examples)]
        parents = tuple(one.id for one in past)
        prompt = "\n".join([setting.asked, *(f"Seen before: {said}" for said in seen)])
        self.task = Task.new(prompt, parents=parents)
        self.pose(self.task, PROPOSER)
        return (PROPOSER,)

    def legal(self, seat: str) -> Sequence[str]:
        """A few proposals and answers, right and wrong; any other text is taken too."""
        return SETTINGS[self.kind].examples if seat == PROPOSER else choices(self.task)

    def made(self, text: str) -> Made:
        """Well-formed, non-trivial, not held out."""
        parents = self.faced[PROPOSER].parents
        said = " ".join(text[: LONG + 1].split())
        raw = Task.new(said, parents=parents, author=PROPOSER)
        try:
            if len(text) > LONG:
                raise NoProblem("well-formed", f"a proposal has at most {LONG} characters, that has {len(text)}")
            prompt, payload = SETTINGS[self.kind].read(text)
        except NoProblem as error:
            return Made(raw, error.gate, str(error))
        task = Task.new(prompt, parents=parents, author=PROPOSER, kind=self.kind, said=said, **payload)
        if self.canon(task) in self.excluded:
            return Made(task, "held-out", "it is one of the problems to measure with")
        return Made(task)

    def judge(self, text: str) -> Verdict:
        """By the checker of the kind: what is written is parsed, and never executed."""
        return check(self.task, text)

    def canon(self, task: Task) -> str:
        """The order of the numbers of a countdown, and spaces, make no other problem."""
        told = task.payload
        if told.get("kind") == "countdown":
            return f"countdown {told['target']} {sorted(told['numbers'])}"
        return canonical(task.prompt)

    def knows(self, seat: str) -> tuple[str, str]:
        return self.kind, self.faced[seat].prompt if seat in self.faced else ""

    def state_text(self) -> str:
        return f"{self.kind}\n{self.task.prompt}\n{self.outcome}"

    def oracle(self, seat: str) -> Mapping[str, float]:
        """A right answer of those that are listed."""
        if seat == PROPOSER:
            return {}
        return {next(answer for answer in choices(self.task) if self.judge(answer).score): 1.0}


async def accuracy(agent: Callable[..., Agent], game: Riddles) -> dict[str, float]:
    """The share of right answers to the problems that `game` holds out, all together and by kind, at temperature 0.

    `agent(role, temperature=)` makes the player of a role. Raises ValueError where no problem is held out.
    """
    if not game.held_out:
        raise ValueError("no problem is held out to measure with: set game.params.held_out=50")
    solver = agent("solver", temperature=0.0)

    async def right(task: Task) -> float:
        context = Context()
        context.hear(task.prompt)
        context.legal = choices(task)  # for solvers that reply with legal moves only
        return check(task, solver.role.move(await solver.act(context))).score or 0.0

    scores = await asyncio.gather(*map(right, game.held_out))
    kinds: dict[str, list[float]] = defaultdict(list)
    for task, score in zip(game.held_out, scores, strict=True):
        kinds[f"accuracy_{task.payload['kind']}"].append(score)
    return {"accuracy": fmean(scores), **{name: fmean(found) for name, found in kinds.items()}}

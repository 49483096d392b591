"""Challengers set problems without answers, and solvers learn from what most of them say (R-Zero, TTRL)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from arena.clusters import shares
from arena.config import within
from arena.game import Game, GameInfo, Seats
from arena.types import Task
from games._bounds import SEATS, counted
from games.verify.arithmetic import WHOLE
from games.verify.expression import NoExpression, compute

PROPOSALS = ("17 + 26", "3 * 14 - 5", "(8 - 3) * 12", "9 * 9 + 19", "250 - 75 - 6")
DIGITS = 12  # of the numbers in an expression, all together: a sum of hundreds of digits is no challenge but a burden


class Label(NamedTuple):
    """What most answers to one problem say ("" if none is a number), and the share of all answers that say it."""

    answer: str
    agreed: float


class RZero(Game):
    """Every challenger writes an expression such as `3 * 14 - 5`, and `solvers` of its own say what it is.

    Nobody looks at the true value: an answer is right if it is what most of the solvers of the problem say. They earn 1
    for it, with `weigh` the share p of them that agree. A challenger earns 1 - 2|p - 1/2|, minus the share of all
    challenges that are `similar` to its own; -1 for what is no expression. Where p isn't in [`low`, `high`], the label
    teaches nothing: the solvers are left unscored and the problem isn't kept. A pool counts who agrees either way, and
    how often labels are true is noted.
    """

    info = GameInfo(simultaneous=True, max_illegal=0, forfeit=-1.0)

    def __init__(
        self,
        challengers: int = 4,
        solvers: int = 8,
        low: float = 0.3,
        high: float = 0.8,
        weigh: bool = False,
        similar: float = 0.8,
    ):
        counted("challengers", challengers, SEATS)
        counted("solvers", solvers, SEATS // challengers)
        within("low", low, 0, 1)
        within("high", high, low, 1)
        within("similar", similar, 0, 1, above=True)
        self.roles = {"challenger": challengers, "solver": challengers * solvers}
        self.own = {
            f"challenger_{i}": tuple(f"solver_{i * solvers + j}" for j in range(solvers)) for i in range(challengers)
        }
        self.low, self.high, self.weigh, self.similar = low, high, weigh, similar
        # p = 1/2, and no challenge is like another; a solver that agrees with all whose labels count.
        self.known = {"challenger_max": 1 - 1 / challengers, "solver_max": high if weigh else 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.problems: dict[str, Task] = {}  # of the solvers that answer it, by challenger
        self.outcome = ""
        if task is not None and "value" in task.payload:  # a problem of an earlier game: all solvers try it
            self.problems = dict.fromkeys(self.own, task)
            return self._ask()
        asked = Task.new("Write a sum that is hard to work out, but not too hard.")
        self.pose(asked, *self.own)
        return tuple(self.own)

    def _ask(self) -> Seats:
        for challenger, task in self.problems.items():
            self.pose(task, *self.own[challenger])
        return tuple(seat for challenger in self.problems for seat in self.own[challenger])

    def legal(self, seat: str) -> Sequence[str]:
        """A few expressions or numbers; any other text is taken too."""
        if seat in self.own:
            return PROPOSALS
        value = self.faced[seat].payload["value"]
        return [str(value - value % 3 + i) for i in range(3)]

    def parse(self, seat: str, text: str) -> str:
        """Any text: what is no expression is paid as such, and what is no number agrees with nobody."""
        return text

    def play(self, moves: Mapping[str, str]) -> Seats:
        if not set(moves) <= set(self.own):
            return self._label(moves)
        for seat, text in moves.items():
            self._challenge(seat, text)
        return self._ask()

    def _challenge(self, seat: str, text: str) -> None:
        try:
            value, numbers = compute(text)
            if len(numbers) < 2 or len("".join(map(str, numbers))) > DIGITS:
                raise NoExpression(f"a challenge has at least 2 numbers, of {DIGITS} digits together at most")
        except NoExpression as error:
            self.offer(Task.new(text[:200], author=seat), seat, "well-formed", str(error))
            self.score("format", **{seat: -1.0})
            self.tell(f"That is no challenge: {error}", seat)
            return
        # The value is for the verifier alone: nothing that is paid here depends on it.
        self.problems[seat] = Task.new(
            f"{' '.join(text.split())} = ", parents=(self.faced[seat].id,), author=seat, value=value
        )

    def _label(self, moves: Mapping[str, str]) -> Seats:
        labels = {challenger: majority([moves[seat] for seat in self.own[challenger]]) for challenger in self.problems}
        alike = shares([task.prompt for task in self.problems.values()], self.similar)
        kept, told = 0, []
        for (challenger, task), share in zip(self.problems.items(), alike, strict=True):
            label = labels[challenger]
            keep = bool(label.answer) and self.low <= label.agreed <= self.high
            kept += keep
            self._pay(challenger, label, share, moves, keep)
            if challenger in self.faced:
                reason = (
                    "" if keep else f"{label.agreed:.0%} of the solvers agree, not {self.low:.0%} to {self.high:.0%}"
                )
                self.offer(task, challenger, "" if keep else "frontier", reason)
            told.append(f"{task.prompt}{label.answer or '?'} ({label.agreed:.0%} agree)")
        self._measure(labels, kept)
        self.outcome = "\n".join(told)
        self.tell(self.outcome)
        return ()

    def _pay(self, challenger: str, label: Label, share: float, moves: Mapping[str, str], keep: bool) -> None:
        if challenger in self.faced:  # not where the problem is of an earlier game
            self.score("uncertain", **{challenger: 1 - 2 * abs(label.agreed - 0.5)})
            self.score("repeated", **{challenger: -share})
        self.mark(**{s: number(moves[s]) == label.answer != "" for s in self.own[challenger]})
        if not keep:
            self.unscore(*self.own[challenger])
            return
        worth = label.agreed if self.weigh else 1.0
        self.score("agrees", **{s: worth for s in self.own[challenger] if number(moves[s]) == label.answer})

    def _measure(self, labels: Mapping[str, Label], kept: int) -> None:
        """How often a label is true, and how sure the solvers are of it: figures that pay nobody."""
        true = [label.answer == str(self.problems[seat].payload["value"]) for seat, label in labels.items()]
        agreed = [label.agreed for label in labels.values()]
        sure = [not right for right, share in zip(true, agreed, strict=True) if share > 0.5]
        if sure:
            self.note(agreed_wrong=sum(sure) / len(sure))
        self.note(label_right=sum(true) / len(true), p=sum(agreed) / len(agreed), kept=kept / len(true))

    def canon(self, task: Task) -> str:
        """Spaces make no other problem."""
        return "".join(task.prompt.split())

    def knows(self, seat: str) -> tuple[Any, ...]:
        return (len(self.problems), self.faced[seat].prompt if seat in self.faced else "", self.outcome)

    def state_text(self) -> str:
        posed = [f"{challenger}: {task.prompt}{task.payload['value']}" for challenger, task in self.problems.items()]
        return "\n".join([*posed, self.outcome])

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The true value, which most are paid for if most know it."""
        return {} if seat in self.own else {str(self.faced[seat].payload["value"]): 1.0}


def number(text: str) -> str:
    """The whole number in an answer, as it is written at its shortest; "" if there is none."""
    return str(int(text)) if WHOLE.fullmatch(text.strip()) else ""


def majority(answers: Sequence[str]) -> Label:
    """What most answers say. Of answers given equally often it is the smallest, whoever gave it first."""
    votes = Counter(said for said in map(number, answers) if said)
    if not votes:
        return Label("", 0.0)
    answer, count = min(votes.items(), key=lambda vote: (-vote[1], int(vote[0])))
    return Label(answer, count / len(answers))

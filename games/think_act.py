"""A thinker advises and a reasoner answers; both earn what the answer is worth."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from arena.game import GameInfo, Seats
from arena.types import Task
from games._bounds import ROUNDS, counted
from games._solving import Claim, Solving
from games._solving import accuracy as accuracy
from games._speech import spoken
from games.verify.kind import choices
from games.verify.problems import check

THINKER, REASONER = "thinker_0", "reasoner_0"
ADVICE = ("go step by step", "try it another way", "check every step")


class ThinkAct(Solving):
    """The thinker, who sees the problem, says how to go about it; the reasoner answers. So it goes for `rounds`.

    Both earn 1 if the last answer is right (ReMA, arXiv:2503.09501). From the second round on the thinker hears the
    answer that was given, and not whether it is right.
    """

    roles = {"thinker": 1, "reasoner": 1}

    def __init__(self, kind: str = "arithmetic", level: int = 2, held_out: int = 0, talk: int = 160, rounds: int = 1):
        self.sets(kind, level, held_out, talk)
        counted("rounds", rounds, ROUNDS)
        self.rounds = rounds
        self.info = GameInfo(cooperative=True, chance=True, par=1.0, max_stages=2 * rounds)
        self.known = {"optimum": 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.task = self.problem(rng, task)
        self.advice: list[str] = []
        self.claims: list[Claim] = []
        self.pose(self.task)
        return self._ask()

    def legal(self, seat: str) -> Sequence[str]:
        """Some advice, or bare answers; both may be in any words, and an answer have a reason."""
        return ADVICE if seat == THINKER else choices(self.task)

    def parse(self, seat: str, text: str) -> Any:
        return spoken(text, self.talk) if seat == THINKER else self.claim(text)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if THINKER in moves:
            self.advice.append(moves[THINKER])
            how = f"Answer like [{self.example}] or [{self.example}: because ...]"
            self.tell(f'Advice: "{moves[THINKER]}". {how}', REASONER)
            return (REASONER,)
        self.claims.append(moves[REASONER])
        if len(self.claims) < self.rounds:
            return self._ask()
        right = self.claims[-1].right
        self.score("right", **{THINKER: right, REASONER: right})
        self.note(right=right, first_right=self.claims[0].right)
        self.tell(f"The answer is {'right' if right else 'wrong'}.")
        return ()

    def _ask(self) -> Seats:
        answered = f'The answer was "{self.claims[-1].shown}". ' if self.claims else ""
        self.tell(f"{answered}How should one go about it? At most {self.talk} characters, like [{ADVICE[0]}]", THINKER)
        return (THINKER,)

    def knows(self, seat: str) -> Hashable:
        return self.task.id, *self.advice, *(claim.shown for claim in self.claims)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """Any advice, and the first right answer."""
        if seat == THINKER:
            return {ADVICE[0]: 1.0}
        return {next(choice for choice in choices(self.task) if check(self.task, choice).score): 1.0}

    def state_text(self) -> str:
        said = [*(f'Advice: "{words}".' for words in self.advice), *(f'Answer: "{c.shown}".' for c in self.claims)]
        return " ".join([self.task.prompt, *said])

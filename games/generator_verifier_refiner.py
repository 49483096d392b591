"""Drafts, verdicts on each, and refinements of what was rejected: a tree of samples in one game."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from arena.game import GameInfo, Seats
from arena.types import Task
from games._solving import Claim, Solving
from games._solving import accuracy as accuracy
from games.verify.kind import choices
from games.verify.problems import check
from games.verify.ruling import ruling

VERDICT = re.compile(r"right|wrong(?:: ?(.+))?")  # an approval is one word: a reservation after it is no approval


class Judgement(NamedTuple):
    """What a verifier said: `approves` is None where that is no verdict. `why` is shown to refiners."""

    approves: bool | None
    why: str


class GeneratorVerifierRefiner(Solving):
    """Some generators draft answers, as many verifiers judge each draft, and as many refiners mend what one rejected.

    `width` says how many. A draft that is approved stands. Every branch is worth what comes out of it: a refiner earns
    1 for a right answer, a verifier the mean of its branch, a generator the mean of its branches (MALT,
    arXiv:2412.01928). Answers are computed, and that outranks a verdict: no approval makes a wrong draft right. What is
    no verdict costs the verifier 1, and the branch of a right draft is then not scored.
    """

    def __init__(self, width: int = 2, kind: str = "arithmetic", level: int = 2, held_out: int = 0, talk: int = 160):
        self.sets(kind, level, held_out, talk)
        if not 1 <= width <= 4:
            raise ValueError(f"width is {width}: use 1 to 4")
        self.width = width
        self.roles = {"generator": width, "verifier": width**2, "refiner": width**3}
        self.generators, self.verifiers, self.refiners = (
            tuple(f"{role}_{i}" for i in range(count)) for role, count in self.roles.items()
        )
        self.info = GameInfo(simultaneous=width > 1, chance=True, max_stages=3)
        self.known = {"generator_max": 1.0, "verifier_max": 1.0, "refiner_max": 1.0}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.task = self.problem(rng, task)
        self.drafts: dict[str, Claim] = {}
        self.judged_by: dict[str, Judgement] = {}
        self._set(f"{self.task.prompt}\n{self._how()}", *self.generators)
        return self.generators

    def legal(self, seat: str) -> Sequence[str]:
        """Bare answers, or verdicts; a reason in any words may be added, but not to an approval."""
        return ("right", "wrong") if seat in self.verifiers else choices(self.task)

    def parse(self, seat: str, text: str) -> Claim | Judgement:
        """Whatever is said, for one seat's slip must not end all branches: what is unreadable is worth nothing."""
        if seat not in self.verifiers:
            return self.heard_as(text)
        found = VERDICT.fullmatch(self.cleaned(text))
        return Judgement(found[0] == "right", (found[1] or "")[: self.talk].rstrip()) if found else Judgement(None, "")

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if not self.drafts:
            self.drafts = dict(moves)
            for seat in self.verifiers:
                self._set(f"{self._draft(seat)}\nIs it right? Say [right], or what is wrong: [wrong: ...]", seat)
            return self.verifiers
        if not self.judged_by:
            self.judged_by = dict(moves)
            mending = tuple(seat for seat in self.refiners if self.judged_by[self.above(seat)].approves is False)
            for seat in mending:
                why = self.judged_by[self.above(seat)].why
                self._set(f'{self._draft(self.above(seat))}\nIt was rejected: "{why}".\n{self._how()}', seat)
            return mending or self._settle({})
        return self._settle(moves)

    def above(self, seat: str) -> str:
        """Whose words a seat works on."""
        role, _, i = seat.rpartition("_")
        return f"{'verifier' if role == 'refiner' else 'generator'}_{int(i) // self.width}"

    def below(self, seat: str) -> list[str]:
        """The seats that work on a seat's words."""
        return [other for other in (*self.verifiers, *self.refiners) if self.above(other) == seat]

    def _settle(self, refined: Mapping[str, Claim]) -> Seats:
        """Pay from the leaves up."""
        for seat, claim in refined.items():
            self.score("refined", **{seat: claim.right})
        worth: dict[str, float | None] = {}
        for seat, judgement in self.judged_by.items():
            if judgement.approves is False:
                worth[seat] = fmean(refined[leaf].right for leaf in self.below(seat))
            else:
                worth[seat] = ruling(self.drafts[self.above(seat)].verdict, judgement.approves).score
            if judgement.approves is None:
                self.score("malformed", **{seat: self.info.forfeit})
            else:
                self.score("branch", **{seat: worth[seat] or 0.0})
        for seat in self.drafts:
            scored = [value for branch in self.below(seat) if (value := worth[branch]) is not None]
            if scored:
                self.score("branches", **{seat: fmean(scored)})
            else:
                self.unscore(seat)
        self._report([value or 0.0 for value in worth.values()])
        return ()

    def _report(self, branches: list[float]) -> None:
        verdicts = [(self.drafts[self.above(s)].right, judged.approves) for s, judged in self.judged_by.items()]
        readable = [float(bool(right) == approves) for right, approves in verdicts if approves is not None]
        self.note(
            right=fmean(branches),
            drafts_right=fmean(claim.right for claim in self.drafts.values()),
            malformed_verdicts=1 - len(readable) / len(verdicts),
        )
        if readable:
            self.note(judges_right=fmean(readable))
        self.tell(f"On average {fmean(branches):.2f} of what came out is right.")

    def _set(self, text: str, *seats: str) -> None:
        """Pose what those seats work on: who faces the same words is compared, and those are siblings."""
        self.pose(Task.new(text, parents=(self.task.id,)), *seats)

    def _draft(self, verifier: str) -> str:
        return f'{self.task.prompt}\nDraft: "{self.drafts[self.above(verifier)].shown}".'

    def _how(self) -> str:
        return f"Answer like [{self.example}] or [{self.example}: because ...], at most {self.talk} characters."

    def knows(self, seat: str) -> Hashable:
        if seat in self.generators or not self.drafts:
            return self.task.id
        if seat in self.verifiers:
            return self.task.id, self.drafts[self.above(seat)].shown
        verifier = self.above(seat)
        return self.task.id, self.drafts[self.above(verifier)].shown, self.judged_by.get(verifier)

    def oracle(self, seat: str) -> Mapping[str, float]:
        """A true verdict, or the first right answer."""
        if seat in self.verifiers:
            return {"right" if self.drafts[self.above(seat)].right else "wrong": 1.0} if self.drafts else {}
        return {next(choice for choice in choices(self.task) if check(self.task, choice).score): 1.0}

    def state_text(self) -> str:
        drafts = [f'{seat}: "{claim.shown}".' for seat, claim in self.drafts.items()]
        words = {True: "right", False: "wrong", None: "no verdict"}
        judged = [f"{seat}: {words[one.approves]} {one.why}".rstrip() for seat, one in self.judged_by.items()]
        return "\n".join([self.task.prompt, *drafts, *judged])

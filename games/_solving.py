"""Games about one problem whose answers are computed: what is claimed in them, and how they are measured."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from arena.agent import Agent
from arena.game import Game, IllegalMove
from arena.play import Job, play_many
from arena.types import Task, Verdict
from games._speech import LONGEST, question, quotable, spoken
from games.proofs.terms import Malformed
from games.verify.kind import choices
from games.verify.problems import KINDS, Problems, check

TALK = (20, 1000)  # characters that a seat may be allowed


class Claim(NamedTuple):
    """An answer as it is shown to others, the reason included, and what a check says of it."""

    shown: str
    verdict: Verdict

    @property
    def right(self) -> float:
        """1 or 0."""
        return self.verdict.score or 0.0


class Solving(Game):
    """A game that sets one problem. It notes `right`: how right what came out was, from 0 to 1."""

    def sets(self, kind: str, level: int, held_out: int, talk: int) -> None:
        """Take the parameters that all of these games have; raises ValueError in one line."""
        if not TALK[0] <= talk <= TALK[1]:
            raise ValueError(f"talk is {talk} characters: use {TALK[0]} to {TALK[1]}")
        self.problems, self.talk = Problems(kind, level, held_out), talk

    def problem(self, rng: random.Random, task: Task | None) -> Task:
        """The problem of this game: a fresh one, or `task` in one line; raises ValueError if it can't be checked."""
        if task is None:
            return self.problems.draw(rng)
        prompt = question(task.prompt)
        try:
            check(task, "")  # a kind that there isn't is told first
            worth = {check(task, choice).score for choice in choices(task)}
        except (KeyError, TypeError, AttributeError, Malformed) as error:
            raise ValueError(f"task {task.id} can't be checked: {type(error).__name__}: {error}") from None
        if not prompt or worth != {0.0, 1.0}:
            raise ValueError(
                f"task {task.id}: give a question of 1 to {LONGEST} characters and right and wrong choices"
            )
        return task if prompt == task.prompt else replace(task, prompt=prompt)

    @property
    def example(self) -> str:
        """The form of an answer."""
        return KINDS[self.task.payload["kind"]].example

    def claim(self, text: str) -> Claim:
        """An answer, with a reason after a colon if there is one; raises `IllegalMove` for what is no answer."""
        claim = self.heard_as(spoken(text, self.talk))
        if claim.verdict.status == "malformed":
            raise IllegalMove(f"{claim.verdict.reason}, a reason may follow, like [{self.example}: because ...]")
        return claim

    def heard_as(self, text: str) -> Claim:
        """Any text at all as a claim, of which what is no answer is malformed, and so not right."""
        message = self.cleaned(text)
        return Claim(message[: self.talk].rstrip(), check(self.task, message.partition(":")[0]))

    def cleaned(self, text: str) -> str:
        """All of a text in one line, "" for a flood. What is cut before it is read might be half of what was said.

        After `right` and many spaces a reservation may stand, and after the 14 of an answer another number.
        """
        return quotable(text) if len(text) < 10 * self.talk else ""

    task: Task


async def accuracy(agent: Callable[..., Agent], game: Solving) -> dict[str, float]:
    """How right, on average, what comes out is on the problems that `game` holds out, all seats at temperature 0.

    `agent(role, temperature=)` makes the player of a role. A game that ends early is not right. Raises ValueError where
    no problem is held out.
    """
    if not game.problems.held_out:
        raise ValueError("no problem is held out to measure with: set game.params.held_out=100")
    players = {role: agent(role, temperature=0.0) for role in game.roles}
    jobs = [Job(copy.deepcopy(game), players, seed=i, task=task) for i, task in enumerate(game.problems.held_out)]
    episodes = await play_many(jobs, concurrency=len(jobs))
    return {"accuracy": fmean(episode.notes.get("right", 0.0) for episode in episodes)}

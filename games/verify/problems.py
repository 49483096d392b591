"""A stream of problems of one kind and level, some of which are held out to measure with."""

from __future__ import annotations

import random
from collections.abc import Mapping

from arena.config import nearest
from arena.types import Task, Verdict
from games._bounds import HELD_OUT, counted
from games.verify.arithmetic import ARITHMETIC
from games.verify.countdown import COUNTDOWN
from games.verify.facts import FACTS
from games.verify.kind import Kind
from games.verify.satisfy import SATISFY
from games.verify.sequence import SEQUENCE

KINDS: Mapping[str, Kind] = {
    "arithmetic": ARITHMETIC,
    "countdown": COUNTDOWN,
    "facts": FACTS,
    "logic": SATISFY,
    "sequence": SEQUENCE,
}
LEVELS = 6  # beyond it answers outgrow what is read
TRIES = 1000


class Problems:
    """Problems of `kind` at `level`. `held_out` of them, fixed by `seed`, are never drawn.

    Raises ValueError for a kind that isn't there, and where a level has too few problems to hold so many out.
    """

    def __init__(self, kind: str = "arithmetic", level: int = 1, held_out: int = 0, seed: int = 7):
        if kind not in KINDS:
            near = nearest(kind, list(KINDS))
            raise ValueError(
                f"kind {kind!r} not found: " + (f"did you mean {near!r}?" if near else f"there are {', '.join(KINDS)}")
            )
        if not 1 <= level <= LEVELS:
            raise ValueError(f"level is {level}: use 1 to {LEVELS}")
        counted("held_out", held_out, HELD_OUT, least=0)
        self.kind, self.level = kind, level
        rng, self._kept = random.Random(seed), dict[str, Task]()
        for _ in range(held_out):
            task = self.draw(rng)
            self._kept[task.prompt] = task

    @property
    def held_out(self) -> tuple[Task, ...]:
        """The problems to measure with, all different."""
        return tuple(self._kept.values())

    def draw(self, rng: random.Random) -> Task:
        """A problem that isn't held out."""
        own = random.Random(rng.getrandbits(64))  # one draw of the game's, whatever it takes to make a problem
        for _ in range(TRIES):
            prompt, payload = KINDS[self.kind].make(own, self.level)
            if prompt not in self._kept:
                return Task.new(prompt, kind=self.kind, level=self.level, **payload)
        raise ValueError(f"held_out is {len(self._kept)}: kind {self.kind!r} at level {self.level} has hardly any more")


def check(task: Task, answer: str) -> Verdict:
    """The verdict on an answer to a task of any kind; raises ValueError for a task of none."""
    kind = str(task.payload.get("kind"))
    if kind not in KINDS:
        raise ValueError(f"task {task.id} has payload {dict(task.payload)}: give a kind, one of {', '.join(KINDS)}")
    return KINDS[kind].check(task.payload, answer.strip())

"""What both kernels share: fuel, and a proof as a stack of goals that lines take down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from games.proofs import Limits
from games.proofs.terms import Malformed

LINE = re.compile(r"[;\n]")


class Kernel(Protocol):
    """A logic, as a module: its statements, and how one line changes the goals. A proof leaves no goal."""

    AXIOMS: Mapping[str, Any]

    def read(self, text: str) -> Any:
        """The statement; raises `Malformed`."""

    def canon(self, statement: Any) -> str:
        """Equal texts for statements that are the same one."""

    def faults(self, statement: Any) -> str:
        """Why it says nothing; "" if it says something."""

    def refute(self, statement: Any) -> str:
        """Where it is false, in words; "" where no such place was found."""

    def instance(self, statement: Any, lemma: Any) -> bool:
        """Whether the lemma says it already."""

    def shallow(self, lemmas: Mapping[str, Any]) -> list[str]:
        """Proofs that need no thought."""

    def begin(self, statement: Any) -> tuple[Any, ...]:
        """The goals of a proof that hasn't begun."""

    def step(self, goals: tuple[Any, ...], line: str, lemmas: Mapping[str, Any], run: Run) -> tuple[Any, ...]:
        """The goals after a line, a step backwards that is sound; raises `Malformed` where it can't be taken."""

    def goal_text(self, goal: Any) -> str:
        """A goal as a statement of its own, by which it can be proved apart from the proof that reached it."""

    def opening(self, goal: Any) -> list[str]:
        """Lines that lead from the statement of `goal_text` back to the goal."""


@dataclass
class Run:
    """One proof under way: what may still be spent, the lemmas that were applied, and a counter for fresh names."""

    limits: Limits
    fuel: int = 0
    used: dict[str, None] = field(default_factory=dict)
    fresh: int = 0

    def __post_init__(self) -> None:
        self.fuel = self.limits.fuel

    def spend(self, units: int = 1) -> None:
        self.fuel -= units
        if self.fuel < 0:
            raise Malformed(f"it takes more than {self.limits.fuel} steps")


def lines(proof: str, limits: Limits) -> list[str]:
    """The lines of a proof, parted by `;` or by line breaks; raises `Malformed` where there are too many."""
    if len(proof) > limits.characters:
        raise Malformed(f"the proof has {len(proof)} characters: use at most {limits.characters}")
    found = [" ".join(line.split()) for line in LINE.split(proof)]
    found = [line for line in found if line]
    if len(found) > limits.lines:
        raise Malformed(f"the proof has {len(found)} lines: use at most {limits.lines}")
    return found


def is_equation(text: str) -> bool:
    """Whether a statement is an equation and not a proposition."""
    return text.lstrip().startswith(("forall ", "forall:"))


def number(word: str, most: int) -> int:
    """A plain number from 1 to `most`; raises `Malformed`."""
    if not (word.isascii() and word.isdigit() and len(word) <= 4 and 1 <= int(word) <= most):
        raise Malformed(f"{word[:20]!r} is no number from 1 to {most}")
    return int(word)

"""Proofs that are checked, never believed: what a backend answers, and what bounds it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from arena.types import Verdict

Library = Mapping[str, str]  # name -> statement, in the order of admission
GATES = ("malformed", "vacuous", "refuted", "duplicate", "instance", "trivial")  # in the order in which they are asked


@dataclass(frozen=True)
class Limits:
    """What one check may cost: lines and characters of a proof, steps of the kernel, nodes and depth of a term, and
    seconds where another program does the work."""

    lines: int = 60
    characters: int = 2000
    fuel: int = 2000
    size: int = 400
    depth: int = 100
    seconds: float = 5.0


@dataclass(frozen=True)
class Admission:
    """Whether a statement is worth proving: `gate` names the first of GATES that refused it, "" if none did."""

    gate: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Checked(Verdict):
    """The verdict on a proof: score 1 (status `proved`), 0, or None where the checker itself failed (`infra`).

    `used` are the lemmas of the library that it applied, `steps` counts the lines that went through.
    """

    used: tuple[str, ...] = ()
    steps: int = 0


class ProofBackend(Protocol):
    """A checker of proofs. Statements and proofs are text of its own language, and nothing of them is executed here."""

    def judge(self, statement: str, library: Library, seen: Collection[str]) -> Admission:
        """Whether `statement` is new and worth a proof; `seen` has canonical forms."""

    def check(self, statement: str, proof: str, library: Library, limits: Limits = ...) -> Checked:
        """Whether `proof` proves `statement`, with no lemma but those that came before it in `library`."""

    def canon(self, statement: str) -> str:
        """Equal texts for statements that are the same one; raises ValueError for what is no statement."""


def earlier(statement: str, library: Library, backend: ProofBackend) -> dict[str, str]:
    """The lemmas that a proof of `statement` may apply: those before it, where it is itself in the library.

    So no theorem is proved by its own name, nor by what was admitted after it, and perhaps with its help.
    """
    own, found = backend.canon(statement), dict[str, str]()
    for name, lemma in library.items():
        if backend.canon(lemma) == own:
            break
        found[name] = lemma
    return found

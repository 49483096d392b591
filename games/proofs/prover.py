"""What Coq and Lean have in common: a program that isn't ours, warm in a jail, asked for one proof at a time."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import ClassVar, Self

from arena.sandbox.dialogue import Dialogue
from games.proofs import Admission, Checked, Library, Limits, earlier
from games.proofs.terms import Malformed

LONG = 8000  # characters of a statement, or of a proof
RECYCLE = 500  # checks of one process, for all of them remain in its memory
TRIES = 2
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")


class Prover(ABC):
    """A backend that talks with another program, which starts at the first check; use it as a context.

    Lemmas of a library are premises of the theorem, introduced by their names before the proof begins.
    """

    seconds: ClassVar[float]  # that a check may take by default
    shallow: ClassVar[str]  # a proof that needs no thought
    arrow: ClassVar[str]

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.checks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if one runs."""
        self.dialogue.stop()

    @abstractmethod
    def canon(self, statement: str) -> str:
        """The statement with single blanks. Raises `Malformed` for what can't be one term."""

    @abstractmethod
    def lines(self, proof: str, names: Sequence[str]) -> list[str]:
        """What is sent of a proof, after premises are introduced by `names`; raises `Malformed` for no tactics."""

    @abstractmethod
    def _open(self) -> None:
        """Start the program and load its libraries; raises OSError, EOFError or ValueError."""

    @abstractmethod
    def _again(self) -> bool:
        """Whether the running program is as it was after `_open`, whatever was proved in it."""

    @abstractmethod
    def _prove(self, statement: str, lines: Sequence[str], end: float) -> Checked:
        """The verdict; raises TimeoutError, EOFError and OverflowError as a dialogue does, ValueError on nonsense."""

    def judge(self, statement: str, library: Library, seen: Collection[str]) -> Admission:
        """Malformed where the program doesn't take it for a proposition, duplicate by `canon`, trivial by `shallow`.

        Raises RuntimeError where the program fails.
        """
        found = self.check(statement, self.shallow, {})
        if found.score is None:
            raise RuntimeError(found.reason)
        if found.status == "malformed":
            return Admission("malformed", found.reason)
        own = self.canon(statement)
        if own in seen or own in map(self.canon, library.values()):
            return Admission("duplicate", "it was proposed before")
        return Admission("trivial", f"{self.shallow!r} proves it") if found.score else Admission()

    def check(self, statement: str, proof: str, library: Library, limits: Limits | None = None) -> Checked:
        """`proved`, or why not. What ends over it is asked once more, afresh; None (`infra`) where nothing starts."""
        try:
            own = self.canon(statement)
            known = {name: self.canon(lemma) for name, lemma in earlier(statement, library, self).items()}
            for name in known:
                if not NAME.fullmatch(self.canon(name)):
                    raise Malformed(f"{name[:40]!r} is no name of a lemma")
            lines = self.lines(proof, tuple(known))
        except Malformed as error:
            return Checked(0.0, "malformed", str(error))
        # Without names, so that no name of a lemma can mean anything in the statement.
        whole = f" {self.arrow} ".join(f"({part})" for part in (*known.values(), own))
        verdict = self._checked(whole, lines, limits.seconds if limits else self.seconds)
        if not verdict.score:
            return verdict
        text = " ".join(lines[bool(known) :])
        used = tuple(name for name in known if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w'])", text))
        return Checked(1.0, "proved", used=used, steps=len(lines))

    def _checked(self, statement: str, lines: Sequence[str], seconds: float) -> Checked:
        ended = ""
        for _ in range(TRIES):
            try:
                self._ready()
            except (OSError, EOFError, OverflowError, ValueError) as error:
                self.close()
                return Checked(None, "infra", f"{type(self).__name__} doesn't start: {error}")
            try:
                return self._prove(statement, lines, time.monotonic() + seconds)
            except TimeoutError:
                return Checked(0.0, "timeout", f"it takes more than {seconds:g} s")
            except EOFError as error:
                ended = str(error)  # perhaps the machine was short of memory
            except (OverflowError, ValueError) as error:
                self.close()
                return Checked(0.0, "resource", f"{type(self).__name__} broke off: {error}")
        return Checked(0.0, "resource", f"{type(self).__name__} broke off, twice: {ended}")

    def _ready(self) -> None:
        if self.dialogue.running and self.checks < RECYCLE:
            self.checks += 1
            try:
                if self._again():
                    return
            except (OSError, EOFError, OverflowError):
                pass  # then it starts again
        self.close()
        self._open()
        self.checks = 1

"""Coq as a checker, of Debian's package `coq`: the host states the theorem, closes it and asks for its axioms."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox import SandboxUnavailable
from arena.sandbox.dialogue import Dialogue
from games.proofs import Checked
from games.proofs.coq_text import BULLET, HEADER, check_statement, tactics
from games.proofs.prover import Prover

START = 30.0  # seconds until the header is loaded
AGAIN = 5.0  # and until what a check has left behind is undone
SETTINGS = "/etc/ocamlfind.conf"  # where Debian's Coq finds its plugins


class Coq(Prover):
    """Statements are Coq's own: `coq_text.translate` makes them of the built-in checker's.

    A `program` that isn't Debian's needs its library `shown`. Raises SandboxUnavailable without Coq or without a jail.
    """

    seconds, shallow, arrow = 10.0, "intros; auto.", "->"

    def __init__(self, program: str = "coqtop", shown: Sequence[str] = (), header: str = HEADER):
        found = shutil.which(program)
        if not found:
            raise SandboxUnavailable(f"{program} isn't installed: apt-get install --no-install-recommends coq")
        shown = [*shown, *([SETTINGS] if Path(SETTINGS).exists() else [])]
        super().__init__(Dialogue([found, "-q", "-quiet", "-color", "no"], shown, merged=True))
        self.header, self.place = header, ""

    def canon(self, statement: str) -> str:
        """Blanks make no other statement; names of variables do, for Coq alone knows which are bound."""
        check_statement(statement)
        return " ".join(statement.split())

    def lines(self, proof: str, names: Sequence[str]) -> list[str]:
        return [*([f"intros {' '.join(names)}"] if names else []), *tactics(proof)]

    def _open(self) -> None:
        self.place = f"p{secrets.token_hex(8)}"
        fault = _fault(self._ask(f"{self.header}\nDefinition {self.place} := tt.", time.monotonic() + START))
        if fault:
            raise ValueError(fault)

    def _again(self) -> bool:
        """Undo all that was done since `place` was defined: proofs, but also notations, options and axioms."""
        undo = f"Reset {self.place}.\nDefinition {self.place} := tt."
        return not _fault(self._ask(undo, time.monotonic() + AGAIN))

    def _prove(self, statement: str, lines: Sequence[str], end: float) -> Checked:
        name = f"t{secrets.token_hex(8)}"
        if fault := _fault(self._ask(f"Theorem {name} : {statement}.", end)):
            return Checked(0.0, "malformed", fault)
        for taken, sentence in enumerate(lines):
            dot = "" if BULLET.fullmatch(sentence) else "."
            if fault := _fault(self._ask(f"{sentence}{dot}", end)):
                return Checked(0.0, "rejected", f"{sentence[:60]}: {fault}", steps=taken)
        if fault := _fault(self._ask("Qed.", end)):
            return Checked(0.0, "incomplete", fault, steps=len(lines))
        axioms = self._ask(f"Print Assumptions {name}.", end)
        if "Closed under the global context" in axioms and not _fault(axioms):
            return Checked(1.0, "proved")
        return Checked(0.0, "axioms", f"it rests on {' '.join(axioms.split())[:160]}", steps=len(lines))

    def _ask(self, text: str, end: float) -> str:
        """The answer to some sentences; a random word, sent after them, marks where it ends."""
        mark = f"m{secrets.token_hex(8)}".encode()
        answer = self.dialogue.ask(
            f"{text}\nFail Check {mark.decode()}.\n", lambda said: b"environment." in said.partition(mark)[2], end
        )
        told, failed, _ = answer.decode("utf-8", "replace").rpartition("The command has indeed failed")
        return told if failed else f"Error: {answer!r}"


def _fault(answer: str) -> str:
    """What Coq says after `Error:`, in one line; "" if it says no such thing."""
    _, error, told = answer.partition("Error:")
    return " ".join(told.split())[:200] or "an error" if error else ""

"""Coq as a checker, of Debian's package `coq`: the host states the theorem, closes it and asks for its axioms."""

from __future__ import annotations

import re
import secrets
import select
import shutil
import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from games.proofs import Admission, Checked, Library, Limits, earlier
from games.proofs.coq_text import BULLET, HEADER, check_statement, tactics
from games.proofs.terms import Malformed

LIMITS = Limits()
START = 30.0  # seconds until the header is loaded
OUTPUT = 1 << 20  # bytes of one answer
RECYCLE = 500  # checks of one process
MEMORY = 2_000_000  # KiB


class Unavailable(RuntimeError):
    """Raised where no checker runs, or none that is jailed."""


def jailed(program: str = "coqtop") -> list[str]:
    """The command of `coqtop` in bubblewrap: no network, no files but the system's, read-only, nobody's rights.

    Raises `Unavailable` where either isn't installed; a proof never runs outside of a jail by itself.
    """
    for needed, package in ((program, "coq"), ("bwrap", "bubblewrap")):
        if not shutil.which(needed):
            raise Unavailable(f"{needed} isn't installed: apt-get install {package}")
    binds = [
        word
        for path in ("/usr", "/var/lib/coq", "/etc/ocamlfind.conf")
        if Path(path).exists()
        for word in ("--ro-bind", path, path)
    ]
    links = [word for name in ("bin", "lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")]
    rights = ["--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
    life = [
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/bin",
        "--setenv",
        "HOME",
        "/tmp",
    ]
    rest = ["--dev", "/dev", "--remount-ro", "/dev", "--dir", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"]
    return ["bwrap", *rights, *life, *binds, *links, *rest, program]


class Coq:
    """One warm process, started at the first check and again after each that broke it; use it as a context.

    Statements are Coq's own (`coq_text.translate` makes them of the built-in checker's). `command` is by default
    `jailed()`. Lemmas of a library stand before the theorem as its premises, by their names.
    """

    def __init__(self, command: Sequence[str] = (), header: str = HEADER):
        self.command = [*(command or jailed()), "-q", "-quiet", "-color", "no"]
        self.header = header
        self.process: subprocess.Popen[bytes] | None = None
        self.checks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if one runs."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def canon(self, statement: str) -> str:
        """Blanks make no other statement; names of variables do, for Coq alone knows which are bound."""
        check_statement(statement)
        return " ".join(statement.split())

    def judge(self, statement: str, library: Library, seen: Collection[str]) -> Admission:
        """Malformed where Coq doesn't take it for a proposition, duplicate by `canon`, trivial by `intros; auto`."""
        found = self.check(statement, "intros; auto.", {})
        if found.score is None:
            raise Unavailable(found.reason)
        if found.status == "malformed":
            return Admission("malformed", found.reason)
        own = self.canon(statement)
        if own in seen or own in map(self.canon, library.values()):
            return Admission("duplicate", "it was proposed before")
        return Admission("trivial", "intros; auto proves it") if found.score else Admission()

    def check(self, statement: str, proof: str, library: Library, limits: Limits = LIMITS) -> Checked:
        """`proved`, `rejected`, `axioms`, `malformed`, `timeout`, `resource`; `infra` where Coq doesn't start."""
        try:
            check_statement(statement)
            known = earlier(statement, library, self)
            said = tactics(proof)
        except Malformed as error:
            return Checked(0.0, "malformed", str(error))
        for name, lemma in reversed(known.items()):
            statement = f"forall {name} : ({lemma}), ({statement})"
        if known:
            said = [f"intros {' '.join(known)}", *said]
        try:
            self._ready()
        except (OSError, TimeoutError, EOFError) as error:
            self.close()
            return Checked(None, "infra", f"Coq doesn't start: {error or type(error).__name__}")
        try:
            return self._check(statement, said, known, limits.seconds)
        except TimeoutError:
            self.close()
            return Checked(0.0, "timeout", f"it takes more than {limits.seconds:g} s")
        except (EOFError, BrokenPipeError, OverflowError) as error:
            self.close()
            return Checked(0.0, "resource", f"Coq broke off: {type(error).__name__}")

    def _ready(self) -> None:
        if self.process is not None and self.checks < RECYCLE:
            self.checks += 1
            return
        self.close()
        limited = ["sh", "-c", f'ulimit -v {MEMORY}; exec "$@"', "sh", *self.command]
        self.process = subprocess.Popen(
            limited, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.checks = 1
        self._ask(self.header, time.monotonic() + START)

    def _check(self, statement: str, said: Sequence[str], known: Library, seconds: float) -> Checked:
        name, end = f"t{secrets.token_hex(8)}", time.monotonic() + seconds
        if fault := _fault(self._ask(f"Theorem {name} : ({statement}).", end)):
            return self._give_up("malformed", fault, 0, end)
        for taken, sentence in enumerate(said):
            dot = "" if BULLET.fullmatch(sentence) else "."
            if fault := _fault(self._ask(f"{sentence}{dot}", end)):
                return self._give_up("rejected", f"{sentence[:60]}: {fault}", taken, end)
        if fault := _fault(self._ask("Qed.", end)):
            return self._give_up("incomplete", fault, len(said), end)
        axioms = self._ask(f"Print Assumptions {name}.", end)
        used = tuple(lemma for lemma in known if re.search(rf"\b{lemma}\b", " ".join(said[1:])))
        if "Closed under the global context" in axioms and not _fault(axioms):
            return Checked(1.0, "proved", used=used, steps=len(said))
        return Checked(0.0, "axioms", f"it rests on {' '.join(axioms.split())[:160]}", steps=len(said))

    def _give_up(self, status: str, reason: str, taken: int, end: float) -> Checked:
        self._ask("Abort All.", end)
        return Checked(0.0, status, reason, steps=taken)

    def _ask(self, text: str, end: float) -> str:
        """The answer to some sentences; a random word, sent after them, marks where it ends."""
        assert self.process is not None  # `_ready` has started it, with both pipes
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        mark = f"m{secrets.token_hex(8)}"
        self.process.stdin.write(f"{text}\nFail Check {mark}.\n".encode())
        self.process.stdin.flush()
        answer = b""
        while mark.encode() not in answer or b"environment." not in answer.split(mark.encode())[-1]:
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError
            part = self.process.stdout.read1(65536)  # type: ignore[attr-defined]
            if not part:
                raise EOFError
            answer += part
            if len(answer) > OUTPUT:
                raise OverflowError
        return answer.decode("utf-8", "replace").split("The command has indeed failed")[0]


def _fault(answer: str) -> str:
    """What Coq says after `Error:`, in one line; "" if it says no such thing."""
    _, error, told = answer.partition("Error:")
    return " ".join(told.split())[:200] or "an error" if error else ""

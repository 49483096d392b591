"""Lean 4 through the REPL of its community, where the user has both: a proof counts by its axioms and its type only.

The REPL (github.com/leanprover-community/repl) reads one JSON command and a blank line, and answers with `messages`,
`sorries` and the number `env` of the environment after it.
"""

from __future__ import annotations

import json
import re
import secrets
import select
import subprocess
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Self

from games.proofs import Admission, Checked, Library, Limits, earlier
from games.proofs.terms import Malformed

LIMITS = Limits(seconds=30.0)
START = 300.0  # seconds until the header is imported
OUTPUT = 1 << 20  # bytes of one answer
LONG = 8000  # characters
AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
BANNED = re.compile(
    r"(?<![\w.])(sorry|admit|axiom|constant|opaque|unsafe|partial|implemented_by|extern|native_decide|run_tac|run_cmd"
    r"|run_meta|elab|elab_rules|macro|macro_rules|syntax|notation|infix|infixl|infixr|prefix|postfix|initialize|builtin"
    r"|attribute|instance|theorem|lemma|def|abbrev|example|structure|class|inductive|namespace|section|end|open|import"
    r"|set_option|mutual|universe|variable|export|private|protected|noncomputable|local|scoped|by_elab|deriving)(?!\w)"
    r"|#\w|@\[|«|»|%\[|--|/-"
)


class Lean:
    """One warm REPL; use it as a context. `command` starts it in a jail of the user's: it runs what a proof says.

    Statements are types, proofs blocks of tactics. Lemmas of a library are premises by their names.
    """

    def __init__(self, command: Sequence[str], header: str = "import Mathlib"):
        if not command:
            raise ValueError("command is empty: give the one that starts the REPL in its jail, such as bwrap ... repl")
        self.command, self.header = list(command), header
        self.process: subprocess.Popen[bytes] | None = None
        self.base = 0

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
        """Blanks make no other statement. Raises `Malformed` for what can't be one type."""
        depth = 0
        for letter in statement:
            depth += (letter in "([{⟨") - (letter in ")]}⟩")
            if depth < 0:
                break
        if depth or not statement.strip() or len(statement) > LONG or ":=" in statement:
            raise Malformed(f"{statement[:60]!r} is not a single type")
        if banned := BANNED.search(statement):
            raise Malformed(f"{banned[0]!r} is forbidden in a statement")
        return " ".join(statement.split())

    def judge(self, statement: str, library: Library, seen: Collection[str]) -> Admission:
        """Malformed where Lean takes it for no proposition, duplicate by `canon`, trivial by `intros; trivial`."""
        found = self.check(statement, "intros; trivial", {})
        if found.score is None:
            raise RuntimeError(found.reason)
        if found.status == "malformed":
            return Admission("malformed", found.reason)
        own = self.canon(statement)
        if own in seen or own in map(self.canon, library.values()):
            return Admission("duplicate", "it was proposed before")
        return Admission("trivial", "intros; trivial proves it") if found.score else Admission()

    def check(self, statement: str, proof: str, library: Library, limits: Limits = LIMITS) -> Checked:
        """`proved`, `rejected`, `axioms`, `edited`, `malformed`, `timeout`, `resource`; `infra` without a REPL."""
        try:
            known = earlier(statement, library, self)
            lines = tactics(proof)
        except Malformed as error:
            return Checked(0.0, "malformed", str(error))
        bound = "".join(f"∀ {name} : ({lemma}), " for name, lemma in known.items())
        if known:
            lines = [f"intro {' '.join(known)}", *lines]
        try:
            self._ready()
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            self.close()
            return Checked(None, "infra", f"the REPL doesn't start: {error or type(error).__name__}")
        try:
            return self._check(f"{bound}({statement})", lines, known, time.monotonic() + limits.seconds)
        except TimeoutError:
            self.close()
            return Checked(0.0, "timeout", f"it takes more than {limits.seconds:g} s")
        except (EOFError, OSError, ValueError, OverflowError) as error:
            self.close()
            return Checked(0.0, "resource", f"the REPL broke off: {type(error).__name__}")

    def _ready(self) -> None:
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            answer = self._ask({"cmd": self.header}, time.monotonic() + START)
            if fault := _fault(answer):
                raise ValueError(f"{self.header}: {fault}")
            self.base = int(answer["env"])

    def _check(self, statement: str, lines: Sequence[str], known: Library, end: float) -> Checked:
        """The statement alone; then the proof, under a name that it can't know; then axioms and type, asked apart."""
        name = f"t{secrets.token_hex(8)}"
        alone = self._ask({"cmd": f"theorem {name} : {statement} := sorry", "env": self.base}, end)
        if fault := _fault(alone):
            return Checked(0.0, "malformed", fault)
        kept = self._type(name, alone, end)
        block = "\n".join(f"  {line}" for line in lines)
        proved = self._ask({"cmd": f"theorem {name} : {statement} := by\n{block}", "env": self.base}, end)
        # After an error Lean still knows the theorem, and says of it that no axioms are used.
        if fault := _fault(proved):
            return Checked(0.0, "rejected", fault)
        if proved.get("sorries"):
            return Checked(0.0, "rejected", "it is left open by sorry")
        if self._type(name, proved, end) != kept:
            return Checked(0.0, "edited", "the theorem that was proved has another type")
        found = self._axioms(name, proved, end)
        if found is None or not found <= AXIOMS:
            return Checked(
                0.0, "axioms", f"it rests on {', '.join(sorted(found - AXIOMS)) if found else 'nothing known'}"
            )
        used = tuple(lemma for lemma in known if re.search(rf"\b{re.escape(lemma)}\b", " ".join(lines[1:])))
        return Checked(1.0, "proved", used=used, steps=len(lines))

    def _type(self, name: str, after: dict[str, Any], end: float) -> str:
        """The whole type of a theorem, as Lean prints it with nothing left out; raises ValueError where it doesn't."""
        answer = self._ask({"cmd": f"set_option pp.all true in #check @{name}", "env": after["env"]}, end)
        return " ".join(_only(answer, name).split())

    def _axioms(self, name: str, after: dict[str, Any], end: float) -> set[str] | None:
        """The axioms that a theorem rests on; None where the answer is neither of Lean's two."""
        told = _only(self._ask({"cmd": f"#print axioms {name}", "env": after["env"]}, end), name)
        if told.strip() == f"'{name}' does not depend on any axioms":
            return set()
        found = re.fullmatch(rf"'{name}' depends on axioms: \[([^\[\]]*)\]", " ".join(told.split()))
        return {axiom.strip() for axiom in found[1].split(",")} if found else None

    def _ask(self, command: dict[str, Any], end: float) -> dict[str, Any]:
        """One answer; raises ValueError for what is no answer, and TimeoutError, EOFError or OverflowError."""
        assert self.process is not None  # `_ready` has started it, with both pipes
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n\n")
        self.process.stdin.flush()
        answer = b""
        while not answer.endswith(b"\n\n"):
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError
            part = self.process.stdout.read1(65536)  # type: ignore[attr-defined]
            if not part:
                raise EOFError
            answer += part
            if len(answer) > OUTPUT:
                raise OverflowError
        read = json.loads(answer)
        if not isinstance(read, dict) or not isinstance(read.get("env"), int):
            raise ValueError(f"no answer of a REPL: {answer[:80]!r}")
        return read


def tactics(proof: str) -> list[str]:
    """The lines of a proof as they are; raises `Malformed` for a word that is no part of one, or none at all."""
    if len(proof) > LONG:
        raise Malformed(f"the proof has {len(proof)} characters: use at most {LONG}")
    if banned := BANNED.search(proof):
        raise Malformed(f"{banned[0]!r} is forbidden in a proof")
    lines = [line.rstrip() for line in proof.splitlines() if line.strip()]
    if not lines:
        raise Malformed("the proof has no line")
    return lines


def _fault(answer: dict[str, Any]) -> str:
    """The first error of an answer; "" if there is none."""
    errors = [m for m in answer.get("messages", []) if m.get("severity") == "error"]
    return (" ".join(str(errors[0].get("data")).split())[:200] or "an error") if errors else ""


def _only(answer: dict[str, Any], name: str) -> str:
    """The text of the one message of an answer, which is about the theorem; raises ValueError otherwise."""
    messages = answer.get("messages", [])
    if _fault(answer) or len(messages) != 1 or name not in str(messages[0].get("data")):
        raise ValueError(f"Lean doesn't answer about {name}")
    return str(messages[0]["data"])

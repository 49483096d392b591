"""Lean 4 through the REPL of its community, where the user has both: a proof counts by its axioms and its type only.

The REPL (github.com/leanprover-community/repl) reads one JSON command and a blank line, and answers with `messages`,
`sorries` and the number `env` of the environment after it.
"""

from __future__ import annotations

import json
import re
import secrets
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arena.sandbox.dialogue import Dialogue
from arena.sandbox.verdict import MIB
from games.proofs import Checked
from games.proofs.prover import LONG, Prover
from games.proofs.terms import Malformed

START = 300.0  # seconds until the header is imported
MEMORY = 65536 * MIB  # of addresses: a library is mapped, not read
AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
HARMLESS = ("info", "warning", "trace")
BANNED = re.compile(
    r"(?<![\w.])(sorry|admit|axiom|constant|opaque|unsafe|partial|implemented_by|extern|native_decide|run_tac|run_cmd"
    r"|run_meta|run_elab|elab|elab_rules|macro|macro_rules|syntax|declare_syntax_cat|notation|notation3|infix|infixl"
    r"|infixr|prefix|postfix|initialize|builtin_initialize|simproc|dsimproc|builtin|attribute|instance|theorem|lemma|def"
    r"|irreducible_def|abbrev|alias|example|structure|class|inductive|coinductive|namespace|section|end|open|import"
    r"|set_option|register_option|mutual|universe|variable|include|omit|export|private|protected|noncomputable|nonrec"
    r"|local|scoped|by_elab|deriving|unseal|seal|add_decl_doc|init_quot|recall|proof_wanted|where)(?![\w?!])"
    r"|#\w|@\[|«|»|%\[|--|/-|\"|'[()\[\]{}⟨⟩]'|\b(eval|include_str|gen_injective_theorems)%"
)


class Message(NamedTuple):
    """What Lean says of a command."""

    severity: str
    text: str


class Answer(NamedTuple):
    """One answer of the REPL, read strictly."""

    env: int
    messages: tuple[Message, ...]
    open_ended: bool  # a sorry was seen

    @property
    def fault(self) -> str:
        """The first error in one line; "" if there is none."""
        errors = [m.text for m in self.messages if m.severity not in HARMLESS]
        return (" ".join(errors[0].split())[:200] or "an error") if errors else ""

    def only(self, name: str) -> str:
        """The text of its one message, which is about the theorem; raises ValueError otherwise."""
        if self.fault or len(self.messages) != 1 or name not in self.messages[0].text:
            raise ValueError(f"Lean doesn't answer about {name}")
        return self.messages[0].text


class Lean(Prover):
    """`command` is the REPL's program with its arguments; `shown` are the folders of Lean and of its libraries.

    Statements are types, proofs blocks of tactics. The header is imported once, in a jail that no proof ever enters,
    and pickled; each process that proofs are checked in reads the pickle, and can't write it. Raises
    SandboxUnavailable without a jail.
    """

    seconds, shallow, arrow = 30.0, "intros; trivial", "→"

    def __init__(
        self,
        command: Sequence[str],
        shown: Sequence[str | Path] = (),
        header: str = "import Mathlib",
        environment: Mapping[str, str] | None = None,
    ):
        if not command:
            raise ValueError("command is empty: give the REPL's path, and its folders as shown")
        folder = tempfile.TemporaryDirectory(prefix="scrimmage-lean-")
        self.header, self.pickle = header, Path(folder.name) / "header.olean"
        # Not filtered: Lean's own threads and files need calls that nobody has listed.
        self.first = Dialogue(command, shown, environment, MEMORY, filtered=False, written=folder.name)
        super().__init__(Dialogue(command, [*shown, folder.name], environment, MEMORY, filtered=False))
        self.base = 0
        self._folder = weakref.finalize(self, folder.cleanup)

    def close(self) -> None:
        """End the process, if one runs; the pickle stays for the next, and goes with this object."""
        self.first.stop()
        super().close()

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

    def lines(self, proof: str, names: Sequence[str]) -> list[str]:
        if len(proof) > LONG:
            raise Malformed(f"the proof has {len(proof)} characters: use at most {LONG}")
        if banned := BANNED.search(proof):
            raise Malformed(f"{banned[0]!r} is forbidden in a proof")
        lines = [line.rstrip() for line in proof.splitlines() if line.strip()]
        if not lines:
            raise Malformed("the proof has no line")
        return [*([f"intro {' '.join(names)}"] if names else []), *lines]

    def _open(self) -> None:
        end = time.monotonic() + START
        if not self.pickle.exists():
            imported = self._ask(self.first, {"cmd": self.header}, end)
            if imported.fault:
                raise ValueError(f"{self.header}: {imported.fault}")
            kept = self._ask(self.first, {"pickleTo": str(self.pickle), "env": imported.env}, end)
            self.first.stop()
            if kept.fault or not self.pickle.exists():
                raise ValueError(f"the header isn't pickled: {kept.fault or 'there is no file'}")
        self.base = self._ask(self.dialogue, {"unpickleEnvFrom": str(self.pickle)}, end).env

    def _again(self) -> bool:
        """Every command begins at the environment of the header, and nothing else changes it."""
        return not self.dialogue.unasked

    def _prove(self, statement: str, lines: Sequence[str], end: float) -> Checked:
        """The statement alone; then the proof, under a name that it can't know; then axioms and type, asked apart."""
        name = f"t{secrets.token_hex(8)}"
        alone = self._say(f"theorem {name} : {statement} := sorry", self.base, end)
        if alone.fault:
            return Checked(0.0, "malformed", alone.fault)
        kept = self._type(name, alone, end)
        block = "\n".join(f"  {line}" for line in lines)
        proved = self._say(f"theorem {name} : {statement} := by\n{block}", self.base, end)
        # After an error Lean still knows the theorem, and says of it that no axioms are used.
        if proved.fault:
            return Checked(0.0, "rejected", proved.fault)
        if proved.open_ended:
            return Checked(0.0, "rejected", "it is left open by sorry")
        if self._type(name, proved, end) != kept:
            return Checked(0.0, "edited", "the theorem that was proved has another type")
        found = self._axioms(name, proved, end)
        if found is None or not found <= AXIOMS:
            told = ", ".join(sorted(found - AXIOMS)) if found else "nothing known"
            return Checked(0.0, "axioms", f"it rests on {told}")
        return Checked(1.0, "proved")

    def _type(self, name: str, after: Answer, end: float) -> str:
        """The whole type of a theorem, as Lean prints it with nothing left out; raises ValueError where it doesn't."""
        told = " ".join(self._say(f"set_option pp.all true in #check @{name}", after.env, end).only(name).split())
        if "⋯" in told or "[...]" in told:
            raise ValueError("Lean prints a part of the type only")
        return told

    def _axioms(self, name: str, after: Answer, end: float) -> set[str] | None:
        """The axioms that a theorem rests on; None where the answer is neither of Lean's two."""
        told = " ".join(self._say(f"#print axioms {name}", after.env, end).only(name).split())
        if told == f"'{name}' does not depend on any axioms":
            return set()
        found = re.fullmatch(rf"'{name}' depends on axioms: \[([^\[\]]*)\]", told)
        return {axiom.strip() for axiom in found[1].split(",")} if found else None

    def _say(self, command: str, env: int, end: float) -> Answer:
        return self._ask(self.dialogue, {"cmd": command, "env": env}, end)

    def _ask(self, dialogue: Dialogue, command: Mapping[str, Any], end: float) -> Answer:
        """One answer to one command; raises ValueError for one that nobody asked for, and as `Dialogue.ask` does."""
        if dialogue.unasked:
            raise ValueError("the REPL speaks unasked")
        return _read(dialogue.ask(f"{json.dumps(command)}\n\n", lambda said: said.endswith(b"\n\n"), end))


def _read(answer: bytes) -> Answer:
    """Raises ValueError for what isn't an answer in every part that is looked at."""
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {answer[:80]!r}") from error
    if type(told) is not dict or type(told.get("env")) is not int:
        raise ValueError(f"no answer of a REPL: {answer[:80]!r}")
    messages, sorries = told.get("messages", []), told.get("sorries", [])
    if type(messages) is not list or type(sorries) is not list or not all(type(m) is dict for m in messages):
        raise ValueError(f"no messages of a REPL: {answer[:80]!r}")
    read = [(m.get("severity"), m.get("data")) for m in messages]
    if not all(type(severity) is str and type(text) is str for severity, text in read):
        raise ValueError(f"no message of a REPL: {answer[:80]!r}")
    return Answer(told["env"], tuple(Message(str(severity), str(text)) for severity, text in read), bool(sorries))

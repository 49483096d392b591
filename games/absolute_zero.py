"""A proposer writes a program, and every solver reasons about it: what it returns, what was given to it, what it is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arena.clusters import canonical
from arena.game import Seats
from arena.types import Task, Verdict
from games._proposing import PROPOSER, Made, Proposing, known_kinds
from games.verify import jail, program, values, wording
from games.verify.kind import RIGHT, WRONG, malformed

KINDS = ("deduction", "abduction", "induction")
IDENTITY = "def f(x):\n    return x"  # all that there is to begin with
FIRST = Task.new(f"{IDENTITY}\nf(7)", kind="deduction", program=IDENTITY, call="f(7)", output="7")
ASK = {
    "deduction": "Write a function f and one call of it whose result is hard to work out, but not too hard.",
    "abduction": "Write a function f and one call of it that is hard to find from the result, but not too hard.",
    "induction": "Say in a comment what this function does, then call it {pairs} times with different arguments.",
}
PROPOSALS = {
    "deduction": ("def f(x):\n    return x * 3 + 1\nf(5)", "def f(x):\n    return sorted(x)[1]\nf([4, 2, 9])"),
    "abduction": ("def f(x):\n    return x * 3 + 1\nf(5)", "def f(x):\n    return len(x) * 2\nf('cab')"),
    "induction": ("# it gives back what it is given\n{calls}", "# the same again\n{calls}"),
}
SLOW = 0.1  # seconds of CPU time: every solver's answer may have it run again, and so does every replay


class AbsoluteZero(Proposing):
    """A proposer sets a task about a program, of one of three `kinds`, and all solvers try it (Absolute Zero).

    deduction: what does this call of f return? abduction: which call of f returns this, any that does when it is run?
    induction: write f from a description and half of `pairs` calls; the other half judges it. A solver earns 1 if it is
    right, -0.5 if wrong, -1 for what is no answer; the proposer 1 - p where some solvers are right but not all, else 0,
    p being their share. -0.5 costs it a task that isn't safe, speaks to solvers, doesn't run or takes long, isn't
    deterministic, is trivial or says its own answer; -1 what is no program. It sees `past` tasks where it is given
    some. A task of a kind is solved at once.
    """

    def __init__(self, solvers: int = 8, kinds: Sequence[str] = KINDS, pairs: int = 6):
        self.seats(solvers)
        self.kinds = known_kinds(kinds, KINDS)
        if not 2 <= pairs <= 20:
            raise ValueError(f"pairs is {pairs}: use 2 to 20, half of them are shown")
        self.pairs = pairs
        self.info = replace(self.info, chance=len(self.kinds) > 1)

    def ready(self) -> None:
        jail.sandbox()

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.task, self.outcome = FIRST, ""
        if task is not None and "kind" in task.payload:
            self.kind = read_kind(task)
            return self.ask(task)
        self.kind = rng.choice(self.kinds)
        past = [Task.from_json(record) for record in task.payload.get("past", ())] if task else []
        past = [one for one in past if "program" in one.payload] or [FIRST]
        self.about = str(rng.choice(past).payload["program"])  # what an induction is about
        asked = ASK[self.kind].format(pairs=self.pairs)
        below = [self.about] if self.kind == "induction" else ["Seen before:", *map(seen, past)]
        parents = tuple(one.id for one in past if one is not FIRST)
        self.pose(Task.new("\n\n".join([asked, *below]), kind=self.kind, parents=parents), PROPOSER)
        return (PROPOSER,)

    def first_tasks(self) -> Sequence[Task]:
        """A program that gives back what it is given, where deductions are dealt."""
        return [FIRST] if "deduction" in self.kinds else []

    def legal(self, seat: str) -> Sequence[str]:
        """A few proposals and answers, right and wrong; any other text is taken too."""
        if seat == PROPOSER:
            calls = "\n".join(f"f({i})" for i in range(self.pairs))
            return [text.replace("{calls}", calls) for text in PROPOSALS[self.kind]]
        return choices(self.task)

    def made(self, text: str) -> Made:
        """Well-formed, safe, wordless, executes, fast, deterministic, non-trivial, and no leak: in this order."""
        parents = self.faced[PROPOSER].parents
        raw = Task.new(text[: program.LONG], parents=parents, author=PROPOSER)
        try:
            draft = program.read(text, function=self.kind != "induction")
        except program.Refused as error:
            return Made(raw, error.gate, str(error))
        # Names are the proposer's words, and solvers read no word of it: what is run and shown has none of them left.
        source = self.about if self.kind == "induction" else program.canonical(draft.source)
        wanted = self.pairs if self.kind == "induction" else 1
        if len(draft.calls) != wanted:
            return Made(raw, "well-formed", f"write {wanted} calls of f, not {len(draft.calls)}")
        if self.kind == "induction" and not program.NOTE.fullmatch(draft.note):
            return Made(raw, "well-formed", "say what the function does in a comment of 3 to 80 letters and digits")
        said = [] if self.kind == "induction" else wording.constants(source)  # of a program that solvers see
        if strange := "" if self.kind == "induction" else wording.invented(source):
            return Made(raw, "wordless", f"{strange[:40]!r} is no name that Python has")
        if talk := wording.talks([*said, *wording.texts(draft.calls)]):
            return Made(raw, "wordless", talk)
        found = jail.outcomes(source, draft.calls)
        calls, outputs = tuple(map(program.call, draft.calls)), [one.text for one in found]
        if gate := self._run(source, draft.calls, calls, found):
            return Made(raw, *gate)
        if self.kind == "induction":
            return self._induction(raw, source, draft.note, list(zip(calls, outputs, strict=True)))
        payload = {"kind": self.kind, "program": source, "call": calls[0], "output": outputs[0]}
        if self.kind == "deduction":
            payload["answer"] = outputs[0]
        task = Task.new(prompt(payload), parents=parents, author=PROPOSER, **payload)
        given = list(map(values.shown, draft.calls[0]))
        if trivial := draft.trivial or ("it gives back what it is given" if outputs[0] in given else ""):
            return Made(task, "non-trivial", trivial)
        if wording.tells(task.prompt, said, outputs if self.kind == "deduction" else given):
            return Made(task, "leak", "the program says the answer")
        return Made(task)

    def _run(
        self, source: str, args: Sequence[program.Args], calls: tuple[str, ...], found: Sequence[jail.Outcome]
    ) -> tuple[str, str] | None:
        """The gate and the reason that refuse a program by what it does, None if none does."""
        if fault := next((one.fault for one in found if one.fault), ""):
            return "executes", fault
        # The reason has no figure in it: a proposer that sees the same must hear the same.
        if jail.cost(source, args) > SLOW:
            return "fast", f"it takes more than {SLOW:g} s"
        if talk := wording.talks([text for one in found for text in wording.texts(values.read(one.text))]):
            return "wordless", f"of what it returns: {talk}"
        if not jail.steady(source, calls):
            return "deterministic", "it gives other results when it is run again"
        return None

    def _induction(self, raw: Task, source: str, note: str, pairs: list[tuple[str, str]]) -> Made:
        half = len(pairs) // 2
        payload = {"kind": self.kind, "program": source, "note": note, "shown": pairs[:half], "hidden": pairs[half:]}
        payload = {k: [list(pair) for pair in v] if isinstance(v, list) else v for k, v in payload.items()}
        task = Task.new(prompt(payload), parents=raw.parents, author=PROPOSER, **payload)
        if len({call for call, _ in pairs}) < len(pairs):
            return Made(task, "non-trivial", "the same call stands there twice")
        if len({output for _, output in pairs}) == 1:
            return Made(task, "non-trivial", "all calls return the same")
        if wording.spoils(note, [output for _, output in pairs[half:]]):
            return Made(task, "leak", "the comment has code or results in it")
        return Made(task)

    def judge(self, text: str) -> Verdict:
        """What a solver wrote is read as a literal, or run in the jail."""
        return judge(self.task, text)

    def canon(self, task: Task) -> str:
        """Layout, comments and the names of variables make no other task."""
        told = task.payload
        if "program" not in told:
            return canonical(task.prompt)
        what = told.get("call") or " ".join(sorted(call for call, _ in (*told["shown"], *told["hidden"])))
        return f"{told['kind']} {what}\n{program.canonical(told['program'])}"

    def knows(self, seat: str) -> tuple[str, str]:
        return self.kind, self.task.prompt if seat != PROPOSER else self.faced[PROPOSER].prompt + self.outcome

    def state_text(self) -> str:
        return f"{self.kind}\n{self.task.prompt}\nAnswer: {right(self.task)}\n{self.outcome}"

    def oracle(self, seat: str) -> Mapping[str, float]:
        return {} if seat == PROPOSER else {right(self.task): 1.0}


def read_kind(task: Task) -> str:
    """The kind of a task that solvers are given; raises ValueError where it lacks something."""
    kind = str(task.payload["kind"])
    wanted = ("program", "note", "shown", "hidden") if kind == "induction" else ("program", "call", "output")
    missing = [key for key in wanted if key not in task.payload]
    if kind not in KINDS or missing:
        raise ValueError(
            f"task {task.id} of kind {kind!r} lacks {', '.join(missing) or 'a kind'}: give one of {', '.join(KINDS)}"
        )
    return kind


def seen(task: Task) -> str:
    """A task of the past, as a proposer would have written it."""
    told = task.payload
    return f"{told['program']}\n{told['call'] if 'call' in told else '# ' + told['note']}"


def prompt(told: Mapping[str, Any]) -> str:
    """What a solver is asked."""
    match told["kind"]:
        case "deduction":
            return f"{told['program']}\nWhat does {told['call']} return?"
        case "abduction":
            return f"{told['program']}\nWhich call of f returns {told['output']}?"
        case _:
            lines = [f"{call} returns {output}" for call, output in told["shown"]]
            said = f"""Somebody says of it: "{told["note"]}"."""  # quoted, so that it can't pass for the game's words
            return "\n".join(["Write a function f.", said, *lines])


def right(task: Task) -> str:
    """An answer that is right."""
    told = task.payload
    return str({"deduction": told.get("output"), "abduction": told.get("call")}.get(told["kind"], told["program"]))


def choices(task: Task) -> list[str]:
    """The right answer among wrong ones, in an order that doesn't tell which it is."""
    told = task.payload
    others = {
        "deduction": ["0", "1", "2", "None", "True", "''", "[]"],
        "abduction": ["f(0)", "f(1)", "f(2)", "f('')", "f([])"],
        "induction": [IDENTITY, "def f(x):\n    return x + 1", "def f(x):\n    return x * 2"],
    }[told["kind"]]
    return sorted({right(task), *others})


def judge(task: Task, text: str) -> Verdict:
    """Whether a solver is right; what it wrote is read as a literal, or run in the jail. Raises `jail.NotRun`."""
    told = task.payload
    try:
        match told["kind"]:
            case "deduction":
                return RIGHT if values.shown(values.read(text)) == told["output"] else WRONG
            case "abduction":
                args = program.read_call(text)
                return RIGHT if all(jail.agrees(told["program"], [(args, told["output"])])) else WRONG
            case _:
                draft = program.read(text)
                hidden = [(program.read_call(call), output) for call, output in told["hidden"]]
                return RIGHT if all(jail.agrees(draft.source, hidden)) else WRONG
    except program.Refused as error:
        return malformed(str(error)) if error.gate == "well-formed" else WRONG
    except values.NoValue as error:
        return malformed(str(error))

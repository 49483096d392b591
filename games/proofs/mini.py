"""The default checker: equations by induction and rewriting, propositions by natural deduction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from games.proofs import Admission, Checked, Library, Limits, earlier, equations, logic
from games.proofs.kernel import Kernel, Run, is_equation, lines
from games.proofs.terms import Malformed

LIMITS = Limits()
QUICK = Limits(fuel=300)  # of a shallow proof
TRIED = 3000  # fuel of all shallow proofs of one statement: our own theorems take a seventh of it


class Mini:
    """A statement that begins with `forall` is an equation, any other a proposition; its lemmas are of its own kind."""

    def judge(self, statement: str, library: Library, seen: Collection[str]) -> Admission:
        """The first gate that refuses it, with the reason. `seen` has what `canon` says of statements."""
        kernel = _kernel(statement)
        try:
            read = kernel.read(statement)
        except Malformed as error:
            return Admission("malformed", str(error))
        lemmas = _lemmas(kernel, library)
        if found := kernel.faults(read):
            return Admission("vacuous", found)
        if found := kernel.refute(read):
            return Admission("refuted", found)
        own = kernel.canon(read)
        if own in seen or own in map(kernel.canon, lemmas.values()):
            return Admission("duplicate", f"it was proposed before, as {own}")
        for name, lemma in {**kernel.AXIOMS, **lemmas}.items():
            if kernel.instance(read, lemma):
                return Admission("instance", f"{name} says it already")
        fuel = TRIED
        for proof in kernel.shallow({**kernel.AXIOMS, **lemmas}):
            run = Run(QUICK)
            if _run(kernel, read, proof, lemmas, run).score:
                return Admission("trivial", f"{proof!r} proves it")
            fuel -= QUICK.fuel - run.fuel
            if fuel < 0:
                break  # a statement that is made to be slow
        return Admission()

    def check(self, statement: str, proof: str, library: Library, limits: Limits = LIMITS) -> Checked:
        """Replay the proof line by line: `proved`, `rejected` at a line, `incomplete`, or `malformed`."""
        kernel = _kernel(statement)
        try:
            read = kernel.read(statement)
        except Malformed as error:
            return Checked(0.0, "malformed", str(error))
        return _run(kernel, read, proof, _lemmas(kernel, earlier(statement, library, self)), Run(limits))

    def canon(self, statement: str) -> str:
        """Raises ValueError for what is no statement."""
        kernel = _kernel(statement)
        return str(kernel.canon(kernel.read(statement)))

    def step(self, statement: str, proof: str, library: Library) -> tuple[str, ...]:
        """The goals that are left after a proof so far, the next one first: a hint, never a verdict.

        Raises ValueError with the line that can't be taken.
        """
        kernel = _kernel(statement)
        goals, run = kernel.begin(kernel.read(statement)), Run(LIMITS)
        lemmas = _lemmas(kernel, earlier(statement, library, self))
        for line in lines(proof, LIMITS):
            goals = kernel.step(goals, line, lemmas, run)
        return tuple(kernel.goal_text(goal) for goal in goals)

    def hindsight(self, statement: str, proof: str, library: Library) -> tuple[tuple[str, str], ...]:
        """(statement, proof) of every subgoal that the proof reached and closed, also where it failed as a whole.

        Each is a theorem by `check` itself, and none is the statement again: what a prover has shown instead of what
        it was asked (hindsight relabelling, as in Minimo, arXiv:2407.00695).
        """
        kernel = _kernel(statement)
        lemmas = _lemmas(kernel, earlier(statement, library, self))
        goals, run = kernel.begin(kernel.read(statement)), Run(LIMITS)
        stack: list[tuple[Any, int, list[str]]] = []  # goal, how many were left when it came up, its lines so far
        found: dict[str, str] = {}
        try:
            for line in lines(proof, LIMITS):
                stack.extend((goal, len(goals), []) for goal in goals[:1])
                goals = kernel.step(goals, line, lemmas, run)
                for _, _, said in stack:
                    said.append(line)
                for goal, _, said in (entry for entry in stack if len(goals) < entry[1]):
                    found.setdefault(kernel.goal_text(goal), "; ".join(kernel.opening(goal) + said))
                stack = [entry for entry in stack if len(goals) >= entry[1]]
        except Malformed:
            pass  # what was reached before this line stays reached
        return tuple((reached, way) for reached, way in found.items() if self._new(statement, reached, way, library))

    def _new(self, statement: str, reached: str, proof: str, library: Library) -> bool:
        """Whether a subgoal is proved by itself, so without the hypotheses it had, and isn't the statement again."""
        return self.check(reached, proof, library).score == 1.0 and self.canon(reached) != self.canon(statement)


def replay(library: Library, proofs: Library) -> None:
    """Raise ValueError unless every lemma is proved, by its proof and the lemmas before it."""
    mini, known = Mini(), dict[str, str]()
    for name, statement in library.items():
        verdict = mini.check(statement, proofs.get(name, ""), known)
        if not verdict.score:
            raise ValueError(f"lemma {name!r}, {statement!r}, isn't proved: {verdict.reason}")
        known[name] = statement


def _kernel(statement: str) -> Kernel:
    return equations if is_equation(statement) else logic


def _lemmas(kernel: Kernel, library: Library) -> dict[str, Any]:
    """The lemmas that this kernel can read: those of its own kind."""
    return {name: kernel.read(text) for name, text in library.items() if _kernel(text) is kernel}


def _run(kernel: Kernel, statement: Any, proof: str, lemmas: dict[str, Any], run: Run) -> Checked:
    taken, goals = 0, kernel.begin(statement)
    try:
        for line in lines(proof, run.limits):
            goals = kernel.step(goals, line, lemmas, run)
            taken += 1
    except Malformed as error:
        return Checked(0.0, "rejected", f"line {taken + 1}: {error}", steps=taken)
    if goals:
        left = f"{len(goals)} goals are left, first {kernel.goal_text(goals[0])[:120]}"
        return Checked(0.0, "incomplete", left, steps=taken)
    return Checked(1.0, "proved", used=tuple(run.used), steps=taken)

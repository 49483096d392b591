"""A conjecturer states what may be a theorem, and every prover tries to prove it at once."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from arena.clusters import canonical
from arena.config import one_of
from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._bounds import SEATS, counted
from games.proofs import Checked, equations, logic
from games.proofs.mini import Mini, replay
from games.proofs.terms import bare, show, sort_of
from games.proofs.theorems import THEORIES

CONJECTURER = "conjecturer_0"
MINI = Mini()
CAPACITY = 16  # lemmas of a library: what is known is heard by everybody
Lemma = tuple[str, str, str]  # name, statement, proof


class ConjecturerProver(Game):
    """The conjecturer hears a seed lemma and a library, and states a theorem; every prover writes a proof of it.

    What no gate admits costs it 0.5, what is malformed 1, and no prover is asked. Otherwise p is the share of proofs
    that the kernel accepts: it earns 1 where 0 < p <= `band` (pay=frontier), or 4p(1 - p) (pay=learnability), and half
    of that where no accepted proof applies the seed lemma. A prover earns 1 for an accepted proof, with `shared`
    divided by their number. A proved conjecture is offered as the seed of a library that has grown by it, and what a
    failed proof reached on its way as a conjecture (`hindsight`). A task with a `statement` needs no conjecturer.
    """

    info = GameInfo(simultaneous=True, chance=True, max_illegal=0, forfeit=-1.0)
    # 1 is the most that a conjecture or a proof can earn, by both rules of pay.
    known: Mapping[str, float] = {"conjecturer_max": 1.0, "prover_max": 1.0}

    def __init__(
        self,
        theory: str = "nat",
        provers: int = 4,
        lemmas: int = 3,
        pay: str = "frontier",
        band: float = 0.25,
        shared: bool = False,
        hindsight: bool = True,
    ):
        one_of("theory", theory, tuple(THEORIES))
        one_of("pay", pay, ("frontier", "learnability"))
        counted("provers", provers, SEATS)
        if not 2 <= lemmas <= len(THEORIES[theory]):
            raise ValueError(f"lemmas is {lemmas}: {theory} has 2 to {len(THEORIES[theory])} to begin with")
        if pay == "frontier" and not 1 / provers <= band <= 1:
            raise ValueError(f"band is {band}: with {provers} provers use {1 / provers:g} to 1, or pay=learnability")
        self.roles = {"conjecturer": 1, "prover": provers}
        self.provers = tuple(f"prover_{i}" for i in range(provers))
        self.theory, self.pay, self.band, self.shared, self.hindsight = theory, pay, band, shared, hindsight
        self.first: tuple[Lemma, ...] = tuple(
            (name, *THEORIES[theory][name]) for name in list(THEORIES[theory])[:lemmas]
        )

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        told = task.payload if task else {}
        self.lemmas = tuple((str(n), str(s), str(p)) for n, s, p in told.get("lemmas", self.first))
        self.library = {name: statement for name, statement, _ in self.lemmas}
        replay(self.library, {name: proof for name, _, proof in self.lemmas})  # a task may come from anywhere
        self.statement, self.outcome = "", ""
        if task is not None and "statement" in told:
            self.seed = ""
            return self._ask(task)
        self.seed = str(told.get("seed") or rng.choice(list(self.library)))
        if self.seed not in self.library:
            raise ValueError(
                f"task {task.id if task else ''} has seed {self.seed!r}: it is one of {', '.join(self.library)}"
            )
        self.tell(self._library(), CONJECTURER)
        self.pose(
            task if task is not None and "seed" in told else self._seeded(self.lemmas, self.seed, ()), CONJECTURER
        )
        return (CONJECTURER,)

    def first_tasks(self) -> Sequence[Task]:
        """The next theorem of the theory, so that provers have one before anything was conjectured."""
        after = list(THEORIES[self.theory].values())[len(self.first) :]
        return [_to_prove(theorem.statement, self.first) for theorem in after[:1]]

    def _library(self) -> str:
        return "Known:\n" + "\n".join(f"{name}: {statement}" for name, statement in self.library.items())

    def _seeded(self, lemmas: Sequence[Lemma], seed: str, parents: tuple[str, ...], author: str = "") -> Task:
        """A task for a conjecturer."""
        payload = [list(lemma) for lemma in lemmas]
        statement = {name: stated for name, stated, _ in lemmas}[seed]
        return Task.new(f"Seed {seed}: {statement}", parents=parents, author=author, seed=seed, lemmas=payload)

    def _ask(self, task: Task) -> Seats:
        self.statement = str(task.payload["statement"])
        self.tell(self._library(), *self.provers)
        self.pose(task, *self.provers)
        return self.provers

    def legal(self, seat: str) -> Sequence[str]:
        """Some statements, most of them false, and some proofs; any other text is taken too."""
        return conjectures(self.theory) if seat == CONJECTURER else proofs(self.theory)

    def parse(self, seat: str, text: str) -> str:
        """Any text: what is malformed is refused by a gate, and a wrong proof is just wrong."""
        if seat == CONJECTURER and not text.strip():
            raise IllegalMove("state a conjecture, like forall a b: a + b = b + a")
        return text

    def play(self, moves: Mapping[str, str]) -> Seats:
        return self._conjecture(moves[CONJECTURER]) if CONJECTURER in moves else self._prove(moves)

    def _conjecture(self, text: str) -> Seats:
        admission = MINI.judge(text, self.library, ())
        statement = " ".join(text[:300].split())
        task = _to_prove(statement, self.lemmas, (self.faced[CONJECTURER].id,), CONJECTURER)
        self.offer(task, CONJECTURER, admission.gate, admission.reason)
        if not admission.gate:
            return self._ask(task)
        malformed = admission.gate == "malformed"
        self.score("malformed" if malformed else "invalid", **{CONJECTURER: -1.0 if malformed else -0.5})
        self.outcome = f"refused, {admission.gate}: {admission.reason}"
        self.tell(self.outcome, CONJECTURER)
        return ()

    def _prove(self, proofs: Mapping[str, str]) -> Seats:
        verdicts = {seat: MINI.check(self.statement, proof, self.library) for seat, proof in proofs.items()}
        accepted = {seat: verdict for seat, verdict in verdicts.items() if verdict.score}
        p = len(accepted) / len(verdicts)
        self.note(p=p)
        each = 1 / len(accepted) if self.shared and accepted else 1.0
        self.score("proof", **dict.fromkeys(accepted, each))
        if CONJECTURER in self.faced:  # not where the conjecture is of an earlier game
            seeded = any(self.seed in verdict.used for verdict in accepted.values())
            worth = float(0 < p <= self.band) if self.pay == "frontier" else 4 * p * (1 - p)
            self.score("frontier", **{CONJECTURER: worth if seeded else worth / 2})
            self.note(seeded=float(seeded))
        if accepted:
            self._grow(proofs, accepted)
        if self.hindsight:
            self._relabel({seat: proof for seat, proof in proofs.items() if seat not in accepted})
        self.outcome = f"{len(accepted)} of {len(verdicts)} proofs were accepted."
        self.tell(self.outcome)
        return ()

    def _grow(self, proofs: Mapping[str, str], accepted: Mapping[str, Checked]) -> None:
        """Offer the library with the conjecture as its newest lemma, by the proof of the fewest steps."""
        seat = min(accepted, key=lambda seat: (accepted[seat].steps, seat))
        name = f"lemma_{len(self.lemmas) + 1}"
        grown = (*self.lemmas, (name, self.statement, proofs[seat]))
        full = f"the library holds {CAPACITY} lemmas" if len(grown) > CAPACITY else ""
        self.offer(self._seeded(grown, name, (self.faced[seat].id,), seat), seat, "full" if full else "", full)

    def _relabel(self, failed: Mapping[str, str]) -> None:
        """Offer what failed proofs have shown instead, each once and only if it is worth a proof."""
        seen = {MINI.canon(self.statement)}
        for seat, proof in failed.items():
            for reached, _ in MINI.hindsight(self.statement, proof, self.library):
                if not MINI.judge(reached, self.library, seen).gate:
                    seen.add(MINI.canon(reached))
                    self.offer(_to_prove(reached, self.lemmas, (self.faced[seat].id,), seat), seat)

    def canon(self, task: Task) -> str:
        """Names of variables, orientation and padding by nothing make no other task of it."""
        for key, text in (("statement", task.payload.get("statement")), ("seed", task.prompt.partition(": ")[2])):
            if key in task.payload:
                return f"{key} {MINI.canon(str(text))}"
        return canonical(task.prompt)

    def knows(self, seat: str) -> tuple[str, str]:
        return self._library(), self.seed if seat == CONJECTURER else self.statement

    def state_text(self) -> str:
        return f"{self._library()}\nSeed: {self.seed}\nConjecture: {self.statement}\n{self.outcome}"

    def oracle(self, seat: str) -> Mapping[str, float]:
        """A proof where a textbook has one that holds with this library; nothing for a conjecturer."""
        if seat == CONJECTURER or not self.statement:
            return {}
        found = (proof for proof in proofs(self.theory) if MINI.check(self.statement, proof, self.library).score)
        return {proof: 1.0 for proof in [next(found, "")] if proof}


def _to_prove(statement: str, lemmas: Sequence[Lemma], parents: tuple[str, ...] = (), author: str = "") -> Task:
    """A task for provers, by a library of lemmas."""
    payload = [list(lemma) for lemma in lemmas]
    return Task.new(f"Prove {statement}", parents=parents, author=author, statement=statement, lemmas=payload)


@lru_cache(maxsize=8)
def proofs(theory: str) -> tuple[str, ...]:
    """The proofs of a theory, each of them once."""
    return tuple(dict.fromkeys(theorem.proof for theorem in THEORIES[theory].values()))


@lru_cache(maxsize=8)
def conjectures(theory: str) -> tuple[str, ...]:
    """Every left side of a theorem put equal to every right side of its sort; premises and conclusions alike."""
    stated = [theorem.statement for theorem in THEORIES[theory].values()]
    if theory == "logic":
        read = [formula for formula in map(logic.read, stated) if formula[0] == "->"]
        return tuple(dict.fromkeys(bare(logic.show(("->", one[1], two[2]))) for one in read for two in read))
    sides = [equations.read(text) for text in stated]
    pairs = [(one.left, two.right) for one in sides for two in sides if sort_of(one.left) == sort_of(two.right)]
    return tuple(dict.fromkeys(_stated(left, right) for left, right in pairs))


def _stated(left: Any, right: Any) -> str:
    names = sorted(equations.variables_of(left) | equations.variables_of(right))
    return f"forall {' '.join(names)}: {bare(show(left))} = {bare(show(right))}"

"""Coders write a function and testers write tests of it, at the same time and without seeing each other (CURE)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from arena.config import nearest
from arena.game import Game, GameInfo, Seats
from arena.types import Task
from games._bounds import SEATS, counted
from games.verify import cases, jail, program
from games.verify.mutants import mutants
from games.verify.specs import SPECS

TESTS = 100  # of a kind: each is run in the jail
HUMAN_EVAL = 164  # problems that there are
POOL = 40  # inputs that tell a mutant from the reference


class CoderTester(Game):
    """All coders write the function that a spec describes, all testers write up to `most` tests of it.

    A coder earns the share of `truth` hidden tests that its program passes. Right programs are the reference and those
    of coders that pass all of them, and do as the reference does on more inputs; wrong ones are `wrong` mutants of it
    and those of coders that fail anywhere. A tester earns the share of wrong programs that its tests reject, if every
    right one passes them; else minus the share that they accept; -1 for what are no tests, or none of arguments that
    the spec speaks of. Tests that aren't sound in this way blame nobody. `specs` are names of what may be asked, all by
    default; `human_eval` is the number of HumanEval problems to measure coders by.
    """

    info = GameInfo(simultaneous=True, chance=True, max_illegal=0, forfeit=-1.0)
    # A program that passes all; sound tests that no wrong program passes (arXiv:2506.03136).
    known: Mapping[str, float] = {"coder_max": 1.0, "tester_max": 1.0}

    def __init__(
        self,
        coders: int = 4,
        testers: int = 4,
        truth: int = 10,
        wrong: int = 6,
        most: int = 5,
        specs: Sequence[str] = (),
        human_eval: int = 0,
    ):
        for role, number in (("coders", coders), ("testers", testers)):
            counted(role, number, SEATS)
        for name, number in (("truth", truth), ("wrong", wrong), ("most", most)):
            counted(name, number, TESTS)
        counted("human_eval", human_eval, HUMAN_EVAL, least=0)
        for name in specs:
            if name not in SPECS:
                near = nearest(str(name), list(SPECS))
                raise ValueError(
                    f"spec {name!r} not found: "
                    + (f"did you mean {near!r}?" if near else f"there are {', '.join(SPECS)}")
                )
        self.roles = {"coder": coders, "tester": testers}
        self.coders = tuple(f"coder_{i}" for i in range(coders))
        self.testers = tuple(f"tester_{i}" for i in range(testers))
        self.truth, self.wrong, self.most = truth, wrong, most
        self.specs, self.human_eval = tuple(specs) or tuple(SPECS), human_eval

    def ready(self) -> None:
        jail.sandbox()

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.spec = str(task.payload.get("spec")) if task else rng.choice(self.specs)
        if self.spec not in SPECS:
            raise ValueError(f"task has spec {self.spec!r}: give one of {', '.join(SPECS)}")
        self.outcome = ""
        own = random.Random(rng.getrandbits(64))  # one draw of the game's, whatever it takes to find inputs
        self.hidden = SPECS[self.spec].cases(self.truth, own)
        told = SPECS[self.spec].text
        self.pose(Task.new(f"Write a function f that returns {told}.", spec=self.spec), *self.coders)
        asked = f"Write at most {self.most} tests, each a line like f(1) == 2, of a function f that returns {told}."
        self.pose(Task.new(asked, spec=self.spec), *self.testers)
        return (*self.coders, *self.testers)

    def legal(self, seat: str) -> Sequence[str]:
        """A few programs, or a few tests, right and wrong; any other text is taken too."""
        return programs(self.spec) if seat in self.coders else tests(self.spec)

    def parse(self, seat: str, text: str) -> str:
        """Any text: what is no program passes nothing, and what are no tests is paid as such."""
        return text

    def play(self, moves: Mapping[str, str]) -> Seats:
        try:
            self._judge(moves)
        except jail.NotRun as error:
            self.outcome = f"Nothing could be judged: {error}"
            self.unscore(*self.possible_agents)
        return ()

    def _judge(self, moves: Mapping[str, str]) -> None:
        """Find every verdict before anybody is paid: a jail that breaks half-way must leave no half of the rewards."""
        passed = {seat: self._passed(moves[seat]) for seat in self.coders}
        own = [program.read(moves[seat]).source for seat in self.coders if passed[seat]]
        right = [source for source in own if self._right(source)]
        own = [source for source in own if source not in right]
        made = wrong_programs(self.spec)
        # The first of a seeded shuffle: which mutants are asked must not be known beforehand.
        chosen = random.Random(self.rng.getrandbits(64)).sample(made, min(self.wrong, len(made)))
        wrong = list(dict.fromkeys([*chosen, *own]))
        verdicts = {seat: self._rated(moves[seat], right, wrong) for seat in self.testers}
        shares = {seat: sum(of) / len(self.hidden) for seat, of in passed.items()}
        self.score("truth", **shares)
        for seat, (name, reward, _) in verdicts.items():
            self.score(name, **{seat: reward})
        sound = [found for name, reward, found in verdicts.values() if name == "rejects" and reward > 0]
        blamed = set().union(*sound) if sound else set()
        self.note(
            solved=sum(share == 1 for share in shares.values()) / len(shares),
            sound=len(sound) / len(verdicts),
            **({"blamed": len(blamed & set(own)) / len(set(own))} if own else {}),
        )
        self.outcome = "\n".join(
            [f"{seat}: {share:.0%} of the hidden tests are passed." for seat, share in shares.items()]
            + [f"{seat}: {name} {reward:+.2f}" for seat, (name, reward, _) in verdicts.items()]
        )
        self.tell(self.outcome)

    def _passed(self, text: str) -> tuple[bool, ...]:
        """Of each hidden test whether a program passes it; none at all where it is no program, or not a safe one."""
        try:
            return jail.agrees(program.read(text).source, self.hidden)
        except program.Refused:
            return ()

    def _right(self, source: str) -> bool:
        """Whether a program passes all hidden tests, and others: few may be passed by chance."""
        return all(jail.agrees(source, self.hidden)) and all(jail.agrees(source, pool(self.spec)))

    def _rated(self, text: str, right: Sequence[str], wrong: Sequence[str]) -> tuple[str, float, set[str]]:
        """The name of what a tester is paid, how much, and the wrong programs that its tests reject."""
        spec = SPECS[self.spec]
        try:
            suite = cases.read(text, self.most)
        except program.Refused:
            return "format", -1.0, set()
        if not all(spec.fits(args) for args, _ in suite):
            return "format", -1.0, set()
        valid = all(all(jail.agrees(source, suite)) for source in (spec.source, *right))
        rejected = {source for source in wrong if not all(jail.agrees(source, suite))}
        share = len(rejected) / len(wrong)
        return ("rejects", share, rejected) if valid else ("accepts", -(1 - share), rejected)

    def canon(self, task: Task) -> str:
        """One task a spec."""
        return str(task.payload["spec"])

    def knows(self, seat: str) -> tuple[str, Any]:
        return self.spec, seat in self.coders

    def state_text(self) -> str:
        hidden = "\n".join(map(cases.line, self.hidden))
        return f"{self.spec}\n{SPECS[self.spec].source}\n{hidden}\n{self.outcome}"

    def oracle(self, seat: str) -> Mapping[str, float]:
        """The reference; the tests of the list that are right."""
        return {SPECS[self.spec].source if seat in self.coders else good_tests(self.spec): 1.0}


@lru_cache(maxsize=64)
def pool(name: str) -> tuple[cases.Case, ...]:
    """Inputs of a spec, with what is right, that tell a wrong program from a right one."""
    return tuple(SPECS[name].cases(POOL, random.Random(0)))


@lru_cache(maxsize=64)
def wrong_programs(name: str) -> tuple[str, ...]:
    """The mutants of a spec's reference that differ from it where they are run, and come to an end. Raises NotRun."""
    found = []
    for source in mutants(SPECS[name].source):
        right = jail.agrees(source, pool(name))
        ended = any(not one.fault for one in jail.outcomes(source, [args for args, _ in pool(name)]))
        if ended and not all(right):
            found.append(source)
    return tuple(found)


@lru_cache(maxsize=64)
def programs(name: str) -> tuple[str, ...]:
    """The reference among the mutants most like it in length, for neither that nor their order may tell which it is."""
    source = SPECS[name].source
    return tuple(sorted({source, *sorted(mutants(source), key=lambda made: abs(len(made) - len(source)))[:3]}))


@lru_cache(maxsize=64)
def good_tests(name: str) -> str:
    """Some tests that are right."""
    return "\n".join(map(cases.line, drawn(name)))


def drawn(name: str) -> list[cases.Case]:
    """The calls of the listed tests with what is right, which isn't the same for all of them."""
    found = (SPECS[name].cases(4, random.Random(seed)) for seed in count(1))
    return next(drawn for drawn in found if len({output for _, output in drawn}) > 1)


@lru_cache(maxsize=64)
def tests(name: str) -> tuple[str, ...]:
    """Right tests, and the same calls with each other's results, in an order that doesn't tell which they are."""
    args, outputs = zip(*drawn(name), strict=True)
    turned = (outputs[i:] + outputs[:i] for i in range(len(outputs)))
    return tuple(sorted({"\n".join(map(cases.line, zip(args, found, strict=True))) for found in turned}))

"""Games in which one seat sets a task and all the others try it: what each stage pays, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arena.config import nearest
from arena.game import Game, GameInfo, Seats
from arena.types import Task, Verdict
from games._bounds import SEATS, counted
from games.verify.jail import NotRun

PROPOSER = "proposer_0"


class Made(NamedTuple):
    """The task that a proposal makes, and the first gate that refuses it with the reason, both "" if none does."""

    task: Task
    gate: str = ""
    reason: str = ""


class Proposing(Game):
    """The proposer earns 1 - p where some solvers are right but not all, p being their share, and else nothing.

    A solver earns 1 if it is right, -0.5 if it is wrong, and -1 for what is no answer. A proposal that can't be read
    costs 1, one that another gate refuses 0.5, and no solver is asked. Where the jail breaks, nobody is scored.
    """

    info = GameInfo(simultaneous=True, chance=True, max_illegal=0, forfeit=-1.0, shows_past=True)

    def seats(self, solvers: int) -> None:
        """Take the number of solvers; raises ValueError in one line."""
        counted("solvers", solvers, SEATS)
        self.roles = {"proposer": 1, "solver": solvers}
        self.solvers = tuple(f"solver_{i}" for i in range(solvers))
        # One right solver; a right answer (arXiv:2505.03335, equations 4 to 6).
        self.known = {"proposer_max": 1 - 1 / solvers, "solver_max": 1.0}

    def made(self, text: str) -> Made:
        """What a proposal comes to, by all the gates of this game; may raise `NotRun`."""
        raise NotImplementedError

    def judge(self, text: str) -> Verdict:
        """A solver's answer to `self.task`: ok, wrong, or malformed; may raise `NotRun`."""
        raise NotImplementedError

    def ask(self, task: Task) -> Seats:
        """Put a task to all solvers."""
        self.task = task
        self.pose(task, *self.solvers)
        return self.solvers

    def parse(self, seat: str, text: str) -> str:
        """Any text: what is no proposal and what is no answer is paid as such."""
        return text

    def play(self, moves: Mapping[str, str]) -> Seats:
        try:
            return self._propose(moves[PROPOSER]) if PROPOSER in moves else self._solve(moves)
        except NotRun as error:
            self.outcome = f"Nothing could be judged: {error}"
            self.unscore(*self.possible_agents)
            return ()

    def _propose(self, text: str) -> Seats:
        task, gate, reason = self.made(text)
        self.offer(task, PROPOSER, gate, reason)
        self.note(valid=float(not gate))
        if not gate:
            return self.ask(task)
        name, cost = ("format", -1.0) if gate == "well-formed" else ("invalid", -0.5)
        self.score(name, **{PROPOSER: cost})
        self.outcome = f"Refused, {gate}: {reason}"
        self.tell(self.outcome, PROPOSER)
        return ()

    def _solve(self, moves: Mapping[str, str]) -> Seats:
        verdicts = {seat: self.judge(text) for seat, text in moves.items()}
        p = sum(verdict.score or 0.0 for verdict in verdicts.values()) / len(verdicts)
        for seat, verdict in verdicts.items():
            name, reward = {"ok": ("right", 1.0), "wrong": ("wrong", -0.5)}.get(verdict.status, ("format", -1.0))
            self.score(name, **{seat: reward})
        self.note(p=p, **{f"p_{self.kind}": p})
        if PROPOSER in self.faced:  # not where the task is of an earlier game
            self.score("learnable", **{PROPOSER: 1 - p if 0 < p < 1 else 0.0})
        self.outcome = f"{p:.0%} of the solvers are right."
        self.tell(self.outcome)
        return ()

    task: Task
    outcome: str


def known_kinds(kinds: object, there: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds that a game is to have; raises ValueError with the nearest match."""
    if not isinstance(kinds, (list, tuple)) or not kinds:
        raise ValueError(f"kinds is {kinds!r}: give a list of {', '.join(there)}")
    for kind in kinds:
        if kind not in there:
            near = nearest(str(kind), list(there))
            raise ValueError(
                f"kind {kind!r} not found: " + (f"did you mean {near!r}?" if near else f"there are {', '.join(there)}")
            )
    return tuple(map(str, kinds))

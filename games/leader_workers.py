"""Workers answer, each on its own; a leader reads what they say and decides."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from arena.game import GameInfo, IllegalMove, Seats
from arena.types import Task
from games._solving import Claim, Solving
from games._solving import accuracy as accuracy
from games.verify.kind import choices
from games.verify.problems import check

LEADER = "leader_0"


class LeaderWorkers(Solving):
    """All workers answer a problem at once, and the leader, who hears them, gives the answer that counts.

    The leader earns 1 if it is right, each worker 1 if its own is (MLPO, arXiv:2507.08960: the leader alone is
    trained). With `routing` the leader first names the workers that are asked, as [0 2], and pays `cost` for each of
    these.
    """

    def __init__(
        self,
        workers: int = 3,
        routing: bool = False,
        cost: float = 0.0,
        kind: str = "arithmetic",
        level: int = 2,
        held_out: int = 0,
        talk: int = 160,
    ):
        self.sets(kind, level, held_out, talk)
        if not 1 <= workers <= 6:
            raise ValueError(f"workers is {workers}: use 1 to 6")
        if not 0 <= cost <= 1:
            raise ValueError(f"cost is {cost}: use 0 to 1 for each worker that is asked")
        if cost and not routing:
            raise ValueError(f"cost is {cost}, but all workers are asked: set routing=true")
        self.roles = {"leader": 1, "worker": workers}
        self.workers = tuple(f"worker_{i}" for i in range(workers))
        self.routing, self.cost = routing, cost
        self.info = GameInfo(simultaneous=workers > 1, chance=True, max_stages=2 + routing)
        self.known = {"leader_max": 1.0 - cost}

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.task = self.problem(rng, task)
        self.asked: Seats = ()
        self.claims: dict[str, Claim] = {}
        self.pose(self.task)
        if not self.routing:
            return self._ask(self.workers)
        self.tell(
            f"Whom do you ask? Name workers from 0 to {len(self.workers) - 1}, like [{self._routes()[-1]}]", LEADER
        )
        return (LEADER,)

    def legal(self, seat: str) -> Sequence[str]:
        """Bare answers, to which a reason in any words may be added; or the numbers of the workers to ask."""
        return self._routes() if seat == LEADER and not self.asked else choices(self.task)

    def _routes(self) -> list[str]:
        count = len(self.workers)
        return [" ".join(map(str, chosen)) for n in range(1, count + 1) for chosen in combinations(range(count), n)]

    def parse(self, seat: str, text: str) -> Any:
        """A leader's route or claim; whatever a worker says is a claim, if perhaps a useless one."""
        if seat != LEADER:
            return self.heard_as(text)
        if self.asked:
            return self.claim(text)
        if text not in self._routes():
            raise IllegalMove(f"name some of the workers 0 to {len(self.workers) - 1} in order, like [0]")
        return tuple(self.workers[int(i)] for i in text.split())

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if not self.asked:
            return self._ask(moves[LEADER])
        if not self.claims:
            self.claims = {seat: moves[seat] for seat in self.asked}
            said = [f'{seat} says "{claim.shown}".' for seat, claim in self.claims.items()]
            self.tell("\n".join([*said, f"What is the answer? {self._how()}"]), LEADER)
            return (LEADER,)
        right = moves[LEADER].right
        self.score("right", **{LEADER: right, **{seat: claim.right for seat, claim in self.claims.items()}})
        if self.cost:
            self.score("cost", **{LEADER: -self.cost * len(self.asked)})
        self.note(
            right=right,
            workers_right=fmean(claim.right for claim in self.claims.values()),
            majority_right=self._majority(),
            asked=len(self.asked),
        )
        self.tell(f"The answer is {'right' if right else 'wrong'}.")
        return ()

    def forfeit(self, seat: str, reason: str) -> None:
        """A worker's answer is worth the same to it whatever the leader does; who gave none can't be scored."""
        self.score("right", **{worker: claim.right for worker, claim in self.claims.items()})
        self.unscore(*(other for other in self.possible_agents if other != seat and other not in self.claims))
        super().forfeit(seat, reason)

    def _ask(self, seats: Seats) -> Seats:
        self.asked = seats
        self.tell(self._how(), *seats)
        return seats

    def _how(self) -> str:
        return f"Answer like [{self.example}] or [{self.example}: because ...], at most {self.talk} characters."

    def _majority(self) -> float:
        """What the commonest answer of the workers is worth, the mean of these where several are: a vote to beat."""
        answers = [(claim.shown.partition(":")[0].strip(), claim.right) for claim in self.claims.values()]
        votes = Counter(answer for answer, _ in answers)
        return fmean(right for answer, right in answers if votes[answer] == max(votes.values()))

    def knows(self, seat: str) -> Hashable:
        if seat != LEADER:
            return self.task.id, seat in self.asked
        return self.task.id, self.asked, *(claim.shown for claim in self.claims.values())

    def oracle(self, seat: str) -> Mapping[str, float]:
        """One worker asked, and the first right answer."""
        if seat == LEADER and not self.asked:
            return {"0": 1.0}
        return {next(choice for choice in choices(self.task) if check(self.task, choice).score): 1.0}

    def state_text(self) -> str:
        said = [f'{seat} says "{claim.shown}".' for seat, claim in self.claims.items()]
        return " ".join([self.task.prompt, f"Asked: {', '.join(self.asked) or 'nobody'}.", *said])

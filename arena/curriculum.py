"""Tasks that the agents make themselves: what comes in and why not, how hard each is, and which one is next."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import networkx as nx

from arena.clusters import Clusters, canonical
from arena.config import one_of, within
from arena.leak import leaks, said_answer
from arena.ratings import BETA, MU, SIGMA, TAU, Player, rate_pair
from arena.types import RATED, Episode, Offer, Task, role_of

CHOICES = ("learnability", "frontier", "quality", "uniform")
STATES = ("refused", "admitted", "active", "retired")
WINDOW = 256  # offers that the rates and the drift of lengths look back on, and retired tasks that are remembered
BINS = 10  # of the histogram of p


@dataclass(frozen=True)
class CurriculumConfig:
    """The share `past` of a step's deals takes a task from the pool; 0 keeps the pool as a record only.

    A task's difficulty p is the share of replies of the role `solver` that the game marks as solving it, or else those
    with a return above 0, over at least `samples` of them; older ones fade by `fade` whenever it is played. `choice`
    draws by 4p(1-p), by `low` <= p <= `high` (frontier), by the match quality of TrueSkill, or evenly; no task weighs
    less than `floor`, one whose p isn't known yet weighs 1. The pool holds `capacity` tasks: who is mastered (p of at
    least `mastered`) leaves first, oldest first, then who was never solved, then the oldest. Tasks that share `similar`
    of their n-grams are one cluster, which may have `cluster_share` of the pool. A deal that takes no task from the
    pool shows `shown` of them to who proposes, where the game reads a task with a `past`.
    """

    past: float = 0.0
    solver: str = "solver"
    choice: str = "learnability"
    capacity: int = 1000
    samples: int = 8
    fade: float = 0.8
    floor: float = 0.05
    low: float = 0.3
    high: float = 0.8
    mastered: float = 0.95
    similar: float = 0.8
    cluster_share: float = 0.25
    shown: int = 0

    def __post_init__(self) -> None:
        one_of("curriculum.choice", self.choice, CHOICES)
        for key in ("past", "fade", "floor", "low", "high", "mastered", "cluster_share"):
            within(f"curriculum.{key}", getattr(self, key), 0, 1)
        within("curriculum.similar", self.similar, 0, 1, above=True)
        within("curriculum.high", self.high, self.low, 1)
        within("curriculum.capacity", self.capacity, 1)
        within("curriculum.samples", self.samples, 1)
        within("curriculum.shown", self.shown, 0)


@dataclass
class Entry:
    """One task of the pool: when it came, how it fared. `tried` and `solved` are faded counts, `seen` is the plain one.

    `first` is the share of right answers when it was new. `gate` and `reason` say why it was refused or retired. `mu`
    and `sigma` rate it as the solvers' opponent.
    """

    task: Task
    state: str
    step: int
    cluster: str = ""
    gate: str = ""
    reason: str = ""
    tried: float = 0.0
    solved: float = 0.0
    seen: int = 0
    first: float | None = None
    mu: float = MU
    sigma: float = SIGMA

    @property
    def p(self) -> float | None:
        """The share of right answers, recent ones counting more; None before the first."""
        return self.solved / self.tried if self.tried else None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "task": self.task.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Entry:
        return cls(**{**record, "task": Task.from_json(record["task"])})


Canon = Callable[[Task], str]


@dataclass
class Curriculum:
    """The pool. `absorb` takes in what a step's episodes proposed and solved, `choose` says what is played next.

    A task keeps its entry and its place in `lineage`, an edge from each parent to its child, while it is in the pool or
    leads a cluster of the pool, and until WINDOW others have retired after it. Then a hash of it is left, by which it
    is still known as a duplicate, and it is put into `forgotten` for whoever keeps a longer record. The same episodes
    in the same order give the same pool; all of it is in `state`. `canon` gives equal texts to tasks that are the same
    one.
    """

    config: CurriculumConfig = field(default_factory=CurriculumConfig)
    canon: Canon = field(default=lambda task: canonical(task.prompt))
    entries: dict[str, Entry] = field(default_factory=dict, init=False)
    refused: deque[Entry] = field(default_factory=lambda: deque(maxlen=WINDOW), init=False)
    lineage: nx.DiGraph[str] = field(default_factory=nx.DiGraph, init=False)
    skill: tuple[float, float] = field(default=(MU, SIGMA), init=False)  # of the solvers
    forgotten: list[Entry] = field(default_factory=list, init=False)  # no part of the state: taken from here, or lost

    def __post_init__(self) -> None:
        self._clusters = Clusters(self.config.similar)
        self._forms: dict[str, str] = {}  # hash of the canonical form of all that ever came in -> id, "" if forgotten
        self._live: dict[str, Entry] = {}  # in the order they came
        self._members: Counter[str] = Counter()  # how many live tasks are in each cluster
        self._retired: deque[str] = deque()  # in the order they left, without those that lead live clusters
        self._window: deque[tuple[str, int]] = deque(maxlen=WINDOW)  # the gate ("" if admitted) and length of offers
        self._first_length = 0.0
        self._wrong: deque[float] = deque(maxlen=WINDOW)  # of games: the share of what solvers agree on that is wrong

    # -- what comes in ---------------------------------------------------------------------------------------------

    def absorb(self, step: int, episodes: Iterable[Episode]) -> dict[str, float]:
        """Consider every offer, then count every answer; figures of this step's offers and of the pool after it.

        There are none until something has been proposed.
        """
        gates: Counter[str] = Counter()
        tried: dict[str, list[bool]] = {}
        for episode in episodes:
            gates.update(self.consider(offer, step) for offer in episode.offers)
            if "agreed_wrong" in episode.notes:
                self._wrong.append(episode.notes["agreed_wrong"])
            for id, right in answers(episode, self.config.solver):
                tried.setdefault(id, []).append(right)
        for id, results in tried.items():
            if id in self.entries:
                self._count(self.entries[id], results)
        if not self._window:
            return {}  # a game in which nothing is proposed
        offers = max(1, sum(gates.values()))
        figures = {f"curriculum/refused/{gate}": count / offers for gate, count in sorted(gates.items()) if gate}
        fresh = [entry.first for id in tried if (entry := self.entries.get(id)) and entry.step == step]
        if worth := [4 * p * (1 - p) for p in fresh if p is not None]:
            figures["curriculum/learnable"] = math.fsum(worth) / len(worth)
        return {**figures, **self.figures()}

    def consider(self, offer: Offer, step: int) -> str:
        """Admit a task, or refuse it; the name of the gate that refused it, "" if none did."""
        task = offer.task
        gate, reason, cluster = offer.gate, offer.reason, ""
        if not gate:
            gate, reason, cluster = self._gate(task)
        self._window.append((gate, len(task.prompt)))
        if len(self._window) == WINDOW and not self._first_length:
            self._first_length = self._length()
        if gate:
            self.refused.append(Entry(task, "refused", step, cluster, gate, reason))
            return gate
        self.admit(task, step)
        return ""

    def admit(self, task: Task, step: int = 0) -> None:
        """Take in a task past all gates, such as one that the game gives the pool to begin with."""
        self._make_room()
        cluster = self._clusters.join(task.id, task.prompt)
        self.entries[task.id] = self._live[task.id] = Entry(task, "admitted", step, cluster)
        self._members[cluster] += 1
        self._forms[self._form(task)] = task.id
        self._descend(task)

    def _form(self, task: Task) -> str:
        return hashlib.sha256(self.canon(task).encode(errors="surrogatepass")).hexdigest()[:16]

    def _gate(self, task: Task) -> tuple[str, str, str]:
        """(gate, reason, cluster) of a task that its game let pass: empty, leak, duplicate, cluster, or ""."""
        if not task.prompt.strip():
            return "empty", "the prompt has no text", ""
        if leaks(task):
            return "leak", f"the prompt contains the answer {said_answer(task)!r}", ""
        twin = self._forms.get(self._form(task))
        if twin is not None:
            known = self.entries.get(twin)
            return "duplicate", f"the same as {twin or 'one that retired long ago'}", known.cluster if known else ""
        cluster = self._clusters.find(task.prompt)
        live, members = len(self._live), self._members[cluster]
        # Where the pool is small, one task more is a large share: clusters of two are always let in.
        if members > 1 and members + 1 > self.config.cluster_share * (live + 1):
            return "cluster", f"{members} of {live} tasks are like {cluster} already", cluster
        return "", "", cluster

    def _descend(self, task: Task) -> None:
        self.lineage.add_node(task.id)
        # A parent that isn't known, or comes from this task, is no ancestor: the lineage has no circles.
        known = [
            p for p in task.parents if p in self.lineage and p != task.id and not nx.has_path(self.lineage, task.id, p)
        ]
        self.lineage.add_edges_from((parent, task.id) for parent in known)

    def _make_room(self) -> None:
        live = self.live()
        if len(live) < self.config.capacity:
            return
        known = [entry for entry in live if entry.seen >= self.config.samples]
        for reason, leaving in (
            ("mastered", [entry for entry in known if entry.p is not None and entry.p >= self.config.mastered]),
            ("never solved", [entry for entry in known if entry.p == 0.0]),
            ("oldest", live),
        ):
            if leaving:  # entries stand in the order they came
                self._retire(leaving[0], reason)
                return

    def _retire(self, entry: Entry, reason: str) -> None:
        entry.state, entry.reason = "retired", reason
        del self._live[entry.task.id]
        self._members[entry.cluster] -= 1
        if entry.cluster != entry.task.id:
            self._retired.append(entry.task.id)
        if not self._members[entry.cluster]:  # a leader, gone long since or just now, has nobody left to lead
            del self._members[entry.cluster]
            self._clusters.drop(entry.cluster)
            self._retired.append(entry.cluster)
        self._forget()

    def _forget(self) -> None:
        while len(self._retired) > WINDOW:
            id = self._retired.popleft()
            entry = self.entries.pop(id)
            self._forms[self._form(entry.task)] = ""
            self.lineage.remove_node(id)
            self.forgotten.append(entry)

    def _count(self, entry: Entry, results: Sequence[bool]) -> None:
        if not entry.seen:
            entry.first = sum(results) / len(results)
        entry.tried = self.config.fade * entry.tried + len(results)
        entry.solved = self.config.fade * entry.solved + sum(results)
        entry.seen += len(results)
        if entry.state == "admitted" and entry.seen >= self.config.samples:
            entry.state = "active"
        for right in results:
            solvers = Player(self.skill[0], math.hypot(self.skill[1], TAU))
            task = Player(entry.mu, entry.sigma)
            first, second = (solvers, task) if right else (task, solvers)
            ((won,), (lost,)) = rate_pair([first], [second], False, 0.0)
            self.skill, (entry.mu, entry.sigma) = (won, lost) if right else (lost, won)

    # -- what is next ----------------------------------------------------------------------------------------------

    def live(self) -> list[Entry]:
        """The tasks that may be chosen, oldest first."""
        return list(self._live.values())

    def weight(self, entry: Entry) -> float:
        """How much a task is wanted, in [`floor`, 1]."""
        p, config = entry.p, self.config
        if config.choice == "uniform" or p is None or entry.seen < config.samples:
            return 1.0
        if config.choice == "frontier":
            worth = float(config.low <= p <= config.high)
        elif config.choice == "quality":
            worth = quality(self.skill, (entry.mu, entry.sigma))
        else:
            worth = 4 * p * (1 - p)
        return max(config.floor, worth)

    def choose(self, count: int, rng: random.Random, excluding: Collection[str] = ()) -> list[Task]:
        """At most `count` different tasks, drawn by weight; fewer where the pool has no more."""
        # The key u^(1/w) draws without replacement in proportion to w (Efraimidis and Spirakis 2006).
        keyed = [
            (math.log(1.0 - rng.random()) / max(self.weight(entry), 1e-9), entry.task)
            for entry in self.live()
            if entry.task.id not in excluding
        ]
        return [task for _, task in sorted(keyed, key=lambda pair: -pair[0])[:count]]

    def past(self, rng: random.Random) -> Task | None:
        """A task that holds `shown` others in its payload `past`, for a proposer to look at; None if there are none."""
        tasks = self.choose(self.config.shown, rng) if self.config.shown else []
        ids = tuple(task.id for task in tasks)
        return Task.new("", parents=ids, past=[task.to_json() for task in tasks]) if tasks else None

    # -- what can be told of it ------------------------------------------------------------------------------------

    def figures(self) -> dict[str, float]:
        """Numbers of the pool for the metrics, all under `curriculum/`."""
        live = self.live()
        known = [entry.p for entry in live if entry.p is not None]
        inside = [self.config.low <= p <= self.config.high for p in known]
        found = {
            "size": float(len(live)),
            "ever": float(len(self._forms)),
            "clusters": float(len(self._members)),
            "duplicates": self.rate("duplicate"),
            "length": self._length(),
            "solver_mu": self.skill[0],
        }
        if known:
            found |= {"p": math.fsum(known) / len(known), "frontier": sum(inside) / len(inside)}
        return {f"curriculum/{name}": value for name, value in found.items()}

    def histogram(self) -> list[int]:
        """How many live tasks have a p in each tenth of [0, 1]; the last one holds p = 1."""
        counts = [0] * BINS
        for entry in self.live():
            if entry.p is not None:
                counts[min(BINS - 1, int(entry.p * BINS))] += 1
        return counts

    def rate(self, gate: str) -> float:
        """The share of the last offers that this gate refused."""
        return sum(found == gate for found, _ in self._window) / max(1, len(self._window))

    def alarms(self) -> list[str]:
        """What somebody should look at, in words; an empty list if nothing is."""
        found = []
        if len(self._window) >= WINDOW // 4 and self.rate("duplicate") > 0.5:
            found.append(f"{self.rate('duplicate'):.0%} of the last {len(self._window)} proposals were duplicates")
        known = [entry.p for entry in self.live() if entry.p is not None and entry.seen >= self.config.samples]
        for side, share in (("solved by all", known.count(1.0)), ("solved by none", known.count(0.0))):
            if len(known) >= 8 and share > 0.8 * len(known):
                found.append(f"{share} of {len(known)} tasks are {side}: there is nothing to learn from them")
        if len(self._wrong) >= 8 and (wrong := math.fsum(self._wrong) / len(self._wrong)) > 0.25:
            found.append(f"{wrong:.0%} of what solvers agreed on in the last {len(self._wrong)} games is wrong")
        if self._first_length and not 0.5 <= self._length() / self._first_length <= 2:
            found.append(f"prompts went from {self._first_length:.0f} to {self._length():.0f} characters")
        return found

    def _length(self) -> float:
        return sum(length for _, length in self._window) / max(1, len(self._window))

    # -- keeping it ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the pool is, as JSON."""
        return {
            "entries": [entry.to_json() for entry in self.entries.values()],
            "refused": [entry.to_json() for entry in self.refused],
            "retired": list(self._retired),
            "forms": sorted(form for form, id in self._forms.items() if not id),  # of those that are forgotten
            "edges": [list(edge) for edge in self.lineage.edges],
            "skill": list(self.skill),
            "window": [list(pair) for pair in self._window],
            "first_length": self._first_length,
            "wrong": list(self._wrong),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Become what `state` was taken of."""
        self.__post_init__()
        self.entries = {record["task"]["id"]: Entry.from_json(record) for record in state["entries"]}
        self.refused = deque((Entry.from_json(record) for record in state["refused"]), maxlen=WINDOW)
        self.lineage = nx.DiGraph()
        self.lineage.add_nodes_from(self.entries)
        self.lineage.add_edges_from(tuple(edge) for edge in state["edges"])
        self.skill = (float(state["skill"][0]), float(state["skill"][1]))
        self._window.extend((str(gate), int(length)) for gate, length in state["window"])
        self._first_length = float(state["first_length"])
        self._wrong.extend(map(float, state.get("wrong", ())))
        self._forms = dict.fromkeys(state.get("forms", ()), "")  # a checkpoint without these has forgotten nobody
        self._live = {id: entry for id, entry in self.entries.items() if entry.state in ("admitted", "active")}
        self._members.update(entry.cluster for entry in self._live.values())
        for id, entry in self.entries.items():
            self._forms[self._form(entry.task)] = id
            if entry.cluster == id and id in self._members:
                self._clusters.lead(id, entry.task.prompt)
        gone = [id for id in self.entries if id not in self._live and id not in self._members]
        self._retired.extend(state.get("retired", gone))
        self._forget()


# -- reading episodes and ratings ----------------------------------------------------------------------------------


def answers(episode: Episode, solver: str) -> Iterable[tuple[str, bool]]:
    """(id of the task, whether it was solved) of every seat of the role `solver` that the game marks or scores."""
    if episode.ending not in RATED:
        return
    for seat, id in sorted(episode.faced.items()):
        value = episode.returns.get(seat)
        if role_of(seat) != solver:
            continue
        if seat in episode.marks:
            yield id, episode.marks[seat]
        elif value is not None and math.isfinite(value):
            yield id, value > 0


def quality(one: tuple[float, float], two: tuple[float, float]) -> float:
    """How even a match of two (mu, sigma) would be, in (0, 1]: TrueSkill's probability of a draw over its highest."""
    c2 = 2 * BETA**2 + one[1] ** 2 + two[1] ** 2
    return math.sqrt(2 * BETA**2 / c2) * math.exp(-((one[0] - two[0]) ** 2) / (2 * c2))

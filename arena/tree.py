"""Any small `Game` as its whole tree: every deal, every move, and an illegal move wherever a seat moves."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from arena.game import Game
from arena.types import Task, role_of

T = TypeVar("T")
TOLD = 1_000  # nodes between two reports of progress
Plan = tuple[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]], ...]


@dataclass(frozen=True)
class Information:
    """All that `seat` has heard and said: `heard` has one text a turn, the current one last; `moves` are the past ones.

    This is what a policy is asked for: two positions with equal information are one decision.
    """

    seat: str
    heard: tuple[str, ...]
    moves: tuple[str, ...]
    legal: tuple[str, ...] = field(compare=False)

    @property
    def role(self) -> str:
        return role_of(self.seat)


@dataclass(frozen=True)
class Tree:
    """Every way a game can go. Nodes are numbered parents first; node 0 is the root and N is their number.

    The edge into node n has the weight of slot `slot[n]`: slots below `len(chance)` hold chances, the rest the
    probabilities of moves, information set by information set, with the illegal move after the legal ones.
    `mover[n]` is the index of the seat that moves at node n, -1 at leaves and chance; `children[n]` follow its moves.
    `returns[n]` are by seat, None inside the tree. `positions[i]` is a game at information set i: copy it to go on.
    `plans[s]` orders the nodes for a best response of seat s, deepest decisions of its own first.
    """

    seats: tuple[str, ...]
    information: tuple[Information, ...]
    parent: tuple[int, ...]
    slot: tuple[int, ...]
    mover: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    returns: tuple[tuple[float, ...] | None, ...]
    chance: tuple[float, ...]
    positions: tuple[Game, ...]
    plans: tuple[Plan, ...]

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The slot of the first move of each information set."""
        widths = [len(known.legal) + 1 for known in self.information]
        return tuple(itertools.accumulate(widths[:-1], initial=len(self.chance)))

    @cached_property
    def oracle(self) -> tuple[tuple[float, ...] | None, ...]:
        """The game's own perfect play by information set, None where it has none; asked for when first read."""
        asked = [
            (known.legal, game.oracle(known.seat)) for known, game in zip(self.information, self.positions, strict=True)
        ]
        return tuple(tuple(odds.get(move, 0.0) for move in legal) if odds else None for legal, odds in asked)


def tree(
    game: Game,
    task: Task | None = None,
    limit: int = 1_000_000,
    told: Callable[[int], None] = lambda nodes: None,
) -> Tree:
    """Play `game` in every way. Its chance may use choice, choices, sample, shuffle, randrange and randint.

    Raises ValueError beyond `limit` nodes, where legal moves aren't listed, and where what a seat has heard leaves open
    which moves it has. `told` hears now and then how many nodes there are so far.
    """
    return _Builder(limit, told).build(game, task)


class Chance(random.Random):
    """Enumerates instead of drawing: follows `script`, then takes first outcomes; notes (odds, outcome) of each draw.

    Copies of a game share it, so that what comes next can be scripted from outside.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.script: list[int] = []
        self.noted: list[tuple[Sequence[float], int]] = []

    def __deepcopy__(self, memo: Any) -> Chance:
        return self

    def follow(self, script: list[int]) -> None:
        self.script, self.noted = script, []

    def outcome(self, odds: Sequence[float]) -> int:
        at = len(self.noted)
        taken = self.script[at] if at < len(self.script) else 0
        self.noted.append((odds, taken))
        return taken

    def _randbelow(self, n: int) -> int:
        if n > 10_000:
            raise ValueError(f"a draw among {n} outcomes is too wide to enumerate")
        return self.outcome((1 / n,) * n)

    def choices(  # type: ignore[override]
        self,
        population: Sequence[T],
        weights: Iterable[float] | None = None,
        *,
        cum_weights: Iterable[float] | None = None,
        k: int = 1,
    ) -> list[T]:
        if cum_weights is not None:
            sums = [0.0, *cum_weights]
            weights = [above - below for below, above in pairwise(sums)]
        masses = list(weights) if weights is not None else [1.0] * len(population)
        odds = [mass / sum(masses) for mass in masses]
        return [population[self.outcome(odds)] for _ in range(k)]

    def sample(self, population: Sequence[T], k: int, *, counts: Iterable[int] | None = None) -> list[T]:
        pool = list(population)
        if counts is not None:
            pool = [item for item, count in zip(pool, counts, strict=True) for _ in range(count)]
        return [pool.pop(self._randbelow(len(pool))) for _ in range(k)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x[:] = self.sample(x, len(x))

    def random(self) -> float:
        raise ValueError("random() has too many outcomes to enumerate: draw with choice, or choices(weights=...)")

    def getrandbits(self, k: int) -> int:
        return self._randbelow(1 << k)


Past = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]  # seat -> what it has heard, what it has moved


@dataclass
class _Position:
    """A game at a node that isn't expanded yet, with the returns so far."""

    node: int
    game: Game
    totals: tuple[float, ...]
    past: Past


class _Builder:
    """The lists that become a `Tree`, filled in one walk over the game."""

    def __init__(self, limit: int, told: Callable[[int], None]):
        self.limit, self.told, self.rng = limit, told, Chance()
        self.index: dict[Information, int] = {}
        self.legal: list[tuple[str, ...]] = []
        self.positions: list[Game] = []
        self.parent: list[int] = []
        self.edge: list[tuple[int, float]] = []  # (index of the move, 1) below a decision, (-1, its odds) below chance
        self.decision: list[int] = []
        self.returns: list[tuple[float, ...] | None] = []

    def build(self, game: Game, task: Task | None) -> Tree:
        seats = tuple(game.possible_agents)
        root = _Position(-1, game, (0.0,) * len(seats), dict.fromkeys(seats, ((), ())))
        waiting = self._after(root, lambda game: game.deal(self.rng, task), (-1, 1.0), root.past)[::-1]
        while waiting:  # a stack of its own: games may be deeper than Python's
            waiting += reversed(self._expand(waiting.pop()))
        return self._tree(seats)

    def _expand(self, position: _Position) -> list[_Position]:
        """The positions after every move and the illegal one; none at the end."""
        game, node = position.game, position.node
        if game.ending:
            self.returns[node] = position.totals
            return []
        seat = game.turn()
        heard, moved = position.past[seat]
        known = Information(seat, (*heard, game.observe(seat)["text"]), moved, tuple(game.legal(seat)))
        self.decision[node] = self._number(known, game)
        after: list[_Position] = []
        for a, move in enumerate(known.legal):
            past = {**position.past, seat: (known.heard, (*moved, move))}
            after += self._after(position, lambda game, move=move: game.step(move), (a, 1.0), past)  # type: ignore[misc]
        illegal = (len(known.legal), 1.0)
        return after + self._after(position, lambda game: _forfeit(game, seat), illegal, position.past)

    def _number(self, known: Information, game: Game) -> int:
        """The index of an information set, new or met before."""
        i = self.index.get(known)
        if i is not None:
            if self.legal[i] != known.legal:
                raise ValueError(f"{known.seat} may move {self.legal[i]} or {known.legal} after {known.heard[-1]!r}")
            return i
        if not known.legal:
            raise ValueError(f"{game} doesn't list the legal moves of {known.seat}: its tree can't be enumerated")
        self.positions.append(game)
        self.legal.append(known.legal)
        return self.index.setdefault(known, len(self.index))

    def _after(
        self, position: _Position, act: Callable[[Game], None], edge: tuple[int, float], past: Past
    ) -> list[_Position]:
        """The positions that `act` may lead to, below a chance node if there are several."""
        outcomes: list[tuple[float, Game]] = []
        script: list[int] | None = []
        while script is not None:
            game = copy.deepcopy(position.game)
            self.rng.follow(script)
            act(game)
            noted = self.rng.noted
            odds = math.prod(odds[taken] for odds, taken in noted)
            if odds > 0:
                self._room(len(self.parent) + len(outcomes))  # a wide deal must not fill the memory first
                outcomes.append((odds, game))
            script = _next_script(noted)
        above = position.node
        if len(outcomes) > 1:
            above = self._node(above, edge)
        positions = []
        for odds, game in outcomes:
            node = self._node(above, (-1, odds) if len(outcomes) > 1 else edge)
            totals = tuple(total + game.rewards.get(s, 0.0) for total, s in zip(position.totals, past, strict=True))
            positions.append(_Position(node, game, totals, past))
        return positions

    def _room(self, nodes: int) -> None:
        if nodes >= self.limit:
            raise ValueError(f"the tree has more than {self.limit} nodes: too many to enumerate")

    def _node(self, parent: int, edge: tuple[int, float]) -> int:
        self._room(len(self.parent))
        if len(self.parent) % TOLD == TOLD - 1:
            self.told(len(self.parent) + 1)
        self.parent.append(parent)
        self.edge.append(edge)
        self.decision.append(-1)
        self.returns.append(None)
        return len(self.parent) - 1

    def _tree(self, seats: tuple[str, ...]) -> Tree:
        information = tuple(self.index)
        chance = [odds for move, odds in self.edge if move < 0]
        widths = [len(known.legal) + 1 for known in information]
        first = [len(chance), *(len(chance) + width for width in itertools.accumulate(widths))]
        drawn = itertools.count()
        slot = [
            next(drawn) if move < 0 else first[self.decision[above]] + move
            for above, (move, _) in zip(self.parent, self.edge, strict=True)
        ]
        children: list[list[int]] = [[] for _ in self.parent]
        for n, above in enumerate(self.parent[1:], 1):
            children[above].append(n)
        mover = [seats.index(information[i].seat) if i >= 0 else -1 for i in self.decision]
        kids = tuple(map(tuple, children))
        plans = tuple(_plan(i, self.parent, self.decision, mover, kids) for i in range(len(seats)))
        return Tree(
            seats, information, tuple(self.parent), tuple(slot), tuple(mover), kids, tuple(self.returns), tuple(chance),
            tuple(self.positions), plans,
        )  # fmt: skip


def _forfeit(game: Game, seat: str) -> None:
    game.rewards = dict.fromkeys(game.rewards, 0.0)  # what the last stage earned is counted already
    game.forfeit(seat, "illegal move")


def _next_script(noted: Sequence[tuple[Sequence[float], int]]) -> list[int] | None:
    """The next outcomes in the order of an odometer whose last wheel turns fastest; None after the last."""
    for at in reversed(range(len(noted))):
        odds, taken = noted[at]
        if taken + 1 < len(odds):
            return [*(index for _, index in noted[:at]), taken + 1]
    return None


def _plan(
    i: int, parent: Sequence[int], decision: Sequence[int], mover: Sequence[int], children: Sequence[Sequence[int]]
) -> Plan:
    """Nodes in the order of a best response of seat i: for each number of own past moves, most first, its decisions as
    groups of one information set, then the other inner nodes, children before parents."""
    depth = [0] * len(parent)
    for n in range(1, len(parent)):
        depth[n] = depth[parent[n]] + (mover[parent[n]] == i)
    steps: list[tuple[dict[int, list[int]], list[int]]] = [({}, []) for _ in range(max(depth) + 1)]
    for n in reversed(range(len(parent))):
        own, others = steps[depth[n]]
        if mover[n] == i:
            own.setdefault(decision[n], []).append(n)
        elif children[n]:
            others.append(n)
    return tuple((tuple(map(tuple, own.values())), tuple(others)) for own, others in reversed(steps))

"""The best joint policy of a Dec-POMDP, exactly: A* over what each agent does after each thing that it may know.

Multi-agent A* (Szer, Charpillet and Zilberstein 2005) with lossless clustering of histories (Oliehoek, Whiteson and
Spaan 2009) and children one at a time (Spaan, Oliehoek and Amato 2011); here a child settles one agent's action after
one cluster of its histories.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from arena.dec_pomdp.bounds import Late, Shared
from arena.dec_pomdp.model import DecPomdp
from arena.dec_pomdp.value import History

DIGITS = 9  # to which beliefs agree that are taken for one
BELIEFS = 50  # that may be looked at for every node that may be opened, as either takes its time
Rule = tuple[tuple[int, ...], ...]  # by agent and cluster of its histories, the action
Clusters = tuple[tuple[tuple[int, ...], ...], ...]  # by agent, cluster and what it then observes, the next cluster


@dataclass(frozen=True)
class Plan:
    """A deterministic joint policy and its expected return.

    Each agent keeps a cluster in mind, 0 at first: `rules[step]` is what it does there, `clusters[step]` where it goes.
    `actions` counts those of each agent; `opened` is the number of nodes that the search has opened.
    """

    value: float
    actions: tuple[int, ...]
    rules: tuple[Rule, ...]
    clusters: tuple[Clusters, ...]
    opened: int

    def action(self, agent: int, observed: Sequence[int]) -> int:
        """What the agent does after these observations; one that the plan rules out counts as the likeliest there."""
        at = 0
        for step, seen in enumerate(observed):
            at = self.clusters[step][agent][at][seen]
        return self.rules[len(observed)][agent][at]

    def policy(self, agent: int, history: History) -> tuple[float, ...]:
        """The plan as a policy; it looks at what the agent has observed and not at what it has done."""
        chosen = self.action(agent, [seen for _, seen in history])
        return tuple(float(action == chosen) for action in range(self.actions[agent]))


def best(model: DecPomdp, horizon: int, limit: int = 1_000_000) -> Plan:
    """The joint policy of the highest expected return, the first one of several.

    Raises ValueError once `limit` nodes have been opened, or BELIEFS times as many beliefs looked at for their bounds:
    numbers that don't depend on the machine.
    """
    bounds, order = Late(model, limit * BELIEFS), count()
    root = Stage(model, bounds, horizon, model.start.reshape((1,) * model.agents + (-1,)))
    earned: dict[tuple[int, bytes], float] = {}  # by stage and occupancy, the most that came before
    waiting: list[tuple[float, int, int, Stage, tuple[int, ...]]] = [(-root.ceiling, 0, next(order), root, ())]
    for opened in range(1, limit + 1):
        ceiling, _, _, stage, chosen = heapq.heappop(waiting)
        if len(chosen) == len(stage.slots):
            if stage.left == 1:
                return stage.plan(chosen, opened)
            after = stage.after(chosen)
            if earned.get(after.key, -np.inf) >= after.earned - 1e-12:
                continue
            earned[after.key] = after.earned
            heapq.heappush(waiting, (max(ceiling, -after.ceiling), -after.depth, next(order), after, ()))
            continue
        for action, above in enumerate(stage.ceilings(chosen)):
            depth = -stage.depth - len(chosen) - 1
            heapq.heappush(waiting, (max(ceiling, -float(above)), depth, next(order), stage, (*chosen, action)))
    raise ValueError(f"the best team of {horizon} steps wasn't found within {limit} nodes: fewer steps are quicker")


class Stage:
    """One step of the team once all before is settled: what each agent may know now, and what is to be chosen.

    `weights` is float [K_1, ..., K_n, S]: the probability that the agents are in these clusters and the state is this.
    `earned` is the expected return of the steps before, `left` the number of steps from this one on.
    """

    def __init__(
        self, model: DecPomdp, bounds: Shared, left: int, weights: np.ndarray, earned: float = 0.0,
        before: tuple[Stage, Rule, Clusters] | None = None,
    ):  # fmt: skip
        self.model, self.bounds, self.left, self.weights, self.earned = model, bounds, left, weights, earned
        self.before = before
        self.sizes = weights.shape[:-1]
        self.slots = [(i, k) for i, size in enumerate(self.sizes) for k in range(size)]
        self.depth: int = before[0].depth + len(before[0].slots) if before else 0
        self.actions = tuple(map(len, model.actions))
        worth = bounds.worth(left, weights.reshape(-1, weights.shape[-1]))
        self.worth = worth.reshape(*self.sizes, *self.actions)  # at most, from here on: exact in the last step
        self.ceiling = float(self.ceilings(()).max())

    @property
    def key(self) -> tuple[int, bytes]:
        return self.left, repr(self.sizes).encode() + (self.weights.round(DIGITS) + 0.0).tobytes()

    def rule(self, chosen: Sequence[int]) -> Rule:
        """The actions chosen for all slots, by agent and cluster."""
        rest = iter(chosen)
        return tuple(tuple(next(rest) for _ in range(size)) for size in self.sizes)

    def ceilings(self, chosen: tuple[int, ...]) -> np.ndarray:
        """A bound of the whole return by the action of the first slot that isn't chosen yet.

        In it all agents but the last still go by all that anybody knows where nothing is chosen. So it is met exactly
        once only slots of the last agent are open.
        """
        n = len(self.sizes)
        worth = self.worth.copy()
        for (i, k), action in zip(self.slots, chosen, strict=False):
            cut = np.moveaxis(worth, (i, n + i), (0, 1))[k]
            cut[np.arange(len(cut)) != action] = -np.inf
        i, k = self.slots[len(chosen)]
        others = [j for j in range(n - 1) if j != i]
        worth = worth.max(tuple(n + j for j in others)).sum(tuple(others))
        if i == n - 1:
            own = worth.max(-1)
            return np.asarray(self.earned + own.sum() - own[k] + worth[k])
        rest = worth.max(2).sum(0) - worth[k].max(1)  # [clusters of the last agent, its actions]
        return np.asarray(self.earned + (rest[:, None] + worth[k]).max(-1).sum(0))

    def after(self, chosen: Sequence[int]) -> Stage:
        """The next step, once all of this one is chosen."""
        m, rule = self.model, self.rule(chosen)
        joint = np.ravel_multi_index(np.meshgrid(*map(np.array, rule), indexing="ij"), self.actions).ravel()
        weights = self.weights.reshape(len(joint), -1)
        earned = self.earned + float((weights * m.reward[joint]).sum())
        moved = np.einsum("js,jst->jt", weights, m.transition[joint])
        seen = np.einsum("jt,jto->jot", moved, m.observation[joint])
        heard = tuple(map(len, m.observations))
        n = len(heard)
        paired = seen.reshape(*self.sizes, *heard, -1).transpose(*(a for i in range(n) for a in (i, n + i)), 2 * n)
        merged, groups = merge(paired.reshape(*(k * o for k, o in zip(self.sizes, heard, strict=True)), -1), heard)
        clusters = tuple(
            tuple(map(tuple, group.reshape(-1, o).tolist())) for group, o in zip(groups, heard, strict=True)
        )
        return Stage(m, self.bounds, self.left - 1, merged, earned, (self, rule, clusters))

    def plan(self, chosen: Sequence[int], opened: int) -> Plan:
        """The whole plan that ends with what is chosen for this last step."""
        value = float(self.ceilings(tuple(chosen[:-1]))[chosen[-1]])
        rules, stage = [self.rule(chosen)], self
        clusters: list[Clusters] = []
        while stage.before:
            stage, rule, led = stage.before
            rules.insert(0, rule)
            clusters.insert(0, led)
        return Plan(value, self.actions, tuple(rules), tuple(clusters), opened)


def merge(weights: np.ndarray, heard: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Take for one what an agent believes alike after: what others know, and the state, given each of its histories.

    `weights` is float [H_1, ..., H_n, S], and each H_i counts (cluster, observation), the observation fastest, of which
    there are `heard[i]`. Returns the same over clusters, and for each agent the cluster of every history; an impossible
    one goes with the likeliest observation in its place.
    """
    groups = [np.arange(size) for size in weights.shape[:-1]]
    mass = [weights.sum(tuple(j for j in range(weights.ndim) if j != i)) for i in range(len(groups))]
    size = 0
    while size != weights.size:  # merging for one agent may make histories of another alike
        size = weights.size
        for i in range(len(groups)):
            rows = np.moveaxis(weights, i, 0)
            total = rows.sum(tuple(range(1, rows.ndim)))
            alive = np.flatnonzero(total > 0)
            shape = rows.shape[1:]
            flat = rows[alive].reshape(len(alive), -1)
            belief = (flat / total[alive, None]).round(DIGITS) + 0.0
            _, first, which = np.unique(belief, axis=0, return_index=True, return_inverse=True)
            which = which.ravel()
            new = np.zeros((len(first), flat.shape[1]))
            np.add.at(new, which, flat)
            weights = np.moveaxis(new.reshape(len(first), *shape), 0, i)
            table = np.full(len(total), -1)
            table[alive] = which
            groups[i] = np.where(groups[i] >= 0, table[groups[i]], -1)
    for i, o in enumerate(heard):
        likely = mass[i].reshape(-1, o).argmax(1)
        own = groups[i].reshape(-1, o)
        groups[i] = np.where(own < 0, own[np.arange(len(own)), likely][:, None], own).ravel()
    return weights, groups

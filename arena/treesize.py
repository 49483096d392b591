"""How large a game's tree is, estimated from a few random games, so that a far too large one is never unfolded."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

from arena.game import Game
from arena.tree import Chance
from arena.types import Task

GAMES = 50  # that are played for an estimate
SURELY = 10  # an estimate of so many times the limit settles the question; below it the tree is tried


class Drawn(Chance):
    """Draws each outcome evenly, and knows how many ways there were to draw since it was last asked."""

    def __init__(self, seed: int):
        super().__init__()
        self.chooser = random.Random(seed)
        self.ways = 1

    def outcome(self, odds: Sequence[float]) -> int:
        open_to = [i for i, p in enumerate(odds) if p > 0]
        self.ways *= len(open_to)
        return self.chooser.choice(open_to)

    def counted(self) -> int:
        """The ways there were; from now on it counts anew."""
        ways, self.ways = self.ways, 1
        return ways


def estimate(game: Game, task: Task | None = None, seed: int = 0) -> float:
    """The mean over random games of the number of nodes that there are if all others branch as they do.

    Right on average (Knuth, Estimating the efficiency of backtrack programs, 1975), and equal for equal seeds. Raises
    ValueError where chances or moves can't be listed.
    """
    rng = Drawn(seed)
    return statistics.fmean(_once(game, task, rng) for _ in range(GAMES))


def _once(game: Game, task: Task | None, rng: Drawn) -> float:
    game.deal(rng, task)
    ways, nodes = _below(1.0, rng)
    while seat := game.turn():
        legal = game.legal(seat)
        if not legal:
            raise ValueError(f"{game} doesn't list the legal moves of {seat}: its tree can't be enumerated")
        nodes += ways  # by an illegal move
        game.step(rng.chooser.choice(legal))
        ways, more = _below(ways * len(legal), rng)
        nodes += more
    return nodes


def _below(ways: float, rng: Drawn) -> tuple[float, float]:
    """How many ways there are after what was drawn just now, and how many nodes that makes, chance nodes too."""
    drawn = rng.counted()
    return ways * drawn, ways * drawn + (ways if drawn > 1 else 0.0)

"""How often the intervals of standings hold the truth: fresh logs of agents whose strengths are known.

    python bench/coverage.py --out bench/results/coverage.json

Every log is dealt anew by Bradley and Terry's model with Davidson's draws, from strengths that lie evenly apart, and is
read as a tournament's is. An interval of 95 % should hold the true strength in 95 of 100 logs, and miss it as often on
each side. `dealt` matches share a deal, half of the deals ending alike in all of them; the standings are told which.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine
import numpy as np

from arena.standings import ELO, Standings
from arena.types import Match

LEVEL = 0.95
SLACK = 0.02  # a share of 300 logs, some agents in each, is uncertain by about one per cent


@dataclass(frozen=True)
class Shape:
    """So many `entrants`, each `gap` Elo points above the next, and `matches` of each pair; equals draw so often."""

    entrants: int
    matches: int
    gap: float = 0.0
    draws: float = 0.0
    dealt: int = 1

    @property
    def elo(self) -> list[float]:
        """The true strengths, best first."""
        return [self.gap * ((self.entrants - 1) / 2 - i) for i in range(self.entrants)]


SHAPES = [
    Shape(2, 5, 200),
    Shape(2, 20, 500),
    Shape(4, 5),
    Shape(4, 5, 300),
    Shape(4, 20, 150, 0.2),
    Shape(4, 20, 400),
    Shape(4, 100, 100, 0.2),
    Shape(4, 100, 400),
    Shape(8, 5),
    Shape(8, 5, 200),
    Shape(8, 20, 60, 0.2),
    Shape(8, 20, 200),
    Shape(8, 100, 30),
    Shape(4, 40, 100, 0.0, 4),
    Shape(4, 40, 300, 0.2, 4),
    Shape(2, 80, 100, 0.0, 4),
]


def log(shape: Shape, rng: np.random.Generator) -> list[Match]:
    """One log of this shape."""
    found = []
    for i in range(shape.entrants):
        for j in range(i + 1, shape.entrants):
            d = (shape.elo[i] - shape.elo[j]) / ELO
            odds = np.array([math.exp(d / 2), 2 * shape.draws / (1 - shape.draws), math.exp(-d / 2)])
            points = rng.choice([1.0, 0.5, 0.0], shape.matches, p=odds / odds.sum())
            for first in range(0, shape.matches, shape.dealt):
                if shape.dealt > 1 and rng.random() < 0.5:
                    points[first : first + shape.dealt] = points[first]
            teams = ((f"agent_{i}",), (f"agent_{j}",))
            for k, won in enumerate(points.tolist()):
                found.append(Match(f"{i}-{j}-{k // shape.dealt}-{k}", "duel", teams, (won, 1 - won)))
    return found


def deal(match: Match) -> str:
    return match.id.rpartition("-")[0]


def measure(shape: Shape, logs: int, samples: int) -> dict[str, Any]:
    """How often the truth was held: of all agents, of the best one, and of those that never lost a match."""
    truth = np.array(shape.elo)
    lows, highs, spotless = [], [], []
    begun = time.process_time()
    for seed in range(logs):
        played = log(shape, np.random.default_rng([seed, shape.entrants, shape.matches, shape.dealt]))
        standings = Standings.of(played, block=deal, level=LEVEL, samples=samples, seed=seed)
        rows = [standings.row(f"agent_{i}") for i in range(shape.entrants)]
        lows.append([row.low for row in rows])
        highs.append([row.high for row in rows])
        beaten = {team for match in played for team, score in zip(match.teams, match.scores, strict=True) if not score}
        spotless.append([(row.agent,) not in beaten for row in rows])
    above, below = np.array(lows) > truth, np.array(highs) < truth
    held, never_lost = ~(above | below), np.array(spotless)
    return {
        **asdict(shape),
        "logs": logs,
        "held": float(held.mean()),
        "too_high": float(above.mean()),
        "too_low": float(below.mean()),
        "held_of_best": float(held[:, 0].mean()),
        "never_lost": int(never_lost.sum()),
        "held_of_never_lost": float(held[never_lost].mean()) if never_lost.any() else None,
        "width": float((np.array(highs) - np.array(lows)).mean()),
        "ms": 1000 * (time.process_time() - begun) / logs,
    }


def missed(report: dict[str, Any]) -> list[str]:
    """The shapes whose intervals hold the truth less often than they say; a quick run has none."""
    return [
        f"{found['entrants']} entrants, {found['matches']} matches a pair: {found['held']:.1%} held, wanted {LEVEL:.0%}"
        for found in report["results"]
        if not report["quick"] and found["held"] < LEVEL - SLACK
    ]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=300, help="of each shape")
    parser.add_argument("--samples", type=int, default=400, help="of each interval, as in a tournament")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args(words)
    logs = 3 if asked.quick else asked.logs
    report: dict[str, Any] = {"machine": machine.surroundings(), "quick": asked.quick, "level": LEVEL, "results": []}
    for shape in SHAPES:
        found = measure(shape, logs, asked.samples)
        report["results"].append(found)
        spotless = f", never lost {found['held_of_never_lost']:.1%}" if found["never_lost"] else ""
        print(f"{shape}: {found['held']:.1%} held, best {found['held_of_best']:.1%}{spotless}", flush=True)
    report["load_after"] = machine.load()
    if asked.out:
        machine.write(report, asked.out)
    short = missed(report)
    for line in short:
        print(line, file=sys.stderr)
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())

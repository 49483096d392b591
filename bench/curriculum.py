"""What a proposer learns to propose, and what its solvers learn from that: sums with a pool, over several seeds.

    python bench/curriculum.py --seeds 0 1 2
    python bench/curriculum.py --quick

Every training is a run in a folder of its own under --folder, measured by `trainers.evaluate` at every checkpoint on
sums that neither role was let near; a run that was stopped is gone on with, one that is finished is only read. Writes
the table and the curve of docs/curriculum.md. --quick takes the tiny model and two steps: it shows that the bench runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import curve
import table
from machine import RESULTS, surroundings, versions, write

from arena import config as configs
from arena import terminal
from arena.make import make
from arena.store import Store
from arena.types import Episode
from trainers import evaluate, report
from trainers.config import TrainConfig
from trainers.train import run

CONFIG = "sums_curriculum"
BINS = 9  # as many as eight solvers give values of p
ENDS = 5  # steps at either end over which the histogram of p is taken
QUICK = ["model=tiny", "steps=2", "save_every=1", "rollout.deals=4", "lora.rank=2"]
PICTURE = RESULTS.parent.parent / "docs" / "curriculum.svg"


def measure(folder: Path, seed: int, quick: bool) -> dict[str, Any]:
    """One run from its start, or from where it stopped, to its numbers."""
    settings = configs.load(TrainConfig, CONFIG, [*(QUICK if quick else []), f"seed={seed}"], kind="train")
    path = folder / f"{CONFIG}_{seed}"
    with terminal.Ticker(f"{CONFIG}, seed {seed}", settings.steps) as tick:
        run(settings, path, tick)
    rows = report.read(path / report.NAME).get("evaluation") or evaluate.run(path)["evaluation"]
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    game = make(settings.game.name, **settings.game.params)
    steps = list(by_step(path / "store.db", settings.rollout.deals))
    return {
        "seed": seed,
        "steps": settings.steps,
        "seconds": round(sum(line["perf/rollout_seconds"] + line["perf/update_seconds"] for line in lines), 1),
        "accuracy": {step: row["accuracy"] for step, row in rows.items()},
        "duplicates": [line["curriculum/duplicates"] for line in lines],
        "frontier": [line["curriculum/frontier"] for line in lines],
        "p_first": histogram([p for step in steps[:ENDS] for p in step]),
        "p_last": histogram([p for step in steps[-ENDS:] for p in step]),
        "held_out_seen": sum(game.canon(task) in held(game) for task in proposed(path / "store.db")),
    }


def held(game: Any) -> set[str]:
    """The sums that measure, whatever the order of their operands."""
    return {" + ".join(sorted((str(a), str(b)))) for a, b in game.held_out}


def episodes(store: Path) -> Iterator[Episode]:
    """Every game of a run in the order in which it was stored."""
    with Store.read(store) as opened:
        yield from (episode for _, (episode,) in opened.whole())


def proposed(store: Path) -> Iterator[Any]:
    """Every task that came to solvers."""
    return (offer.task for episode in episodes(store) for offer in episode.offers)


def by_step(store: Path, deals: int) -> Iterator[list[float]]:
    """The shares of solvers that were right, for every problem that was proposed and solved in a step."""
    found = list(episodes(store))
    for start in range(0, len(found), deals):
        step = found[start : start + deals]
        yield [p for episode in step if episode.offers and (p := solved(episode)) is not None]


def solved(episode: Episode) -> float | None:
    """The share of solvers that were right; None where nobody was scored."""
    earned = [value for seat, value in episode.returns.items() if seat.startswith("solver") and value is not None]
    return sum(value > 0 for value in earned) / len(earned) if earned else None


def histogram(values: Sequence[float]) -> list[int]:
    """How many values there are by ninths of [0, 1], the last one with its end."""
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(value * BINS))] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--quick", action="store_true", help="the tiny model, two steps, one seed")
    parser.add_argument("--folder", type=Path, default=Path("runs/curriculum"), help="where the runs are kept")
    parser.add_argument("--out", type=Path, default=RESULTS / "curriculum.json", help="where the JSON goes")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where the curve goes")
    asked = parser.parse_args()
    seeds = asked.seeds[:1] if asked.quick else asked.seeds
    folder = asked.folder / "quick" if asked.quick else asked.folder
    results = [measure(folder, seed, asked.quick) for seed in seeds]
    found = {"machine": surroundings(), "versions": versions("torch", "transformers", "peft"), "results": results}
    print(table.curriculum(found))
    if not asked.quick:
        write(found, asked.out)
        asked.picture.write_text(curve.svg(found))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on")

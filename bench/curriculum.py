"""What a proposer learns to propose, and what its solvers learn from that, beside problems drawn by chance.

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import curve
import table
from machine import RESULTS, concluded, surroundings, versions

from arena import config as configs
from arena import terminal
from arena.curriculum import Entry
from arena.make import make
from arena.store import Store
from trainers import evaluate, report
from trainers.config import TrainConfig
from trainers.train import run

CONFIG = "sums_curriculum"
PROPOSERS: dict[str, list[str]] = {"the model": [], "chance": ["seats.proposer.agent=random", "curriculum.past=0"]}
BINS = 9  # as many as eight solvers give values of p
DUPLICATES = 0.1  # of the last 256 proposals, at any step
LONGEST = 20 * 60  # seconds of a training
QUICK = ["model=tiny", "steps=2", "rollout.deals=4", "lora.rank=2", "probe.every=1", "game.params.held_out=4"]
PICTURE = RESULTS.parent.parent / "docs" / "curriculum.svg"


def measure(folder: Path, proposer: str, seed: int, threads: int, quick: bool) -> dict[str, Any]:
    """One run from its start, or from where it stopped, to its numbers."""
    words = [*PROPOSERS[proposer], *(QUICK if quick else []), f"seed={seed}", f"threads={threads}"]
    settings = configs.load(TrainConfig, CONFIG, words, kind="train")
    path = folder / f"{proposer.replace(' ', '_')}_{seed}"
    with terminal.Ticker(f"{proposer}, seed {seed}", settings.steps) as tick:
        run(settings, path, tick)
    end = report.read(path / report.NAME).get("evaluation") or evaluate.run(path)["evaluation"]
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    accuracy = {str(line["step"]): line["accuracy"] for line in lines if "accuracy" in line}
    with Store.read(path / "store.db") as store:
        tasks = [entry for entry in store.tasks(settings.name) if entry.first is not None]
    third = settings.steps // 3 or 1
    return {
        "proposer": proposer,
        "seed": seed,
        "steps": settings.steps,
        "seconds": round(sum(line["perf/rollout_seconds"] + line["perf/update_seconds"] for line in lines), 1),
        "accuracy": accuracy | {str(settings.steps): end[str(settings.steps)]["accuracy"]},
        "p_first": histogram([entry.first for entry in tasks if entry.step < third]),
        "p_last": histogram([entry.first for entry in tasks if entry.step >= settings.steps - third]),
        "learnable": [line.get("curriculum/learnable") for line in lines],
        "duplicates": [line.get("curriculum/duplicates", 0.0) for line in lines],
        "held_out_posed": posed(make(settings.game.name, **settings.game.params), tasks),
    }


def posed(game: Any, tasks: Sequence[Entry]) -> int:
    """How many of the sums that measure have been put to solvers, in either order of their operands."""
    measured = {" + ".join(sorted((str(a), str(b)))) for a, b in game.held_out}
    return sum(game.canon(entry.task) in measured for entry in tasks)


def histogram(values: Sequence[float | None]) -> list[int]:
    """How many values there are by ninths of [0, 1], the last one with its end; None is none of them."""
    counts = [0] * BINS
    for value in values:
        if value is not None:
            counts[min(BINS - 1, int(value * BINS))] += 1
    return counts


def missed(report: Mapping[str, Any]) -> list[str]:
    """What fell short of what the docs promise."""
    found = []
    for row in (row for row in report["results"] if row["proposer"] != "chance"):
        start, *_, end = row["accuracy"].values()
        if end <= start:
            found.append(f"seed {row['seed']}: held-out accuracy went from {start:.1%} to {end:.1%}")
        if max(row["duplicates"]) > DUPLICATES:
            found.append(
                f"seed {row['seed']}: {max(row['duplicates']):.0%} duplicates, wanted {DUPLICATES:.0%} at most"
            )
        if open_share(row["p_last"]) <= open_share(row["p_first"]):
            found.append(f"seed {row['seed']}: problems moved away from the frontier")
        if row["held_out_posed"]:
            found.append(f"seed {row['seed']}: {row['held_out_posed']} held-out sums were posed")
        if row["seconds"] > LONGEST:
            found.append(f"seed {row['seed']}: {row['seconds']:.0f} s, wanted {LONGEST} s at most")
    return found


def open_share(counts: Sequence[int]) -> float:
    """The share of problems that some solvers got right, but not all."""
    return sum(counts[1:-1]) / max(1, sum(counts))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2, help="cores that a training uses")
    parser.add_argument("--quick", action="store_true", help="the tiny model, two steps, one seed")
    parser.add_argument("--folder", type=Path, default=Path("runs/curriculum"), help="where the runs are kept")
    parser.add_argument("--out", type=Path, default=RESULTS / "curriculum.json", help="where the JSON goes")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where the curve goes")
    asked = parser.parse_args()
    seeds = asked.seeds[:1] if asked.quick else asked.seeds
    folder = asked.folder / "quick" if asked.quick else asked.folder
    results = [measure(folder, who, seed, asked.threads, asked.quick) for who in PROPOSERS for seed in seeds]
    found = {"machine": surroundings(), "versions": versions("torch", "transformers", "peft"), "results": results}
    print(table.curriculum(found))
    if asked.quick:
        return 0
    asked.picture.write_text(curve.svg(found))
    return concluded(found, asked.out, missed(found))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on")

"""What self-play teaches: the trainings of the demo over several seeds, and Kuhn with legal replies too.

    python bench/learning.py --seeds 0 1 2
    python bench/learning.py --quick

Every training is a run in a folder of its own under --folder, measured by `trainers.evaluate`; a run that was stopped
is gone on with, one that is finished is only read. Prints the table that bench/table.py writes into docs/training.md.
--quick takes the tiny model and two steps: it shows that the bench runs, and teaches nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import table
from machine import RESULTS, surroundings, versions, write

from arena import config as configs
from arena import terminal
from trainers import evaluate, report
from trainers.config import TrainConfig
from trainers.train import run

LEGAL = ["seats.first.changes={reply: legal}", "seats.second.changes={reply: legal}"]
# name -> the config, changes to it, and the measures by their path in a row of the evaluation
RUNS: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "kuhn, free replies": (
        "kuhn_selfplay",
        [],
        {
            "illegal games": "illegal_games",
            "NashConv": "nash_conv",
            "against the equilibrium": "vs_equilibrium.exact.mean",
        },
    ),
    "kuhn, legal replies": (
        "kuhn_selfplay",
        LEGAL,
        {"NashConv": "nash_conv", "against the equilibrium": "vs_equilibrium.exact.mean"},
    ),
    "sums, own problems": ("sums_proposer_solver", [], {"held-out sums": "accuracy"}),
    "sums, random problems": ("sums_uniform", [], {"held-out sums": "accuracy"}),
}
QUICK = ["model=tiny", "steps=2", "rollout.deals=4", "lora.rank=2"]


def measure(folder: Path, name: str, seed: int, quick: bool) -> dict[str, Any]:
    """One run from its start, or from where it stopped, to its numbers."""
    config, changes, measures = RUNS[name]
    words = [*changes, *(QUICK if quick else []), f"seed={seed}"]
    settings = configs.load(TrainConfig, config, words, kind="train")
    path = folder / f"{name.replace(',', '').replace(' ', '_')}_{seed}"
    with terminal.Ticker(f"{name}, seed {seed}", settings.steps) as tick:
        run(settings, path, tick)
    rows = report.read(path / report.NAME).get("evaluation") or evaluate.run(path)["evaluation"]
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    found: dict[str, Any] = {
        "run": name,
        "seed": seed,
        "steps": settings.steps,
        "seconds": round(sum(line["perf/rollout_seconds"] + line["perf/update_seconds"] for line in lines), 1),
    }
    for measure, key in measures.items():
        found[measure] = {"start": at(rows["0"], key), "end": at(rows[str(settings.steps)], key)}
        if measure == "NashConv":
            found[measure] |= {"last": found[measure]["end"], "end": evaluate.settled(path)}
    return found


def at(row: Any, key: str) -> float:
    """The number at a dotted key."""
    for name in key.split("."):
        row = row[name]
    return float(row)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--quick", action="store_true", help="the tiny model, two steps, one seed")
    parser.add_argument("--folder", type=Path, default=Path("runs/learning"), help="where the runs are kept")
    parser.add_argument("--out", type=Path, default=RESULTS / "learning.json", help="where the JSON goes")
    asked = parser.parse_args()
    seeds = asked.seeds[:1] if asked.quick else asked.seeds
    folder = asked.folder / "quick" if asked.quick else asked.folder
    results = [measure(folder, name, seed, asked.quick) for seed in seeds for name in RUNS]
    found = {"machine": surroundings(), "versions": versions("torch", "transformers", "peft"), "results": results}
    print(table.learning(found))
    for row in results:
        print(f"{row['run']}, seed {row['seed']}: {row['seconds']} s of training")
    if not asked.quick:
        write(found, asked.out)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on")

"""Small training runs of Kuhn poker with the tiny model, and everything that such a run leaves behind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.config import save
from arena.make import GameConfig
from arena.store import Store
from trainers.config import CreditConfig, LossConfig, OptimConfig, RolloutConfig, SeatConfig, TrainConfig

BARE = {"reply": "legal", "system": "", "examples": []}  # a short prompt, and replies that are always legal


def kuhn(**changes: Any) -> TrainConfig:
    """Six steps of 4 deals x 2 samples, saved every third, in less than two seconds of computing."""
    config = TrainConfig(
        name="kuhn",
        model="tiny",
        seed=3,
        steps=6,
        save_every=3,
        threads=1,
        game=GameConfig("kuhn_poker"),
        seats={"first": SeatConfig("kuhn", changes=BARE), "second": SeatConfig("kuhn", changes=BARE)},
        rollout=RolloutConfig(deals=4, samples=2),
        credit=CreditConfig(estimator="baseline"),
        loss=LossConfig(kind="ppo", entropy=0.01),
        optim=OptimConfig(lr=1e-2, lr_end=1e-3),
    )
    return replace(config, **changes)


def left(folder: Path, run: str = "kuhn") -> dict[str, Any]:
    """What a finished run has to show, but for how long it took."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "checkpoints").glob("step_*/*")):
        name = f"{path.parent.name}/{path.name}"
        if path.name == "state.json":
            # The generators of the process are kept for whoever draws from them; the run itself never does.
            found[name] = {k: v for k, v in json.loads(path.read_text()).items() if k != "random"}
        elif path.name not in ("manifest.json", "random.safetensors"):
            found[name] = path.read_bytes()
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    found["metrics"] = [{k: v for k, v in line.items() if not k.startswith("perf/")} for line in lines]
    with Store.read(folder / "store.db") as store:
        metrics = store.metrics(run)
        found["store metrics"] = {
            step: {k: v for k, v in values.items() if not k.startswith("perf/")} for step, values in metrics.items()
        }
        found["matches"] = [match.id for match in store.log()]
        found["episodes"] = [repr(store.match(id)) for id in found["matches"]]
        assert store.check() == []
    return found


def written(config: TrainConfig, path: Path) -> Path:
    """The config as a file, for another process."""
    save(config, path)
    return path


def differing(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """The parts in which two runs differ; file contents are too long to print."""
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))

"""Every training config that ships runs, and what learns in seconds is seen to learn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arena import config
from trainers import train
from trainers.config import TrainConfig


def metrics(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", config.names("train"))
def test_every_training_config_takes_a_step(name, tmp_path):
    words = ["model=tiny", "steps=1", "threads=1", "rollout.deals=2", "rollout.samples=2", "probe.every=0"]
    settings = config.load(TrainConfig, name, words)
    train.run(settings, tmp_path)
    (step,) = metrics(tmp_path)
    assert 0.0 <= step["illegal"] <= 1.0
    assert (tmp_path / "checkpoints" / "step_000001").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_provers_learn_to_prove_what_their_conjecturer_states(seed, tmp_path):
    """The tiny model of two layers: the share of accepted proofs of its first steps and of its last."""
    settings = config.load(TrainConfig, "train/tiny/conjecture_prove", ["threads=1", f"seed={seed}"])
    train.run(replace(settings, save_every=settings.steps), tmp_path)
    accepted = [step["game/p"] for step in metrics(tmp_path) if "game/p" in step]
    assert accepted[0] < 0.5
    assert sum(accepted[-5:]) / 5 > accepted[0] + 0.3


@pytest.mark.slow
def test_nash_conv_falls_on_the_tiny_model(tmp_path):
    settings = config.load(TrainConfig, "train/tiny/kuhn")
    train.run(replace(settings, save_every=settings.steps), tmp_path)
    found = [step["nash_conv"] for step in metrics(tmp_path)]
    assert sum(found[-10:]) / 10 < 0.5 * found[0]

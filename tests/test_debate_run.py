"""Debates of every shape are trained on, and a judge that is frozen judges all the same."""

import json

import pytest

from arena import config
from trainers import train
from trainers.config import TrainConfig

pytestmark = pytest.mark.slow


def ran(folder, *words):
    """The metrics of each step of the small debate, which has 32 games a step."""
    train.run(config.load(TrainConfig, "train/tiny/debate", words), folder)
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("topology", "order"), [("ring", "turns"), ("star", "together"), ("pairs", "turns")])
def test_speakers_and_judge_learn_whoever_hears_whom_and_in_whatever_order(topology, order, tmp_path):
    """Four speakers, two rounds and a verdict are nine replies; groups in which all fared alike teach nothing."""
    shape = [f"game.params.{word}" for word in ("debaters=4", f"topology={topology}", f"order={order}")]
    found = ran(tmp_path, "steps=2", *shape)  # the model says no at first, with hardly an exception
    assert sum(step["rows"] for step in found) > 0
    for step in found:
        assert step["rows"] + step["zero_signal_rows"] == 32 * (4 * 2 + 1)
        assert {"return/debater", "return/judge"} <= set(step)
        assert step["illegal"] == 0


def test_a_frozen_judge_gives_verdicts_and_never_learns(tmp_path):
    """Its verdicts are counted and paid, and all rows are the speakers'."""
    found = ran(tmp_path, "steps=3", "seats.judge.agent=base")
    assert sum(step["rows"] for step in found) > 0
    for step in found:
        assert "reward/judge/truth" in step
        assert "return/judge" not in step
        assert step["rows"] + step["zero_signal_rows"] == 32 * 3 * 2

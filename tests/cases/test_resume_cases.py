"""A run that was stopped anywhere and gone on with is the run that never was, byte for byte (identity 9)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import differing, kuhn, left, written

from trainers import train
from trainers.config import CreditConfig, LoraConfig, LossConfig, OptimConfig

# Forks before anything is computed, so that a child has what was imported and no threads of its parent.
CHILD = """
import os, signal, sys, time
from pathlib import Path
import torch
from arena.config import load
from trainers import checkpoint, train
from trainers.config import TrainConfig

config, folder, kills = load(TrainConfig, Path(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])

def fork(target):
    child = os.fork()
    if not child:
        code = 1
        try:
            train.run(config, target)
            code = 0
        finally:
            os._exit(code)
    return child

def finish(target):
    began = time.perf_counter()
    _, status = os.waitpid(fork(target), 0)
    assert status == 0, status
    return time.perf_counter() - began

finish(folder / "warm")  # makes the model's folder
seconds = finish(folder / "whole")
for kill in range(kills):
    child = fork(folder / "killed")
    time.sleep(seconds * (0.3 + 0.9 * kill / kills) / 1.2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(*checkpoint.steps(folder / "killed" / "checkpoints")[-1:])
finish(folder / "killed")
"""

ON = {
    "plain": {},
    "magnet": {"loss": LossConfig(magnet=0.1, magnet_every=2, kl=0.05)},
    "lora and neurd": {
        "lora": LoraConfig(rank=2),
        "credit": CreditConfig(estimator="neurd", alpha=0.1, drift=0.1),
        "optim": OptimConfig(lr=1e-2, lr_end=1e-3, warmup=2, weight_decay=0.01),
    },
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path_factory.getbasetemp() / "models"))


class Died(BaseException):
    """The end of the process, as far as the run can tell."""


def dying(at: int):
    def tick(done, figures=None):
        if done == at:
            raise Died

    return tick


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("at", [4, 5])
def test_o31_three_steps_and_three_more_are_six(tmp_path, on, at):
    """O-31: killed after step 4 or 5, last saved at 3: weights, baselines, metrics and store are the same."""
    config = kuhn(**ON[on])
    whole = left(train.run(config, tmp_path / "whole"))
    with pytest.raises(Died):
        train.run(config, tmp_path / "parts", dying(at))
    resumed = []
    train.run(config, tmp_path / "parts", lambda done, figures=None: resumed.append(done))
    assert resumed == [4, 5, 6]
    assert differing(whole, left(tmp_path / "parts")) == []


def test_o31_nothing_of_the_process_is_part_of_the_run(tmp_path):
    """O-31: what else the process has drawn, computed and set in between doesn't show."""
    import random

    import numpy as np
    import torch

    config = kuhn()
    whole = left(train.run(config, tmp_path / "whole"))
    with pytest.raises(Died):
        train.run(config, tmp_path / "parts", dying(3 + 1))
    random.seed(77)
    np.random.seed(77)
    torch.manual_seed(77)
    train.run(config, tmp_path / "parts")
    assert differing(whole, left(tmp_path / "parts")) == []


@pytest.mark.parametrize("lost", ["baselines", "optimizer", "learner_step", "version"])
def test_o31_a_part_that_is_not_restored_is_seen(tmp_path, monkeypatch, lost):
    """O-31: the planted fault: each of these left out of the checkpoint breaks the equality."""
    config = kuhn()
    whole = left(train.run(config, tmp_path / "whole"))
    with pytest.raises(Died):
        train.run(config, tmp_path / "parts", dying(4))
    fresh, restore = {}, train.Training.restore

    def forgetful(training, saved):
        learner = training.learner
        fresh.update(
            baselines=training.baselines.state(), optimizer=learner.optimizer.state_dict(), learner_step=0, version=0
        )
        restore(training, saved)
        if lost == "baselines":
            training.baselines.load(fresh["baselines"])
        elif lost == "optimizer":
            learner.optimizer.load_state_dict(fresh["optimizer"])
        elif lost == "learner_step":
            learner.step = 0
        else:
            training.engine.renew("live", 0)

    monkeypatch.setattr(train.Training, "restore", forgetful)
    train.run(config, tmp_path / "parts")
    assert differing(whole, left(tmp_path / "parts"))


def test_o32_two_updates_a_batch_are_one_step(tmp_path):
    """O-32: with `updates: 2` a step is a batch of games, and the run goes on with a whole one."""
    config = kuhn(loss=LossConfig(updates=2))
    whole = left(train.run(config, tmp_path / "whole"))
    state = whole["step_000006/state.json"]
    assert state["learner_step"] == 12
    assert state["version"] == 6
    with pytest.raises(Died):
        train.run(config, tmp_path / "parts", dying(4))
    train.run(config, tmp_path / "parts")
    assert differing(whole, left(tmp_path / "parts")) == []
    rates = [line["learning_rate"] for line in whole["metrics"]]
    assert rates == pytest.approx([10 ** (-2 - i / 6) for i in range(6)])


@pytest.mark.slow
@pytest.mark.parametrize("kills", [5])
def test_o31_sigkill_at_any_moment(tmp_path, kills):
    """O-31: killed five times at moments spread over the run, the folder ends as that of a run left alone."""
    config = written(kuhn(save_every=1), tmp_path / "config.yaml")
    root = str(Path(train.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(config), str(tmp_path), str(kills)],
        env={**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    reached = [int(line or 0) for line in done.stdout.splitlines()]
    assert len(reached) == kills
    assert reached[0] < 6
    assert differing(left(tmp_path / "whole"), left(tmp_path / "killed")) == []

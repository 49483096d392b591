"""The training loop: it does the same twice, goes on where it stopped, and says why when it can't."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from runs import BARE, differing, kuhn, left
from safetensors.torch import load_file

from arena.config import ConfigError, load
from arena.engines.transformer import Transformer
from arena.make import GameConfig
from arena.store import Store
from arena.types import Episode, Turn
from trainers import checkpoint, train
from trainers.config import (
    CreditConfig,
    LoraConfig,
    LossConfig,
    OptimConfig,
    ProbeConfig,
    RolloutConfig,
    SeatConfig,
    TrainConfig,
)
from trainers.credit import SeatCredit
from trainers.learner import Learner, NonFinite


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_CACHE", str(tmp_path_factory.getbasetemp() / "models"))


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> Path:
    """One uninterrupted run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIMMAGE_CACHE", str(tmp_path_factory.getbasetemp() / "models"))
        return train.run(kuhn(), tmp_path_factory.mktemp("once") / "run")


def weights(folder: Path, step: int = 6) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / f"step_{step:06d}" / "weights.safetensors")


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


# -- the run -----------------------------------------------------------------------------------------------------------


def test_a_run_leaves_its_config_its_facts_its_numbers_and_its_weights(once):
    assert load(TrainConfig, once / "config.yaml") == kuhn()
    facts = json.loads((once / "manifest.json").read_text())
    assert facts["seed"] == 3
    assert facts["packages"]["torch"] == torch.__version__
    lines = metrics(once)
    assert [line["step"] for line in lines] == list(range(6))
    assert checkpoint.steps(once / "checkpoints") == [3, 6]
    for line in lines:
        assert line["illegal"] == 0
        assert line["decision/ratio_max"] == pytest.approx(1.0, abs=1e-4)
        assert line["rows"] > 0
    before, after = weights(once, 3), weights(once)
    assert all(not torch.equal(before[name], after[name]) for name in before)
    found = left(once)
    assert len(found["matches"]) == 6 * train.KEPT


def test_the_rate_falls_over_the_run(once):
    rates = [line["learning_rate"] for line in metrics(once)]
    assert rates == pytest.approx([10 ** (-2 - i / 6) for i in range(6)])


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(once, tmp_path):
    again = train.run(kuhn(), tmp_path / "again")
    assert differing(left(once), left(again)) == []
    other = train.run(kuhn(seed=4), tmp_path / "other")
    assert "step_000006/weights.safetensors" in differing(left(once), left(other))


def test_a_finished_run_has_nothing_left_to_do(once):
    before, ticks = left(once), []
    train.run(kuhn(), once, lambda done, figures=None: ticks.append(done))
    assert ticks == []
    assert differing(before, left(once)) == []


def test_another_config_on_its_folder_is_refused(once):
    with pytest.raises(ConfigError, match=r"another config was run here: optim\.lr: "):
        train.run(kuhn(optim=OptimConfig(lr=0.5, lr_end=1e-3)), once)


def test_weights_of_another_model_are_refused(once):
    saved = checkpoint.load(once / "checkpoints" / "step_000006")
    with pytest.raises(ValueError, match="step 6 was saved of another model or LoRA"):
        train.load_weights({}, saved)


def test_a_role_that_nobody_plays_is_named(tmp_path):
    with pytest.raises(ValueError, match="second"):
        train.run(kuhn(seats={"first": SeatConfig("kuhn", changes=BARE)}), tmp_path / "run")


def test_only_learning_seats_are_trained(tmp_path):
    seats = {"first": SeatConfig("kuhn", changes=BARE), "second": SeatConfig("kuhn", agent="random")}
    folder = train.run(kuhn(seats=seats, steps=2, save_every=2), tmp_path / "run")
    for line in metrics(folder):
        assert "return/first" in line
        assert "return/second" not in line


def test_a_team_is_stored_with_its_return_once_and_not_once_a_seat(tmp_path):
    """O-08: the shared reward of a team is its score, however many share it."""
    config = kuhn(
        game=GameConfig("dec_tiger"),
        seats={"agent": SeatConfig("dec_tiger", changes=BARE)},
        steps=1,
        save_every=1,
    )
    folder = train.run(config, tmp_path / "run")
    with Store.read(folder / "store.db") as store:
        for match in store.log("train"):
            _, (episode,) = store.match(match.id)
            assert match.scores == (episode.returns["agent_0"],)


def test_free_replies_are_trained_too(tmp_path):
    free = {**BARE, "reply": "free", "sampling": {"max_tokens": 3}}
    seats = {role: SeatConfig("kuhn", changes=free) for role in ("first", "second")}
    folder = train.run(
        kuhn(seats=seats, steps=3, save_every=2, lora=LoraConfig(rank=2), rollout=RolloutConfig(deals=2, samples=4)),
        tmp_path / "run",
    )
    lines = metrics(folder)
    assert max(line["illegal"] for line in lines) > 0
    assert [line["token/ratio_max"] for line in lines if "token/ratio_max" in line] == pytest.approx(
        [1.0] * sum("token/ratio_max" in line for line in lines), abs=1e-4
    )


# -- when it can't go on -----------------------------------------------------------------------------------------------


def nothing(trajectories, config, baselines):
    """An estimator for which every turn was worth the same."""
    return [SeatCredit((0.0,) * len(trajectory.turns)) for trajectory in trajectories]


def test_steps_without_signal_stop_the_run(tmp_path):
    config = kuhn(
        credit=CreditConfig(estimator=f"{__name__}:nothing"), max_empty=3, loss=LossConfig(), save_every=1, steps=9
    )
    with pytest.raises(train.TrainingStopped, match="3 steps in a row gave nothing to learn from"):
        train.run(config, tmp_path / "run")
    assert len(metrics(tmp_path / "run")) == 2
    with pytest.raises(train.TrainingStopped, match="3 steps in a row"):  # what was counted is not forgotten
        train.run(config, tmp_path / "run")
    assert len(metrics(tmp_path / "run")) == 2


def test_games_that_break_stop_the_run_with_their_reason(tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(Transformer, "forward", broken)
    with pytest.raises(train.TrainingStopped, match="8 of 8 games broke; the first: first_0, turn 0: MemoryError"):
        train.run(kuhn(), tmp_path / "run")


def test_a_step_that_is_no_number_stops_the_run_and_what_is_saved_stays(once, tmp_path, monkeypatch):
    gradient, calls = Learner.gradient, []

    def third_is_nan(learner, batch):
        calls.append(batch)
        loss, *rest = gradient(learner, batch)
        return (float("nan") if len(calls) == 3 else loss, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "gradient", third_is_nan)
        with pytest.raises(NonFinite, match="loss nan"):
            train.run(kuhn(save_every=1), tmp_path / "run")
    assert checkpoint.steps(tmp_path / "run" / "checkpoints") == [1, 2]
    train.run(kuhn(save_every=1), tmp_path / "run")
    assert weights(tmp_path / "run").keys() == weights(once).keys()
    assert all(torch.equal(value, weights(once)[name]) for name, value in weights(tmp_path / "run").items())


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_ctrl_c_saves_the_step_under_way_and_the_same_command_goes_on(once, tmp_path):
    def interrupt(done, figures=None):
        if done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    folder, before = tmp_path / "run", signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="saved at step 2"):
        train.run(kuhn(), folder, interrupt)
    assert checkpoint.steps(folder / "checkpoints") == [2]
    assert signal.getsignal(signal.SIGINT) is before
    train.run(kuhn(), folder)
    assert differing(left(once), left(folder)) == []


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nash_conv_falls_under_training(tmp_path):
    """Identity 7: self-play with option advantages and a pull to a magnet nears the equilibrium of Kuhn poker."""
    config = kuhn(
        steps=30,
        save_every=30,
        rollout=RolloutConfig(deals=96, samples=1, score_options=True),
        credit=CreditConfig(estimator="neurd", alpha=0.2, option_decay=0.5),
        loss=LossConfig(kind="reinforce", normalisation="episode"),
        optim=OptimConfig(lr=3e-3, lr_end=1e-3, beta1=0.5),
        probe=ProbeConfig(exploitability=True),
    )
    found = [line["nash_conv"] for line in metrics(train.run(config, tmp_path / "run"))]
    assert found[0] > 0.7
    assert sum(found[-5:]) / 5 < 0.5 * found[0]


def test_a_config_with_everything_on_runs(tmp_path):
    config = kuhn(
        steps=2,
        save_every=1,
        loss=LossConfig(kl=0.1, magnet=0.1, magnet_every=1, entropy=0.01, updates=2),
        lora=LoraConfig(rank=2),
        probe=ProbeConfig(exploitability=True),
        rollout=RolloutConfig(deals=2, samples=2, score_options=True),
    )
    lines = metrics(train.run(config, tmp_path / "run"))
    assert all(line["nash_conv"] > 0 for line in lines)
    assert all({"decision/kl", "decision/magnet", "vs_uniform"} <= line.keys() for line in lines)


def test_duplicates_are_counted_among_peers():
    """O-25: near 1 the samples of a group are copies of each other, and nothing can be learned from them."""
    deal = {"game": "g", "task": None, "agents": {}, "contexts": {}, "returns": {}, "ending": "over"}

    def episode(seed, replies, faced):
        turns = tuple(Turn(seat, 0, "", reply, reply, True) for seat, reply in replies.items())
        return Episode(id=str(seed), seed=seed, faced=faced, turns=turns, **deal)

    same = {"solver_0": "t", "solver_1": "t"}
    assert train.duplicates([episode(1, {"solver_0": "4", "solver_1": "4"}, same)]) == 0.5
    assert train.duplicates([episode(1, {"a_0": "x"}, {}), episode(1, {"a_0": "x"}, {})]) == 0.5
    assert train.duplicates([episode(1, {"a_0": "x"}, {}), episode(2, {"a_0": "x"}, {})]) == 0.0
    assert train.duplicates([]) == 0.0


def test_a_run_does_not_go_on_upon_other_weights(tmp_path):
    """A checkpoint of an adapter says nothing of the model beneath it."""
    train.run(kuhn(steps=1), tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"weights": "', '"weights": "0'))
    with pytest.raises(ConfigError, match="the run began on weights"):
        train.run(kuhn(steps=1), tmp_path / "run")


def test_a_trainer_that_disagrees_with_the_engine_stops():
    """O-24: with the same weights the ratio is 1; anything else is a fault and not a step."""
    train.Training._compare({"token/dlogp": 1e-5})
    with pytest.raises(train.TrainingStopped, match=r"differ by 0\.127 nats"):
        train.Training._compare({"token/dlogp": 0.127})


def test_a_magnet_without_scored_replies_is_refused(tmp_path):
    config = kuhn(loss=LossConfig(magnet=0.1))
    free = {name: SeatConfig(role="kuhn") for name in config.seats}
    with pytest.raises(ConfigError, match="magnet"):
        train.run(
            replace(config, seats=free, rollout=replace(config.rollout, score_options=False), credit=CreditConfig()),
            tmp_path,
        )


def test_the_first_interrupt_is_noted_and_the_second_one_raises():
    """So a step under way is saved, and whoever can't wait for it needn't."""
    before = signal.getsignal(signal.SIGINT)
    with train._interrupts() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before

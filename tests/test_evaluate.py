"""Evaluation: which steps are measured, and that exact and sampled numbers are those of their weights."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace

import pytest
import torch

from arena import config as configs
from arena import exact, solve, strategy
from arena.cast import Cast
from arena.engines import models
from arena.engines.torch import checksum
from arena.engines.transformer import Transformer
from arena.make import GameConfig, make
from trainers import checkpoint, evaluate
from trainers.config import LoraConfig, RolloutConfig, SeatConfig, TrainConfig
from trainers.evaluate import Policies
from trainers.learner import adapted

LEGAL = SeatConfig("kuhn", changes={"reply": "legal"})
KUHN = TrainConfig(
    name="duel",
    model="tiny",
    threads=1,
    game=GameConfig("kuhn_poker"),
    seats={"first": LEGAL, "second": LEGAL},
    rollout=RolloutConfig(score_options=True),
    lora=LoraConfig(rank=4),
)


def nudged(step: int):
    """The tiny model with an adapter that does something, another thing at every step."""
    model = adapted(models.load(models.find("tiny"))[0], KUHN.lora, KUHN.seed)
    generator = torch.Generator().manual_seed(step)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run's folder with checkpoints at 4, 5 and 10, measured; and the checksums of their weights."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("run")
    patch.setenv("SCRIMMAGE_CACHE", str(folder / "cache"))
    configs.save(KUHN, folder / "config.yaml")
    (folder / "report.json").write_text(json.dumps({"ratings": []}))
    sums = {0: checksum(Transformer(models.load(models.find("tiny"))[0]))}
    for step in (4, 5, 10):
        model = nudged(step)
        weights = {name: p for name, p in model.named_parameters() if p.requires_grad}
        checkpoint.save(folder / "checkpoints", step, {"weights": weights}, {}, keep=5)
        sums[step] = checksum(Transformer(model))
    yield folder, sums, evaluate.run(folder, deals=60)
    patch.undo()


def test_the_start_the_middle_and_the_end_are_measured_each_with_its_own_weights(run):
    folder, sums, _ = run
    policies = Policies(folder)
    assert policies.steps == [0, 5, 10]
    assert {step: policies.engine.checksum(evaluate.named(step)) for step in policies.steps} == {
        step: sums[step] for step in (0, 5, 10)
    }


@pytest.mark.parametrize(
    ("saved", "measured"), [([80], [0, 80]), ([10, 30, 35], [0, 10, 35]), ([10, 20, 30, 40], [0, 20, 40])]
)
def test_the_middle_is_the_saved_step_nearest_to_half(tmp_path, saved, measured):
    for step in saved:
        checkpoint.save(tmp_path, step, {"weights": {"w": torch.ones(1)}}, {}, keep=9)
    assert evaluate.steps(tmp_path) == measured


def test_a_run_without_a_checkpoint_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="no whole checkpoint: train first"):
        evaluate.steps(tmp_path)


def test_the_report_keeps_what_else_it_held(run):
    folder, _, found = run
    assert json.loads((folder / "report.json").read_text()) == found
    assert found["ratings"] == []
    assert list(found["evaluation"]) == ["0", "5", "10"]


def test_who_could_not_be_met_is_left_out_of_every_step_with_the_reason(run, tmp_path, monkeypatch):
    folder, _, _ = run
    shutil.copytree(folder, tmp_path / "run")
    monkeypatch.setattr(evaluate.evaluation, "opponents", lambda game, words: ({}, {"vs_equilibrium": "no oracle"}))
    rows = evaluate.run(tmp_path / "run", deals=2)["evaluation"]
    assert [row["left_out"]["vs_equilibrium"] for row in rows.values()] == ["no oracle"] * 3


def test_exact_numbers_are_those_of_the_strategy(run):
    folder, _, found = run
    policies, tree = Policies(folder), solve.tree(make("kuhn_poker"))
    agents = {role: policies.agent(role, 10) for role in ("first", "second")}
    table = asyncio.run(strategy.strategy(tree, agents))
    row = found["evaluation"]["10"]
    assert row["nash_conv"] == pytest.approx(solve.nash_conv(tree, table), abs=1e-5)
    assert row["illegal_games"] == 0  # replies are drawn among legal moves
    perfect = solve.oracle_policy(tree)
    first = solve.values(tree, solve.mixed(tree, {"first_0": table, "second_0": perfect}))["first_0"]
    assert row["vs_equilibrium"]["exact"]["first_0"] == pytest.approx(first, abs=1e-5)
    assert row["vs_equilibrium"]["exact"]["mean"] <= 0 <= row["nash_conv"]  # nobody beats the equilibrium


def test_play_agrees_with_the_exact_numbers(run):
    """To within twice the interval, four standard errors."""
    _, _, found = run
    for row in found["evaluation"].values():
        for against in ("vs_random", "vs_equilibrium"):
            for seat, estimate in row[against]["sampled"].items():
                half = (estimate["high"] - estimate["low"]) / 2
                assert abs(estimate["mean"] - row[against]["exact"][seat]) < 2 * half
                assert estimate["n"] == 60


def test_illegal_games_by_hand():
    """Every reply is illegal with probability e, else one of two moves: one more reply follows either of them, and a
    third one after check, bet."""
    tree, e = solve.tree(make("kuhn_poker")), 0.2
    policy = {known: ((1 - e) / 2,) * 2 for known in tree.information}
    expected = e + (1 - e) * (e + 0.5 * 0.5 * (1 - e) * e)
    assert strategy.illegal_games(tree, policy) == pytest.approx(expected)
    assert strategy.illegal_games(tree, solve.uniform(tree)) == 0


def test_a_team_stands_beside_what_is_known_of_its_game():
    """By hand: who always listens has the best return of two steps; uniform play has that of chance."""
    tree = solve.tree(make("dec_tiger"))
    listen = {known: tuple(float(move == "listen") for move in known.legal) for known in tree.information}
    found, lacks = exact.team(tree, listen)
    assert found["team/return"] == pytest.approx(-4) == found["team/optimum"]
    assert found["team/random"] == pytest.approx(2 * (-2 - 50 + 20 - 200 + 2 * (-101 + 9)) / 9)
    assert found["team/centralised"] == pytest.approx(10.815)
    assert lacks == {}
    assert exact.team(tree, solve.uniform(tree))[0]["team/return"] == pytest.approx(found["team/random"])
    assert strategy.team(solve.tree(make("kuhn_poker")), {}) == {}


def test_seats_at_the_untrained_model_are_measured_too(run, tmp_path):
    """A seat of the word `base` keeps the weights of step 0 at every step."""
    folder, _, _ = run
    beside = tmp_path / "run"
    shutil.copytree(folder, beside)
    seats = {"first": LEGAL, "second": SeatConfig("kuhn", agent="base", changes={"reply": "legal"})}
    configs.save(replace(KUHN, seats=seats), beside / "config.yaml")
    rows = evaluate.run(beside, deals=4)["evaluation"]
    first, second = ({row["vs_random"]["exact"][seat] for row in rows.values()} for seat in ("first_0", "second_0"))
    assert len(first) == 3
    assert len(second) == 1


def test_a_role_of_a_run_sits_down_anywhere_with_the_weights_of_its_step(run):
    folder, _, found = run
    game, cast = make("kuhn_poker"), Cast()
    tree = solve.tree(game)
    for word, step in ((f"{folder}@first", 10), (f"{folder}/checkpoints/step_000005@first", 5)):
        cast.check(word, game)
        agent = cast.agent(word)
        assert agent.name == word
        table = asyncio.run(strategy.strategy(tree, dict.fromkeys(game.roles, agent)))
        assert solve.nash_conv(tree, table) == pytest.approx(found["evaluation"][str(step)]["nash_conv"], abs=1e-5)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("{}@frist", "no policy was trained as 'frist': .*did you mean 'first'"),
        ("{}", "a run has several roles: .*@first"),
        ("{}/checkpoints/step_000007@first", "step 7 was not kept: .*there are 4, 5, 10"),
    ],
)
def test_a_role_or_step_that_a_run_has_not_is_told_before_a_model_is_loaded(run, word, message):
    with pytest.raises(ValueError, match=message):
        Cast().check(word.format(run[0]), make("kuhn_poker"))

"""The whole demo on the tiny model: what it writes, that it does so twice alike, and goes on after Ctrl-C."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena import terminal, tournament
from arena.config import ConfigError
from arena.context import Context
from trainers import demo, evaluate, export, outside, train
from trainers.demo import DemoConfig

KUHN = """
name: kuhn
model: tiny
steps: 6
save_every: 3
threads: 1
game: {name: kuhn_poker}
seats:
  first: {role: kuhn, changes: {reply: legal}}
  second: {role: kuhn, changes: {reply: legal}}
rollout: {deals: 24, samples: 1, score_options: true}
credit: {estimator: neurd, alpha: 0.2}
loss: {kind: reinforce, normalisation: episode}
optim: {lr: 3e-3, lr_end: 3e-3}
lora: {rank: 8, alpha: 16}
probe: {exploitability: true}
"""
SUMS = """
name: sums
model: tiny
steps: 4
save_every: 2
threads: 1
game: {name: proposer_solver, params: {solvers: 4, low: 10, high: 12, held_out: 2}}
seats:
  proposer: {role: sums_proposer, changes: {reply: legal}}
  solver: {role: sums_solver, changes: {reply: legal}}
rollout: {deals: 8, samples: 1}
credit: {estimator: grpo, share: [proposer], role_weights: {proposer: 0.3}}
loss: {kind: reinforce, normalisation: sequence}
optim: {lr: 3e-3, lr_end: 3e-3}
probe: {evaluate: "games.proposer_solver:accuracy"}
"""
CONTROL = """
base: sums.yaml
name: sums_uniform
seats:
  proposer: {agent: random}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the three configs; the tiny model is built there too."""
    folder = tmp_path_factory.mktemp("demo")
    for name, text in {"kuhn": KUHN, "sums": SUMS, "sums_uniform": CONTROL}.items():
        (folder / f"{name}.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIMMAGE_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def config(place: Path) -> DemoConfig:
    paths = (str(place / f"{name}.yaml") for name in ("kuhn", "sums", "sums_uniform"))
    return DemoConfig(*paths, deals=10, rounds=2)


@pytest.fixture(scope="module")
def whole(place: Path, config: DemoConfig) -> tuple[Path, str]:
    """The demo's folder after one call, and what that call printed."""
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr(terminal, "say", lambda text="": said.append(text))
        demo.run(place / "whole", 0, config)
    return place / "whole", "\n".join(said)


def untimed(folder: Path) -> bytes:
    text = (folder / "report.json").read_text()
    return text[: text.index('"seconds"')].encode()


def test_the_report_has_the_keys_that_were_promised(whole: tuple[Path, str]) -> None:
    report = json.loads((whole[0] / "report.json").read_text())
    assert {key: sorted(report[key]) for key in ("kuhn", "sums", "export")} == {
        "kuhn": ["illegal_rate", "nash_conv", "vs_equilibrium"],
        "sums": ["accuracy", "control"],
        "export": ["max_logit_difference"],
    }
    assert list(report) == ["kuhn", "sums", "ratings", "export", "seconds"]
    assert all({"start", "end"} <= measure.keys() for measure in report["kuhn"].values())
    assert {row["agent"] for row in report["ratings"]} == {"random", "base", "mid", "final", "equilibrium"}
    assert all(row["matches"] == 2 * 4 for row in report["ratings"])  # 2 rounds against each of 4 others


def test_nash_conv_at_the_end_is_the_mean_over_the_last_steps(whole: tuple[Path, str]) -> None:
    steps = [json.loads(line)["nash_conv"] for line in (whole[0] / "kuhn" / "metrics.jsonl").read_text().splitlines()]
    nash = json.loads((whole[0] / "report.json").read_text())["kuhn"]["nash_conv"]
    assert nash["end"] == pytest.approx(sum(steps) / len(steps))  # it has fewer than ten
    assert nash["last"] < nash["start"]
    assert nash["start"] == pytest.approx(steps[0], abs=1e-5)


def test_a_shown_game_is_played_by_the_export_and_told_move_by_move(whole: tuple[Path, str]) -> None:
    told = whole[1]
    assert "first_0 hears: Card: " in told
    assert "first_0 (exported): [" in told
    assert "(not legal" not in told


def test_stopped_in_every_part_it_comes_to_the_same_report(
    place: Path, config: DemoConfig, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in training, while measuring, in the tournament, in the export and in the game; then the same call."""
    folder, stopped = place / "stopped", []

    def stopping(name: str, real: Any, after: int) -> Any:
        """`real`, but the call number `after` is a Ctrl-C, once."""
        calls = []

        def call(*given: Any, **named: Any) -> Any:
            calls.append(1)
            if len(calls) == after and name not in stopped:
                stopped.append(name)
                raise KeyboardInterrupt
            return real(*given, **named)

        return call

    places = (
        (train.Training, "advance", 5),
        (evaluate, "measure", 2),
        (tournament, "_play", 7),
        (export, "check_prompts", 1),
        (outside.OutsideAgent, "act", 1),
    )
    for where, name, after in places:
        monkeypatch.setattr(where, name, stopping(name, getattr(where, name), after))
    for _ in places:
        with pytest.raises(KeyboardInterrupt):
            demo.run(folder, 0, config)
        assert not (folder / "report.json").exists()
    demo.run(folder, 0, config)
    assert stopped == [name for _, name, _ in places]
    assert untimed(folder) == untimed(whole[0])
    weights = Path("kuhn", "checkpoints", "step_000006", "weights.safetensors")
    assert (folder / weights).read_bytes() == (whole[0] / weights).read_bytes()


def test_called_again_it_only_tells(
    config: DemoConfig, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = whole
    before = (folder / "report.json").read_bytes()

    def work(*_: Any) -> None:
        raise AssertionError("it was done before")

    for name in ("learn", "rate", "hand_out", "shown_game"):
        monkeypatch.setattr(demo, name, work)
    monkeypatch.setattr(evaluate, "run", work)
    said: list[str] = []
    monkeypatch.setattr(terminal, "say", lambda text="": said.append(text))
    demo.run(folder, 0, config)
    assert "\n".join(said) == told
    assert (folder / "report.json").read_bytes() == before


def test_another_seed_in_the_same_folder_is_refused(config: DemoConfig, whole: tuple[Path, str]) -> None:
    with pytest.raises(ConfigError, match="seed: 0 -> 1"):
        demo.run(whole[0], 1, config)


def test_a_failing_export_says_why(tmp_path: Path) -> None:
    """The process of an exported agent can't import anything of ours, and its last words are the error."""
    (tmp_path / "role.yaml").write_text("name: liar\n")
    (tmp_path / "example.py").write_text("import arena\n")

    async def ask() -> str:
        async with outside.outside(tmp_path, "liar", 0) as agent:
            return await agent.act(Context())

    with pytest.raises(outside.OutsideError, match="import of arena halted"):
        asyncio.run(ask())

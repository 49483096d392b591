"""Situations of configs and missing parts in which other tools went wrong."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from arena import cli, config
from trainers.config import TrainConfig

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class EnvConfig:
    seed: int = 0
    label: str = ""


@dataclass(frozen=True)
class RunConfig:
    seed: int = 0
    env: EnvConfig = field(default_factory=EnvConfig)


@pytest.mark.parametrize("source", ["file", "command line", "old run"])
def test_a_misspelt_key_is_an_error_from_every_source(capsys, monkeypatch, source):
    """O-45: key, source and nearest match are named, and no model is looked for."""
    monkeypatch.setattr("arena.commands.learn.validate", lambda *_: pytest.fail("a model would be looked for"))
    Path("run.yaml").write_text("name: a\ngame: {name: kuhn_poker}\n")
    words = ["train", "run.yaml"]
    where = "run.yaml"
    if source == "command line":
        words.append("optim.learning_rat=1")
        where = "command line, 'optim.learning_rat=1'"
    elif source == "file":
        Path("run.yaml").write_text("name: a\noptim: {learning_rat: 1}\n")
    else:
        settings = config.load(TrainConfig, "run.yaml")
        where = "config.yaml"
        config.save(settings, Path(where))
        Path(where).write_text(Path(where).read_text().replace("  lr: ", "  learning_rat: "))
        words[1] = where
    assert cli.main(words) == cli.MISUSED
    line = capsys.readouterr().err
    assert line.startswith(f"error: unknown key 'optim.learning_rat': {where}: ")
    assert "lr" in line
    assert line.count("\n") == 1


def test_a_reference_is_resolved_over_base_overlay_and_command_line():
    """O-46: the last word on `seed` is the one that the reference sees; parts and saved files hold no references."""
    Path("base.yaml").write_text("seed: 1\n")
    Path("overlay.yaml").write_text("base: base.yaml\nenv: {seed: '${seed}', label: 'run ${seed}'}\n")
    run = config.load(RunConfig, "overlay.yaml", ["seed=5"])
    assert run.env == EnvConfig(5, "run 5")
    assert type(run.env) is EnvConfig  # what a worker is handed is plain
    config.save(run, Path("saved.yaml"))
    assert "${" not in Path("saved.yaml").read_text()
    assert config.load(RunConfig, "saved.yaml") == run
    assert config.load(RunConfig, "saved.yaml", ["seed=6"]).env.seed == 5


def test_a_model_file_of_an_unknown_architecture_is_told_at_once(capsys):
    """O-50: the file, its architecture and the supported list, before anything is started."""
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter("odd.gguf", "mamba9")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    Path("role.yaml").write_text("name: player\n")
    seats = "{first: {role: role.yaml}, second: {role: role.yaml}}"
    Path("run.yaml").write_text(f"name: a\nmodel: odd.gguf\ngame: {{name: kuhn_poker}}\nseats: {seats}\n")
    for words in (["train", "run.yaml"], ["model", "find", "odd.gguf"]):
        assert cli.main(words) == cli.MISUSED
        line = capsys.readouterr().err
        assert line.startswith("error: odd.gguf has architecture 'mamba9'; supported are llama, ")
        assert line.count("\n") == 1
    assert not list(Path().glob("runs/*/*"))


BLOCK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.path.insert(0, {root!r})
from arena.cli import main
"""


def without(absent: set[str], code: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in which some packages can't be imported."""
    head = BLOCK.format(absent=absent, root=str(ROOT))
    return subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)


WHOLE = """
name: whole
model: tiny
steps: 2
game: {name: kuhn_poker}
seats: {first: {role: kuhn, changes: {reply: legal}}, second: {role: kuhn, changes: {reply: legal}}}
rollout: {deals: 4, samples: 4}
optim: {lr: 1.0e-2, lr_end: 1.0e-2}
"""


@pytest.mark.slow
def test_without_servers_and_gpus_the_whole_line_runs():
    """O-54: a tournament, two training steps, an export and a game of the exported agent."""
    Path("whole.yaml").write_text(WHOLE)
    lines = (
        ["tournament", "kuhn", "rounds=1"],
        ["train", "whole.yaml"],
        ["export", "runs/whole", "--role", "first", "--out", "agent"],
        ["play", "kuhn_poker", "--seat", "first=agent", "--seat", "second=oracle"],
    )
    run = without({"vllm", "ray"}, f"sys.exit(max(main(line) for line in {lines!r}))")
    assert run.returncode == 0, run.stderr
    assert "first_0 (agent): [" in run.stdout


def test_without_the_train_extra_the_rest_works_and_training_says_what_to_install():
    """O-54: an absent part is one line with the command that brings it; what doesn't use it runs."""
    absent = {"torch", "transformers", "peft", "gguf", "vllm", "ray"}
    assert without(absent, "sys.exit(main(['games']) or main(['roles']) or main(['doctor']))").returncode == 0
    run = without(absent, "sys.exit(main(['model', 'find', 'tiny']))")
    assert run.returncode == cli.FAILED
    assert run.stderr.startswith("error: torch is not installed: it belongs to the extra 'train': pip install")
    assert run.stderr.count("\n") == 1

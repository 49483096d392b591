"""Bad input is one line of what, where, nearest match and remedy, an exit code, and no model is loaded for it."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena import config
from arena.cli import FAILED, MISUSED, main
from arena.engines import models
from arena.engines.tiny import make_tiny
from trainers.config import TrainConfig

ROOT = Path(__file__).parent.parent
CARDS = """
name: cards
model: tiny
game: {name: kuhn_poker}
seats: {first: {role: kuhn}, second: {role: kuhn}}
"""
NO_SYSTEM = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no system role here') }}"
    "{% endif %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(autouse=True)
def cards(monkeypatch):
    """A config that would run, in a world where loading a model is a failure."""
    Path("cards.yaml").write_text(CARDS)
    Path("empty.yaml").write_text("")
    Path("listed.yaml").write_text("- name\n- model\n")
    monkeypatch.setattr(models, "load", lambda *_: pytest.fail("a model was loaded"))


def refused(capsys, *words: str, code: int = MISUSED) -> str:
    """The one line with which a command line is refused."""
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = [line for line in err.splitlines() if not line.startswith("building ")]
    assert "Traceback" not in line
    return line.removeprefix("error: ")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["cards.yaml", "optim.lrr=1"], ["unknown key 'optim.lrr'", "command line", "did you mean optim.lr?", "keys"]),
        (["cards.yaml", "game.name=kuhn"], ["game 'kuhn' not found", "did you mean 'kuhn_poker'?", "module:Class"]),
        (["cards.yaml", "seats.frist.role=kuhn"], ["no role 'frist'", "seats.frist", "'first'?", "first, second"]),
        (
            ["cards.yaml", "seats.first.role=kuhm"],
            ["role 'kuhm' not found", "did you mean 'kuhn'?", "seats.first.role"],
        ),
        (["cards.yaml", "seats.first.agent=randon"], ["agent 'randon' not found", "did you mean 'random'?"]),
        (["cards.yaml", "credit.share=[frist]"], ["no role 'frist'", "credit.share.frist", "did you mean 'first'?"]),
        (["cards.yaml", "credit.role_weights.third=1"], ["no role 'third'", "credit.role_weights.third"]),
        (["cards.yaml", "model=smollm2-135"], ["model 'smollm2-135' not found", "did you mean 'smollm2-135m'?"]),
        (["cards.yaml", "model=./nowhere"], ["model './nowhere' not found", "a folder"]),
        (["cards.ymal"], ["config 'cards.ymal' not found", "did you mean cards.yaml?"]),
        (["kuhn_selfply"], ["config 'kuhn_selfply' not found", "did you mean train/kuhn_selfplay?", "tiny/kuhn"]),
        (["empty.yaml"], ["the config is empty", "empty.yaml", "write key: value lines"]),
        (["listed.yaml"], ["a list, not keys and values", "listed.yaml", "write key: value lines"]),
        (["cards.yaml", "name=../up"], ["name '../up' can't name a folder", "use letters, digits and _"]),
    ],
)
def test_what_where_nearest_match_and_remedy(capsys, words, parts):
    line = refused(capsys, "train", *words)
    assert all(part in line for part in parts), line


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("steps=0", "give a number of at least 1"),
        ("save_every=0", "give a number of at least 1"),
        ("rollout.deals=0", "give a number of at least 1"),
        ("rollout.samples=-2", "give a number of at least 1"),
        ("optim.lr=-1e-5", "give a number of at least 0"),
        ("optim.lr=.nan", "give a number of at least 0"),
        ("optim.lr=.inf", "give a number of at least 0"),
        ("optim.beta1=1.0", "give a number of at least 0 and below 1"),
        ("lora.rank=-1", "give a number of at least 0"),
        ("lora.alpha=0", "give a number above 0"),
        ("loss.kind=pppo", "did you mean 'ppo'?: there are ppo, reinforce"),
        ("loss.normalisation=tokens", "did you mean 'token'?: there are token, sequence, episode, role, constant"),
        ("loss.clip_low=1.5", "give a number of at least 0 and at most 1"),
        ("loss.dual_clip=0.5", "give a number above 1"),
        ("loss.constant=0", "give a number above 0"),
        ("credit.drift=2.0", "give a number of at least 0 and at most 1"),
        ("credit.role_weights.first=.inf", "give a finite number"),
        ("probe.every=-1", "give a number of at least 0"),
    ],
)
def test_a_number_out_of_range_names_its_key_its_source_and_the_range(capsys, word, remedy):
    key = word.partition("=")[0]
    line = refused(capsys, "train", "cards.yaml", word)
    assert line.startswith(key)
    assert f": command line, {word!r}: " in line
    assert line.endswith(remedy)


def test_a_number_out_of_range_in_a_file_names_the_file():
    Path("bad.yaml").write_text(CARDS + "optim: {lr: -1.0}\n")
    with pytest.raises(config.ConfigError, match=r"^optim\.lr is -1\.0: bad\.yaml: give a number of at least 0$"):
        config.load(TrainConfig, "bad.yaml", ["steps=3"])


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["changes.sampling.temperature=-1"], ["temperature is -1.0", "use 0 (greedy) or more"]),
        (["changes.sampling.max_tokens=0"], ["max_tokens is 0", "use at least 1"]),
        (["changes.sampling.temperature=0"], ["learns at temperature 0", "seats.first", "use 1"]),
        (
            ["changes.reply=legal", "changes.sampling.temperature=0.7"],
            ["role 'kuhn' has reply: legal and temperature 0.7", "seats.first", "set sampling.temperature to 1"],
        ),
    ],
)
def test_a_role_that_could_not_be_learned_exactly_is_refused(capsys, words, parts):
    line = refused(capsys, "train", "cards.yaml", *(f"seats.first.{word}" for word in words))
    assert all(part in line for part in parts), line


MUTE = """
from arena.game import Game


class Mute(Game):
    roles = {"player": 1}

    def start(self, rng, task):
        return ("player_0",)

    def parse(self, seat, text):
        return text

    def play(self, moves):
        return ()
"""


def test_legal_replies_need_a_game_that_lists_its_moves(capsys):
    Path("mute.py").write_text(MUTE)
    Path("mute.yaml").write_text(
        "name: mute\nmodel: tiny\ngame: {name: 'mute:Mute'}\nseats: {player: {changes: {reply: legal}}}\n"
    )
    line = refused(capsys, "train", "mute.yaml")
    assert line == "role 'player' has reply: legal: seats.player: the game lists no legal moves: set reply: free"


def test_neurd_without_the_probabilities_of_moves_is_refused(capsys):
    line = refused(capsys, "train", "cards.yaml", "credit.estimator=neurd")
    assert "neurd needs the probabilities of legal moves: seats.first: set rollout.score_options=true" in line


def test_tasks_of_the_past_are_shown_only_where_somebody_can_look(capsys):
    line = refused(capsys, "train", "tiny/sums", "curriculum.shown=2")
    assert line.endswith("can be shown tasks of the past: curriculum.shown: leave it at 0")


@pytest.mark.parametrize(
    ("name", "word", "near"),
    [("tiny/sums", "nobody", "its roles are proposer, solver"), ("tiny/conjecture_prove", "provers", "'prover'")],
)
def test_tasks_are_as_hard_as_they_are_for_a_role_of_the_game(name, word, near, capsys):
    line = refused(capsys, "train", name, "curriculum.past=0.5", f"curriculum.solver={word}")
    assert f"has no role '{word}': curriculum.solver: " in line
    assert near in line


def test_a_run_in_which_nobody_learns_is_refused(capsys):
    line = refused(capsys, "train", "cards.yaml", "seats.first.agent=random", "seats.second.agent=oracle")
    assert line.startswith("nobody learns: seats: ")


def test_a_full_disk_is_told_before_the_work(capsys, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    line = refused(capsys, "train", "cards.yaml", "--folder", "run")
    assert line == "can't write: No space left on device: run: free some space or give --folder"


def test_a_disk_that_fills_up_during_the_work_is_one_line_too(capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "run/checkpoints/step_000001")

    monkeypatch.setattr("trainers.train.run", full)
    line = refused(capsys, "train", "cards.yaml", "--folder", "run", code=FAILED)
    assert line == "No space left on device: run/checkpoints/step_000001"


@pytest.fixture
def forbidding(tmp_path):
    """The tiny model with a template that raises at a system message."""
    path = tmp_path / "terse"
    make_tiny(path)
    tokenizer = models.read_tokenizer(path)
    tokenizer.chat_template = NO_SYSTEM
    tokenizer.save_pretrained(path)
    return path


def test_a_model_that_takes_no_system_prompt_is_told_before_it_is_loaded(capsys, forbidding):
    for words in (
        ["train", "cards.yaml", f"model={forbidding}"],
        ["train", "cards.yaml", f"seats.first.agent={forbidding}@kuhn"],
        ["play", "kuhn_poker", "--seat", f"first={forbidding}@kuhn", "--seat", "second=random"],
    ):
        line = refused(capsys, *words)
        assert "the model's chat template says 'no system role here' for system, " in line
        assert "put that text into the first user message, or set the role's `format: raw`" in line


def test_the_command_itself_exits_with_a_code_and_no_trace():
    code = "import sys; from arena.cli import main; sys.exit(main())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, "train", "cards.yaml", "game.name=kuhn_pokre"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (run.returncode, run.stdout) == (MISUSED, "")
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("error: game 'kuhn_pokre' not found: did you mean 'kuhn_poker'?")


@pytest.mark.parametrize("word", ["rounds=0", "concurrency=0", "rules.patience=-1"])
def test_a_tournament_out_of_range_is_refused(capsys, word):
    line = refused(capsys, "tournament", "kuhn", word)
    assert word in line
    assert "give a number of at least" in line

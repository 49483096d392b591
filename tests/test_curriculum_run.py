"""A run keeps the tasks that its agents made: it plays them again, shows them, and has them after a resume."""

import json
from dataclasses import replace

import pytest

from arena import config
from arena.cli import main
from arena.commands import tasks
from arena.curriculum import CurriculumConfig, Entry
from arena.store import Store
from arena.types import Task
from trainers import train
from trainers.config import TrainConfig

pytestmark = pytest.mark.slow


def settings(**changes):
    found = config.load(TrainConfig, "train/tiny/sums", ["steps=4", "save_every=2"])
    return replace(found, curriculum=CurriculumConfig(past=0.5, samples=4), **changes)


def test_what_was_refused_alike_is_one_line_with_how_often_it_was():
    """20 spellings of one duplicate, the newest of which is shown; two tasks that fail a gate, one of them twice."""
    again = [Entry(Task.new(f"{i} times"), "refused", i, gate="duplicate", reason="the same as x") for i in range(20)]
    empty = [Entry(Task.new(" " * n), "refused", 3, gate="empty", reason="no text") for n in (1, 2, 2)]
    live = Entry(Task.new("6 + 7"), "active", 30)
    found = [(entry.task.prompt, times) for entry, times in tasks.folded([live, *again, *empty])]
    assert found == [(" ", 1), ("  ", 2), ("19 times", 20), ("6 + 7", 1)]
    assert tasks.row(again[-1], 20)[2] == "duplicate: the same as x (20 times)"


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sums")
    train.run(settings(), folder)
    return folder


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def state(folder, step=4):
    return json.loads((folder / "checkpoints" / f"step_{step:06d}" / "state.json").read_text())


def test_proposed_tasks_are_kept_with_their_p_and_played_again(once):
    figures = metrics(once)
    assert figures[0]["curriculum/size"] > 0
    assert 0 <= figures[-1]["curriculum/p"] <= 1
    entries = state(once)["curriculum"]["entries"]
    again = [entry for entry in entries if entry["seen"] > 4]  # four solvers answered each when it was proposed
    assert again, "no task of an earlier step was played again"


def test_operands_in_another_order_are_the_same_task(once):
    prompts = [entry["task"]["prompt"] for entry in state(once)["curriculum"]["entries"]]
    forms = [tuple(sorted(prompt.removesuffix(" = ").split(" + "))) for prompt in prompts]
    assert len(set(forms)) == len(forms)


def test_a_run_that_was_stopped_goes_on_with_the_same_pool(once, tmp_path):
    """O-31: the task buffer is part of what a resumed run must have."""

    def stop(done, figures=None):
        if done == 3:
            raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        train.run(settings(), tmp_path, stop)
    train.run(settings(), tmp_path)
    assert state(tmp_path) == state(once)


def test_the_store_has_the_tasks_and_their_lineage(once):
    with Store.read(once / "store.db") as store:
        kept, lineage = store.tasks("sums"), store.lineage("sums")
    found = state(once)["curriculum"]
    assert found["refused"]
    for record in (*found["entries"], *found["refused"]):
        assert Entry.from_json(record) in kept
    assert sorted(lineage) == sorted(map(tuple, found["edges"]))


def test_the_command_lists_tasks_with_reasons_as_text_json_and_picture(once, tmp_path, capsys):
    picture = tmp_path / "lineage.svg"
    assert main(["tasks", str(once), "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "duplicate: the same as" in shown
    assert picture.read_text().startswith("<svg")
    assert main(["tasks", str(once), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {task["state"] for task in found["tasks"]} >= {"refused"}
    assert len(found["p"]) == 10
    assert main(["tasks", str(once), "--state", "refused"]) == 0
    assert main(["tasks", str(once), "--tree"]) == 0
    capsys.readouterr()
    for wrong, told in ((["--limit", "-3"], "--limit"), (["--picture", str(tmp_path / "new" / "x.svg")], "--picture")):
        assert main(["tasks", str(once), *wrong]) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main(["tasks", str(once), "--state", "refusd"]) == 2
    assert "did you mean 'refused'" in capsys.readouterr().err

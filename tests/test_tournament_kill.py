"""A tournament that is killed in the middle goes on as if nothing had been, and tells how after Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from arena.store import Store

ROOT = Path(__file__).parent.parent
CONFIG = """
name: killed
games: [{name: kuhn_poker}, {name: nim, params: {heaps: [1, 2]}}, {name: tic_tac_toe}]
rounds: 4
concurrency: 5
entrants:
  - {name: random, agent: random}
  - {name: perfect, agent: oracle}
  - {name: searching, agent: "mcts:100"}
  - {name: copy of perfect, games: {kuhn_poker: oracle, nim: random}}
"""


def command(*words):
    code = "import sys; from arena.cli import main; sys.exit(main())"
    return [sys.executable, "-c", code, "tournament", "killed.yaml", *words]


def whole(*words):
    """Run it to its end: what it prints as JSON."""
    run = subprocess.run(command(*words, "--json"), capture_output=True, text=True, check=False, env=environment())
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def stored(folder):
    """How many matches the store of a run has, while somebody writes to it."""
    try:
        store = Store.read(folder / "store.db")
    except (OSError, ValueError):
        return 0
    try:
        return len(list(store.log()))
    finally:
        store.close()


def stopped(folder, signals, matches, *words):
    """Begin it, and send the signal when so many matches are stored; how it ended, and what it said."""
    run = subprocess.Popen(
        command(*words, f"--folder={folder}"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    while run.poll() is None and stored(Path(folder)) < matches:
        time.sleep(0.01)
    run.send_signal(signals)
    _, told = run.communicate(timeout=60)
    return run.returncode, told


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["round_robin", "swiss", "gauntlet", "ladder"])
def test_killed_and_resumed_it_has_every_match_once_and_the_same_table(shape):
    """SIGKILL twice: after a few matches, and again later; what is stored by then can be rated."""
    Path("killed.yaml").write_text(CONFIG)
    words = [f"shape={shape}", *(["challengers=[random]"] if shape == "gauntlet" else [])]
    expected = whole(*words, "--folder=whole")
    kept = 0
    for matches in (3, 12):
        code, _ = stopped("killed", signal.SIGKILL, matches, *words)
        assert code == -signal.SIGKILL
        assert kept < stored(Path("killed")) < expected["matches"]
        kept = stored(Path("killed"))
        with Store("killed/store.db") as store:
            assert (store.rated(), store.lists(), store.check()) == (["killed"], [], [])
            rated = {rating.agent for rating in store.rebuild("killed").table("killed")}
            assert set() < rated <= {row["agent"] for row in expected["table"]}
    assert whole(*words, "--folder=killed") == expected
    with Store("killed/store.db") as store, Store("whole/store.db") as other:
        assert Counter(match.id for match in store.log()) == Counter(match.id for match in other.log())
        assert store.check() == []
        assert store.ratings("killed") == other.ratings("killed") == store.rebuild("killed").table("killed")
    assert json.loads(Path("killed/report.json").read_text()) == expected
    assert Path("killed/report.html").read_text() == Path("whole/report.html").read_text()


@pytest.mark.slow
def test_ctrl_c_tells_how_to_go_on_and_the_page_can_be_had_in_between():
    Path("killed.yaml").write_text(CONFIG)
    long = "rounds=400"  # it must not be over before it hears of it
    code, told = stopped("half", signal.SIGINT, 5, long)
    assert code == 130
    assert told.rstrip().endswith(f"stopped: it resumes with: scrimmage tournament killed.yaml {long} --folder=half")
    before = stored(Path("half"))
    board = whole(long, "--folder=half", "--report=half.html")
    assert board["matches"] == stored(Path("half")) == before
    assert "How matches ended" in Path("half.html").read_text()
    assert not Path("half/report.html").exists()


def test_a_page_of_nothing_is_refused_in_one_line():
    Path("killed.yaml").write_text(CONFIG)
    run = subprocess.run(command("--report=x.html"), capture_output=True, text=True, check=False, env=environment())
    assert run.returncode == 2
    assert run.stderr == (
        "error: nothing was played yet: runs/killed: leave --report out to play, or give its --folder\n"
    )

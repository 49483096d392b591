"""Death at any instant, full disks, locks and damage: no finished match is lost, and each trouble is one line."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from arena.body import pack, unpack
from arena.cli import FAILED, MISUSED, main
from arena.store import Store, StoreBusy
from arena.types import Episode, Match, Turn

ROOT = Path(__file__).parent.parent

# One interpreter forks a writer again and again, so that dozens of deaths cost one start. It tells of every writer for
# which matches `add` had returned when it was killed.
DEATHS = """
import json, os, random, signal, sys, time
from pathlib import Path
from arena.store import Store
from arena.types import Episode, Match
path, deaths, rng = sys.argv[1], int(sys.argv[2]), random.Random(7)
text = {"seat": "first_0", "stage": 0, "heard": "x" * 3000, "reply": "[bet]", "move": "bet", "legal": True}

def write(begin, told):
    with Store(path) as store:
        for i in range(begin, begin + 10_000):
            id = f"{i:06}"
            record = dict(id=id, game="nim", seed=i, task=None, agents={"first_0": "a"}, faced={"first_0": "t"},
                          contexts={}, returns={}, ending="over", turns=[{**text, "span": (0, 1)}] * 5)
            store.add(Match(id, "nim", (("a",), ("b",)), (1.0, 0.0), episodes=(id,)), [Episode.from_json(record)])
            os.write(told, f"{i:06}".encode())

for death in range(deaths):
    heard, told = os.pipe()
    writer = os.fork()
    if not writer:
        os.close(heard)
        write(death * 10_000, told)
        os._exit(0)
    os.close(told)
    first = os.read(heard, 6)
    time.sleep(rng.random() * 0.02)
    os.kill(writer, signal.SIGKILL)
    rest = b""
    while more := os.read(heard, 1 << 16):
        rest += more
    os.close(heard)
    _, status = os.waitpid(writer, 0)
    told = (first + rest).decode()
    print(json.dumps([os.WTERMSIG(status), [told[i : i + 6] for i in range(0, len(told), 6)]]), flush=True)
"""


def run(code: str, *words: str) -> str:
    """What some code prints in an interpreter of its own, which is silent otherwise."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def deaths(count: int, before: str = "") -> list[list[str]]:
    """The ids that every killed writer of store.db had finished."""
    found = [json.loads(line) for line in run(before + DEATHS, "store.db", str(count)).splitlines()]
    assert [signal for signal, _ in found] == [9] * count
    return [told for _, told in found]


@pytest.mark.slow
def test_no_finished_match_is_lost_by_forty_deaths_in_the_middle_of_writing():
    finished = deaths(40)
    with Store("store.db") as store:  # the last lock died with its owner
        assert store.check() == []
        kept = [match.id for match in store.log()]
        told = [id for ids in finished for id in ids]
        assert set(told) <= set(kept)
        assert len(kept) - len(told) <= 40  # each may have finished one more than it could tell
        assert len(told) > 80
        assert store.payoff() == {("a", "b"): (len(kept), 0, 0), ("b", "a"): (0, 0, len(kept))}
        assert not store.add(*store.match(told[-1]))


@pytest.mark.slow
def test_deaths_would_show_if_a_match_were_not_one_transaction():
    torn = "import contextlib\nfrom arena.store import Store\nStore._writing = lambda self: contextlib.nullcontext()\n"
    deaths(12, torn)
    with Store("store.db") as store:
        assert store.check() != []


# -- trouble, one line each ----------------------------------------------------------------------------------------


def add(store, id, text="x"):
    store.add(Match(id, "nim", (("a",), ("b",)), (1.0, 0.0), reason=text), [])


def refused(capsys, *words, code=FAILED) -> str:
    """The one line that a command line is refused with."""
    assert main([str(word) for word in words]) == code
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    return out + err


def test_a_store_that_somebody_else_writes_to_is_named(capsys):
    with Store("run/store.db") as store:
        add(store, "1")
        line = refused(capsys, "ratings", "rebuild", "run")
        assert (
            line
            == f"error: process {os.getpid()} is writing to it: wait for it, or look on with Store.read: run/store.db\n"
        )
        assert main(["store", "check", "run"]) == 0  # who only reads may


def test_another_program_that_holds_the_file_is_told(monkeypatch):
    monkeypatch.setattr("arena.store.PATIENCE", 0.05)
    with Store("store.db") as store:
        add(store, "1")
        other = sqlite3.connect("store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another program holds the store: close it, and run again"):
            add(store, "2")
        other.execute("ROLLBACK")
        add(store, "2")
        other.close()
        assert store.count() == 2


def test_a_disk_that_fails_in_the_middle_of_a_match_is_told_and_nothing_is_half_written():
    """The kernel refuses to let the log of the database grow, as a full quota does."""
    code = """
import resource, sys
from arena.store import Store
from arena.types import Match
from arena.cli import explain
def add(id, text):
    store.add(Match(id, "nim", (("a",), ("b",)), (1.0, 0.0), reason=text), [])
store = Store("store.db")
add("1", "x")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    add("2", "y" * 500_000)
except OSError as error:
    print(explain(error))
add("3", "z")
print(store.check(), [match.id for match in store.matches()])
"""
    line, after = run(code).splitlines()
    assert line == "the store can't be read or written: disk I/O error: store.db"
    assert after == "[] ['1', '3']"


def test_a_folder_that_cannot_be_written_is_named():
    place = Path("/proc/self/nowhere")
    with pytest.raises(OSError, match="nowhere") as told:
        Store(place / "store.db")
    assert str(told.value.filename).startswith(str(place))


def test_a_store_that_may_only_be_read_is_read_and_not_written():
    code = """
import os, sys
from pathlib import Path
from arena.cli import explain
from arena.store import Store
from arena.types import Match
folder = Path(sys.argv[1])
with Store(folder / "store.db") as store:
    store.add(Match("1", "nim", (("a",), ("b",)), (1.0, 0.0)), [])
for file in folder.iterdir():
    file.chmod(0o444)
folder.chmod(0o555)
if os.geteuid() == 0:
    os.setuid(65534)  # root may write anywhere
try:
    Store(folder / "store.db")
except OSError as error:
    print(explain(error))
with Store.read(folder / "store.db") as store:
    print(store.check(), [match.id for match in store.matches()])
"""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # where anybody may look
        line, after = run(code, folder).splitlines()
    assert line == f"Permission denied: {folder}/store.db.lock"
    assert after == "[] ['1']"


def damaged(seed: int) -> Path:
    """A store of which a stretch inside was overwritten."""
    path = Path(f"{seed}.db")
    with Store(path) as store:
        for i in range(60):
            add(store, f"{i:03}", "said " * 50)
    content = bytearray(path.read_bytes())
    rng = random.Random(seed)
    at = rng.randrange(4096, len(content) - 4096)
    content[at : at + 2000] = rng.randbytes(2000)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("seed", range(8))
def test_damage_is_told_by_check_and_by_no_trace(capsys, seed):
    path = damaged(seed)
    code = main(["store", "check", str(path)])
    err = capsys.readouterr().err
    if code == 0:  # it hit room that holds nothing: then all is there
        with Store.read(path) as store:
            assert [match.reason for match, _ in store.whole()] == ["said " * 50] * 60
        return
    assert err.count("\n") == 1
    assert str(path) in err
    for words in (["matches", str(path)], ["ratings", "show", str(path)], ["replay", str(path), "000"]):
        assert main(words) in (0, FAILED, MISUSED)
        assert capsys.readouterr().err.count("\n") <= 1


def test_a_file_that_was_cut_short_is_told(capsys):
    path = damaged(1)
    path.write_bytes(path.read_bytes()[:9000])
    assert main(["store", "check", str(path)]) in (FAILED, MISUSED)
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE seat SET score = 7 WHERE match_id = 1 AND team = 0", "match '1': table seat doesn't say"),
        ("DELETE FROM seat WHERE match_id = 2", "match '2': table seat doesn't say"),
        ("UPDATE match SET turns = 9 WHERE id = 1", "match '1': table match doesn't say"),
        ("UPDATE match SET game = 'chess' WHERE id = 1", "match '1': table match doesn't say"),
        ("INSERT INTO faced VALUES('t', 2)", "match '2': table faced doesn't say"),
        ("INSERT INTO turn VALUES(1, 0, 0, 0, 0, 1, 0.0, 0)", "match '1': table turn doesn't say"),
        ("UPDATE payoff SET won = 3 WHERE agent = 'a'", "table payoff is wrong about 'a' against 'b' at 'nim' in"),
        ("DELETE FROM payoff WHERE agent = 'b'", "table payoff is wrong about 'b' against 'a'"),
        ("DELETE FROM body WHERE match_id = 2", "match '2': its body is gone"),
        ("UPDATE body SET zstd = x'00' WHERE match_id = 2", "match '2': its body can't be read"),
    ],
)
def test_check_sees_whatever_a_table_says_otherwise(statement, problem):
    with Store("store.db") as store:
        add(store, "1")
        add(store, "2")
        assert store.check() == []
        store._base.execute(statement)
        (found,) = store.check()
    assert found.startswith(problem)


def test_a_byte_that_changed_in_a_body_is_seen_though_the_text_still_reads():
    turns = [Turn("s_0", 0, "", f"{random.Random(1).randbytes(300).hex()}", "x", True)]
    episode = Episode("1.0", "nim", 1, None, {"s_0": "a"}, {}, tuple(turns), {}, {"s_0": 0.0}, "over")
    body = bytearray(pack([episode]))
    for at in range(10, len(body)):
        body[at] ^= 1
        with contextlib.suppress(ValueError):
            assert unpack(bytes(body)) == (episode,)
        body[at] ^= 1

"""The store loses no finished match, writes nothing by halves, and has one writer."""

import asyncio
import contextlib
import errno
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import arena
from arena import store as room
from arena.ratings import Ratings
from arena.store import Store, StoreBusy
from arena.types import Match

ROOT = Path(__file__).parent.parent


def match(id, winner="a", loser="b", **more):
    return Match(str(id), "kuhn_poker", ((winner,), (loser,)), (1.0, -1.0), (("first",), ("second",)), **more)


def episode(seed=1, replies=("[bet]", "[call]")):
    agents = {
        "first": arena.ScriptedAgent((replies[0],), name="a"),
        "second": arena.ScriptedAgent((replies[1],), name="b"),
    }
    return asyncio.run(arena.play(arena.make("kuhn_poker"), agents, seed=seed))


def rows(path, query):
    with sqlite3.connect(path) as base:
        return base.execute(query).fetchall()


def test_a_match_comes_back_as_it_went_in():
    played = episode()
    with Store("store.db") as store:
        assert store.add(match(1, episodes=(played.id,)), [played])
        found, episodes = store.match("1")
    assert found == match(1, episodes=(played.id,))
    assert [e.to_json() for e in episodes] == [played.to_json()]
    assert [turn.reply for turn in episodes[0].turns] == ["[bet]", "[call]"]


def test_text_of_any_kind_is_kept():
    said = "caf\u00e9 \u202e\x00\ud800 \U0001f0cf"
    played = episode(replies=(f"{said} [bet]", "[fold]"))
    with Store("store.db") as store:
        store.add(match(1, winner="caf\u00e9"), [played])
        found, (kept,) = store.match("1")
    assert found.teams[0] == ("caf\u00e9",)
    assert kept.turns[0].reply == f"{said} [bet]"


def test_a_match_is_stored_once():
    with Store("store.db") as store:
        assert store.add(match(1), [episode()])
        assert not store.add(match(1), [episode()])
        assert store.matches() == [match(1)]
    assert rows("store.db", "SELECT count(*) FROM body") == rows("store.db", "SELECT count(*) FROM match") == [(1,)]


def test_an_id_of_another_match_is_refused():
    with Store("store.db") as store:
        store.add(match(1), [])
        with pytest.raises(ValueError, match=r"match id '1' is in store\.db with another content"):
            store.add(match(1, winner="c"), [])
        assert store.matches() == [match(1)]


def test_an_infra_match_gives_way_to_the_same_match_played_again():
    broken = replace(match(1), ending="infra", scores=())
    with Store("store.db") as store:
        assert store.add(broken, [])
        assert not store.add(broken, [])
        assert store.add(match(1), [episode()])
        assert not store.add(broken, [])  # and not the other way round
        assert store.matches() == [match(1)]
        assert store.check() == []
    assert rows("store.db", "SELECT count(*) FROM seat") == [(2,)]


def test_the_numeric_tables_hold_seats_and_turns():
    with Store("store.db") as store:
        store.add(match(1), [episode()])
    assert rows("store.db", "SELECT team, member, agent, role, score FROM seat") == [
        (0, 0, "a", "first", 1.0),
        (1, 0, "b", "second", -1.0),
    ]
    gain = episode().returns["second_0"]
    assert rows("store.db", "SELECT episode, number, stage, seat, legal, reward, tokens FROM turn") == [
        (0, 0, 0, 0, 1, 0.0, 0),
        (0, 1, 1, 1, 1, gain, 0),
    ]


def test_pages_follow_each_other_without_gap_or_repeat():
    with Store("store.db") as store:
        for i in range(25):
            store.add(match(f"{i:03}", winner="ac"[i % 2], pool=["main", "other"][i % 5 == 0]), [])
        ids, after = [], None
        while page := store.matches(after=after, limit=7):
            assert len(page) <= 7
            ids += [found.id for found in page]
            assert len(ids) <= 26
            after = page[-1].id
            if len(ids) == 7:
                store.add(match("late"), [])  # what comes in meanwhile is at the end
        assert ids == [f"{i:03}" for i in range(25)] + ["late"]
        assert [found.id for found in store.matches("pool=other")] == ["000", "005", "010", "015", "020"]
        assert [found.id for found in store.matches("pool=other", after="010", limit=1)] == ["015"]
        assert {found.teams[0] for found in store.matches("agent=c")} == {("c",)}
        assert len(store.matches("agent=c")) == 12
        assert store.matches("ending=forfeit") == store.matches("game=chess") == []


def test_the_log_is_in_the_order_of_ids():
    with Store("store.db") as store:
        for i in (3, 1, 2):
            store.add(match(i, pool="main" if i < 3 else "other"), [])
        assert [found.id for found in store.log()] == ["1", "2", "3"]
        assert [found.id for found in store.log("main")] == ["1", "2"]


def test_the_log_is_whole_beyond_a_page():
    with Store("store.db") as store:
        with store._writing():
            for i in range(2500):
                record = json.dumps(match(f"{i:05}").to_json())
                store._base.execute(
                    "INSERT INTO match(uid, pool, game, ending, record) VALUES(?,'main','kuhn_poker','over',?)",
                    (f"{i:05}", record),
                )
        assert [found.id for found in store.log()] == [f"{i:05}" for i in range(2500)]


def test_an_unknown_match_names_the_nearest():
    with Store("store.db") as store:
        store.add(match("kuhn-0011"), [])
        with pytest.raises(KeyError, match="did you mean 'kuhn-0011'"):
            store.match("kuhn-0012")
        with pytest.raises(KeyError, match=r"is not in store\.db"):
            store.matches(after="x")


def test_metrics_come_back_by_step_and_a_step_run_again_replaces():
    with Store("store.db") as store:
        store.metric("kuhn", 1, {"loss": 0.5, "kl": math.nan})
        store.metric("kuhn", 0, {"loss": 1})
        store.metric("kuhn", 1, {"loss": 0.25})
        store.metric("other", 1, {"loss": 9.0})
        found = store.metrics("kuhn")
        assert list(found) == [0, 1]
        assert found[0] == {"loss": 1.0}
        assert found[1]["loss"] == 0.25
        assert math.isnan(found[1]["kl"])
        with pytest.raises(ValueError, match="metric 'loss' of 'kuhn' at step 2 is 'low'"):
            store.metric("kuhn", 2, {"kl": 1.0, "loss": "low"})
        assert list(store.metrics("kuhn")) == [0, 1]


def test_runs_and_events_are_kept():
    with Store("store.db") as store:
        store.metric("kuhn", 1, {"loss": 0.5})
        store.start("kuhn", "train", {"seed": 1})
        store.event("kuhn", "snapshot", {"agent": "kuhn@10"}, step=10)
        store.event("kuhn", "stopped", {})
        assert store.runs() == {"kuhn": {"kind": "train", "config": {"seed": 1}}}
        assert store.events("kuhn") == [(10, "snapshot", {"agent": "kuhn@10"}), (None, "stopped", {})]
        assert store.metrics("kuhn") == {1: {"loss": 0.5}}


def test_the_snapshot_of_ratings_is_the_table():
    ratings = Ratings.rebuild(match(i, *pair) for i, pair in enumerate(["ab", "bc", "ca", "ab"]))
    ratings.add(Match("coop", "tiger", (("a",), ("task:door",)), (1.0, 0.0)))
    with Store("store.db") as store:
        store.rate(ratings)
        store.rate(ratings)
        for pool, game, role in ratings.lists():
            for tasks in (False, True):
                assert store.ratings(pool, game, role, tasks=tasks) == ratings.table(pool, game, role, tasks=tasks)
        assert len(store.ratings(tasks=True)) == 4


# -- one writer, many readers --------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_named():
    with Store("store.db") as store:
        store.add(match(1), [])
        code = "import sys; from arena.store import Store; Store(sys.argv[1])"
        there = subprocess.run(
            [sys.executable, "-c", code, str(Path("store.db").resolve())],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"process {os.getpid()} is writing to it: wait for it, or look on with Store.read" in there.stderr
        with pytest.raises(StoreBusy):
            Store("store.db")
        store.add(match(2), [])
    with Store("store.db") as store:
        assert len(store.matches()) == 2


def test_readers_look_on_while_somebody_writes_and_cannot_write():
    with Store("store.db") as store:
        store.add(match(1), [episode()])
        with Store.read("store.db") as reader:
            store.add(match(2), [])
            assert [found.id for found in reader.matches()] == ["1", "2"]
            with pytest.raises(PermissionError, match="reading only"):
                reader.add(match(3), [])
        assert len(store.matches()) == 2
    with Store.read("store.db") as reader, Store("store.db"):
        assert reader.match("1")[1][0].to_json() == episode().to_json()


def test_a_strange_path_is_a_path():
    path = Path("100% #1?mode=rw") / "store.db"
    with Store(path) as store:
        store.add(match(1), [])
    with Store.read(path) as reader:
        assert reader.matches() == [match(1)]


def test_there_is_no_store_to_read():
    with pytest.raises(FileNotFoundError, match="there is no store"):
        Store.read("nowhere.db")
    assert not list(Path().iterdir())


def test_another_file_is_not_a_store_and_stays_as_it_is():
    Path("notes.db").write_text("these are my notes, and they are long enough" * 50)
    before = Path("notes.db").read_bytes()
    for door in (Store, Store.read):
        with pytest.raises(ValueError, match=r"notes.db is not a store, or damaged"):
            door("notes.db")
    assert Path("notes.db").read_bytes() == before


def test_a_store_of_a_newer_version_is_refused():
    Store("store.db").close()
    with sqlite3.connect("store.db") as base:
        base.execute("PRAGMA user_version=99")
    for door in (Store, Store.read):
        with pytest.raises(ValueError, match="version 99, this is version 2: update scrimmage"):
            door("store.db")


def test_an_older_store_is_brought_up_to_date_and_keeps_its_matches(monkeypatch):
    with Store("store.db") as store:
        store.add(match(1), [])
    monkeypatch.setattr(room, "MIGRATIONS", (*room.MIGRATIONS, "CREATE TABLE more(x INTEGER) STRICT"))
    with pytest.raises(ValueError, match=r"bring it up to date: scrimmage store update store\.db"):
        Store.read("store.db")
    with Store("store.db") as store:
        assert store.matches() == [match(1)]
    assert rows("store.db", "PRAGMA user_version") == [(len(room.MIGRATIONS),)]
    assert rows("store.db", "SELECT * FROM more") == []


def test_a_migration_that_fails_changes_nothing(monkeypatch):
    Store("store.db").close()
    monkeypatch.setattr(room, "MIGRATIONS", (*room.MIGRATIONS, "CREATE TABLE more(x INTEGER) STRICT; SELECT nonsense"))
    with pytest.raises(sqlite3.OperationalError, match="nonsense"):
        Store("store.db")
    assert rows("store.db", "PRAGMA user_version") == [(len(room.MIGRATIONS) - 1,)]
    assert rows("store.db", "SELECT name FROM sqlite_master WHERE name='more'") == []


# -- death and want ------------------------------------------------------------------------------------------------

WRITER = """
import sys
from arena.store import Store
from arena.types import Episode, Match
text = {"seat": "first_0", "stage": 0, "heard": "x" * 5000, "reply": "[bet]", "move": "bet", "legal": True}
store = Store(sys.argv[1])
for i in range(100_000):
    id = f"{i:06}"
    record = dict(id=id, game="kuhn_poker", seed=i, task=None, agents={"first_0": "a"}, faced={}, contexts={},
                  returns={}, ending="over", turns=[{**text, "span": (0, 1)}] * 5)
    match = Match(id, "kuhn_poker", (("a",), ("b",)), (1.0, 0.0), episodes=(id,))
    store.add(match, [Episode.from_json(record)])
    print(id, flush=True)
"""


@pytest.mark.parametrize("after", [1, 40, 173])
def test_a_killed_writer_loses_no_finished_match(after):
    path = Path("store.db").resolve()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    told = [writer.stdout.readline().strip() for _ in range(after)]
    writer.send_signal(signal.SIGKILL)
    told += writer.stdout.read().split()
    writer.wait()
    writer.stdout.close()
    assert writer.returncode == -signal.SIGKILL
    with Store(path) as store:  # the lock died with its owner
        found = [match.id for match in store.log()]
        assert found[: len(told)] == told
        assert len(found) - len(told) in (0, 1)  # the last may have been finished but not yet told
        assert store.check() == []
        assert store.match(told[-1])[1][0].turns[4].heard == "x" * 5000
        assert not store.add(store.match(told[-1])[0], [])


def test_a_full_disk_is_told_and_nothing_is_half_written():
    played = episode()
    big = replace(played, turns=(replace(played.turns[0], heard=os.urandom(200_000).hex()), *played.turns[1:]))
    with Store("store.db") as store:
        store.add(match(1), [played])
        pages = store._base.execute("PRAGMA page_count").fetchone()[0]
        store._base.execute(f"PRAGMA max_page_count={pages + 10}")
        with pytest.raises(
            OSError, match=r"no space to write .* all that was written before is safe: free some space"
        ) as full:
            store.add(match(2), [big])
        assert full.value.errno == errno.ENOSPC
        assert full.value.filename == "store.db"
        assert store.matches() == [match(1)]
        assert store.check() == []
        store._base.execute("PRAGMA max_page_count=1000000")
        assert store.add(match(2), [big])  # with room again it goes on
        assert len(store.match("2")[1][0].turns[0].heard) == 400_000
        assert store.check() == []


class Torn(Exception):
    pass


def half_a_match(store, monkeypatch):
    """Add a match that breaks while its rows are written; the number of matches and bodies that stay."""

    def tear(*_):
        raise Torn

    with monkeypatch.context() as torn:
        torn.setattr(Store, "_count", tear)
        with pytest.raises(Torn):
            store.add(match(1), [episode()])
    return rows("store.db", "SELECT (SELECT count(*) FROM match), (SELECT count(*) FROM body)")


def test_a_failure_in_the_middle_leaves_nothing(monkeypatch):
    with Store("store.db") as store:
        assert half_a_match(store, monkeypatch) == [(0, 0)]
        assert store.add(match(1), [episode()])


def test_a_match_without_a_transaction_would_be_seen(monkeypatch):
    with Store("store.db") as store:
        monkeypatch.setattr(Store, "_writing", lambda store: contextlib.nullcontext())
        assert half_a_match(store, monkeypatch) == [(1, 1)]
        assert store.check() != []


def test_check_names_what_is_damaged():
    with Store("store.db") as store:
        store.add(match("whole"), [])
        store.add(match("broken"), [])
        store.add(match("gone"), [])
        store._base.execute("UPDATE body SET zstd=x'00ff' WHERE match_id=2")
        store._base.execute("DELETE FROM body WHERE match_id=3")
        problems = store.check()
    assert len(problems) == 2
    assert "'broken'" in problems[0]
    assert "'gone'" in problems[1]

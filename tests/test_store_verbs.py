"""The verbs that look into a store: matches, replay as one seat lived it, ratings made anew, and Parquet."""

import asyncio
import importlib
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena import ScriptedAgent, make, parquet, play
from arena.cli import FAILED, MISUSED, main
from arena.curriculum import Entry
from arena.ratings import Ratings
from arena.store import Store
from arena.types import Match, Task

THOUGHT = "<think>\x1b[31mI hold \u202enothing\x07</think>[bet]"


def cards(id: str, seed: int, first: str, second: str):
    """A game of Kuhn poker between two who think aloud, as a match of the pool cup."""
    agents = {"first": ScriptedAgent([THOUGHT], name=first), "second": ScriptedAgent(["my secret [fold]"], name=second)}
    episode = asyncio.run(play(make("kuhn_poker"), agents, seed=seed, id=f"{id}.0"))
    scores = tuple(episode.returns.values())
    match = Match(
        id, "kuhn_poker", ((first,), (second,)), scores, (("first",), ("second",)), pool="cup", episodes=(episode.id,)
    )
    return match, episode


@pytest.fixture
def cup(own_folder):
    """runs/cup: nine games, each of three having met the next one in turn; rated as agents that don't learn."""
    with Store("runs/cup/store.db") as store:
        for i in range(9):
            match, episode = cards(f"cup-{i}", i, "abc"[i % 3], "bca"[i % 3])
            store.add(match, [episode])
        store.rate(Ratings.rebuild(store.log("cup"), frozen="abc", draws={"kuhn_poker": 0.2}))
    return Path("runs/cup")


def shown(capsys, *words) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def refused(capsys, *words, code=MISUSED) -> str:
    assert main([str(word) for word in words]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


# -- matches and replay --------------------------------------------------------------------------------------------


def test_pages_of_what_was_asked_for_follow_each_other(capsys, cup):
    ask = ("matches", cup, "--where", "agent=a score>0", "--json", "--limit", 2)
    first = json.loads(shown(capsys, *ask))
    assert [match["id"] for match in first] == ["cup-0", "cup-3"]
    rest = json.loads(shown(capsys, *ask, "--after", "cup-3"))
    assert [match["id"] for match in rest] == ["cup-6"]
    assert main(["matches", "runs/cup", "--limit", "2"]) == 0
    assert capsys.readouterr().err == "the next page: --after cup-1\n"


def test_where_tables_can_not_be_written_the_option_for_another_place_is_named(capsys, cup):
    Path("taken").write_text("mine")
    line = refused(capsys, "store", "export", cup, "--out", "taken")
    assert line == "error: can't write: File exists: taken: free some space or give --out\n"
    assert Path("taken").read_text() == "mine"


@pytest.mark.parametrize("limit", [0, -3])
def test_a_page_has_at_least_one_match(capsys, cup, limit):
    assert refused(capsys, "matches", cup, "--limit", limit) == (
        f"error: limit is {limit}: --limit: list at least one\n"
    )


@pytest.mark.parametrize("run", [[], ["runs/cup"]])
def test_terms_that_lost_their_quotes_are_told_how_to_get_them(capsys, cup, run):
    line = refused(capsys, "matches", *run, "--where", "agent=a", "score>0", "turns<=3")
    assert line == "error: 'score>0' is no run: put all terms in quotes: --where 'agent=a score>0 turns<=3'\n"


def test_the_beginning_of_an_id_will_do_where_no_other_begins_so(capsys, cup):
    with Store("runs/cup/store.db") as store:
        store.add(cards("solo-1234567890", 9, "a", "b")[0], [])
        store.add(cards("cup-12", 10, "a", "b")[0], [])
    assert "solo-1234567890" in shown(capsys, "replay", cup, "solo")
    assert "solo-1234567890" in shown(capsys, "replay", "solo-12")
    assert shown(capsys, "replay", cup, "cup-1").startswith("cup-1 ")  # an id is itself, whatever begins with it
    for place in ((), (cup,)):
        line = refused(capsys, "replay", *place, "cup")
        assert "several matches begin with 'cup': cup-0, cup-1: give more of the id" in line


def test_without_a_run_the_one_written_last_is_meant_and_named(capsys, cup):
    with Store("runs/older/store.db") as store:
        store.add(replace(cards("older-1", 1, "x", "y")[0]), [])
    os.utime("runs/older/store.db", (1, 1))
    assert main(["matches", "--where", "id=cup-4"]) == 0
    out, err = capsys.readouterr()
    assert "cup-4" in out
    assert err == "runs/cup/store.db\n"
    assert "older-1" in shown(capsys, "replay", "older-1")  # and a match is found wherever it is


def test_what_is_not_there_is_one_line(capsys, cup):
    assert refused(capsys, "matches", "runs/cpu").startswith(
        "error: there is no store: runs/cpu: did you mean runs/cup?: there are runs/cup"
    )
    assert "match 'cup-77' is in no store of runs/" in refused(capsys, "replay", "cup-77")
    assert "no field 'agnet': --where: did you mean agent?" in refused(capsys, "matches", cup, "--where", "agnet=a")
    assert "match 'cup-77' is not in runs/cup/store.db: did you mean" in refused(
        capsys, "matches", cup, "--after", "cup-77"
    )
    assert "kuhn_poker has no seat 'third_0'" in refused(capsys, "replay", cup, "cup-1", "--pov", "third_0")
    assert "--pov shows one match: name it" in refused(capsys, "replay", cup, "--pov", "first_0")


def test_a_replay_shows_everything_and_touches_no_terminal(capsys, cup):
    out = shown(capsys, "replay", cup, "cup-1")
    assert "first_0 (b): <think>I hold nothing</think>[bet]" in out
    assert "second_0 (c): my secret [fold]" in out
    assert len(re.findall(r"hears: Card: [JQK]", out)) == 2
    assert not set(out) & set("\x1b\x07\u202e")


def test_a_seat_sees_what_it_heard_and_said_and_nothing_else(capsys, cup):
    everything = json.loads(shown(capsys, "replay", cup, "cup-1", "--json"))
    heard = {turn["seat"]: re.findall(r"[JQK]", turn["heard"])[0] for turn in everything[0]["turns"]}
    out = shown(capsys, "replay", "cup-1", "--pov", "first_0")
    assert out.splitlines()[0] == "cup-1 | kuhn_poker | as first_0 lived it"
    assert "first_0 (b): <think>I hold nothing</think>[bet]" in out
    assert out.splitlines()[-1] == "over: first_0 gets 1"
    for secret in ("secret", "second_0 hears", "seed", f"Card: {heard['second_0']}"):
        assert secret not in out
        assert secret not in shown(capsys, "replay", "cup-1", "--pov", "first_0", "--json")
    assert "my secret [fold]" in shown(capsys, "replay", "cup-1", "--pov", "second_0")
    (record,) = json.loads(shown(capsys, "replay", "cup-1", "--pov", "first_0", "--json"))
    assert record["turns"][0]["reply"] == THOUGHT  # for programs the text is as it was said


# -- ratings and pay-off -------------------------------------------------------------------------------------------


def test_the_payoff_that_is_kept_is_what_a_self_join_counts(cup):
    with Store(cup / "store.db") as store:
        store.add(Match("team", "table", (("a", "a"), ("b", "c"), ("d",)), (2.0, 1.0, 2.0), pool="cup"), [])
        store.add(Match("mirror", "nim", (("a",), ("a",)), (1.0, 0.0), pool="cup"), [])
        store.add(Match("broken", "nim", (("a",), ("b",)), (), ending="infra", pool="cup"), [])
        store.add(Match("broken", "nim", (("a",), ("b",)), (0.0, 0.0), pool="cup"), [])
        store.add(Match("cut", "nim", (("a",), ("b",)), (1.0, 0.0), ending="cut_off", pool="cup"), [])
        joined = """
            WITH team AS (SELECT DISTINCT match_id, team, agent, score FROM seat)
            SELECT x.agent, y.agent, sum(x.score > y.score), sum(x.score = y.score), sum(x.score < y.score)
            FROM team x JOIN team y ON x.match_id = y.match_id AND x.team <> y.team JOIN match ON id = x.match_id
            WHERE pool = 'cup' AND ending IN ('over', 'forfeit', 'truncated') AND uid <> 'mirror' GROUP BY 1, 2"""
        counted = {(a, b): tuple(counts) for a, b, *counts in store._base.execute(joined)}
        assert store.payoff("cup") == counted
        assert store.payoff("cup", "table")["a", "d"] == (0, 1, 0)
        assert store.payoff("cup", "nim") == {("a", "b"): (0, 1, 0), ("b", "a"): (0, 1, 0)}
        assert store.payoff("other") == {}
        assert store.check() == []


def test_ratings_are_made_anew_to_the_same_digits_and_a_wrong_one_is_put_right(capsys, cup):
    path = cup / "store.db"
    with Store(path) as store:
        before = {one: store.ratings(*one) for one in store.lists()}
        assert store.rebuild("cup").table("cup") != Ratings.rebuild(store.log("cup")).table("cup")  # the rules matter
    assert shown(capsys, "ratings", "rebuild", cup) == "cup: 9 ratings, the same to the last digit\n"
    with Store(path) as store:
        store._base.execute("UPDATE rating SET mu = mu + 1e-9 WHERE agent = 'a' AND game = ''")
    assert shown(capsys, "ratings", "rebuild", cup) == "cup: 9 ratings, 1 of 3 lists were wrong\n"
    with Store.read(path) as store:
        assert {one: store.ratings(*one) for one in store.lists()} == before


def test_ratings_and_payoff_are_shown(capsys, cup):
    out = shown(capsys, "ratings", "show", cup)
    assert re.search(r"cup +all +a +\d\d\.\d{3}", out)
    assert re.search(r"cup +kuhn_poker +first +b ", out)
    assert re.search(r"cup +a +b +3 +0 +0", out)
    told = json.loads(shown(capsys, "ratings", "show", cup, "--json"))
    assert {"pool": "cup", "agent": "b", "other": "a", "won": 0, "drawn": 0, "lost": 3} in told["payoff"]
    assert sum(rating["game"] == "" for rating in told["ratings"]) == 3


def test_a_tournament_that_was_cut_off_has_ratings_too(capsys, cup):
    """A SIGKILL leaves the rules and the matches, and no snapshot: all that ratings are a function of."""
    whole = shown(capsys, "ratings", "show", cup)
    with Store(cup / "store.db") as store:
        store._base.execute("DELETE FROM rating")
    assert shown(capsys, "ratings", "show", cup) == whole
    assert shown(capsys, "ratings", "rebuild", cup) == "cup: 9 ratings, where there were none yet\n"
    assert shown(capsys, "ratings", "rebuild", cup) == "cup: 9 ratings, the same to the last digit\n"


def test_a_run_without_ratings_has_none_to_rebuild(capsys):
    with Store("run/store.db") as store:
        store.add(cards("x", 1, "a", "b")[0], [])
    assert "run/store.db has no ratings to rebuild" in refused(capsys, "ratings", "rebuild", "run", code=FAILED)


def test_check_says_what_is_wrong_and_ends_with_an_error(capsys, cup):
    assert shown(capsys, "store", "check", cup) == "runs/cup/store.db: 9 matches, nothing is wrong\n"
    with Store(cup / "store.db") as store:
        store._base.execute("UPDATE match SET illegal = 5 WHERE uid = 'cup-3'")
    assert main(["store", "check", "runs/cup"]) == FAILED
    out, err = capsys.readouterr()
    assert out == "match 'cup-3': table match doesn't say what its record and body do\n"
    assert err.startswith("error: runs/cup/store.db has 1 faults")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE rating SET mu = mu + 1e-6 WHERE agent = 'a' AND game = ''", ["wrong about all games in pool 'cup'"]),
        ("UPDATE rating SET matches = 7 WHERE role = 'first'", ["wrong about kuhn_poker as first in pool 'cup'"]),
        ("DELETE FROM rating WHERE agent = 'b' AND role = 'second'", ["wrong about kuhn_poker as second"]),
        ("INSERT INTO rating VALUES('cup', 'chess', '', 'z', 25, 8, 1)", ["wrong about chess in pool 'cup'"]),
        ("UPDATE rule SET draws = '{}'", ["all games", "as first", "as second"]),
        ("UPDATE rule SET frozen = '['", ["doesn't let pool 'cup' be rated"]),
        ("DELETE FROM rule", ["table rule says nothing of pool 'cup'"]),
    ],
)
def test_check_holds_ratings_and_their_rules_against_the_log(cup, change, told):
    with Store(cup / "store.db") as store:
        assert store.check() == []
        store._base.execute(change)
        found = store.check()
    assert len(found) == len(told)
    assert all(part in line for part, line in zip(told, found, strict=True))


def test_a_match_more_takes_the_ratings_that_lack_it_with_it(capsys, cup):
    """What is there is exact, at whatever instant the writer dies."""
    with Store(cup / "store.db") as store:
        match, episode = cards("cup-9", 9, "a", "b")
        store.add(match, [episode])
        assert store.lists() == []
        assert store.check() == []
        store.rate(store.rebuild("cup"))
        assert store.check() == []
        assert {rating.agent: rating.matches for rating in store.ratings("cup")} == {"a": 7, "b": 7, "c": 6}


# -- tasks and Parquet ---------------------------------------------------------------------------------------------


def entries():
    parent = Task.new("1 + 1 = ", author="proposer", answer="2")
    child = Task.new("half a pair: \ud800", parents=(parent.id,), answer="3")
    refused = Entry(parent, "refused", 4, gate="duplicate", reason=f"the same as {parent.id}")
    return [Entry(parent, "active", 1, tried=4.0, solved=1.0, seen=4), Entry(child, "admitted", 2), refused]


def test_tasks_are_brought_up_to_date_and_what_was_refused_stays():
    first, second, refused = entries()
    edge = (first.task.id, second.task.id)
    with Store("store.db") as store:
        store.keep("run", [replace(first, state="admitted", seen=0), refused], [])
        store.keep("run", [first, second], [edge])  # the refused one is forgotten by now
        store.keep("run", [first, second], [edge])
        assert store.tasks("run") == [first, second, refused]
        assert store.lineage("run") == [edge]
        assert store.tasks("other") == store.lineage("other") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE task SET step = 7 WHERE state = 'active'", "table task doesn't say what its record does"),
        ("UPDATE task SET state = 'retired' WHERE state = 'active'", "table task doesn't say what its record does"),
        ("UPDATE task SET record = replace(record, '1 + 1', '1 + 2') WHERE state = 'active'", "table task doesn't say"),
        ("UPDATE task SET record = '{}' WHERE gate = 'duplicate'", "record that can't be read"),
        ("INSERT INTO task_edge VALUES('run', 'x', 'y')", "table task_edge has 'x' for a parent of 'y'"),
        ("UPDATE task_edge SET parent = child", "table task_edge has"),
    ],
)
def test_check_holds_tasks_and_lineage_against_their_records(change, told):
    first, second, refused = entries()
    orphan = Entry(replace(second.task, parents=()), "refused", 1, gate="cluster")
    with Store("store.db") as store:
        store.keep("run", [first, second, refused, orphan], [(first.task.id, second.task.id)])
        assert store.check() == []
        store._base.execute(change)
        (found,) = store.check()
    assert told in found


def test_parquet_says_what_the_store_does(capsys, cup):
    tables = importlib.import_module("pyarrow.parquet")
    told = Match("odd", "nim", (("a",), ("b",)), (), ending="infra", fault="b", reason="half \ud800")
    with Store(cup / "store.db") as store:
        store.add(told, [])
        store.keep("run", entries(), [("t", "u")])
        log = list(store.whole())
    out = shown(capsys, "store", "export", cup, "--out", "out")
    assert "out/matches.parquet: 10 rows\n" in out
    assert "out/turns.parquet: 18 rows\n" in out
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(f"{name}.parquet" for name in parquet.COLUMNS)
    read = {name: tables.read_table(f"out/{name}.parquet").to_pylist() for name in parquet.COLUMNS}
    assert [(row["id"], row["game"], row["ending"], row["turns"]) for row in read["matches"]] == [
        (match.id, match.game, match.ending, sum(len(e.turns) for e in episodes)) for match, episodes in log
    ]
    assert read["matches"][-1]["reason"] == "half \\ud800"
    assert [(row["match"], row["agent"], row["role"], row["score"]) for row in read["seats"][:-2]] == [
        (match.id, team[0], role[0], score)
        for match, _ in log[:-1]
        for team, role, score in zip(match.teams, match.roles, match.scores, strict=True)
    ]
    assert read["seats"][-1]["score"] is None
    assert [
        {key: row[key] for key in ("seat", "stage", "heard", "reply", "move", "legal", "reason")}
        for row in read["turns"]
    ] == [
        {key: getattr(turn, key) for key in ("seat", "stage", "heard", "reply", "move", "legal", "reason")}
        for _, episodes in log
        for episode in episodes
        for turn in episode.turns
    ]
    assert [row["reward"] for row in read["turns"]][:2] == [0.0, -1.0]
    assert [(row["state"], row["gate"], row["seen"]) for row in read["tasks"]] == [
        ("active", "", 4), ("admitted", "", 0), ("refused", "duplicate", 0)
    ]  # fmt: skip
    assert json.loads(read["tasks"][0]["payload"]) == {"answer": "2"}
    assert read["lineage"] == [{"run": "run", "parent": "t", "child": "u"}]


def test_groups_of_rows_follow_each_other(cup, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP", 4)
    with Store.read(cup / "store.db") as store:
        assert parquet.write(store, Path("out")) == {"matches": 9, "seats": 18, "turns": 18, "tasks": 0, "lineage": 0}
    file = importlib.import_module("pyarrow.parquet").ParquetFile("out/matches.parquet")
    assert file.num_row_groups == 3
    assert file.read().column("id").to_pylist() == [f"cup-{i}" for i in range(9)]


def test_without_pyarrow_there_is_one_line(capsys, cup, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = refused(capsys, "store", "export", cup, "--out", "out", code=FAILED)
    assert line == "error: pyarrow is not installed: it belongs to the extra 'board': pip install 'scrimmage[board]'\n"
    assert list(Path("out").iterdir()) == []

"""A file of the first version becomes what this version would have written."""

import sqlite3
from pathlib import Path

import pytest

from arena.cli import MISUSED, main
from arena.ratings import Ratings
from arena.schema import MIGRATIONS
from arena.store import Store

FIRST = (Path(__file__).parent / "store_v1.sql").read_text()


@pytest.fixture
def old(own_folder):
    """Four matches of a cup as the first version left them; one broke off, one had two games, one three teams."""
    with sqlite3.connect("old.db") as base:
        base.executescript(FIRST)
    base.close()
    return Path("old.db")


def dump(path):
    with sqlite3.connect(path) as base:
        return [*base.iterdump(), base.execute("PRAGMA user_version").fetchone()]


def test_it_is_what_this_version_would_have_written(old):
    with Store(old) as store, Store("new.db") as anew:
        anew.start("cup", "tournament", {"rounds": 2})
        anew.metric("cup", 1, {"loss": 0.5})
        anew.event("cup", "done", {"why": "over"}, step=1)
        for match, episodes in store.whole():
            anew.add(match, episodes)
        anew.rate(Ratings.rebuild(anew.log("cup"), frozen=("ann", "bob", "cid", "dan")))
        assert store.check() == anew.check() == []
        assert store.payoff("cup", "kuhn_poker") == {("ann", "bob"): (1, 1, 0), ("bob", "ann"): (0, 1, 1)}
        assert store.payoff("cup")["ann", "dan"] == (0, 1, 0)
        assert store.match("cup-1")[1][1].turns[-1].reply == "[call]"

    def plain(path):
        return [line for line in dump(path) if 'INTO "body"' not in line]  # its frames had no checksum then

    assert plain(old) == plain("new.db")
    assert len([line for line in dump(old) if 'INTO "body"' in line]) == 4


def test_its_ratings_are_rebuilt_to_the_same_digits(old, capsys):
    assert main(["ratings", "rebuild", str(old)]) == 0
    assert capsys.readouterr().out == "cup: 12 ratings, the same to the last digit\n"


def test_who_only_looks_is_told_how_to_bring_it_up_to_date(old, capsys):
    assert main(["matches", str(old)]) == MISUSED
    line = "old.db is a store of version 1, this is version 2: bring it up to date: scrimmage store update old.db"
    assert capsys.readouterr().err == f"error: {line}\n"
    assert main(["store", "update", "old.db"]) == 0
    assert main(["matches", "old.db", "--where", "turns>2"]) == 0
    assert "cup-1  kuhn_poker  bob - ann" in capsys.readouterr().out


def test_a_damaged_match_stops_it_and_the_file_stays_as_it_was(old):
    with sqlite3.connect(old) as base:
        base.execute("UPDATE body SET zstd = x'00' WHERE match_id = 2")
    base.close()
    before = dump(old)
    with pytest.raises(ValueError, match="match 'cup-1' is damaged: its body can't be read"):
        Store(old)
    assert dump(old) == before


def test_a_database_of_something_else_is_refused_and_stays_as_it_is():
    with sqlite3.connect("mail.db") as base:
        base.execute("CREATE TABLE letter(text TEXT)")
    base.close()
    before = dump("mail.db")
    for door in (Store, Store.read):
        with pytest.raises(ValueError, match=r"mail\.db is not a store, but a database of something else"):
            door("mail.db")
    assert dump("mail.db") == before


def test_an_empty_file_is_called_empty_and_never_adopted(capsys):
    Path("touched").touch()
    for verb in (["matches"], ["store", "check"], ["store", "update"], ["ratings", "show"]):
        assert main([*verb, "touched"]) == MISUSED
        assert "empty, so it is no store" in capsys.readouterr().err
    assert Path("touched").stat().st_size == 0


def test_the_first_schema_is_never_edited(old):
    with sqlite3.connect("fresh.db") as base:
        base.executescript(MIGRATIONS[0])
    schema = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    assert sqlite3.connect("fresh.db").execute(schema).fetchall() == sqlite3.connect(old).execute(schema).fetchall()

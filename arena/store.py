"""The store of a run: one SQLite file, one writer, many readers."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from arena import integrity
from arena import ratings as rating_room
from arena.body import dumps, pack, unpack
from arena.curriculum import Entry
from arena.ratings import Rating, Ratings
from arena.rows import Rows
from arena.schema import DERIVING, MIGRATIONS
from arena.sqlite import PATIENCE, StoreBusy, named, seize
from arena.types import Episode, Match
from arena.where import Term, parse, query

__all__ = ["Met", "Store", "StoreBusy"]


class Met(NamedTuple):
    """How often an agent won, drew and lost against another one."""

    won: int
    drawn: int
    lost: int


class Store:
    """Matches, episodes, ratings, metrics and events of a run.

    `Store(path)` is the one writer: a second one is refused with `StoreBusy`. `Store.read(path)` looks on, also while
    somebody writes. Every call is one transaction: what it wrote survives the death of the process at any later instant
    (a power failure may take the last moments), and a call that fails has written nothing; a full disk is an OSError.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = seize(self.path)
        try:
            with named(self.path):
                self._base = sqlite3.connect(self.path, isolation_level=None, timeout=PATIENCE)
                self._open()
        except BaseException:
            self._release()
            raise

    @classmethod
    def read(cls, path: str | Path) -> Store:
        """Open for reading only. Raises FileNotFoundError if there is no store."""
        self = cls.__new__(cls)
        self.path, self._lock = Path(path), None
        if not self.path.is_file():
            raise FileNotFoundError(errno.ENOENT, "there is no store: name the store.db of a run", str(path))
        uri = self.path.resolve().as_uri() + "?mode=ro"
        if not os.access(self.path.parent, os.W_OK) and not self.path.with_name(f"{self.path.name}-wal").exists():
            uri += "&immutable=1"  # a reader of a live file needs to write its place beside it; here nobody can
        with named(self.path):
            self._base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE)
            try:
                if self._version() != len(MIGRATIONS):
                    self._refuse_version()
            except BaseException:
                self._base.close()
                raise
        return self

    # -- opening and closing ---------------------------------------------------------------------------------------

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> None:
        version = self._version()
        if version > len(MIGRATIONS):
            self._refuse_version()
        if not version and self._base.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._refuse_version()
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute("PRAGMA foreign_keys=ON")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            with self._writing():
                for statement in script.split(";"):
                    self._base.execute(statement)
                if number in DERIVING:
                    self._derive()
                self._base.execute(f"PRAGMA user_version={number}")

    def _derive(self) -> None:
        """Fill what version 2 made of matches that are there already."""
        for number, match, episodes in integrity.matches(self._base):
            self._count(number, Rows.of(match, episodes))

    def _version(self) -> int:
        return int(self._base.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_version(self) -> None:
        version = self._version()
        if not version:
            tables = self._base.execute("SELECT 1 FROM sqlite_master").fetchone()
            what = "is not a store, but a database of something else" if tables else "is empty, so it is no store"
            raise ValueError(f"{self.path} {what}: name another file")
        remedy = (
            "update scrimmage"
            if version > len(MIGRATIONS)
            else f"bring it up to date: scrimmage store update {self.path}"
        )
        raise ValueError(f"{self.path} is a store of version {version}, this is version {len(MIGRATIONS)}: {remedy}")

    def close(self) -> None:
        self._base.close()
        self._release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """All of the block or nothing of it."""
        with named(self.path):
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            finally:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")

    def add(self, match: Match, episodes: Sequence[Episode]) -> bool:
        """Store a match with its episodes; False if it is there already.

        An infra match gives way to the same match played again. The ratings of the pool, which a new match makes out of
        date, are gone with it until `rate` brings the next. Raises ValueError, and writes nothing, for a match that
        ratings would refuse, and for an id that another match has.
        """
        rating_room.check(match)
        record = dumps(match.to_json())
        with self._writing():
            there = self._base.execute("SELECT id, ending, record FROM match WHERE uid=?", (match.id,)).fetchone()
            if there is not None and there[1] == "infra" and match.ending != "infra":
                self._base.execute("DELETE FROM match WHERE id=?", (there[0],))
            elif there is not None:
                if there[2] != record and match.ending != "infra":
                    raise ValueError(
                        f"match id {match.id!r} is in {self.path} with another content: ids must be unique"
                    )
                return False
            rows = Rows.of(match, episodes)
            number = self._base.execute(
                "INSERT INTO match(uid, pool, game, ending, record) VALUES(?,?,?,?,?)",
                (match.id, match.pool, match.game, match.ending, record),
            ).lastrowid
            assert number is not None  # an INSERT that didn't raise has one
            self._base.execute("INSERT INTO body VALUES(?,?)", (number, pack(episodes)))
            self._base.executemany("INSERT INTO seat VALUES(?,?,?,?,?,?)", [(number, *row) for row in rows.seats])
            self._base.executemany("INSERT INTO turn VALUES(?,?,?,?,?,?,?,?)", [(number, *row) for row in rows.turns])
            self._count(number, rows)
            self._base.execute("DELETE FROM rating WHERE pool=?", (match.pool,))
        return True

    def _count(self, number: int, rows: Rows) -> None:
        self._base.execute("UPDATE match SET turns=?, illegal=?, tokens=? WHERE id=?", (*rows.counts, number))
        self._base.executemany("INSERT INTO faced VALUES(?,?)", [(task, number) for task in rows.faced])
        self._base.executemany(
            "INSERT INTO payoff VALUES(?,?,?,?,?,?,?) ON CONFLICT DO UPDATE "
            "SET won=won+excluded.won, drawn=drawn+excluded.drawn, lost=lost+excluded.lost",
            rows.payoff,
        )

    def start(self, run: str, kind: str = "train", config: Mapping[str, Any] | None = None) -> None:
        """Note a run; one of that name is overwritten, and keeps its metrics and events."""
        with self._writing():
            self._base.execute(
                "INSERT INTO run VALUES(?1,?2,?3) ON CONFLICT(name) DO UPDATE SET kind=?2, config=?3",
                (run, kind, dumps(dict(config or {}))),
            )

    def metric(self, run: str, step: int, values: Mapping[str, float]) -> None:
        """Store the metrics of a step; a step that is run again replaces what it said before, key by key."""
        rows = []
        for key, value in values.items():
            if isinstance(value, str) or value is None:
                raise ValueError(f"metric {key!r} of {run!r} at step {step} is {value!r}: it must be a number")
            rows.append((run, step, key, float(value)))
        with self._writing():
            self._base.execute("INSERT OR IGNORE INTO run VALUES(?,'train','{}')", (run,))
            self._base.executemany("INSERT OR REPLACE INTO metric VALUES(?,?,?,?)", rows)

    def event(self, run: str, kind: str, content: Mapping[str, Any], step: int | None = None) -> None:
        """Note that something happened; `content` is JSON."""
        with self._writing():
            self._base.execute("INSERT OR IGNORE INTO run VALUES(?,'train','{}')", (run,))
            self._base.execute(
                "INSERT INTO event(run, step, kind, content) VALUES(?,?,?,?)", (run, step, kind, dumps(dict(content)))
            )

    def rule(self, pool: str, frozen: Iterable[str], draws: Mapping[str, float]) -> None:
        """Note by which rules the matches of a pool are rated, so that ratings can be made of whatever is stored."""
        with self._writing():
            self._rule(pool, frozen, draws)

    def _rule(self, pool: str, frozen: Iterable[str], draws: Mapping[str, float]) -> None:
        rules = dumps(sorted(frozen)), dumps(dict(draws))
        self._base.execute("INSERT OR REPLACE INTO rule VALUES(?,?,?)", (pool, *rules))

    def rate(self, ratings: Ratings) -> None:
        """Replace the snapshot of every list that `ratings` has, tasks included, and note the rules it was made by."""
        with self._writing():
            for pool, game, role in ratings.lists():
                self._rule(pool, ratings.frozen, ratings.draws)
                self._base.execute("DELETE FROM rating WHERE pool=? AND game=? AND role=?", (pool, game, role))
                self._base.executemany(
                    "INSERT INTO rating VALUES(?,?,?,?,?,?,?)",
                    [(pool, game, role, *vars(r).values()) for r in ratings.table(pool, game, role, tasks=True)],
                )

    def keep(self, run: str, entries: Iterable[Entry], edges: Iterable[tuple[str, str]]) -> None:
        """Store tasks as a curriculum has them now, and who descends from whom as (parent, child).

        A task that was kept before is brought up to date; what the curriculum has forgotten stays.
        """
        rows = [
            (run, e.task.id, e.step, e.gate if e.state == "refused" else "", e.state, dumps(e.to_json()))
            for e in entries
        ]
        with self._writing():
            self._base.execute("INSERT OR IGNORE INTO run VALUES(?,'train','{}')", (run,))
            self._base.executemany("INSERT OR REPLACE INTO task VALUES(?,?,?,?,?,?)", rows)
            self._base.executemany("INSERT OR IGNORE INTO task_edge VALUES(?,?,?)", [(run, *edge) for edge in edges])

    # -- reading ---------------------------------------------------------------------------------------------------

    def matches(self, where: str | Sequence[Term] = "", after: str | None = None, limit: int = 100) -> list[Match]:
        """A page of the matches that `where` (see `arena.where`) holds for, in the order they were stored.

        The next page comes `after` the id of the last one.
        """
        text, values = query(parse(where) if isinstance(where, str) else where, "m.record")
        last = self._number(after) if after is not None else 0
        with named(self.path):
            rows = self._base.execute(text, (*values, last, limit)).fetchall()
        return [Match.from_json(json.loads(record)) for (record,) in rows]

    def log(self, pool: str | None = None) -> Iterator[Match]:
        """Every match in the order of its id, whichever was finished first: the log that ratings are a function of."""
        query, last = "SELECT uid, record FROM match WHERE uid > ? AND (pool = ? OR ?) ORDER BY uid LIMIT 1000", ""
        while True:
            with named(self.path):
                page = self._base.execute(query, (last, pool, pool is None)).fetchall()
            if not page:
                return
            yield from (Match.from_json(json.loads(record)) for _, record in page)
            last = page[-1][0]

    def match(self, id: str) -> tuple[Match, tuple[Episode, ...]]:
        """One match with all that was said in it, by its id or as much of that as no other begins with."""
        number = self._number(id)
        query = "SELECT record, zstd FROM match LEFT JOIN body ON match_id = id WHERE id = ?"
        with named(self.path):
            record, body = self._base.execute(query, (number,)).fetchone()
        try:
            return Match.from_json(json.loads(record)), unpack(body)
        except ValueError as error:
            raise ValueError(f"match {id!r} of {self.path} is damaged: {error}") from error

    def whole(self) -> Iterator[tuple[Match, tuple[Episode, ...]]]:
        """Every match with all that was said in it, in the order they were stored."""
        with named(self.path):
            yield from ((match, episodes) for _, match, episodes in integrity.matches(self._base))

    def _number(self, id: str) -> int:
        """The number of the match of this id, or of the only one whose id begins so."""
        begin = "SELECT id, uid FROM match WHERE uid >= ? AND substr(uid, 1, ?) = ? ORDER BY uid LIMIT 2"
        with named(self.path):
            row = self._base.execute("SELECT id FROM match WHERE uid=?", (id,)).fetchone()
            if row is None and id:
                row, *others = self._base.execute(begin, (id, len(id), id)).fetchall() or [None]
                if others:
                    raise ValueError(
                        f"several matches begin with {id!r}: {row[1]}, {others[0][1]}: give more of the id"
                    )
            if row is None:
                known = [uid for (uid,) in self._base.execute("SELECT uid FROM match ORDER BY id DESC LIMIT 1000")]
                near = difflib.get_close_matches(id, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else "list them with matches()"
                raise KeyError(f"match {id!r} is not in {self.path}: {hint}")
        return int(row[0])

    def count(self) -> int:
        """How many matches there are."""
        with named(self.path):
            return int(self._base.execute("SELECT count(*) FROM match").fetchone()[0])

    def runs(self) -> dict[str, dict[str, Any]]:
        """Kind and config of every run, by its name."""
        with named(self.path):
            rows = self._base.execute("SELECT name, kind, config FROM run ORDER BY name")
            return {name: {"kind": kind, "config": json.loads(config)} for name, kind, config in rows}

    def metrics(self, run: str) -> dict[int, dict[str, float]]:
        """What `metric` was given, by step; NaN stays NaN."""
        steps: dict[int, dict[str, float]] = {}
        query = "SELECT step, key, value FROM metric WHERE run=? ORDER BY step, key"
        with named(self.path):
            for step, key, value in self._base.execute(query, (run,)):
                steps.setdefault(step, {})[key] = math.nan if value is None else value
        return steps

    def events(self, run: str) -> list[tuple[int | None, str, dict[str, Any]]]:
        """(step, kind, content) of every event, in order."""
        with named(self.path):
            rows = self._base.execute("SELECT step, kind, content FROM event WHERE run=? ORDER BY id", (run,))
            return [(step, kind, json.loads(content)) for step, kind, content in rows]

    def ratings(self, pool: str = "main", game: str = "", role: str = "", *, tasks: bool = False) -> list[Rating]:
        """A list of the last snapshot, as `Ratings.table` gave it."""
        query = "SELECT agent, mu, sigma, matches FROM rating WHERE pool=? AND game=? AND role=?"
        with named(self.path):
            found = [Rating(*row) for row in self._base.execute(query, (pool, game, role))]
        return rating_room.ordered(found, tasks=tasks)

    def lists(self) -> list[tuple[str, str, str]]:
        """The (pool, game, role) of every list of the last snapshot, as `Ratings.lists` gave them."""
        with named(self.path):
            return self._base.execute("SELECT DISTINCT pool, game, role FROM rating ORDER BY 1, 2, 3").fetchall()

    def rated(self) -> list[str]:
        """The pools whose matches are rated, also before the first snapshot of them."""
        with named(self.path):
            return [pool for (pool,) in self._base.execute("SELECT pool FROM rule ORDER BY pool")]

    def rebuild(self, pool: str) -> Ratings:
        """The ratings of a pool made anew from the log, by the rules that its snapshot was made by."""
        with named(self.path):
            return integrity.rebuild(self._base, pool)

    def payoff(self, pool: str = "main", game: str | None = None) -> dict[tuple[str, str], Met]:
        """How every agent fared against every other one, in one game or over all; mirror matches don't count."""
        query = """SELECT agent, other, sum(won), sum(drawn), sum(lost) FROM payoff
            WHERE pool = ?1 AND (game = ?2 OR ?2 IS NULL) GROUP BY agent, other ORDER BY agent, other"""
        with named(self.path):
            return {(agent, other): Met(*counts) for agent, other, *counts in self._base.execute(query, (pool, game))}

    def tasks(self, run: str) -> list[Entry]:
        """Every task that a run kept, the refused ones too, in the order they came."""
        with named(self.path):
            rows = self._base.execute("SELECT record FROM task WHERE run=? ORDER BY step, id, gate", (run,))
            return [Entry.from_json(json.loads(record)) for (record,) in rows]

    def lineage(self, run: str) -> list[tuple[str, str]]:
        """(parent, child) of every task that has parents."""
        with named(self.path):
            return self._base.execute(
                "SELECT parent, child FROM task_edge WHERE run=? ORDER BY 1, 2", (run,)
            ).fetchall()

    def check(self) -> list[str]:
        """What is wrong with the file, in words; an empty list if nothing is. Reads and decodes everything."""
        return integrity.problems(self._base)

"""The store of a run: one SQLite file, one writer, many readers."""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import zstandard

from arena import ratings as rating_room
from arena.ratings import Rating, Ratings
from arena.types import Episode, Match

# One script a version; a file of an older version goes through those that it lacks. Never edit one that was released.
MIGRATIONS = (
    """
    CREATE TABLE run(name TEXT PRIMARY KEY, kind TEXT NOT NULL, config TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE match(
      id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, pool TEXT NOT NULL, game TEXT NOT NULL, ending TEXT NOT NULL,
      record TEXT NOT NULL) STRICT;
    CREATE INDEX match_pool ON match(pool, id);
    CREATE TABLE body(match_id INTEGER PRIMARY KEY REFERENCES match(id) ON DELETE CASCADE, zstd BLOB NOT NULL) STRICT;
    CREATE TABLE seat(
      match_id INTEGER NOT NULL REFERENCES match(id) ON DELETE CASCADE, team INTEGER NOT NULL, member INTEGER NOT NULL,
      agent TEXT NOT NULL, role TEXT NOT NULL, score REAL, PRIMARY KEY(match_id, team, member)) STRICT, WITHOUT ROWID;
    CREATE INDEX seat_agent ON seat(agent, match_id);
    CREATE TABLE turn(
      match_id INTEGER NOT NULL REFERENCES match(id) ON DELETE CASCADE,
      episode INTEGER NOT NULL, number INTEGER NOT NULL, stage INTEGER NOT NULL, seat INTEGER NOT NULL,
      legal INTEGER NOT NULL, reward REAL NOT NULL, tokens INTEGER NOT NULL,
      PRIMARY KEY(match_id, episode, number)) STRICT, WITHOUT ROWID;
    CREATE TABLE rating(
      pool TEXT NOT NULL, game TEXT NOT NULL, role TEXT NOT NULL, agent TEXT NOT NULL, mu REAL NOT NULL,
      sigma REAL NOT NULL, matches INTEGER NOT NULL, PRIMARY KEY(pool, game, role, agent)) STRICT, WITHOUT ROWID;
    CREATE TABLE metric(
      run TEXT NOT NULL REFERENCES run(name), step INTEGER NOT NULL, key TEXT NOT NULL, value REAL,
      PRIMARY KEY(run, step, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE event(
      id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(name), step INTEGER, kind TEXT NOT NULL,
      content TEXT NOT NULL) STRICT;
    """,
)


class StoreBusy(OSError):
    """Another process is writing to the store."""


class Store:
    """Matches, episodes, ratings, metrics and events of a run.

    `Store(path)` is the one writer: a second one is refused with `StoreBusy`. `Store.read(path)` looks on, also while
    somebody writes. Every call is one transaction: what it wrote survives the death of the process at any later instant
    (a power failure may take the last moments), and a call that fails has written nothing; a full disk is an OSError.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = self._seize()
        try:
            self._base = sqlite3.connect(self.path, isolation_level=None, timeout=10)
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
        self._base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
        with self._named():
            if self._version() != len(MIGRATIONS):
                self._refuse_version()
        return self

    # -- opening and closing ---------------------------------------------------------------------------------------

    def _seize(self) -> int:
        """Hold the lock file, or raise `StoreBusy`; the lock goes with the process, however it ends."""
        lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise StoreBusy(
                errno.EBUSY,
                f"process {owner} is writing to it: wait for it, or look on with Store.read",
                str(self.path),
            ) from error
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        return lock

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> None:
        with self._named():
            version = self._version()
            if version > len(MIGRATIONS):
                self._refuse_version()
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=NORMAL")
            self._base.execute("PRAGMA foreign_keys=ON")
            for number in range(version, len(MIGRATIONS)):
                with self._writing():
                    for statement in MIGRATIONS[number].split(";"):
                        self._base.execute(statement)
                    self._base.execute(f"PRAGMA user_version={number + 1}")

    def _version(self) -> int:
        return int(self._base.execute("PRAGMA user_version").fetchone()[0])

    def _refuse_version(self) -> None:
        version = self._version()
        remedy = (
            "update scrimmage" if version > len(MIGRATIONS) else "open it once for writing, which brings it up to date"
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
    def _named(self) -> Iterator[None]:
        """Errors of SQLite, with the file and what can be done."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_FULL:
                message = (
                    "no space to write to the store; all that was written before is safe: free some space, run again"
                )
                raise OSError(errno.ENOSPC, message, str(self.path)) from error
            if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
                raise OSError(errno.EIO, f"the store can't be read or written: {error}", str(self.path)) from error
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise ValueError(f"{self.path} is not a store, or damaged: {error}; name another file") from error
            if code == sqlite3.SQLITE_READONLY:
                raise PermissionError(errno.EACCES, "the store is open for reading only", str(self.path)) from error
            raise

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """All of the block or nothing of it."""
        with self._named():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            finally:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")

    def add(self, match: Match, episodes: Sequence[Episode]) -> bool:
        """Store a match with its episodes; False if it is there already.

        An infra match gives way to the same match played again. Raises ValueError, and writes nothing, for a match that
        ratings would refuse, and for an id that another match has.
        """
        rating_room.check(match)
        record = _dumps(match.to_json())
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
            number = self._base.execute(
                "INSERT INTO match(uid, pool, game, ending, record) VALUES(?,?,?,?,?)",
                (match.id, match.pool, match.game, match.ending, record),
            ).lastrowid
            body = zstandard.compress(_dumps([episode.to_json() for episode in episodes]).encode(), 3)
            self._base.execute("INSERT INTO body VALUES(?,?)", (number, body))
            self._base.executemany("INSERT INTO seat VALUES(?,?,?,?,?,?)", _seats(number, match))
            self._base.executemany("INSERT INTO turn VALUES(?,?,?,?,?,?,?,?)", _turns(number, episodes))
        return True

    def start(self, run: str, kind: str = "train", config: Mapping[str, Any] | None = None) -> None:
        """Note a run; one of that name is overwritten, and keeps its metrics and events."""
        with self._writing():
            self._base.execute(
                "INSERT INTO run VALUES(?1,?2,?3) ON CONFLICT(name) DO UPDATE SET kind=?2, config=?3",
                (run, kind, _dumps(dict(config or {}))),
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
                "INSERT INTO event(run, step, kind, content) VALUES(?,?,?,?)", (run, step, kind, _dumps(dict(content)))
            )

    def rate(self, ratings: Ratings) -> None:
        """Replace the snapshot of every list that `ratings` has, tasks included."""
        with self._writing():
            for pool, game, role in ratings.lists():
                self._base.execute("DELETE FROM rating WHERE pool=? AND game=? AND role=?", (pool, game, role))
                self._base.executemany(
                    "INSERT INTO rating VALUES(?,?,?,?,?,?,?)",
                    [(pool, game, role, *vars(r).values()) for r in ratings.table(pool, game, role, tasks=True)],
                )

    # -- reading ---------------------------------------------------------------------------------------------------

    def matches(
        self,
        pool: str | None = None,
        after: str | None = None,
        limit: int = 100,
        *,
        game: str | None = None,
        agent: str | None = None,
        ending: str | None = None,
    ) -> list[Match]:
        """A page of matches in the order they were stored; the next page comes `after` the id of the last one."""
        terms = ["id > ?"]
        values: list[int | str] = [self._number(after) if after is not None else 0]
        for column, value in (("pool", pool), ("game", game), ("ending", ending)):
            if value is not None:
                terms.append(f"{column} = ?")
                values.append(value)
        if agent is not None:
            terms.append("id IN (SELECT match_id FROM seat WHERE agent = ?)")
            values.append(agent)
        query = f"SELECT record FROM match WHERE {' AND '.join(terms)} ORDER BY id LIMIT ?"
        with self._named():
            return [Match.from_json(json.loads(row[0])) for row in self._base.execute(query, (*values, limit))]

    def log(self, pool: str | None = None) -> Iterator[Match]:
        """Every match in the order of its id, whichever was finished first: the log that ratings are a function of."""
        query, last = "SELECT uid, record FROM match WHERE uid > ? AND (pool = ? OR ?) ORDER BY uid LIMIT 1000", ""
        while True:
            with self._named():
                page = self._base.execute(query, (last, pool, pool is None)).fetchall()
            if not page:
                return
            yield from (Match.from_json(json.loads(record)) for _, record in page)
            last = page[-1][0]

    def match(self, id: str) -> tuple[Match, tuple[Episode, ...]]:
        """One match with all that was said in it."""
        number = self._number(id)
        query = "SELECT record, zstd FROM match JOIN body ON match_id = id WHERE id = ?"
        with self._named():
            record, body = self._base.execute(query, (number,)).fetchone()
        episodes = json.loads(zstandard.decompress(body))
        return Match.from_json(json.loads(record)), tuple(Episode.from_json(episode) for episode in episodes)

    def _number(self, id: str) -> int:
        with self._named():
            row = self._base.execute("SELECT id FROM match WHERE uid=?", (id,)).fetchone()
            if row is None:
                known = [uid for (uid,) in self._base.execute("SELECT uid FROM match ORDER BY id DESC LIMIT 1000")]
                near = difflib.get_close_matches(id, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else "list them with matches()"
                raise KeyError(f"match {id!r} is not in {self.path}: {hint}")
        return int(row[0])

    def runs(self) -> dict[str, dict[str, Any]]:
        """Kind and config of every run, by its name."""
        with self._named():
            rows = self._base.execute("SELECT name, kind, config FROM run ORDER BY name")
            return {name: {"kind": kind, "config": json.loads(config)} for name, kind, config in rows}

    def metrics(self, run: str) -> dict[int, dict[str, float]]:
        """What `metric` was given, by step; NaN stays NaN."""
        steps: dict[int, dict[str, float]] = {}
        query = "SELECT step, key, value FROM metric WHERE run=? ORDER BY step, key"
        with self._named():
            for step, key, value in self._base.execute(query, (run,)):
                steps.setdefault(step, {})[key] = math.nan if value is None else value
        return steps

    def events(self, run: str) -> list[tuple[int | None, str, dict[str, Any]]]:
        """(step, kind, content) of every event, in order."""
        with self._named():
            rows = self._base.execute("SELECT step, kind, content FROM event WHERE run=? ORDER BY id", (run,))
            return [(step, kind, json.loads(content)) for step, kind, content in rows]

    def ratings(self, pool: str = "main", game: str = "", role: str = "", *, tasks: bool = False) -> list[Rating]:
        """A list of the last snapshot, as `Ratings.table` gave it."""
        query = "SELECT agent, mu, sigma, matches FROM rating WHERE pool=? AND game=? AND role=?"
        with self._named():
            found = [Rating(*row) for row in self._base.execute(query, (pool, game, role))]
        return rating_room.ordered(found, tasks=tasks)

    def check(self) -> list[str]:
        """What is wrong with the file, in words; an empty list if nothing is. Reads and decodes everything."""
        with self._named():
            problems = [row[0] for row in self._base.execute("PRAGMA integrity_check") if row[0] != "ok"]
            problems += [f"{row[0]} names a missing {row[2]}" for row in self._base.execute("PRAGMA foreign_key_check")]
            for uid, body in self._base.execute("SELECT uid, zstd FROM match LEFT JOIN body ON match_id = id"):
                try:
                    json.loads(zstandard.decompress(body or b""))
                except (zstandard.ZstdError, ValueError) as error:
                    problems.append(f"match {uid!r} has no readable body: {error}")
        return problems


def _dumps(record: Any) -> str:
    return json.dumps(record, separators=(",", ":"))  # as ASCII: a model may say half of a surrogate pair


def _seats(number: int | None, match: Match) -> Iterator[tuple[Any, ...]]:
    roles = match.roles or tuple(("",) * len(team) for team in match.teams)
    scores = match.scores or (None,) * len(match.teams)
    for t, (team, told, score) in enumerate(zip(match.teams, roles, scores, strict=True)):
        yield from ((number, t, i, agent, told[i], score) for i, agent in enumerate(team))


def _turns(number: int | None, episodes: Sequence[Episode]) -> Iterator[tuple[Any, ...]]:
    """The numbers of every turn; `seat` counts in the order of the episode's agents, `reward` is the speaker's own."""
    for e, episode in enumerate(episodes):
        places = {seat: i for i, seat in enumerate(episode.agents)}
        for t, turn in enumerate(episode.turns):
            reward, tokens = turn.rewards.get(turn.seat, 0.0), turn.span[1] - turn.span[0]
            yield number, e, t, turn.stage, places[turn.seat], int(turn.legal), float(reward), tokens

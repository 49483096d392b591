"""Whether a store's file is whole, and its tables say what its matches do."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator

from arena.body import unpack
from arena.curriculum import Entry
from arena.ratings import Ratings
from arena.rows import Row, Rows
from arena.types import Episode, Match, Task

PAGE = 200  # matches read at once
MATCH = "SELECT uid, pool, game, ending, turns, illegal, tokens FROM match WHERE id = ?"
SEAT = "SELECT team, member, agent, role, score FROM seat WHERE match_id = ? ORDER BY team, member"
TURN = (
    "SELECT episode, number, stage, seat, legal, reward, tokens FROM turn WHERE match_id = ? ORDER BY episode, number"
)
FACED = "SELECT task FROM faced WHERE match_id = ? ORDER BY task"


def problems(base: sqlite3.Connection) -> list[str]:
    """What is wrong, in words; an empty list if nothing is. Reads and decodes everything."""
    try:
        found = [row[0] for row in base.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"{row[0]} names a missing {row[2]}" for row in base.execute("PRAGMA foreign_key_check")]
        return [*found, *_derived(base), *_ratings(base), *_tasks(base)]
    except sqlite3.DatabaseError as error:
        return [f"the file is damaged: {error}"]


def rebuild(base: sqlite3.Connection, pool: str) -> Ratings:
    """The ratings of a pool made anew from its matches in the order of their ids, by the rules that are noted."""
    rules = base.execute("SELECT frozen, draws FROM rule WHERE pool=?", (pool,)).fetchone() or ("[]", "{}")
    frozen, draws = map(json.loads, rules)
    log = base.execute("SELECT record FROM match WHERE pool=? ORDER BY uid", (pool,))
    return Ratings.rebuild((Match.from_json(json.loads(record)) for (record,) in log), frozen, draws)


def matches(base: sqlite3.Connection) -> Iterator[tuple[int, Match, tuple[Episode, ...]]]:
    """Every match and its number, in the order they were stored. Raises ValueError for one that can't be read."""
    for number, uid, record, body in _stored(base):
        try:
            yield number, Match.from_json(json.loads(record)), unpack(body)
        except ValueError as error:
            raise ValueError(f"match {uid!r} is damaged: {error}") from error


def _stored(base: sqlite3.Connection) -> Iterator[tuple[int, str, str, bytes | None]]:
    """(number, id, record, body), page by page, so that whoever reads may write in between."""
    query = "SELECT id, uid, record, zstd FROM match LEFT JOIN body ON match_id = id WHERE id > ? ORDER BY id LIMIT ?"
    last = 0
    while page := base.execute(query, (last, PAGE)).fetchall():
        yield from page
        last = page[-1][0]


def _derived(base: sqlite3.Connection) -> Iterator[str]:
    """What the tables say otherwise than the matches' records and bodies."""
    met: dict[Row, Row] = {}
    for number, uid, record, body in _stored(base):
        match = Match.from_json(json.loads(record))
        for row in Rows.of(match, ()).payoff:
            before = met.get(row[:4], (0, 0, 0))
            met[row[:4]] = tuple(a + b for a, b in zip(before, row[4:], strict=True))
        try:
            rows = Rows.of(match, unpack(body))
        except ValueError as error:
            yield f"match {uid!r}: {error}"
            continue
        for table, query, expected in (
            ("match", MATCH, [(match.id, match.pool, match.game, match.ending, *rows.counts)]),
            ("seat", SEAT, rows.seats),
            ("turn", TURN, rows.turns),
            ("faced", FACED, [(task,) for task in rows.faced]),
        ):
            if base.execute(query, (number,)).fetchall() != expected:
                yield f"match {uid!r}: table {table} doesn't say what its record and body do"
    stored = {row[:4]: row[4:] for row in base.execute("SELECT * FROM payoff")}
    for who in sorted(met.keys() | stored.keys()):
        if met.get(who) != stored.get(who):
            pool, game, agent, other = who
            yield f"table payoff is wrong about {agent!r} against {other!r} at {game!r} in pool {pool!r}"


def _ratings(base: sqlite3.Connection) -> Iterator[str]:
    """Where the last ratings aren't those that the log and the rules give; a pool without any has none made yet."""
    ruled = {pool for (pool,) in base.execute("SELECT pool FROM rule")}
    for (pool,) in base.execute("SELECT DISTINCT pool FROM rating ORDER BY pool").fetchall():
        if pool not in ruled:
            yield f"table rule says nothing of pool {pool!r}, of which there are ratings"
            continue
        try:
            made = rebuild(base, pool)
        except (ValueError, TypeError) as error:
            yield f"table rule or match doesn't let pool {pool!r} be rated: {error}"
            continue
        query = "SELECT game, role, agent, mu, sigma, matches FROM rating WHERE pool=?"
        stored = {row[:3]: row[3:] for row in base.execute(query, (pool,))}
        anew = {
            (game, role, rating.agent): (rating.mu, rating.sigma, rating.matches)
            for _, game, role in made.lists()
            for rating in made.table(pool, game, role, tasks=True)
        }
        wrong = {key for key in anew.keys() | stored.keys() if not _close(anew.get(key, ()), stored.get(key, ()))}
        for game, role in sorted({key[:2] for key in wrong}):
            what = " as ".join(filter(None, (game, role))) or "all games"
            yield f"table rating is wrong about {what} in pool {pool!r}: scrimmage ratings rebuild puts it right"


def _close(one: Row, other: Row) -> bool:
    """Equal but for the last digits, which another machine's logarithms may round otherwise."""
    return len(one) == len(other) and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(one, other, strict=True))


def _tasks(base: sqlite3.Connection) -> Iterator[str]:
    """Where the tables of tasks and of lineage don't say what the tasks' records do."""
    parents: dict[tuple[str, str], tuple[str, ...]] = {}
    for run, id, *facts, record in base.execute("SELECT run, id, step, gate, state, record FROM task"):
        try:
            entry = Entry.from_json(json.loads(record))
            content = Task.new(entry.task.prompt, **entry.task.payload).id
        except (ValueError, TypeError, KeyError) as error:
            yield f"task {id!r} of run {run!r} has a record that can't be read: {error}"
            continue
        if entry.state != "refused":  # the same text may have been refused before or since, as of other parents
            parents[run, id] = entry.task.parents
        told = [entry.task.id, entry.step, entry.gate if entry.state == "refused" else "", entry.state]
        if [id, *facts] != told or id != content:
            yield f"task {id!r} of run {run!r}: table task doesn't say what its record does"
    for run, parent, child in base.execute("SELECT run, parent, child FROM task_edge"):
        if (run, parent) not in parents or parent not in parents.get((run, child), ()):
            yield f"table task_edge has {parent!r} for a parent of {child!r} in run {run!r}, which the tasks don't say"

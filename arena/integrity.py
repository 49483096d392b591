"""Whether a store's file is whole, and its tables say what its matches do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from arena.body import unpack
from arena.rows import Row, Rows
from arena.types import Episode, Match

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
        return found + list(_derived(base))
    except sqlite3.DatabaseError as error:
        return [f"the file is damaged: {error}"]


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

"""A store as Parquet files, for those who look at matches with other tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from arena.body import dumps
from arena.rows import Row, Rows
from arena.store import Store

GROUP = 10_000  # rows of a row group: no more of a table are in memory at once
COLUMNS = {
    "matches": {
        **dict.fromkeys(("id", "pool", "game", "ending", "fault", "reason"), "string"),
        **dict.fromkeys(("turns", "illegal", "tokens"), "int64"),
    },
    "seats": {
        "match": "string",
        "team": "int64",
        "member": "int64",
        "agent": "string",
        "role": "string",
        "score": "double",
    },
    "turns": {
        **{"match": "string", "episode": "int64", "number": "int64", "stage": "int64", "seat": "string"},
        **{"agent": "string", "legal": "bool", "reward": "double", "tokens": "int64"},
        **dict.fromkeys(("heard", "reply", "move", "reason"), "string"),
    },
    "tasks": {
        **{"run": "string", "id": "string", "step": "int64", "state": "string"},
        **dict.fromkeys(("gate", "reason", "author", "prompt", "payload"), "string"),
        **{"tried": "double", "solved": "double", "seen": "int64"},
    },
    "lineage": dict.fromkeys(("run", "parent", "child"), "string"),
}


def write(store: Store, folder: Path) -> dict[str, int]:
    """Write `matches.parquet`, `seats.parquet` and so on; how many rows each has.

    No file gets its name before all are whole. Text is as it was said, but for halves of surrogate pairs, which no
    UTF-8 holds: they are written out as \\ud800.
    """
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    folder.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(COLUMNS, 0)
    waiting: dict[str, list[Row]] = {table: [] for table in COLUMNS}
    with ExitStack() as open_files:
        files = {}
        for table, columns in COLUMNS.items():
            schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in columns.items()])
            writer = parquet.ParquetWriter(folder / f"{table}.part", schema, compression="zstd")
            files[table] = open_files.enter_context(writer)

        def flush(table: str) -> None:
            rows, file = waiting[table], files[table]
            columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS[table])
            arrays = [pyarrow.array(cells, field.type) for cells, field in zip(columns, file.schema, strict=True)]
            file.write_table(pyarrow.Table.from_arrays(arrays, schema=file.schema))
            counts[table] += len(rows)
            rows.clear()

        for table, row in _rows(store):
            waiting[table].append(tuple(_utf8(cell) for cell in row))
            if len(waiting[table]) == GROUP:
                flush(table)
        for table in COLUMNS:
            flush(table)
    for table in COLUMNS:
        (folder / f"{table}.part").replace(folder / f"{table}.parquet")
    return counts


def _rows(store: Store) -> Iterator[tuple[str, Row]]:
    """Every row with the name of its table."""
    for match, episodes in store.whole():
        rows = Rows.of(match, episodes)
        told = (match.id, match.pool, match.game, match.ending, match.fault, match.reason)
        yield "matches", (*told, *rows.counts)
        for row in rows.seats:
            yield "seats", (match.id, *row)
        turns = [turn for episode in episodes for turn in episode.turns]
        for (e, number, stage, _, _, reward, tokens), turn in zip(rows.turns, turns, strict=True):
            who = (turn.seat, episodes[e].agents[turn.seat], turn.legal)
            said = (turn.heard, turn.reply, turn.move, turn.reason)
            yield "turns", (match.id, e, number, stage, *who, reward, tokens, *said)
    for run in store.runs():
        for entry in store.tasks(run):
            task, payload = entry.task, dumps(entry.task.payload)
            why = (entry.step, entry.state, entry.gate, entry.reason)
            yield (
                "tasks",
                (run, task.id, *why, task.author, task.prompt, payload, entry.tried, entry.solved, entry.seen),
            )
        for parent, child in store.lineage(run):
            yield "lineage", (run, parent, child)


def _utf8(cell: Any) -> Any:
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell

"""The verb that shows what a curriculum holds."""

from __future__ import annotations

import json as text
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from arena import config, lineage, terminal
from arena.commands import Failed, existing_run, print_json, reach, writable
from arena.config import one_of
from arena.curriculum import STATES, Curriculum, Entry

COLUMNS = ("step", "state", "why", "p", "answers", "task", "prompt")


def tasks(
    run: Path,
    /,
    *,
    state: str = "",
    tree: bool = False,
    picture: Path | None = None,
    limit: int = 40,
    json: bool = False,
) -> None:
    """Show the tasks that a run's agents made: which were let in or refused and why, how hard they are, their lineage.

    For example:

        scrimmage tasks runs/r_zero
        scrimmage tasks runs/r_zero --state refused
        scrimmage tasks runs/r_zero --tree
        scrimmage tasks runs/r_zero --picture lineage.svg

    Parameters
    ----------
    run
        The folder of a run.
    state
        Only these: refused, admitted, active or retired.
    tree
        Show children under their parents.
    picture
        Write the lineage as an SVG file.
    limit
        How many tasks are listed, the newest last; 0 lists all.
    json
        Print everything as JSON.
    """
    if state:
        one_of("--state", state, STATES)
    curriculum = newest(existing_run(run))
    if picture is not None:
        writable(picture.parent)
        picture.write_text(lineage.svg(curriculum), encoding="utf-8")
        terminal.note(f"{picture}: {len(curriculum.lineage)} tasks")
    found = [entry for entry in (*curriculum.entries.values(), *curriculum.refused) if state in ("", entry.state)]
    if json:
        print_json(listed(curriculum, found))
        return
    if tree:
        for line in lineage.lines(curriculum):
            terminal.say(line)
    else:
        newest_last = sorted(found, key=lambda entry: entry.step)[-limit or None :]
        terminal.table(COLUMNS, [row(entry) for entry in newest_last])
    figures = "  ".join(f"{key.removeprefix('curriculum/')} {value:.3g}" for key, value in curriculum.figures().items())
    terminal.say(f"{figures}\np from 0 to 1, in tenths: {' '.join(map(str, curriculum.histogram()))}")
    for alarm in curriculum.alarms():
        terminal.say(f"look at this: {alarm}")


def listed(curriculum: Curriculum, found: Iterable[Entry]) -> dict[str, Any]:
    """The same for programs: the figures of the whole curriculum, and what was `found` in it."""
    return {
        "figures": curriculum.figures(),
        "p": curriculum.histogram(),
        "alarms": curriculum.alarms(),
        "tasks": [{**entry.to_json(), "p": entry.p} for entry in found],
        "lineage": [list(edge) for edge in curriculum.lineage.edges],
    }


def row(entry: Entry) -> tuple[int, str, str, str, int, str, str]:
    """A line of the table."""
    why = f"{entry.gate}: {entry.reason}" if entry.gate else entry.reason
    p = "?" if entry.p is None else f"{entry.p:.2f}"
    return entry.step, entry.state, why, p, entry.seen, entry.task.id, entry.task.prompt


def newest(run: Path) -> Curriculum:
    """The curriculum in the newest whole checkpoint of a run."""
    path, _ = reach("trainers.checkpoint:latest")(run / "checkpoints")
    state = text.loads((path / "state.json").read_text()) if path is not None else {}
    if not (state.get("curriculum", {}).get("entries") or state.get("curriculum", {}).get("refused")):
        raise Failed(f"{run} has no curriculum: its game proposes no tasks, or nothing was saved yet")
    schema: Any = reach("trainers.config:TrainConfig")
    curriculum = Curriculum(config.load(schema, run / "config.yaml").curriculum)
    curriculum.load(state["curriculum"])
    return curriculum

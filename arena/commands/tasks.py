"""The verb that shows what a curriculum holds."""

from __future__ import annotations

import json as text
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from arena import config, lineage, terminal
from arena.commands import Failed, existing_run, print_json, reach
from arena.config import ConfigError, one_of, within
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
        How many lines of tasks there are, the newest last; 0 lists all.
    json
        Print everything as JSON.
    """
    if state:
        one_of("--state", state, STATES)
    within("--limit", limit, 0)
    if picture is not None and not picture.parent.is_dir():
        raise ConfigError(f"there is no folder {str(picture.parent)!r}", "--picture", remedy="make it first")
    curriculum = newest(existing_run(run))
    if picture is not None:
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
        terminal.table(COLUMNS, [row(entry, times) for entry, times in folded(found)[-limit or None :]])
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


def folded(entries: Iterable[Entry]) -> list[tuple[Entry, int]]:
    """By step, the newest of what was refused alike with how often it was; every other entry once."""
    times: dict[tuple[str, str], list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.step):
        # The reason names the twin of a duplicate, which may be spelt in many ways.
        alike = entry.reason if entry.gate == "duplicate" else entry.task.id
        times.setdefault((entry.gate, alike), []).append(entry)
    return sorted(((same[-1], len(same)) for same in times.values()), key=lambda pair: pair[0].step)


def row(entry: Entry, times: int) -> tuple[int, str, str, str, int, str, str]:
    """A line of the table."""
    why = f"{entry.gate}: {entry.reason}" if entry.gate else entry.reason
    why += f" ({times} times)" if times > 1 else ""
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

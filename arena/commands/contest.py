"""The verb that plays tournaments, and how their scoreboard is printed."""

from __future__ import annotations

import asyncio
import json as notation
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from arena import config, measures, report_page, terminal
from arena import tournament as rooms
from arena.cast import Cast
from arena.commands import Failed, print_json, run_folder, writable
from arena.config import ConfigError
from arena.scoreboard import Board, Scoreboard
from arena.spectator import Spectator
from arena.store import Store

COLUMNS = ("", "agent", "elo", "level", "group", "points", "won", "drawn", "lost", "matches")
FREE = ("rounds", "until", "concurrency")  # what the same folder may be run with differently
WIDEST = 8  # entrants whose pay-offs fit on a terminal


def tournament(
    name: str, /, *overrides: str, folder: Path | None = None, report: Path | None = None, json: bool = False
) -> None:
    """Let entrants meet on the same deals and in every seat, and tell who is better.

    The same command on the same folder resumes; with more rounds it plays only the new ones. At the end report.json and
    report.html lie in the folder; the page is one file, and needs no network.

    For example:

        scrimmage tournament configs/tournament/kuhn.yaml rounds=20

    Parameters
    ----------
    name
        A config: a YAML file, or the name of one that comes with the package.
    overrides
        Changes to it, as key=value.
    folder
        Where it is written; runs/<name> if not given.
    report
        Play nothing: write the page about what was played so far to this file.
    json
        Print the scoreboard as JSON.
    """
    settings = config.load(rooms.TournamentConfig, name, overrides, kind="tournament")
    folder = folder or run_folder(settings.name)
    if report is not None:
        board = _again(settings, folder, report)
    else:
        cast = Cast()
        schedule = rooms.check(settings, cast.check)
        if "human" in settings.words():
            settings = replace(settings, concurrency=1)  # one can't answer two questions at once
        writable(folder)
        config.refuse_other(folder, settings, free=FREE)
        with Store(folder / "store.db") as store:
            before = list(store.log(settings.name))
            rooms.refuse_log(schedule.plan, before)
            _claim_agents(folder, {word: cast.checksum(word) for word in sorted(settings.words())})
            config.claim(folder, settings, free=FREE)
            names, draws = schedule.plan.entrants, schedule.draws
            with Spectator(settings.name, schedule.expected, names, before, draws=draws) as watch:
                board = asyncio.run(rooms.run(settings, cast.agent, store, watch))
            (folder / "report.json").write_text(notation.dumps(board.to_json(), indent=1) + "\n")
            report_page.write(board, store, folder / "report.html")
    if json:
        print_json(board.to_json())
    else:
        show(board)
        terminal.note(f"the page about it: {report or folder / 'report.html'}")
    if report is None and all(row.elo is None for row in board.overall.rows):
        raise Failed(f"no match could be rated: {_endings(board)}; the reasons stand in {folder / 'report.json'}")


def _claim_agents(folder: Path, checksums: Mapping[str, str]) -> None:
    """Note what the agents' files are; raises ConfigError if one is another than in the matches that were played."""
    there = folder / "agents.json"
    before = notation.loads(there.read_text(encoding="utf-8")) if there.is_file() else {}
    for word, checksum in checksums.items():
        if before.get(word, checksum) != checksum:
            raise ConfigError(
                f"the files of agent {word!r} have changed since it played here",
                str(folder),
                remedy="bring them back, give --folder another one, or give the changed agent another word and name",
            )
    partial = folder / ".agents.json.partial"
    partial.write_text(notation.dumps({**before, **checksums}, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, there)


def _again(settings: rooms.TournamentConfig, folder: Path, page: Path) -> Scoreboard:
    """Write the page from the store alone."""
    if not (folder / "store.db").is_file():
        raise ConfigError(
            "nothing was played yet", str(folder), remedy="leave --report out to play, or give its --folder"
        )
    store = Store.read(folder / "store.db")
    try:
        board = rooms.so_far(settings.plan(), store.log(settings.name))
        report_page.write(board, store, page)
    finally:
        store.close()
    return board


def show(board: Scoreboard) -> None:
    """The published table, each game's, and what went wrong."""
    what = board.overall.game or f"{len(board.games)} games"
    title = terminal.one_line(f"{board.name}: {what}, {board.overall.matches} matches ({_endings(board)})")
    _table(board.overall, title)
    for one in board.games if board.games[1:] else ():
        terminal.say()
        _table(one, terminal.one_line(f"{one.game}: {one.matches} matches"))
    if board.faults:
        terminal.say()
        terminal.table(
            ("agent", "game", "ending", "matches", "why, the first time"),
            [(f.agent or "nobody", f.game, f.ending, f.matches, f.reason) for f in board.faults],
        )
    for (agent, game), reason in board.withdrawn.items():
        terminal.say(terminal.one_line(f"withdrawn from {game}: {agent} ({reason})"))
    terminal.say()
    shown = (board.overall, *(board.games if board.games[1:] else ()))
    for line in dict.fromkeys(line for one in shown for line in measures.legend(one)):
        terminal.say(line)


def _endings(board: Scoreboard) -> str:
    return ", ".join(f"{n} {ending}" for ending, n in board.overall.endings.items())


def _table(board: Board, title: str) -> None:
    """One list with all that is said of it."""
    level = f"{100 * board.standings.level:g} %"
    terminal.table(tuple(level if column == "level" else column for column in COLUMNS), _lines(board), title=title)
    headings, rows = measures.columns(board)
    if headings:
        terminal.say()
        named = [(i, row.agent, *cells) for i, (row, cells) in enumerate(zip(board.rows, rows, strict=True), 1)]
        terminal.table(("", "agent", *headings), named)
    _against(board)
    for remark in measures.remarks(board):
        terminal.say(terminal.one_line(remark))


def _lines(board: Board) -> list[tuple[str | int, ...]]:
    groups = board.groups
    return [
        (
            place,
            row.agent,
            "" if row.elo is None else f"{row.elo:+.0f}",
            "" if row.low is None or row.high is None else f"{row.low:+.0f} to {row.high:+.0f}",
            groups[row.agent],
            "" if row.points is None else f"{row.points:.3f}",
            *board.record[row.agent],
            row.matches,
        )
        for place, row in enumerate(board.rows, 1)
    ]


def _against(board: Board) -> None:
    """What everybody scored against everybody, who stand on top by their places; a larger table is for the page."""
    names = [row.agent for row in board.rows]
    if board.payoff and len(names) <= WIDEST:
        met = {pair: f"{cell.mean:+.2f}" for pair, cell in board.payoff.items()}
        terminal.say("\nmean score of the left against the top:" if board.game else "\nmean points against the top:")
        rows = [(i, name, *(met.get((name, other), "") for other in names)) for i, name in enumerate(names, 1)]
        terminal.table(("", "agent", *map(str, range(1, len(names) + 1))), rows)

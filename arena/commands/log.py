"""Verbs that show what was played: the matches of a run, and each of them move by move."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from arena import terminal
from arena.commands import print_json
from arena.commands.play import show
from arena.config import ConfigError, nearest
from arena.pov import pov as lived
from arena.store import Store
from arena.types import Match
from arena.where import TERM, parse

STORE = "store.db"


# -- the store -----------------------------------------------------------------------------------------------------


def stores() -> list[Path]:
    """The stores of all runs below this folder, the one written last at the end."""
    return sorted(Path("runs").glob(f"*/{STORE}"), key=lambda path: path.stat().st_mtime)


def store_of(run: Path | None) -> Path:
    """The store of a run, or the file itself; without either the store that was written last, which is then named."""
    if run is not None:
        path = run / STORE if run.is_dir() else run
        if not path.is_file():
            others = [str(other.parent) for other in stores()]
            remedy = f"there are {', '.join(sorted(others))}" if others else "name the folder of a run, or its store.db"
            raise ConfigError("there is no store", str(run), nearest(str(run), others), remedy)
        return path
    found = stores()
    if not found:
        raise ConfigError("there is no store", "runs", remedy="name the folder of a run, or its store.db")
    terminal.note(str(found[-1]))
    return found[-1]


def holding(match: str) -> Path:
    """The store that has a match whose id is or begins so, whichever run it was."""
    for path in reversed(stores()):
        with Store.read(path) as store, suppress(KeyError):
            store.match(match)
            return path
    raise ConfigError(f"match {match!r} is in no store of runs/", remedy="name its run too: scrimmage replay RUN MATCH")


# -- matches -------------------------------------------------------------------------------------------------------


def matches(
    run: Path | None = None,
    /,
    *more: str,
    where: str = "",
    after: str | None = None,
    limit: int = 20,
    json: bool = False,
) -> None:
    """List the matches of a run, in the order they were stored.

    --where takes terms that all have to hold: FIELD=VALUE, != or ~ (contains); numbers also < <= > >=. The fields are
    id, pool, game, ending, fault, reason, task, turns, illegal, tokens, and of one seat agent, role, score and against
    (who sat in another team). A value with spaces stands in quotes.

    For example:

        scrimmage matches runs/kuhn
        scrimmage matches runs/kuhn --where "agent=random role=first score>0 turns<=3"
        scrimmage matches runs/kuhn --where "ending=forfeit reason~'not legal'" --json

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db; without one, the run that was written last.
    more
        Nothing: whatever stands here belongs into --where.
    where
        Which matches: see above.
    after
        List the matches that come after this one.
    limit
        How many to list.
    json
        Print JSON.
    """
    if limit < 1:
        raise ConfigError(f"limit is {limit}", "--limit", remedy="list at least one")
    strays = [*([str(run)] if run is not None and not run.exists() and TERM.match(str(run)) else []), *more]
    if strays:
        whole = " ".join(filter(None, (where, *strays)))
        raise ConfigError(f"{strays[0]!r} is no run", remedy=f"put all terms in quotes: --where {shlex.quote(whole)}")
    terms = parse(where)
    with Store.read(store_of(run)) as store:
        try:
            found = store.matches(terms, after, limit)
        except KeyError as error:
            raise ConfigError(str(error.args[0])) from error
    if json:
        print_json([match.to_json() for match in found])
        return
    terminal.table(("match", "game", "teams", "scores", "ending"), [listed(match) for match in found])
    if len(found) == limit and found:
        terminal.note(f"the next page: --after {found[-1].id}")


def listed(match: Match) -> tuple[str, str, str, str, str]:
    """A match as a row."""
    teams = " - ".join("+".join(team) for team in match.teams)
    scores = " - ".join(f"{score:g}" for score in match.scores)
    return match.id, match.game, teams, scores, match.ending


def replay(run: str, match: str | None = None, /, *, pov: str = "", json: bool = False) -> None:
    """Show a match, as each seat heard and said it, or as one of them did.

    For example:

        scrimmage replay runs/kuhn kuhn-3-0
        scrimmage replay kuhn-3-0 --pov first_0

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db; may be left out for one below runs/. A run alone lists its
        matches.
    match
        The id of a match, or as much of its beginning as no other has.
    pov
        Show only what this seat heard and said, its thoughts included, and what it got.
    json
        Print JSON.
    """
    if match is None and Path(run).exists():
        if pov:
            raise ConfigError("--pov shows one match", remedy=f"name it: scrimmage replay {run} MATCH --pov {pov}")
        matches(Path(run), json=json)
        return
    id = match if match is not None else run
    with Store.read(store_of(Path(run)) if match is not None else holding(id)) as store:
        try:
            found, episodes = store.match(id)
        except KeyError as error:
            raise ConfigError(str(error.args[0])) from error
    if pov:
        records = [lived(episode, pov) for episode in episodes]
        if json:
            print_json(records)
        else:
            terminal.say(terminal.one_line(f"{found.id} | {found.game} | as {pov} lived it"))
            for record in records:
                show_pov(record)
    elif json:
        print_json([episode.to_json() for episode in episodes])
    else:
        terminal.say(terminal.one_line(" | ".join(listed(found))))
        for episode in episodes:
            show(episode, heard=True)


def show_pov(record: dict[str, Any]) -> None:
    """One game as one seat lived it: what `arena.pov` has of it, and nothing else."""
    seat = record["seat"]
    for turn in record["turns"]:
        for line in terminal.clean(turn["heard"]).splitlines():
            terminal.say(f"    {seat} hears: {line}")
        judged = "" if turn["legal"] else f"   (not legal: {turn['reason']})"
        terminal.say(terminal.one_line(f"{seat} ({record['agents'][seat]}): {turn['reply']}{judged}"))
    got = "nothing" if record["return"] is None else f"{record['return']:g}"
    terminal.say(terminal.one_line(f"{record['ending']}: {seat} gets {got}"))

"""Verbs about a store as a whole: whether it is sound, its ratings, and its tables for other tools."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from arena import parquet, terminal
from arena.commands import Failed, print_json, writable
from arena.commands.log import store_of
from arena.config import ConfigError
from arena.store import Store


def check(run: Path | None = None, /) -> None:
    """Read everything in a store, and tell what is damaged or says otherwise than the matches do.

    For example:

        scrimmage store check runs/kuhn

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db; without one, the run that was written last.
    """
    path = store_of(run)
    with Store.read(path) as store:
        problems = store.check()
        count = 0 if problems else store.count()
    for problem in problems:
        terminal.say(terminal.one_line(problem))
    if problems:
        raise Failed(f"{path} has {len(problems)} faults: copy it before anything else is written to it")
    terminal.say(f"{path}: {count} matches, nothing is wrong")


def update(run: Path, /) -> None:
    """Bring the store of an older version up to date.

    For example:

        scrimmage store update runs/kuhn

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db.
    """
    path = store_of(run)
    if not path.stat().st_size:  # the writer would make a store of it
        raise ConfigError("the file is empty, so it is no store", str(path), remedy="name the store.db of a run")
    with Store(path) as store:
        terminal.say(f"{path}: {store.count()} matches, up to date")


def export(run: Path, /, *, out: Path) -> None:
    """Write a store's matches, seats, turns, tasks and lineage as Parquet files.

    For example:

        scrimmage store export runs/kuhn --out kuhn_parquet

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db.
    out
        The folder to write to.
    """
    path = store_of(run)
    writable(out, "--out")
    with Store.read(path) as store:
        for table, rows in parquet.write(store, out).items():
            terminal.say(f"{out / table}.parquet: {rows} rows")


def ratings(run: Path | None = None, /, *, json: bool = False) -> None:
    """Show the ratings of a run, and how often each agent won, drew and lost against each other one.

    For example:

        scrimmage ratings show runs/kuhn

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db; without one, the run that was written last.
    json
        Print JSON.
    """
    with Store.read(store_of(run)) as store:
        lists = store.lists()
        tables = {one: store.ratings(*one) for one in lists}
        pools = store.rated()
        for pool in set(pools).difference(pool for pool, _, _ in lists):  # a tournament that was cut off, or still runs
            made = store.rebuild(pool)
            tables |= {one: made.table(*one) for one in made.lists()}
        tables = dict(sorted(tables.items()))
        met = {pool: store.payoff(pool) for pool in pools}
    if json:
        print_json(
            {
                "ratings": [
                    {"pool": pool, "game": game, "role": role, **asdict(rating), "low": rating.low}
                    for (pool, game, role), table in tables.items()
                    for rating in table
                ],
                "payoff": [
                    {"pool": pool, "agent": a, "other": b, **counts._asdict()}
                    for pool, pairs in met.items()
                    for (a, b), counts in pairs.items()
                ],
            }
        )
        return
    rows = [
        (pool, game or "all", role, rating.agent, rating.mu, rating.sigma, rating.low, rating.matches)
        for (pool, game, role), table in tables.items()
        for rating in table
    ]
    terminal.table(("pool", "game", "role", "agent", "mu", "sigma", "mu - 3 sigma", "matches"), rows)
    terminal.say()
    pairs = [(pool, a, b, *counts) for pool, pairs in met.items() for (a, b), counts in pairs.items()]
    terminal.table(("pool", "agent", "against", "won", "drawn", "lost"), pairs)


def rebuild(run: Path, /) -> None:
    """Compute the ratings of a run anew from its log of matches, by the rules that they were made by.

    For example:

        scrimmage ratings rebuild runs/kuhn

    Parameters
    ----------
    run
        The folder of a run or a tournament, or a store.db.
    """
    path = store_of(run)
    with Store(path) as store:
        pools = store.rated()
        if not pools:
            raise Failed(f"{path} has no ratings to rebuild: it holds no tournament")
        for pool in pools:
            before = {one: store.ratings(*one, tasks=True) for one in store.lists() if one[0] == pool}
            made = store.rebuild(pool)
            after = {one: made.table(*one, tasks=True) for one in made.lists()}
            store.rate(made)
            count = sum(len(table) for table in after.values())
            if not before and after:
                terminal.say(terminal.one_line(f"{pool}: {count} ratings, where there were none yet"))
            elif before == after:
                terminal.say(terminal.one_line(f"{pool}: {count} ratings, the same to the last digit"))
            else:
                changed = sum(table != before.get(one) for one, table in after.items())
                terminal.say(terminal.one_line(f"{pool}: {count} ratings, {changed} of {len(after)} lists were wrong"))

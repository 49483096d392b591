"""Verbs that make policies better, and measure or hand out what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arena import config, terminal
from arena.cast import SIMPLE, Cast
from arena.commands import existing_run, print_json, reach, run_folder, writable
from arena.config import ConfigError, nearest
from arena.make import make
from roles import role as roles


def demo(*, folder: Path = Path("runs/demo"), seed: int = 0, json: bool = False) -> None:
    """Train a real 135M model by self-play, measure it, rate it and export it.

    About twelve minutes on two cores. Ctrl-C stops cleanly; the same command goes on from there.

    For example:

        scrimmage demo
        scrimmage demo --folder runs/demo_1 --seed 1

    Parameters
    ----------
    folder
        Where everything is written.
    seed
        Fixes every random number of the run.
    json
        Print the report as JSON.
    """
    writable(folder)
    report = reach("trainers.demo:run")(folder, seed)
    if json:
        print_json(report)


def train(name: str, /, *overrides: str, folder: Path | None = None) -> None:
    """Train a policy by self-play.

    The same command on the same folder resumes; another config is refused with the keys that differ.

    For example:

        scrimmage train configs/train/kuhn_selfplay.yaml
        scrimmage train kuhn_selfplay optim.lr=1e-5 seed=3 --folder runs/kuhn_3

    Parameters
    ----------
    name
        A config: a YAML file, or the name of one that comes with the package.
    overrides
        Changes to it, as key=value.
    folder
        Where the run is written; runs/<name> if not given.
    """
    schema: Any = reach("trainers.config:TrainConfig")
    settings: Any = config.load(schema, name, overrides, kind="train")
    folder = folder or run_folder(settings.name)
    validate(settings, folder)
    run = reach("trainers.train:run")
    with terminal.Ticker(settings.name, settings.steps) as tick:
        run(settings, folder, tick)
    terminal.say(f"{folder}: {settings.steps} steps; next: scrimmage evaluate {folder}")


def evaluate(run: Path, /, *, json: bool = False) -> None:
    """Measure a run's checkpoints: exact exploitability where the game is small, and play against fixed agents.

    For example:

        scrimmage evaluate runs/kuhn

    Parameters
    ----------
    run
        The folder of a run.
    json
        Print the report as JSON.
    """
    existing_run(run)
    report = reach("trainers.evaluate:run")(run)
    if json:
        print_json(report)


def export(
    run: Path,
    /,
    *,
    role: str | None = None,
    out: Path | None = None,
    step: int | None = None,
    force: bool = False,
) -> None:
    """Write one agent of a run as a folder that plain transformers loads.

    For example:

        scrimmage export runs/kuhn --role first --out exports/kuhn_first

    Parameters
    ----------
    run
        The folder of a run.
    role
        The seat's role whose prompt goes into the folder; may be left out where there is one.
    out
        The folder to write; exports/<run> if not given.
    step
        The checkpoint; the last one if not given.
    force
        Replace an earlier export.
    """
    existing_run(run)
    out = out or Path("exports") / (f"{run.name}_{role}" if role else run.name)
    writable(out.parent)
    done = reach("trainers.export:export_run")(run, role, out, step, force=force)
    terminal.say(
        f"{out}: its logits are the live agent's to {done.max_logit_difference:.1e}; its README says how to load it"
    )


# -- what can be told before any model is loaded -------------------------------------------------------------------


def validate(settings: Any, folder: Path) -> None:
    """Refuse a training config that can't run: its game, seats, roles, model, and the folder it would be written to."""
    game = make(settings.game.name, **settings.game.params)
    seats = list(game.roles)
    empty = [name for name in seats if name not in settings.seats]
    for name, seat in settings.seats.items():
        if name not in game.roles:
            near = nearest(name, seats)
            raise ConfigError(
                f"game {settings.game.name!r} has no role {name!r}",
                f"seats.{name}",
                near and repr(near),
                f"its roles are {', '.join(seats)}",
            )
        try:
            roles.load(seat.role, **seat.changes)
        except ValueError as error:
            raise ConfigError(str(error), f"seats.{name}.role") from error
        if seat.agent != "policy" and seat.agent not in SIMPLE:
            Cast().find(seat.agent)
    if empty:
        raise ConfigError(
            f"nobody sits at {', '.join(empty)}", "seats", remedy=f"give a role: seats.{empty[0]}.role=..."
        )
    reach("trainers.credit:find")(settings.credit.estimator)
    if settings.probe.evaluate:
        evaluator(settings.probe.evaluate)
    writable(folder)
    reach("arena.engines.models:find")(settings.model, terminal.note)


def evaluator(entry: str) -> None:
    """Refuse a `probe.evaluate` that names no function."""
    try:
        reach(entry)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "name a function as module:function"
        raise ConfigError(f"{entry!r} can't be loaded: {error}", "probe.evaluate", remedy=remedy) from error

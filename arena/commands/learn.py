"""Verbs that make policies better, and measure or hand out what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena import config, evaluation, terminal
from arena.cast import BASE, POLICY, ROLE_FILE, Cast, plain
from arena.commands import existing_run, print_json, reach, run_folder, writable
from arena.config import ConfigError, nearest
from arena.game import Game
from arena.make import make
from arena.suited import Unsuited
from roles import Reply, Role
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
    with terminal.aside(json):
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


def evaluate(
    what: str,
    /,
    *params: str,
    game: str | None = None,
    against: list[str] | None = None,
    deals: int = evaluation.DEALS,
    json: bool = False,
) -> None:
    """Measure a run's checkpoints, or any agent in a game: exactly where the game is small, and by games.

    For example:

        scrimmage evaluate runs/kuhn
        scrimmage evaluate smollm2-135m@leduc --game leduc_poker
        scrimmage evaluate oracle --game kuhn_poker seats=3
        scrimmage evaluate bot:tit_for_tat --game 'prisoners_dilemma(rounds=3)' --against random

    Parameters
    ----------
    what
        The folder of a run; or, with --game, an agent's word, such as for `scrimmage play`.
    params
        What the game is made with, as key=value.
    game
        The game in which the agent plays every seat in turn, as `scrimmage play` takes it.
    against
        One more opponent, by its word; may be given several times.
    deals
        How many deals are played for each seat and opponent.
    json
        Print the report as JSON.
    """
    words = against or []
    if game is None and params:
        raise ConfigError(f"{params[0]!r} is of no game", remedy="say which: --game kuhn_poker")
    with terminal.aside(json):
        if game is None:
            report = _of_run(Path(what), words, deals)
        else:
            report = _of_agent(what, make(game, **config.words(params)), words, deals)
    if json:
        print_json(report)


def _of_run(run: Path, words: list[str], deals: int) -> Any:
    if not (run / "config.yaml").is_file() and (plain(str(run)) or "@" in run.name or (run / ROLE_FILE).is_file()):
        raise ConfigError("an agent is measured in a game", str(run), remedy="say which: --game kuhn_poker")
    existing_run(run)
    return reach("trainers.evaluate:run")(run, deals, words)


def _of_agent(word: str, game: Game, words: list[str], deals: int) -> Any:
    if (Path(word) / "config.yaml").is_file():
        raise ConfigError("a run is measured in its own game", word, remedy="leave --game out")
    cast = Cast()
    cast.check(word, game)
    for one in words:
        with suppress(Unsuited):  # `opponents` leaves it out, and says why
            cast.check(one, game)
    agents = dict.fromkeys(game.roles, cast.agent(word))
    trial = evaluation.Trial(game, agents, word, deals)
    met, unmet = evaluation.opponents(game, {one: cast.agent(one) for one in words})
    row = asyncio.run(evaluation.measure(trial, evaluation.unfold(game, agents), met))
    row["left_out"] |= unmet
    evaluation.show(f"{word} in {game}", {word: row}, "agent")
    return {"agent": word, "game": str(game), "deals": deals, **row}


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
    writable(out.parent, "--out")
    done = reach("trainers.export:export_run")(run, role, out, step, force=force)
    terminal.say(
        f"{out}: its logits are the live agent's to {done.max_logit_difference:.1e}; its README says how to load it"
    )


# -- what can be told before any model is loaded -------------------------------------------------------------------


def validate(settings: Any, folder: Path) -> None:
    """Refuse a training config that can't run: its game, seats, roles, model, and the folder it would be written to."""
    game = make(settings.game.name, **settings.game.params)
    game.ready()
    for where in ("seats", "credit.role_weights", "credit.share"):
        part, _, key = where.partition(".")
        known_roles(game, getattr(settings.credit, key) if part == "credit" else settings.seats, where)
    learning = learners(settings, game)
    empty = [name for name in game.roles if name not in settings.seats]
    if empty:
        raise ConfigError(
            f"nobody sits at {', '.join(empty)}", "seats", remedy=f"give a role: seats.{empty[0]}.role=..."
        )
    if not any(role.train for role in learning.values()):
        raise ConfigError("nobody learns", "seats", remedy=f"give one seat agent: {POLICY} and a role with train: true")
    for name, role in learning.items():
        trainable(role, f"seats.{name}", listed=moves_are_listed(game), settings=settings)
    if settings.curriculum.shown and not game.info.shows_past:
        raise ConfigError(
            f"nobody in {game} can be shown tasks of the past", "curriculum.shown", remedy="leave it at 0"
        )
    pool = settings.curriculum
    if pool.past or pool.shown or pool.solver != type(pool)().solver:  # else nobody reads how hard a task is
        known_role(game, pool.solver, "curriculum.solver")
    reach("trainers.credit:find")(settings.credit.estimator)
    if settings.probe.evaluate:
        evaluator(settings.probe.evaluate)
    writable(folder)
    path = reach("arena.engines.models:find")(settings.model, terminal.note)
    reach("arena.engines.models:speaks")(path, learning.values())


def known_roles(game: Game, named: Iterable[str], where: str) -> None:
    """Refuse a key that is no role of the game."""
    for name in named:
        known_role(game, name, f"{where}.{name}")


def known_role(game: Game, name: str, key: str) -> None:
    """Refuse a name that is no role of the game."""
    if name not in game.roles:
        near = nearest(name, list(game.roles))
        remedy = f"its roles are {', '.join(game.roles)}"
        raise ConfigError(f"game {str(game)!r} has no role {name!r}", key, near and repr(near), remedy)


def learners(settings: Any, game: Game) -> dict[str, Role]:
    """The roles of the seats where the model sits, by name; refuses roles and agents that can't be there."""
    found = {}
    for name, seat in settings.seats.items():
        try:
            role = roles.load(seat.role, **seat.changes)
        except ValueError as error:
            raise ConfigError(str(error), f"seats.{name}.role") from error
        if seat.agent == BASE:
            role = replace(role, train=False)
        if seat.agent in (POLICY, BASE):
            found[name] = role
        else:
            Cast().check(seat.agent, game, name)
    return found


def moves_are_listed(game: Game) -> bool:
    """Whether the seats that move first in a game know their legal moves."""
    game.reset(seed=0)
    return all(game.legal(seat) for seat in game.acting)


def trainable(role: Role, where: str, *, listed: bool, settings: Any) -> None:
    """Refuse a role whose replies could not be drawn, or not with probabilities that are exact."""
    drawn, temperature = role.reply is Reply.legal, role.sampling.temperature
    if drawn and not listed:
        raise ConfigError(
            f"role {role.name!r} has reply: legal", where, remedy="the game lists no legal moves: set reply: free"
        )
    if role.train and temperature == 0:
        raise ConfigError(f"role {role.name!r} learns at temperature 0", where, remedy="use 1: nothing else is tried")
    if role.train and drawn and temperature != 1:
        remedy = "moves drawn among the legal ones are learned exactly at 1 only: set sampling.temperature to 1"
        raise ConfigError(f"role {role.name!r} has reply: legal and temperature {temperature:g}", where, remedy=remedy)
    if settings.credit.estimator == "neurd" and not drawn and not (listed and settings.rollout.score_options):
        remedy = "set rollout.score_options=true, in a game that lists its legal moves"
        raise ConfigError("neurd needs the probabilities of legal moves", where, remedy=remedy)
    if settings.probe.exploitability and not drawn and temperature != 1:
        remedy = "set sampling.temperature to 1, or probe.exploitability=false"
        raise ConfigError(
            f"role {role.name!r} has temperature {temperature:g}: NashConv is exact at 1", where, remedy=remedy
        )


def evaluator(entry: str) -> None:
    """Refuse a `probe.evaluate` that names no function."""
    try:
        reach(entry)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "name a function as module:function"
        raise ConfigError(f"{entry!r} can't be loaded: {error}", "probe.evaluate", remedy=remedy) from error

"""The command `scrimmage`: one verb for each thing that people do."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError

from arena import doctor, terminal
from arena.commands import Failed, contest, fence, learn, log, look, play, store
from arena.commands.tasks import tasks
from arena.context import Left

FAILED, MISUSED, STOPPED = (
    1,
    2,
    130,
)  # exit codes; 0 is success, 130 is what a shell reports of Ctrl-C, and means Ctrl-D too
RESUMED = ("demo", "train", "tournament", "evaluate")


def _version() -> str:
    try:
        return version("scrimmage")
    except PackageNotFoundError:
        return "unknown: the package is not installed"


def build() -> App:
    """The whole command line as one cyclopts app."""
    app = App(
        name="scrimmage",
        help="Self-play for language-model agents: define games and roles, play, train, rate, export.",
        help_epilogue="Add --debug to any command for the whole trace of an error.",
        help_format="plaintext",  # every other format eats square brackets
        version=_version,
        console=terminal.out,
        default_parameter=Parameter(negative=""),
        suppress_keyboard_interrupt=False,  # `main` says how to go on
    )
    verbs: tuple[Callable[..., None], ...] = (
        learn.demo,
        learn.train,
        learn.evaluate,
        learn.export,
        tasks,
        play.play,
        contest.tournament,
        log.matches,
        log.replay,
    )
    for verb in (*verbs, look.games, look.roles, look.doctor):
        app.command(verb)
    model = App(name="model", help="Find models, and bring the embedded one.")
    model.command(look.pull)
    model.command(look.find)
    new = App(name="new", help="Write a new game that already works.")
    new.command(look.game)
    base = App(name="store", help="Check, update and export the store of a run.")
    base.command(store.check)
    base.command(store.update)
    base.command(store.export)
    rated = App(name="ratings", help="Show the ratings of a run, and make them anew.")
    rated.command(store.ratings, name="show")
    rated.command(store.rebuild)
    fenced = App(name="sandbox", help="Run code that models wrote for trainers on other machines.")
    fenced.command(fence.serve)
    for group in (model, new, base, rated, fenced):
        app.command(group)
    return app


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; an error is one line on stderr, a trace only with --debug."""
    words = list(sys.argv[1:] if words is None else words)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # last, so that a game of your own is found and nothing installed is shadowed
    try:
        build()(words, exit_on_error=False, print_error=False, result_action="return_value")
    except (KeyboardInterrupt, Left) as stop:
        again = f"it resumes with: scrimmage {shlex.join(words)}" if words and words[0] in RESUMED else ""
        terminal.note(": ".join(part for part in ("stopped", str(stop), again) if part))
        return STOPPED
    except CycloptsError as error:
        verb = f" {words[0]}" if words and not words[0].startswith("-") and words[0] in build() else ""
        terminal.fail(f"{str(error).rstrip('.')}: see scrimmage{verb} --help")
        return MISUSED
    except BrokenPipeError:
        # The reader of stdout left, as `head` does; pointing it elsewhere keeps the interpreter's last flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if debug:
            raise
        terminal.fail(explain(error))
        return MISUSED if isinstance(error, ValueError) else FAILED
    return 0


def explain(error: Exception) -> str:
    """One line of what, where, nearest match and remedy, as far as the error knows them."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return doctor.missing(error.name)
    if isinstance(error, ValueError | Failed):
        return str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    text = str(error)
    kind = type(error).__name__
    return f"{kind}: {text}: add --debug for the whole trace" if text else f"{kind}: add --debug for the whole trace"

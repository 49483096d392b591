"""Verbs that tell what there is, and make something new."""

from __future__ import annotations

from pathlib import Path

from arena import doctor as rooms
from arena import new, terminal
from arena.commands import Failed, print_json, reach
from arena.library import page, seats
from arena.make import make
from arena.make import names as game_names
from roles import role as library


def games(*, json: bool = False, markdown: bool = False) -> None:
    """List the built-in games.

    Every verb also takes games of other libraries: openspiel:NAME, pettingzoo:NAME, textarena:ID (docs/foreign.md).

    For example:

        scrimmage games

    Parameters
    ----------
    json
        Print JSON.
    markdown
        Print all there is to know of them, as the page docs/library.md has it.
    """
    if markdown:
        terminal.say(page())
        return
    found = {name: make(name) for name in game_names()}
    if json:
        print_json(
            [
                {"game": name, "roles": dict(game.roles), **vars(game.info), "bots": list(game.bots)}
                for name, game in found.items()
            ]
        )
        return
    rows = [(name, seats(game), summary(game.__doc__)) for name, game in found.items()]
    terminal.table(("game", "roles", "rules"), rows)


def roles(*, json: bool = False) -> None:
    """List the roles of the library.

    For example:

        scrimmage roles

    Parameters
    ----------
    json
        Print JSON.
    """
    found = {name: library.load(name) for name in library.names()}
    if json:
        print_json([{"role": name, "reply": role.reply.name, "system": role.system} for name, role in found.items()])
        return
    terminal.table(
        ("role", "reply", "system prompt"), [(name, role.reply.name, role.system) for name, role in found.items()]
    )


def doctor(*, json: bool = False) -> None:
    """Tell what this machine has and what is missing, with the command that brings it.

    Exits with an error where something that every command needs is missing.

    For example:

        scrimmage doctor

    Parameters
    ----------
    json
        Print JSON.
    """
    checks = rooms.examine()
    if json:
        print_json([vars(check) for check in checks])
    else:
        terminal.table(("", "what", "found"), [("ok" if c.ok else "--", c.what, c.found) for c in checks])
        for check in checks:
            if not check.ok:
                terminal.say(f"{check.what}: {check.remedy}")
    broken = [check.what for check in checks if check.needed and not check.ok]
    if broken:
        raise Failed(f"{', '.join(broken)} is missing")


def pull(name: str = "smollm2-135m", /) -> None:
    """Bring a model into the model cache.

    For example:

        scrimmage model pull smollm2-135m

    Parameters
    ----------
    name
        An embedded model.
    """
    terminal.say(str(reach("arena.engines.models:pull")(name, terminal.note)))


def find(name: str, /) -> None:
    """Tell where a model lies and what it is.

    For example:

        scrimmage model find smollm2-135m

    Parameters
    ----------
    name
        An embedded model, a folder, a GGUF file, or a Hugging Face id in the local cache.
    """
    path = reach("arena.engines.models:find")(name, terminal.note)
    facts = reach("arena.engines.models:describe")(path)
    terminal.table(("fact", "value"), list(vars(facts).items()))


def game(name: str, /, *, dir: Path = Path(".")) -> None:
    """Write a small game, its config and its test, all of which already work.

    For example:

        scrimmage new game my_game

    Parameters
    ----------
    name
        What it is called: a Python name.
    dir
        The folder to write to.
    """
    for path in new.game(name, dir):
        terminal.say(str(path))
    terminal.say(f"next: pytest {dir / f'test_{name}.py'}; scrimmage train {dir / f'{name}.yaml'}")


def summary(docstring: str | None) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((docstring or "").strip().split("\n\n")[0].split())

"""The page about the built-in games, written from their classes: `scrimmage games --markdown > docs/library.md`."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, cleandoc, signature

from arena.game import Game, GameInfo
from arena.make import find, make, names

HEAD = """# The library of games
Every game below is one file in `games/`. This page is written from them, never by hand: whoever adds or changes a game
runs `scrimmage games --markdown > docs/library.md`. Values are of the game as it is made without parameters.
"""


def page() -> str:
    """All sections under a table of contents, as Markdown; a game whose extra isn't installed says so instead."""
    return "\n".join([HEAD, *table(names()), *(_section_or_reason(name) for name in names())]).rstrip()


def table(games: Sequence[str]) -> list[str]:
    """One line a game: its seats and what kind it is."""
    rows = ["| game | seats | kind |", "|---|---|---|"]
    for name in games:
        game = make(name)
        rows.append(f"| [{name}](#{name}) | {seats(game)} | {', '.join(kind(game.info))} |")
    return [*rows, ""]


def section(name: str) -> str:
    """What is to be known of one game. Raises ImportError where it needs an extra that isn't installed."""
    game = make(name)
    game.reset(seed=0)
    seat, info = game.turn(), game.info
    again = {0: "is a forfeit at once", 1: "is told, and a second one is a forfeit"}
    illegal = again.get(info.max_illegal, f"is told, and number {info.max_illegal + 1} is a forfeit")
    facts = {
        "seats": seats(game),
        "kind": ", ".join(kind(info)),
        "par": f"{info.par:g}" if info.par is not None else "",
        "parameters": ", ".join(f"`{told}`" for told in parameters(find(name))),
        "an illegal move": f"{illegal}: {info.forfeit:g}",
        "known values": ", ".join(f"{what} {value:g}" for what, value in game.known.items()),
        "oracle": oracle(game, seat),
        "bots": ", ".join(f"`bot:{bot}`" for bot in game.bots),
    }
    lines = [f"- {what}: {told}" for what, told in facts.items() if told]
    opening = ["```text", *(line.rstrip() for line in game.observe(seat)["text"].splitlines()), "```"]
    rules = cleandoc(find(name).__doc__ or "")
    return "\n".join([f"## {name}", rules, "", *lines, "", f"What {seat} hears first, with seed 0:", *opening, ""])


def _section_or_reason(name: str) -> str:
    try:
        return section(name)
    except ImportError as error:
        return f"## {name}\n{error}\n"


def seats(game: Game) -> str:
    """The roles, with how often each is there if more than once."""
    return ", ".join(f"{role} x{count}" if count > 1 else role for role, count in game.roles.items())


def kind(info: GameInfo) -> list[str]:
    """The facts of a game that are so, in words."""
    told = {
        "zero-sum": info.zero_sum,
        "cooperative": info.cooperative,
        "general sum": not (info.zero_sum or info.cooperative),
        "simultaneous": info.simultaneous,
        "chance": info.chance,
        "perfect information": info.perfect_information,
        "no draws": not info.draws,
    }
    return [word for word, so in told.items() if so]


def parameters(cls: type[Game]) -> list[str]:
    """What the constructor takes, with the defaults."""
    takes = [taken for taken in signature(cls).parameters.values() if taken.kind is not Parameter.VAR_KEYWORD]
    return [p.name if p.default is Parameter.empty else f"{p.name}={p.default!r}" for p in takes]


def oracle(game: Game, seat: str) -> str:
    """Whether the game plays perfectly."""
    if type(game).oracle is Game.oracle:
        return "no"
    return "yes" if game.oracle(seat) else "for some parameters only"

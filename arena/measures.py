"""What a list says beside its order: as columns, as forecasts and in sentences, alike on a terminal and on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arena.ratings import Forecast
from arena.scoreboard import Board
from arena.standings import Standing

# How much an entrant matters in a population of all of them: heading, and what a line of the standings says there.
POPULATION: Mapping[str, Callable[[Standing], str]] = {
    "nash": lambda row: "" if row.nash is None else f"{row.nash:.3f}",
    "skill": lambda row: "" if row.skill is None else f"{row.skill:+.3f}",
    "alpha": lambda row: "" if row.alpha is None else f"{row.alpha:.3f}",
}
# Of an entrant and the next one below on the list.
NEXT = ("needed", "odds", "vs next")


def columns(board: Board) -> tuple[list[str], list[list[str]]]:
    """The headings that say anything of anybody, and beneath them a row for each entrant."""
    below = dict(zip(board.rows, board.rows[1:], strict=False))
    found = {heading: [of(row) for row in board.rows] for heading, of in POPULATION.items()}
    pairs = [_against(board, row, below[row]) if row in below else ("",) * len(NEXT) for row in board.rows]
    found |= {heading: [cells[i] for cells in pairs] for i, heading in enumerate(NEXT)}
    if len({row.island for row in board.rows}) > 1:
        found["island"] = [str(row.island + 1) for row in board.rows]
    said = [heading for heading, cells in found.items() if any(cells)]
    return said, [[found[heading][i] for heading in said] for i in range(len(board.rows))]


def _against(board: Board, row: Standing, other: Standing) -> tuple[str, str, str]:
    pair, odds = (row.agent, other.agent), board.forecasts
    cell = board.standings.payoff.get(pair)
    return (
        "" if row.needed is None else str(row.needed),
        percents(odds[pair]) if pair in odds else "",
        "" if cell is None else f"{cell.mean:.2f} ({cell.low:.2f}-{cell.high:.2f})",
    )


def percents(odds: Forecast) -> str:
    """Win, draw and loss, as in 62/11/27."""
    return "/".join(f"{100 * p:.0f}" for p in odds)


def legend(board: Board) -> list[str]:
    """What the columns mean."""
    (headings, _), level, power = columns(board), 100 * board.standings.level, 100 * board.standings.power
    said = {
        "nash": "nash, skill: weight in the most even equilibrium of all entrants, and points above a half against it",
        "alpha": "alpha: the share of time that an evolving population spends with an entrant",
        "needed": "needed: matches that an entrant and the next one below still owe each other until they are told "
        f"apart at {level:g} %, with a chance of {power:g} %",
        "odds": "odds: how often, in percent, the entrant wins, draws and loses against the next one below",
        "vs next": f"vs next: its mean points against the next one below, with their {level:g} % interval",
    }
    return [line for heading, line in said.items() if heading in headings]


def remarks(board: Board) -> list[str]:
    """What there is to say of the list as a whole."""
    standings, found = board.standings, list[str]()
    if standings.cycles is not None:
        found.append(f"of all threes that met, {100 * standings.cycles:.0f} % beat each other in a circle")
    drawn = [f"{game} {100 * share:.0f} %" for game, share in standings.draws.items() if share]
    if drawn:
        found.append(f"equals draw: {', '.join(drawn)}")
    if standings.seats:
        worth = (f"{game} {role} {elo:+.0f}" for (game, role), elo in standings.seats.items())
        found.append(f"what a seat is worth, in Elo points: {', '.join(worth)}")
    rated = [island for island in standings.islands if len(island) > 1]
    if len(rated) > 1:
        found.append("islands: " + "; ".join(", ".join(island) for island in rated))
    return [*found, *standings.notes]

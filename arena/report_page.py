"""A tournament as one page: a file that opens from disk, asks nobody for anything, and runs nothing."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from arena.measures import columns, legend, percents, remarks
from arena.report_style import STYLE
from arena.scoreboard import Board, Scoreboard
from arena.standings import Standing
from arena.store import Store
from arena.terminal import clean
from arena.types import Episode, Match, Turn

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # no script, picture, font or request, whatever a name holds
LONGEST, TURNS = 1500, 40  # characters of a text and turns of a game that are shown


def write(board: Scoreboard, store: Store, path: Path) -> None:
    """Write the page of a tournament; the file appears at once or not at all."""
    shown = [store.match(match.id) for match in worth_reading(board, store.log(board.name))]
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(page(board, shown), encoding="utf-8")
    os.replace(partial, path)


def worth_reading(board: Scoreboard, log: Iterable[Match]) -> list[Match]:
    """Of each game the last match of its two best who met, and the first of everything that went wrong."""
    best: dict[str, tuple[int, Match]] = {}
    wrong: dict[tuple[str, str, str], Match] = {}
    places = {game.game: {row.agent: i for i, row in enumerate(game.rows)} for game in board.games}
    for match in log:
        if match.fault or match.ending == "infra":
            wrong.setdefault((match.fault, match.game, match.ending), match)
        met = {agent for team in match.teams for agent in team if agent in places.get(match.game, {})}
        height = sum(places[match.game][agent] for agent in met) if len(met) > 1 else len(board.overall.rows) ** 2
        if match.game in places and (match.game not in best or height <= best[match.game][0]):
            best[match.game] = (height, match)
    found = {match.id: match for match in (*(match for _, match in best.values()), *wrong.values())}
    return list(found.values())


def page(board: Scoreboard, shown: Sequence[tuple[Match, Sequence[Episode]]] = ()) -> str:
    """The whole page as HTML. Names and what agents said stand in it as text, cleaned of what moves or reorders it."""
    counts = ", ".join(f"{n} {ending}" for ending, n in board.overall.endings.items())
    several = len(board.games) > 1
    parts = [
        f"<header><h1>{text(board.name)}</h1><p>{text(board.shape.replace('_', ' '))}, "
        f"{len(board.overall.rows)} entrants, {len(board.games)} game{'s' * several}, {board.overall.matches} matches "
        f"({text(counts)})</p></header>",
        _section("Leaderboard", _leaderboard(board.overall)),
        _section("Pay-off", _payoff(board.overall)),
    ]
    if several:
        parts.append(
            _section("Game by game", "".join(_folded(_title(g), _leaderboard(g) + _payoff(g)) for g in board.games))
        )
    parts.append(_section("How matches ended", _endings(board)))
    parts.append(_section("What went wrong", _wrong(board)))
    parts.append(_section("Matches to read", "".join(_folded(*_match(*one)) for one in shown) or "<p>none</p>"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(board.name)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def text(words: object) -> str:
    """Anything as text that is nothing but text, in a page and in its attributes."""
    return html.escape(clean(str(words)))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{text(title)}</h2>{body}</section>"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>{body}</details>"


def _title(board: Board) -> str:
    return f"{text(board.game)} <small>{board.matches} matches</small>"


# -- numbers -------------------------------------------------------------------------------------------------------


def _leaderboard(board: Board) -> str:
    """A line for each entrant: name, interval on a common scale, and the numbers."""
    bounds = [bound for row in board.rows for bound in (row.low, row.high) if bound is not None]
    low, high = min(bounds, default=0.0), max(bounds, default=1.0)
    groups, level = board.groups, f"{100 * board.standings.level:g} %"
    headings, cells = columns(board)
    said = [[f"{heading} {cell}" for heading, cell in zip(headings, row, strict=True) if cell] for row in cells]
    lines = "".join(
        f'<li><span class="name">{text(row.agent)}</span>{_bar(row, low, max(high - low, 1.0))}'
        f'<span class="elo">{_elo(row)}</span><span class="facts">{_facts(row, board, groups[row.agent])}</span>'
        f'<span class="facts">{text(", ".join(more))}</span></li>'
        for row, more in zip(board.rows, said, strict=True)
    )
    notes = "".join(f'<p class="legend">{text(remark)}</p>' for remark in (*legend(board), *remarks(board)))
    return (
        f'<ol class="board">{lines}</ol><p class="legend">Elo points relative to the mean, with {level} intervals. '
        f"Entrants who share a group letter can't be told apart yet.</p>{notes}"
    )


def _bar(row: Standing, low: float, width: float) -> str:
    if row.elo is None or row.low is None or row.high is None:
        return '<span class="bar"></span>'
    left, wide, at = (100 * x / width for x in (row.low - low, row.high - row.low, row.elo - low))
    span = f'<i style="left:{left:.2f}%;width:{max(wide, 0.5):.2f}%"></i>'
    return f'<span class="bar">{span}<b style="left:{at:.2f}%"></b></span>'


def _elo(row: Standing) -> str:
    if row.elo is None or row.low is None or row.high is None:
        return "not compared"
    return f"{row.elo:+.0f} <small>{row.low:+.0f} to {row.high:+.0f}</small>"


def _facts(row: Standing, board: Board, group: str) -> str:
    won, drawn, lost = board.record[row.agent]
    rating = next(rating for rating in board.ratings if rating.agent == row.agent)
    facts = [f"group {text(group)}"] if group else []
    facts += [f"{row.points:.3f} points"] if row.points is not None else []
    facts += [f"{won} won, {drawn} drawn, {lost} lost", f"TrueSkill {rating.mu:.1f} &#177; {rating.sigma:.1f}"]
    return ", ".join((*facts, f"{row.matches} matches"))


def _payoff(board: Board) -> str:
    """Who scored how much against whom, as a table of colours; columns are the places of the leaderboard."""
    if not board.payoff:
        return "<p>nobody has met</p>"
    names = [row.agent for row in board.rows]
    means = [cell.mean for cell in board.payoff.values()]
    centre = sum(means) / len(means)
    reach = max((abs(mean - centre) for mean in means), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{i}</th>' for i in range(1, len(names) + 1))
    lines = "".join(
        f'<tr><th scope="row"><span>{i} {text(name)}</span></th>'
        f"{''.join(_cell(board, (name, other), centre, reach) for other in names)}</tr>"
        for i, name in enumerate(names, 1)
    )
    what = "mean score" if board.game else "mean points (1 for a win, a half for a draw)"
    legend = f"The {what} of the entrant on the left where it met, or sat with, the one on top."
    return _scrolled("pay-off", "heat", head, lines) + f'<p class="legend">{legend}</p>' + _forecasts(board, head)


def _forecasts(board: Board, head: str) -> str:
    """How a match of any two would end, each having every seat as often as the other."""
    if not board.forecasts:
        return ""
    names = [row.agent for row in board.rows]
    odds, none = {pair: percents(found) for pair, found in board.forecasts.items()}, ""
    lines = "".join(
        f'<tr><th scope="row"><span>{i} {text(name)}</span></th>'
        f"{''.join(f'<td>{odds.get((name, other), none)}</td>' for other in names)}</tr>"
        for i, name in enumerate(names, 1)
    )
    legend = "The chances in percent that the entrant on the left wins, draws or loses against the one on top."
    return _folded(
        "Forecast of every pair", _scrolled("forecast", "odds", head, lines) + f'<p class="legend">{legend}</p>'
    )


def _scrolled(label: str, kind: str, head: str, lines: str) -> str:
    """A table that scrolls by itself where the page is narrower."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table class="{kind}">'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cell(board: Board, pair: tuple[str, str], centre: float, reach: float) -> str:
    cell, points = board.payoff.get(pair), board.standings.payoff.get(pair)
    if cell is None:
        return "<td></td>"
    share = (cell.mean - centre) / reach
    colour = f"color-mix(in srgb,var(--{'up' if share > 0 else 'down'}) {abs(share) * 45:.0f}%,transparent)"
    bounds = "" if points is None else f' title="points {points.mean:.2f}, {points.low:.2f} to {points.high:.2f}"'
    return f'<td style="background:{colour}"{bounds}>{brief(cell.mean)}</td>'


def brief(number: float) -> str:
    """Two decimals and no nought before them: a dozen columns are to fit on a telephone."""
    return f"{number:.2f}".replace("-0.", "-.") if number < 0 else f"{number:.2f}".removeprefix("0")


def _endings(board: Scoreboard) -> str:
    known = list(board.overall.endings)
    head = "".join(f'<th scope="col">{text(ending)}</th>' for ending in known)
    lines = "".join(
        f'<tr><th scope="row">{text(game.game)}</th>{"".join(f"<td>{game.endings.get(e, 0)}</td>" for e in known)}</tr>'
        for game in board.games
    )
    return _scrolled("endings", "endings", head, lines)


def _wrong(board: Scoreboard) -> str:
    """Who forfeited, was cut off or broke, how often and why; and who was withdrawn."""
    lines = [
        f"<li><b>{text(fault.agent or 'nobody in particular')}</b> at {text(fault.game)}: {fault.matches} "
        f"{text(fault.ending)}, the first time: <q>{text(short(fault.reason))}</q></li>"
        for fault in board.faults
    ]
    lines += [
        f"<li><b>{text(agent)}</b> was withdrawn from {text(game)}: <q>{text(short(reason))}</q></li>"
        for (agent, game), reason in board.withdrawn.items()
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else "<p>nothing</p>"


# -- matches -------------------------------------------------------------------------------------------------------


def _match(match: Match, episodes: Sequence[Episode]) -> tuple[str, str]:
    """The line of a match, and what was said in its games."""
    teams = " &#8211; ".join(text(" + ".join(dict.fromkeys(team))) for team in match.teams)
    scores = " &#8211; ".join(f"{score:g}" for score in match.scores)
    title = f"{text(match.game)}: {teams} <small>{scores} ({text(match.ending)})</small>"
    return title, "".join(_episode(episode) for episode in episodes)


def _episode(episode: Episode) -> str:
    names = episode.agents
    turns = "".join(_turn(turn, names) for turn in episode.turns[:TURNS])
    left = len(episode.turns) - TURNS
    more = f"<p>and {left} more turns</p>" if left > 0 else ""
    gains = {seat: "unscored" if gain is None else f"{gain:g}" for seat, gain in episode.returns.items()}
    returns = ", ".join(f"{text(seat)} {gain}" for seat, gain in gains.items())
    reason = f" ({text(short(episode.reason))})" if episode.reason else ""
    return f'<div class="game"><p>{text(episode.ending)}{reason}: {returns}</p>{turns}{more}</div>'


def _turn(turn: Turn, names: Mapping[str, str]) -> str:
    judged = "" if turn.legal else f' <small class="bad">not legal: {text(short(turn.reason))}</small>'
    return (
        f'<div class="turn"><p class="heard">{text(short(turn.heard))}</p><p><b>{text(turn.seat)}</b> '
        f'<small>{text(names[turn.seat])}</small></p><p class="said">{text(short(turn.reply))}{judged}</p></div>'
    )


def short(words: str) -> str:
    """The beginning of a text, and how much of it is left out."""
    left = len(words) - LONGEST
    return words if left <= 0 else f"{words[:LONGEST]} ... and {left} more characters"

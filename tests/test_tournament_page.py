"""The page of a tournament says what was played, and whatever a name or an agent says stays text."""

import asyncio
import json
import re
from dataclasses import dataclass, fields, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import arena
from arena.agent import PLAYER
from arena.commands.contest import show
from arena.guard import Rules
from arena.make import GameConfig
from arena.payoff import Cell
from arena.report_page import LONGEST, TURNS, brief, page, short, text, worth_reading, write
from arena.schedule import Plan
from arena.standings import Standing, Standings
from arena.store import Store
from arena.tournament import contest

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e<img src=x onerror=alert(1)>"
KUHN, NIM = GameConfig("kuhn_poker"), GameConfig("nim", {"heaps": [1, 2]})


@dataclass
class Says:
    """Says what it is told to, or raises it."""

    what: object
    name: str = "says"
    role: object = PLAYER

    async def act(self, context):
        if isinstance(self.what, Exception):
            raise self.what
        return self.what


BOTS = {"random": lambda *_: arena.RandomAgent(), "oracle": lambda *_: arena.OracleAgent()}


def breaks(*_):
    return Says(RuntimeError("gone"))


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text by section."""

    def __init__(self, source):
        super().__init__()
        self.found, self.texts, self.open = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


def playing(entrants, *games, rounds=2, **more):
    """The scoreboard of a tournament, and its page."""
    asked = Plan("p", games or (KUHN,), tuple(entrants), rounds, 1, strikes=1)
    with Store("store.db") as store:
        board = asyncio.run(contest(asked, entrants, store, **more))
        write(board, store, Path("page.html"))
    return board, Path("page.html").read_text()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Two good players, one that floods with markup, one that breaks with it, and a hostile name; at two games."""
    entrants = {
        "random": lambda *_: arena.RandomAgent(),
        "perfect": lambda *_: arena.OracleAgent(),
        "breaks": lambda *_: Says(RuntimeError(HOSTILE)),
        HOSTILE: lambda *_: Says(HOSTILE),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        return playing(entrants, KUHN, NIM)


def test_the_page_needs_nothing_and_runs_nothing(played):
    """Its policy forbids everything but its own style, and it holds nothing that would ask for more."""
    tags = Tags(played[1])
    (policy,) = [attrs["content"] for tag, attrs in tags.found if "http-equiv" in attrs]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert not {tag for tag, _ in tags.found} & {
        "script",
        "img",
        "link",
        "iframe",
        "form",
        "object",
        "a",
        "base",
        "svg",
    }
    names = {name for _, attrs in tags.found for name in attrs}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "href", "action"}
    assert "url(" not in played[1]
    assert "@import" not in played[1]


def test_hostile_text_is_shown_as_it_is(played):
    tags = Tags(played[1])
    assert tags.open == []
    shown = "".join(tags.texts)
    bare = HOSTILE.replace("\x1b[31m", "").replace("\u202e", "")
    assert shown.count(bare) > 4  # a name, a reply, an error
    assert "\x1b" not in played[1]
    assert "\u202e" not in played[1]


def test_styles_are_made_of_numbers_alone(played):
    styles = [attrs["style"] for _, attrs in Tags(played[1]).found if "style" in attrs]
    colour = r"background:color-mix\(in srgb,var\(--(up|down)\) \d+%,transparent\)"
    assert styles
    assert all(re.fullmatch(rf"left:[\d.]+%(;width:[\d.]+%)?|{colour}", style) for style in styles)


def test_everybody_and_every_number_is_on_it(played):
    board, source = played
    shown = "".join(Tags(source).texts)
    for name in ("random", "perfect", "breaks"):
        assert name in shown
    for row in board.overall.rows:
        if row.elo is not None:
            assert f"{row.elo:+.0f}" in shown
    for cell in board.overall.payoff.values():
        assert brief(cell.mean) in shown
    for game in board.games:
        assert f"{game.game} {game.matches} matches" in shown
    assert "not compared" in shown  # nobody was compared with the one that breaks
    assert "breaks at kuhn_poker: 6 infra, the first time: " in shown
    assert "breaks was withdrawn from kuhn_poker" in shown
    assert "not legal: " in shown


STANDING = Standing("random", 1.0, -50.0, 60.0, 7, 0.9, 5, 123, 0.456, 0.321, 0.654)
CHANGES = {
    "agent": "someone",
    "elo": 77.0,
    "low": -300.0,
    "high": 300.0,
    "matches": 99,
    "points": 0.123,
    "island": 3,
    "needed": 555,
    "nash": 0.111,
    "skill": -0.222,
    "alpha": 0.333,
    "groups": (("perfect",), ("random",)),
    "islands": (("perfect", "random"), ("someone", "another")),
    "payoff": {("perfect", "random"): Cell(0.61, 0.51, 0.71, 9)},
    "draws": {"kuhn_poker": 0.37},
    "seats": {("kuhn_poker", "first"): 29.0},
    "cycles": 0.83,
    "level": 0.91,
    "power": 0.77,
    "notes": ("something is amiss",),
}


def told(board, standings, capsys):
    """What terminal, JSON and page say of a board with these standings."""
    one = replace(board.overall)
    one.__dict__["standings"] = standings
    board = replace(board, overall=one, games=(one,))
    capsys.readouterr()
    show(board)
    return capsys.readouterr().out, json.dumps(board.to_json()), page(board)


@pytest.mark.parametrize(
    "changed", [f.name for kind in (Standing, Standings) for f in fields(kind) if f.name != "rows"]
)
def test_every_field_of_the_standings_reaches_the_terminal_the_json_and_the_page(changed, capsys):
    """Nothing is computed for nobody: where a field changes, so does each of the three."""
    names = ("random", "perfect", "someone")
    board, _ = playing({name: lambda *_: arena.RandomAgent() for name in names}, rounds=2)
    second = replace(STANDING, agent="perfect", elo=0.0)
    standings = replace(board.overall.standings, rows=(STANDING, second), groups=(("random", "perfect"),))
    if changed in {f.name for f in fields(Standing)}:
        other = replace(standings, rows=(replace(STANDING, **{changed: CHANGES[changed]}), second))
    else:
        assert getattr(standings, changed) != CHANGES[changed]
        other = replace(standings, **{changed: CHANGES[changed]})
    before, after = told(board, standings, capsys), told(board, other, capsys)
    assert [a != b for a, b in zip(before, after, strict=True)] == [True, True, True]


def test_a_forecast_of_every_pair_stands_in_the_json_and_on_the_page():
    board, source = playing({"a": BOTS["random"], "b": BOTS["oracle"]}, rounds=20)
    odds = board.overall.standings.forecast("a", "b", "kuhn_poker")
    assert {"agent": "a", "other": "b", "win": odds.p_win, "draw": odds.p_draw, "loss": odds.p_loss} in (
        board.to_json()["forecasts"]
    )
    assert f"<td>{'/'.join(f'{100 * p:.0f}' for p in odds)}</td>" in source


def test_who_has_not_played_is_in_no_group(capsys):
    """Nothing is known of c and d: a letter of their own would say that they were told apart."""
    entrants = {"a": BOTS["random"], "b": BOTS["oracle"], "c": breaks, "d": breaks}
    board, source = playing(entrants, rounds=4)
    groups = board.overall.groups
    assert groups["c"] == groups["d"] == ""
    assert "" not in (groups["a"], groups["b"])
    assert source.count("not compared") == 2


def test_a_bar_is_as_long_as_its_interval(played):
    board, source = played
    rows = [row for row in board.overall.rows if row.low is not None]
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    drawn = re.findall(r'<i style="left:([\d.]+)%;width:([\d.]+)%"></i><b style="left:([\d.]+)%">', source)[: len(rows)]
    for row, bar in zip(rows, drawn, strict=True):
        left, width, at = map(float, bar)
        scale = (high - low) / 100
        assert (left, width, at) == pytest.approx(
            ((row.low - low) / scale, (row.high - row.low) / scale, (row.elo - low) / scale), abs=0.01
        )


def test_worth_reading_are_the_best_s_last_match_and_the_first_of_every_failure(played):
    board, _ = played
    log = [match for game in board.games for match in game.log]
    shown = worth_reading(board, log)
    assert {match.game for match in shown} == {game.game for game in board.games}
    failures = {(match.fault, match.game, match.ending) for match in log if match.fault}
    assert failures <= {(match.fault, match.game, match.ending) for match in shown}
    best = [row.agent for row in board.games[0].rows][:2]
    met = [match for match in board.games[0].log if {agent for team in match.teams for agent in team} == set(best)]
    assert met[-1] in shown
    assert len(shown) <= len(board.games) + len(failures)


def test_long_games_and_texts_are_cut_and_say_so():
    assert short("x" * LONGEST) == "x" * LONGEST
    assert short("x" * LONGEST + "yz").endswith("x ... and 2 more characters")
    turn = arena.Turn("a_0", 0, "heard", "said", "said", True)
    turns, ended = (turn,) * (TURNS + 3), {"returns": {"a_0": None}, "ending": "infra", "reason": "a_0: gone"}
    episode = arena.Episode("e", "g", 1, None, agents={"a_0": "a"}, faced={}, turns=turns, contexts={}, **ended)
    board, _ = playing({"a": lambda *_: arena.RandomAgent(), "b": lambda *_: arena.RandomAgent()}, rounds=1)
    match = arena.Match("m", "g", (("a",), ("b",)), (), ending="infra")
    source = page(board, [(match, [episode])])
    assert source.count('class="turn"') == TURNS
    assert "and 3 more turns" in source
    assert "a_0 unscored" in source


def test_a_tournament_without_a_rated_match_still_has_a_page(capsys):
    entrants = {name: lambda *_: Says(RuntimeError("gone")) for name in "ab"}
    board, source = playing(entrants, rounds=1)
    assert "nobody has met" in source
    assert source.count("not compared") == 2
    show(board)
    assert "RuntimeError: gone" in capsys.readouterr().out


def test_names_are_cleaned_on_the_terminal(capsys):
    entrants = {"[bold]x[/]": lambda *_: arena.RandomAgent(), HOSTILE: lambda *_: arena.OracleAgent()}
    board, _ = playing(entrants)
    show(board)
    told = capsys.readouterr().out
    assert "[bold]x[/]" in told
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "p: kuhn_poker, 2 matches (2 over)" in told


def test_numbers_are_brief_and_keep_their_sign():
    assert [brief(x) for x in (0.5, -0.25, 1.0, -12.5, 0.0, -0.001)] == [".50", "-.25", "1.00", "-12.50", ".00", "-.00"]


def test_text_is_escaped_in_attributes_too():
    assert text("\"'<>&") == "&quot;&#x27;&lt;&gt;&amp;"
    assert text("a\x00\ud800b") == "ab"


def test_a_page_that_fails_leaves_the_old_one(monkeypatch):
    entrants = {name: lambda *_: arena.RandomAgent() for name in "ab"}
    board, before = playing(entrants)
    monkeypatch.setattr("arena.report_page.page", lambda *_: "\ud800")
    with Store.read("store.db") as store, pytest.raises(UnicodeEncodeError):
        write(replace(board, name="p"), store, Path("page.html"))
    assert Path("page.html").read_text() == before


def test_rules_reach_the_page():
    """A flood that is forfeited by rule is told with its length, and its text is nowhere."""
    entrants = {"ok": lambda *_: arena.RandomAgent(), "floods": lambda *_: Says("spam" * 1000)}
    _, source = playing(entrants, rules=Rules(longest=100))
    assert "replied 4000 characters, 100 are allowed" in source
    assert "spamspam" not in source

"""While a tournament is played a table lives on a terminal; elsewhere a line now and then."""

import asyncio
import io

from rich.console import Console

from arena.agent import PLAYER
from arena.make import GameConfig
from arena.schedule import Plan
from arena.spectator import SHOWN, Spectator
from arena.store import Store
from arena.terminal import Ticker
from arena.tournament import contest
from arena.types import Match


class Breaks:
    """Never replies."""

    name, role = "breaks", PLAYER

    async def act(self, context):
        raise RuntimeError("gone")


def won(number, first="a", second="b", **more):
    return Match(str(number), "g", ((first,), (second,)), (1.0, 0.0), **more)


def terminal(**more):
    return Console(file=io.StringIO(), width=100, force_terminal=True, markup=False, color_system=None, **more)


def drawn(spectator):
    console = Console(file=io.StringIO(), width=100, markup=False)
    console.print(spectator.picture())
    return console.file.getvalue()


def test_the_table_has_ratings_counts_and_the_time_left():
    now = [0.0]
    watch = Spectator("t", 12, ["b", "a\x1b[2J"], [won(0, "a\x1b[2J")], console=terminal(), clock=lambda: now[0])
    watch(won(1, "a\x1b[2J"), 2)
    watch(Match("2", "g", (("a\x1b[2J",), ("b",)), (), ending="infra", fault="b"), 3)
    now[0] = 10.0
    picture = drawn(watch)
    lines = picture.splitlines()
    assert lines[2].split()[0] == "a"  # the winner of both stands first
    assert lines[2].split()[-3:] == ["2", "0", "0"]
    assert lines[3].split()[-4:] == ["0", "0", "2", "1"]  # lost twice, and broke one
    assert "3/12 matches  1 infra  0.2/s  45 s left" in picture
    assert "\x1b" not in picture


def test_on_a_terminal_the_table_is_drawn_and_left_there():
    console = terminal()
    with Spectator("t", 1, ["a", "b"], console=console) as watch:
        watch(won(1), 1)
    assert "1/1 matches" in console.file.getvalue()


def test_elsewhere_a_line_tells_who_is_first(capsys):
    with Spectator("t", 1, ["b", "a"]) as watch:
        watch(won(1), 1)
    assert capsys.readouterr().err == "t 1/1  first a\n"


def test_a_match_that_is_tried_again_counts_once():
    """Twelve that broke off earlier and break again are twelve, not thirteen to twenty-four."""
    broken = [Match(f"m{i:02}", "g", (("a",), ("b",)), (), ending="infra", fault="b") for i in range(12)]
    watch = Spectator("t", 36, ["a", "b"], broken, console=terminal())
    watch(broken[0], 25)
    assert "25/36 matches  12 infra" in drawn(watch)
    watch(won("m01"), 26)
    assert "26/36 matches  11 infra" in drawn(watch)


def test_a_tournament_that_goes_on_tells_how_far_it_is_and_ends_with_one_line(capsys):
    """Three matches broke off and are tried again: the count grows from there, with a line at each end."""
    entrants = {name: lambda *_: Breaks() for name in "ab"}
    plan = Plan("p", (GameConfig("kuhn_poker"),), tuple(entrants), 3, strikes=0)
    with Store("store.db") as store:
        asyncio.run(contest(plan, entrants, store))
        with Spectator("t", 3, plan.entrants, store.log("p")) as watch:
            asyncio.run(contest(plan, entrants, store, watch=watch))
    assert capsys.readouterr().err == "t 1/3  first a  infra 3\nt 3/3  first a  infra 3\n"


def test_lines_beyond_the_end_are_told_now_and_then(capsys):
    now = [0.0]
    tick = Ticker("t", 2, clock=lambda: now[0])
    for i in range(40):
        now[0] = i / 2
        tick(min(i, 2))
    told = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert told == ["0/2", "2/2", "2/2"]  # at the start, at the end, and 10 s after it


def test_a_field_higher_than_the_terminal_is_cut_and_says_so():
    watch = Spectator("t", 1, [f"e{i:02}" for i in range(SHOWN + 5)], console=terminal())
    assert "and 5 more" in drawn(watch)
    assert f"e{SHOWN:02}" not in drawn(watch)

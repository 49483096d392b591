"""While a tournament is played a table lives on a terminal; elsewhere a line now and then."""

import io

from rich.console import Console

from arena.spectator import SHOWN, Spectator
from arena.types import Match


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


def test_a_field_higher_than_the_terminal_is_cut_and_says_so():
    watch = Spectator("t", 1, [f"e{i:02}" for i in range(SHOWN + 5)], console=terminal())
    assert "and 5 more" in drawn(watch)
    assert f"e{SHOWN:02}" not in drawn(watch)

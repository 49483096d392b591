"""Model text reaches the terminal as text: nothing in it moves, colours, hides or reorders anything."""

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from arena import terminal
from arena.terminal import Ticker, clean, one_line


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("I say [bet]", "I say [bet]"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;file:///x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=", "]52;c;aGk="),
        ("\x1bcreset", "reset"),
        ("fold\rcall", "foldcall"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("bet\x08\x08\x08fold\x00\x7f", "betfold"),
        ("a\u202eevil\u202c b\u2066x\u2069\u200f", "aevil bx"),
        ("in\u200bvis\ufeffible\U000e0041", "invisible"),
        ("half \ud800 pair", "half  pair"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("می‌خواهم 👩‍🚀 né", "می‌خواهم 👩‍🚀 né"),
    ],
)
def test_text_is_made_harmless(said, shown):
    assert clean(said) == shown


@given(st.text(st.characters(codec=None) | st.sampled_from("\x1b\x9b\x9d[];m\x07\x9c\\\r\n\u202e"), max_size=40))
def test_nothing_that_steers_survives(said):
    shown = clean(said)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not any(
        unicodedata.bidirectional(c) in ("RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI") for c in shown
    )
    assert clean(shown) == shown


def test_one_line_is_one_line():
    assert one_line("a\n  b\u2028c\x1b[2K") == "a b c"


def test_square_brackets_and_colons_are_printed_as_they_are(capsys):
    terminal.say("I say [bet] :smile: [/] 1.5")
    assert capsys.readouterr().out == "I say [bet] :smile: [/] 1.5\n"


def test_a_long_error_stays_on_one_line(capsys):
    terminal.fail("x" * 300 + "\nsecond")
    assert capsys.readouterr() == ("", "error: " + "x" * 300 + " second\n")


def test_a_table_holds_hostile_cells(capsys):
    terminal.table(("who", "mu"), [("\x1b[31m[bold]eve\x1b[0m", 1.0), ("bob", 22.5)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["[bold]eve", "1.000"]
    assert lines[1].rstrip().endswith("1.000")


IDS = [f"tic_tac_toe-{n:04}-2d40d8d1ec09d391-and-{n}" for n in range(2)]


def drawn(monkeypatch, width, is_terminal):
    """The lines of a table with ids, names and prose, where that is so wide."""
    file = io.StringIO()
    console = Console(markup=False, width=width, file=file, force_terminal=is_terminal, color_system=None)
    monkeypatch.setattr(terminal, "out", console)
    terminal.table(("match", "why"), [(id, "it took a very long time to say nothing at all, twice") for id in IDS])
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 60, 10])
def test_an_id_is_never_broken_and_prose_is(monkeypatch, width):
    lines = drawn(monkeypatch, width, is_terminal=True)
    assert len(lines) > 3
    assert [line.split()[0] for line in lines if "tic_tac" in line] == IDS


def test_nothing_is_wrapped_in_a_pipe(monkeypatch):
    lines = drawn(monkeypatch, 60, is_terminal=False)
    assert [line.split(maxsplit=1)[0] for line in lines[1:]] == IDS
    assert all(line.endswith("nothing at all, twice") for line in lines[1:])


def test_progress_without_a_terminal_is_a_line_now_and_then(capsys):
    now = iter([0.0, 1.0, 2.0, 12.0, 13.0])
    with Ticker("kuhn", 4, every=10.0, clock=lambda: next(now)) as tick:
        for step in (1, 2, 3, 4):
            tick(step, loss=step / 3)
    assert capsys.readouterr().err.splitlines() == [
        "kuhn 1/4  loss 0.3333",
        "kuhn 3/4  loss 1  6 s left",
        "kuhn 4/4  loss 1.333",
    ]


def test_progress_on_a_terminal_is_a_bar_that_shows_brackets(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100, markup=False, highlight=False, emoji=False)
    monkeypatch.setattr(terminal, "err", console)
    with Ticker("kuhn [bet]", 2) as tick:
        tick(1, {"nash_conv": 0.5})
        tick(2, {"nash_conv": 0.25})
    assert "kuhn [bet]" in shown.getvalue()
    assert "nash_conv 0.25" in shown.getvalue()
    assert "2/2" in shown.getvalue()


def test_what_is_said_aside_leaves_stdout_to_programs(capsys):
    with terminal.aside():
        terminal.say("a table for people")
    with terminal.aside(False):
        terminal.say("{}")
    assert capsys.readouterr() == ("{}\n", "a table for people\n")

"""The page about the games is what their classes say, and nobody writes it by hand."""

from pathlib import Path

import pytest

from arena.cli import main
from arena.game import Game
from arena.library import kind, page, parameters, section
from arena.make import find, make, names

PAGE = Path(__file__).parent.parent / "docs" / "library.md"
RENEW = "write it anew: scrimmage games --markdown > docs/library.md"


@pytest.mark.parametrize("name", names())
def test_the_page_has_every_game_as_its_class_says(name):
    try:
        written = section(name)
    except ImportError as error:
        pytest.skip(str(error))
    assert written in PAGE.read_text(), RENEW


def test_the_page_is_what_the_command_prints(capsys):
    assert main(["games", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed == page() + "\n"
    heads = [line for line in printed.splitlines() if line.startswith(("## ", "| ["))]
    assert heads == [line for line in PAGE.read_text().splitlines() if line.startswith(("## ", "| ["))], RENEW


def test_a_section_tells_rules_parameters_values_bots_and_the_opening():
    written = section("kuhn_poker")
    for part in (
        "one card to each seat",
        "`seats=2`",
        "first -0.0555556",
        "- oracle: yes",
        "zero-sum, chance",
        "Card: ",
    ):
        assert part.lower() in written.lower()
    assert "- oracle: for some parameters only" in section("connect_four")
    assert "`bot:tit_for_tat`" in section("prisoners_dilemma")


def test_every_game_tells_its_rules_and_shows_a_seat_something():
    for name in names():
        rules = find(name).__doc__ or ""
        assert rules != Game.__doc__
        assert len(rules) > 20, f"{name} says nothing of its rules"
        assert kind(make(name).info)
        assert all("object at 0x" not in told for told in parameters(find(name)))


def test_a_game_without_its_extra_says_so_and_the_others_are_there(monkeypatch):
    import arena.library

    def lacking(name):
        if name == "nim":
            raise ImportError("nim needs something: pip install 'scrimmage[games]'")
        return section(name)

    monkeypatch.setattr(arena.library, "section", lacking)
    written = page()
    assert "## nim\nnim needs something: pip install 'scrimmage[games]'\n" in written
    assert "## kuhn_poker\nOne card" in written

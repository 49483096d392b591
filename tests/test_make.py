"""Games by name, or by module and class; what can't be made says why, and what was near."""

import sys

import pytest

from arena.game import Game
from arena.make import find, make, names
from games.nim import Nim


def test_every_file_of_the_house_is_a_game_of_its_name():
    assert {"kuhn_poker", "nim", "tic_tac_toe"} <= set(names())
    for name in names():
        game = make(name)
        assert isinstance(game, Game)
        assert str(game) == name
        assert game.params == {}


def test_parameters_reach_the_constructor_and_are_kept():
    game = make("nim", heaps=[1, 2], misere=True)
    assert (game.heaps, game.misere) == ((1, 2), True)
    assert game.params == {"heaps": [1, 2], "misere": True}


def test_your_own_game_is_a_module_and_a_class(own_folder, monkeypatch):
    (own_folder / "auctions.py").write_text("from games.nim import Nim\nclass Auction(Nim):\n    pass\n")
    monkeypatch.syspath_prepend(str(own_folder))
    game = make("auctions:Auction", misere=True)
    assert isinstance(game, Nim)
    assert str(game) == "auctions:Auction"
    del sys.modules["auctions"]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("kuhn_pokr", {}, "'kuhn_pokr' not found: did you mean 'kuhn_poker'"),
        ("chess960", {}, "there are .*nim"),
        ("", {}, "not found"),
        ("nowhere:Game", {}, "No module named 'nowhere'"),
        ("games.nim:Nimm", {}, "Nimm"),
        ("games.nim:lost", {}, "not a Game"),
        ("nim", {"heap": [1]}, "no parameter 'heap': did you mean 'heaps'"),
        ("kuhn_poker", {"cards": 4}, "no parameter 'cards': it takes none"),
        ("nim", {"heaps": []}, "'nim' with .*heaps are"),
        ("nim", {"heaps": 3}, "'nim' with .*not iterable"),
    ],
)
def test_what_cannot_be_made_says_why(name, params, message):
    with pytest.raises(ValueError, match=message):
        make(name, **params)


def test_find_gives_the_class():
    assert find("nim") is Nim

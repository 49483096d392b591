"""Games by name, or by module and class; what can't be made says why, and what was near."""

import sys

import pytest

from arena.game import Game
from arena.make import find, label, make, names, read
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
    assert str(game) == "auctions:Auction(misere=true)"
    del sys.modules["auctions"]


def test_games_made_differently_have_different_labels_and_alike_ones_the_same():
    assert str(make("dec_tiger", horizon=3)) == "dec_tiger(horizon=3)"
    assert str(make("dec_tiger", horizon=3)) != str(make("dec_tiger", horizon=2))
    assert str(make("nim", heaps=(1, 2), misere=True)) == str(make("nim", misere=True, heaps=[1, 2]))
    assert str(make("nim", misere=False)) == "nim"  # what is default anyway isn't told


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("nim", {"heaps": [1, 2], "misere": True}),
        ("games.nim:Nim", {"heaps": [7]}),
        ("dec_tiger", {"horizon": 3}),
        ("proposer_solver", {"held_out": [[10, 11], [12, 13]], "solvers": 1}),
        ("kuhn_poker", {}),
    ],
)
def test_a_label_makes_the_same_game_again(name, params):
    game = make(name, **params)
    again = make(str(game))
    assert (again.name, dict(again.params), str(again)) == (name, params, str(game))


@pytest.mark.parametrize(
    "word", ["nim(", "nim()", "nim(heaps)", "nim(heaps=x)", "nim(a=1 b=2)", "nim(a=1,,b=2)", "nim(a=1) ", "a(b)c"]
)
def test_what_is_no_label_is_all_name(word):
    assert read(word) == (word, {})


@pytest.mark.parametrize("comma", [", ", ",", ",  "])
def test_a_label_typed_without_or_with_more_space_is_the_same_game(comma):
    game = make(f"connect_four(rows=4{comma}columns=5)")
    assert (game.rows, game.columns, str(game)) == (4, 5, "connect_four(columns=5, rows=4)")


def test_text_in_a_label_may_hold_its_punctuation():
    told = {"motto": 'a, b=(1)"', "size": 2}
    assert read(label("test_make:Told", told)) == ("test_make:Told", told)


class Told(Game):
    """A game with a text among its parameters."""

    roles = {"player": 1}

    def __init__(self, motto="", size=1):
        self.motto, self.size = motto, size


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("kuhn_pokr", {}, "'kuhn_pokr' not found: did you mean 'kuhn_poker'"),
        ("chess960", {}, r"^game 'chess960' not found: scrimmage games lists them \(your own: 'module:Class'\)$"),
        ("", {}, "not found"),
        ("nowhere:Game", {}, "No module named 'nowhere'"),
        ("games.nim:Nimm", {}, "Nimm"),
        ("games.nim:lost", {}, "not a Game"),
        ("nim", {"heap": [1]}, "no parameter 'heap': did you mean 'heaps'"),
        ("kuhn_poker", {"cards": 4}, "no parameter 'cards': it takes seats"),
        ("nim", {"heaps": []}, "'nim' with .*heaps are"),
        ("nim", {"heaps": 3}, "'nim': heaps is 3: use a list of whole numbers"),
    ],
)
def test_what_cannot_be_made_says_why(name, params, message):
    with pytest.raises(ValueError, match=message):
        make(name, **params)


def test_find_gives_the_class():
    assert find("nim") is Nim

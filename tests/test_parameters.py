"""What a game can't be made with is refused before the game is asked, and never taken for something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, Literal

import pytest

from arena.game import Game
from arena.make import find, make, names

LISTED = "no such list", 3, {}, [object()], (part for part in ())
WRONG = {  # by the type of the default, values of another one
    bool: ("maybe", "", 0, 1, 2.0, None, []),
    int: ("3", "", 3.0, 2.5, float("nan"), True, None, [3]),
    float: ("0.5", float("nan"), float("inf"), 10**400, True, None, [0.5]),
    str: (3, 0.5, True, None, {}, b"text"),
    tuple: (*LISTED, None, True),
}
OTHERS = {  # parameters whose default doesn't say what they may be
    ("dec_pomdp", "model"): ("lamp.dpomdp", 3, True, [{}]),
    ("debate", "topology"): (3, None, True, {}, [[0, "1"]], [0]),
    ("matrix_game", "moves"): ("heads", 3, {}),
    ("matrix_game", "payoffs"): ("heads", 3, {}),
    ("proposer_solver", "held_out"): ("2", 2.0, None, True, [10, 11], [[10, "11"]]),
}
EVERY = [(name, param) for name in names() for param in signature(find(name)).parameters]


def test_each_game_says_of_each_parameter_what_it_may_be():
    assert len(EVERY) > 80
    assert [(name, param) for name, param in EVERY if param not in find(name).__init__.__annotations__] == []
    assert set(OTHERS) <= set(EVERY)


@pytest.mark.parametrize(("name", "param"), EVERY)
def test_a_value_of_another_type_is_refused_in_one_line_with_the_remedy(name, param):
    default = signature(find(name)).parameters[param].default
    for value in OTHERS.get((name, param)) or WRONG[type(default)]:
        with pytest.raises(ValueError, match=param) as refused:
            make(name, **{param: value})
        line = str(refused.value)
        assert line.startswith(f"game {name!r}: {param} is {value!r:.60}: use "), line
        assert "\n" not in line


class Shop(Game):
    """A game with one parameter of each sort."""

    roles: Mapping[str, int] = {"player": 1}

    def __init__(
        self,
        mode: Literal["fast", 2] = "fast",
        rest: int | None = None,
        share: float = 0.5,
        prices: Iterable[Iterable[int]] = (),
        names: Sequence[str] = (),
        pair: tuple[int, str] = (1, "a"),
        odds: Mapping[str, float] | None = None,
        anything: Any = None,
        **more: int,
    ):
        self.taken = (mode, rest, share, prices, names, pair, odds, anything, more)


@pytest.mark.parametrize(
    ("param", "good", "bad", "remedy"),
    [
        ("mode", ["fast", 2], ["slow", True, 2.0, None], "use 'fast' or 2"),
        ("rest", [None, 0, -3], [0.0, "0", False], "use a whole number or null"),
        ("share", [1, 0.25], ["1", float("-inf")], "use a number"),
        ("prices", [[], [[1, 2], (3,)]], [[1], "12", [["1"]]], "use a list of lists of whole numbers"),
        ("names", [["a"], ("a", "b")], ["ab", [1], {"a"}], "use a list of texts"),
        ("pair", [[1, "a"]], ["1a", 1], "use a list"),
        ("odds", [{"a": 1}, None], [[("a", 1)]], "use a mapping or null"),
    ],
)
def test_an_annotation_is_read_as_it_stands(param, good, bad, remedy):
    for value in good:
        assert value in make("test_parameters:Shop", **{param: value}).taken
    for value in bad:
        with pytest.raises(ValueError, match=f"Shop': {param} is .*: {remedy}$"):
            make("test_parameters:Shop", **{param: value})


def test_what_is_free_is_taken_as_it_is():
    sentinel = object()
    assert make("test_parameters:Shop", anything=sentinel, tip="much").taken[-2:] == (sentinel, {"tip": "much"})


class Late(Game):
    """A game with a type that was never imported."""

    roles: Mapping[str, int] = {"player": 1}

    def __init__(self, price: Money = 3, seats: int = 2):  # noqa: F821
        self.price = price


def test_a_type_that_only_a_checker_knows_stops_no_game():
    assert make("test_parameters:Late", price=4).price == 4

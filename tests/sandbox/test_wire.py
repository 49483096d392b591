"""What crosses the border of a jail, and when an answer is the expected one."""

import json
import math
from collections import Counter, OrderedDict, namedtuple
from enum import IntEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.sandbox.equality import same
from arena.sandbox.report import show, tidy
from arena.sandbox.wire import COLLISIONS, DEPTH, NotPlain, canonical, decode, encode, loads

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
KEYS = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
        | st.frozensets(KEYS, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
@settings(max_examples=50)
def test_every_plain_value_comes_back_the_same_with_the_same_types(value):
    back = decode(loads(json.dumps(encode(value))))
    assert canonical(back) == canonical(value)
    assert same(back, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("ifcbBtszdro"), inner),
)


@given(JSON)
@settings(max_examples=50)
def test_whatever_json_is_forged_the_decoder_gives_a_plain_value_or_refuses(form):
    try:
        value = decode(form)
    except NotPlain:
        return
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        *(2**53, -(2**53), 10**5000, -0.0, math.inf, -math.inf, math.nan, "\ud800", "\0", b"\xff", bytearray(b"x")),
        range(0, 10**30, 7),
    ],
    ids=lambda value: show(value)[:20],
)  # fmt: skip
def test_the_edges_come_back_too(value):
    back = decode(loads(json.dumps(encode(value))))
    assert type(back) is type(value)
    assert canonical(back) == canonical(value)


def test_a_subclass_is_read_as_the_builtin_that_it_extends():
    class Liar(dict):
        def items(self):
            return [(1, 2)]

    class Colour(IntEnum):
        RED = 3

    Point = namedtuple("Point", "x y")
    for value, plain in (
        (Liar(a=1), {"a": 1}),
        (Colour.RED, 3),
        (Point(1, 2), (1, 2)),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
    ):
        back = decode(encode(value))
        assert type(back) is type(plain)
        assert back == plain


@pytest.mark.parametrize("value", [object(), iter([]), int, len, (x for x in ()), Exception(), ...])
def test_what_is_not_plain_is_refused_unless_it_may_stay_inside(value):
    with pytest.raises(NotPlain, match="plain"):
        encode([value])
    kept = []
    assert encode([value], lambda thing: kept.append(thing) or 0) == [{"o": 0}]
    assert kept == [value]


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_bounded_on_both_sides():
    assert decode(encode(nested(DEPTH))) == nested(DEPTH)
    with pytest.raises(NotPlain, match="deep"):
        encode(nested(DEPTH + 1))
    with pytest.raises(NotPlain, match="deep"):
        decode(nested(DEPTH + 1))


@pytest.mark.parametrize(
    "form",
    [
        *({}, {"q": 1}, {"i": "1", "f": "1"}, {"i": 1}, {"i": "z"}, {"f": "x"}, {"f": 1.0}, 1.5),
        *({"c": ["1"]}, {"c": 1}, {"b": None}, {"B": []}),
        *({"b": "z"}, {"b": 1}, {"t": 1}, {"t": {"t": []}}, {"s": [[]]}, {"s": "ab"}, {"d": [[1]]}, {"d": [[[], 1]]}),
        *({"d": 1}, {"r": [1, 2, 0]}, {"r": [1]}, {"r": ["a", 1, 1]}, {"o": 0}, {"o": "x"}, {"t": [{"t": [{"x": 1}]}]}),
    ],
    ids=str,
)  # fmt: skip
def test_forged_forms_are_refused(form):
    with pytest.raises(NotPlain):
        decode(form)


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "Infinity", "1.5", "1" * 5000, "{", "", b"\xff"])
def test_forged_json_is_refused(text):
    with pytest.raises(NotPlain):
        loads(text)


def test_keys_that_would_make_a_set_slow_are_refused_before_it_is_built():
    colliding = [{"i": format(i * (2**61 - 1), "x")} for i in range(1, 5000)]
    for form in ({"s": colliding}, {"z": colliding}, {"d": [[key, 0] for key in colliding]}):
        with pytest.raises(NotPlain, match="one hash"):
            decode(form)
    assert len(decode({"s": colliding[:COLLISIONS]})) == COLLISIONS


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *((True, 1), (1, 1.0), ("1", 1), ([1], (1,)), ({1}, frozenset({1})), (b"x", bytearray(b"x"))),
        *((0, None), (0, False), ("", None), (1 + 0j, 1.0), (range(3), [0, 1, 2])),
        *(({1: "x"}, {True: "x"}), ({1: "x"}, {1.0: "x"}), ({1}, {True}), ([1, 2], [2, 1])),
        *(({"a": 1}, {"a": 1, "b": 2}), ({"a": 1}, {"a": True})),
        *(((1,), (1, 1)), (1.0, 1.1), ([True], [1])),
    ],
    ids=str,
)  # fmt: skip
def test_types_and_structure_are_compared_strictly(a, b):
    assert not same(a, b)
    assert not same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *((math.nan, math.nan), (0.1 + 0.2, 0.3), (1e300 * (1 + 1e-12), 1e300), (math.inf, math.inf), (0.0, -0.0)),
        *(({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1, 2}, {2, 1}), ([[1.0]], [[1.0 + 1e-12]]), (2j, 2j + 1e-12)),
    ],
    ids=str,
)  # fmt: skip
def test_equal_values_are_the_same(a, b):
    assert same(a, b)


@pytest.mark.parametrize(("a", "b"), [(math.inf, 1e308), (math.nan, 1.0), (math.inf, -math.inf), (1e-8, 0.0)])
def test_the_tolerance_of_floats_ends_somewhere(a, b):
    assert not same(a, b)


def test_a_value_is_shown_in_one_harmless_line():
    assert show(10**5000) == "a value too long to show"
    assert tidy("a\n\x1b[2J\ud800") == "a\\n\\x1b[2J\\ud800"
    assert len(show("x" * 10**6)) < 1000

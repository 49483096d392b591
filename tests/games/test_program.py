"""Values and programs as text: what is read is what was written, and whatever is written, nothing is executed."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.verify import program, values

SIMPLE = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=5)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def larger(inner):
    several = st.lists(inner, max_size=3) | st.tuples(inner) | st.sets(st.integers(0, 9), max_size=3)
    return several | st.dictionaries(st.text(max_size=3), inner, max_size=3)


plain = st.recursive(SIMPLE | FLOATS, larger, max_leaves=6)


@given(plain)
@settings(max_examples=50)
def test_a_value_that_is_shown_is_read_as_itself(value):
    try:
        text = values.shown(value)
    except values.NoValue:
        return
    again = values.read(text)
    assert (again, type(again), values.shown(again)) == (value, type(value), text)
    assert text.isascii()


@pytest.mark.parametrize(
    ("one", "two"),
    [(1, True), (1, 1.0), (0.0, -0.0), ([1], (1,)), ({1}, {1: None}), ("1", 1), (None, "None"), ((1,), 1), (set(), {})],
)
def test_values_of_other_types_are_other_values(one, two):
    assert values.shown(one) != values.shown(two)


def test_the_order_of_sets_and_keys_makes_no_other_value():
    assert values.shown({"b": 1, "a": {3, 1, 2}}) == values.shown({"a": {2, 3, 1}, "b": 1})
    assert values.shown([1, 2]) != values.shown([2, 1])


@pytest.mark.parametrize("text", ["", "x", "1 +", "f(1)", "[1", "__import__('os')", "1e999", "9" * 250, "1j", "[" * 90])
def test_what_is_no_value_is_refused(text):
    with pytest.raises(values.NoValue):
        values.read(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**700, object(), [[]] * 300, b"x", "x" * 300, range(3)])
def test_what_is_not_plain_or_too_large_is_not_shown(value):
    with pytest.raises(values.NoValue):
        values.shown(value)


def test_nesting_has_an_end():
    value = []
    for _ in range(values.DEEP + 1):
        value = [value]
    with pytest.raises(values.NoValue, match="nested"):
        values.shown(value)


@given(st.text(alphabet="def f(x):\n ret+1'[]{}#=@*,\\", max_size=60))
@settings(max_examples=50)
def test_any_text_is_a_draft_or_refused(text):
    for function in (True, False):
        with contextlib.suppress(program.Refused):
            draft = program.read(text, function=function)
            assert program.read(draft.source, function=function).source == draft.source


SAME = """
import math
def g(a, b=2):
    return a * b
def f(x, y):
    total = [g(i) for i in x]
    return math.floor(sum(total)) + y
"""


def test_names_and_layout_make_no_other_program_but_operations_do():
    renamed = SAME.replace("total", "t").replace("a", "q").replace("mqth", "math").replace("def g(q", "def  g( q")
    renamed = renamed.replace("x", "first").replace("    return q * b", "    'doubles'\n    return q*b  # twice")
    assert program.canonical(renamed) == program.canonical(SAME)
    assert program.canonical(SAME.replace("+ y", "- y")) != program.canonical(SAME)
    assert program.canonical(SAME.replace("math.floor", "math.ceil")) != program.canonical(SAME)
    assert program.canonical(SAME.replace("+ y", "+ y + 0")) != program.canonical(SAME)


def test_which_argument_is_used_where_makes_another_program():
    assert program.canonical("def f(a, b):\n    return a - b") != program.canonical("def f(a, b):\n    return b - a")
    assert program.canonical("def f(a, b):\n    return a - b") == program.canonical("def f(b, a):\n    return b - a")


def test_a_call_is_shown_as_it_is_read():
    for text in ("f()", "f(1)", "f([1, 2], 'a')", "f({'a': (1,)}, None)"):
        assert program.call(program.read_call(text)) == text

"""What a constructor takes: its parameters by name, and what each of them may be, as its annotations say."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any, Literal, Union

from arena.config import nearest

LARGEST = 1.7976931348623157e308  # of the numbers that a float can hold; neither an infinity nor a NaN is within it
LONG = 60  # characters of a value that an error shows
PLAIN: Mapping[Any, tuple[str, str]] = {  # one of these, and many
    bool: ("true or false", "true and false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
}
MAPPINGS = (dict, Mapping)
LISTS = (list, tuple, Sequence, Collection, Iterable)  # what can be read only once can't be told in a label again


@cache
def kinds(cls: type) -> Mapping[str, Any]:
    """What a class says of each parameter of its constructor; nothing where only a type checker could read it."""
    try:
        return typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:  # imported under TYPE_CHECKING
        return {}


def check(what: str, cls: type, params: Mapping[str, Any]) -> None:
    """Raise ValueError, one line about `what` with the remedy, for the first of `params` that `cls` doesn't take."""
    takes = signature(cls).parameters
    free = any(taken.kind is Parameter.VAR_KEYWORD for taken in takes.values())
    for name, value in params.items():
        if name not in takes:
            if free:
                continue
            near = nearest(name, list(takes))
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(takes) or 'none'}"
            raise ValueError(f"{what} has no parameter {name!r}: {hint}")
        wanted = kinds(cls).get(name, Any)
        if not fits(value, wanted):
            raise ValueError(f"{what}: {name} is {value!r:.{LONG}}: use {told(wanted)}")


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of the annotation `wanted`: any value is of one that isn't told apart here."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if wanted in (None, type(None)):
        return value is None
    if wanted is float:
        return type(value) is not bool and isinstance(value, int | float) and -LARGEST <= value <= LARGEST
    if wanted in PLAIN:
        return isinstance(value, wanted) and (wanted is bool or type(value) is not bool)
    if (origin or wanted) in MAPPINGS:
        return isinstance(value, Mapping)
    if (origin or wanted) in LISTS:
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed and all(fits(part, _parts(wanted)) for part in value)
    return True


def told(wanted: Any, many: bool = False) -> str:
    """What an annotation asks for, in words."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (Union, types.UnionType):
        return " or ".join(told(one, many) for one in inner)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if wanted in PLAIN:
        return PLAIN[wanted][many]
    if (origin or wanted) in MAPPINGS:
        return "mappings" if many else "a mapping"
    if (origin or wanted) in LISTS:
        parts = told(_parts(wanted), many=True)
        return ("lists" if many else "a list") + (f" of {parts}" if parts else "")
    return "null" if wanted in (None, type(None)) else ""


def _parts(wanted: Any) -> Any:
    """What the parts of a list may be; anything where they aren't all alike."""
    inner = [part for part in typing.get_args(wanted) if part is not ...]
    return inner[0] if len(inner) == 1 else Any

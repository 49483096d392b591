"""Values that may cross the border of the jail: builtin values as tagged JSON, never pickles, never source text.

| Python | JSON |
|---|---|
| None, bool, str, list, int up to 53 bits | the same |
| other int, float, complex | `{"i": hex}`, `{"f": repr}`, `{"c": [repr, repr]}` |
| bytes, bytearray | `{"b": hex}`, `{"B": hex}` |
| tuple, set, frozenset, range | `{"t": [...]}`, `{"s": [...]}`, `{"z": [...]}`, `{"r": [start, stop, step]}` |
| dict | `{"d": [[key, value], ...]}`, in its order |
| a handle to something that stays inside | `{"o": number}` |

Both sides use this file, but only the decoder is trusted: untrusted code may replace the encoder of its own process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

DEPTH = 60  # levels of nesting
COLLISIONS = 64  # keys of one hash: thousands of them would make a dict take minutes

Keep = Callable[[object], int]
Find = Callable[[int], object]


class NotPlain(ValueError):
    """The value, or what claims to be one on the wire, isn't made of builtin values."""


def encode(value: object, keep: Keep | None = None, depth: int = 0) -> Any:
    """The JSON form of a value; subclasses are read as the builtin they extend, whatever their methods say.

    `keep` numbers what isn't plain; without it such a value raises NotPlain, as does one of more than DEPTH levels.
    """
    if depth > DEPTH:
        raise NotPlain(f"nested more than {DEPTH} levels deep")
    if value is None or isinstance(value, bool):
        return value

    def all_of(items: Iterable[object]) -> list[Any]:
        return [encode(item, keep, depth + 1) for item in items]

    # The methods are those of the base classes, so that an overridden __iter__ or items() is never asked.
    if isinstance(value, int):
        number = int.__index__(value)
        return number if abs(number) < 2**53 else {"i": format(number, "x")}
    if isinstance(value, float):
        return {"f": float.__repr__(value)}
    if type(value) is complex:
        return {"c": [repr(value.real), repr(value.imag)]}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return {"b": bytes.hex(value)}
    if isinstance(value, bytearray):
        return {"B": bytearray.hex(value)}
    if isinstance(value, list):
        return all_of(list.__iter__(value))
    if isinstance(value, tuple):
        return {"t": all_of(tuple.__iter__(value))}
    if isinstance(value, set):
        return {"s": sorted(all_of(set.__iter__(value)), key=json.dumps)}
    if isinstance(value, frozenset):
        return {"z": sorted(all_of(frozenset.__iter__(value)), key=json.dumps)}
    if isinstance(value, dict):
        return {"d": [all_of(pair) for pair in dict.items(value)]}
    if isinstance(value, range):
        return {"r": all_of((value.start, value.stop, value.step))}
    if keep is not None:
        return {"o": keep(value)}
    raise NotPlain(f"{type(value).__name__} isn't a plain value")


def decode(form: Any, find: Find | None = None) -> Any:
    """The value of a JSON form that may be forged; raises NotPlain for whatever `encode` doesn't write.

    `find` gives what stands for a handle's number; without it handles are refused.
    """
    try:
        return _decode(form, find, 0)
    except NotPlain:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise NotPlain(f"no value of the wire: {type(error).__name__}") from None


def loads(text: str | bytes) -> Any:
    """JSON without floats and constants like NaN, which the wire writes as tags; raises NotPlain."""
    try:
        return json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotPlain(f"no JSON of the wire: {type(error).__name__}") from None


def canonical(value: object) -> str:
    """One text for each value: equal texts, equal values of equal types; the order of a dict counts."""
    return json.dumps(encode(value))


def _decode(form: Any, find: Find | None, depth: int) -> Any:
    if depth > DEPTH:
        raise NotPlain(f"nested more than {DEPTH} levels deep")

    def all_of(forms: Any) -> list[Any]:
        if type(forms) is not list:
            raise NotPlain("no list")
        return [_decode(item, find, depth + 1) for item in forms]

    if form is None or type(form) in (bool, int, str):
        return form
    if type(form) is list:
        return all_of(form)
    if type(form) is not dict or len(form) != 1:
        raise NotPlain("no tag")
    ((tag, body),) = form.items()
    match tag:
        case "i":
            return int(_text(body), 16)
        case "f":
            return float(_text(body))
        case "c":
            real, imag = body
            return complex(float(_text(real)), float(_text(imag)))
        case "b":
            return bytes.fromhex(body)
        case "B":
            return bytearray.fromhex(body)
        case "t":
            return tuple(all_of(body))
        case "s":
            return set(_keys(all_of(body)))
        case "z":
            return frozenset(_keys(all_of(body)))
        case "d":
            pairs = [all_of(pair) for pair in body]
            _keys([key for key, _ in pairs])
            return {key: value for key, value in pairs}
        case "r":
            start, stop, step = all_of(body)
            return range(start, stop, step)
        case "o" if find is not None and type(body) is int:
            return find(body)
    raise NotPlain("unknown tag")


def _text(body: Any) -> str:
    if type(body) is not str:
        raise NotPlain("no text")
    return body


def _refuse(text: str) -> None:
    raise ValueError(text)


def _keys(items: Collection[Any]) -> Collection[Any]:
    """The items, if a set or dict of them is built quickly: sorting tells equal hashes without comparing the items."""
    hashes = sorted(map(hash, items))
    if any(first == last for first, last in zip(hashes, hashes[COLLISIONS:], strict=False)):
        raise NotPlain("too many keys of one hash")
    return items

"""Plain values as text, both ways: what a model writes is read as a literal and never executed."""

from __future__ import annotations

import ast
import math
from typing import Any

LONG = 200  # characters of a value
DEEP = 10  # levels of nesting
BITS = 600  # of a whole number


class NoValue(ValueError):
    """The text is no literal, or the value isn't made of plain ones, or is too large."""


def read(text: str) -> Any:
    """The value of a literal such as `[1, 'a']`; raises NoValue."""
    if len(text) > LONG:
        raise NoValue(f"a value has at most {LONG} characters, that has {len(text)}")
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise NoValue(f"{text[:40]!r} is no value") from None
    shown(value)
    return value


def shown(value: Any) -> str:
    """The one text of a value, in ASCII: texts are equal where values and all their types are; raises NoValue.

    The order of a set, and of the keys of a dict, makes no other value.
    """
    text = _shown(value, 0)
    if len(text) > LONG:
        raise NoValue(f"a value has at most {LONG} characters, that has {len(text)}")
    return text


def _shown(value: Any, depth: int) -> str:
    if depth > DEEP:
        raise NoValue(f"a value is nested at most {DEEP} levels deep")
    kind = type(value)
    if value is None or kind is bool or (kind is int and value.bit_length() <= BITS):
        return repr(value)
    if kind is float and math.isfinite(value):
        return repr(value)
    if kind is str and len(value) <= LONG:
        return ascii(value)
    if kind in (list, tuple, set, dict) and len(value) > LONG:
        raise NoValue(f"a value has at most {LONG} parts, that has {len(value)}")
    if kind is dict:
        return f"{{{', '.join(sorted(f'{_shown(k, depth + 1)}: {_shown(v, depth + 1)}' for k, v in value.items()))}}}"
    if kind in (list, tuple, set):
        parts = [_shown(part, depth + 1) for part in value]
        if kind is list:
            return f"[{', '.join(parts)}]"
        if kind is set:
            return f"{{{', '.join(sorted(parts))}}}" if parts else "set()"
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    raise NoValue(f"a value of {kind.__name__} isn't plain, or too large")

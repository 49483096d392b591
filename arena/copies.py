"""Deep copies of objects whose parts are known: tree search makes many, and `copy.deepcopy` looks at everything."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
PLAIN = {str, int, float, bool, type(None)}


class Parts(NamedTuple):
    """Names of attributes: what is `fixed` is never changed in place, what is `flat` holds nothing that is.

    What is `nested` is a dict of flat lists. Any other attribute is copied as `copy.deepcopy` does.
    """

    fixed: set[str]
    flat: set[str]
    nested: set[str]


def twin(one: T, state: Mapping[str, Any], parts: Parts, memo: dict[int, Any]) -> T:
    """A deep copy of `one`, whose attributes are `state`; `memo` is that of `copy.deepcopy`."""
    made = type(one).__new__(type(one))
    memo[id(one)] = made
    for name, part in state.items():
        shared = name in parts.fixed or type(part) in PLAIN
        made.__dict__[name] = part if shared else _apart(name, part, parts, memo)
    return made


def _apart(name: str, part: Any, parts: Parts, memo: dict[int, Any]) -> Any:
    if id(part) in memo:
        return memo[id(part)]
    if name in parts.flat:
        apart = part.copy()
    elif name in parts.nested:
        apart = {key: items.copy() for key, items in part.items()}
    elif type(part) is random.Random:
        apart = random.Random(0)
        apart.setstate(part.getstate())
    else:
        return copy.deepcopy(part, memo)
    memo[id(part)] = apart
    return apart

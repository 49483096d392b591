"""When an answer is the expected one: equal values of equal types."""

from __future__ import annotations

import math

from arena.sandbox.wire import canonical

TOLERANCE = 1e-9  # of floats, relative above 1 and absolute below


def same(a: object, b: object, tolerance: float = TOLERANCE) -> bool:
    """Whether two plain values agree in structure, types and values: True isn't 1, [1] isn't (1,), NaN is NaN.

    Floats may differ by `tolerance`; the keys of dicts and the members of sets may not, and their order doesn't count.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex) and isinstance(b, complex):
        return same(a.real, b.real, tolerance) and same(a.imag, b.imag, tolerance)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, (set, frozenset)):
        return canonical(a) == canonical(b)
    if isinstance(a, dict) and isinstance(b, dict):
        # By their text, because 1, 1.0 and True are one key to a dict.
        there = {canonical(key): value for key, value in b.items()}
        return len(a) == len(b) and all(
            (text := canonical(key)) in there and same(value, there[text], tolerance) for key, value in a.items()
        )
    return a == b

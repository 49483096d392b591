"""A clock that is off: a program that looks at the time gives itself away when it runs under two of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

READ = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")


def shift(seconds: int) -> None:
    """Set all clocks of Python's `time` and `datetime` forward for the rest of this process."""
    if not seconds:
        return

    def late(read: Callable[..., Any], amount: int) -> Callable[..., Any]:
        return lambda *arguments: read(*arguments) + amount

    def from_seconds(tell: Callable[..., Any]) -> Callable[..., Any]:
        return lambda when=None: tell(time.time() if when is None else when)

    def from_parts(tell: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: tell(*given, *([] if _told(given) else [time.localtime()]))

    for name in READ:
        setattr(time, name, late(getattr(time, name), seconds))
        setattr(time, f"{name}_ns", late(getattr(time, f"{name}_ns"), seconds * 10**9))
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, from_seconds(getattr(time, name)))
    for name in ("asctime", "strftime"):
        setattr(time, name, from_parts(getattr(time, name)))
    # The datetime in C reads the system's clock; the one in Python asks the module `time`.
    sys.modules.pop("datetime", None)
    sys.modules["_datetime"] = None  # type: ignore[assignment]


def _told(given: tuple[Any, ...]) -> bool:
    """Whether a time is among the arguments of asctime or strftime."""
    return any(not isinstance(argument, str) for argument in given)

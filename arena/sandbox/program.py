"""A leaf that runs a whole program, from standard input to standard output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from arena.sandbox import channel

SOURCE = "<program>"


def execute(job: Mapping[str, Any]) -> None:
    """Run the source as `__main__`, wait for the threads that it started, and say what it raised, None if nothing."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        exec(compile(job["source"], SOURCE, "exec"), module.__dict__)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        failure = None
    except SystemExit:
        failure = None  # the output alone decides
    except BaseException as error:  # noqa: BLE001 - a program may raise anything
        failure = channel.raised(error, SOURCE)
    channel.say({"end": failure})

"""The verbs of the command line, and how they reach rooms that the arena itself must not import."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from arena import terminal


class Failed(Exception):
    """It ran, and did not end well; the message is the one line that is shown."""


def reach(entry: str) -> Callable[..., Any]:
    """The function `package.module:name`, imported now: games and trainers lie above the arena, torch is heavy."""
    module, _, name = entry.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def print_json(content: Any) -> None:
    """The same listing for programs: one JSON value on stdout."""
    terminal.say(json.dumps(content, indent=1, default=str))

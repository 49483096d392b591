"""The verbs of the command line, and how they reach rooms that the arena itself must not import."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from arena import terminal
from arena.config import ConfigError, nearest


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


# -- folders -------------------------------------------------------------------------------------------------------


def existing_run(run: Path) -> Path:
    """The folder, if a training run was written there."""
    if not (run / "config.yaml").is_file():
        others = [str(path.parent) for path in run.parent.glob("*/config.yaml")]
        remedy = f"there are {', '.join(sorted(others))}" if others else "train one first: scrimmage train"
        raise ConfigError("no run", str(run), nearest(str(run), others), remedy)
    written = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    if isinstance(written, dict) and "entrants" in written:
        remedy = f"its results are in {run / 'report.html'}; scrimmage matches {run} lists what was played"
        raise ConfigError("that is a tournament, not a training run", str(run), remedy=remedy)
    return run


def writable(folder: Path, option: str = "--folder") -> None:
    """Make the folder and write a byte into it, so that a full or read-only disk is told before the work.

    `option` is the one that names another folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
            os.fsync(probe.fileno())
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"can't write: {reason}", str(folder), remedy=f"free some space or give {option}") from error


def run_folder(name: str) -> Path:
    """Where a run of this name is written; a name that would lead elsewhere is refused."""
    if Path(name).name != name or name in ("", ".", ".."):
        raise ConfigError(f"name {name!r} can't name a folder", "name", remedy="use letters, digits and _")
    return Path("runs") / name

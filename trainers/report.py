"""The numbers of a folder in one JSON file, which is always whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "report.json"


def read(path: Path) -> dict[str, Any]:
    """What the file holds, nothing if there is none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Put `content` in the place of what was there; a reader finds either the old or the new."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)


def update(path: Path, **parts: Any) -> None:
    """Replace these keys and keep all others."""
    write(path, {**read(path), **parts})

"""The machine, the versions, the load and the memory, without which a number means nothing.

Only the standard library is used, so that the environment of every peer can run it.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def surroundings() -> dict[str, Any]:
    """Processor, cores, system and Python of this machine, and its load now."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": load(),
    }


def load() -> list[float]:
    """How many processes wanted to run, on the average of the last 1, 5 and 15 minutes."""
    return [round(mean, 2) for mean in os.getloadavg()]


def versions(*packages: str) -> dict[str, str]:
    """The installed versions; a package that isn't there is left out."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def peak_gb() -> float:
    """The most memory that this process has held at once, in 1e9 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 3)


def write(report: Mapping[str, Any], path: Path) -> None:
    """Write a report as JSON, its folder made where needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def concluded(report: Mapping[str, Any], path: Path | None, missed: Sequence[str]) -> int:
    """Write the report where asked, and name each target that was missed; the exit status, 1 if there is one."""
    if path:
        write(report, path)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return int(bool(missed))

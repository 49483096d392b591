"""What this machine has, what is missing, and the command that brings it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

GIB = 2**30


@dataclass(frozen=True)
class Check:
    """One line: what was looked at and found, and the remedy if it is not ok; every command wants what is `needed`."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    needed: bool = False


def requirements() -> dict[str, list[str]]:
    """The distributions that the package asks for, by extra; "" holds those that are always needed."""
    found: dict[str, list[str]] = {"": []}
    for line in requires("scrimmage") or []:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", line)
        found.setdefault(extra.group(1) if extra else "", []).append(name)
    return found


def missing(module: str) -> str:
    """One line about a module that can't be imported: what it belongs to and how to install it."""
    name = module.partition(".")[0]
    try:
        extras = [extra for extra, names in requirements().items() if extra and name in names]
    except PackageNotFoundError:
        extras = []
    if extras:
        return f"{name} is not installed: it belongs to the extra {extras[0]!r}: pip install 'scrimmage[{extras[0]}]'"
    return f"module {module!r} not found: give a folder that holds it, or pip install {name}"


def examine() -> list[Check]:
    """Every check, in the order in which a reader wants them."""
    return [*software(), *machine(), *fence(), *models()]


def software() -> Iterator[Check]:
    """Python, the package, and its requirements by extra."""
    yield Check(
        "python", sys.version_info >= (3, 11), platform.python_version(), "install Python 3.11 or newer", needed=True
    )
    try:
        extras = requirements()
    except PackageNotFoundError:
        yield Check("scrimmage", False, "not installed", "pip install scrimmage", needed=True)
        return
    yield Check("scrimmage", True, version("scrimmage"), needed=True)
    for extra, names in extras.items():
        present, absent = [], []
        for name in names:
            try:
                present.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                absent.append(name)
        what = f"extra {extra}" if extra else "packages"
        found = "; ".join(part for part in (", ".join(present), absent and f"missing: {', '.join(absent)}") if part)
        remedy = f"pip install 'scrimmage[{extra}]'" if extra else "pip install scrimmage"
        yield Check(what, not absent, found, remedy if absent else "", needed=not extra)


def machine() -> Iterator[Check]:
    """Cores, memory, disk, and the threads that torch takes."""
    yield Check("cores", True, str(cores()))
    total = memory() / GIB
    yield Check("memory", total >= 4, f"{total:.1f} GiB", "training the embedded model takes about 4 GiB")
    free = shutil.disk_usage(Path.cwd()).free / GIB
    yield Check(
        "disk", free >= 4, f"{free:.1f} GiB free in {Path.cwd()}", "a run of the embedded model takes about 4 GiB"
    )
    try:
        torch = import_module("torch")
    except ModuleNotFoundError:
        return  # told among the packages
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU, none needed"
    yield Check("torch", True, f"{torch.get_num_threads()} threads; {gpu}")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less where a container sets a limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        return min(total, int(text))
    return total


def fence() -> Iterator[Check]:
    """What would hold code that models write, found by running some in it."""
    troubles = import_module("arena.sandbox.probe").troubles()
    found = "; ".join(trouble or f"{tier} works" for tier, trouble in troubles.items())
    remedy = "pip install 'scrimmage[games]', and allow user namespaces or run a kernel with Landlock (5.13 or newer);"
    remedy += " or name a server of jails: docs/sandbox.md"
    ok = not all(troubles.values())
    yield Check("sandbox", ok, found, "" if ok else remedy)


def models() -> Iterator[Check]:
    """The model cache, and the packages that bring embedded models."""
    try:
        rooms = import_module("arena.engines.models")
    except ModuleNotFoundError as error:
        yield Check("models", False, "no engine that runs them", missing(error.name or "torch"))
        return
    cache = rooms.cache()
    held = sorted(path.name for path in cache.glob("*") if path.is_dir() and not path.name.startswith("."))
    yield Check("model cache", True, f"{cache}: {', '.join(held) or 'empty'}")
    for name in rooms.EMBEDDED:
        try:
            packaged = rooms.packaged(name)
        except ValueError as error:
            yield Check(f"model {name}", False, "missing", str(error))
            continue
        built = "built" if name in held else f"will be built when first used, or by: scrimmage model pull {name}"
        yield Check(f"model {name}", True, f"{packaged.name}, {built}")

"""What of this machine is to be seen inside a jail: the C libraries; for Python, its library and this folder too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PYTHON, HOUSE = Path("/python"), Path("/house")  # inside a jail
LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
CACHE = "/etc/ld.so.cache"


class Mount(NamedTuple):
    """`source` outside is `target` inside; or `target` is a link that reads `source`."""

    source: str
    target: str
    link: bool = False


def interpreter() -> Path:
    """The Python that runs here, not the one of a virtual environment."""
    return Path(sys.executable).resolve()


def libraries() -> Iterator[Mount]:
    """The C libraries, and where the loader finds them: without these no program starts."""
    for library in LIBRARIES:
        if os.path.islink(library):
            yield Mount(os.readlink(library), library, link=True)
        elif os.path.isdir(library):
            yield Mount(library, library)
    if os.path.exists(CACHE):
        yield Mount(CACHE, CACHE)


def mounts() -> Iterator[Mount]:
    """Everything that Python needs, all of it only to be read."""
    yield from libraries()
    prefix = Path(sys.base_prefix).resolve()
    for library in ("lib", "lib64"):
        if (prefix / library).is_symlink():
            yield Mount(os.readlink(prefix / library), str(PYTHON / library), link=True)
        elif (prefix / library).is_dir():
            yield Mount(str(prefix / library), str(PYTHON / library))
    yield Mount(str(interpreter()), str(PYTHON / "bin" / interpreter().name))
    yield Mount(str(Path(__file__).parent.resolve()), str(HOUSE / "sandbox"))

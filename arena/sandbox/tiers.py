"""The ways to lock a jail, from the safest to the last resort; each is a command that starts a zygote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox import landlock
from arena.sandbox.bubble import DEVICES, bubble
from arena.sandbox.mounts import HOUSE, PYTHON, interpreter, mounts
from arena.sandbox.verdict import SandboxUnavailable
from arena.sandbox.zygote import NOBODY

TIERS = ("bwrap", "landlock")
# Not -I, which would ignore PYTHONHASHSEED; the environment is ours alone.
FLAGS = ("-s", "-S", "-B", "-P", "-u")


@dataclass(frozen=True)
class Start:
    """A command, the settings of its zygote, and its environment; `mapped` if its user namespace waits for a map."""

    command: tuple[str, ...]
    settings: Mapping[str, Any]
    environment: Mapping[str, str]
    mapped: bool = False


def start(tier: str, seed: int, shift: int, stream: int, info: int, go: int) -> Start:
    """How to start a zygote of a tier; raises SandboxUnavailable if a part of it is missing.

    The descriptors are its end of the stream of jobs, and, for bwrap, where it tells the id of the jail's first
    process and where it waits for the map of users.
    """
    # One arena: each thread would else take 128 MiB of the address space that the job is allowed.
    environment = {"PYTHONHASHSEED": str(seed), "LANG": "C.UTF-8", "HOME": "/", "MALLOC_ARENA_MAX": "1"}
    settings: dict[str, Any] = {"stream": stream, "shift": shift}
    if tier == "bwrap":
        root = os.geteuid() == 0
        settings |= {"readable": ["/"], "drop": root, "count_threads": True}
        inside = [str(PYTHON / "bin" / interpreter().name), *FLAGS, str(HOUSE / "sandbox" / "launch.py")]
        command = [*bubble(mounts(), info, _options(root, go)), *inside, json.dumps(settings)]
        return Start(tuple(command), settings, environment | {"LD_LIBRARY_PATH": str(PYTHON / "lib")}, mapped=root)
    if not landlock.abi():
        raise SandboxUnavailable("this kernel has no Landlock")
    shown = [mount.source for mount in mounts() if not mount.link]
    # Tasks of this user outside can't be told from those inside: the address space alone bounds the threads.
    settings |= {"readable": [*shown, DEVICES[1]], "drop": False, "count_threads": False}
    script = Path(__file__).parent.resolve() / "launch.py"
    return Start((str(interpreter()), *FLAGS, str(script), json.dumps(settings)), settings, environment)


def _options(root: bool, go: int) -> Iterator[str]:
    if root:
        # Root mapped to nobody would still be root to the kernel, whose threads no limit counts. So the namespace gets
        # a real nobody, and the zygote changes to it before anything else.
        yield from ("--userns-block-fd", str(go), "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--uid", str(NOBODY), "--gid", str(NOBODY))
    for folder in (PYTHON, PYTHON / "bin", HOUSE, Path("/dev"), Path("/etc"), Path("/usr")):
        yield from ("--dir", str(folder))

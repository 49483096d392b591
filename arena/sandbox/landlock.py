"""Landlock: this process, and all that it starts, may from now on open nothing but what is listed.

The system calls have the same numbers on every processor, and are reached by ctypes: nothing is built or installed.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the rights that a rule on a file may name
RIGHTS = {
    1: (1 << 13) - 1,
    2: (1 << 14) - 1,
    3: (1 << 15) - 1,
    5: (1 << 16) - 1,
}  # of files, by the ABI that brought them
NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version of Landlock that this kernel has switched on; 0 if none."""
    if sys.platform != "linux":
        return 0  # elsewhere the number means another call
    found: int = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(found, 0)


def restrict(readable: Iterable[str], writable: Iterable[str] = ()) -> int:
    """Allow reading `readable` (folders with all below them) and reading and writing the files `writable`.

    Returns the ABI in force: from 4 on TCP is refused as well, from 6 on signals and abstract sockets beyond this
    process. Raises OSError.
    """
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    rights = RIGHTS[max(known for known in RIGHTS if known <= version)]
    # struct landlock_ruleset_attr: files, TCP (bind, connect), scopes (abstract sockets, signals)
    attr = struct.pack("QQQ", rights, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _called(CREATE_RULESET, ctypes.create_string_buffer(attr, 24), ctypes.c_size_t(size), 0)
    try:
        for path in readable:
            _allow(ruleset, path, rights & (EXECUTE | READ_FILE | READ_DIR))
        for path in writable:
            _allow(ruleset, path, rights & (READ_FILE | WRITE_FILE))
        _libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        _called(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights &= rights if os.path.isdir(path) else FILE
        _called(ADD_RULE, ruleset, 1, ctypes.create_string_buffer(struct.pack("=Qi", rights, opened), 12), 0)
    finally:
        os.close(opened)


def _called(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result

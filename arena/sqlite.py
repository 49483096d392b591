"""A SQLite file with one writer, whose errors are one line and say what to do."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 10.0  # seconds that a call waits while some other program holds the file


class StoreBusy(OSError):
    """Another process is writing to the store."""


def seize(path: Path) -> int:
    """Hold the lock file of `path`, or raise `StoreBusy`; the lock goes with the process, however it ends."""
    place = f"{path}.lock"
    lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
    except BlockingIOError as error:
        owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        message = f"process {owner} is writing to it: wait for it, or look on with Store.read"
        raise StoreBusy(errno.EBUSY, message, str(path)) from error
    except OSError as error:
        os.close(lock)
        raise OSError(error.errno, error.strerror, place) from error
    return lock


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Errors of SQLite in this block, with the file and what can be done."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it tells kinds of the same trouble apart
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise ValueError(f"{path} is not a store, or damaged: {error}; name another file") from error
        if code == sqlite3.SQLITE_FULL:
            message = "no space to write to the store; all that was written before is safe: free some space, run again"
            raise OSError(errno.ENOSPC, message, str(path)) from error
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            raise OSError(errno.EIO, f"the store can't be read or written: {error}", str(path)) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            message = "another program holds the store: close it, and run again"
            raise StoreBusy(errno.EBUSY, message, str(path)) from error
        if code == sqlite3.SQLITE_READONLY:
            raise PermissionError(errno.EACCES, "the store is open for reading only", str(path)) from error
        raise

"""Some jails of one kind, shared by all threads of a process; a forked child gets jails of its own."""

from __future__ import annotations

import os
import queue
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from arena.sandbox.jail import JailDied

TRIES = 2


class Keeper(Protocol):
    """What a jail is to its users, wherever it stands."""

    def ask(self, job: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The reports of a job's leaves; raises JailDied."""

    def stop(self) -> None:
        """End it, and everything in it, for this process."""


class Pool:
    """At most `workers` jobs at once, each in a jail made by `make`, which starts with its first job."""

    def __init__(self, make: Callable[[], Keeper], workers: int) -> None:
        self._make, self._workers = make, workers
        self._closed = False
        self._fill()
        _POOLS.add(self)

    def ask(self, job: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The reports of a job's leaves; a job whose jail died is tried once more, in another. Raises JailDied."""
        jail = self._free.get()
        try:
            for _ in range(TRIES - 1):
                self._refuse_if_closed()
                try:
                    return jail.ask(job)
                except JailDied:
                    continue
            self._refuse_if_closed()
            return jail.ask(job)
        finally:
            self._free.put(jail)
            if self._closed:
                jail.stop()

    def close(self) -> None:
        """End the jails, those at work as soon as their job is done; jobs are refused from now on."""
        self._closed = True
        for jail in self._drain():
            jail.stop()
            self._free.put(jail)

    def after_fork(self) -> None:
        """Let go of the parent's jails and begin anew."""
        for jail in self._jails:
            jail.stop()  # which only lets go: this process doesn't own them
        self._fill()

    def _fill(self) -> None:
        self._jails = [self._make() for _ in range(self._workers)]
        self._free: queue.LifoQueue[Keeper] = queue.LifoQueue()  # the last one is warm
        for jail in self._jails:
            self._free.put(jail)

    def _drain(self) -> list[Keeper]:
        drained = []
        while True:
            try:
                drained.append(self._free.get_nowait())
            except queue.Empty:
                return drained

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ValueError("the sandbox is closed")


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forked() -> None:
    for pool in list(_POOLS):
        pool.after_fork()


os.register_at_fork(after_in_child=_forked)

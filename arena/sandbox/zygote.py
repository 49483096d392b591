"""The processes inside a jail that run no untrusted code: one that never learns of a job, and a fork of it for each.

That fork forks the leaves before it hears what they are to run. So no leaf has in its memory what other jobs left, nor,
in a check, what the other leaf is given. None of them parses what leaves say.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import socket
import sys
import time
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

from arena.sandbox import clock, frames, landlock, seccomp
from arena.sandbox.channel import ASKS, SAYS
from arena.sandbox.child import Child
from arena.sandbox.leaf import Job, die_with

SETUP = 10.0  # seconds that a leaf may take until it is fenced in; the limits of the job begin after it
NOBODY = 65534
HIGHEST = 1 << 20  # number of a descriptor, as the kernel has it unless told otherwise
PRELOADED = (
    *("abc", "array", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal"),
    *("enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools", "json", "math", "operator", "queue"),
    *("random", "re", "statistics", "string", "textwrap", "threading", "traceback", "types", "typing"),
)


def main() -> None:
    """Serve jobs from the socket named in the settings (JSON, the first argument) until the trainer is gone."""
    settings = json.loads(sys.argv[1])
    stream = socket.socket(fileno=_above(settings["stream"]))
    os.closerange(stream.fileno() + 1, HIGHEST)  # leaves close only what lies below
    if os.getuid() == 0 and settings["drop"]:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    clock.shift(settings["shift"])
    for name in PRELOADED:  # so that they are there in every fork
        importlib.import_module(name)
    seccomp.assembled()
    version = landlock.abi() and landlock.restrict(settings["readable"], ["/dev/null"])
    gc.collect()
    gc.freeze()
    gc.disable()
    frames.send(stream, {"landlock": version, "uid": os.getuid(), "pid": os.getpid()})
    with contextlib.suppress(ConnectionError):
        while stream.recv(1, socket.MSG_PEEK):
            zygote = os.getpid()
            pid = os.fork()
            if not pid:
                work(stream, settings["count_threads"], zygote)
            if _ending(pid):
                return  # it hasn't answered, and what is left of its job would be taken for the next one


def _ending(pid: int) -> int:
    """The status with which a child ended; collects whatever else has lost its parent meanwhile."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return status


def work(stream: socket.socket, count_threads: bool, zygote: int) -> NoReturn:
    """Do the job that waits in the stream, and end."""
    try:
        die_with(zygote)
        job = frames.receive(stream)
        reply: dict[str, Any]
        try:
            reply = {"leaves": Work(stream, count_threads).run(job)}
        except Exception:  # noqa: BLE001 - the trainer must hear of whatever went wrong here
            reply = {"infra": traceback.format_exc()[-2000:]}
        frames.send(stream, {"id": job["id"], **reply})
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as a zygote
        os._exit(1)
    os._exit(0)


class Work:
    """Runs one job, and watches the trainer's end of `stream` meanwhile."""

    def __init__(self, stream: socket.socket, count_threads: bool) -> None:
        self._stream = stream
        self._count_threads = count_threads

    def run(self, job: Job) -> list[dict[str, Any]]:
        """The reports of the job's leaves; none of them is alive then."""
        children: list[Child] = []
        try:
            if job["mode"] == "check":
                children += [self._leaf("server", job, 4), self._leaf("tests", job, 4)]
                _introduce(*children)
            else:
                stdin = job.get("stdin", "").encode("utf-8", "surrogatepass")
                children.append(self._leaf(job["mode"], job, 3, stdin))
            for child in children:
                child.ask(frames.unread(self._stream) + b"\n")
            self._attend(children, job["limits"]["wall"])
        finally:
            for child in children:
                child.close()
        return [child.report() for child in children]

    def _leaf(self, mode: str, job: Job, tasks: int, stdin: bytes = b"") -> Child:
        """A new leaf; `tasks` are both zygotes and the leaves, which count among the threads of this user."""
        threads = job["limits"]["threads"] + tasks if self._count_threads else None
        return Child(mode, job, threads, stdin)

    def _attend(self, children: list[Child], wall: float) -> None:
        """Carry what comes and goes until the last leaf has ended; the last of the list is the one that decides."""
        end, setting_up = time.monotonic() + SETUP, True
        while alive := [child for child in children if not child.ended]:
            if setting_up and all(child.ready or child.ended for child in children):
                end, setting_up = time.monotonic() + wall, False
            if end <= time.monotonic():
                for child in alive:
                    child.kill("setup" if setting_up else "wall")
            for child, descriptor, writing in self._wait(alive, max(0.0, end - time.monotonic())):
                if child.ended:
                    continue
                if writing:
                    child.write(descriptor)
                elif descriptor != child.pidfd:
                    child.read(descriptor)
                else:
                    child.reap()
                    for other in alive:
                        if child is children[-1]:
                            other.kill("peer")
                        elif not other.ended:
                            other.hang_up()

    def _wait(self, alive: Iterable[Child], seconds: float) -> list[tuple[Child, int, bool]]:
        """(child, descriptor, whether to write) for all that is ready; ends this process if the trainer is gone."""
        poll = select.poll()
        poll.register(self._stream, select.POLLRDHUP)
        owners: dict[int, tuple[Child, int, bool]] = {}
        for child in alive:
            for descriptor in child.readable():
                poll.register(descriptor, select.POLLIN)
                owners[descriptor] = (child, descriptor, False)
            for descriptor in child.writable():
                poll.register(descriptor, select.POLLOUT)
                owners[descriptor] = (child, descriptor, True)
        ready = [descriptor for descriptor, _ in poll.poll(1000 * seconds + 1)]
        if self._stream.fileno() in ready:
            os._exit(0)  # the leaves die with this process
        # Output first, so that an ended leaf has been heard in full.
        return sorted((owners[d] for d in ready), key=lambda owner: owner[1] == owner[0].pidfd)


def _introduce(server: Child, tests: Child) -> None:
    """Route lines between the two leaves of a check: one question, one answer, in strict turn.

    An answer that nobody asked for is forged. The server owes the first one unasked: what its names are.
    """
    owed = True

    def answered(line: bytes) -> None:
        nonlocal owed
        if not owed or not line.startswith(SAYS):
            server.kill("protocol")
            return
        owed = False
        if not server.answers:
            server.keep(line)
        tests.ask(line[1:] + b"\n")

    def asked(line: bytes) -> None:
        nonlocal owed
        if line.startswith(SAYS):
            tests.keep(line)
        elif owed or not line.startswith(ASKS):
            tests.kill("protocol")
        else:
            owed = True
            server.ask(line[1:] + b"\n")

    server.heard, tests.heard = answered, asked


def _above(descriptor: int) -> int:
    """The same socket above the numbers that leaves use for their pipes, and those numbers taken."""
    copy = os.dup(descriptor)
    while copy < 10:
        copy = os.dup(descriptor)
    return copy

"""A program that isn't ours, started in a jail of its own, with which one talks over its standard input and output."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arena.sandbox import probe, seccomp
from arena.sandbox.bubble import bubble
from arena.sandbox.jail import Running, first_of
from arena.sandbox.mounts import Mount, libraries
from arena.sandbox.verdict import MIB, SandboxUnavailable
from arena.sandbox.zygote import NOBODY

OUTPUT = 1 << 20  # bytes of one answer
CPU = 900  # seconds that one process may compute, so that none outlives a trainer that was killed


class Dialogue:
    """`command` in a jail that shows it the C libraries, its own file and `shown`, all of it only to be read.

    It has no network, no other process and nowhere to write but `written`, a folder. `filtered` also takes all system
    calls from it that a computation doesn't need; `merged` puts what it says on stderr among its answers. It starts
    at the first question. Raises SandboxUnavailable where bubblewrap doesn't hold, and where there is no such program.
    """

    def __init__(
        self,
        command: Sequence[str],
        shown: Sequence[str | Path] = (),
        environment: Mapping[str, str] | None = None,
        mem: int = 2048 * MIB,
        filtered: bool = True,
        merged: bool = False,
        written: str | Path = "",
    ):
        if trouble := probe.trouble("bwrap"):
            raise SandboxUnavailable(f"{command[0]} isn't run without a jail that holds: {trouble}")
        self.command, self.environment = tuple(command), {"PATH": "/usr/bin:/bin", "HOME": "/", **(environment or {})}
        self.mem, self.filtered, self.merged, self.written = mem, filtered, merged, written
        paths = [Path(path).absolute() for path in (command[0], *shown)]
        for path in paths:
            if not path.exists():
                raise SandboxUnavailable(f"{path} isn't there to be run or shown")
        self.mounts = (*libraries(), *(Mount(str(path.resolve()), str(path)) for path in paths))
        self._running: Running | None = None
        self._end: weakref.finalize[..., Any] | None = None

    @property
    def running(self) -> bool:
        """Whether the process that was asked last is still there to be asked."""
        return self._running is not None

    @property
    def unasked(self) -> bool:
        """Whether it has said something since the last answer, or ended."""
        if self._running is None:
            return False
        poll = select.poll()  # not select(), which knows no number above 1023
        poll.register(self._running.stream, select.POLLIN)
        return bool(poll.poll(0))

    def stop(self) -> None:
        """End the process; the next question starts another."""
        if self._end is not None:
            self._end()
        self._running = self._end = None

    def ask(self, text: str, whole: Callable[[bytes], bool], end: float) -> bytes:
        """The answer to `text`, as soon as it is `whole`; `end` is a time of time.monotonic().

        Raises TimeoutError after `end`, EOFError where the process has ended and OverflowError where it says too much.
        After each of them, and any other exception, it is stopped.
        """
        running = self._running or self._start()
        try:
            return _talk(running.stream, text.encode(), whole, end)
        except (BrokenPipeError, ConnectionResetError) as error:
            self.stop()
            raise EOFError(f"{self.command[0]} has ended") from error
        except BaseException:
            self.stop()  # what it says later would answer another question
            raise

    def _start(self) -> Running:
        ours, theirs = socket.socketpair()
        told, tell = os.pipe()
        read, write = os.pipe()
        try:
            os.write(write, seccomp.around_a_program())
            os.close(write)
            limits = (
                f"ulimit -c 0; ulimit -t {CPU}; ulimit -v {self.mem >> 10}; {'' if self.written else 'ulimit -f 0; '}"
            )
            jail = bubble(self.mounts, tell, self._options(read))
            process = subprocess.Popen(
                ["/bin/sh", "-c", f'{limits}exec "$@"', "sh", *jail, *self.command],
                pass_fds=(tell, read),
                env=self.environment,
                cwd="/",
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=theirs.fileno() if self.merged else subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            os.close(told)
            raise
        finally:
            theirs.close()
            os.close(tell)
            os.close(read)
        try:
            first, _ = first_of(told)
        except BaseException:
            Running(os.getpid(), process, ours, None).end()
            raise
        finally:
            os.close(told)
        self._running = Running(os.getpid(), process, ours, first)
        self._end = weakref.finalize(self, self._running.end)
        return self._running

    def _options(self, filter_: int) -> Iterator[str]:
        yield from ("--uid", str(NOBODY), "--gid", str(NOBODY))
        if self.filtered:
            yield from ("--seccomp", str(filter_))
        if self.written:
            yield from ("--bind", str(self.written), str(self.written))


def _talk(stream: socket.socket, text: bytes, whole: Callable[[bytes], bool], end: float) -> bytes:
    """Write and read at once, since a program that waits to be heard doesn't listen."""
    stream.setblocking(False)
    poll, answer = select.poll(), bytearray()
    while text or not whole(bytes(answer)):
        poll.register(stream, select.POLLIN | (select.POLLOUT if text else 0))
        left = end - time.monotonic()
        if left <= 0 or not (events := poll.poll(1000 * left)):  # one that never stops talking is late too
            raise TimeoutError("it takes too long")
        if events[0][1] & select.POLLOUT:
            text = text[stream.send(text[:65536]) :]
        if events[0][1] & ~select.POLLOUT:
            part = stream.recv(65536)
            if not part:
                raise EOFError("it has ended")
            answer += part
            if len(answer) > OUTPUT:
                raise OverflowError(f"it says more than {OUTPUT} bytes")
    return bytes(answer)

"""A leaf as its zygote sees it: a process, the pipes to it, and what has come out of them so far."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from arena.sandbox import leaf
from arena.sandbox.channel import READY

CHUNK = 65536
TOLD = 4096  # bytes of stderr that are passed on


class Child:
    """One leaf, forked at once. `heard` gets every line of its answers but the first, which says that the fence stands.

    `why` is the zygote's reason for having killed it, "" if it ended by itself.
    """

    def __init__(self, mode: str, job: Mapping[str, Any], threads: int | None, stdin: bytes = b"") -> None:
        self.mode, self.why, self.ready, self.ended = mode, "", False, False
        self.heard: Callable[[bytes], None] = self.keep
        self.answers, self._line = bytearray(), bytearray()
        limits = job["limits"]
        self._caps = {"out": limits["output"], "err": limits["output"], "answers": limits["result"]}
        self._texts = {"out": bytearray(), "err": bytearray()}
        self._reads: dict[int, str] = {}
        self.status, self.cpu, self.rss_kb = 0, 0.0, 0
        self.begun = self.over = time.monotonic()
        given, printed, complained, asked, answered = (os.pipe() for _ in range(5))
        ends = (given[0], printed[1], complained[1], asked[0], answered[1])
        zygote = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            leaf.become(mode, job, ends, threads, zygote)
        self.pidfd = os.pidfd_open(self.pid)
        for end in ends:
            os.close(end)
        for end, name in ((printed[0], "out"), (complained[0], "err"), (answered[0], "answers")):
            self._reads[end] = name
        self._stdin, self._questions = given[1], asked[1]
        self._writes: dict[int, bytearray] = {self._stdin: bytearray(stdin), self._questions: bytearray()}
        self._closing = {self._stdin}
        for end in (*self._reads, *self._writes):
            os.set_blocking(end, False)
        self._close_written()

    def readable(self) -> list[int]:
        """The descriptors that may bring news."""
        return [*self._reads, self.pidfd]

    def writable(self) -> list[int]:
        """The descriptors for which something waits to be written."""
        return [end for end, waiting in self._writes.items() if waiting]

    def ask(self, line: bytes) -> None:
        """Send a line to the leaf, as it reads; nothing here waits for it."""
        self._writes[self._questions] += line
        self.write(self._questions)  # most lines fit into the pipe at once

    def hang_up(self) -> None:
        """Let the leaf find out, when it has read all that waits for it, that nobody answers any more."""
        self._closing.add(self._questions)
        self._close_written()

    def keep(self, line: bytes) -> None:
        """Store a line for the trainer; one line too much ends the leaf."""
        self.answers += line + b"\n"
        if len(self.answers) > self._caps["answers"]:
            del self.answers[self._caps["answers"] :]
            self.kill("result")

    def write(self, end: int) -> None:
        """Write as much as the pipe takes."""
        waiting = self._writes[end]
        try:
            del waiting[: os.write(end, waiting[:CHUNK])]
        except BlockingIOError:
            return
        except OSError:  # the leaf doesn't read any more
            waiting.clear()
        self._close_written()

    def read(self, end: int) -> bool:
        """Take what has come through one descriptor; False if there is nothing more for now."""
        try:
            part = os.read(end, CHUNK)
        except BlockingIOError:
            return False
        name = self._reads[end]
        if not part:
            os.close(end)
            del self._reads[end]
        elif name == "answers":
            self._split(part)
        else:
            text = self._texts[name]
            text += part
            if len(text) > self._caps[name]:
                del text[self._caps[name] :]
                self.kill("output")
        return bool(part)

    def kill(self, why: str) -> None:
        """End the leaf; the first reason counts, and nothing that it says later."""
        if not self.ended and not self.why:
            self.why = why
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        """Collect the ended process, and what it had written before; no other process can hold its pipes open."""
        _, status, usage = os.wait4(self.pid, 0)
        self.ended, self.over = True, time.monotonic()
        self.status, self.rss_kb = os.waitstatus_to_exitcode(status), usage.ru_maxrss
        self.cpu = usage.ru_utime + usage.ru_stime
        for end in list(self._reads):
            while end in self._reads and not self.why and self.read(end):
                pass

    def close(self) -> None:
        """Kill and reap the process if it still runs, and close every descriptor."""
        if not self.ended:
            self.kill("closed")
            self.reap()
        for end in (self.pidfd, *self._reads, *self._writes):
            os.close(end)

    def report(self) -> dict[str, Any]:
        """What the trainer is told; all texts are untrusted."""
        return {
            "mode": self.mode,
            "why": self.why,
            "ready": self.ready,
            "status": self.status,
            "answers": self.answers.decode("ascii", "replace"),
            "out": self._texts["out"].decode("utf-8", "replace"),
            "err": self._texts["err"][-TOLD:].decode("utf-8", "replace"),
            "cpu": self.cpu,
            "wall": self.over - self.begun,
            "rss_kb": self.rss_kb,
        }

    def _split(self, part: bytes) -> None:
        *lines, rest = (self._line + part).split(b"\n")
        self._line = rest
        for line in lines:
            if self.why:
                return
            if len(line) > self._caps["answers"]:
                self.kill("result")
            elif self.ready:
                self.heard(bytes(line))
            elif line == READY:
                self.ready, self.begun = True, time.monotonic()
            else:
                self.kill("protocol")
        if len(rest) > self._caps["answers"]:
            self.kill("result")

    def _close_written(self) -> None:
        for end in [end for end in self._closing if not self._writes[end]]:
            os.close(end)
            del self._writes[end]
            self._closing.remove(end)

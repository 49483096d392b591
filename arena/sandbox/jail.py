"""One jail as the trainer sees it: started when needed, asked one job at a time, and ended for sure."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox import frames
from arena.sandbox.tiers import start
from arena.sandbox.verdict import SandboxUnavailable
from arena.sandbox.zygote import NOBODY, SETUP

PATIENCE = 30.0  # seconds for a jail to start, on a busy machine
SLACK = 5.0  # seconds beyond a job's own limits after which the jail is given up
RECYCLED = 2000  # jobs of a zygote: whatever they might have worn out in it ends there


class JailDied(RuntimeError):
    """The jail failed, not the code in it."""


@dataclass(frozen=True)
class Running:
    """A started jail. `first` is a descriptor of the first process inside, whose end is the end of all of them."""

    owner: int
    process: subprocess.Popen[bytes]
    stream: socket.socket
    first: int | None

    def end(self) -> None:
        """Kill all processes of the jail and collect them; in a fork of the owner only let go of them."""
        self.stream.close()
        if self.owner != os.getpid():
            self.process.returncode = 0  # so that the object doesn't wait for what isn't its child
        else:
            if self.first is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self.first, signal.SIGKILL)
            _kill(self.process)
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        if self.first is not None:
            os.close(self.first)


class Jail:
    """A jail of one tier, whose Python hashes by `seed` and sees a clock `shift` seconds late."""

    def __init__(self, tier: str, seed: int = 0, shift: int = 0) -> None:
        self.tier, self.seed, self.shift = tier, seed, shift
        self._running: Running | None = None
        self._end: weakref.finalize[..., Any] | None = None
        self._jobs = 0

    def ask(self, job: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The reports of the job's leaves; raises JailDied, and then, as after any other exception, starts afresh."""
        if self._jobs >= RECYCLED:
            self.stop()
        job = {**job, "id": secrets.token_hex(8)}
        try:
            running = self._running or self._start()
            self._jobs += 1
            running.stream.settimeout(job["limits"]["wall"] + SETUP + SLACK)
            for frame in frames.split(job):
                frames.send(running.stream, frame)
            reply = frames.receive(running.stream)
            if reply.get("id") != job["id"]:
                raise ValueError("the reply belongs to another job")
        except (OSError, EOFError, ValueError, SandboxUnavailable) as error:
            self.stop()
            raise JailDied(f"the {self.tier} jail failed: {type(error).__name__}: {error}") from error
        except BaseException:
            self.stop()  # an interrupted job must not answer the next one
            raise
        if "infra" in reply:
            self.stop()
            raise JailDied(f"the {self.tier} jail failed: {reply['infra'].splitlines()[-1]}")
        leaves: list[dict[str, Any]] = reply["leaves"]
        return leaves

    def stop(self) -> None:
        """End the jail and everything in it; the next job starts another."""
        if self._end is not None:
            self._end()
        self._running = self._end = None
        self._jobs = 0

    def _start(self) -> Running:
        """Start a zygote and wait until it is ready; raises SandboxUnavailable with what was said on stderr."""
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        told, tell = os.pipe()
        wait, go = os.pipe()
        with contextlib.ExitStack() as opened:
            opened.callback(theirs.close)
            for end in (told, wait, go):
                opened.callback(os.close, end)
            try:
                begin = start(self.tier, self.seed, self.shift, theirs.fileno(), tell, wait)
                process = subprocess.Popen(
                    begin.command,
                    # With both ends of what it tells: telling a dead trainer would else be its own death, and its child
                    # would wait for it for ever.
                    pass_fds=(theirs.fileno(), told, tell, wait),
                    env=dict(begin.environment),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
            finally:
                os.close(tell)
            theirs.close()
            first = None
            try:
                if self.tier == "bwrap":
                    first, pid = first_of(told)
                    if begin.mapped:
                        for what in ("uid_map", "gid_map"):
                            Path(f"/proc/{pid}/{what}").write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
                        os.write(go, b"+")
                frames.receive(ours)
            except BaseException as error:
                why = complaint(process, first)
                Running(os.getpid(), process, ours, first).end()
                if isinstance(error, (OSError, EOFError, ValueError)):
                    raise SandboxUnavailable(f"{self.tier}: {why or error}") from error
                raise
        self._running = Running(os.getpid(), process, ours, first)
        self._end = weakref.finalize(self, self._running.end)
        return self._running


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the leader of a group, and the children in it, of whom it may not have told yet."""
    if process.returncode is None:  # not collected, so the number is still its own even if it has ended
        os.killpg(process.pid, signal.SIGKILL)


def first_of(told: int) -> tuple[int, int]:
    """A descriptor and the id of the first process in a bwrap jail, as bwrap tells it."""
    text, poll = b"", select.poll()  # not select(), which knows no number above 1023
    poll.register(told, select.POLLIN)
    while b"}" not in text:
        if not poll.poll(1000 * PATIENCE) or not (part := os.read(told, 4096)):
            raise EOFError("bwrap started nothing")
        text += part
    pid = json.loads(text)["child-pid"]
    return os.pidfd_open(pid), pid


def complaint(process: subprocess.Popen[bytes], first: int | None) -> str:
    """The last line on stderr of a process that failed to start; the one inside, which shares it, is ended too."""
    if first is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
    _kill(process)
    try:
        _, said = process.communicate(timeout=1)
    except subprocess.TimeoutExpired as error:  # somebody of whom bwrap hasn't told holds it open
        said = error.stderr or b""
    return said.decode(errors="replace").strip().rpartition("\n")[2]

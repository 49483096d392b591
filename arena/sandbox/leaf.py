"""The process that runs untrusted code: forked for one job, fenced in, never used again."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import resource
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from io import BufferedReader, FileIO, TextIOWrapper
from typing import Any, NoReturn

from arena.sandbox import channel, program, seccomp, solution, suite

Job = Mapping[str, Any]
# What a leaf does with what it is given; "server" and "tests" are the two halves of a check.
MODES: Mapping[str, Callable[[Job], None]] = {
    "call": solution.answer,
    "server": solution.serve,
    "tests": suite.judge,
    "stdio": program.execute,
}
BROKEN = 97  # the exit status of a leaf that couldn't be fenced in
STACK = 64 << 20  # bytes, of the main thread
DESCRIPTORS = 64
PARENT_DEATH, DUMPABLE = 1, 4  # prctl
CAPABILITIES_V3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def become(mode: str, job: Job, ends: tuple[int, int, int, int, int], threads: int | None, zygote: int) -> NoReturn:
    """Turn this fresh fork into a leaf, run the source that comes as the first line of questions, and end.

    `ends` are the descriptors for stdin, stdout, stderr, questions and answers; `threads` caps the tasks of this user
    in this jail, None if they can't be told from those outside; `zygote` is the process that forked it.
    """
    try:
        _fence(job, ends, threads, zygote)
    except BaseException as error:  # noqa: BLE001 - whatever it is, this process must not go on as a zygote
        os.write(2, f"no fence: {type(error).__name__}: {error}".encode(errors="replace"))
        os._exit(BROKEN)
    try:
        channel.ready()
        MODES[mode](channel.hear())
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - foreign code may have broken anything here
        os._exit(BROKEN)
    os._exit(0)


def _fence(job: Job, ends: tuple[int, int, int, int, int], threads: int | None, zygote: int) -> None:
    for target, end in enumerate(ends):
        os.dup2(end, target)
    os.closerange(len(ends), 1024)
    sys.stdin = TextIOWrapper(BufferedReader(FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout, sys.stderr = (
        TextIOWrapper(FileIO(end, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for end in (1, 2)
    )
    header = struct.pack("Ii", CAPABILITIES_V3, 0)
    _libc.capset(ctypes.create_string_buffer(header, 8), ctypes.create_string_buffer(bytes(24), 24))
    _libc.prctl(DUMPABLE, 0, 0, 0, 0)  # nobody may trace it
    die_with(zygote)
    _limit(job["limits"], threads)
    random.seed(job["seed"])
    gc.enable()
    seccomp.install()


def die_with(parent: int) -> None:
    """Let this process be killed when its parent ends; raises OSError if that has happened already."""
    _libc.prctl(PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise OSError("the parent died before its death could be a signal")


def _limit(limits: Mapping[str, Any], threads: int | None) -> None:
    seconds = max(1, -int(-limits["cpu"] // 1))
    for what, soft, hard in (
        (resource.RLIMIT_AS, limits["mem"], limits["mem"]),
        (resource.RLIMIT_CPU, seconds, seconds + 1),  # SIGXCPU, and SIGKILL for who ignores it
        (resource.RLIMIT_FSIZE, limits["fsize"], limits["fsize"]),
        (resource.RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS),
        (resource.RLIMIT_STACK, STACK, STACK),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))
    if threads is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))

"""The filter of system calls, assembled by hand: a list of what is allowed, for whatever a kernel may add.

A program of classic BPF reads struct seccomp_data: the call's number at byte 0, the processor at 4, six arguments of
eight bytes from 16 on. What isn't listed fails with EPERM; a foreign processor or the x32 numbers kill the process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable
from functools import cache

from arena.sandbox.syscalls import MACHINES, Machine

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCH, ARGUMENTS = 0, 4, 16
X32 = 0x40000000
SET_SECCOMP, FILTER, NO_NEW_PRIVS = 22, 2, 38
SELF = 0x5AFE0B1D  # stands for the process's own id until `install` knows it

THREAD = 0x00010000  # CLONE_THREAD
NAMESPACES = 0x7E020000 | 0x80  # CLONE_NEW*, and CLONE_NEWTIME
TERMINAL = (0x5401, 0x541B, 0x5451, 0x5450, 0x5421, 0x5413)  # TCGETS FIONREAD FIOCLEX FIONCLEX FIONBIO TIOCGWINSZ
DESCRIPTORS = (0, 1, 2, 3, 4, 1030)  # F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC: no F_SETOWN, F_SETSIG
NAMES = (15, 16, 0x53564D41)  # PR_SET_NAME PR_GET_NAME PR_SET_VMA
AF_UNIX = 1

Instruction = tuple[int, int, int, int]  # operation, steps to skip if true, if false, operand


def program(machine: Machine, starts: bool = False) -> tuple[Instruction, ...]:
    """The filter for one processor, with SELF in place of the process's id; with `starts` execve is allowed too."""
    out: list[Instruction] = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, machine.arch), (RETURN, 0, 0, KILL)]
    out += [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL)]
    for free in (*machine.free.values(), *((machine.execve,) if starts else ())):
        out += [(EQUAL, 0, 1, free), (RETURN, 0, 0, ALLOW)]
    number = machine.checked
    out += _only(number["ioctl"], 1, TERMINAL, errno.ENOTTY)
    out += _only(number["fcntl"], 1, DESCRIPTORS)
    out += _only(number["kill"], 0, [SELF])
    out += _only(number["tgkill"], 0, [SELF])
    out += _only(number["prctl"], 0, NAMES)
    out += _only(number["prlimit64"], 0, [0, SELF])
    out += _only(number["socketpair"], 0, [AF_UNIX])  # asyncio wakes itself through one
    out += _only(
        number["clone3"], 0, [], errno.ENOSYS
    )  # its flags lie in memory, where no filter reads: libc then clones
    # An address would reach sockets outside: both halves of the pointer must be 0.
    refused = (RETURN, 0, 0, ERRNO | errno.EPERM)
    low, high = ARGUMENTS + 8 * 4, ARGUMENTS + 8 * 4 + 4
    out += [(EQUAL, 0, 6, number["sendto"]), (LOAD, 0, 0, low), (EQUAL, 0, 2, 0), (LOAD, 0, 0, high), (EQUAL, 1, 0, 0)]
    out += [refused, (RETURN, 0, 0, ALLOW)]
    # Threads, but no processes.
    out += [
        (EQUAL, 0, 5, number["clone"]),
        (LOAD, 0, 0, ARGUMENTS),
        (ANY_BIT, 2, 0, NAMESPACES),
        (ANY_BIT, 0, 1, THREAD),
    ]
    out += [(RETURN, 0, 0, ALLOW), refused, refused]
    return tuple(out)


def _only(number: int, index: int, values: Iterable[int], error: int = errno.EPERM) -> list[Instruction]:
    """Let a call through if argument `index` is one of the values, by its lower half: the kernel reads no more."""
    body: list[Instruction] = [(LOAD, 0, 0, ARGUMENTS + 8 * index)]
    for value in values:
        body += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    body.append((RETURN, 0, 0, ERRNO | error))
    return [(EQUAL, 0, len(body), number), *body]


@cache
def assembled(starts: bool = False) -> bytes:
    """The filter of this machine in the kernel's struct sock_filter, eight bytes an instruction."""
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program(here(), starts))


def around_a_program() -> bytes:
    """For bwrap, which starts a program as the first process of a jail when the filter stands already."""
    return assembled(starts=True).replace(struct.pack("I", SELF), struct.pack("I", 1))


def here() -> Machine:
    """The processor of this machine; raises OSError if no filter is written for it."""
    name = platform.machine()
    if name not in MACHINES:
        raise OSError(f"no seccomp filter for the processor {name!r}: known are {', '.join(MACHINES)}")
    return MACHINES[name]


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


_libc = ctypes.CDLL(None, use_errno=True)


def install() -> None:
    """Put this process, and all its threads to come, behind the filter for good; raises OSError."""
    code = assembled().replace(struct.pack("I", SELF), struct.pack("I", os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Filter(len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(filter_), 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")

"""The filter of system calls, run by hand for both processors: what the kernel would say of each call."""

import errno
import re
import struct
from pathlib import Path

import pytest

from arena.sandbox import seccomp
from arena.sandbox.seccomp import ALLOW, ERRNO, KILL, SELF, program
from arena.sandbox.syscalls import AARCH64, MACHINES, X86_64

EPERM = ERRNO | errno.EPERM
BOTH = pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))


def decide(machine, number, *arguments, arch=None):
    """What the filter returns for a call: a machine of classic BPF in a dozen lines."""
    filled = (*arguments, *[0] * (6 - len(arguments)))
    call = struct.pack("iIQ6Q", number, machine.arch if arch is None else arch, 0, *filled)
    code, at, held = program(machine), 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == seccomp.RETURN:
            return operand
        if operation == seccomp.LOAD:
            (held,) = struct.unpack_from("I", call, operand)
            continue
        true = {
            seccomp.EQUAL: held == operand,
            seccomp.AT_LEAST: held >= operand,
            seccomp.ANY_BIT: bool(held & operand),
        }[operation]
        at += if_true if true else if_false


@BOTH
def test_exactly_the_listed_calls_are_allowed(machine):
    allowed = {number for number in range(1024) if decide(machine, number) == ALLOW}
    assert allowed - set(machine.checked.values()) == set(machine.free.values())


@BOTH
def test_calls_of_another_processor_or_of_x32_kill(machine):
    other = (X86_64 if machine is AARCH64 else AARCH64).arch
    assert decide(machine, machine.free["read"], arch=other) == KILL
    assert decide(machine, machine.free["read"], arch=0x40000003) == KILL  # 32 bits
    assert decide(machine, 0x40000000 + machine.free["read"]) == KILL
    assert decide(machine, -1) == KILL


@BOTH
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), ERRNO | errno.ENOTTY),  # TIOCSTI
        ("ioctl", (0, 0x8901), ERRNO | errno.ENOTTY),  # FIOSETOWN
        ("fcntl", (0, 3), ALLOW),
        ("fcntl", (0, 1030), ALLOW),
        *((("fcntl", (0, command), EPERM)) for command in (5, 6, 7, 8, 9, 10, 15, 1024, 1026, 1033)),
        ("kill", (SELF, 9), ALLOW),
        *((("kill", (pid, 9), EPERM)) for pid in (0, 1, 2**64 - 1, 2**32 - 1, SELF - 1)),
        ("tgkill", (SELF, 5, 9), ALLOW),
        ("tgkill", (1, 1, 9), EPERM),
        ("prctl", (15,), ALLOW),
        *((("prctl", (option,), EPERM)) for option in (1, 2, 4, 22, 23, 24, 36, 38, 47, 59)),
        ("prlimit64", (0, 0), ALLOW),
        ("prlimit64", (SELF, 0), ALLOW),
        ("prlimit64", (1, 0), EPERM),
        ("socketpair", (1,), ALLOW),
        *((("socketpair", (family,), EPERM)) for family in (2, 10, 16, 17, 40)),
        ("sendto", (3, 1, 1, 0, 0), ALLOW),
        ("sendto", (3, 1, 1, 0, 0x1000), EPERM),
        ("sendto", (3, 1, 1, 0, 1 << 32), EPERM),
        ("clone", (0x3D0F00,), ALLOW),  # what a thread of libc is made by
        ("clone", (17,), EPERM),  # fork
        ("clone", (0x4111,), EPERM),  # vfork
        *((("clone", (0x3D0F00 | flag,), EPERM)) for flag in (0x20000, 0x2000000, 0x10000000, 0x20000000, 0x40000000)),
        ("clone", (0x3D0F00 | 0x80,), EPERM),  # a namespace of time
        ("clone3", (), ERRNO | errno.ENOSYS),
    ],
)  # fmt: skip
def test_some_calls_are_allowed_with_some_arguments(machine, name, arguments, answer):
    assert decide(machine, machine.checked[name], *arguments) == answer


@pytest.mark.parametrize(
    ("machine", "numbers"),
    [
        (X86_64, {"socket": 41, "connect": 42, "sendmsg": 46, "fork": 57, "vfork": 58, "execve": 59, "ptrace": 101}),
        (X86_64, {"execveat": 322, "unshare": 272, "mount": 165, "chroot": 161, "setuid": 105, "capset": 126}),
        (X86_64, {"memfd": 319, "io_uring": 425, "bpf": 321, "perf": 298, "userfaultfd": 323, "keyctl": 250}),
        (X86_64, {"tkill": 200, "sigqueue": 129, "pidfd_send": 424, "vm_readv": 310, "vm_writev": 311, "kcmp": 312}),
        (X86_64, {"chmod": 90, "utimensat": 280, "rename": 82, "unlink": 87, "mkdir": 83, "truncate": 76, "link": 86}),
        (AARCH64, {"socket": 198, "connect": 203, "sendmsg": 211, "execve": 221, "ptrace": 117, "unshare": 97}),
        (AARCH64, {"execveat": 281, "mount": 40, "chroot": 51, "setuid": 146, "capset": 91}),
        (AARCH64, {"memfd": 279, "tkill": 130}),
        (AARCH64, {"io_uring": 425, "bpf": 280, "perf": 241, "userfaultfd": 282, "keyctl": 219, "sigqueue": 138}),
        (AARCH64, {"pidfd_send": 424, "vm_readv": 270, "vm_writev": 271, "kcmp": 272, "fchmodat": 53, "utimensat": 88}),
        (AARCH64, {"renameat": 38, "unlinkat": 35, "mkdirat": 34, "truncate": 45, "linkat": 37, "open_by_handle": 265}),
    ],
)  # fmt: skip
def test_what_would_lead_out_is_refused(machine, numbers):
    assert {name: decide(machine, number) for name, number in numbers.items()} == dict.fromkeys(numbers, EPERM)


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        (X86_64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        (AARCH64, "/usr/include/asm-generic/unistd.h"),
    ],
    ids=["x86_64", "aarch64"],
)
def test_the_numbers_are_those_of_the_kernels_header(machine, header):
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(header).read_text())
    numbers = {name: int(number) for name, number in defined} | {"newfstatat": int(dict(defined).get("fstatat", 262))}
    ours = {**machine.free, **machine.checked}
    assert ours == {name: numbers[name] for name in ours}


def test_a_processor_without_a_filter_is_named(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no seccomp filter for the processor 'riscv64': known are x86_64, aarch64"):
        seccomp.here()

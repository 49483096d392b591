"""The system calls that a leaf may use, by processor: what Python needs to compute and to print, and no more.

Numbers from the kernel's tables (arch/x86/entry/syscalls/syscall_64.tbl; include/uapi/asm-generic/unistd.h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """`arch` is the kernel's AUDIT_ARCH, `free` the calls allowed with any arguments, `checked` those with some.

    `execve` is allowed only where a jail is for a program that isn't Python.
    """

    arch: int
    free: Mapping[str, int]
    checked: Mapping[str, int]
    execve: int


X86_64 = Machine(
    arch=0xC000003E,
    free={
        **{"read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8},
        **{"mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14},
        **{"rt_sigreturn": 15, "pread64": 17, "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23},
        **{"sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35},
        **{"getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39, "recvfrom": 45, "exit": 60, "uname": 63},
        **{"getcwd": 79, "chdir": 80, "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98},
        **{"sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110},
        **{"rt_sigpending": 127, "rt_sigtimedwait": 128, "sigaltstack": 131, "statfs": 137, "fstatfs": 138},
        **{"arch_prctl": 158, "setrlimit": 160, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204},
        **{"epoll_create": 213, "getdents64": 217, "set_tid_address": 218, "restart_syscall": 219, "fadvise64": 221},
        **{"clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232},
        **{"epoll_ctl": 233, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "pselect6": 270},
        **{"ppoll": 271, "set_robust_list": 273, "epoll_pwait": 281, "eventfd2": 290, "epoll_create1": 291},
        **{"dup3": 292, "pipe2": 293, "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334},
        **{"close_range": 436, "faccessat2": 439},
    },
    checked={
        **{"ioctl": 16, "sendto": 44, "socketpair": 53, "clone": 56, "kill": 62, "fcntl": 72, "prctl": 157},
        **{"tgkill": 234, "prlimit64": 302, "clone3": 435},
    },
    execve=59,
)

AARCH64 = Machine(
    arch=0xC00000B7,
    free={
        **{"getcwd": 17, "eventfd2": 19, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22, "dup": 23},
        **{"dup3": 24, "statfs": 43, "fstatfs": 44, "faccessat": 48, "chdir": 49, "openat": 56, "close": 57},
        **{"pipe2": 59, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66},
        **{"pread64": 67, "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93},
        **{"exit_group": 94, "set_tid_address": 96, "futex": 98, "set_robust_list": 99, "nanosleep": 101},
        **{"getitimer": 102, "setitimer": 103, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115},
        **{"sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132},
        **{"rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigpending": 136, "rt_sigtimedwait": 137},
        **{"rt_sigreturn": 139, "times": 153, "uname": 160, "getrlimit": 163, "setrlimit": 164, "getrusage": 165},
        **{"gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176},
        **{"getegid": 177, "gettid": 178, "sysinfo": 179, "recvfrom": 207, "brk": 214, "munmap": 215, "mremap": 216},
        **{"mmap": 222, "fadvise64": 223, "mprotect": 226, "madvise": 233, "getrandom": 278, "membarrier": 283},
        **{"statx": 291, "rseq": 293, "close_range": 436, "faccessat2": 439},
    },
    checked={
        **{"fcntl": 25, "ioctl": 29, "kill": 129, "tgkill": 131, "prctl": 167, "socketpair": 199, "sendto": 206},
        **{"clone": 220, "prlimit64": 261, "clone3": 435},
    },
    execve=221,
)

MACHINES: Mapping[str, Machine] = {"x86_64": X86_64, "aarch64": AARCH64}

"""What is known of untrusted code after it ran, and what it was allowed to take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from arena.config import within

Status = Literal[
    "passed",
    "failed",
    "error",
    "timeout",
    "memory",
    "output_limit",
    "crashed",
    "tampered",
    "invalid_tests",
    "unsupported",
    "infra",
]
UNSCORED: frozenset[Status] = frozenset({"invalid_tests", "unsupported", "infra"})
MIB = 2**20


class SandboxUnavailable(RuntimeError):
    """Nothing on this machine can run untrusted code safely, so none is run."""


@dataclass(frozen=True)
class Limits:
    """What one job may take; `wall` and `cpu` in seconds, `threads` besides the first, all others in bytes.

    CPU time is cut off at whole seconds. `mem` bounds the address space, `output` each of stdout and stderr, `result`
    all values that come back, and `fsize` a written file, though there is no place to write one.
    """

    wall: float = 3.0
    cpu: float = 3.0
    mem: int = 512 * MIB
    output: int = 64 * 1024
    result: int = 256 * 1024
    fsize: int = 4 * MIB
    threads: int = 32

    def __post_init__(self) -> None:
        for name, low, high in (
            ("wall", 0.001, 3600),
            ("cpu", 0.001, 3600),
            ("mem", 64 * MIB, 2**40),
            ("output", 0, 16 * MIB),
            ("result", 64, 16 * MIB),
            ("fsize", 0, 2**40),
            ("threads", 0, 1024),
        ):
            within(f"limits.{name}", getattr(self, name), low, high)

    def to_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True)
class Raised:
    """In place of a value: the call raised an exception of this type. As an expected answer only `kind` is compared."""

    kind: str
    text: str = ""
    line: int = 0


@dataclass(frozen=True)
class Verdict:
    """How a job ended. `passed` of `total` calls, cases or tests went as they should; `values` has what calls returned.

    | status | meaning |
    |---|---|
    | passed, failed | all went as they should; some did not |
    | error | the code couldn't be loaded, or every call raised |
    | timeout, memory, output_limit | a limit was reached |
    | crashed | the process ended by itself or by a signal before it had answered |
    | tampered | it spoke out of turn on the channel of answers |
    | invalid_tests | the tests couldn't be read, hold no test, or broke: no fault of the solution |
    | unsupported | the arguments or expected values can't be carried |
    | infra | the sandbox itself failed, twice |

    `detail` says in one line what went wrong first. `cpu` and `wall` are seconds, `rss_kb` the peak memory in KiB.
    """

    status: Status
    passed: int = 0
    total: int = 0
    detail: str = ""
    stdout: str = ""
    values: tuple[object, ...] = ()
    cpu: float = 0.0
    wall: float = 0.0
    rss_kb: int = 0

    @property
    def ok(self) -> bool:
        """Whether all of it passed."""
        return self.status == "passed"

    @property
    def score(self) -> float | None:
        """The share that passed, in [0, 1]; None where the code can't be blamed and must not be rewarded either."""
        if self.status in UNSCORED:
            return None
        return self.passed / self.total if self.total else float(self.ok)

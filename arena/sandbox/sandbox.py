"""Run code that nobody has read: in jails, judged from outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property, partial
from types import TracebackType
from typing import Any

from arena.sandbox import judge
from arena.sandbox.jail import Jail, JailDied
from arena.sandbox.pool import Pool
from arena.sandbox.probe import REMOTE, choose
from arena.sandbox.remote import Remote, Server, named
from arena.sandbox.report import Report, show, tidy
from arena.sandbox.verdict import Limits, Raised, Verdict
from arena.sandbox.wire import NotPlain, canonical, encode

LIMITS = Limits()
LONGEST = 2**20  # characters of a source
SEED, TWIN_SEED = 0, 77
TWIN_SHIFT = 400 * 86_400 + 12_345  # seconds: another year, month, day, weekday, hour, minute
KINDS = ((SEED, 0), (TWIN_SEED, TWIN_SHIFT))  # hash seeds and shifts of clocks that jails are made with
Arguments = Sequence[object]
Job = dict[str, Any]


class Sandbox:
    """`workers` jails of a tier, "auto" for the safest that works here; raises SandboxUnavailable if none does.

    The tier "remote" is the `server`, by default the one that SCRIMMAGE_SANDBOX names; "auto" comes to it last.

    Usable from any thread, and from forked and spawned processes, which get jails of their own. All methods wait for
    their verdict; from asyncio call them by `asyncio.to_thread`. Code gets no arguments but plain values (see
    `arena.sandbox.wire`), and expected values never reach it. The same job sees the same hash and random seeds.
    """

    def __init__(self, workers: int = 2, tier: str = "auto", server: Server | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}: a sandbox needs at least one")
        self.workers = workers
        self.tier = choose(tier, server)
        self._server = (server or named()) if self.tier == REMOTE else None
        self._pool = self._pool_of(*KINDS[0])

    @cached_property
    def _twins(self) -> Pool:
        return self._pool_of(*KINDS[1])

    def _pool_of(self, seed: int, shift: int) -> Pool:
        make = partial(Remote, self._server) if self._server else partial(Jail, self.tier)
        return Pool(partial(make, seed, shift), self.workers)

    def __reduce__(self) -> tuple[type[Sandbox], tuple[int, str, Server | None]]:
        return Sandbox, (self.workers, self.tier, self._server)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all jails; also done when the sandbox is collected, and when Python ends."""
        self._pool.close()
        if "_twins" in self.__dict__:
            self._twins.close()

    def run(self, code: str, entry: str, tests: Sequence[tuple[Arguments, object]], limits: Limits = LIMITS) -> Verdict:
        """Call `entry` with the arguments of every test, and compare with what is expected, type-strictly.

        An expected Raised(kind) wants an exception of that type.
        """
        for _, expected in tests:
            if not isinstance(expected, Raised):
                try:
                    encode(expected)
                except NotPlain as error:
                    return Verdict("unsupported", 0, len(tests), f"an expected value: {error}")
        called = self.call(code, entry, [arguments for arguments, _ in tests], limits)
        return judge.answers(called, [expected for _, expected in tests])

    def call(self, code: str, entry: str, calls: Sequence[Arguments], limits: Limits = LIMITS) -> Verdict:
        """Call `entry` with each of the arguments in turn, in one process; `values` are what it returned or raised."""
        return self._call(self._pool, code, entry, calls, limits, SEED)

    def deterministic(self, code: str, entry: str, calls: Sequence[Arguments], limits: Limits = LIMITS) -> Verdict:
        """Passed if two jails with other hash seeds, random seeds, clocks and addresses return the same, in order.

        Code that fails in one of them gets that verdict. It is a check against chance, not against malice: code that
        knows of it can find out the true time.
        """
        first = self._call(self._pool, code, entry, calls, limits, SEED)
        if not first.ok:
            return first
        second = self._call(self._twins, code, entry, calls, limits, TWIN_SEED)
        if second.status in ("infra", "timeout"):
            return second
        for i, (one, other) in enumerate(zip(first.values, second.values, strict=False)):
            if isinstance(other, Raised) or canonical(one) != canonical(other):
                detail = f"call {i + 1}: {show(one)} at first, then {show(other)}"
                return dataclasses.replace(first, status="failed", passed=i, detail=detail)
        if not second.ok:
            return dataclasses.replace(second, status="failed", detail=f"the second time: {second.detail}")
        return first

    def stdio(self, code: str, cases: Sequence[tuple[str, str]], limits: Limits = LIMITS) -> Verdict:
        """Run a program once for each (input, expected output), which are compared but for white space at line ends.

        The cases after one that reached a limit or crashed are not run.
        """
        total, passed, first = len(cases), 0, None
        verdict = Verdict("passed", 0, total)
        for text, expected in cases:
            verdict = self._program(code, text, expected, limits)
            passed += verdict.ok
            first = first or (None if verdict.ok else verdict)
            if verdict.status not in ("passed", "failed", "error"):
                break
        return dataclasses.replace(first or verdict, passed=passed, total=total)

    def check(self, code: str, tests: str, limits: Limits = LIMITS) -> Verdict:
        """Run tests written as code against a solution that lives in another process, each with these limits.

        What counts as a test is told in `arena.sandbox.collect`: each must be seen to pass. Tests use the solution's
        names directly or by `from solution import ...`, and get values and opaque handles.
        """
        if too_long := _too_long(tests):
            return Verdict("invalid_tests", detail=too_long)
        job = {"mode": "check", "source": code, "tests": tests}
        reports = self._ask(self._pool, job, limits, SEED)
        if isinstance(reports, Verdict):
            return reports
        return judge.tests(reports[0], reports[1], limits)

    def _call(
        self, pool: Pool, code: str, entry: str, calls: Sequence[Arguments], limits: Limits, seed: int
    ) -> Verdict:
        total = len(calls)
        try:
            forms = [encode(tuple(arguments)) for arguments in calls]
        except NotPlain as error:
            return Verdict("unsupported", 0, total, f"an argument: {error}")
        reports = self._ask(pool, {"mode": "call", "source": code, "entry": entry, "calls": forms}, limits, seed)
        if isinstance(reports, Verdict):
            return dataclasses.replace(reports, total=total)
        return judge.calls(reports[0], total, limits)

    def _program(self, code: str, text: str, expected: str, limits: Limits) -> Verdict:
        reports = self._ask(self._pool, {"mode": "stdio", "source": code, "stdin": text}, limits, SEED)
        if isinstance(reports, Verdict):
            return reports
        return judge.printed(reports[0], expected, limits)

    def _ask(self, pool: Pool, job: Job, limits: Limits, seed: int) -> list[Report] | Verdict:
        """The reports of a job's leaves, or the verdict if there are none."""
        if too_long := _too_long(job["source"]):
            return Verdict("error", detail=too_long)
        try:
            reports = pool.ask({**job, "limits": limits.to_json(), "seed": seed})
        except JailDied as error:
            return Verdict("infra", detail=tidy(str(error)))
        return [Report(**report) for report in reports]


def _too_long(source: str) -> str:
    return f"{len(source)} characters of code, more than {LONGEST}" if len(source) > LONGEST else ""

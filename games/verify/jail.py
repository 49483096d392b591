"""Where games run code that a model wrote: the sandbox of this process, reached only when something is to be run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from games.verify import program, values

KEPT = 4096  # results that are remembered: a deterministic program has one, however often it is asked for
BROKEN = "infra"


class NotRun(RuntimeError):
    """The sandbox itself failed: nothing follows about the code, so nobody may be paid by it."""


class Outcome(NamedTuple):
    """What a call returned, as text; or "" and why there is no such value."""

    text: str
    fault: str = ""


@lru_cache(maxsize=1)
def sandbox() -> Any:
    """The one of this process; raises SandboxUnavailable, in one line, where this machine has none."""
    from arena.sandbox import Sandbox

    return Sandbox(workers=1)


def twice(source: str, entry: str, calls: Sequence[program.Args]) -> Any:
    """The verdict on whether calls give the same in two jails."""
    from arena.sandbox import deterministic

    return deterministic(source, entry, calls)


def outcomes(source: str, calls: Sequence[program.Args]) -> tuple[Outcome, ...]:
    """What each call of f gives, in a jail that they share: one that hangs or dies takes all of them with it.

    Raises NotRun.
    """
    return _outcomes(source, tuple(map(program.call, calls)))


@lru_cache(maxsize=KEPT)
def _outcomes(source: str, calls: tuple[str, ...]) -> tuple[Outcome, ...]:
    verdict = sandbox().call(source, program.ENTRY, [program.read_call(text) for text in calls])
    if verdict.status == BROKEN:
        raise NotRun(verdict.detail)
    found = [_outcome(said) for said in verdict.values]
    # What isn't there has failed: neither a short answer nor a long one may be taken for a whole one.
    if len(found) != len(calls):
        return (Outcome("", f"{verdict.status}: {verdict.detail}"),) * len(calls)
    return tuple(found)


def _outcome(said: Any) -> Outcome:
    if said[0] != "v":
        return Outcome("", f"it raises {said[1]}")
    try:
        return Outcome(values.shown(said[1]))
    except values.NoValue as error:
        return Outcome("", str(error))


def agrees(source: str, pairs: Sequence[tuple[program.Args, str]]) -> tuple[bool, ...]:
    """Of each (arguments, expected text) whether f returns just that. Raises NotRun.

    The expected texts stay here; no more than the arguments enters the jail.
    """
    found = outcomes(source, [args for args, _ in pairs])
    return tuple(not one.fault and one.text == text for one, (_, text) in zip(found, pairs, strict=True))


@lru_cache(maxsize=KEPT)
def steady(source: str, calls: tuple[str, ...]) -> bool:
    """Whether the calls give the same in two jails of other hashes, random numbers, addresses and times.

    Raises NotRun.
    """
    found = twice(source, program.ENTRY, [program.read_call(text) for text in calls])
    if found.status == BROKEN:
        raise NotRun(found.detail)
    return bool(found.status == "passed")


def suite(source: str, tests: str) -> bool:
    """Whether a solution passes every test of a source of trusted tests, in two processes. Raises NotRun."""
    verdict = sandbox().check(source, tests)
    if verdict.status == BROKEN:
        raise NotRun(verdict.detail)
    return bool(verdict.status == "passed" and verdict.passed == verdict.total > 0)

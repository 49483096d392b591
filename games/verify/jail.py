"""Where games run code that a model wrote: the sandbox of this process, reached only when something is to be run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from arena.sandbox import Limits, Raised, Sandbox
from games.verify import program, values

KEPT = 4096  # results that are remembered: a deterministic program has one, however often it is asked for
LIMITS = Limits(wall=2.0, cpu=1.0)  # the programs here take milliseconds, and a step waits for each that hangs
BROKEN = "infra"


class NotRun(RuntimeError):
    """The sandbox itself failed: nothing follows about the code, so nobody may be paid by it."""


class Outcome(NamedTuple):
    """What a call returned, as text; or "" and why there is no such value."""

    text: str
    fault: str = ""


@lru_cache(maxsize=1)
def sandbox() -> Sandbox:
    """The one of this process; raises SandboxUnavailable, in one line, where this machine has none."""
    return Sandbox(workers=1)


def outcomes(source: str, calls: Sequence[program.Args]) -> tuple[Outcome, ...]:
    """What each call of f gives, in a jail that they share: one that hangs or dies takes all of them with it.

    Raises NotRun.
    """
    return _ran(source, tuple(map(program.call, calls)))[0]


def cost(source: str, calls: Sequence[program.Args]) -> float:
    """The seconds of CPU time that the calls take together, once they are known to come to an end. Raises NotRun."""
    return _ran(source, tuple(map(program.call, calls)))[1]


@lru_cache(maxsize=KEPT)
def _ran(source: str, calls: tuple[str, ...]) -> tuple[tuple[Outcome, ...], float]:
    verdict = sandbox().call(source, program.ENTRY, [program.read_call(text) for text in calls], LIMITS)
    if verdict.status == BROKEN:
        raise NotRun(verdict.detail)
    found = [_outcome(said) for said in verdict.values]
    # What isn't there has failed: neither a short answer nor a long one may be taken for a whole one.
    if len(found) != len(calls):
        return (Outcome("", f"{verdict.status}: {verdict.detail}"),) * len(calls), verdict.cpu
    return tuple(found), verdict.cpu


def _outcome(said: object) -> Outcome:
    if isinstance(said, Raised):
        return Outcome("", f"it raises {said.kind[:40]}")
    try:
        return Outcome(values.shown(said))
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
    found = sandbox().deterministic(source, program.ENTRY, [program.read_call(text) for text in calls], LIMITS)
    if found.status == BROKEN:
        raise NotRun(found.detail)
    return found.ok


def suite(source: str, tests: str) -> bool:
    """Whether a solution passes every test of a source of trusted tests, in two processes. Raises NotRun."""
    verdict = sandbox().check(source, tests, LIMITS)
    if verdict.status == BROKEN:
        raise NotRun(verdict.detail)
    return verdict.ok and verdict.passed == verdict.total > 0

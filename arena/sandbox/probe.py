"""Which tiers work here: found by running code in each, and seeing that it computes and that the fence holds."""

from __future__ import annotations

import os
from functools import cache

from arena.sandbox import judge
from arena.sandbox.jail import Jail, JailDied
from arena.sandbox.pool import Keeper
from arena.sandbox.remote import ADDRESS, Remote, Server, named
from arena.sandbox.report import Report
from arena.sandbox.tiers import TIERS
from arena.sandbox.verdict import Limits, SandboxUnavailable, Verdict

# Each of these must fail in a jail, and needs no permission outside.
PROBE = """
import os, socket

def escapes():
    found = []
    for name, attempt in {
        "read /etc/hosts": lambda: open("/etc/hosts").read(),
        "list /proc": lambda: os.listdir("/proc"),
        "write a file": lambda: open("/tmp/escape", "w"),
        "open a socket": lambda: socket.socket().close(),
        "fork": lambda: os.fork() or os._exit(0),
        "signal others": lambda: os.kill(os.getppid(), 0),
    }.items():
        try:
            attempt()
            found.append(name)
        except OSError:
            pass
    return found
"""
REMOTE = "remote"
PATIENT = Limits(wall=10.0, cpu=10.0)


def choose(tier: str = "auto", server: Server | None = None) -> str:
    """The tier to use, the safest that works for "auto"; raises SandboxUnavailable with the reasons if none does."""
    if tier not in ("auto", *TIERS, REMOTE):
        raise ValueError(f"tier is {tier!r}: choose auto, {', '.join(TIERS)}, {REMOTE}")
    return _first_that_works(candidates(server) if tier == "auto" else (tier,), server)


def choose_local(tier: str = "auto") -> str:
    """The same among the tiers of this machine: what serves others can't itself be served."""
    if tier not in ("auto", *TIERS):
        raise ValueError(f"tier is {tier!r}: choose auto, {', '.join(TIERS)}")
    return _first_that_works(TIERS if tier == "auto" else (tier,), None)


def candidates(server: Server | None = None) -> tuple[str, ...]:
    """The tiers that may be tried, from the safest to the last: another machine only if one is named."""
    return (*TIERS, REMOTE) if server or os.environ.get(ADDRESS) else TIERS


def troubles() -> dict[str, str]:
    """What `trouble` says of each tier that may be tried."""
    return {tier: remote_trouble() if tier == REMOTE else trouble(tier) for tier in candidates()}


@cache
def trouble(tier: str) -> str:
    """Why a tier can't be used on this machine, "" if it can; told once in a process, so it is tried twice."""
    return _trouble(Jail(tier), tier)


def remote_trouble(server: Server | None = None) -> str:
    """The same of a server, by default the one that the environment names; asked anew, for servers come and go."""
    try:
        found = server or named()
    except ValueError as error:
        return f"{REMOTE}: {error}"
    return _trouble(Remote(found), REMOTE)


def _first_that_works(tiers: tuple[str, ...], server: Server | None) -> str:
    reasons = []
    for candidate in tiers:
        reason = remote_trouble(server) if candidate == REMOTE else trouble(candidate)
        if not reason:
            return candidate
        reasons.append(reason)
    raise SandboxUnavailable(f"untrusted code can't be run safely here, so it isn't run: {'; '.join(reasons)}")


def _trouble(jail: Keeper, tier: str) -> str:
    try:
        verdict = _tried(jail)
    except JailDied as error:
        return str(error.__cause__ if isinstance(error.__cause__, SandboxUnavailable) else error)
    finally:
        jail.stop()
    if not verdict.ok:
        return f"{tier}: {verdict.status}: {verdict.detail}"
    if verdict.values != ([],):
        return f"{tier}: the jail let code {verdict.values[0]}"
    return ""


def _tried(jail: Keeper) -> Verdict:
    job = {"mode": "call", "source": PROBE, "entry": "escapes", "calls": [{"t": []}], "seed": 0}
    job |= {"limits": PATIENT.to_json()}
    try:
        reports = jail.ask(job)
    except JailDied:
        reports = jail.ask(job)
    return judge.calls(Report(**reports[0]), 1, PATIENT)

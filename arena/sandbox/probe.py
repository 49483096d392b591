"""Which tiers work here: found by running code in each, and seeing that it computes and that the fence holds."""

from __future__ import annotations

from functools import cache

from arena.sandbox import judge
from arena.sandbox.jail import Jail, JailDied
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
PATIENT = Limits(wall=10.0, cpu=10.0)


def choose(tier: str = "auto") -> str:
    """The tier to use, the safest that works for "auto"; raises SandboxUnavailable with the reasons if none does."""
    if tier not in ("auto", *TIERS):
        raise ValueError(f"tier is {tier!r}: choose auto, {', '.join(TIERS)}")
    reasons = []
    for candidate in TIERS if tier == "auto" else (tier,):
        reason = trouble(candidate)
        if not reason:
            return candidate
        reasons.append(reason)
    raise SandboxUnavailable(f"untrusted code can't be run safely here, so it isn't run: {'; '.join(reasons)}")


@cache
def trouble(tier: str) -> str:
    """Why a tier can't be used on this machine, "" if it can; told once in a process, so it is tried twice."""
    jail = Jail(tier)
    try:
        verdict = _tried(jail)
    except JailDied as error:
        return str(error.__cause__ or error)
    finally:
        jail.stop()
    if not verdict.ok:
        return f"{tier}: {verdict.status}: {verdict.detail}"
    if verdict.values != ([],):
        return f"{tier}: the jail let code {verdict.values[0]}"
    return ""


def _tried(jail: Jail) -> Verdict:
    job = {"mode": "call", "source": PROBE, "entry": "escapes", "calls": [{"t": []}], "seed": 0}
    job |= {"limits": PATIENT.to_json()}
    try:
        reports = jail.ask(job)
    except JailDied:
        reports = jail.ask(job)
    return judge.calls(Report(**reports[0]), 1, PATIENT)

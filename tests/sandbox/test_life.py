"""Jails end when they should, with everything in them, whoever uses them and however their user ends."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from arena.sandbox import Limits, Sandbox, jail
from arena.sandbox.jail import Jail, JailDied

SQUARE = "def f(x): return x * x"
SPIN = "def f(x):\n    while True: pass"
SLEEP = "import time\ndef f(x): time.sleep(60)"
ROOT = Path(__file__).parents[2]


def processes() -> set[int]:
    """All processes of jails on this machine that descend from this one or lost their parent."""
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and b"sandbox/launch.py" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
    return found


def descendants(pid: int) -> set[int]:
    """The processes that come from one, by their numbers."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, size = {pid}, 0
    while len(found) > size:
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def zombies() -> list[int]:
    """Processes that have ended and that neither this one nor a zygote has collected."""
    found, parents = [], {os.getpid(), *processes()}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z" and int(parent) in parents:
                    found.append(int(entry.name))
    return found


def within(seconds, condition):
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def before():
    """The jails that others have, who may share this machine."""
    return processes()


@pytest.mark.slow
def test_a_time_out_ends_the_process_and_whatever_it_tried_to_leave(tier, before):
    """O-38: within two seconds there is a verdict, a second later not one process more than before the job."""
    code = """
import os, subprocess, sys, threading, time
def f(x):
    for start in (lambda: subprocess.Popen(["sleep", "60"]), os.fork, os.setsid,
                  lambda: threading.Thread(target=time.sleep, args=(60,)).start()):
        try: start()
        except OSError: pass
    while True: pass
"""
    with Sandbox(1, tier) as sandbox:
        assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
        warm = processes()
        begun = time.monotonic()
        assert sandbox.run(code, "f", [((1,), 1)], Limits(wall=1.0)).status == "timeout"
        assert time.monotonic() - begun < 2
        assert within(1, lambda: processes() <= warm)
    assert within(2, lambda: processes() <= before)


@pytest.mark.slow
def test_200_time_outs_leave_no_zombie_and_no_open_file(tier):
    """O-39: in one worker, whose zygote has to collect each of them."""
    with Sandbox(1, tier) as sandbox:
        assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
        running = processes()
        files = len(os.listdir("/proc/self/fd"))
        for _ in range(200):
            assert sandbox.run(SPIN, "f", [((1,), 1)], Limits(wall=0.005)).status == "timeout"
        assert len(os.listdir("/proc/self/fd")) == files
        assert within(1, lambda: not zombies())
        assert within(1, lambda: processes() <= running)
        # Descriptors of the zygote would be those that a fork of it holds.
        (opened,) = sandbox.call("import os\ndef f(): return os.dup(1)", "f", [()]).values
        assert opened == 5


@pytest.mark.slow
def test_5000_jobs_with_500_time_outs_leave_nothing(before):
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()

    def job(i: int) -> bool:
        if i % 10:
            return sandbox.run(SQUARE, "f", [((i,), i * i)]).ok
        return sandbox.run(SPIN, "f", [((1,), 1)], Limits(wall=0.05)).status == "timeout"

    with Sandbox(2) as sandbox, ThreadPoolExecutor(2) as pool:
        assert all(pool.map(job, range(5000)))
        assert within(1, lambda: len(processes() - before) <= 4)  # of each bwrap jail its keeper and its zygote
        assert within(1, lambda: not zombies())
    assert within(2, lambda: processes() <= before)
    assert len(os.listdir("/proc/self/fd")) == files
    assert threading.active_count() == threads


def test_a_zygote_is_replaced_after_its_jobs(tier, monkeypatch):
    monkeypatch.setattr(jail, "RECYCLED", 3)
    with Sandbox(1, tier) as sandbox:
        seen = []
        for i in range(7):
            assert sandbox.run(SQUARE, "f", [((i,), i * i)]).ok
            seen.append(sandbox._pool._jails[0]._running)
        assert within(1, lambda: not zombies())
    assert [seen.index(running) for running in seen] == [0, 0, 0, 3, 3, 3, 6]


def test_a_jail_that_died_is_started_again_and_its_job_tried_once_more(tier):
    with Sandbox(1, tier) as sandbox:
        assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
        first = sandbox._pool._jails[0]._running
        victim = first.first if first.first is not None else os.pidfd_open(first.process.pid)
        signal.pidfd_send_signal(victim, signal.SIGKILL)
        assert sandbox.run(SQUARE, "f", [((3,), 9)]).ok
        assert sandbox._pool._jails[0]._running is not first
        if victim != first.first:
            os.close(victim)


@pytest.mark.slow
def test_a_jail_that_dies_during_a_job_takes_its_leaf_with_it(tier, before):
    with Sandbox(1, tier) as sandbox:
        assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
        zygotes = (processes() - before) & descendants(os.getpid())  # nobody else's
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(sandbox.run, SLEEP, "f", [((1,), 1)], Limits(wall=1.0))
            assert within(2, lambda: len(processes() - before) > len(zygotes))
            for pid in zygotes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert within(2, lambda: not processes() & zygotes)
            assert asked.result().status == "timeout", "the job was tried again, in another jail"
    assert within(2, lambda: processes() <= before)


def test_a_jail_that_dies_twice_is_the_sandboxs_failure(any_sandbox, monkeypatch):
    """O-26: the job is tried twice, not more, and nobody is blamed."""
    tried = []

    def die(self, job):
        tried.append(job["source"])
        raise JailDied("gone")

    monkeypatch.setattr(Jail, "ask", die)
    verdict = any_sandbox.run(SQUARE, "f", [((1,), 1)])
    assert (verdict.status, verdict.score, verdict.detail) == ("infra", None, "gone")
    assert tried == [SQUARE, SQUARE]


def test_a_jail_that_does_not_answer_in_time_is_given_up(any_sandbox, monkeypatch, before):
    monkeypatch.setattr(jail, "SLACK", 0.3)
    monkeypatch.setattr(jail, "SETUP", 0.0)
    assert any_sandbox.run(SQUARE, "f", [((2,), 4)]).ok
    running = any_sandbox._pool._jails[0]._running
    signal.pidfd_send_signal(running.first or os.pidfd_open(running.process.pid), signal.SIGSTOP)
    assert any_sandbox.run(SQUARE, "f", [((3,), 9)], Limits(wall=0.2)).ok, "by another jail"


def test_an_interrupted_job_does_not_answer_the_next_one(any_sandbox):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    assert any_sandbox.run(SQUARE, "f", [((2,), 4)]).ok
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            any_sandbox.run("import time\ndef f(x): time.sleep(0.5); return 5", "f", [((1,), 5)])
    finally:
        signal.signal(signal.SIGALRM, old)
    assert any_sandbox.call(SQUARE, "f", [(3,)]).values == (9,)


def judged(sandbox: Sandbox) -> tuple[float | None, float | None]:
    """A right answer and one that never comes."""
    return (
        sandbox.run(SQUARE, "f", [((2,), 4)]).score,
        sandbox.run(SPIN, "f", [((1,), 1)], Limits(wall=0.2)).score,
    )


@pytest.mark.slow
def test_a_right_answer_is_right_from_wherever_it_is_judged(any_sandbox):
    """O-41: the main thread, threads, asyncio, forked and spawned processes; also where a time-out has to be kept."""
    assert judged(any_sandbox) == (1.0, 0.0)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(judged, [any_sandbox] * 6)) == [(1.0, 0.0)] * 6

    async def gathered():
        return await asyncio.gather(*[asyncio.to_thread(judged, any_sandbox) for _ in range(3)])

    assert asyncio.run(gathered()) == [(1.0, 0.0)] * 3
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            assert pool.submit(judged, any_sandbox).result(60) == (1.0, 0.0), method
    assert judged(any_sandbox) == (1.0, 0.0), "the children have left our jails alone"


@pytest.mark.slow
def test_a_right_answer_is_right_in_an_actor_of_ray(any_sandbox, monkeypatch):
    """O-41: an actor's methods don't run in the main thread of its process."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else a token is written to the user's home
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the actor can't import tests

    @ray.remote
    class Checker:
        def judged(self, sandbox):
            return judged(sandbox)

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        assert ray.get(Checker.remote().judged.remote(any_sandbox), timeout=120) == (1.0, 0.0)
    finally:
        ray.shutdown()
    assert judged(any_sandbox) == (1.0, 0.0)


def test_a_forked_child_uses_jails_of_its_own(any_sandbox):
    assert any_sandbox.run(SQUARE, "f", [((2,), 4)]).ok
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            verdict = any_sandbox.run(SQUARE, "f", [((3,), 9)])
            os.write(write, f"{verdict.status} {any_sandbox._pool._jails[0]._running.owner == os.getpid()}".encode())
            any_sandbox.close()
        finally:
            os._exit(0)
    os.close(write)
    assert os.waitpid(pid, 0)[1] == 0
    assert os.read(read, 99) == b"passed True"
    os.close(read)
    assert any_sandbox.run(SQUARE, "f", [((4,), 16)]).ok


@pytest.mark.parametrize("end", ["the end of its code", "an exception", "os._exit", "SIGTERM", "SIGKILL"])
def test_jails_end_with_the_process_that_made_them(end, tier, before):
    code = f"""
import os, sys, threading, time
from arena.sandbox import Limits, Sandbox
sandbox = Sandbox(1, {tier!r})
assert sandbox.run("def f(x): return x", "f", [((1,), 1)]).ok
job = ("import time\\ndef f(x): time.sleep(60)", "f", [((1,), 1)], Limits(wall=50))
threading.Thread(target=sandbox.run, args=job, daemon=True).start()
time.sleep(0.3)
print("ready", flush=True)
{ {"an exception": "raise SystemError", "os._exit": "os._exit(0)"}.get(end, "" if "end" in end else "time.sleep(60)") }
"""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as user:
        assert user.stdout.readline() == b"ready\n"
        if end.startswith("SIG"):
            user.send_signal(getattr(signal, end))
        user.wait(10)
    assert within(3, lambda: processes() <= before), "left over"


def test_a_sandbox_that_is_forgotten_takes_its_jails_with_it(tier, before):
    sandbox = Sandbox(1, tier)
    assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
    assert processes() - before
    del sandbox
    assert within(3, lambda: processes() <= before)


def test_a_jail_outlives_the_thread_that_started_it(tier):
    with Sandbox(1, tier) as sandbox:
        starter = threading.Thread(target=sandbox.run, args=(SQUARE, "f", [((2,), 4)]))
        starter.start()
        starter.join()
        running = sandbox._pool._jails[0]._running
        time.sleep(0.1)
        assert sandbox.run(SQUARE, "f", [((3,), 9)]).ok
        assert sandbox._pool._jails[0]._running is running

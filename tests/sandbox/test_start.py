"""A jail that doesn't start, or whose user dies meanwhile: a reason is given, nobody waits, and nothing is left."""

import contextlib
import dataclasses
import os
import resource
import secrets
import signal
import time
from pathlib import Path

import pytest

from arena.sandbox import Sandbox, SandboxUnavailable, jail, probe
from arena.sandbox.jail import Jail, JailDied
from arena.sandbox.tiers import start
from arena.sandbox.verdict import Limits

JOB = {"mode": "call", "source": "def f(): return 7", "entry": "f", "calls": [{"t": []}], "seed": 0}
JOB |= {"limits": Limits().to_json()}

STREAM = "import json, os, sys, time; stream = json.loads(sys.argv[1])['stream']"


def marked(marker: int) -> list[int]:
    """All processes that were started for jails whose clocks are off by `marker` seconds."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f'"shift": {marker}'.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def gone(marker: int) -> bool:
    """Whether none of them is left, three seconds from now at the latest."""
    end = time.monotonic() + 3
    while marked(marker):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def marker() -> int:
    return 10**9 + secrets.randbelow(10**9)


def replaced(monkeypatch, script: str) -> None:
    """Let all jails start a script in the place of their zygote; the settings stay where they can be seen."""

    def begin(tier, *rest):
        usual = start(tier, *rest)
        place = usual.command.index("-s")  # the first of Python's flags; before it, Python itself
        command = (*usual.command[:place], "-S", "-c", script, *usual.command[-1:])
        return dataclasses.replace(usual, command=command)

    monkeypatch.setattr(jail, "start", begin)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import time; time.sleep(60)", "timed out"),
        ("import sys, time; sys.stderr.write('first\\nno memory\\n'); time.sleep(60)", "no memory"),
        ("import sys; sys.exit('no such module')", "no such module"),
        ("import os; os.abort()", "the other side is gone"),
        (f"{STREAM}; os.write(stream, b'HTTP/1.1'); time.sleep(60)", "a frame of 1213486160 bytes"),
    ],
    ids=["sleeps", "complains and sleeps", "gives up", "aborts", "speaks nonsense"],
)
def test_a_jail_that_does_not_start_is_given_up_with_a_reason(script, reason, tier, marker, monkeypatch):
    monkeypatch.setattr(jail, "PATIENCE", 0.7)
    replaced(monkeypatch, script)
    begun = time.monotonic()
    with pytest.raises(JailDied, match=reason) as caught:
        Jail(tier, shift=marker).ask(JOB)
    assert isinstance(caught.value.__cause__, SandboxUnavailable)
    assert time.monotonic() - begun < 5
    assert gone(marker)


def test_nobody_waits_for_a_process_that_holds_the_complaints_open(marker, monkeypatch):
    monkeypatch.setattr(jail, "PATIENCE", 0.7)
    replaced(monkeypatch, "import os, time; os.fork() or os.setsid(); time.sleep(60)")
    begun = time.monotonic()
    with pytest.raises(JailDied, match="landlock: timed out"):
        Jail("landlock", shift=marker).ask(JOB)
    assert time.monotonic() - begun < 5
    for pid in marked(marker):  # such a one that a zygote never leaves
        os.kill(pid, signal.SIGKILL)


def test_one_failed_start_does_not_make_a_tier_unusable(tier, monkeypatch):
    """A busy machine may let a jail wait too long once, and what the probe says holds for the whole process."""
    asked = []

    class Hesitant(Jail):
        def ask(self, job):
            asked.append(job["mode"])
            if len(asked) == 1:
                raise JailDied("it took too long to start")
            return super().ask(job)

    monkeypatch.setattr(probe, "Jail", Hesitant)
    assert probe.trouble.__wrapped__(tier) == ""
    assert asked == ["call", "call"]


def test_a_tier_that_fails_twice_is_unusable_for_the_reason_that_it_gave(tier, monkeypatch):
    replaced(monkeypatch, "import sys; sys.exit('no such module')")
    assert probe.trouble.__wrapped__(tier) == f"{tier}: no such module"


def trainer(tier: str, marker: int, script: str) -> tuple[int, int]:
    """A fork of this process that uses a jail; and the pipe on which it says "<" before the start and ">" after it."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            os.close(told)
            made = Jail(tier, shift=marker)
            os.write(tell, b"<")
            made._start()
            os.write(tell, b">")
            made.ask(JOB | {"source": script, "limits": Limits(wall=50).to_json()})
        os._exit(1)
    os.close(tell)
    return pid, told


def test_a_trainer_with_thousands_of_open_files_hands_none_to_a_jail(tier):
    """Not even the one on which the trainer hears what jails say: who writes to it is believed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip(f"nobody may open more than {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    look = """
import os
def f():
    found = []
    for descriptor in range(5, 3000):
        try: os.fstat(descriptor)
        except OSError: continue
        found.append(descriptor)
    return found
"""
    try:
        with Sandbox(1, tier) as sandbox:
            verdict = sandbox.call(look, "f", [()])
            assert verdict.values == ([],), verdict
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_trainer_killed_while_a_jail_starts_leaves_nothing(tier, marker):
    """At moments from before the jail's first process to after its last one."""
    seen = set()
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.15):
        pid, told = trainer(tier, marker, "")
        assert os.read(told, 1) == b"<"
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        seen.add(len(marked(marker)) > 0)
        os.waitpid(pid, 0)
        os.close(told)
        assert gone(marker), f"left over when killed after {delay} s"
    assert True in seen, "the jail was never seen to start"


@pytest.mark.parametrize("end", ["dies", "gives up"])
def test_a_trainer_that_does_not_listen_to_bwrap_leaves_nothing(end, marker, monkeypatch):
    """The first process inside waits for bwrap before anything else, and isn't known to the trainer yet."""
    if why := probe.trouble("bwrap"):
        pytest.skip(why)

    def deaf(told):
        if end == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        raise EOFError

    monkeypatch.setattr(jail, "first_of", deaf)
    for _ in range(5):
        pid, told = trainer("bwrap", marker, "")
        os.waitpid(pid, 0)
        os.close(told)
        assert gone(marker)


@pytest.mark.parametrize(
    "script",
    [
        "import time\ndef f(): time.sleep(60)",
        "def f():\n    while True: pass",
        "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except OSError: pass\ndef f():\n    while True: pass",
        "import threading, time\n[threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(9)]\n"
        "def f(): time.sleep(60)",
    ],
    ids=["sleeps", "spins", "ignores signals", "has threads"],
)
def test_a_trainer_killed_while_a_job_runs_leaves_nothing(script, tier, marker):
    pid, told = trainer(tier, marker, script)
    assert [os.read(told, 1), os.read(told, 1)] == [b"<", b">"]
    zygotes = {"bwrap": 3, "landlock": 2}[tier]  # processes of a jail at work, without the leaf
    end = time.monotonic() + 5
    try:
        while len(marked(marker)) <= zygotes:
            assert time.monotonic() < end, "no leaf was seen"
            time.sleep(0.005)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(told)
    assert gone(marker)

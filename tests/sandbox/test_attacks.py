"""Everything that untrusted code might try, in every tier: nothing gets out, no forged verdict is believed."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from brief import FAIR, SHORT, limits

from arena.sandbox import Raised, Sandbox

# An attempt that ends by one of these hasn't been refused: it is written wrongly.
BLUNT = {"NameError", "SyntaxError", "AttributeError", "TypeError", "UnboundLocalError", "ImportError", "KeyError"}
SECRET = 987_654_321
BAIT = ("PORT", "ABSTRACT", "HOST_PID", "CHECKPOINT", "ZYGOTE_PID")
TOOLS = """
import ctypes, errno, fcntl, os, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
"""
SQUARE = "def test_two():\n    assert f(2) == 4\ndef test_three():\n    assert f(3) == 9\n"


def attempts(kind: str) -> dict[str, dict[str, Any]]:
    """The attempts of one kind, by name."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "attacks" / f"{kind}.yaml").read_text())
    return found


ESCAPES, LIMITS, ANSWERS, SUITES = map(attempts, ("escapes", "limits", "answers", "suites"))
PROGRAMS, TRACES, CHANCES = map(attempts, ("programs", "traces", "chances"))


class Host:
    """What an attack could reach outside: listeners, a checkpoint, a secret in the environment, this process itself."""

    def __init__(self, folder: Path) -> None:
        self.reached: list[str] = []
        self.checkpoint = folder / "checkpoint"
        self.checkpoint.write_text("WEIGHTS")
        self.checkpoint.chmod(0o666)
        self.abstract = f"bait-{secrets.token_hex(4)}"
        self.port, self.sockets = 0, [socket.socket(), socket.socket(socket.AF_UNIX)]
        self.sockets += [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)]
        self.sockets[0].bind(("127.0.0.1", 0))
        self.port = self.sockets[0].getsockname()[1]
        for bait, address in zip(self.sockets[1:3], (self.abstract, f"{self.abstract}-d"), strict=True):
            bait.bind(f"\0{address}")
        self.sockets[3].bind(("127.0.0.1", self.port))
        for name, bait in zip(("tcp", "abstract", "datagram", "udp"), self.sockets, strict=True):
            threading.Thread(target=self._listen, args=(name, bait), daemon=True).start()
        self.handlers = {
            number: signal.signal(number, lambda number, _: self.reached.append(signal.Signals(number).name))
            for number in (signal.SIGUSR1, signal.SIGIO)
        }

    def _listen(self, name: str, bait: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if bait.type == socket.SOCK_STREAM:
                bait.listen()
            while True:
                bait.accept() if bait.type == socket.SOCK_STREAM else bait.recv(1)
                self.reached.append(name)

    def close(self) -> None:
        for bait in self.sockets:
            bait.close()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def source(self, body: str, zygote: int) -> str:
        """An attempt as a function f that knows where everything is."""
        bait = dict.fromkeys(BAIT)
        bait |= {"PORT": self.port, "ABSTRACT": self.abstract, "HOST_PID": os.getpid(), "ZYGOTE_PID": zygote}
        bait |= {"CHECKPOINT": str(self.checkpoint)}
        names = "\n".join(f"{name} = {value!r}" for name, value in bait.items())
        return f"{TOOLS}\n{names}\ndef f():\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    folder.chmod(0o777)
    os.environ["SECRET_TOKEN"] = "hunter2"
    made = Host(folder)
    yield made
    made.close()
    del os.environ["SECRET_TOKEN"]


@pytest.fixture(scope="module")
def zygote(sandbox: Sandbox) -> object:
    """The process that is attacked; it must be the same one at the end."""
    assert sandbox.call("def f(): pass", "f", [()]).ok
    return sandbox._pool._jails[0]._running


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_gets_out(name, sandbox, zygote, host):
    verdict = sandbox.call(host.source(ESCAPES[name]["body"], zygote.process.pid), "f", [()], SHORT)
    assert verdict.status != "infra", verdict.detail
    if verdict.status in ("passed", "error"):
        (found,) = verdict.values
        assert not found or isinstance(found, Raised), f"got out: {found!r}"
        assert not (isinstance(found, Raised) and found.kind in BLUNT), f"a blunt attempt: {found}"
    else:
        assert verdict.status in ("crashed", "timeout"), verdict


@pytest.mark.parametrize("name", LIMITS)
def test_no_limit_is_passed(name, sandbox, zygote):
    source, right = LIMITS[name].values()
    verdict = sandbox.run(source, "f", [((1,), SECRET)], limits(right))
    assert verdict.status in right, verdict
    assert verdict.passed == 0
    assert len(verdict.stdout) <= SHORT.output


@pytest.mark.parametrize(
    "source",
    ["def f(x): return 1\0", "def f(x): return '\ud800'", "#" * (2**20 + 1), "x = " + "(" * 5000 + ")" * 5000],
    ids=["a zero byte", "half a character", "as long as a book", "nested"],
)
def test_a_source_that_is_no_python_is_the_codes_own_error(source, sandbox, zygote):
    verdict = sandbox.run(source, "f", [((1,), SECRET)], FAIR)
    assert verdict.status in ("error", "memory"), verdict
    assert verdict.score == 0.0


@pytest.mark.parametrize("name", ANSWERS)
def test_no_forged_answer_is_believed(name, sandbox, zygote):
    source, right = ANSWERS[name].values()
    verdict = sandbox.run(source, "f", [((1,), SECRET + 1)], limits(right))
    assert verdict.status in right, verdict
    assert (verdict.passed, verdict.score) == (0, 0.0)
    assert verdict.detail.isprintable()
    verdict.detail.encode()


@pytest.mark.parametrize("name", SUITES)
def test_no_test_passes_that_was_not_seen_to_pass(name, sandbox, zygote):
    attempt = SUITES[name]
    right = attempt["right"]
    verdict = sandbox.check(attempt["solution"], attempt.get("tests", SQUARE), limits(right))
    assert verdict.status in right, verdict
    assert verdict.passed < max(1, verdict.total)
    assert (verdict.score is None) == (verdict.status == "invalid_tests"), "only bad tests excuse a solution"


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_passes_without_its_output(name, sandbox, zygote):
    source, right = PROGRAMS[name].values()
    verdict = sandbox.stdio(source, [("1\n", "987654321")], limits(right))
    assert verdict.status in right, verdict
    assert verdict.passed == 0


@pytest.mark.parametrize("name", TRACES)
def test_a_job_leaves_nothing_to_the_next(name, sandbox, zygote):
    left, look, clean = TRACES[name].values()
    first = sandbox.call(f"{left}\ndef f(): return 1", "f", [()], FAIR)
    assert first.status in ("passed", "error"), first
    verdict = sandbox.run(f"def f(): return {look}", "f", [((), clean)], FAIR)
    assert verdict.ok, verdict


@pytest.mark.parametrize("name", CHANCES)
def test_what_depends_on_chance_is_seen(name, sandbox, zygote):
    source, agreed = CHANCES[name].values()
    verdict = sandbox.deterministic(source, "f", [()], FAIR)
    assert verdict.status == {True: "passed", False: "failed", None: "error"}[agreed], verdict


def test_the_host_has_noticed_nothing(sandbox, zygote, host):
    assert host.reached == []
    assert host.checkpoint.read_text() == "WEIGHTS"
    assert host.checkpoint.stat().st_mode & 0o777 == 0o666
    assert [path.name for path in host.checkpoint.parent.iterdir()] == ["checkpoint"]
    assert not Path("pwned").exists()
    assert sandbox._pool._jails[0]._running is zygote, "the zygote had to be started again"


def test_the_attempts_do_get_out_where_there_is_no_jail(tmp_path, monkeypatch):
    """Each in a fork of a plain process: what is refused above is refused by the jail, not by a slip of the pen."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    host = Host(tmp_path)
    sources = {name: host.source(one["body"], os.getpid()) for name, one in ESCAPES.items() if one.get("outside")}
    control = textwrap.dedent("""
        import json, os, signal, sys
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kept = []
        for name, source in json.load(sys.stdin).items():
            open(sys.argv[1], "w").write("WEIGHTS")
            pid = os.fork()
            if not pid:
                os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
                space = {}
                try:
                    exec(source, space)
                    os._exit(0 if space["f"]() else 1)
                except BaseException:
                    os._exit(2)
            if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
                kept.append(name)
        print(json.dumps(kept))
    """)
    run = subprocess.run(
        [sys.executable, "-c", control, str(host.checkpoint)], input=json.dumps(sources), capture_output=True, text=True
    )
    kept = json.loads(run.stdout.splitlines()[-1])
    assert kept == [], "these get nowhere even without a jail"
    assert {"tcp", "abstract", "datagram", "udp"} <= set(host.reached), "the bait is alive"
    host.close()

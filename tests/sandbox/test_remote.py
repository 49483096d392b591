"""Jails of another machine: the same verdicts as here, from nobody but the server that knows the token."""

import contextlib
import http.client
import inspect
import json
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import test_attacks
import test_sandbox
from served import ended, serving
from test_attacks import ANSWERS, CHANCES, ESCAPES, LIMITS, PROGRAMS, SUITES, TRACES, host
from test_life import SPIN, SQUARE, descendants, within

from arena import cli
from arena.sandbox import Limits, Sandbox, SandboxUnavailable, Server, probe, remote, service
from arena.sandbox.jail import JailDied
from arena.sandbox.pool import Pool
from arena.sandbox.remote import Remote
from arena.sandbox.seal import DIGEST, PATH, SEAL, TASK, digest, seal
from arena.sandbox.service import Service

TOKEN = "a token of the tests"
JOB = {"mode": "call", "source": "def f(): return 7", "entry": "f", "calls": [{"t": []}], "seed": 0}
JOB |= {"limits": Limits().to_json()}
FORM = {"seed": 0, "shift": 0, "job": JOB}
REPORT = {"mode": "call", "why": "", "ready": True, "status": 0, "answers": '={"load": null}\n={"value": 7}\n'}
REPORT |= {"out": "", "err": "", "cpu": 0.0, "wall": 0.0, "rss_kb": 1}
assert host  # a fixture

HONEST = [
    name
    for name, claim in vars(test_sandbox).items()
    if name.startswith("test_") and list(inspect.signature(claim).parameters) == ["sandbox"]
]
ATTACKS = [
    (claim, name)
    for claim, kind in (
        ("test_nothing_gets_out", ESCAPES),
        ("test_no_limit_is_passed", LIMITS),
        ("test_no_forged_answer_is_believed", ANSWERS),
        ("test_no_test_passes_that_was_not_seen_to_pass", SUITES),
        ("test_no_program_passes_without_its_output", PROGRAMS),
        ("test_a_job_leaves_nothing_to_the_next", TRACES),
        ("test_what_depends_on_chance_is_seen", CHANCES),
    )
    for name in list(kind)[::6]
]


# -- a server in a process of its own --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HONEST)
def test_a_server_gives_what_a_jail_gives(name, far):
    getattr(test_sandbox, name)(far)


@pytest.mark.parametrize(("claim", "name"), ATTACKS)
def test_an_attack_fails_there_too(claim, name, far, host):
    zygote = SimpleNamespace(process=SimpleNamespace(pid=os.getpid()))
    known = {"name": name, "sandbox": far, "zygote": zygote, "host": host}
    attack = getattr(test_attacks, claim)
    attack(**{part: known[part] for part in inspect.signature(attack).parameters})


def test_hash_seeds_and_clocks_are_those_of_the_jails_asked_for(far):
    for code in (
        "def f(): return hash('abc')",
        "import time\ndef f(): return time.localtime().tm_year",
        "import random\ndef f(): return random.random()",
    ):
        assert far.deterministic(code, "f", [()]).status == "failed"
        assert far.call(code, "f", [()]).values == far.call(code, "f", [()]).values


def test_a_server_that_dies_in_the_middle_of_a_job_is_never_a_reward():
    process, known = serving("--workers", "1")
    with ended(process), Sandbox(1, "remote", known) as sandbox, ThreadPoolExecutor(1) as pool:
        jailed = descendants(process.pid)
        asked = pool.submit(sandbox.run, SPIN, "f", [((1,), 1)], Limits(wall=30, cpu=30))
        assert within(5, lambda: len(descendants(process.pid)) > len(jailed))
        jailed = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        verdict = asked.result(10)
        assert (verdict.status, verdict.score) == ("infra", None)
        assert known.address in verdict.detail
        assert sandbox.run(SQUARE, "f", [((2,), 4)]).status == "infra", "it is still dead"
    assert within(3, lambda: not any(Path(f"/proc/{pid}").exists() for pid in jailed)), "its jails outlive it"


def test_a_server_that_is_started_again_is_found_again(tmp_path):
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    process, first = serving("--workers", "1", "--token", str(secret))
    known = Server(first.address, TOKEN)
    assert first.token == f"$(cat {secret})", "a token that is kept somewhere is not shown"
    with Sandbox(1, "remote", known) as sandbox:
        with ended(process):
            assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
            process.send_signal(signal.SIGKILL)
        port = known.address.rpartition(":")[2]
        process, _ = serving("--workers", "1", "--token", str(secret), port=port)
        with ended(process):
            assert sandbox.run(SQUARE, "f", [((2,), 4)]).ok
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130


# -- a server in this process ----------------------------------------------------------------------------------------


@pytest.fixture
def near() -> Iterator[Service]:
    """A server in this process."""
    with Service("127.0.0.1", 0, TOKEN, workers=1) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def post(server, body, *, token=TOKEN, task="1" * 32, path=PATH, hashed=None, method="POST", headers=()):
    """What a server answers: the status and the text."""
    hashed = hashed or digest(body)
    sent = {TASK: task, DIGEST: hashed, SEAL: seal(token, "task", task, hashed), "Content-Length": str(len(body))}
    with contextlib.closing(http.client.HTTPConnection(*server.server_address[:2], timeout=10)) as connection:
        connection.request(method, path, body, {**sent, **dict(headers)})
        response = connection.getresponse()
        return response.status, response.read().decode()


def changed(**parts: object) -> bytes:
    """The task with other parts in its job."""
    return json.dumps({**FORM, "job": {**JOB, **parts}}).encode()


GOOD = changed()


def test_a_signed_task_is_answered(near):
    status, text = post(near, GOOD)
    (leaf,) = json.loads(text)["leaves"]
    assert (status, leaf["answers"]) == (200, '={"load": null}\n={"value": 7}\n')


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        (401, {"token": "another token of the tests"}),
        (401, {"headers": {SEAL: ""}}),
        (401, {"headers": {SEAL: "\xff"}}),
        (401, {"headers": {TASK: "2" * 32}}),
        (401, {"headers": {DIGEST: digest(b"{}")}}),
        (401, {"headers": {SEAL: TOKEN, "Authorization": f"Bearer {TOKEN}"}}),
        (400, {"hashed": digest(GOOD + b" ")}),
        (404, {"path": "/"}),
        (404, {"path": "/../task"}),
        (501, {"method": "GET"}),
        (501, {"method": "PUT"}),
        (411, {"headers": {"Content-Length": "-1"}}),
        (411, {"headers": {"Content-Length": "1e3"}}),
        (413, {"headers": {"Content-Length": str(10**9)}}),
    ],
    ids=str,
)
def test_what_is_not_signed_with_the_token_or_no_task_is_refused(status, asked, near, monkeypatch):
    monkeypatch.setattr(near, "answer", lambda *_: pytest.fail("nothing may be run"))
    found, text = post(near, GOOD, **asked)
    assert found == status, text


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"7", b"[" * 100_000, b"\xff", json.dumps({**FORM, "expected": 7}).encode()),
        *(json.dumps({**FORM, name: value}).encode() for name, value in (("seed", 5), ("shift", "0"), ("job", []))),
        *(changed(mode=mode) for mode in ("server", "tests", "stdio", "", [], {})),
        *(changed(source=7), changed(calls="x"), changed(seed="0"), changed(expected=[7]), changed(id="x")),
        *(changed(limits=limits) for limits in (None, [], {"wall": 1e9}, {"mem": 1}, {"wall": "x"}, {"x": 1})),
        changed(limits={"wall": float("nan")}),
    ],
    ids=lambda body: body.decode(errors="replace")[:60],
)
def test_a_task_that_no_sandbox_sends_is_refused_whoever_signed_it(body, near, monkeypatch):
    monkeypatch.setattr(near, "answer", lambda *_: pytest.fail("nothing may be run"))
    status, text = post(near, body)
    assert (status, text.startswith("no task: ")) == (400, True), text


def test_a_task_too_big_is_not_sent_and_not_read(near, monkeypatch):
    monkeypatch.setattr(remote, "LONGEST", 100)
    with pytest.raises(JailDied, match=r"a task of [0-9]+ bytes, more than 100"):
        Remote(Server(near.address, TOKEN)).ask(JOB)
    monkeypatch.undo()
    monkeypatch.setattr(service, "LONGEST", 100)
    with pytest.raises(JailDied, match=r"refuses with 413: a task of [0-9]+ bytes, more than 100"):
        Remote(Server(near.address, TOKEN)).ask(JOB)


def test_a_server_whose_jails_are_all_at_work_says_so(near, monkeypatch):
    monkeypatch.setattr(service, "WAITS", 0.1)
    with ThreadPoolExecutor(1) as pool:
        slow = {**JOB, "source": "import time\ndef f(): time.sleep(1)"}
        first = pool.submit(Remote(Server(near.address, TOKEN)).ask, slow)
        assert within(2, lambda: not near._turns._value)
        with pytest.raises(JailDied, match=r"refuses with 503: no jail became free within 0\.1 s"):
            Remote(Server(near.address, TOKEN)).ask(JOB)
        assert first.result()[0]["status"] == 0


def test_a_jail_that_dies_there_is_infra_here(near, monkeypatch):
    def die(self, job):
        raise JailDied("no\x1b[2Jmemory")

    monkeypatch.setattr(service.Jail, "ask", die)
    with pytest.raises(JailDied, match=r"no\\x1b\[2Jmemory"):
        Remote(Server(near.address, TOKEN)).ask(JOB)
    assert near._turns._value == 1, "the next job has its turn"


def test_silent_connections_are_bounded_in_number_and_time(near, monkeypatch):
    monkeypatch.setattr(near, "_places", threading.BoundedSemaphore(2))
    monkeypatch.setattr(service.Handler, "timeout", 0.5)
    with contextlib.ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(socket.create_connection(near.server_address))
        assert within(2, lambda: not near._places._value)
        with pytest.raises((OSError, http.client.HTTPException)):
            post(near, GOOD)
        assert within(3, lambda: near._places._value == 2)
        assert post(near, GOOD)[0] == 200


def test_a_server_starts_only_where_a_fence_of_its_own_holds(monkeypatch, capsys):
    monkeypatch.setattr(probe, "trouble", lambda tier: f"{tier}: not here")
    monkeypatch.setenv(remote.ADDRESS, "http://127.0.0.1:9")
    monkeypatch.setenv(remote.TOKEN, TOKEN)
    with pytest.raises(SandboxUnavailable, match=r"it isn't run: bwrap: not here; landlock: not here$"):
        Service("127.0.0.1", 0, TOKEN)
    assert cli.main(["sandbox", "serve", "--port", "0"]) == 1
    assert "landlock: not here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--tier", "remote"], 2, "tier is 'remote': choose auto, bwrap, landlock"),
        (["--workers", "0"], 2, "workers is 0"),
        (["--token", "short"], 2, "a token of 5 characters could be guessed"),
        (["--token", "missing"], 1, "No such file or directory: missing"),
        (["--host", "192.0.2.1"], 1, "can't listen on 192.0.2.1 port 0"),
    ],
)
def test_a_server_that_cannot_be_says_why(options, status, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("12345")
    assert cli.main(["sandbox", "serve", "--port", "0", *options]) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_there_is_not_is_refused(port, capsys):
    assert cli.main(["sandbox", "serve", f"--port={port}"]) == 2
    assert f"port is {port}: use 1 to 65535" in capsys.readouterr().err


def test_only_this_machine_is_listened_to_unless_told_otherwise():
    assert inspect.signature(cli.fence.serve).parameters["host"].default == "127.0.0.1"


# -- something else in the place of the server -------------------------------------------------------------------------


Reply = Callable[[BaseHTTPRequestHandler, str], tuple[int, bytes, str]]


@contextlib.contextmanager
def impostor(reply: Reply) -> Iterator[tuple[Server, list[bytes]]]:
    """A server that answers each task with the (status, body, seal) that `reply` makes; and the bodies that it got."""
    heard: list[bytes] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(self.rfile.read(int(self.headers["Content-Length"])))
            status, body, signature = reply(self, self.headers[TASK])
            self.send_response(status)
            self.send_header(SEAL, signature)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{made.server_address[1]}", TOKEN), heard
        finally:
            made.shutdown()
            thread.join()


def signed(body: bytes, token: str = TOKEN, what: str = "answer", task: str = "") -> Reply:
    """A reply with a signature of some kind."""
    return lambda _, asked: (200, body, seal(token, what, task or asked, digest(body)))


def leaves(*reports: dict, **parts: object) -> bytes:
    return json.dumps({"leaves": [{**REPORT, **parts}, *reports]}).encode()


def test_a_signed_answer_is_believed(any_sandbox):
    """Otherwise the refusals below would say nothing."""
    with impostor(signed(leaves())) as (server, _):
        assert Remote(server).ask(JOB) == [REPORT]
        any_sandbox._pool = Pool(lambda: Remote(server), 1)
        assert any_sandbox.run("", "f", [((), 7)]).ok


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lambda _, asked: (200, leaves(), ""), "isn't signed"),
        (lambda _, asked: (200, leaves(), TOKEN), "isn't signed"),
        (signed(leaves(), token="another token of the tests"), "isn't signed"),
        (signed(leaves(), what="task"), "isn't signed"),
        (signed(leaves(), task="1" * 32), "isn't signed"),
        (lambda handler, _: (200, leaves(), handler.headers[SEAL]), "isn't signed"),
        (lambda _, asked: (200, leaves() + b" ", seal(TOKEN, "answer", asked, digest(leaves()))), "isn't signed"),
        (lambda _, asked: (302, leaves(), seal(TOKEN, "answer", asked, digest(leaves()))), "refuses with 302"),
        (lambda _, asked: (500, b"\x1b[2J", ""), r"refuses with 500: \\x1b\[2J"),
        (signed(b""), "Expecting value"),
        (signed(b"[" * 100_000), "RecursionError"),
        (signed(b"[]"), "no object"),
        (signed(b"{}"), "one report for each leaf"),
        (signed(b'{"leaves": []}'), "one report for each leaf"),
        (signed(b'{"leaves": [7]}'), "another kind"),
        (signed(leaves(REPORT)), "one report for each leaf"),
        (signed(leaves(mode="stdio")), "another kind"),
        (signed(leaves(more=1)), "another kind"),
        (signed(leaves(ready=1)), "ready is no bool"),
        (signed(leaves(status=True)), "status is no int"),
        (signed(leaves(answers=None)), "answers is no str"),
        (signed(leaves(cpu=float("nan"))), "cpu is no float"),
        (signed(leaves(wall=-1.0)), "wall is no float"),
        (signed(b'{"infra": {"a": "\\ud800"}}'), r"ud800"),
    ],
)
def test_an_answer_that_is_not_the_servers_is_nobodys_score(reply, why):
    with impostor(reply) as (server, _):
        with pytest.raises(JailDied, match=why) as caught:
            Remote(server).ask(JOB)
        str(caught.value).encode()
        with pytest.raises(SandboxUnavailable):
            Sandbox(1, "remote", server)


@pytest.mark.parametrize("slow", ["silent", "drop by drop"])
def test_a_server_that_takes_too_long_is_given_up(slow, monkeypatch):
    for name in ("SETUP", "SLACK", "PATIENCE", "WAITS"):
        monkeypatch.setattr(remote, name, 0.1)

    def late(handler, _):
        with contextlib.suppress(OSError):
            for _ in range(15):
                time.sleep(0.1)
                if slow != "silent":
                    handler.wfile.write(b"HTTP/1.1 200 OK\r\n"[:1])
                    handler.wfile.flush()
        return 200, b"", ""

    job = {**JOB, "limits": Limits(wall=0.1).to_json()}
    with impostor(late) as (server, _):
        begun = time.monotonic()
        with pytest.raises(JailDied):
            Remote(server).ask(job)
        assert time.monotonic() - begun < 1.4


def test_an_answer_without_an_end_is_cut(monkeypatch):
    monkeypatch.setattr(remote.frames, "LONGEST", 1000)
    with impostor(signed(b"x" * 2000)) as (server, _), pytest.raises(JailDied, match="more than 1000 bytes"):
        Remote(server).ask(JOB)


def test_expected_values_and_the_token_never_travel(any_sandbox):
    headers = []

    def note(handler, _):
        headers.append(str(handler.headers))
        return 500, b"", ""

    with impostor(note) as (server, bodies):
        any_sandbox._pool = Pool(lambda: Remote(server), 1)
        any_sandbox.run("def f(x): return x", "f", [((1,), 987_654_321)])
        any_sandbox.stdio("print(1)", [("in", "987654321")])
    assert [json.loads(body)["job"]["mode"] for body in bodies] == ["call", "call", "stdio", "stdio"]
    assert all(b"987654321" not in body and TOKEN.encode() not in body for body in bodies)
    assert not any(TOKEN in header for header in headers)


# -- which one is used -----------------------------------------------------------------------------------------------


def test_a_server_is_the_last_resort_and_has_to_be_named(near, monkeypatch):
    with Sandbox(1, server=Server(near.address, TOKEN)) as sandbox:
        assert sandbox.tier != "remote", "a fence of one's own comes first"
    monkeypatch.setattr(probe, "trouble", lambda tier: f"{tier}: not here")
    with pytest.raises(SandboxUnavailable, match=r"landlock: not here$"):
        Sandbox(1)
    with pytest.raises(SandboxUnavailable, match="remote: no server is named: set SCRIMMAGE_SANDBOX to its address"):
        Sandbox(1, "remote")
    monkeypatch.setenv("SCRIMMAGE_SANDBOX", near.address)
    with pytest.raises(SandboxUnavailable, match=r"remote: no token for http://127.*: set SCRIMMAGE_SANDBOX_TOKEN"):
        Sandbox(1)
    monkeypatch.setenv("SCRIMMAGE_SANDBOX_TOKEN", TOKEN)
    with Sandbox(1) as sandbox, pickle.loads(pickle.dumps(sandbox)) as copy:
        assert sandbox.tier == copy.tier == "remote"
        assert copy.run(SQUARE, "f", [((3,), 9)]).ok


def test_a_server_whose_jails_do_not_hold_is_refused():
    freed = '={"load": null}\n={"value": ["read /etc/hosts"]}\n'
    with (
        impostor(signed(leaves(answers=freed))) as (server, _),
        pytest.raises(SandboxUnavailable, match=r"remote: the jail let code \['read /etc/hosts'\]"),
    ):
        Sandbox(1, "remote", server)


@pytest.mark.parametrize(
    ("address", "token", "message"),
    [
        ("localhost:80", TOKEN, "'localhost:80': write it as http://host:port"),
        ("ftp://host:80", TOKEN, "write it as"),
        ("http://", TOKEN, "write it as"),
        ("http://host:80/task", TOKEN, "write it as"),
        ("http://me:secret@host:80", TOKEN, "write it as"),
        ("http://host:99999", TOKEN, "Port out of range"),
        ("http://host:80", "short", "could be guessed"),
    ],
)
def test_an_address_that_is_none_is_refused(address, token, message, monkeypatch):
    with pytest.raises(ValueError, match=message):
        Server(address, token)
    monkeypatch.setenv("SCRIMMAGE_SANDBOX", address)
    monkeypatch.setenv("SCRIMMAGE_SANDBOX_TOKEN", token)
    with pytest.raises(SandboxUnavailable, match=message):
        Sandbox(1, "remote")


def test_a_token_is_not_shown_with_its_server():
    assert TOKEN not in repr(Server("http://host:80", TOKEN))


@pytest.mark.parametrize(("token", "found"), [(TOKEN, "remote works"), (TOKEN + "x", "refuses with 401")])
def test_doctor_tells_of_the_server_that_is_named(token, found, near, monkeypatch, capsys):
    assert cli.main(["doctor"]) == 0
    assert "remote" not in capsys.readouterr().out
    monkeypatch.setenv("SCRIMMAGE_SANDBOX", near.address)
    monkeypatch.setenv("SCRIMMAGE_SANDBOX_TOKEN", token)
    assert cli.main(["doctor", "--json"]) == 0
    (line,) = [check for check in json.loads(capsys.readouterr().out) if check["what"] == "sandbox"]
    assert found in line["found"]
    assert os.environ["SCRIMMAGE_SANDBOX_TOKEN"] not in line["found"]

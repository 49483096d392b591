"""Jails for trainers on other machines: signed jobs come in by HTTP, signed reports go out; nothing is judged here."""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from arena.sandbox.jail import Jail, JailDied
from arena.sandbox.probe import choose_local
from arena.sandbox.remote import WAITS
from arena.sandbox.sandbox import KINDS
from arena.sandbox.seal import DIGEST, LONGEST, PATH, SEAL, TASK, checked, digest, seal, sealed
from arena.sandbox.verdict import Limits

READING = 20.0  # seconds that a client may be silent
UNHEARD = 1 << 20  # bytes of a refused task that are still taken from the line
CONNECTIONS = 128  # at once; more are closed unheard
# What each kind of job consists of, besides what all have.
PARTS: Mapping[str, Mapping[str, type]] = {
    "call": {"entry": str, "calls": list},
    "check": {"tests": str},
    "stdio": {"stdin": str},
}
COMMON: Mapping[str, type] = {"mode": str, "source": str, "seed": int, "limits": dict}


class Service(ThreadingTCPServer):
    """At most `workers` jobs at once, in jails of a tier of this machine; raises SandboxUnavailable if none works.

    `address` tells where it listens; `serve_forever` serves. Also raises ValueError and OSError.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, host: str, port: int, token: str, workers: int = 2, tier: str = "auto") -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}: a server needs at least one")
        self.token = checked(token)
        self.tier = choose_local(tier)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._turns = threading.BoundedSemaphore(workers)
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        self._free: dict[tuple[int, int], queue.LifoQueue[Jail]] = {kind: queue.LifoQueue() for kind in KINDS}
        self._jails = [(kind, Jail(self.tier, *kind)) for kind in KINDS for _ in range(workers)]
        for kind, jail in self._jails:
            self._free[kind].put(jail)
        super().__init__((host, port), Handler)

    @property
    def address(self) -> str:
        """Its address, as a Server takes it."""
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}" if self.address_family == socket.AF_INET6 else f"http://{host!s}:{port}"

    def answer(self, kind: tuple[int, int], job: Mapping[str, Any]) -> dict[str, Any]:
        """What a jail of the kind makes of the job; raises queue.Empty where none became free in time."""
        if not self._turns.acquire(timeout=WAITS):
            raise queue.Empty
        try:
            jail = self._free[kind].get_nowait()
            try:
                return {"leaves": jail.ask(job)}
            except JailDied as error:
                return {"infra": str(error)}
            finally:
                self._free[kind].put(jail)
        finally:
            self._turns.release()

    def server_close(self) -> None:
        """Stop listening, and end all jails."""
        super().server_close()
        for _, jail in self._jails:
            jail.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left or fell silent is no event; anything else is a fault of this server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection, which is one job."""

    server: Service
    timeout = READING
    server_version, sys_version = "scrimmage", ""
    wbufsize = -1  # an answer leaves in one piece

    def do_POST(self) -> None:
        task, hashed = self.headers.get(TASK, ""), self.headers.get(DIGEST, "")
        length = self.headers.get("Content-Length", "")
        if self.path != PATH:
            return self._refuse(404, f"there is nothing but {PATH}")
        if not sealed(self.headers.get(SEAL), self.server.token, "task", task, hashed):
            return self._refuse(401, "the task isn't signed with this server's token")
        if not (length.isascii() and length.isdigit()) or len(length) > 12:
            return self._refuse(411, "the length of the task is missing")
        if int(length) > LONGEST:
            return self._refuse(413, f"a task of {length} bytes, more than {LONGEST}")
        body = self.rfile.read(int(length))
        if digest(body) != hashed:
            return self._refuse(400, "the task isn't the one that was signed")
        try:
            kind, job = read(body)
        except (ValueError, TypeError, RecursionError) as error:
            return self._refuse(400, f"no task: {error}")
        try:
            answer = json.dumps(self.server.answer(kind, job)).encode()
        except queue.Empty:
            return self._refuse(503, f"no jail became free within {WAITS:g} s")
        self._send(200, answer, seal(self.server.token, "answer", task, digest(answer)))

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, why.encode(errors="replace")[:1000])
        # Closing a connection on which something still comes would take the answer back.
        left = UNHEARD
        while left > 0 and (part := self.rfile.read1(left)):
            left -= len(part)

    def _send(self, status: int, body: bytes, seal: str = "") -> None:
        self.send_response(status)
        for name, value in ((SEAL, seal), ("Content-Length", str(len(body))), ("Connection", "close")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what clients send isn't shown."""


def read(body: bytes) -> tuple[tuple[int, int], dict[str, Any]]:
    """The kind of jail and the job in a task; raises ValueError and TypeError for what no Sandbox sends."""
    form = json.loads(body)
    if type(form) is not dict or form.keys() != {"seed", "shift", "job"} or type(form["job"]) is not dict:
        raise ValueError("it consists of seed, shift and job")
    kind, job = (form["seed"], form["shift"]), form["job"]
    if kind not in KINDS:
        raise ValueError(f"there is no jail of seed and shift {kind}: the versions of server and client differ")
    wanted = {**COMMON, **PARTS.get(str(job.get("mode")), {})}
    if job.keys() != wanted.keys() or any(type(job[name]) is not part for name, part in wanted.items()):
        raise ValueError(f"a job consists of {', '.join(wanted)}")
    Limits(**job["limits"])
    return kind, job

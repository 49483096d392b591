"""A jail on another machine, as the trainer sees it: the same jobs go there, the same reports come back."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from arena.sandbox import frames
from arena.sandbox.jail import PATIENCE, SLACK, JailDied
from arena.sandbox.report import Report, tidy
from arena.sandbox.seal import DIGEST, LONGEST, PATH, SEAL, TASK, checked, digest, seal, sealed
from arena.sandbox.zygote import SETUP

ADDRESS, TOKEN = "SCRIMMAGE_SANDBOX", "SCRIMMAGE_SANDBOX_TOKEN"  # variables of the environment
REACHED = 10.0  # seconds within which a server must take a connection
WAITS = 30.0  # seconds that a job may wait at the server for a free jail
FIELDS = get_type_hints(Report)


@dataclass(frozen=True)
class Server:
    """Where `scrimmage sandbox serve` runs, as http://host:port, and its token; raises ValueError."""

    address: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        plain = parts.path in ("", "/") and not parts.query and not parts.fragment and parts.username is None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or not plain:
            raise ValueError(f"the server's address is {self.address!r}: write it as http://host:port")
        checked(self.token)

    def connection(self) -> http.client.HTTPConnection:
        """A connection, not yet opened."""
        parts = urlsplit(self.address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=REACHED)


def named() -> Server:
    """The server that the environment names; raises ValueError with what is missing."""
    address, token = os.environ.get(ADDRESS, ""), os.environ.get(TOKEN, "")
    if not address:
        raise ValueError(f"no server is named: set {ADDRESS} to its address, such as http://host:8765")
    if not token:
        raise ValueError(f"no token for {address}: set {TOKEN} to the one that the server shows or reads")
    return Server(address, token)


class Remote:
    """Stands where a Jail stands; whatever goes wrong on the way is JailDied, never a report."""

    def __init__(self, server: Server, seed: int = 0, shift: int = 0) -> None:
        self.server, self.seed, self.shift = server, seed, shift

    def ask(self, job: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The reports of the job's leaves; raises JailDied."""
        try:
            answer = self._answer({"seed": self.seed, "shift": self.shift, "job": dict(job)})
            if "infra" not in answer:
                return _reports(answer.get("leaves"), str(job["mode"]))
            why = tidy(str(answer["infra"]))
        except ValueError as error:
            why = tidy(str(error))
        except (OSError, http.client.HTTPException, RecursionError) as error:
            why = f"{type(error).__name__}: {tidy(str(error))}"
        raise JailDied(f"remote: {self.server.address}: {why}")

    def stop(self) -> None:
        """Nothing: a server keeps its jails, and no connection outlives its job."""

    def _answer(self, form: Mapping[str, Any]) -> dict[str, Any]:
        """What the server says to a task; raises OSError, HTTPException and ValueError."""
        task, body = secrets.token_hex(16), json.dumps(form).encode()
        if len(body) > LONGEST:
            raise ValueError(f"a task of {len(body)} bytes, more than {LONGEST}")
        hashed = digest(body)
        headers = {TASK: task, DIGEST: hashed, SEAL: seal(self.server.token, "task", task, hashed)}
        seconds = form["job"]["limits"]["wall"] + SETUP + SLACK + PATIENCE + WAITS
        with _within(seconds, self.server.connection()) as connection:
            connection.request("POST", PATH, body, headers | {"Content-Type": "application/json"})
            response = connection.getresponse()
            told = response.read(frames.LONGEST + 1)
            if response.status != 200:
                raise ValueError(f"it refuses with {response.status}: {told[:300].decode(errors='replace')}")
            if len(told) > frames.LONGEST:
                raise ValueError(f"an answer of more than {frames.LONGEST} bytes")
            if not sealed(response.headers.get(SEAL), self.server.token, "answer", task, digest(told)):
                raise ValueError("the answer isn't signed with the token")
        answer = json.loads(told)
        if type(answer) is not dict:
            raise ValueError("the answer is no object")
        return answer


@contextlib.contextmanager
def _within(seconds: float, connection: http.client.HTTPConnection) -> Iterator[http.client.HTTPConnection]:
    """Open the connection, and cut it after so many seconds, however slowly something still comes."""
    try:
        connection.connect()
        opened = connection.sock
        opened.settimeout(seconds)
        timer = threading.Timer(seconds, _cut, [opened])
        timer.daemon = True
        timer.start()
        try:
            yield connection
        finally:
            timer.cancel()
    finally:
        connection.close()


def _cut(opened: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed meanwhile
        opened.shutdown(socket.SHUT_RDWR)


def _reports(forms: object, mode: str) -> list[dict[str, Any]]:
    """The reports, if they are what the leaves of this kind of job have; raises ValueError."""
    modes = ["server", "tests"] if mode == "check" else [mode]
    if type(forms) is not list or len(forms) != len(modes):
        raise ValueError("the answer has not one report for each leaf")
    for form, wanted in zip(forms, modes, strict=True):
        if type(form) is not dict or form.keys() != FIELDS.keys() or form["mode"] != wanted:
            raise ValueError("a report is of another kind of leaf")
        for name, kind in FIELDS.items():
            if type(form[name]) is not kind or (kind is float and not (math.isfinite(form[name]) and form[name] >= 0)):
                raise ValueError(f"a report's {name} is no {kind.__name__}")
    return forms

"""One JSON value after another over a stream socket, each behind its length in four bytes.

A job is a frame of what its zygote has to know, then one for each leaf, which the zygote passes on unread.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

LONGEST = 256 << 20  # bytes of a frame


def send(stream: socket.socket, value: Any) -> None:
    """Write one frame; raises OSError."""
    body = json.dumps(value).encode()
    stream.sendall(struct.pack(">I", len(body)) + body)


def split(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The frames of a job: a leaf isn't even in the memory of the other one's frame."""
    known = {name: job[name] for name in ("id", "mode", "limits", "seed", "stdin") if name in job}
    given = {name: job[name] for name in ("source", "entry", "calls") if name in job}
    return [known, given, {"source": job["tests"]}] if job["mode"] == "check" else [known, given]


def receive(stream: socket.socket) -> Any:
    """Read one frame; raises EOFError where the other side is gone, ValueError on nonsense, OSError on time-out."""
    return json.loads(unread(stream))


def unread(stream: socket.socket) -> bytes:
    """One frame as it came."""
    (length,) = struct.unpack(">I", _exactly(stream, 4))
    if length > LONGEST:
        raise ValueError(f"a frame of {length} bytes, more than {LONGEST}")
    return _exactly(stream, length)


def _exactly(stream: socket.socket, length: int) -> bytes:
    body = bytearray()
    while len(body) < length:
        if not (part := stream.recv(min(1 << 20, length - len(body)))):
            raise EOFError("the other side is gone")
        body += part
    return bytes(body)

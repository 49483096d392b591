"""One JSON value after another over a stream socket, each behind its length in four bytes."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

LONGEST = 256 << 20  # bytes of a frame


def send(stream: socket.socket, value: Any) -> None:
    """Write one frame; raises OSError."""
    body = json.dumps(value).encode()
    stream.sendall(struct.pack(">I", len(body)) + body)


def receive(stream: socket.socket) -> Any:
    """Read one frame; raises EOFError where the other side is gone, ValueError on nonsense, OSError on time-out."""
    (length,) = struct.unpack(">I", _exactly(stream, 4))
    if length > LONGEST:
        raise ValueError(f"a frame of {length} bytes, more than {LONGEST}")
    return json.loads(_exactly(stream, length))


def _exactly(stream: socket.socket, length: int) -> bytes:
    body = bytearray()
    while len(body) < length:
        if not (part := stream.recv(min(1 << 20, length - len(body)))):
            raise EOFError("the other side is gone")
        body += part
    return bytes(body)

"""What was said in a match, as the bytes that the store keeps of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import zstandard

from arena.types import Episode


def dumps(record: Any) -> str:
    return json.dumps(record, separators=(",", ":"))  # as ASCII: a model may say half of a surrogate pair


def pack(episodes: Sequence[Episode]) -> bytes:
    """Episodes as one zstd frame, whose checksum shows whether a byte of it was changed."""
    plain = dumps([episode.to_json() for episode in episodes]).encode()
    packed: bytes = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(plain)
    return packed


def unpack(body: bytes | None) -> tuple[Episode, ...]:
    """The episodes of a body. Raises ValueError if there is none, or it isn't what `pack` made."""
    if body is None:
        raise ValueError("its body is gone")
    try:
        return tuple(Episode.from_json(record) for record in json.loads(zstandard.decompress(body)))
    except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"its body can't be read: {error}") from error

"""Where random numbers come from: every one is named by what it is for."""

from __future__ import annotations

from hashlib import blake2b


def derive(*parts: int | str) -> int:
    """A 63-bit seed from its parts, such as (run seed, step, game, sample, seat, turn); the same on every machine."""
    return int.from_bytes(blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()) >> 1

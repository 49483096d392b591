"""What a trainer and a server of jails sign, so that neither believes anybody else: the token itself never travels."""

from __future__ import annotations

import hashlib
import hmac

SHORTEST = 16  # characters of a token
TASK, DIGEST, SEAL = "X-Task", "X-Digest", "X-Seal"  # headers: a new number, the hash of the body, the signature
PATH = "/task"
LONGEST = 64 << 20  # bytes of a task


def digest(body: bytes) -> str:
    """The hash of a body."""
    return hashlib.sha256(body).hexdigest()


def seal(token: str, what: str, task: str, hashed: str) -> str:
    """The signature of a body's hash as a "task" or as the "answer" to one, which is no answer to any other."""
    return hmac.new(token.encode(), "\n".join((what, task, hashed)).encode(), hashlib.sha256).hexdigest()


def sealed(found: str | None, token: str, what: str, task: str, hashed: str) -> bool:
    """Whether a signature is the right one."""
    return hmac.compare_digest((found or "").encode(), seal(token, what, task, hashed).encode())


def checked(token: str) -> str:
    """The token; raises ValueError where it could be guessed."""
    if len(token) < SHORTEST:
        raise ValueError(f"a token of {len(token)} characters could be guessed: take at least {SHORTEST}")
    return token

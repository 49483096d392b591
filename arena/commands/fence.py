"""Verbs about code that nobody has read: where it is run."""

from __future__ import annotations

import secrets
from pathlib import Path

from arena import terminal
from arena.commands import Failed, reach


def serve(
    *, host: str = "127.0.0.1", port: int = 8765, workers: int = 2, tier: str = "auto", token: Path | None = None
) -> None:
    """Run code for trainers on machines that have no fence of their own, until Ctrl-C.

    It starts only where a fence is seen to hold. Whoever knows the token may run code, in jails; judging stays with
    the trainer. What travels is signed with the token, but not encrypted.

    For example:

        scrimmage sandbox serve --port 8765 --workers 2

    Parameters
    ----------
    host
        The address to listen on; unless told otherwise only this machine can reach it.
    port
        The port to listen on; 0 for one that is free.
    workers
        How many jobs run at once.
    tier
        The fence: auto, bwrap or landlock.
    token
        A file with the token; without one, a token is made and shown.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port is {port}: use 1 to 65535, or 0 for one that is free")
    secret = _read(token) if token else secrets.token_urlsafe(32)
    try:
        service = reach("arena.sandbox.service:Service")(host, port, secret, workers, tier)
    except OSError as error:
        raise Failed(f"can't listen on {host} port {port}: {error.strerror or error}") from error
    with service:
        terminal.say(f"export SCRIMMAGE_SANDBOX={service.address}")
        terminal.say(f"export SCRIMMAGE_SANDBOX_TOKEN={f'$(cat {token})' if token else secret}")
        terminal.note(f"serving {workers} jobs at once behind {service.tier}; Ctrl-C ends it")
        service.serve_forever()


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text: write a token into it") from None

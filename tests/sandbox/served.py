"""A server of jails, as a user starts it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.sandbox import Server


def serving(*options: str, port: str = "0") -> tuple[subprocess.Popen[str], Server]:
    """A process that serves jails, and what a client has to know of it."""
    command = [sys.executable, "-c", "import sys; from arena.cli import main; sys.exit(main())", "sandbox", "serve"]
    process = subprocess.Popen(
        [*command, "--port", port, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    address, token = (process.stdout.readline().strip().partition("=")[2] for _ in range(2))
    return process, Server(address, token)


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """The process is gone afterwards, also where a test has failed."""
    with process:
        try:
            yield
        finally:
            process.kill()

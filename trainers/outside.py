"""An exported agent as a stranger would run it: by plain transformers, in a process that can't import any of ours."""

from __future__ import annotations

import json
import sys
import tempfile
from asyncio import StreamReader, StreamWriter, create_subprocess_exec
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from arena.cast import ROLE_FILE
from arena.context import Context
from roles import Reply, Role, load
from trainers.card import EXAMPLE

# Reads the arguments of `reply` as a line of JSON and answers with a line of JSON, by the program in the folder.
PROGRAM = f"""
import json, sys
sys.modules.update(dict.fromkeys(("arena", "games", "roles", "trainers")))  # to import one of them is now an error
sys.path.insert(0, sys.argv[1])
import torch
import {EXAMPLE.removesuffix(".py")} as agent
torch.manual_seed(int(sys.argv[2]))
for line in sys.stdin:
    print(json.dumps(agent.reply(*json.loads(line))), flush=True)
"""


class OutsideError(RuntimeError):
    """The process of an exported agent ended before it answered; the message is the last line that it said."""


@dataclass(frozen=True)
class OutsideAgent:
    """The agent at the other end of two pipes; `said` is what its process writes to stderr."""

    name: str
    role: Role
    asking: StreamWriter
    answers: StreamReader
    said: IO[bytes]

    async def act(self, context: Context) -> str:
        asked: list[list[str]] = [[message["content"] for message in context.messages]]
        if self.role.reply is Reply.legal:
            asked.append(list(context.legal))
        self.asking.write(json.dumps(asked).encode() + b"\n")
        answer = await self.answers.readline()
        if not answer:
            self.said.seek(0)
            lines = self.said.read().decode(errors="replace").split("\n")
            raise OutsideError(next((line for line in reversed(lines) if line.strip()), "it said nothing"))
        reply: str = json.loads(answer)
        context.stop = "legal" if self.role.reply is Reply.legal else ""  # as an agent of ours records it
        return reply


@asynccontextmanager
async def outside(export: Path, name: str, seed: int) -> AsyncIterator[OutsideAgent]:
    """The agent of an exported folder, alive within the block; `seed` fixes what it draws."""
    role = load(str(export / ROLE_FILE))
    with tempfile.TemporaryFile() as said:
        words = (sys.executable, "-P", "-c", PROGRAM, str(export.resolve()), str(seed))
        # In a session of its own, Ctrl-C at the terminal does not reach it: it ends with the block.
        process = await create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=said, start_new_session=True)
        try:
            yield OutsideAgent(name, role, cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout), said)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

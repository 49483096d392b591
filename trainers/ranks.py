"""Ranks: processes that train one policy together, each playing and back-propagating a share of every step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Item = TypeVar("Item")

PATIENCE = timedelta(minutes=30)  # of a rank for the slowest other one, before it takes that one for stuck
DEATH = 10.0  # seconds within which a process whose connection broke has surely ended
BEREFT = 75  # exit code of a rank that ends because another one did
HOST = "127.0.0.1"  # what ranks say to each other doesn't leave the machine


class RankLost(RuntimeError):
    """Another rank has ended, so that this one can't go on."""


@dataclass(frozen=True)
class Ranks:
    """`size` processes, of which this one is number `rank`; all of them must make the same calls in the same order.

    What is gathered or summed is the same on every rank, to the last bit. Raises RankLost where another rank is gone.
    """

    rank: int = 0
    size: int = 1
    group: Any = None  # torch's process group; None where there is one rank
    others: Mapping[int, Other] = field(default_factory=dict)  # on rank 0

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, which alone writes the run's folder."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """This rank's part; the parts of all ranks, one after another, are the whole."""
        return items[len(items) * self.rank // self.size : len(items) * (self.rank + 1) // self.size]

    def gather(self, value: Any) -> list[Any]:
        """What every rank has given, by rank: JSON, so nothing that arrives can run."""
        if self.group is None:
            return [value]
        text = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        lengths = [int(length) for length in self._collect(torch.tensor([len(text)]))]
        room = torch.zeros(max(lengths), dtype=torch.uint8)
        room[: len(text)] = text
        found = self._collect(room)
        return [json.loads(part[:length].numpy().tobytes()) for part, length in zip(found, lengths, strict=True)]

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Replace every tensor by its sum over all ranks; shapes and order must be the same on each."""
        if self.group is None:
            return
        for tensor in tensors:
            with self._named():
                self.group.allreduce([tensor]).wait()

    def _collect(self, tensor: Tensor) -> list[Tensor]:
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        with self._named():
            self.group.allgather([found], [tensor]).wait()
        return found

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Within it a broken connection is told by its cause, as far as this rank can know it."""
        try:
            yield
        except RuntimeError as error:
            raise RankLost(cause(self.others) or f"rank {self.rank} has lost the others: {error}") from error


ALONE = Ranks()


# -- starting them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """The process of another rank; its errors go to the file `said`."""

    process: subprocess.Popen[bytes]
    said: Path

    def fate(self) -> str:
        """How it ended."""
        code = self.process.returncode
        lines = self.said.read_text(errors="replace").splitlines()
        words = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        if code >= 0:
            return f"ended with exit code {code}: {words}"
        name = signal.Signals(-code).name
        return f"was ended by {name}{' (was memory short?)' if name == 'SIGKILL' else ''}: {words}"


@contextmanager
def started(size: int, program: str, *words: str) -> Iterator[Ranks]:
    """This process as rank 0 of `size`; each other one runs `program` (Python text) for the length of the block.

    `sys.argv` there is `words`, then what `joined` needs: the file to meet at, its rank, the size.
    """
    if size == 1:
        yield ALONE
        return
    with tempfile.TemporaryDirectory() as folder:
        place, others = Path(folder), dict[int, Other]()
        try:
            for rank in range(1, size):
                others[rank] = _spawn(place, program, (*words, str(place / "meeting"), str(rank), str(size)), rank)
            yield Ranks(0, size, _meet(place / "meeting", 0, size, others), others)
        finally:
            for other in others.values():  # nothing is lost: they write nothing
                other.process.kill()
                other.process.wait()


def _spawn(place: Path, program: str, words: Sequence[str], rank: int) -> Other:
    said = place / f"rank_{rank}"
    # Games and estimators of one's own are found there too.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    with said.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdin=subprocess.PIPE,  # closes when this process ends, in whatever way
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C reaches rank 0 alone, which tells the others after the step
        )
    return Other(process, said)


@contextmanager
def joined(meeting: str, rank: str, size: str) -> Iterator[Ranks]:
    """The ranks as seen from one that `started` has made; the process ends with rank 0, even in mid-step."""
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    code = 0
    try:
        yield Ranks(int(rank), int(size), _meet(Path(meeting), int(rank), int(size), {}))
    except BaseException as error:  # noqa: BLE001 - whatever it was, `os._exit` below would end it in silence
        traceback.print_exc()
        code = BEREFT if isinstance(error, RankLost) else 1
    sys.stderr.flush()
    os._exit(code)  # an interpreter that ends in order aborts on the threads of a broken group, and says that instead


def _end_with_the_first() -> None:
    os.read(0, 1)  # not by sys.stdin, whose lock would still be held where this process ends by itself
    os._exit(BEREFT)


def _meet(meeting: Path, rank: int, size: int, others: Mapping[int, Other]) -> Any:
    """Wait until every rank is there; the process group of all of them."""
    store = dist.FileStore(str(meeting), size)  # type: ignore[attr-defined]
    store.set(f"here {rank}", "")
    while not all(store.check([f"here {one}"]) for one in range(size)):
        if any(other.process.poll() is not None for other in others.values()):
            raise RankLost(cause(others))
        time.sleep(0.05)
    options = dist.ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    options._timeout = PATIENCE
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=HOST)]
    return dist.ProcessGroupGloo(store, rank, size, options)


def cause(others: Mapping[int, Other]) -> str:
    """Which rank ended first, and how; "" if none has. One that ended because another did is no cause."""
    until = time.monotonic() + DEATH
    while others and time.monotonic() < until:
        for rank, other in others.items():
            if other.process.poll() not in (None, BEREFT):
                return f"rank {rank} {other.fate()}; the same command goes on from the newest checkpoint"
        time.sleep(0.05)
    return ""

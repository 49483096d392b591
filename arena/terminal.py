"""What people see: results on stdout, progress on stderr, and model text that can't touch the terminal."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

# Markup would delete the text "[bet]", and emoji codes and highlighting would change what a model said.
out = Console(markup=False, highlight=False, emoji=False)
err = Console(markup=False, highlight=False, emoji=False, stderr=True)
ANY_WIDTH = 100_000  # of a table that no terminal shows

SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x9c|\x1b\\)"  # strings: titles, links, clipboard
    r"|\x1b[ -/]*[0-Z\\`-~]"  # the short ones
)
JOINERS = "\u200c\u200d"  # they shape words in several scripts, and move nothing


def clean(text: str) -> str:
    """`text` without anything that moves, colours, hides or reorders on a terminal; line ends become plain newlines."""
    text = SEQUENCE.sub("", re.sub("\r\n|[\x0b\x0c\x85\u2028\u2029]", "\n", text))
    return "".join(c for c in text if c in "\n\t" or c in JOINERS or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))


def one_line(text: str) -> str:
    """`text`, cleaned, on a single line."""
    return " ".join(clean(text).split())


def say(text: str = "") -> None:
    """A line of results, never wrapped or padded."""
    out.print(text, soft_wrap=True)


@contextmanager
def aside(whether: bool = True) -> Iterator[None]:
    """Within it results go to stderr, which leaves stdout to what a program is to read."""
    before = out.stderr
    out.stderr = whether or before
    try:
        yield
    finally:
        out.stderr = before


def note(text: str) -> None:
    """A line about what is going on, beside the results."""
    err.print(text, soft_wrap=True, style="dim")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Print a table; numbers stand right. Cells are cleaned.

    Prose is wrapped to the terminal, and only there. A column of single words, such as ids, stays whole: what can't be
    copied can't be asked for.
    """
    rows = [list(row) for row in rows]
    cells = [[one_line(f"{cell:.3f}" if isinstance(cell, float) else str(cell)) for cell in row] for row in rows]
    drawn = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        whole = all(" " not in row[i] for row in cells)
        drawn.add_column(column, justify="right" if numbers else "left", overflow="fold", no_wrap=whole)
    for row in cells:
        drawn.add_row(*row)
    room = out.options.update(width=ANY_WIDTH)
    if out.is_terminal:  # what is wider than it for its ids is left to its own wrapping, which loses nothing
        room = room.update(width=max(out.width, Measurement.get(out, room, drawn).minimum))
    out.print(Segments(out.render(drawn, room)), crop=False)


class _Bar(Progress):
    """A bar with a line of figures below it, which may be wider than what a bar leaves free."""

    figures = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.figures:
            yield Text(self.figures)


class Ticker:
    """Live progress of a long work: a bar on a terminal, else a line every `every` seconds and one at the end.

    Call it with the steps done and the figures to show: `tick(3, nash_conv=0.4)`.
    """

    def __init__(self, title: str, total: int, every: float = 10.0, clock: Callable[[], float] = time.monotonic):
        self.title, self.total, self.every, self.clock = title, total, every, clock
        self.begun = self.told = clock()
        self.first: int | None = None
        self.over = False
        self.bar: _Bar | None = None

    def __enter__(self) -> Ticker:
        if err.is_terminal:
            title = TextColumn("{task.description}", markup=False)
            self.bar = _Bar(title, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=err)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        return self

    def __call__(self, done: int, figures: Mapping[str, float | str] | None = None, **more: float | str) -> None:
        shown = "  ".join(f"{name} {_short(value)}" for name, value in {**(figures or {}), **more}.items())
        if self.bar is not None:
            self.bar.figures = shown
            self.bar.update(self.task, completed=done)
            return
        now = self.clock()
        if self.first is None:
            self.first = done
        over, before = done >= self.total, self.over  # beyond the end it is not told line by line
        if (over and not before) or done == self.first or now - self.told >= self.every:
            self.told, self.over = now, over
            parts = (f"{self.title} {done}/{self.total}", shown, self._left(done, now))
            note("  ".join(part for part in parts if part))

    def _left(self, done: int, now: float) -> str:
        ahead, behind = self.total - done, done - (self.first or 0)
        return f"{(now - self.begun) / behind * ahead:.0f} s left" if ahead > 0 and behind > 0 else ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def fail(text: str) -> None:
    """An error as one line on stderr."""
    err.print(f"error: {one_line(text)}", soft_wrap=True)

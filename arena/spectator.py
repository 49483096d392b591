"""Who looks on while a tournament is played: a table that lives on a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from arena import terminal
from arena.ratings import Ratings, ordered
from arena.scoreboard import records
from arena.types import Match

SHOWN = 16  # entrants; a table that is higher than the terminal can't be redrawn


class Spectator:
    """Hears every match as it ends: `spectator(match, done)`. `before` are the matches that were played earlier.

    A match that broke off and is tried again takes its own place. `draws` are as for `Ratings`.
    """

    def __init__(
        self,
        title: str,
        expected: int,
        entrants: Sequence[str],
        before: Iterable[Match] = (),
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        draws: Mapping[str, float] | None = None,
    ):
        self.title, self.expected, self.entrants, self.clock = title, expected, entrants, clock
        self.log = {match.id: match for match in before}
        self.ratings = Ratings.rebuild(self.log.values(), entrants, draws)
        self.begun, self.done, self.fresh = clock(), 0, 0
        self.console = console or terminal.err
        self.live: Live | None = None
        self.ticker = terminal.Ticker(title, expected, clock=clock)

    def __enter__(self) -> Spectator:
        if self.console.is_terminal:
            self.live = Live(get_renderable=self.picture, console=self.console, refresh_per_second=4)
            self.live.start()
        return self

    def __call__(self, match: Match, done: int) -> None:
        self.log[match.id] = match
        self.ratings.add(match)
        self.done, self.fresh = done, self.fresh + 1
        if self.live is None:
            broken = {ending: str(n) for ending, n in self._endings().items() if ending != "over"}
            self.ticker(done, {"first": terminal.one_line(self._best()[0]), **broken})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def picture(self) -> RenderableType:
        """The table as it is now, and below it how far the tournament is."""
        table = Table(box=None, title=Text(terminal.one_line(self.title)), title_justify="left")
        for heading in ("agent", "low", "mu", "sigma", "won", "drawn", "lost", "broke"):
            table.add_column(heading, justify="left" if heading == "agent" else "right")
        broke = Counter(match.fault for match in self.log.values() if match.ending == "infra")
        record = records(self.log.values())
        for who in self._best()[:SHOWN]:
            rating = self.ratings.rating(who, self._pool())
            numbers = [f"{rating.low:.2f}", f"{rating.mu:.2f}", f"{rating.sigma:.2f}", *map(str, record[who])]
            table.add_row(*(Text(cell) for cell in (terminal.one_line(who), *numbers, str(broke[who] or ""))))
        hidden = len(self.entrants) - SHOWN
        lines = [Text(f"and {hidden} more")] if hidden > 0 else []
        return Group(table, *lines, Text(self._progress()))

    def _progress(self) -> str:
        spent, ahead = self.clock() - self.begun, self.expected - self.done
        parts = [f"{self.done}/{self.expected} matches"]
        parts += [f"{n} {ending}" for ending, n in self._endings().items() if ending != "over"]
        if self.fresh and spent > 0:
            parts.append(f"{self.fresh / spent:.1f}/s")
            if ahead > 0:
                parts.append(f"{spent / self.fresh * ahead:.0f} s left")
        return "  ".join(parts)

    def _endings(self) -> Counter[str]:
        return Counter(match.ending for match in self.log.values())

    def _pool(self) -> str:
        return next((match.pool for match in self.log.values()), "main")

    def _best(self) -> list[str]:
        rated = [self.ratings.rating(who, self._pool()) for who in self.entrants]
        return [rating.agent for rating in ordered(rated)]

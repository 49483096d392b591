"""Which task came of which: the lineage of a curriculum as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

import networkx as nx

from arena.curriculum import Curriculum, Entry
from arena.terminal import one_line

STEP_X, STEP_Y, RADIUS, MARGIN = 150, 26, 7, 40
WIDE = 48  # characters of a prompt that are shown
STYLE = (
    "text{font:11px sans-serif;fill:#333}path{fill:none;stroke:#bbb}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ccc}path{stroke:#555}}"
)


def generations(curriculum: Curriculum) -> dict[str, int]:
    """How many ancestors stand above each task, on the longest way up; 0 for a task without known parents."""
    found: dict[str, int] = {}
    for id in nx.topological_sort(curriculum.lineage):
        found[id] = max((found[parent] + 1 for parent in curriculum.lineage.predecessors(id)), default=0)
    return found


def lines(curriculum: Curriculum) -> Iterator[str]:
    """One line a task, children indented under their first parent."""
    lineage, entries = curriculum.lineage, curriculum.entries
    first = {id: next(iter(lineage.predecessors(id)), None) for id in lineage}
    waiting = [(id, 0) for id in reversed(list(lineage)) if first[id] is None]
    while waiting:
        id, depth = waiting.pop()
        yield f"{'  ' * depth}{told(entries[id])}"
        waiting += [(child, depth + 1) for child in reversed(list(lineage.successors(id))) if first[child] == id]


def told(entry: Entry) -> str:
    """A task in one line: its id, state, p, and the start of its prompt."""
    p = "p ?" if entry.p is None else f"p {entry.p:.2f}"
    state = f"{entry.state}: {entry.reason}" if entry.reason else entry.state
    return f"{entry.task.id}  {p}  {state}  {shortened(entry)}"


def shortened(entry: Entry) -> str:
    """The start of a task's prompt on one line."""
    text = one_line(entry.task.prompt)
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"


def svg(curriculum: Curriculum) -> str:
    """The lineage as an SVG picture, generations from left to right: red where nobody solves a task, green if all do.

    Grey is not known yet; a task that has retired is hollow. Prompts are escaped: they can't be anything but text.
    """
    depth = generations(curriculum)
    rows: dict[int, int] = {}
    place: dict[str, tuple[float, float]] = {}
    for id, generation in depth.items():
        place[id] = (MARGIN + generation * STEP_X, MARGIN + rows.setdefault(generation, 0) * STEP_Y)
        rows[generation] += 1
    width = 2 * MARGIN + (max(depth.values(), default=0) + 2) * STEP_X
    height = 2 * MARGIN + max(rows.values(), default=0) * STEP_Y
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><style>{STYLE}</style>']
    for parent, child in curriculum.lineage.edges:
        (x1, y1), (x2, y2) = place[parent], place[child]
        middle = (x1 + x2) / 2
        parts.append(f'<path d="M{x1:.0f} {y1:.0f}C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"/>')
    for id, (x, y) in place.items():
        entry = curriculum.entries[id]
        inside = "none" if entry.state == "retired" else colour(entry.p)
        parts.append(
            f'<g><title>{escape(told(entry))}</title><circle cx="{x:.0f}" cy="{y:.0f}" r="{RADIUS}" fill="{inside}" '
            f'stroke="{colour(entry.p)}"/><text x="{x + 2 * RADIUS:.0f}" y="{y + 4:.0f}">'
            f"{escape(shortened(entry)[:18])}</text></g>"
        )
    return "\n".join([*parts, "</svg>\n"])


def colour(p: float | None) -> str:
    """From red (never solved) over yellow to green (always); grey where nothing is known."""
    return "#999999" if p is None else f"hsl({120 * p:.0f} 65% 45%)"

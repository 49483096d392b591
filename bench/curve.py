"""The picture of bench/curriculum.py: held-out accuracy by step, and how hard problems were at first and at last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WIDE, HIGH, LEFT, TOP = 380, 220, 56, 36  # of each of the two plots, and the room before them
GAP = 70
STYLE = (
    "text{font:12px sans-serif;fill:#333}.axis{stroke:#999;fill:none}.seed{stroke:#8fb0d8;fill:none;stroke-width:1.5}"
    ".control{stroke:#c2611f;fill:none;stroke-width:2;stroke-dasharray:6 4}"
    ".mean{stroke:#1f5fa8;fill:none;stroke-width:3}.first{fill:#bbb}.last{fill:#1f5fa8}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ccc}.mean{stroke:#7fb2ec}.last{fill:#7fb2ec}"
    ".seed{stroke:#3f5f85}.first{fill:#666}}"
)


def svg(report: Mapping[str, Any]) -> str:
    """Both plots beside each other; every number is one of the report."""
    seeds = [found for found in report["results"] if found["proposer"] != "chance"]
    control = [found for found in report["results"] if found["proposer"] == "chance"]
    wide, high = LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
        "<title>Held-out accuracy by step, and the shares of solvers that were right</title>",
        f"<style>{STYLE}</style>",
        *accuracy(seeds, control),
        f'<g transform="translate({WIDE + GAP})">',
        *hardness(seeds),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def accuracy(seeds: Sequence[Mapping[str, Any]], control: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """A thin line a seed, a thick one for their mean and a broken one for that of the control, by step."""
    steps = [int(step) for step in seeds[0]["accuracy"]]
    curves = [list(found["accuracy"].values()) for found in seeds]
    thick = [("mean", curves), ("control", [list(found["accuracy"].values()) for found in control])]
    means = [(kind, [sum(each) / len(each) for each in zip(*some, strict=True)]) for kind, some in thick if some]

    def line(values: Sequence[float], kind: str) -> str:
        points = (
            f"{LEFT + WIDE * x / steps[-1]:.1f},{TOP + HIGH * (1 - y):.1f}" for x, y in zip(steps, values, strict=True)
        )
        return f'<polyline class="{kind}" points="{" ".join(points)}"/>'

    marks = [text(LEFT - 8, TOP + HIGH * (1 - y) + 4, f"{y:.0%}", "end") for y in (0, 0.25, 0.5, 0.75, 1)]
    marks += [text(LEFT + WIDE * step / steps[-1], TOP + HIGH + 18, str(step)) for step in steps]
    title = text(LEFT + WIDE / 2, TOP - 14, "held-out sums answered rightly (broken: problems by chance)")
    under = text(LEFT + WIDE / 2, TOP + HIGH + 38, "step")
    return [
        frame(),
        *marks,
        title,
        under,
        *(line(values, "seed") for values in curves),
        *(line(values, kind) for kind, values in means),
    ]


def hardness(seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many of the proposed problems so many solvers got right, in the first steps and in the last."""
    found = {key: summed([seed[key] for seed in seeds]) for key in ("p_first", "p_last")}
    bins = len(found["p_first"])
    top = max(max(shares) for shares in found.values())
    each = WIDE / bins
    parts = [frame()]
    for side, (key, shares) in enumerate(found.items()):
        for place, share in enumerate(shares):
            tall = HIGH * share / top
            x, y = LEFT + each * (place + 0.1 + 0.4 * side), TOP + HIGH - tall
            box = f'x="{x:.1f}" y="{y:.1f}" width="{0.4 * each:.1f}" height="{tall:.1f}"'
            parts.append(f'<rect class="{key[2:]}" {box}/>')
    parts += [text(LEFT + each * (i + 0.5), TOP + HIGH + 18, f"{i}/{bins - 1}") for i in range(bins)]
    parts += [text(LEFT - 8, TOP + HIGH * (1 - y) + 4, f"{y * top:.0%}", "end") for y in (0, 0.5, 1)]
    title = "proposed problems, first steps (grey) and last (blue)"
    parts += [text(LEFT + WIDE / 2, TOP - 14, title), text(LEFT + WIDE / 2, TOP + HIGH + 38, "solvers that were right")]
    return parts


def summed(counts: Sequence[Sequence[int]]) -> list[float]:
    """Shares of all the seeds' counts together."""
    total = [sum(column) for column in zip(*counts, strict=True)]
    return [count / max(1, sum(total)) for count in total]


def frame() -> str:
    return f'<path class="axis" d="M{LEFT} {TOP}V{TOP + HIGH}H{LEFT + WIDE}"/>'


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'

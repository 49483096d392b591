"""A million turns written to a store and asked for, beside a plain file of JSON lines.

    python bench/store.py --out bench/results/store.json

50,000 matches of 20 replies go in one by one, each safe when its call returns: the store commits, the plain file is
flushed. Then both are asked for the same things; the best of the repeats counts. "self-join" and "OFFSET" are the
same store asked in the usual way instead of by its kept pay-off and its keyset. A plain file has to be read from its
start for any answer. Text is random words, so it shrinks less than what models say.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine

from arena.store import Store
from arena.types import Episode, Match, Turn

TURNS = 20  # of a match
PAGE = 100
AGENTS = [f"agent_{i}" for i in range(12)]
TARGETS_MS = {"replay": 5.0, "pay-off": 50.0, "a page far back": 20.0}  # what a person who clicks doesn't notice

SELF_JOIN = """
    SELECT x.agent, y.agent, sum(x.score > y.score), sum(x.score = y.score), sum(x.score < y.score)
    FROM seat x JOIN seat y ON x.match_id = y.match_id AND x.team <> y.team GROUP BY 1, 2"""
OFFSET = "SELECT record FROM match ORDER BY id LIMIT ? OFFSET ?"


def log(matches: int, seed: int = 0) -> Iterator[tuple[Match, list[Episode]]]:
    """Random duels with random words; their texts are taken in turn from a few hundred episodes."""
    rng = random.Random(seed)
    words = [rng.randbytes(3).hex() for _ in range(2000)]
    texts = [_episode(rng, words) for _ in range(min(300, matches))]
    for i in range(matches):
        first, second = rng.sample(AGENTS, 2)
        score = rng.choice((1.0, 0.0, -1.0))
        episode = replace(texts[i % len(texts)], id=f"m{i:07}.0", agents={"first_0": first, "second_0": second})
        sides = (("first",), ("second",))
        yield (
            Match(f"m{i:07}", "duel", ((first,), (second,)), (score, -score), sides, episodes=(episode.id,)),
            [episode],
        )


def _episode(rng: random.Random, words: list[str]) -> Episode:
    def said(count: int) -> str:
        return " ".join(rng.choices(words, k=count))

    turns = tuple(
        Turn(("first_0", "second_0")[t % 2], t, said(12), said(20), "go", True, "", {}, (40 * t, 40 * t + 30), "stop")
        for t in range(TURNS)
    )
    return Episode("", "duel", 1, None, {}, {}, turns, {}, {"first_0": 1.0, "second_0": -1.0}, "over")


# -- the plain file ------------------------------------------------------------------------------------------------


def write_lines(path: Path, matches: int) -> None:
    with path.open("w") as file:
        for match, episodes in log(matches):
            record = {"match": match.to_json(), "episodes": [episode.to_json() for episode in episodes]}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            file.flush()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as file:
        yield from map(json.loads, file)


def replay_lines(path: Path, id: str) -> list[Episode]:
    for line in read_lines(path):
        if line["match"]["id"] == id:
            return [Episode.from_json(episode) for episode in line["episodes"]]
    raise KeyError(id)


def payoff_lines(path: Path) -> Counter[tuple[str, str, int]]:
    met: Counter[tuple[str, str, int]] = Counter()
    for line in read_lines(path):
        (a,), (b,) = line["match"]["teams"]
        x, y = line["match"]["scores"]
        met[a, b, (x > y) - (x < y)] += 1
        met[b, a, (y > x) - (y < x)] += 1
    return met


def page_lines(path: Path, after: int) -> list[Match]:
    lines = read_lines(path)
    return [Match.from_json(line["match"]) for i, line in enumerate(lines) if after < i <= after + PAGE]


# -- measuring -----------------------------------------------------------------------------------------------------


def best_ms(work: Callable[[], object], repeats: int) -> float:
    spent = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return 1000 * min(spent)


def written(contender: str, work: Callable[[], None], matches: int, *files: Path) -> dict[str, Any]:
    begun, ran = time.perf_counter(), time.process_time()
    work()
    seconds, ran = time.perf_counter() - begun, time.process_time() - ran
    return {
        "contender": contender,
        "turns": matches * TURNS,
        "seconds": seconds,
        "cpu_seconds": ran,
        "turns_per_cpu_second": round(matches * TURNS / ran),
        "mb": sum(file.stat().st_size for file in files) / 1e6,
    }


def measure(folder: Path, matches: int, repeats: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of writing, and of what was asked; answers of all contenders are seen to be the same."""
    base, lines = folder / "store.db", folder / "log.jsonl"

    def write_store() -> None:
        with Store(base) as store:
            for match, episodes in log(matches):
                store.add(match, episodes)

    wrote = [
        written("scrimmage", write_store, matches, base),
        written("JSON lines", lambda: write_lines(lines, matches), matches, lines),
    ]
    far = matches * 9 // 10
    last = f"m{far:07}"
    with Store.read(base) as store:
        asked: dict[str, dict[str, tuple[int, Callable[[], Any]]]] = {
            "replay": {
                "scrimmage": (20 * repeats, lambda: list(store.match(last)[1])),
                "JSON lines": (1, lambda: replay_lines(lines, last)),
            },
            "pay-off": {
                "scrimmage": (repeats, lambda: {pair: tuple(met) for pair, met in store.payoff().items()}),
                "self-join": (1, lambda: {(a, b): tuple(met) for a, b, *met in store._base.execute(SELF_JOIN)}),
                "JSON lines": (1, lambda: _tabled(payoff_lines(lines))),
            },
            "a page far back": {
                "scrimmage": (20 * repeats, lambda: store.matches(after=last, limit=PAGE)),
                "OFFSET": (
                    repeats,
                    lambda: [
                        Match.from_json(json.loads(record))
                        for (record,) in store._base.execute(OFFSET, (PAGE, far + 1)).fetchall()
                    ],
                ),
                "JSON lines": (1, lambda: page_lines(lines, far)),
            },
            "a page of one agent's victories": {
                "scrimmage": (20 * repeats, lambda: store.matches("agent=agent_3 score>0", last, PAGE)),
            },
        }
        rows = []
        for work, contenders in asked.items():
            answers = [ask() for _, ask in contenders.values()]
            if any(answer != answers[0] for answer in answers):
                raise RuntimeError(f"{work}: the answers differ")
            for contender, (times, ask) in contenders.items():
                rows.append({"work": work, "contender": contender, "ms": best_ms(ask, times)})
                rows[-1]["ours_is_faster"] = rows[-1]["ms"] / next(row["ms"] for row in rows if row["work"] == work)
    return wrote, rows


def _tabled(met: Counter[tuple[str, str, int]]) -> dict[tuple[str, str], tuple[int, ...]]:
    return {(a, b): tuple(met[a, b, result] for result in (1, 0, -1)) for a, b, _ in met}


def missed(report: dict[str, Any]) -> list[str]:
    """Which target was not reached; a quick run has none."""
    ours = {row["work"]: row["ms"] for row in report["results"] if row["contender"] == "scrimmage"}
    late = [
        f"{work}: {ours[work]:.1f} ms, wanted {limit:.0f}" for work, limit in TARGETS_MS.items() if ours[work] > limit
    ]
    return [] if report["quick"] else late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=50_000, help=f"of {TURNS} turns each")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args()
    if asked.quick:
        asked.matches, asked.repeats = 300, 1
    report = {"machine": machine.surroundings(), "quick": asked.quick, "threads": 1, "repeats": asked.repeats}
    report["versions"] = machine.versions("zstandard")
    with tempfile.TemporaryDirectory() as folder:
        report["written"], report["results"] = measure(Path(folder), asked.matches, asked.repeats)
    report["load_after"] = machine.load()
    for row in report["written"]:
        print(f"written: {row['contender']:12} {row['turns_per_cpu_second']:>9,} turns/CPU s  {row['mb']:8.1f} MB")
    for row in report["results"]:
        print(f"{row['work']:32} {row['contender']:12} {row['ms']:10.2f} ms  {row['ours_is_faster']:8.1f}x")
    return machine.concluded(report, asked.out, missed(report))


if __name__ == "__main__":
    sys.exit(main())

"""Write the tables of the docs from bench/results/*.json, so that no number is typed by hand.

python bench/table.py            writes the pages
python bench/table.py --check    only says, by its exit status, whether they are up to date
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from machine import RESULTS

PAGES = [
    RESULTS.parent.parent / "docs" / name for name in ("benchmarks.md", "curriculum.md", "proofs.md", "training.md")
]
SECTION = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.S)
SHARES = ("illegal games", "held-out sums")  # what is shown in per cent
NAMES = {"kuhn": "Kuhn poker", "tic_tac_toe": "tic-tac-toe", "sums": "proposer/solver"}
FACTS = ("vllm", "trl", "peft", "accelerate", "trueskill", "openskill")  # versions worth telling, besides torch's


def rollout(report: Mapping[str, Any]) -> str:
    """Games and tokens a second by work and contender."""
    rows = []
    for found in sorted(report["results"], key=lambda row: list(report["works"]).index(row["work"])):
        work = report["works"][found["work"]]
        games = f"{work['games']} {NAMES.get(found['work'], found['work'])}, {work['requests']} requests"
        rates = [f"{found['games_per_second']:.2f}", f"{found['tokens_per_second']:,.0f}"]
        rows.append([games, found["contender"], *rates, _times(found.get("ours_is_faster"))])
    head = ["work", "contender", "games/s", "tokens/s", "ours is faster"]
    missing = {name: cost["missing"] for name, cost in report["contenders"].items() if "missing" in cost}
    missing |= {name: cost["broken"] for name, cost in report["contenders"].items() if "broken" in cost}
    versions = {name: cost["versions"] for name, cost in report["contenders"].items() if "versions" in cost}
    return _table(head, rows) + _left_out(missing) + _where(report, versions)


def update(report: Mapping[str, Any]) -> str:
    """Seconds, memory and share of the matrix rate of a whole step, by training and contender."""
    rows = []
    for found in sorted(report["results"], key=lambda row: row["training"] != "full"):
        costs = [f"{found['seconds']:.1f}", f"{found['peak_gb']:.1f}", f"{100 * found['gemm_share']:.0f} %"]
        needs = f"{100 * found['ours_needs']:.0f} %" if "ours_needs" in found else ""
        rows.append([found["training"], found["contender"], *costs, _times(found.get("ours_is_faster")), needs])
    head = ["trained", "contender", "s/step", "peak GB", "of the matrix rate", "ours is faster", "ours needs"]
    versions = {row["contender"]: row["versions"] for row in report["results"]}
    return _table(head, rows) + _left_out(report["missing"] | report["broken"]) + _where(report, versions)


def arena(report: Mapping[str, Any]) -> str:
    """Moves a second of random play by game and contender."""
    rows = []
    for found in report["results"]:
        rates = [f"{found[key]:,}" if found[key] else "" for key in ("moves_per_second", "moves_per_cpu_second")]
        rows.append([NAMES.get(found["game"].removesuffix("_poker"), found["game"]), found["contender"], *rates])
    return _table(["game", "contender", "moves/s", "moves/CPU s"], rows) + _where(report, {})


def ratings(report: Mapping[str, Any]) -> str:
    """Rated matches a second by contender."""
    rows = []
    for found in report["results"]:
        rates = [f"{found['matches']:,}", f"{min(found['seconds']):.2f}", f"{found['matches_per_second']:,}"]
        rows.append([found["contender"], *rates, _times(found.get("ours_is_faster"))])
    head = ["contender", "matches", "CPU s", "matches/CPU s", "the closed form is faster"]
    return _table(head, rows) + _left_out(report["missing"]) + _where(report, {"ratings": report["versions"]})


def learning(report: Mapping[str, Any]) -> str:
    """What every training began with and came to: the end of each seed, and the mean of these ends."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for found in report["results"]:
        runs.setdefault(found["run"], []).append(found)
    rows = []
    for name, seeds in runs.items():
        for measure in (key for key, value in seeds[0].items() if isinstance(value, Mapping)):
            ends = [found[measure]["end"] for found in seeds]
            figures = [statistics.fmean(found[measure]["start"] for found in seeds), *ends, statistics.fmean(ends)]
            form = ".1%" if measure in SHARES else ".3f"
            rows.append([name, str(seeds[0]["steps"]), measure, *(format(figure, form) for figure in figures)])
    numbers = [f"end, seed {found['seed']}" for found in next(iter(runs.values()))]
    return _table(["run", "steps", "measure", "start", *numbers, "mean end"], rows) + _where(report, {})


def curriculum(report: Mapping[str, Any]) -> str:
    """Of each seed: what was learned, how hard the problems were at first and at last, and how many came again."""
    rows = []
    for found in report["results"]:
        start, *_, end = found["accuracy"].values()
        some = [f"{sum(counts[1:-1]) / max(1, sum(counts)):.0%}" for counts in (found["p_first"], found["p_last"])]
        learned = [
            *(found["proposer"], str(found["seed"]), str(found["steps"])),
            f"{found['seconds'] / 60:.1f} min",
            f"{start:.1%}",
            f"{end:.1%}",
        ]
        rows.append([*learned, " -> ".join(some), f"{max(found['duplicates']):.0%}", str(found["held_out_posed"])])
    measured = ["held-out sums, start", "end", "solved by some but not all, first and last third", "most duplicates"]
    head = ["proposer", "seed", "steps", "training", *measured, "held-out sums posed"]
    return _table(head, rows) + _where(report, {})


def store(report: Mapping[str, Any]) -> str:
    """What writing costs, then milliseconds by question and contender."""
    wrote = [
        [row["contender"], f"{row['turns']:,}", f"{row['turns_per_cpu_second']:,}", f"{row['mb']:.0f}"]
        for row in report["written"]
    ]
    rows = [
        [
            row["work"],
            row["contender"],
            f"{row['ms']:.2f}",
            _times(row["ours_is_faster"] if row["ours_is_faster"] != 1 else None),
        ]
        for row in report["results"]
    ]
    head = ["asked for", "contender", "ms", "ours is faster"]
    tables = _table(["written by", "turns", "turns/CPU s", "MB"], wrote) + "\n" + _table(head, rows)
    return tables + _where(report, {"store": report["versions"]})


def coverage(report: Mapping[str, Any]) -> str:
    """How often intervals held the truth, by the shape of the log."""
    rows = []
    for found in report["results"]:
        shape = [str(found["entrants"]), str(found["matches"]), f"{found['gap']:.0f}", f"{found['draws']:.0%}"]
        spotless = f"{found['held_of_never_lost']:.1%} of {found['never_lost']}" if found["never_lost"] else ""
        shares = [f"{found[key]:.1%}" for key in ("held", "too_high", "too_low", "held_of_best")]
        rows.append([*shape, str(found["dealt"]), *shares, spotless, f"{found['width']:.0f}", f"{found['ms']:.0f}"])
    head = [
        "entrants",
        "matches a pair",
        "Elo apart",
        "equals draw",
        "a deal",
        "held",
        "too high",
        "too low",
        "the best",
    ]
    return _table([*head, "never lost", "Elo wide", "CPU ms"], rows) + _where(report, {})


def sandbox(report: Mapping[str, Any]) -> str:
    """Verdicts a second by contender, and how long one takes."""
    rows = []
    for found in report["results"]:
        rate = f"{found['verdicts_per_second']:,.0f}"
        rows.append([found["contender"], f"{found['jobs']:,}", rate, _times(found.get("ours_is_faster"))])
    head = ["contender", "jobs", "verdicts/s", "faster than a plain process"]
    cold, trip = report["latency"]["cold_start_ms"], report["latency"]["round_trip_ms"]
    latency = f"\nTier {report['tier']}: a new jail answers after {cold:.0f} ms, a warm one after {trip:.1f} ms.\n"
    return _table(head, rows) + latency + _where(report, {"sandbox": report["versions"]})


def proofs(report: Mapping[str, Any]) -> str:
    """Proofs and statements in a second of a processor by checker, and what a start of Coq costs."""
    rows = [[found["checker"], found["work"], f"{found['per_second']:,.0f}"] for found in report["results"]]
    coq = report.get("coq")
    started = (
        f"\nCoq {coq['version']}: a new one has computed for {coq['start_ms']:.0f} ms at its first verdict.\n"
        if coq
        else ""
    )
    table = _table(["checker", "work", "a CPU second"], rows)
    return table + started + _left_out(report.get("missing", {})) + _where(report, {})


TABLES = {
    "rollout": rollout,
    "update": update,
    "arena": arena,
    "ratings": ratings,
    "learning": learning,
    "curriculum": curriculum,
    "coverage": coverage,
    "store": store,
    "sandbox": sandbox,
    "proofs": proofs,
}


def filled(page: str, results: Path) -> str:
    """The page with every table made anew; raises KeyError for a table that nothing is known of."""

    def section(found: re.Match[str]) -> str:
        name, path = found[2], results / f"{found[2]}.json"
        text = TABLES[name](json.loads(path.read_text())) if path.exists() else "Not measured yet.\n"
        return found[1] + text + found[3]

    return SECTION.sub(section, page)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _times(ratio: float | None) -> str:
    return f"{ratio:.1f}x" if ratio is not None else ""


def _left_out(missing: Mapping[str, str]) -> str:
    return "".join(f"\n{name} was left out: {why}\n" for name, why in missing.items())


def _where(report: Mapping[str, Any], contenders: Mapping[str, Mapping[str, str]]) -> str:
    """One line about the machine and the versions."""
    machine = report["machine"]
    words = [machine["processor"], f"{machine['cores']} cores", f"Python {machine['python']}"]
    if "threads" in report:
        words += [f"{report['threads']} threads", f"best of {report['repeats']}"]
    words.append(f"load {machine['load'][0]} before")
    known: dict[str, str] = {}
    for versions in contenders.values():
        known |= {name: f"{name} {version}" for name, version in versions.items() if name in (*FACTS, "torch")}
    quick = " A quick run: these numbers mean nothing." if report.get("quick") else ""
    return f"\n{'; '.join([*words, *sorted(known.values())])}.{quick}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the page is out of date")
    asked = parser.parse_args()
    wanted = {page: filled(page.read_text(), RESULTS) for page in PAGES}
    if asked.check:
        return int(any(page.read_text() != text for page, text in wanted.items()))
    for page, text in wanted.items():
        page.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

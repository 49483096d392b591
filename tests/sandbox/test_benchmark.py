"""The benchmark measures honest verdicts, and says when its target is missed."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import sandbox as bench
import table


def test_a_quick_run_has_a_row_for_every_way_and_a_table(tier):
    rows = bench.measure(tier, jobs=4, repeats=1)
    assert [row["contender"] for row in rows] == ["scrimmage, run", "scrimmage, check", "subprocess"]
    assert all(row["verdicts_per_second"] > 0 for row in rows)
    machine = {"processor": "x", "cores": 2, "python": "3", "load": [0]}
    report = {"results": rows, "latency": bench.latency(tier, 3), "tier": tier, "versions": {}, "machine": machine}
    assert f"Tier {tier}: a new jail answers after" in table.sandbox(report)


def test_a_job_that_does_not_pass_stops_the_measurement():
    with pytest.raises(RuntimeError, match="2 of 2 honest jobs did not pass"):
        bench.rate(lambda: False, 2)


def test_the_target_is_that_of_two_jails():
    report = {"quick": False, "results": [{"verdicts_per_second": 299.0}]}
    assert bench.missed(report) == ["299 verdicts/s with 2 jails, wanted 300"]
    assert bench.missed({**report, "quick": True}) == []
    assert bench.missed({"quick": False, "results": [{"verdicts_per_second": 300.0}]}) == []

"""The benchmark counts right verdicts only, and says so where Coq is missing."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import proofs as bench
import table

from arena.sandbox import SandboxUnavailable

MACHINE = {"processor": "abacus", "cores": 2, "python": "3", "load": [0.0]}


def test_without_coq_the_built_in_checker_is_measured_alone(monkeypatch):
    def missing():
        raise SandboxUnavailable("coqtop isn't installed")

    monkeypatch.setattr(bench, "Coq", missing)
    report = {"machine": MACHINE, **bench.measure(0.01, 1)}
    assert {row["checker"] for row in report["results"]} == {"mini"}
    assert all(row["per_second"] > 0 for row in report["results"])
    assert "Coq was left out: coqtop isn't installed" in table.proofs(report)


def test_a_wrong_verdict_stops_the_measurement():
    with pytest.raises(RuntimeError, match="'rejected', wanted 'proved'"):
        bench.rate(lambda: "rejected", "proved", 0.01)
    assert bench.rate(lambda: "proved", "proved", 0.01) > 0


@pytest.mark.slow
def test_every_work_of_coq_comes_out_as_it_has_to():
    try:
        with bench.Coq() as coq:
            rows = bench.rows(bench.coq_works(coq), 0.01, 1, coq)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    assert len(rows) == 4
    report = {"machine": MACHINE, "results": rows, "coq": {"version": bench.version(), "start_ms": bench.start(1)}}
    assert "ms at its first verdict" in table.proofs(report)

"""Proofs checked in a second of a processor, by the built-in checker and by Coq in its jail.

    python bench/proofs.py --out bench/results/proofs.json

Every row is the median over the repeats of one work: a proof that is accepted, one that is refused, a statement that is
judged. What counts is the time that this process and the one in the jail have computed, so that others on the machine
don't. Coq answers from a warm process, and "start" is what a new one has computed when it has checked its first proof.
Without coqtop or without bubblewrap its rows are missing, and the report has the reason.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine

from arena.sandbox import SandboxUnavailable
from games.proofs.coq import Coq
from games.proofs.mini import Mini
from games.proofs.theorems import THEORIES

NAT = {name: theorem.statement for name, theorem in THEORIES["nat"].items()}
COMM = "forall n m : nat, n + m = m + n"
INDUCTION = (
    "induction n as [|n IH]; intros m; simpl. - rewrite <- plus_n_O; reflexivity. - rewrite IH, plus_n_Sm; reflexivity."
)

Work = Callable[[], object]  # its result is compared with what it has to be


def mini_works() -> dict[str, tuple[Work, object]]:
    mini, proof = Mini(), THEORIES["nat"]["add_comm"].proof
    known = {name: NAT[name] for name in ("zero_add", "succ_add")}
    return {
        "a sum commutes, 6 lines": (lambda: mini.check(NAT["add_comm"], proof, known).status, "proved"),
        "the same, without its last line": (
            lambda: mini.check(NAT["add_comm"], proof.rpartition(";")[0], known).status,
            "incomplete",
        ),
        "a new statement is judged": (lambda: mini.judge(NAT["add_comm"], known, ()).gate, ""),
        "a false one": (lambda: mini.judge("forall a b: a * b = a + b", known, ()).gate, "refuted"),
    }


def coq_works(coq: Coq) -> dict[str, tuple[Work, object]]:
    return {
        "a sum commutes, by induction": (lambda: coq.check(COMM, INDUCTION, {}).status, "proved"),
        "the same, by `ring`": (lambda: coq.check(COMM, "intros. ring.", {}).status, "proved"),
        "the same, by `lia`": (lambda: coq.check(COMM, "intros. lia.", {}).status, "proved"),
        "a cheat": (lambda: coq.check("False", "exact I.", {}).status, "rejected"),
    }


def computed(coq: Coq | None) -> float:
    """Seconds that this process has computed so far, and Coq's in its jail."""
    running = coq and coq.dialogue._running
    if not running:
        return time.process_time()
    fields = Path(f"/proc/self/fdinfo/{running.first}").read_text().split()
    stat = Path(f"/proc/{fields[fields.index('Pid:') + 1]}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def rate(work: Work, wanted: object, seconds: float, coq: Coq | None = None) -> float:
    """Times a second; raises RuntimeError where it doesn't come out as it has to."""
    begun, done = computed(coq), 0
    while (spent := computed(coq) - begun) < seconds or not done:
        if (found := work()) != wanted:
            raise RuntimeError(f"{found!r}, wanted {wanted!r}")
        done += 1
    return done / max(spent, 1e-6)


def rows(works: dict[str, tuple[Work, object]], seconds: float, repeats: int, coq: Coq | None) -> list[dict[str, Any]]:
    """One for each work, after one go that isn't counted."""
    found = []
    for name, (work, wanted) in works.items():
        rate(work, wanted, 0.0)
        rates = [rate(work, wanted, seconds, coq) for _ in range(repeats)]
        found.append({"checker": "Coq" if coq else "mini", "work": name, "per_second": statistics.median(rates)})
    return found


def start(repeats: int) -> float:
    """Milliseconds that a new Coq has computed when it has checked its first proof."""
    spent = []
    for _ in range(repeats):
        begun = computed(None)
        with Coq() as coq:
            coq.check("True", "exact I.", {})
            spent.append(1000 * (computed(coq) - begun))
    return statistics.median(spent)


def version() -> str:
    """What the installed Coq calls itself."""
    told = subprocess.run(["coqtop", "--print-version"], capture_output=True, text=True, check=True).stdout
    return told.split()[0]


def measure(seconds: float, repeats: int) -> dict[str, Any]:
    """The rows of both checkers, and of Coq its version and its start, or why it is missing."""
    found: dict[str, Any] = {"results": rows(mini_works(), seconds, repeats, None)}
    try:
        with Coq() as coq:
            found["results"] += rows(coq_works(coq), seconds, repeats, coq)
        found["coq"] = {"version": version(), "start_ms": start(repeats)}
    except SandboxUnavailable as error:
        found["missing"] = {"Coq": str(error)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="computed for each work in each repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args()
    report = {"machine": machine.surroundings(), "repeats": asked.repeats, **measure(asked.seconds, asked.repeats)}
    report["load_after"] = machine.load()
    for found in report["results"]:
        print(f"{found['checker']:5} {found['work']:34} {found['per_second']:>8,.1f} a second")
    for name, why in report.get("missing", {}).items():
        print(f"{name} is missing: {why}")
    if asked.out:
        machine.write(report, asked.out)


if __name__ == "__main__":
    main()

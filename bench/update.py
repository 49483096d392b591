"""Seconds and memory of one whole training step, sampling and update, beside TRL's `GRPOTrainer`.

    python bench/update.py --peers trl --out bench/results/update.json

4 prompts of 200 tokens, 8 samples of exactly 32 tokens each, SmolLM2-135M-Instruct in float32, all weights trained or a
LoRA of rank 16, no KL, one optimizer step; the reward counts even token ids. Each contender runs in a process of its
own, one after another; its first step is not counted, the best of the others is. Memory is the most that the process
ever held, libraries and model included. The share of the machine's matrix rate counts what must be computed: every
distinct token once, nothing padded or repeated, for all contenders alike. `make bench-trl` makes the environment of
TRL; without it TRL is left out by name.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contender import OWN, Broken, Missing, ask, environment
from machine import RESULTS, concluded, surroundings

OURS, TRL = "scrimmage", "TRL"
WORK = {"prompts": 4, "prompt_tokens": 200, "samples": 8, "reply_tokens": 32}
QUICK = {"prompts": 2, "prompt_tokens": 24, "samples": 4, "reply_tokens": 4}
RANKS = {"full": 0, "LoRA r16": 16}
# How TRL can be told to do the same step: in how many passes, and with activations kept or computed again.
SETTINGS: dict[str, dict[str, Any]] = {
    TRL: {"passes": 1, "checkpointing": True},  # its defaults
    "TRL, activations kept": {"passes": 1, "checkpointing": False},
    "TRL, 4 passes": {"passes": 4, "checkpointing": True},
}
TARGETS = {"ours_is_faster": 5.0, "ours_needs": 0.5}  # beside TRL at its defaults, all weights trained


def measure(work: Mapping[str, int], asked: argparse.Namespace) -> dict[str, Any]:
    """Everything that the report says."""
    report: dict[str, Any] = {"machine": surroundings(), "model": asked.model, "quick": asked.quick, "work": work}
    report |= {
        "threads": asked.threads,
        "repeats": asked.repeats,
        "targets": TARGETS,
        "results": [],
        "missing": {},
        "broken": {},
    }
    question = {**work, "model": asked.model, "repeats": asked.repeats}
    needed: dict[str, dict[str, Any]] = {}
    for training, rank in RANKS.items():
        ours = ask(OWN, "step_ours.py", {**question, "rank": rank}, asked.threads)
        needed[training] = ours
        report["results"].append(row(training, OURS, ours, ours))
    if asked.peers == "none":
        return report
    try:
        python = environment("trl")
    except Missing as error:
        return {**report, "missing": {TRL: str(error)}}
    # With an adapter only TRL's defaults are asked, and `--brief` asks them for all weights alone.
    peers = [(training, name) for training, rank in RANKS.items() for name in SETTINGS if name == TRL or not rank]
    for training, name in peers[:1] if asked.brief else peers:
        setting, rank = SETTINGS[name], RANKS[training]
        print(f"{name}, {training} ...", file=sys.stderr, flush=True)
        told = {**question, **setting, "rank": rank, "folder": needed[training]["folder"]}
        try:
            answered = ask(python, "step_trl.py", told, asked.threads)
        except Broken as error:  # what the others took minutes to find isn't lost with it
            print(error, file=sys.stderr)
            report["broken"][f"{name}, {training}"] = str(error).splitlines()[0]
            continue
        if answered["prompts"] != needed[training]["prompts"]:
            raise RuntimeError(f"{name} had other prompts than ours: {answered['prompts']}")
        report["results"].append(row(training, name, answered, needed[training]))
    compare(report["results"])
    return report


def row(training: str, contender: str, answered: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """What one contender took for its best step; `ours` says which work was needed and how fast the machine is."""
    best = min(answered["steps"], key=lambda step: step["seconds"])
    needed = min(ours["steps"], key=lambda step: step["seconds"])
    found = {"training": training, "contender": contender, "seconds": round(best["seconds"], 3)}
    found |= {key: round(best[key], 3) for key in ("rollout_seconds", "update_seconds") if key in best}
    found |= {key: best[key] for key in ("reply_tokens", "distinct_tokens") if key in best}
    return found | {
        "peak_gb": answered["step_peak_gb"],
        "gemm_share": round(needed["flops"] / best["seconds"] / ours["gemm_rate"], 4),
        "gemm_gflops": round(ours["gemm_rate"] / 1e9, 1),
        "all_seconds": [round(step["seconds"], 3) for step in answered["steps"]],
        "versions": answered["versions"],
        "load": answered["load"],
    }


def compare(results: list[dict[str, Any]]) -> None:
    """Add to every peer's row how many times faster ours is, and which part of its memory ours needs."""
    ours = {row["training"]: row for row in results if row["contender"] == OURS}
    for row in results:
        if row["contender"] != OURS:
            own = ours[row["training"]]
            row["ours_is_faster"] = round(row["seconds"] / own["seconds"], 2)
            row["ours_needs"] = round(own["peak_gb"] / row["peak_gb"], 3)


def missed(report: Mapping[str, Any]) -> list[str]:
    """The targets that were not reached and the peers that broke, one line each; a quick run has no targets."""
    lines = [f"{name}: {why}" for name, why in report["broken"].items()]
    if report["quick"]:
        return lines
    for row in report["results"]:
        if row["contender"] == TRL and row["training"] == "full":
            if row["ours_is_faster"] < TARGETS["ours_is_faster"]:
                lines.append(f"{row['ours_is_faster']}x as fast as TRL, wanted {TARGETS['ours_is_faster']}x")
            if row["ours_needs"] > TARGETS["ours_needs"]:
                lines.append(f"{row['ours_needs']} of TRL's memory, wanted at most {TARGETS['ours_needs']}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", choices=("none", "trl"), default="trl")
    parser.add_argument("--model", default="smollm2-135m", help="a name or folder, as for `scrimmage play`")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="cores of each contender")
    parser.add_argument("--repeats", type=int, default=3, help="steps counted, after one that warms up")
    parser.add_argument("--brief", action="store_true", help="TRL at its defaults alone, all weights trained")
    parser.add_argument("--quick", action="store_true", help="few and short samples, one step: does it run at all?")
    parser.add_argument("--out", type=Path, help=f"where the JSON goes, such as {RESULTS.name}/update.json")
    asked = parser.parse_args()
    work = WORK
    if asked.quick:
        work, asked.repeats = QUICK, 1
    report = measure(work, asked)
    print(f"{'training':9} {'contender':22} {'seconds':>8} {'peak GB':>8} {'of GEMM':>8} {'ours':>7} {'memory':>7}")
    for row in report["results"]:
        ratios = f"{row['ours_is_faster']:6.1f}x {row['ours_needs']:7.2f}" if "ours_is_faster" in row else ""
        costs = f"{row['seconds']:8.2f} {row['peak_gb']:8.2f} {row['gemm_share']:8.1%}"
        print(f"{row['training']:9} {row['contender']:22} {costs} {ratios}")
    for peer, why in report["missing"].items():
        print(f"{peer} was left out: {why}")
    return concluded(report, asked.out, missed(report))


if __name__ == "__main__":
    sys.exit(main())

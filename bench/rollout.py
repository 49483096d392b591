"""Whole games a second by our engine, beside `transformers.generate` and vLLM on the same prompts.

    python bench/rollout.py --peers all --out bench/results/rollout.json

Three works are played by SmolLM2-135M-Instruct in float32 with the roles of the library, at temperature 1. Ours plays
the games: rules, roles, contexts, sampling with log-probabilities. Every request of it is written down, with its wave:
how many replies of the same game had to come first. A peer gets the requests of each wave at once, and only samples.
Each contender runs in a process of its own, one after another, and each repeat starts from empty caches; the best
repeat counts. `make bench-vllm` makes the environment of vLLM; without it that peer is left out by name.
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

OURS, TRANSFORMERS, VLLM = "scrimmage", "transformers.generate", "vLLM"
PEERS = {"none": (), "transformers": (TRANSFORMERS,), "vllm": (VLLM,), "all": (TRANSFORMERS, VLLM)}
WORKS: dict[str, dict[str, Any]] = {
    "kuhn": {
        "game": "kuhn_poker",
        "params": {},
        "seats": {"first": "kuhn", "second": "kuhn"},
        "games": 192,
        "target": {TRANSFORMERS: 5.0, VLLM: 1.0},
    },
    "tic_tac_toe": {
        "game": "tic_tac_toe",
        "params": {},
        "seats": {"x": "tic_tac_toe", "o": "tic_tac_toe"},
        "games": 64,
        "target": {TRANSFORMERS: 2.0, VLLM: 1.0},
    },
    "sums": {
        "game": "proposer_solver",
        "params": {"solvers": 8},
        "seats": {"proposer": "sums_proposer", "solver": "sums_solver"},
        "games": 32,
        "target": {TRANSFORMERS: 2.0, VLLM: 1.0},
    },
}
QUICK = 4  # games of each work


def measure(works: Mapping[str, Mapping[str, Any]], asked: argparse.Namespace) -> dict[str, Any]:
    """Everything that the report says of `works`."""
    report: dict[str, Any] = {"machine": surroundings(), "model": asked.model, "quick": asked.quick}
    report |= {"threads": asked.threads, "repeats": asked.repeats}
    ours = ask(OWN, "play.py", {"works": works, "model": asked.model, "repeats": asked.repeats}, asked.threads)
    waves = {name: played.pop("waves") for name, played in ours["works"].items()}
    report["works"] = {name: {**works[name], **_size(waves[name])} for name in works}
    report["contenders"] = {OURS: _cost(ours)}
    report["results"] = rows(report["works"], OURS, ours["works"])
    question = {"works": waves, "folder": ours["folder"], "repeats": asked.repeats}
    for peer in PEERS[asked.peers]:
        try:
            python, script = (
                (environment("vllm"), "replay_vllm.py") if peer == VLLM else (OWN, "replay_transformers.py")
            )
            print(f"{peer} ...", file=sys.stderr, flush=True)
            answered = ask(python, script, question, asked.threads)
        except Missing as error:
            report["contenders"][peer] = {"missing": str(error)}
            continue
        except Broken as error:  # what the others took minutes to find isn't lost with it
            print(error, file=sys.stderr)
            report["contenders"][peer] = {"broken": str(error).splitlines()[0]}
            continue
        report["contenders"][peer] = _cost(answered)
        report["results"] += rows(report["works"], peer, answered["works"])
    compare(report["results"])
    return report


def rows(works: Mapping[str, Any], contender: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rates of one contender, by work: of its best repeat."""
    return [
        {
            "work": name,
            "contender": contender,
            "games_per_second": round(works[name]["games"] / min(of["seconds"]), 3),
            "tokens_per_second": round((works[name]["prompt_tokens"] + of["sampled_tokens"]) / min(of["seconds"]), 1),
            **{key: value for key, value in of.items() if key != "seconds"},
            "seconds": [round(seconds, 3) for seconds in of["seconds"]],
        }
        for name, of in found.items()
    ]


def compare(results: list[dict[str, Any]]) -> None:
    """Add to every peer's row how many times faster ours plays the same games."""
    ours = {row["work"]: row["games_per_second"] for row in results if row["contender"] == OURS}
    for row in results:
        if row["contender"] != OURS:
            row["ours_is_faster"] = round(ours[row["work"]] / row["games_per_second"], 2)


def missed(report: Mapping[str, Any]) -> list[str]:
    """The targets that were not reached and the peers that broke, one line each; a quick run has no targets."""
    lines = [cost["broken"] for cost in report["contenders"].values() if "broken" in cost]
    if report["quick"]:
        return lines
    for row in report["results"]:
        wanted = report["works"][row["work"]]["target"].get(row["contender"], 0.0)
        if row.get("ours_is_faster", wanted) < wanted:
            lines.append(f"{row['work']}: {row['ours_is_faster']}x {row['contender']}, wanted {wanted}x")
    return lines


def _size(waves: list[list[dict[str, Any]]]) -> dict[str, int]:
    requests = [request for wave in waves for request in wave]
    prompt = sum(len(request["prompt"]) for request in requests)
    return {"waves": len(waves), "requests": len(requests), "prompt_tokens": prompt}


def _cost(answered: Mapping[str, Any]) -> dict[str, Any]:
    return {key: answered[key] for key in ("versions", "load", "process_seconds")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", choices=PEERS, default="all")
    parser.add_argument("--model", default="smollm2-135m", help="a name or folder, as for `scrimmage play`")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="cores of each contender")
    parser.add_argument("--repeats", type=int, default=3, help="of each work by each contender; the best counts")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} games of each work, once: does it run at all?")
    parser.add_argument("--out", type=Path, help=f"where the JSON goes, such as {RESULTS.name}/rollout.json")
    asked = parser.parse_args()
    works = WORKS
    if asked.quick:
        works, asked.repeats = {name: {**work, "games": QUICK} for name, work in WORKS.items()}, 1
    report = measure(works, asked)
    print(f"{'work':12} {'contender':22} {'games/s':>9} {'tokens/s':>9} {'ours':>7}")
    for row in report["results"]:
        ratio = f"{row['ours_is_faster']:.1f}x" if "ours_is_faster" in row else ""
        rates = f"{row['games_per_second']:9.2f} {row['tokens_per_second']:9,.0f}"
        print(f"{row['work']:12} {row['contender']:22} {rates} {ratio:>7}")
    for peer, cost in report["contenders"].items():
        if "missing" in cost:
            print(f"{peer} was left out: {cost['missing']}")
    return concluded(report, asked.out, missed(report))


if __name__ == "__main__":
    sys.exit(main())

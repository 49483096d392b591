"""A log of 1v1 matches rated from its start, beside the packages trueskill and openskill; and the standings after it.

    python bench/ratings.py --out bench/results/ratings.json

Everybody rates the same duels of 12 agents, a tenth of them drawn, on one core; seconds are those that the process ran,
and the best of the repeats counts. Ours is measured as it is used: each match is checked, counted once by its id, and
rated in two lists, that of all games and that of its game and roles, with the draw probability of the matches so far.
The row "closed form" is the same arithmetic in one list and without the rest, which is all that the peers do. A peer
that isn't installed is reported as absent: `pip install trueskill openskill`.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine

from arena.ratings import MU, SIGMA, TAU, Ratings, margin, rate_duel
from arena.standings import Standings
from arena.types import Match

TARGET_SECONDS = 10.0  # for a million matches in two lists
MILLION = 1_000_000
AGENTS = [f"agent_{i}" for i in range(12)]
DRAWS = 0.1

Duel = tuple[str, str, bool]  # best, other, drawn
Rate = Callable[[Sequence[Duel]], object]


def duels(count: int, seed: int = 0) -> list[Duel]:
    """Random duels; the agent of the smaller number wins two in three of those that aren't drawn."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        first, second = sorted(rng.sample(range(len(AGENTS)), 2))
        if rng.random() < 1 / 3:
            first, second = second, first
        found.append((AGENTS[first], AGENTS[second], rng.random() < DRAWS))
    return found


def log(games: Sequence[Duel]) -> list[Match]:
    """The duels as matches, the better one sitting first as often as second."""
    sides = (("first",), ("second",))
    matches = []
    for i, (best, other, drawn) in enumerate(games):
        teams, scores = ((best,), (other,)), (0.5, 0.5) if drawn else (1.0, 0.0)
        if i % 2:
            teams, scores = teams[::-1], scores[::-1]
        matches.append(Match(str(i), "duel", teams, scores, sides))
    return matches


def closed_form(games: Sequence[Duel]) -> dict[str, tuple[float, float]]:
    table = dict.fromkeys(AGENTS, (MU, SIGMA))
    limit, drift = margin(DRAWS), TAU * TAU
    for best, other, drawn in games:
        (mu, sigma), (nu, tau) = table[best], table[other]
        sigma, tau = (sigma * sigma + drift) ** 0.5, (tau * tau + drift) ** 0.5
        mu, sigma, nu, tau = rate_duel(mu, sigma, nu, tau, drawn, limit)
        table[best], table[other] = (mu, sigma), (nu, tau)
    return table


def trueskill() -> Rate:
    env = importlib.import_module("trueskill").TrueSkill(draw_probability=DRAWS)

    def rate(games: Sequence[Duel]) -> dict[str, Any]:
        table = {agent: env.create_rating() for agent in AGENTS}
        for best, other, drawn in games:
            (table[best],), (table[other],) = env.rate([(table[best],), (table[other],)], ranks=[0, 0 if drawn else 1])
        return table

    return rate


def openskill() -> Rate:
    model = importlib.import_module("openskill.models").PlackettLuce(tau=TAU)

    def rate(games: Sequence[Duel]) -> dict[str, Any]:
        table = {agent: model.rating() for agent in AGENTS}
        for best, other, drawn in games:
            ranks = [0, 0 if drawn else 1]
            (table[best],), (table[other],) = model.rate([[table[best]], [table[other]]], ranks=ranks)
        return table

    return rate


PEERS: dict[str, Callable[[], Rate]] = {"trueskill": trueskill, "openskill": openskill}


def seconds(work: Callable[[], object]) -> float:
    """The time that this process ran for it."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def row(contender: str, matches: int, spent: Sequence[float]) -> dict[str, Any]:
    rate = matches / min(spent)
    return {"contender": contender, "matches": matches, "seconds": list(spent), "matches_per_second": round(rate)}


def measure(matches: int, peers: int, repeats: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows of all contenders, and why a peer is not among them; they take turns."""
    games = duels(matches)
    whole = log(games)
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "scrimmage, two lists from the log": (matches, lambda: Ratings.rebuild(whole)),
        "scrimmage, closed form": (matches, lambda: closed_form(games)),
    }
    missing = {}
    for name, build in PEERS.items():
        try:
            rate = build()
        except ImportError:
            missing[name] = "absent"
        else:
            works[name] = (peers, lambda rate=rate: rate(games[:peers]))
    few = whole[: max(matches // 10, 2)]
    works["scrimmage, standings"] = (len(few), lambda: Standings.of(few))
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, (_, work) in works.items():
            spent[name].append(seconds(work))
    rows = [row(name, count, spent[name]) for name, (count, _) in works.items()]
    ours = rows[1]["matches_per_second"]
    for found in rows:
        if found["contender"] in PEERS:
            found["ours_is_faster"] = ours / found["matches_per_second"]
    return rows, missing


def missed(report: dict[str, Any]) -> list[str]:
    """Which target was not reached; a quick run has none."""
    rate = report["results"][0]["matches_per_second"]
    needed = MILLION / rate
    if report["quick"] or needed < TARGET_SECONDS:
        return []
    return [f"{needed:.1f} s for a million matches, wanted {TARGET_SECONDS:.0f} s"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=MILLION, help="of ours; its standings get a tenth of them")
    parser.add_argument("--peers", type=int, default=10_000, help="matches of each peer")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args()
    if asked.quick:
        asked.matches, asked.peers, asked.repeats = 2000, 200, 1
    report = {"machine": machine.surroundings(), "quick": asked.quick, "threads": 1, "repeats": asked.repeats}
    report["versions"] = machine.versions("numpy", "scipy", *PEERS)
    report["results"], report["missing"] = measure(asked.matches, asked.peers, asked.repeats)
    report["load_after"] = machine.load()
    for found in report["results"]:
        times = f"{found['ours_is_faster']:.0f}x slower" if "ours_is_faster" in found else ""
        print(f"{found['contender']:36} {found['matches']:>9,} {found['matches_per_second']:>10,} matches/s  {times}")
    for name, why in report["missing"].items():
        print(f"{name:36} {why}")
    return machine.concluded(report, asked.out, missed(report))


if __name__ == "__main__":
    sys.exit(main())

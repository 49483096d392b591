"""Moves a second of random play through the whole arena, beside PettingZoo's tic-tac-toe and OpenSpiel.

    python bench/arena.py --seconds 2 --out bench/results/arena.json

Each contender plays whole games of uniformly random legal moves for the given time, three times in turn; the best of
the three counts. Ours goes through `arena.play`: observations, replies parsed by the role, contexts, and a record of
each episode. PettingZoo is measured as its users get it, through `env()`, and bare; OpenSpiel with the strings that a
player would read and say. Peers that aren't installed are left out by name: `pip install 'pettingzoo[classic]'
open_spiel`. A CPU second counts the time that this process ran: on a shared machine the wall says little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import machine

from arena.agent import RandomAgent
from arena.make import make
from arena.play import play

TARGET = 30_000
PACKAGES = ("pettingzoo", "gymnasium", "numpy", "open_spiel")
Play = Callable[[float], int]  # plays for some seconds and returns the number of moves made


def ours(name: str) -> Play:
    game = make(name)
    agents = {role: RandomAgent() for role in game.roles}

    async def games(seconds: float) -> int:
        moves, seed, end = 0, 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            episode = await play(game, agents, seed=seed)
            moves += len(episode.turns)
            seed += 1
        return moves

    return lambda seconds: asyncio.run(games(seconds))


def rules_only(name: str) -> Play:
    """Our game in a plain loop, without agents and records."""
    game, rng = make(name), random.Random(0)

    def games(seconds: float) -> int:
        moves, seed, end = 0, 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            game.reset(seed=seed)
            while seat := game.turn():
                game.observe(seat)
                game.step(rng.choice(game.legal(seat)))
                moves += 1
            seed += 1
        return moves

    return games


def pettingzoo(wrapped: bool) -> Play:
    from pettingzoo.classic import tictactoe_v3

    env = tictactoe_v3.env() if wrapped else tictactoe_v3.raw_env()

    def games(seconds: float) -> int:
        moves, seed, end = 0, 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            env.reset(seed=seed)
            for seat in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                else:
                    env.step(env.action_space(seat).sample(observation["action_mask"]))
                    moves += 1
            seed += 1
        return moves

    return games


def openspiel(name: str) -> Play:
    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(0)

    def games(seconds: float) -> int:
        moves, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, odds = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(rng.choices(outcomes, odds)[0])
                    continue
                seat = state.current_player()
                state.observation_string(seat)
                says = {state.action_to_string(seat, action): action for action in state.legal_actions()}
                state.apply_action(says[rng.choice(list(says))])
                moves += 1
        return moves

    return games


SMALL = ("nim", "rock_paper_scissors", "dec_tiger", "liars_dice")  # ours alone: a stage of several, a team, chance
CONTENDERS: dict[tuple[str, str], Callable[[], Play]] = {
    ("kuhn_poker", "scrimmage, whole arena"): lambda: ours("kuhn_poker"),
    ("kuhn_poker", "scrimmage, rules only"): lambda: rules_only("kuhn_poker"),
    ("kuhn_poker", "OpenSpiel with strings"): lambda: openspiel("kuhn_poker"),
    ("tic_tac_toe", "scrimmage, whole arena"): lambda: ours("tic_tac_toe"),
    ("tic_tac_toe", "scrimmage, rules only"): lambda: rules_only("tic_tac_toe"),
    ("tic_tac_toe", "PettingZoo, env()"): lambda: pettingzoo(True),
    ("tic_tac_toe", "PettingZoo, raw_env()"): lambda: pettingzoo(False),
    ("tic_tac_toe", "OpenSpiel with strings"): lambda: openspiel("tic_tac_toe"),
    **{(name, "scrimmage, whole arena"): partial(ours, name) for name in SMALL},
    **{(name, "scrimmage, rules only"): partial(rules_only, name) for name in SMALL},
}


def measure(seconds: float, rounds: int = 3) -> list[dict[str, object]]:
    """The best rate of each contender, a wall second and a CPU second."""
    players: dict[tuple[str, str], Play] = {}
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for key, build in CONTENDERS.items():
        rows[key] = {"game": key[0], "contender": key[1], "moves_per_second": None, "moves_per_cpu_second": None}
        try:
            players[key] = build()
        except ImportError as error:
            rows[key]["missing"] = str(error)
    for _ in range(rounds):
        for key, played in players.items():
            wall, cpu = time.perf_counter(), time.process_time()
            moves = played(seconds)
            for name, spent in (
                ("moves_per_second", time.perf_counter() - wall),
                ("moves_per_cpu_second", time.process_time() - cpu),
            ):
                rows[key][name] = max(rows[key][name] or 0, round(moves / spent))  # type: ignore[call-overload]
    return list(rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each of three rounds")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    asked = parser.parse_args()
    surroundings = machine.surroundings() | {"versions": machine.versions(*PACKAGES)}
    report = {"machine": surroundings, "seconds": asked.seconds, "target": TARGET, "results": measure(asked.seconds)}
    print(f"{'game':20} {'contender':24} {'moves/s':>9} {'moves/CPU s':>12}")
    for row in report["results"]:  # type: ignore[attr-defined]
        rates = [f"{row[name]:,}" if row[name] else "-" for name in ("moves_per_second", "moves_per_cpu_second")]
        print(f"{row['game']:20} {row['contender']:24} {rates[0]:>9} {rates[1]:>12}  {row.get('missing', '')}")
    print("machine", json.dumps(report["machine"]))
    slow = [
        row["game"]
        for row in report["results"]  # type: ignore[attr-defined]
        if row["contender"] == "scrimmage, whole arena" and row["moves_per_cpu_second"] < TARGET
    ]
    late = [f"{', '.join(slow)}: below {TARGET:,} moves a CPU second"] if slow else []
    return machine.concluded(report, asked.out, late)


if __name__ == "__main__":
    sys.exit(main())

"""The whole line in one command: train, measure, rate, export, play the export, and say what was learned."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arena import config as configs
from arena import terminal
from arena.agent import OracleAgent, RandomAgent
from arena.commands.play import show
from arena.engines import models
from arena.make import make
from arena.play import play
from arena.schedule import Plan, Schedule
from arena.seeding import derive
from arena.store import Store
from arena.tournament import Entrant, contest
from arena.types import Episode
from trainers import evaluate, report, train
from trainers.config import TrainConfig
from trainers.evaluate import Policies
from trainers.export import export_run, pick_seat
from trainers.outside import outside

POOL = "demo"  # of the round robin in the store
LAST = 10  # steps whose mean is the NashConv at the end


@dataclass(frozen=True)
class DemoConfig:
    """What the demo is made of. `kuhn`, `sums` and `control` are training configs, `overrides` hold for all three.

    `deals` are sampled for each seat, opponent and step of an evaluation, `rounds` for each pairing of the tournament.
    """

    kuhn: str = "kuhn_selfplay"
    sums: str = "sums_proposer_solver"
    control: str = "sums_uniform"
    overrides: tuple[str, ...] = ()
    deals: int = 100
    rounds: int = 40


def run(folder: Path, seed: int, config: DemoConfig | None = None) -> dict[str, Any]:
    """Do, or go on with, the demo in `folder`; its report, which is also written to report.json.

    Raises ConfigError if another demo was run there. Ctrl-C raises KeyboardInterrupt; the same call goes on.
    """
    config = config or DemoConfig()
    parts = {"kuhn": config.kuhn, "sums": config.sums, "sums_uniform": config.control}
    words = [*config.overrides, f"seed={seed}"]
    runs = {part: configs.load(TrainConfig, name, words, kind="train") for part, name in parts.items()}
    for settings in runs.values():
        models.find(settings.model, terminal.note)
    ledger = Ledger(folder / "progress.json", {"seed": seed, **asdict(config)})
    for part, settings in runs.items():
        (folder / part).mkdir(exist_ok=True)
        configs.claim(folder / part, settings)
    for part, settings in runs.items():
        ledger.once(f"train {part}", lambda s=settings, part=part: learn(s, folder / part))  # type: ignore[misc]
    measured = {part: measure(folder / part, settings.name, config.deals, ledger) for part, settings in runs.items()}
    standings = ledger.once("tournament", lambda: rate(folder, seed, config.rounds))
    show_standings(standings)
    report.update(folder / "kuhn" / report.NAME, ratings=ratings(standings))
    exported = ledger.once("export", lambda: hand_out(folder))
    episode = ledger.once("shown game", lambda: asyncio.run(shown_game(folder, seed)).to_json())
    terminal.say("\nOne game of the exported agent, loaded by transformers in a process that can't import scrimmage:")
    show(Episode.from_json(episode), heard=True)
    found = numbers(folder, measured, standings, exported)
    report.write(folder / report.NAME, {**found, "seconds": ledger.seconds()})
    summarise(folder, runs, found)
    return report.read(folder / report.NAME)


class Ledger:
    """The parts of a demo that are finished, with their results and the seconds they took: each is done once."""

    def __init__(self, path: Path, settings: Mapping[str, Any]):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        plain = json.loads(json.dumps(settings))
        self.kept = report.read(path) or {"settings": plain, "results": {}, "seconds": {}}
        if self.kept["settings"] != plain:
            before = self.kept["settings"]
            changed = [
                f"{key}: {before.get(key)} -> {value}" for key, value in plain.items() if before.get(key) != value
            ]
            raise configs.ConfigError(
                f"another demo was run here: {'; '.join(changed)}", str(path.parent), remedy="give --folder another one"
            )

    def once(self, part: str, work: Callable[[], Any]) -> Any:
        """The result of `work` as JSON, from now or from before; time is counted whether or not it gets to its end."""
        results, seconds = self.kept["results"], self.kept["seconds"]
        if part not in results:
            terminal.note(f"{part} ...")
            started = time.perf_counter()
            try:
                results[part] = json.loads(json.dumps(work()))
            finally:
                seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - started
                report.write(self.path, self.kept)
        return results[part]

    def seconds(self) -> dict[str, float]:
        """The time of every part, and their `total`."""
        taken = {part: round(seconds, 1) for part, seconds in self.kept["seconds"].items()}
        return {**taken, "total": round(sum(taken.values()), 1)}


# -- the parts -----------------------------------------------------------------------------------------------------


def learn(settings: TrainConfig, folder: Path) -> int:
    """Train, with live figures; the number of steps."""
    with terminal.Ticker(settings.name, settings.steps) as tick:
        train.run(settings, folder, tick)
    return settings.steps


def measure(folder: Path, name: str, deals: int, ledger: Ledger) -> dict[str, dict[str, Any]]:
    """The evaluation of a run by step, rising; shown anew if it was made before."""
    fresh = f"evaluate {folder.name}" not in ledger.kept["results"]
    rows = ledger.once(f"evaluate {folder.name}", lambda: evaluate.run(folder, deals)["evaluation"])
    if not fresh:
        evaluate.show(name, rows)
    return dict(sorted(rows.items(), key=lambda item: int(item[0])))


def rate(folder: Path, seed: int, rounds: int) -> dict[str, Any]:
    """Everybody against everybody at Kuhn: random, the model untrained, half trained and trained, the equilibrium."""
    policies = Policies(folder / "kuhn")
    entrants: dict[str, Entrant] = {"random": lambda *_: RandomAgent(), "equilibrium": lambda *_: OracleAgent()}
    for name, step in stages(policies.steps).items():
        entrants[name] = lambda _, role, step=step: policies.agent(role, step)  # type: ignore[misc]
    plan = Plan(POOL, (policies.config.game,), tuple(entrants), rounds, seed)
    expected = Schedule(plan).expected
    with Store(folder / "store.db") as store, terminal.Ticker("tournament", expected) as tick:
        store.start(POOL, "tournament", {"seed": seed, "rounds": rounds})
        playing = contest(plan, entrants, store, concurrency=expected, watch=lambda _, done: tick(done))
        return asyncio.run(playing).to_json()


def stages(steps: list[int]) -> dict[str, int]:
    """What the agents of these steps are called."""
    return {"base": steps[0], **dict.fromkeys(("mid",) * (len(steps) > 2), steps[1]), "final": steps[-1]}


def ratings(standings: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{key: row[key] for key in ("agent", "mu", "sigma", "matches")} for row in standings["ratings"]]


def show_standings(standings: Mapping[str, Any]) -> None:
    """The ratings of a tournament, and the mean score of everybody against everybody."""
    rows, names = standings["ratings"], [row["agent"] for row in standings["ratings"]]
    met = {(cell["agent"], cell["other"]): f"{cell['mean']:+.3f}" for cell in standings["payoff"]}
    columns = ("agent", "low", "mu", "sigma", "matches")
    terminal.say(f"\nround robin at {standings['game']}, rated with TrueSkill (low = mu - 3 sigma):")
    terminal.table(columns, [[row[column] for column in columns] for row in rows])
    terminal.say("\nmean score of the left against the top, deals paired and seats rotated:")
    terminal.table(("agent", *names), [(name, *(met.get((name, other), "") for other in names)) for name in names])


def hand_out(folder: Path) -> dict[str, float]:
    """Export the trained Kuhn agent; how far its logits are from the live agent's and from the base model's."""
    run = folder / "kuhn"
    seat = pick_seat(configs.load(TrainConfig, run / "config.yaml"), None)
    done = export_run(run, seat, folder / "export", force=True)
    return {"max_logit_difference": done.max_logit_difference, "from_base": done.from_base}


async def shown_game(folder: Path, seed: int) -> Episode:
    """One game of the exported agent, in a process of its own, against the equilibrium player."""
    settings = configs.load(TrainConfig, folder / "kuhn" / "config.yaml")
    game, seat = make(settings.game.name, **settings.game.params), pick_seat(settings, None)
    dealt = derive(seed, "shown game")
    async with outside(folder / "export", "exported", dealt) as agent:
        others = {role: OracleAgent("equilibrium") for role in game.roles if role != seat}
        episode = await play(game, {seat: agent, **others}, seed=dealt)
    if episode.ending == "infra":
        raise RuntimeError(f"the exported agent could not play: {episode.reason}")
    return episode


# -- what came of it -----------------------------------------------------------------------------------------------


def numbers(
    folder: Path,
    measured: Mapping[str, Mapping[str, Mapping[str, Any]]],
    standings: Mapping[str, Any],
    exported: Mapping[str, float],
) -> dict[str, Any]:
    """The report but for its times."""
    kuhn, sums, control = ([*measured[part].values()] for part in ("kuhn", "sums", "sums_uniform"))
    first, last = kuhn[0], kuhn[-1]
    return {
        "kuhn": {
            "illegal_rate": {"start": first["illegal_games"], "end": last["illegal_games"]},
            "nash_conv": {
                "start": first["nash_conv"],
                "end": evaluate.settled(folder / "kuhn", LAST),
                "last": last["nash_conv"],
            },
            "vs_equilibrium": {
                "start": first["vs_equilibrium"]["exact"]["mean"],
                "end": last["vs_equilibrium"]["exact"]["mean"],
            },
        },
        "sums": {
            "accuracy": {"start": sums[0]["accuracy"], "end": sums[-1]["accuracy"]},
            "control": {"end": control[-1]["accuracy"]},
        },
        "ratings": ratings(standings),
        "export": {"max_logit_difference": exported["max_logit_difference"]},
    }


def summarise(folder: Path, runs: Mapping[str, TrainConfig], found: Mapping[str, Any]) -> None:
    """What was learned in plain words, and where everything lies."""
    kuhn, sums = found["kuhn"], found["sums"]
    illegal, nash, value = kuhn["illegal_rate"], kuhn["nash_conv"], kuhn["vs_equilibrium"]
    order = ", ".join(f"{row['agent']} {row['mu']:.1f}" for row in found["ratings"])
    held, others = runs["sums"], runs["sums_uniform"]
    for line in (
        "",
        f"Kuhn poker, {runs['kuhn'].steps} steps of self-play:",
        f"  games with an illegal reply     {illegal['start']:7.1%} -> {illegal['end']:.1%}",
        f"  NashConv (0 at an equilibrium)  {nash['start']:7.3f} -> {nash['end']:.3f} (mean of the last {LAST} steps)",
        f"  chips a game against perfection {value['start']:+7.3f} -> {value['end']:+.3f}",
        f"  TrueSkill                       {order}",
        "Sums that were held out, answered rightly:",
        f"  own problems, {held.steps} steps         {sums['accuracy']['start']:7.1%} -> {sums['accuracy']['end']:.1%}",
        f"  random problems, {others.steps} steps              -> {sums['control']['end']:.1%}",
        "",
        f"{folder / report.NAME}: these numbers",
        f"{folder / 'export'}: the trained agent; its README says how to load it",
        f"{', '.join(str(folder / part) for part in runs)}: configs, metrics, checkpoints, evaluations",
        f"{folder / 'store.db'}: the round robin; look with: scrimmage matches {folder}",
    ):
        terminal.say(line)

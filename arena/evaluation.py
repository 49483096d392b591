"""How well agents play a game: exactly where it is small enough, and by games against fixed players."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from arena import blunders, exact, terminal
from arena.agent import Agent, HumanAgent, LLMAgent, OracleAgent, RandomAgent
from arena.blunders import Judge
from arena.estimate import Estimate
from arena.exact import Space
from arena.game import Game
from arena.make import make
from arena.play import in_parallel, play
from arena.positions import Positions
from arena.search import SearchAgent
from arena.seeding import derive
from arena.strategy import NoOdds, Table, inexact, strategy
from arena.suited import Unsuited
from arena.types import Episode, role_of

DEALS = 200  # sampled games for each seat and opponent
SETS = 5_000  # that a language model is asked for at most: a model of 135M answers about 4 a second on one core

Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """The agents on trial, by role, in a game: in all its roles, or in those that learn.

    Every opponent is met in `deals` games a seat, and all meet the same deals, so that luck of the cards cancels in
    comparisons. Raises ValueError for fewer deals than an interval takes, and for an agent who would be asked too much.
    """

    game: Game
    agents: Mapping[str, Agent]
    title: str
    deals: int = DEALS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.deals < 2:
            raise ValueError(f"deals is {self.deals}: an interval takes at least 2")
        spare(self.agents)

    @property
    def seats(self) -> list[str]:
        """Those that the agents on trial take in turn, with an opponent in all others."""
        return [seat for seat in self.game.possible_agents if role_of(seat) in self.agents]

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.game)


def spare(agents: Mapping[str, Agent]) -> None:
    """Raise ValueError where a human is among them."""
    if any(isinstance(agent, HumanAgent) for agent in agents.values()):
        raise ValueError("agent 'human' would be asked some hundred times: play a match or a tournament instead")


def opponents(game: Game, words: Mapping[str, Agent]) -> tuple[dict[str, Agent], dict[str, str]]:
    """Whom to measure against, by the key of a row, `words` included; and who isn't met, and why."""
    spare(words)
    wanted: dict[str, Agent] = {}
    left = {}
    if game.info.zero_sum or game.info.cooperative:
        wanted |= {"vs_random": RandomAgent(), "vs_equilibrium": OracleAgent()}
    else:
        left["vs_random"] = "in a game of general sum, a return against fixed players doesn't tell who plays better"
    met = {}
    for key, agent in (wanted | {f"vs_{word}": agent for word, agent in words.items()}).items():
        try:
            if isinstance(agent, RandomAgent | OracleAgent | SearchAgent):
                agent.suits(game)
            met[key] = agent
        except Unsuited as error:
            left[key] = str(error)
    return met, left


def unfold(game: Game, agents: Mapping[str, Agent]) -> Space | str:
    """The game's tree or positions; else why exact values can't be had."""
    if lacking := [role for role in game.roles if role not in agents]:
        return f"the agents on trial don't play {', '.join(lacking)}"
    if reason := next(filter(None, map(inexact, agents.values())), ""):
        return reason  # no need to unfold what nobody could fill
    try:
        with terminal.Ticker(f"{game}: nodes of its tree, at most", exact.NODES) as tick:
            return exact.unfold(game, agents, tick)
    except ValueError as error:  # its way of saying: too many nodes, or chances and moves that can't be listed
        return str(error)


async def measure(trial: Trial, space: Space | str, met: Mapping[str, Agent]) -> Row:
    """All that can be told of the agents on trial, by name; what can't has its reason in `left_out`.

    `space` is what `unfold` says of the game, `met` are opponents by key.
    """
    row: Row = {}
    left: dict[str, str] = {}
    table = await _table(trial, trial.agents, space, "exact values", left)
    if table is not None and not isinstance(space, str):
        row |= exact.summary(space, table)
        if trial.game.info.cooperative and not isinstance(space, Positions):
            found, lacks = exact.team(space, table)
            row |= found
            left |= lacks
    if reason := blunders.unknown(trial.game):
        left["blunders"] = reason
    for key, opponent in met.items():
        row[key] = await _against(trial, key, opponent, space, table, left)
    return {**row, "left_out": left}


async def _table(
    trial: Trial, agents: Mapping[str, Agent], space: Space | str, what: str, left: dict[str, str]
) -> Table | None:
    """The agents' whole strategy; or None, with the reason noted."""
    if isinstance(space, str):
        left[what] = space
        return None
    models = any(isinstance(agent, LLMAgent) for agent in agents.values())
    sets = len(space.information)
    if models and sets > SETS:
        left[what] = f"{trial.game} has {sets} information sets: a language model is asked for {SETS} at most"
        return None
    try:
        if not models:
            return await strategy(space, agents)
        with terminal.Ticker(f"{trial.title}: information sets", sets) as tick:
            return await strategy(space, agents, told=tick)
    except NoOdds as error:
        left[what] = str(error)
        return None


async def _against(
    trial: Trial, key: str, opponent: Agent, space: Space | str, table: Table | None, left: dict[str, str]
) -> Row:
    """What comes of meeting one opponent: `exact` returns, `sampled` ones, and `blunders`."""
    row: Row = {}
    theirs = None
    if table is not None and not isinstance(space, str):
        theirs = await _table(trial, dict.fromkeys(trial.game.roles, opponent), space, f"{key}, exact", left)
        if theirs is not None:
            row["exact"] = exact.against(space, table, theirs)
    episodes = await _games(trial, key, opponent)
    row["sampled"] = _estimates(trial, key, episodes, left)
    if "blunders" in left:
        return row
    if isinstance(space, Positions) and table is not None and theirs is not None:
        perfect = await strategy(space, dict.fromkeys(trial.game.roles, OracleAgent()))
        found = blunders.exact(space, table, theirs, perfect)
    else:
        found = trial.judge.sampled(episodes)
    return {**row, "blunders": found.to_json()}


# -- played games --------------------------------------------------------------------------------------------------


async def _games(trial: Trial, key: str, opponent: Agent) -> list[tuple[Episode, str]]:
    """Every deal with an agent on trial in each of its seats: the game, and that seat; deal by deal."""
    asked = [(deal, seat) for deal in range(trial.deals) for seat in trial.seats]
    found: dict[tuple[int, str], Episode] = {}
    waiting = iter(asked)
    with terminal.Ticker(f"{trial.title}: games {key}", len(asked)) as tick:

        async def work() -> None:
            for deal, seat in waiting:
                agents = {s: opponent for s in trial.game.possible_agents}
                agents[seat] = trial.agents[role_of(seat)]
                found[deal, seat] = episode = await play(
                    make(trial.game.name, **trial.game.params),
                    agents,
                    seed=derive(trial.seed, "evaluate", deal),
                    stream=(trial.seed, "evaluate", seat),
                )
                if episode.ending == "infra":
                    raise RuntimeError(f"{trial.title}: a game {key} broke off: {episode.reason}")
                tick(len(found))

        await in_parallel(work, len(asked))
    return [(found[job], job[1]) for job in asked]


def _estimates(trial: Trial, key: str, episodes: Sequence[tuple[Episode, str]], left: dict[str, str]) -> Row:
    """The return in every seat, and the `mean` over the seats of each deal, which counts once."""
    seats = trial.seats
    returns = [episode.returns[seat] for episode, seat in episodes]
    deals = [returns[first : first + len(seats)] for first in range(0, len(returns), len(seats))]
    scored = [[value for value in deal if value is not None] for deal in deals if None not in deal]
    if len(scored) < len(deals):
        left[f"{key}, {len(deals) - len(scored)} of {len(deals)} deals"] = "a game could not be scored"
    if len(scored) < 2:
        return {}
    samples = {seat: [deal[i] for deal in scored] for i, seat in enumerate(seats)}
    samples["mean"] = [statistics.fmean(deal) for deal in scored]
    ends = [_range(trial.game, seat, [episode for episode, _ in episodes]) for seat in seats]
    ends.append((statistics.fmean(worst for worst, _ in ends), statistics.fmean(best for _, best in ends)))
    return {name: vars(Estimate.of(samples[name], *end)) for name, end in zip((*seats, "mean"), ends, strict=True)}


def _range(game: Game, seat: str, episodes: Sequence[Episode]) -> tuple[float, float]:
    """The worst and the best that a seat got, whoever sat there, or would get where somebody forfeits."""
    found = [value for episode in episodes if (value := episode.returns[seat]) is not None]
    found.append(game.info.forfeit)
    if game.info.zero_sum:
        found.append(-game.info.forfeit / (len(game.possible_agents) - 1))
    return min(found), max(found)


# -- showing -------------------------------------------------------------------------------------------------------


def show(title: str, rows: Mapping[str, Row], of: str) -> None:
    """Rows by what `of` names, as tables: numbers, returns against opponents, blunders, and what was left out."""
    plain = dict.fromkeys(key for row in rows.values() for key, value in row.items() if isinstance(value, int | float))
    terminal.say(f"\n{terminal.one_line(title)}:")
    if plain:
        columns = ("", *(f"{of} {name}" for name in rows))
        terminal.table(columns, [(key, *(row.get(key, "") for row in rows.values())) for key in plain])
    met = [
        (name, key.removeprefix("vs_"), row[key])
        for key in dict.fromkeys(key for row in rows.values() for key in row if key.startswith("vs_"))
        for name, row in rows.items()
    ]
    played = [
        (name, opponent, seat, exact_text(found, seat), interval(estimate))
        for name, opponent, found in met
        for seat, estimate in found["sampled"].items()
    ]
    if played:
        terminal.table((of, "against", "seat", "exact return", "sampled, 95 % interval"), played)
    blundered = [(name, opponent, found["blunders"]) for name, opponent, found in met if "blunders" in found]
    if blundered:
        columns = ("blunders, of all moves", "where a legal move is one", "illegal ones", "lost a game")
        terminal.table((of, "against", *columns), [(*who, *_cells(found)) for *who, found in blundered])
        for name, opponent, found in blundered:
            plies = " ".join(f"{ply['ply']}:{ply['rate']:.0%}" for ply in found["by_ply"])
            terminal.say(terminal.one_line(f"blunders by ply, {name} against {opponent}: {plies}"))
    for (what, why), names in _reasons(rows).items():
        terminal.say(terminal.one_line(f"not measured ({', '.join(names)}): {what}: {why}"))


def _reasons(rows: Mapping[str, Row]) -> dict[tuple[str, str], list[str]]:
    """What was left out and why, with the rows that lack it."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, row in rows.items():
        for reason in row.get("left_out", {}).items():
            found.setdefault(reason, []).append(name)
    return found


def _cells(found: Mapping[str, Any]) -> tuple[str, str, str, float]:
    rate = f"{found['rate']:.1%}"
    if found["games"]:
        rate += f" [{found['low']:.1%}, {found['high']:.1%}]"
    staked = "none" if found["at_stake"] is None else f"{found['at_stake']:.1%}"
    return rate, staked, f"{found['illegal']:.1%}", found["lost"]


def exact_text(found: Mapping[str, Any], seat: str) -> str:
    return f"{found['exact'][seat]:+.3f}" if "exact" in found else ""


def interval(estimate: Mapping[str, float]) -> str:
    return f"{estimate['mean']:+.3f} [{estimate['low']:+.3f}, {estimate['high']:+.3f}]"

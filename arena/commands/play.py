"""The verb that plays games, and how one is shown."""

from __future__ import annotations

import asyncio
import json as notation
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Annotated

from cyclopts import Parameter

from arena import config, terminal
from arena.agent import HumanAgent
from arena.cast import Cast
from arena.commands import Failed
from arena.config import ConfigError
from arena.make import make
from arena.play import Job, play_many, seating
from arena.play import play as play_one
from arena.types import Episode, Turn

SeatWords = Annotated[list[str], Parameter(name="--seat", allow_repeating=True)]


def play(
    name: str, /, *params: str, seat: SeatWords | None = None, seed: int = 0, games: int = 1, json: bool = False
) -> None:
    """Play a game: people, models, random and perfect players at any seat.

    One game is shown move by move, more are counted.

    For example:

        scrimmage play kuhn_poker --seat first=random --seat second=human
        scrimmage play nim --seat first=tiny@nim --seat second=oracle --games 9
        scrimmage play nim heaps=[3,4,5] --seat first=oracle --seat second=random

    Parameters
    ----------
    name
        The game: a built-in one, or module:Class.
    params
        What the game is made with, as key=value.
    seat
        Who plays, once for each role, as ROLE=AGENT. AGENT is random, oracle, human, mcts, mcts:SIMULATIONS, bot:NAME
        (one of the game's own), MODEL@ROLE, or an exported folder.
    seed
        Deals the cards; game i of several is dealt by seed + i.
    games
        How many to play.
    json
        Print the episodes as JSON, one a line.
    """
    if games < 1:
        raise ConfigError(f"games is {games}", "--games", remedy="play at least one")
    arguments = config.words(params)
    first = make(name, **arguments)
    first.ready()
    if not seat:
        example = " ".join(f"--seat {role}={'human' if not i else 'random'}" for i, role in enumerate(first.roles))
        raise ConfigError(f"nobody sits at {', '.join(first.roles)}", "--seat", remedy=f"seat somebody: {example}")
    chosen = _chosen(seat)
    seating(first, dict.fromkeys(chosen, HumanAgent()))  # the seats are checked before any model is loaded
    cast = Cast()
    for role, word in chosen.items():
        cast.check(word, first, role)
    agents = {role: cast.agent(word) for role, word in chosen.items()}
    human = any(isinstance(agent, HumanAgent) for agent in agents.values())
    jobs = [Job(make(name, **arguments), agents, seed=seed + i, stream=(seed, i)) for i in range(games)]
    if human or games == 1:
        with terminal.aside(json):
            episodes = [asyncio.run(_followed(job)) for job in jobs]
    else:
        with terminal.Ticker(f"{first}: games", games) as tick:
            episodes = asyncio.run(play_many(jobs, 64, tick))
    if json:
        for episode in episodes:
            terminal.say(notation.dumps(episode.to_json()))
    elif games > 1:
        count(episodes)
    failed = [episode for episode in episodes if episode.ending == "infra"]
    if failed:
        raise Failed(f"{len(failed)} of {games} games broke off: {failed[0].reason}")


def _chosen(words: Sequence[str]) -> dict[str, str]:
    """The agent's word of every role or seat that was named."""
    chosen: dict[str, str] = {}
    for word in words:
        role, equals, agent = word.partition("=")
        if not (role and equals and agent):
            raise ConfigError(f"{word!r} is not ROLE=AGENT", "--seat", remedy="write it like --seat first=random")
        if role in chosen:
            raise ConfigError(
                f"{role!r} is seated twice", "--seat", remedy=f"seats of their own are called {role}_0, ..."
            )
        chosen[role] = agent
    return chosen


async def _followed(job: Job) -> Episode:
    """One game, whose turns are shown as they are made, then how it ended.

    Who plays at the terminal sees of the others only what nobody hides, and everything once the game is over.
    """
    seats, info = seating(job.game, job.agents), job.game.info
    names = {seat: agent.name for seat, agent in seats.items()}
    people = {seat for seat, agent in seats.items() if isinstance(agent, HumanAgent)}
    hidden = info.simultaneous or not info.perfect_information

    def told(turn: Turn) -> None:
        if not people:
            show_turn(turn, names)
        elif not hidden and turn.legal and turn.seat not in people:
            show_turn(replace(turn, reply=turn.move), names)  # thoughts and slips are for no opponent

    episode = await play_one(job.game, job.agents, seed=job.seed, stream=job.stream, told=told)
    if people:
        show(episode)
    else:
        show_ending(episode)
    return episode


def show(episode: Episode, heard: bool = False) -> None:
    """One game, move by move, then who got what; `heard` also shows what each seat was told before it moved."""
    for turn in episode.turns:
        if heard:
            for line in terminal.clean(turn.heard).splitlines():
                terminal.say(f"    {turn.seat} hears: {line}")
        show_turn(turn, episode.agents)
    show_ending(episode)


def show_turn(turn: Turn, agents: Mapping[str, str]) -> None:
    """One reply on a line; `agents` by seat."""
    judged = "" if turn.legal else f"   (not legal: {turn.reason})"
    terminal.say(terminal.one_line(f"{turn.seat} ({agents[turn.seat]}): {turn.reply}{judged}"))


def show_ending(episode: Episode) -> None:
    """How a game ended, and who got what."""
    ending = f"{episode.ending}: {episode.reason}" if episode.reason else episode.ending
    terminal.say(terminal.one_line(f"{episode.game} with seed {episode.seed}: {ending}"))
    terminal.table(("seat", "agent", "return"), _rows(episode.agents, episode.returns))


def _rows(agents: Mapping[str, str], returns: Mapping[str, float | None]) -> list[tuple[str, str, float | str]]:
    return [(seat, agent, "" if (gain := returns[seat]) is None else gain) for seat, agent in agents.items()]


def count(episodes: Sequence[Episode]) -> None:
    """Many games: the mean return of every seat, and how they ended."""
    played = [episode for episode in episodes if episode.ending != "infra"]
    means = {seat: fmean(episode.returns[seat] or 0.0 for episode in played) for seat in episodes[0].agents if played}
    terminal.table(("seat", "agent", "mean return"), _rows(episodes[0].agents, means) if played else [])
    endings = sorted({episode.ending for episode in episodes})
    told = ", ".join(f"{sum(episode.ending == ending for episode in episodes)} {ending}" for ending in endings)
    terminal.say(f"{len(episodes)} games: {told}; {sum(episode.illegal for episode in episodes)} with an illegal reply")

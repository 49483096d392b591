"""One game, played to its end; or many at once."""

from __future__ import annotations

import asyncio
import difflib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from arena.agent import Agent
from arena.context import Context, CutOff, Forfeit
from arena.game import Bot, Game, IllegalMove
from arena.seeding import derive
from arena.types import Ending, Episode, Task, Turn, role_of


@dataclass(frozen=True)
class Job:
    """A game to be played: the arguments of `play`. Each job needs a game object of its own."""

    game: Game
    agents: Mapping[str, Agent]
    seed: int
    task: Task | None = None
    id: str | None = None
    stream: tuple[int | str, ...] = ()
    apart: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _Record:
    """What has happened so far."""

    seats: Mapping[str, Agent]
    contexts: dict[str, Context]
    turns: list[Turn] = field(default_factory=list)
    returns: dict[str, float] = field(default_factory=dict)
    fault: Exception | None = None  # of the first seat, in the order of asking, that could not reply
    at_fault: str = ""


async def play(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    seed: int,
    task: Task | None = None,
    id: str | None = None,
    stream: tuple[int | str, ...] = (),
    apart: Mapping[str, int] | None = None,
    told: Callable[[Turn], None] | None = None,
) -> Episode:
    """Play one game; `agents` by role, or by seat where one role's seats differ.

    `seed` deals; with `stream`, such as (run seed, step, sample), and the seat it also seeds the replies, so that one
    deal can be played many times; a seat in `apart` draws others, by the number given, while the rest draw the same. A
    seat whose context or budget is used up ends the game as `cut_off`, an agent that raises `Forfeit` loses it, and any
    other error ends it as `infra`, save `Left`, which is passed on. `told` hears every turn once its stage has been
    answered: hidden parts too. Raises ValueError for a seat without an agent and an agent without a seat.
    """
    seats = seating(game, agents)
    game.reset(seed=seed, options={"task": task})
    own = {seat: (number,) for seat, number in (apart or {}).items()}
    contexts = {
        seat: Context(seed=(*stream, seed, seat, *own.get(seat, ())), plays=partial(_played, game, seat))
        for seat in seats
    }
    record = _Record(seats, contexts, returns=dict.fromkeys(seats, 0.0))
    while record.fault is None and game.turn():
        seen = len(record.turns)
        await _stage(game, game.acting, record)
        if told is not None:
            for turn in record.turns[seen:]:
                told(turn)
    if isinstance(record.fault, Forfeit):
        _give_up(game, record, str(record.fault))
    for context in contexts.values():
        context.legal, context.plays = (), None
    ending, reason, fault = _ending(game, record)
    names = {seat: agent.name for seat, agent in seats.items()}
    return Episode(
        id=id or _identity(game, seed, task, names, (*stream, *map(str, own.items()))),
        game=str(game),
        seed=seed,
        task=task,
        agents=names,
        faced={seat: posed.id for seat, posed in game.faced.items()},
        turns=tuple(record.turns),
        contexts=contexts,
        returns={s: None if ending == "infra" or s in game.unscored else r for s, r in record.returns.items()},
        ending=ending,
        reason=reason,
        fault=fault,
        paid={s: {name: reward for (seat, name), reward in game.paid.items() if seat == s} for s in seats if game.paid},
        notes=dict(game.notes),
        marks=dict(game.marks),
        offers=tuple(game.offers),
        kind=game.kind,
    )


def _played(game: Game, seat: str, bot: Bot) -> Mapping[str, float]:
    return bot(game, seat)


def seating(game: Game, agents: Mapping[str, Agent]) -> dict[str, Agent]:
    """The agent of every seat: the one given for the seat itself, else for its role."""
    known = [*game.roles, *game.possible_agents]
    for name in agents:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise ValueError(f"{game} has no role or seat {name!r}: {hint}")
    seats: dict[str, Agent] = {}
    for seat in game.possible_agents:
        role = role_of(seat)
        if seat not in agents and role not in agents:
            raise ValueError(
                f"seat {seat!r} of {game} has no agent: give one for {role!r}, besides {', '.join(agents)}"
            )
        seats[seat] = agents[seat if seat in agents else role]
    return seats


async def _stage(game: Game, asked: tuple[str, ...], record: _Record) -> None:
    """Ask every seat that owes a move, all at once, then take their moves in order."""
    heard = []
    for seat in asked:
        context = record.contexts[seat]
        heard.append(game.observe(seat)["text"])
        context.hear(heard[-1])
        context.legal = game.legal(seat)
        context.span, context.stop = (0, 0), ""
    if len(asked) == 1:
        answers = [await _ask(record.seats[asked[0]], record.contexts[asked[0]])]
    else:
        answers = await asyncio.gather(*(_ask(record.seats[seat], record.contexts[seat]) for seat in asked))
    faults = [(seat, answer) for seat, answer in zip(asked, answers, strict=True) if isinstance(answer, Exception)]
    if faults:
        record.at_fault, record.fault = faults[0]
    for seat, text, answer in zip(asked, heard, answers, strict=True):
        if isinstance(answer, str):
            _take(game, seat, text, answer, record)


def _take(game: Game, seat: str, heard: str, reply: str, record: _Record) -> None:
    """Read the move out of a reply and make it; where the stage has come to nothing, only say if it was legal."""
    context = record.contexts[seat]
    move = record.seats[seat].role.move(reply)
    stage, rewards = game.stage, dict[str, float]()
    if record.fault is not None or game.ending:
        refused = _refused(game, seat, move)
    else:
        game.step(move)
        refused = game.judged
        if game.ending or game.stage != stage:
            rewards = dict(game.rewards)
            for earner, reward in rewards.items():
                record.returns[earner] += reward
    context.said(reply)
    record.turns.append(
        Turn(seat, stage, heard, reply, move, not refused, refused, rewards, context.span, context.stop)
    )


def _refused(game: Game, seat: str, move: str) -> str:
    """Why a move that is never made would have been illegal, "" if it were legal."""
    try:
        game.parse(seat, move)
    except IllegalMove as error:
        return str(error)
    return ""


async def _ask(agent: Agent, context: Context) -> str | Exception:
    """The reply, or what kept the agent from giving one."""
    try:
        reply = await agent.act(context)
        if not isinstance(reply, str):
            raise TypeError(f"agent {agent.name!r} replied with {type(reply).__name__}: a reply is text")
        return reply
    except Exception as error:  # noqa: BLE001 - an agent may fail in any way; the episode records it as infra
        return error


def _give_up(game: Game, record: _Record, reason: str) -> None:
    """The seat at fault forfeits where it should have replied."""
    game.rewards.update(dict.fromkeys(game.rewards, 0.0))
    game.forfeit(record.at_fault, reason)
    for earner, reward in game.rewards.items():
        record.returns[earner] += reward
    record.fault = None


def _ending(game: Game, record: _Record) -> tuple[Ending, str, str]:
    """How the game ended, why, and which seat it was that forfeited, was cut off or broke."""
    fault, seat = record.fault, record.at_fault
    if isinstance(fault, CutOff):
        return "cut_off", f"{seat}: {fault}", seat
    if fault is not None:
        return "infra", f"{seat}, turn {record.contexts[seat].turn}: {type(fault).__name__}: {fault}", seat
    endings: dict[str, Ending] = {"over": "over", "forfeit": "forfeit", "truncated": "truncated"}
    blamed = [seat for seat, told in game.infos.items() if "forfeit" in told]
    return endings[game.ending], game.reason, "".join(blamed)


def _identity(game: Game, seed: int, task: Task | None, names: Mapping[str, str], stream: tuple[int | str, ...]) -> str:
    """The same for the same game of the same agents, and for no other."""
    parts = (str(game), *game.params.items(), seed, task.id if task else "", *names.items(), *stream)
    return f"{derive(*map(str, parts)):016x}"


async def play_many(jobs: Iterable[Job], concurrency: int, tick: Callable[[int], None] | None = None) -> list[Episode]:
    """Play all jobs, up to `concurrency` of them at once; episodes come in the order of the jobs.

    `tick` hears after each game how many are over. A job that raises (not its agents: those end an episode) stops the
    others and is raised.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: at least one game must be under way")
    waiting = list(jobs)
    owner: dict[int, int] = {}
    for i, job in enumerate(waiting):
        first = owner.setdefault(id(job.game), i)
        if first != i:
            raise ValueError(f"jobs {first} and {i} share one game object: make a game for each")
    episodes: list[Episode | None] = [None] * len(waiting)
    queue = iter(enumerate(waiting))
    over = itertools.count(1)

    async def work() -> None:
        for i, job in queue:
            episodes[i] = await play(
                job.game, job.agents, seed=job.seed, task=job.task, id=job.id, stream=job.stream, apart=job.apart
            )
            if tick is not None:
                tick(next(over))

    await in_parallel(work, min(concurrency, len(waiting)))
    return [episode for episode in episodes if episode is not None]


async def in_parallel(work: Callable[[], Awaitable[None]], workers: int) -> None:
    """Run `work` as often as there are workers, at once; whatever one of them raises stops the others first."""
    tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

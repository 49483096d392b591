"""Who sits at a seat: anything that reads a context and replies."""

from __future__ import annotations

import asyncio
import copy
import math
import random
import threading
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from arena.chat import Chat
from arena.context import Choice, Context, CutOff, Left, View
from arena.engines import ContextFull, Decoding, Engine
from arena.game import Bot, Game
from arena.seeding import derive
from arena.suited import Unsuited, first_turns, needs_listed_moves
from arena.terminal import clean
from roles import Memory, Reply, Role

PLAYER = Role(name="player")
# Of agents that say their move and nothing else: whatever stands between the outer brackets, brackets too.
WHOLE = Role(name="player", action=r"(?s)\A\[(.*)\]\Z")


@runtime_checkable
class Agent(Protocol):
    """A policy playing a role. `act` answers what the context's seat has heard; random numbers come from its seed."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> Role: ...

    async def act(self, context: Context) -> str: ...


def opening(role: Role) -> list[dict[str, str]]:
    """What a seat of this role is told before the game: the system text and the shown turns."""
    messages = [{"role": "system", "content": role.system}] if role.system else []
    for shown in role.examples:
        messages += [{"role": "user", "content": shown.heard}, {"role": "assistant", "content": shown.reply}]
    return messages


def fitted(role: Role, chat: Chat) -> frozenset[int]:
    """The ids that end a reply of this role; raises `ChatError` if the model can't speak in the role's way."""
    chat.open([*opening(role), {"role": "user", "content": ""}], role.format)
    return chat.stops(role)


@dataclass(frozen=True)
class LLMAgent:
    """A language model at a seat: the engine is shared, the context belongs to the seat.

    `score_options` also asks for the log-probability of every legal reply at each turn. Raises `ChatError` at once if
    the model can't speak in the way of the role.
    """

    name: str
    role: Role
    engine: Engine
    chat: Chat
    policy: str = "live"
    score_options: bool = False
    stops: frozenset[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stops", fitted(self.role, self.chat))

    async def act(self, context: Context) -> str:
        """Read what is new, then reply; raises `CutOff` when the budget or the engine's context is used up."""
        view = self._read(context)
        seed = derive(*context.seed, context.turn)
        try:
            if self.role.reply is Reply.legal:
                return await self._choose(context, view, seed)
            return await self._speak(context, view, seed)
        except ContextFull as error:
            raise CutOff(f"context: {error}") from error

    async def odds(self, context: Context, *, canonical: bool = False) -> list[float]:
        """The exact probability of each of `context.legal` as the next reply; what they lack to 1 is any other reply.

        The context stays as it is. Free replies are exact at temperature 1 and where the role's `action` accepts the
        words of a move and no others; they are summed over all ways to cut these words into tokens. With `canonical`
        only the tokenizer's own way counts: a lower bound, at a fraction of the cost.
        """
        sampling, moves = self.role.sampling, tuple(context.legal)
        view = self._read(replace(context, messages=list(context.messages), views=copy.deepcopy(context.views)))
        if self.role.reply is Reply.legal:
            options = tuple(self.chat.options(self.role, moves))
            return tempered(await self._score(view.tokens, options), sampling.temperature)
        if sampling.temperature != 1:
            raise ValueError(
                f"role {self.role.name!r} has temperature {sampling.temperature}: odds are exact at 1 only"
            )
        if canonical:
            replies = [[ids] for ids in self.chat.options(self.role, moves)]
        else:
            replies = [self.chat.replies(self.role, move) for move in moves]
        logprobs = iter(await self._score(view.tokens, [reply for several in replies for reply in several]))
        return [sum(math.exp(next(logprobs)) for _ in several) for several in replies]

    def recall(self, context: Context, move: str) -> None:
        """Go through a turn of the past: read what was heard, then take `move` as said in its shortest words."""
        (reply,) = self.chat.options(self.role, [move])
        self._read(context).extend(reply)
        context.said(self.chat.text(reply))

    def _read(self, context: Context) -> View:
        """Encode what was heard since the last reply: into a fresh view if there is none or memory is by the turn."""
        told = opening(self.role)
        if not context.views:
            context.messages[:0] = told
        heard = context.messages[context.pending :]
        if context.views and self.role.memory is Memory.full:
            closed = self.chat.closed(context.view.tokens)
            context.view.extend(self.chat.follow(heard, closed, self.role.format))
        else:
            if context.views:
                heard = told + heard
            context.views.append(View())
            context.view.extend(self.chat.open(heard, self.role.format))
        context.pending = len(context.messages)
        return context.view

    async def _speak(self, context: Context, view: View, seed: int) -> str:
        sampling = self.role.sampling
        limit = sampling.max_tokens
        if self.role.budget:
            limit = min(limit, self.role.budget - context.sampled)
            if limit <= 0:
                raise CutOff(f"budget: all {self.role.budget} tokens of the episode are used")
        at = len(view.tokens)
        prompt = tuple(view.tokens)
        asked = Decoding(sampling.temperature, limit, self.stops)
        reply = await self.engine.generate(prompt, asked, policy=self.policy, seed=seed)
        view.extend(reply.ids, logprobs=reply.logprobs, version=reply.version, temperature=sampling.temperature or 1.0)
        context.sampled += len(reply.ids)
        context.span, context.stop = (at, len(view.tokens)), reply.stop
        text = self.chat.text(reply.ids)
        if self.score_options and context.legal:
            moves = tuple(context.legal)
            options = tuple(self.chat.options(self.role, moves))
            logprobs = await self._score(prompt, options)
            said = self.role.move(text)
            taken = moves.index(said) if said in moves else -1
            context.choices.append(
                Choice(at, options, moves, taken, len(context.views) - 1, context.turn, reply.version, logprobs)
            )
        return text

    async def _choose(self, context: Context, view: View, seed: int) -> str:
        """Draw among the legal moves by their exact probabilities, renormalised and tempered."""
        moves = tuple(context.legal)
        if not moves:
            raise ValueError(f"role {self.role.name!r} replies with legal moves only, but the game lists none here")
        at = len(view.tokens)
        options = tuple(self.chat.options(self.role, moves))
        version = self.engine.version(self.policy)
        logprobs = await self._score(tuple(view.tokens), options)
        # If new weights came in between, nobody knows whose the numbers are.
        while (now := self.engine.version(self.policy)) != version:
            version, logprobs = now, await self._score(tuple(view.tokens), options)
        taken = draw(tempered(logprobs, self.role.sampling.temperature), seed)
        view.extend(options[taken])
        context.span, context.stop = (at, len(view.tokens)), "legal"
        context.choices.append(
            Choice(at, options, moves, taken, len(context.views) - 1, context.turn, version, logprobs, drawn=True)
        )
        return self.chat.text(options[taken])

    async def _score(self, prompt: Sequence[int], options: Sequence[Sequence[int]]) -> tuple[float, ...]:
        return tuple(sum(logprobs) for logprobs in await self.engine.score(prompt, options, policy=self.policy))


def tempered(logprobs: Sequence[float], temperature: float) -> list[float]:
    """Probabilities proportional to exp(logprob / temperature); at 0 the first of the best has all."""
    best = max(logprobs)
    if not math.isfinite(best):
        raise ValueError(f"no reply can be drawn from log-probabilities {list(logprobs)}")
    if temperature == 0:
        return [float(i == logprobs.index(best)) for i in range(len(logprobs))]
    weights = [math.exp((logprob - best) / temperature) for logprob in logprobs]
    return [weight / sum(weights) for weight in weights]


def draw(weights: Sequence[float], seed: int) -> int:
    """An index drawn with these weights; `seed` alone decides."""
    sums = list(accumulate(weights))
    if not sums or not sums[-1] > 0:
        raise ValueError(f"can't draw from weights {list(weights)}")
    return min(bisect(sums, random.Random(seed).random() * sums[-1]), len(sums) - 1)


@dataclass(frozen=True)
class RandomAgent:
    """Any legal move, all equally likely."""

    name: str = "random"
    role: Role = WHOLE

    async def act(self, context: Context) -> str:
        legal = context.legal
        if not legal:
            raise ValueError(f"agent {self.name!r} needs a game that lists its legal moves: seat another agent here")
        return self.role.words(legal[derive(*context.seed, context.turn) % len(legal)])

    def suits(self, game: Game, role: str = "") -> None:
        """Raise `Unsuited` for a game that doesn't list legal moves to this role, or to any."""
        needs_listed_moves(self.name, game, role)


def drawn(context: Context, bot: Bot) -> str:
    """A move drawn by the probabilities of a fixed player, "" if it has none; the context's seed alone decides."""
    odds = context.plays(bot) if context.plays else {}
    return list(odds)[draw(list(odds.values()), derive(*context.seed, context.turn))] if odds else ""


@dataclass(frozen=True)
class OracleAgent:
    """The game's own perfect player."""

    name: str = "oracle"
    role: Role = WHOLE

    async def act(self, context: Context) -> str:
        move = drawn(context, lambda game, seat: game.oracle(seat))
        if not move:
            raise ValueError(f"agent {self.name!r} needs a game with an oracle: seat another agent here")
        return self.role.words(move)

    def suits(self, game: Game, role: str = "") -> None:
        """Raise `Unsuited` for a game without an oracle for this role, or for any."""
        never = type(game).oracle is Game.oracle
        if never or not all(game.oracle(seat) for seat in first_turns(game, role)):
            whose = f" for {role!r}" if role and not never else ""
            raise Unsuited(
                f"agent {self.name!r} needs a game with an oracle, which {game} has not{whose}: seat another agent"
            )


@dataclass(frozen=True)
class BotAgent:
    """One of the game's own fixed players, by its name in `Game.bots`."""

    bot: str
    role: Role = WHOLE

    @property
    def name(self) -> str:
        return f"bot:{self.bot}"

    async def act(self, context: Context) -> str:
        return self.role.words(drawn(context, lambda game, seat: game.bot(self.bot)(game, seat)))

    def suits(self, game: Game, role: str = "") -> None:
        """Raise ValueError for a game that has no such bot."""
        game.bot(self.bot)


@dataclass(frozen=True)
class ScriptedAgent:
    """Says these replies, one a turn, word for word; every game begins at the first."""

    replies: Sequence[str]
    name: str = "scripted"
    role: Role = PLAYER

    @classmethod
    def of(cls, file: str) -> Self:
        """The replies that stand in a text file, one a line; raises ValueError where there is none."""
        try:
            lines = Path(file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"agent 'script:{file}' needs a text file of replies, one a line: {error}") from error
        return cls(tuple(lines), f"script:{file}")

    async def act(self, context: Context) -> str:
        if context.turn >= len(self.replies):
            raise ValueError(f"agent {self.name!r} has {len(self.replies)} replies and is asked for one more: add it")
        return self.replies[context.turn]


@dataclass(frozen=True)
class HumanAgent:
    """Somebody at a terminal. A bare legal move will do as a reply; an empty line is asked again.

    Raises `Left` at the end of the input.
    """

    name: str = "human"
    role: Role = WHOLE
    ask: Callable[[str], str] = input
    show: Callable[[str], None] = print

    async def act(self, context: Context) -> str:
        if not context.turn and self.role.system:
            self.show(clean(self.role.system))
        heard = [message["content"] for message in context.messages[context.pending :]]
        for text in heard:
            self.show(clean(text))
        moves = [self.role.words(move) for move in context.legal]
        if any(move not in text for move in moves for text in heard[-1:]):  # many games list them themselves
            self.show("moves: " + " ".join(map(clean, moves)))
        try:
            while not (reply := (await _in_thread(self.ask, f"{self.name}> ")).strip()):
                self.show("say something, please")
        except EOFError as error:
            self.show("")  # the prompt stands on a line of its own
            raise Left(f"nobody answers for {self.name!r} any more") from error
        said = reply if reply in context.legal else PLAYER.move(reply)
        # "bet" and "I take [bet]" will do; what the role understands as it is may be a list in brackets.
        return self.role.words(said) if said and (said == reply or not self.role.move(reply)) else reply


async def _in_thread(ask: Callable[[str], str], prompt: str) -> str:
    """The answer of a blocking question. The thread is a daemon, so that an open question never holds up the exit."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def deliver(result: str, failure: Exception | None) -> None:
        if answer.done():
            return
        if failure is not None:
            answer.set_exception(failure)
        else:
            answer.set_result(result)

    def wait() -> None:
        result, failure = "", None
        try:
            result = ask(prompt)
        except Exception as error:  # noqa: BLE001 - it would end this thread alone, and the answer be awaited for ever
            failure = error
        if not loop.is_closed():  # the game may be over by the time somebody types
            loop.call_soon_threadsafe(deliver, result, failure)

    threading.Thread(target=wait, daemon=True, name="question").start()
    return await answer

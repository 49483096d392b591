"""The exact words and tokens that one seat has seen and said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class CutOff(Exception):
    """The seat's context or token budget is used up: the episode ends as `cut_off`, and nothing is trimmed later."""


class Forfeit(Exception):
    """Raised by an agent, or by whoever watches over it, to give the game up: its seat forfeits."""


class Left(BaseException):
    """Raised by an agent when nobody is there any more: it stops whatever is being played.

    No error of an agent, so nothing that records or forgives those catches it.
    """


@dataclass(frozen=True)
class Choice:
    """The legal replies at one turn, as ids: `options[a]` follow the first `at` tokens of `view`.

    `logprobs[a]` is log p(options[a] | the prefix) when it was asked, before renormalising over the options; None if it
    was not scored. `taken` is the index of the option that was replied, -1 if the reply is none of them. `drawn` says
    that the reply was drawn among the options alone, so its probability is the renormalised one.
    """

    at: int
    options: tuple[tuple[int, ...], ...]
    moves: tuple[str, ...]
    taken: int
    view: int = 0
    turn: int = 0
    version: int = -1
    logprobs: tuple[float, ...] | None = None
    drawn: bool = False


@dataclass
class View:
    """One growing run of tokens; all four arrays always have length T.

    tokens int [T]; mask bool [T], True where sampled; logprobs float [T], 0 where not sampled; versions int [T], the
    policy version that sampled the token, -1 where not sampled; temperatures float [T], 1 where not sampled.
    """

    tokens: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)

    def extend(
        self,
        ids: Sequence[int],
        *,
        logprobs: Sequence[float] | None = None,
        version: int = -1,
        temperature: float = 1.0,
    ) -> None:
        """Append given ids (no `logprobs`) or sampled ones."""
        sampled = logprobs is not None
        if logprobs is not None and len(logprobs) != len(ids):
            raise ValueError(f"{len(ids)} sampled ids but {len(logprobs)} logprobs: they must come from one completion")
        self.tokens += list(ids)
        self.mask += [sampled] * len(ids)
        self.logprobs += list(logprobs) if logprobs is not None else [0.0] * len(ids)
        self.versions += [version if sampled else -1] * len(ids)
        self.temperatures += [temperature if sampled else 1.0] * len(ids)


@dataclass
class Context:
    """Append-only record of one seat: the messages, and the ids exactly as the engine saw and sampled them.

    With memory `full` there is one view that grows; with memory `turn` every turn begins a fresh one. `pending`
    messages have been heard but not yet encoded. `legal` holds the legal moves of the turn that is being asked, where
    the game lists them, and `plays(bot)` asks a fixed player (`arena.game.Bot`) for its probabilities over them;
    neither is part of what a policy reads.
    """

    messages: list[dict[str, str]] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    pending: int = field(default=0, compare=False)  # index of the first message that is not yet in tokens
    sampled: int = 0  # ids sampled over all turns: the output budget
    legal: Sequence[str] = ()
    plays: Callable[[Callable[[Any, str], Mapping[str, float]]], Mapping[str, float]] | None = None
    turn: int = 0  # replies given so far
    seed: tuple[int | str, ...] = ()  # (run seed, step, game, sample, seat): with `turn` it seeds the reply
    span: tuple[int, int] = field(default=(0, 0), compare=False)  # where the last reply lies in its view
    stop: str = field(default="", compare=False)  # how the last reply ended: stop, length or legal (drawn among them)

    @property
    def view(self) -> View:
        return self.views[-1]

    def hear(self, text: str, speaker: str = "user") -> None:
        self.messages.append({"role": speaker, "content": text})

    def said(self, text: str) -> None:
        """Close the turn: the reply joins the messages and is never encoded again."""
        self.messages.append({"role": "assistant", "content": text})
        self.pending = len(self.messages)
        self.turn += 1

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": self.messages,
            "views": [vars(view) for view in self.views],
            "choices": [vars(choice) for choice in self.choices],
            "sampled": self.sampled,
            "turn": self.turn,
            "seed": list(self.seed),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Context:
        choices = [
            Choice(
                **{
                    **choice,
                    "options": tuple(tuple(ids) for ids in choice["options"]),
                    "moves": tuple(choice["moves"]),
                    "logprobs": tuple(choice["logprobs"]) if choice["logprobs"] is not None else None,
                }
            )
            for choice in record["choices"]
        ]
        views = [View(**view) for view in record["views"]]
        messages = list(record["messages"])
        return cls(
            messages, views, choices, len(messages), record["sampled"], turn=record["turn"], seed=tuple(record["seed"])
        )

"""The frozen records that rooms hand to each other; all of them are JSON both ways."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from arena.context import Context

Ending = Literal["over", "forfeit", "truncated", "cut_off", "infra"]
ENDINGS: tuple[Ending, ...] = ("over", "forfeit", "truncated", "cut_off", "infra")
RATED: frozenset[Ending] = frozenset({"over", "forfeit", "truncated"})


def role_of(seat: str) -> str:
    """The role in a seat's name "<role>_<i>"."""
    return seat.rpartition("_")[0]


@dataclass(frozen=True)
class Task:
    """A problem that outlives the episode it was posed in. `payload` is JSON, `id` a hash of the content."""

    id: str
    prompt: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    parents: tuple[str, ...] = ()
    author: str = ""

    @classmethod
    def new(cls, prompt: str, *, parents: tuple[str, ...] = (), author: str = "", **payload: Any) -> Task:
        """A task whose id is the hash of its prompt and payload: equal content, equal id."""
        key = json.dumps([prompt, payload], sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(key.encode(errors="surrogatepass"))  # a model may say half of a surrogate pair
        return cls(digest.hexdigest()[:12], prompt, payload, tuple(parents), author)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Task:
        return cls(**{**record, "parents": tuple(record.get("parents", ()))})


@dataclass(frozen=True)
class Offer:
    """A task that `seat` proposed in play. `gate` names the first check of the game that it failed, "" if it passed."""

    task: Task
    seat: str
    gate: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Offer:
        return cls(**{**record, "task": Task.from_json(record["task"])})


@dataclass(frozen=True)
class Verdict:
    """What a checker says of an answer; `score` is in [0, 1], or None where it could not be scored."""

    score: float | None
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True)
class Turn:
    """One reply of one seat. `span` is (start, stop) of the sampled ids in the seat's context, (0, 0) without tokens.

    `rewards` holds what each seat earned by the stage that this reply completed, and is empty while others still owe
    a move.
    """

    seat: str
    stage: int
    heard: str
    reply: str
    move: str
    legal: bool
    reason: str = ""
    rewards: Mapping[str, float] = field(default_factory=dict)
    span: tuple[int, int] = (0, 0)
    stop: str = ""


@dataclass(frozen=True)
class Episode:
    """One game from its deal to its end: the one artefact of `play`.

    `returns` are sums of rewards by seat, None where they can't be told: the ending is infra, or the game left the seat
    unscored. `faced` maps a seat to the id of the task it was posed. `fault` names the seat that forfeited, was cut off
    or could not reply, if one did. `paid` has what each seat earned by the name of the reward, where the game names its
    rewards; `notes` figures that pay nobody; `marks` whether a seat solved what it faced, where the game says so apart
    from what it pays. `offers` are the tasks that were proposed in play, the refused ones too.
    `kind` is the game's word for deals that are to be compared with each other only, "" where it has but one.
    """

    id: str
    game: str
    seed: int
    task: Task | None
    agents: Mapping[str, str]  # seat -> agent name
    faced: Mapping[str, str]  # seat -> task id
    turns: tuple[Turn, ...]
    contexts: Mapping[str, Context]
    returns: Mapping[str, float | None]
    ending: Ending
    reason: str = ""
    fault: str = ""
    paid: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, bool] = field(default_factory=dict)
    offers: tuple[Offer, ...] = ()
    kind: str = ""

    @property
    def illegal(self) -> bool:
        """Whether any reply in it was illegal."""
        return any(not turn.legal for turn in self.turns)

    def to_json(self) -> dict[str, Any]:
        record = {k: v for k, v in self.__dict__.items() if k not in ("contexts", "turns", "task", "offers")}
        record["task"] = self.task.to_json() if self.task else None
        record["offers"] = [offer.to_json() for offer in self.offers]
        record["turns"] = [asdict(turn) for turn in self.turns]
        record["contexts"] = {seat: context.to_json() for seat, context in self.contexts.items()}
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Episode:
        turns = tuple(Turn(**{**turn, "span": tuple(turn["span"])}) for turn in record["turns"])
        contexts = {seat: Context.from_json(context) for seat, context in record["contexts"].items()}
        task = Task.from_json(record["task"]) if record["task"] else None
        offers = tuple(Offer.from_json(offer) for offer in record.get("offers", ()))
        return cls(**{**record, "turns": turns, "contexts": contexts, "task": task, "offers": offers})


@dataclass(frozen=True)
class Match:
    """What ratings eat: who played whom and how it ended.

    `teams` are tuples of agent names, `scores` one number a team: higher is better, equal scores are a draw. `pool`
    keeps rating lists apart. A match of an unrated ending rates nobody. `fault` names the agent by which it came to a
    forfeit, a cut-off or infra, and `reason` says what happened.
    """

    id: str
    game: str
    teams: tuple[tuple[str, ...], ...]
    scores: tuple[float, ...]
    roles: tuple[tuple[str, ...], ...] = ()
    ending: Ending = "over"
    pool: str = "main"
    episodes: tuple[str, ...] = ()
    fault: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Match:
        nested = {k: tuple(tuple(x) for x in record[k]) for k in ("teams", "roles")}
        return cls(**{**record, **nested, "scores": tuple(record["scores"]), "episodes": tuple(record["episodes"])})

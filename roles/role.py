"""A role is the job that a seat gives to an agent: what it is told and how it answers."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

LIBRARY = Path(__file__).parent / "library"
# From <think> to its end, or to the end of a reply that was cut off; or from the start, where the prompt opened them.
THOUGHTS = re.compile(r"(?s)\A(?:(?!<think>).)*?</think>|<think>.*?(?:</think>|\Z)")


class Memory(StrEnum):
    """`full`: one growing context. `turn`: every turn gets a fresh prompt of its own."""

    full = "full"
    turn = "turn"


class Format(StrEnum):
    """`chat`: through the model's chat template. `raw`: system, then what was heard, as plain text."""

    chat = "chat"
    raw = "raw"


class Reply(StrEnum):
    """`free`: any text, judged by the game. `legal`: drawn among the legal moves by their exact probabilities."""

    free = "free"
    legal = "legal"


class Several(StrEnum):
    """What different moves in one reply mean: `last` wins, or the reply is `invalid`."""

    last = "last"
    invalid = "invalid"


@dataclass(frozen=True)
class Sampling:
    """How replies are drawn: `temperature` 0 is greedy, `max_tokens` counts new tokens of one turn.

    `stop` lists texts that end a reply; each must be a single token of the model. The model's own end of turn always
    stops.
    """

    temperature: float = 1.0
    max_tokens: int = 256
    stop: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Example:
    """One shown turn, put between the system text and the game."""

    heard: str = MISSING
    reply: str = MISSING


@dataclass(frozen=True)
class Role:
    """What a seat is told and how its replies are read.

    `action` is a regex; group 1 of its last match outside the thoughts that isn't empty is the move. `say` turns a move
    into the shortest reply that means it. `budget` limits the sampled tokens of a whole episode (0: no limit).
    """

    name: str = MISSING
    system: str = ""
    action: str = r"\[([^\[\]]+)\]"
    say: str = "[{move}]"
    several: Several = Several.last
    format: Format = Format.chat
    memory: Memory = Memory.full
    reply: Reply = Reply.free
    examples: list[Example] = field(default_factory=list)
    sampling: Sampling = field(default_factory=Sampling)
    budget: int = 0
    policy: str = "live"
    train: bool = True

    def move(self, reply: str) -> str:
        """The move inside `reply`: the last match outside the thoughts; "" if there is none (or several: invalid)."""
        found = [(m[1] or "").strip() for m in re.finditer(self.action, THOUGHTS.sub("", reply))]
        found = [move for move in found if move]
        if self.several is Several.invalid and len(set(found)) > 1:
            return ""
        return found[-1] if found else ""

    def words(self, move: str) -> str:
        """The shortest reply that means `move`."""
        return self.say.replace("{move}", move)


def names() -> list[str]:
    """The roles of the library, by name."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def load(name: str, **changes: Any) -> Role:
    """Read a role by its name in the library or from a YAML path; `changes` override its fields.

    Raises ValueError, one line of what, where and remedy, for an unknown name or key and for values that can't work.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else LIBRARY / f"{name}.yaml"
    if not path.is_file():
        raise ValueError(f"role {name!r} not found: {_meant(name, names()) or 'the library has ' + ', '.join(names())}")
    try:
        content = OmegaConf.load(path)
    except yaml.YAMLError as error:
        raise ValueError(f"role {name!r} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, DictConfig) or not content:
        raise ValueError(f"role {name!r} holds no keys and values: write at least a `name: ...`")
    try:
        role = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Role), content, OmegaConf.create(changes)))
    except ConfigKeyError as error:
        known = [f.name for kind in (Role, Sampling, Example) for f in fields(kind)]
        hint = _meant(str(error.key), known) or f"a role has {', '.join(f.name for f in fields(Role))}"
        raise ValueError(f"role {name!r}: unknown key {str(error.full_key)!r}: {hint}") from error
    except OmegaConfBaseException as error:
        raise ValueError(f"role {name!r}: {str(error).splitlines()[0]}") from error
    assert isinstance(role, Role)  # narrows the type; OmegaConf builds nothing else from this schema
    if fault := _fault(role):
        raise ValueError(f"role {name!r}: {fault}")
    return role


def _meant(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean {near[0]!r}?" if near else ""


def _fault(role: Role) -> str:
    """What keeps a role from working, with the remedy; "" if nothing does."""
    try:
        groups = re.compile(role.action).groups
    except re.error as error:
        return f"action {role.action!r} is not a regular expression: {error}"
    if groups < 1:
        return f"action has no group in {role.action!r}: put the move in parentheses"
    if "{move}" not in role.say:
        return f"say is {role.say!r}: write {{move}} where the move goes"
    if not 0 <= role.sampling.temperature < math.inf:
        return f"temperature is {role.sampling.temperature}: use 0 (greedy) or more"
    if role.sampling.max_tokens < 1:
        return f"max_tokens is {role.sampling.max_tokens}: use at least 1"
    if role.budget < 0:
        return f"budget is {role.budget}: use a number of tokens, or 0 for no limit"
    return ""

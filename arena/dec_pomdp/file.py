"""Dec-POMDPs from files: the .dpomdp format of the MADP toolbox (masplan.org), and the same parts as YAML or a dict.

The format is described in the toolbox's example.dpomdp. Later entries overwrite earlier ones, and what no entry names
is 0. A discount is read and not used: games here end after a number of steps and count every step alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from arena.config import nearest
from arena.dec_pomdp.model import DecPomdp, check_names

HEADS = ("agents", "discount", "values", "states", "start", "start include", "start exclude", "actions", "observations")
TABLES = {"T": "transition", "O": "observation", "R": "reward"}
PARTS = ("states", "start", "actions", "observations", "transition", "observation", "reward")
ENTRY = re.compile(r"\s*([A-Za-z]+(?:\s+(?:include|exclude))?)\s*:(.*)")


class Entry(NamedTuple):
    """One entry of a file: its keyword, its lines after the colon, and the number of its first line."""

    word: str
    lines: list[str]
    number: int


def load(path: str | Path) -> DecPomdp:
    """The model in a file: YAML if its name ends so, else .dpomdp; ValueError says where it is wrong."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"model {str(path)!r} can't be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        if path.suffix in (".yaml", ".yml"):
            return from_mapping(yaml.safe_load(text))
        return parse(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse(text: str) -> DecPomdp:
    """The model that the text of a .dpomdp file describes."""
    heads: dict[str, Entry] = {}
    rows: list[Entry] = []
    for entry in _entries(text):
        if entry.word in TABLES:
            rows.append(entry)
        elif entry.word in HEADS:
            heads[entry.word.split()[0]] = entry
        else:
            raise ValueError(f"line {entry.number}: {_unknown('entry', entry.word, (*HEADS, *TABLES))}")
    for word in ("agents", "states", "start", "actions", "observations"):
        if word not in heads:
            raise ValueError(f"there is no entry '{word}:'")
    told = {word: " ".join(entry.lines).split() for word, entry in heads.items()}
    agents = int(told["agents"][0]) if len(told["agents"]) == 1 and told["agents"][0].isdigit() else len(told["agents"])
    cost = told.get("values", ["reward"])
    if cost not in (["reward"], ["cost"]):
        raise ValueError(f"line {heads['values'].number}: values are {' '.join(cost)!r}: say reward or cost")
    own = {word: [_names(line.split()) for line in heads[word].lines if line] for word in ("actions", "observations")}
    for word, lists in own.items():
        if len(lists) != agents:
            raise ValueError(
                f"line {heads[word].number}: {word} of {len(lists)} agents: there are {agents}, a line each"
            )
    tables = Tables(_names(told["states"]), own["actions"], own["observations"])
    for row in rows:
        try:
            tables.put(TABLES[row.word], *_fields(row))
        except ValueError as error:
            raise ValueError(f"line {row.number}: {error}") from error
    if cost == ["cost"]:
        tables.reward *= -1
    try:
        start = tables.begin(told["start"], heads["start"].word.partition(" ")[2])
    except ValueError as error:
        raise ValueError(f"line {heads['start'].number}: {error}") from error
    return tables.model(start)


def from_mapping(parts: Mapping[str, Any]) -> DecPomdp:
    """The model that these parts describe: states, start, actions and observations (lists by agent), transition,
    observation and reward.

    The tables are mappings from what stands to the left in a .dpomdp file ("listen listen : left") to a number, a row,
    a matrix, or uniform or identity. `start` is uniform, a state, or a mapping from states to probabilities.
    """
    if not isinstance(parts, Mapping):
        raise ValueError(f"a model is a mapping with {', '.join(PARTS)}, not {type(parts).__name__}")
    for part in parts:
        if part not in PARTS:
            raise ValueError(_unknown("part", str(part), PARTS))
    for part in PARTS:
        if part not in parts:
            raise ValueError(f"there is no part {part!r}")
    for part in ("actions", "observations"):
        if not all(isinstance(names, list | tuple) for names in parts[part]):
            raise ValueError(f"{part} are {parts[part]!r}: give a list for each agent")
    tables = Tables(*(_lists(parts[part]) for part in ("states", "actions", "observations")))
    for part in TABLES.values():
        if not isinstance(parts[part], Mapping):
            raise ValueError(f"{part} is {parts[part]!r}: give a mapping such as {{'* : *': uniform}}")
        for key, filling in parts[part].items():
            try:
                tables.put(part, [field.split() for field in str(key).split(":")], filling)
            except ValueError as error:
                raise ValueError(f"{part}: {key!r}: {error}") from error
    start = parts["start"]
    if isinstance(start, Mapping):
        odds = np.zeros(len(tables.states))
        for state, chance in start.items():
            odds[tables.state([str(state)])] = chance
        return tables.model(odds)
    return tables.model(tables.begin([str(start)], ""))


class Tables:
    """The tables of a model while its entries come in."""

    def __init__(self, states: Sequence[str], actions: Sequence[Sequence[str]], observations: Sequence[Sequence[str]]):
        check_names(states, actions, observations)  # before entries look for them
        self.states, self.actions, self.observations = states, actions, observations
        s = len(states)
        a, o = (int(np.prod([len(names) for names in lists])) for lists in (actions, observations))
        self.transition, self.observation = np.zeros((a, s, s)), np.zeros((a, s, o))
        self.reward = np.zeros((a, s, s, o))

    def put(self, part: str, fields: Sequence[Sequence[str]], filling: Any) -> None:
        """Fill what `fields` name: a joint action, then states, and a joint observation."""
        table: np.ndarray = getattr(self, part)
        rest = {
            "transition": (self.state, self.state),
            "observation": (self.state, self.seen),
            "reward": (self.state, self.state, self.seen),
        }
        readers = (self.moves, *rest[part])
        if len(fields) > len(readers):
            raise ValueError(f"{len(fields)} parts before the numbers of a {part}: it has at most {len(readers)}")
        chosen = [read(field) for read, field in zip(readers, fields, strict=False)]
        open_shape = table.shape[len(chosen) :]
        chosen += [list(range(size)) for size in open_shape]
        table[np.ix_(*chosen)] = _filled(filling, open_shape)

    def moves(self, words: Sequence[str]) -> list[int]:
        """The numbers of the joint actions that `words` stand for."""
        return _joint("action", words, self.actions)

    def seen(self, words: Sequence[str]) -> list[int]:
        """The numbers of the joint observations that `words` stand for."""
        return _joint("observation", words, self.observations)

    def state(self, words: Sequence[str]) -> list[int]:
        """The numbers of the states that a word stands for."""
        if len(words) != 1:
            raise ValueError(f"a state is one word, not {' '.join(words)!r}")
        return _numbers("state", words[0], self.states)

    def begin(self, words: Sequence[str], listed: str) -> np.ndarray:
        """The odds of the first state: uniform, one of them, a number for each, or a list to `include` or `exclude`."""
        size = len(self.states)
        named = [i for word in words for i in self.state([word])] if listed else []
        if listed:
            kept = np.isin(np.arange(size), named) == (listed == "include")
            return np.asarray(kept / max(1, kept.sum()))
        if list(words) == ["uniform"]:
            return np.full(size, 1 / size)
        if len(words) == 1 and size > 1:
            return np.isin(np.arange(size), self.state(words)) * 1.0
        return np.asarray(_filled(" ".join(words), (size,)))

    def model(self, start: np.ndarray) -> DecPomdp:
        """The model; its rewards are averaged over what comes next."""
        reward = np.einsum("ast,ato,asto->as", self.transition, self.observation, self.reward, optimize=True)
        actions, observations = (tuple(map(tuple, lists)) for lists in (self.actions, self.observations))
        return DecPomdp(tuple(self.states), actions, observations, self.transition, self.observation, reward, start)


def _entries(text: str) -> Iterator[Entry]:
    found: Entry | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        opened = ENTRY.fullmatch(line)
        if opened:
            if found:
                yield found
            found = Entry(" ".join(opened[1].split()), [opened[2].strip()], number)
        elif line and found is None:
            raise ValueError(f"line {number}: {line!r} belongs to no entry: begin with 'agents:'")
        elif line and found:
            found.lines.append(line)
    if found:
        yield found


def _fields(entry: Entry) -> tuple[list[list[str]], str]:
    """What stands before the last colon, by colons and words, and what stands after it."""
    first, *more = entry.lines
    if more and not first.endswith(":"):
        first += ":"
    *fields, filling = " ".join((first, *more)).split(":")
    if not fields:
        raise ValueError(f"'{entry.word}:' has no colon before its numbers")
    return [field.split() for field in fields], filling.strip()


def _filled(filling: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers in a shape: one for all, one for each, `uniform` along the last axis, or `identity`."""
    words = filling.split() if isinstance(filling, str) else None
    if words == ["uniform"]:
        return np.full(shape, 1 / shape[-1]) if shape else np.array(1.0)
    if words == ["identity"]:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError("identity is a square matrix, and no such one is open here")
        return np.eye(shape[0])
    try:
        numbers = np.array(filling if words is None else words, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{filling!r} isn't a number, a row or a matrix of numbers, uniform or identity") from error
    wanted = int(np.prod(shape))
    if numbers.size not in (1, wanted):
        raise ValueError(f"{numbers.size} numbers where {wanted} are wanted")
    return np.full(shape, numbers.item()) if numbers.size == 1 else numbers.reshape(shape)


def _joint(what: str, words: Sequence[str], lists: Sequence[Sequence[str]]) -> list[int]:
    sizes = [len(names) for names in lists]
    if list(words) == ["*"]:
        return list(range(int(np.prod(sizes))))
    if len(words) == 1 and len(lists) > 1:
        number = words[0]
        if not number.isdigit() or int(number) >= np.prod(sizes):
            raise ValueError(f"{number!r} is no joint {what}: name one for each of {len(lists)} agents, or *")
        return [int(number)]
    if len(words) != len(lists):
        raise ValueError(f"{' '.join(words)!r} is no joint {what}: name one for each of {len(lists)} agents, or *")
    each = [
        _numbers(f"{what} of agent {i}", word, names) for i, (word, names) in enumerate(zip(words, lists, strict=True))
    ]
    return [int(np.ravel_multi_index(parts, sizes)) for parts in product(*each)]


def _numbers(what: str, word: str, names: Sequence[str]) -> list[int]:
    if word == "*":
        return list(range(len(names)))
    if word in names:
        return [names.index(word)]
    if word.isdigit() and int(word) < len(names):
        return [int(word)]
    raise ValueError(_unknown(what, word, names))


def _unknown(what: str, word: str, known: Sequence[str]) -> str:
    near = nearest(word, list(known))
    return f"no {what} {word!r}: " + (f"did you mean {near!r}?" if near else f"there are {', '.join(known)}")


def _names(words: Sequence[str]) -> list[str]:
    """Names as they are listed, or numbers from 0 where only their count is given."""
    return list(map(str, range(int(words[0])))) if len(words) == 1 and words[0].isdigit() else list(words)


def _lists(part: Any) -> Any:
    """Names as text, in lists."""
    return [_lists(item) if isinstance(item, list | tuple) else str(item) for item in part]

"""A new game that already works: its rules, its config, its test."""

from __future__ import annotations

import keyword
from importlib.util import find_spec
from pathlib import Path
from string import Template

from arena.config import ConfigError
from arena.make import names

RULES = '''\
"""$title: two guessers look for a secret number at the same time, and who is nearer wins.

Change the rules below into your own; `pytest test_$name.py` says whether they still keep what the arena relies on.
"""

import random
from collections.abc import Mapping, Sequence

from arena.game import Game, GameInfo, Seats
from arena.types import Task


class $title(Game):
    """Each round both guess a number from 1 to `top` and hear if it was too low or too high; the nearer guess wins."""

    roles = {"guesser": 2}
    info = GameInfo(zero_sum=True, simultaneous=True, chance=True)

    def __init__(self, top: int = 9, rounds: int = 2):
        self.top, self.rounds = top, rounds

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.secret, self.left = rng.randint(1, self.top), self.rounds
        self.hints: dict[str, tuple[str, ...]] = {"guesser_0": (), "guesser_1": ()}
        self.tell(f"Guess a number from 1 to {self.top}. You have {self.rounds} guesses; the last one counts.")
        return "guesser_0", "guesser_1"

    def legal(self, seat: str) -> Sequence[str]:
        return [str(number) for number in range(1, self.top + 1)]

    def play(self, moves: Mapping[str, str]) -> Seats:
        self.left -= 1
        misses = {seat: abs(int(guess) - self.secret) for seat, guess in moves.items()}
        if self.left == 0:
            first, second = misses["guesser_0"], misses["guesser_1"]
            gain = float((first < second) - (first > second))
            self.score(guesser_0=gain, guesser_1=-gain)
            return ()
        for seat, guess in moves.items():
            hint = "right" if int(guess) == self.secret else "too low" if int(guess) < self.secret else "too high"
            self.hints[seat] += (f"{guess} is {hint}",)
            self.tell(f"{guess} is {hint}. Guess again.", seat)
        return "guesser_0", "guesser_1"

    def knows(self, seat: str) -> tuple[str, ...]:
        return self.hints[seat]

    def state_text(self) -> str:
        return f"secret {self.secret}, {self.left} guesses left"
'''

CONFIG = """\
# One model in both seats, so small that a step takes a second. For a real one: model=smollm2-135m
name: $name
model: tiny
steps: 1
game: {name: "$name:$title"}
seats:
  guesser:
    changes:
      system: You guess numbers. Answer with one number in square brackets, like [5].
      sampling: {max_tokens: 8}
rollout: {deals: 2, samples: 2}
"""

TEST = '''\
"""What every game must keep: PettingZoo's contract, equal seeds give equal games, nothing hidden is shown."""

from arena.testing import check_game

from $name import $title


def test_${name}_keeps_the_contract():
    check_game($title)
'''


def game(name: str, folder: Path) -> list[Path]:
    """Write `<name>.py`, `<name>.yaml` and `test_<name>.py`; raises ConfigError and writes nothing if any can't be."""
    if name in names():
        raise ConfigError(f"{name!r} is the name of a built-in game", remedy=f"take another one, like my_{name}")
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    if not plain or name.startswith("_") or name != name.lower():
        raise ConfigError(f"{name!r} can't name a game", remedy="use lower-case letters, digits and _, like my_game")
    if not folder.is_dir():
        raise ConfigError("no such folder", str(folder), remedy="make it first")
    texts = {f"{name}.py": RULES, f"{name}.yaml": CONFIG, f"test_{name}.py": TEST}
    taken = [file for file in texts if (folder / file).exists()]
    if taken:
        raise ConfigError(f"{', '.join(taken)} exists already", str(folder), remedy="take another name or --dir")
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:
        raise ConfigError(f"{name!r} is the name of an installed module", remedy=f"take another one, like my_{name}")
    title = "".join(word.title() for word in name.split("_")) or name
    written = []
    for file, text in texts.items():
        path = folder / file
        path.write_text(Template(text).substitute(name=name, title=title), encoding="utf-8")
        written.append(path)
    return written

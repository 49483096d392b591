"""Agents by a word: `random`, `oracle`, `human`, or a model with the role that it plays."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from arena import terminal
from arena.agent import Agent, HumanAgent, LLMAgent, OracleAgent, RandomAgent
from arena.chat import Chat
from arena.engines import Engine
from roles import Role, load

POLICY = "policy"  # the word for the agent that learns, in a training config
ROLE_FILE = "role.yaml"  # what an exported agent carries
SIMPLE: Mapping[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "oracle": OracleAgent,
    "human": partial(HumanAgent, show=terminal.say),
}


class Cast:
    """Makes agents; a model that several of them share is loaded once. `progress` hears what takes long."""

    def __init__(self, progress: Callable[[str], None] = terminal.note):
        self.progress = progress
        self._loaded: dict[Path, tuple[Engine, Chat]] = {}

    def agent(self, word: str) -> Agent:
        """One of SIMPLE, `MODEL@ROLE`, or an exported folder, which has its role.

        ROLE is a name of the library or a YAML file, MODEL whatever `scrimmage model find` finds. Raises ValueError
        with the nearest match.
        """
        if word in SIMPLE:
            return SIMPLE[word]()
        path, role = self.find(word)
        if path not in self._loaded:
            model, tokenizer = import_module("arena.engines.models").load(path)
            transformer = import_module("arena.engines.transformer").Transformer(model)
            self._loaded[path] = import_module("arena.engines.torch").TorchEngine(transformer), Chat(tokenizer)
        return LLMAgent(word, role, *self._loaded[path])

    def find(self, word: str) -> tuple[Path, Role]:
        """The folder and the role of a model's word, without loading it; raises ValueError as `agent` does."""
        model, at, name = word.rpartition("@") if "@" in word else (word, "", "")
        near = difflib.get_close_matches(word, SIMPLE, 1)
        if near and not at and not Path(model).exists():
            raise ValueError(f"agent {word!r} not found: did you mean {near[0]!r}?")
        carried = Path(model) / ROLE_FILE
        role = load(name or (str(carried) if carried.is_file() else "player"))
        models = import_module("arena.engines.models")
        path: Path = models.find(model, self.progress)
        models.speaks(path, [role])
        return path, role

"""Agents by a word: one that needs no model, such as `random`, or a model with the role that it plays."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from arena import folder, terminal
from arena.agent import Agent, BotAgent, HumanAgent, LLMAgent, OracleAgent, RandomAgent, ScriptedAgent
from arena.chat import Chat
from arena.engines import Engine
from arena.game import Game
from arena.search import SearchAgent
from arena.suited import needs_listed_moves
from roles import Reply, Role, load

POLICY = "policy"  # the word for the agent that learns, in a training config
BASE = "base"  # and for the model that it began as, which stays so
ROLE_FILE = "role.yaml"  # what an exported agent carries
RUN_FILE = "config.yaml"  # what a run carries
SIMPLE: Mapping[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "oracle": OracleAgent,
    "human": partial(HumanAgent, show=terminal.say),
    "mcts": SearchAgent,
}
SAYING: Mapping[str, Callable[[str], Agent]] = {  # by what comes before a colon
    "bot": BotAgent,
    "mcts": SearchAgent.of,
    "script": ScriptedAgent.of,
}


def plain(word: str) -> Agent | None:
    """The agent of a word that needs no model: one of SIMPLE, or of SAYING such as `bot:NAME`; None for any other."""
    kind, _, rest = word.partition(":")
    if rest and kind in SAYING:
        return SAYING[kind](rest)
    return SIMPLE[word]() if word in SIMPLE else None


def trained(word: str) -> tuple[Path, int | None, str] | None:
    """The run, the step (None: the newest) and the role of `runs/kuhn@first` or
    `runs/kuhn/checkpoints/step_000030@first`; None for any other word.
    """
    place, _, role = word.rpartition("@") if "@" in word else (word, "", "")
    path = Path(place)
    number = path.name.removeprefix("step_")
    if path.parent.name == "checkpoints" and number.isdecimal() and (path.parent.parent / RUN_FILE).is_file():
        return path.parent.parent, int(number), role
    return (path, None, role) if (path / RUN_FILE).is_file() and (path / "checkpoints").is_dir() else None


class Cast:
    """Makes agents; a model that several of them share is loaded once. `progress` hears what takes long."""

    def __init__(self, progress: Callable[[str], None] = terminal.note):
        self.progress = progress
        self._loaded: dict[Path, tuple[Engine, Chat]] = {}

    def agent(self, word: str) -> Agent:
        """What `plain` knows, `MODEL@ROLE`, an exported folder, which has its role, or a run or checkpoint: `RUN@ROLE`.

        ROLE is a name of the library or a YAML file, MODEL whatever `scrimmage model find` finds. Raises ValueError
        with the nearest match.
        """
        if (agent := plain(word)) is not None:
            return agent
        if (policy := trained(word)) is not None:
            run, step, seat = policy
            saved = import_module("trainers.saved")
            found: Agent = saved.agent(run, saved.check(run, step, seat), seat, word)
            return found
        path, role = self.find(word)
        if path not in self._loaded:
            model, tokenizer = import_module("arena.engines.models").load(path)
            transformer = import_module("arena.engines.transformer").Transformer(model)
            self._loaded[path] = import_module("arena.engines.torch").TorchEngine(transformer), Chat(tokenizer)
        return LLMAgent(word, role, *self._loaded[path])

    def check(self, word: str, game: Game, role: str = "") -> None:
        """Raise ValueError for a word that is no agent's, `Unsuited` for an agent who can't play `game` in this role.

        The role may be a seat too, and "" means any. No model is loaded.
        """
        agent = plain(word)
        if agent is None and (policy := trained(word)) is not None:
            import_module("trainers.saved").check(*policy)
        elif agent is None:
            if self.find(word)[1].reply is Reply.legal:
                needs_listed_moves(word, game, role)
        elif isinstance(agent, RandomAgent | OracleAgent | BotAgent | SearchAgent):
            agent.suits(game, role)

    def checksum(self, word: str) -> str:
        """A sha256 of the files that the agent of a word is made of, as they are now; "" where the word says it all.

        Raises ValueError as `agent` does.
        """
        if plain(word) is not None:
            kind, _, rest = word.partition(":")
            return folder.sha256(Path(rest)) if kind == "script" else ""
        if (policy := trained(word)) is not None:
            run, step, seat = policy
            saved = import_module("trainers.saved").check(run, step, seat)
            return _contents(run / "checkpoints" / f"step_{saved:06d}", f"step {saved}")
        path, _ = self.find(word)
        role = Path(word.rpartition("@")[2] if "@" in word else path / ROLE_FILE)
        return _contents(path, role.read_text(encoding="utf-8") if role.is_file() else "")

    def find(self, word: str) -> tuple[Path, Role]:
        """The folder and the role of a model's word, without loading it; raises ValueError as `agent` does."""
        model, at, name = word.rpartition("@") if "@" in word else (word, "", "")
        kind, colon, rest = word.partition(":")
        near = difflib.get_close_matches(kind, SAYING if rest else SIMPLE, 1)
        if near and not at and not Path(model).exists():
            raise ValueError(f"agent {word!r} not found: did you mean {near[0] + colon + rest!r}?")
        carried = Path(model) / ROLE_FILE
        role = load(name or (str(carried) if carried.is_file() else "player"))
        import_module("arena.engines.shelf").check(model)  # before torch is imported, which takes seconds
        models = import_module("arena.engines.models")
        path: Path = models.find(model, self.progress)
        models.speaks(path, [role])
        return path, role


def _contents(path: Path, beside: str) -> str:
    """A sha256 of a text and of what a sealed folder holds; of any other folder nothing is known."""
    sealed = (path / folder.MANIFEST).is_file()
    files = {name: file["sha256"] for name, file in folder.manifest(path)["files"].items()} if sealed else {}
    return hashlib.sha256(json.dumps([beside, files], sort_keys=True).encode()).hexdigest()

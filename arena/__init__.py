"""Games are played here.

`arena.make("kuhn_poker")` is a PettingZoo environment whose moves are words; `await arena.play(game, agents, seed=1)`
plays one to its end. What needs a model or a file lives a door further: `arena.engines`, `arena.store`, `arena.config`.
"""

from arena.agent import Agent, HumanAgent, LLMAgent, OracleAgent, RandomAgent, ScriptedAgent
from arena.context import Context
from arena.game import Game, GameInfo, IllegalMove
from arena.make import make, names
from arena.play import Job, play, play_many
from arena.types import Episode, Match, Task, Turn, Verdict

__all__ = [
    "Agent",
    "Context",
    "Episode",
    "Game",
    "GameInfo",
    "HumanAgent",
    "IllegalMove",
    "Job",
    "LLMAgent",
    "Match",
    "OracleAgent",
    "RandomAgent",
    "ScriptedAgent",
    "Task",
    "Turn",
    "Verdict",
    "make",
    "names",
    "play",
    "play_many",
]

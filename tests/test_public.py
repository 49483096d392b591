"""The front door: what people may rely on, and no more."""

import asyncio
import inspect

import arena
from arena import RandomAgent, play
from arena.game import Game
from arena.make import make
from arena.types import Episode

DOOR = [
    *("Agent", "Context", "Episode", "Game", "GameInfo", "HumanAgent", "IllegalMove", "Job", "LLMAgent", "Match"),
    *("OracleAgent", "RandomAgent", "ScriptedAgent", "Task", "Turn", "Verdict", "make", "names", "play", "play_many"),
]


def test_these_names_are_exported_and_no_others():
    assert arena.__all__ == DOOR
    assert len(DOOR) <= 20


def test_every_exported_name_says_what_it_is():
    for name in arena.__all__:
        assert (inspect.getdoc(getattr(arena, name)) or "").strip(), name


def test_the_verbs_of_the_door_are_functions_even_where_a_module_has_their_name():
    assert arena.make is make
    assert inspect.iscoroutinefunction(arena.play)
    assert callable(arena.names)


def test_a_game_is_played_through_the_door():
    game = arena.make("kuhn_poker")
    assert isinstance(game, Game)
    episode = asyncio.run(play(game, dict.fromkeys(game.roles, RandomAgent()), seed=1))
    assert isinstance(episode, Episode)
    assert episode.ending == "over"
    assert sum(gain for gain in episode.returns.values() if gain is not None) == 0.0

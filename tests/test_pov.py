"""The record for one seat: all that it heard and said, and nothing of anybody else."""

import asyncio
import json

import pytest

from arena.agent import ScriptedAgent
from arena.make import make
from arena.play import play
from arena.pov import pov


def test_it_holds_the_seat_s_own_turns_and_no_other_s_card_or_thought():
    agents = {"first": ScriptedAgent(["<think>a secret</think>[bet]"]), "second": ScriptedAgent(["[fold]"])}
    episode = asyncio.run(play(make("kuhn_poker"), agents, seed=3))
    record = pov(episode, "second_0")
    assert record["turns"] == [
        {"heard": episode.turns[1].heard, "reply": "[fold]", "move": "fold", "legal": True, "reason": ""}
    ]
    assert (record["ending"], record["return"]) == ("over", -1.0)
    assert "secret" not in json.dumps(record)
    assert "secret" in json.dumps(pov(episode, "first_0"))


def test_a_seat_that_is_not_there_is_told():
    agents = {"first": ScriptedAgent(["[bet]"]), "second": ScriptedAgent(["[fold]"])}
    episode = asyncio.run(play(make("kuhn_poker"), agents, seed=3))
    with pytest.raises(ValueError, match="kuhn_poker has no seat 'third_0': it has first_0, second_0"):
        pov(episode, "third_0")

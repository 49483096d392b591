"""However large a game is asked for, it is ready within two seconds, or refused in one line that states the bound."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing
from inspect import signature
from pathlib import Path

import pytest

from arena.make import find, names

ROOT = Path(__file__).parent.parent
SECONDS = 2  # of this process's own time, for the machine may be busy
HUGE = 10**9, 10**20
# A child for every question: the alarm ends it wherever it is, in a loop in C too, and then it has said nothing.
ASK = """
import json, os, signal, sys
from arena.make import make

def answer(name, param, value):
    try:
        game = make(name, **{param: value})
    except ValueError as error:
        return str(error)
    game.reset(seed=1)
    for seat in game.acting:
        game.observe(seat), game.legal(seat)
    return "ready"

for line in sys.stdin:
    name, param, value = json.loads(line)
    make(name).reset(seed=1)  # loading isn't timed
    if not os.fork():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        said = answer(name, param, value)
        os.write(1, (json.dumps([name, param, value, said]) + "\\n").encode())
        os._exit(0)
    os.wait()
"""


def whole(name):
    """The parameters of a game that are whole numbers, or lists of them, each with huge ones."""
    hints = typing.get_type_hints(find(name).__init__)
    for param, taken in signature(find(name)).parameters.items():
        if int in (hints[param], *typing.get_args(hints[param])):
            yield from ((name, param, huge if isinstance(taken.default, int) else [huge]) for huge in HUGE)


EVERY = [question for name in names() for question in whole(name)]


def asked(questions, seconds=SECONDS):
    """What was said to each (game, parameter, value); nothing where it took too long."""
    told = "".join(json.dumps(question) + "\n" for question in questions)
    command = [sys.executable, "-c", ASK.replace("SECONDS", str(seconds))]
    run = subprocess.run(command, input=told, capture_output=True, text=True, check=True, cwd=ROOT, timeout=300)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    return {(name, param, repr(value)): said for name, param, value, said in answers}


def bound(said):
    """The largest number in the remedy of a refusal."""
    return max(map(int, re.findall(r"\d+", said.rpartition(": ")[2])))


@pytest.fixture(scope="module")
def answers():
    return asked(EVERY)


def test_every_size_of_every_game_is_asked_for():
    sizes = {(name, param) for name, param, _ in EVERY}
    assert len(sizes) > 70
    assert {("nim", "heaps"), ("blotto", "fields"), ("proposer_solver", "solvers"), ("dec_tiger", "horizon")} <= sizes


@pytest.mark.parametrize(("name", "param", "value"), EVERY)
def test_a_huge_size_is_refused_at_once_with_the_bound(answers, name, param, value):
    said = answers.get((name, param, repr(value)), f"nothing within {SECONDS} s")
    if said != "ready":
        assert said.startswith(f"game '{name}' with "), said
        assert "\n" not in said
        assert bound(said) < min(HUGE), said


def test_what_is_just_within_the_bound_is_answered_in_time(answers):
    largest = []
    for name, param, value in EVERY[:: len(HUGE)]:
        if (said := answers[name, param, repr(value)]) != "ready":
            largest.append((name, param, [bound(said)] if isinstance(value, list) else bound(said)))
    found = asked(largest)
    assert [(name, param, value) for name, param, value in largest if (name, param, repr(value)) not in found] == []
    assert sum(said == "ready" for said in found.values()) > 60


def test_a_game_that_takes_too_long_is_seen():
    (said,) = asked([("nim", "heaps", [3])]).values()
    assert said == "ready"
    assert asked([("riddles", "held_out", 300)], seconds=0.001) == {}

"""What all houses share: words that can be said, roles, names, and a position that is made again from its moves."""

import copy
import pickle
import random

import numpy as np
import pytest

from arena.foreign import choices, is_foreign, roles_of, sayable
from arena.foreign.replay import Replay
from arena.make import names


def test_words_that_are_alike_are_told_apart_and_stand_in_brackets():
    assert sayable(["Bid", "Bid", "Bid"]) == ("Bid", "Bid #2", "Bid #3")
    assert sayable(["Bid", "Bid #2", "Bid"]) == ("Bid", "Bid #2", "Bid #3")
    assert sayable(["[P0]  Take\n[1]", ""]) == ("(P0) Take (1)", "-")


def test_a_long_list_of_words_is_cut_and_counted():
    assert choices(("a", "b")) == "Actions: [a] [b]"
    assert choices(("a", "b", "c"), 2) == "Actions: [a] [b] ... (3 in all)"


def test_seats_that_differ_have_roles_that_differ():
    assert roles_of(1) == {"player": 1}
    assert roles_of(3) == {"first": 1, "second": 1, "third": 1}
    assert roles_of(11) == {"player": 11}


def test_foreign_names_are_told_from_our_own():
    assert is_foreign("openspiel:hex")
    assert not is_foreign("openspiel")
    assert not is_foreign("games.nim:Nim")
    assert not any(is_foreign(name) for name in names())


class Die:
    """Adds what it rolls with the global streams; refuses 13, after it has rolled."""

    def __init__(self, seed):
        self.total = [seed]

    def take(self, sides):
        self.total.append(random.randrange(sides) + int(np.random.randint(sides)))
        if sides == 13:
            raise ValueError("unlucky")


def rolled(moves, seed=5):
    replay = Replay(Die, seed)
    for sides in moves:
        replay.play(sides)
    return replay


def test_a_position_is_its_seed_and_its_moves():
    replay = rolled([6, 20])
    for other in (rolled([6, 20]), copy.deepcopy(replay), pickle.loads(pickle.dumps(replay))):
        assert other.now.total == replay.now.total
        other.play(6)
        assert len(replay.now.total) == 3
    assert rolled([6, 20], seed=6).now.total[1:] != replay.now.total[1:]


@pytest.mark.parametrize("foul", [False, True])
def test_an_attempt_changes_nothing_that_can_be_seen(foul):
    """Not even the numbers that are drawn next, whether or not it is refused."""
    replay, twin = rolled([6]), rolled([6])
    if foul:
        for ask in (replay.attempt, replay.play):
            with pytest.raises(ValueError, match="unlucky"):
                ask(13)
    else:
        replay.attempt(20)
    assert replay.now.total == twin.now.total
    assert replay.moves == (6,)
    replay.play(8)
    twin.play(8)
    assert replay.now.total == twin.now.total


def test_global_streams_are_neither_read_nor_moved():
    random.seed(1)
    np.random.seed(1)
    before, numpy_before = random.getstate(), np.random.get_state()[1].tolist()
    once = rolled([6, 6, 6]).now.total
    assert random.getstate() == before
    assert np.random.get_state()[1].tolist() == numpy_before
    random.seed(2)
    np.random.seed(2)
    assert rolled([6, 6, 6]).now.total == once

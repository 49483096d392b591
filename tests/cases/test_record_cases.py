"""Situations in which what was said was lost, or stood under another's name, on its way to a reader."""

import asyncio
import json
from itertools import permutations

import pytest

import arena
from arena.cli import main
from arena.game import Game, GameInfo
from arena.match import match_of
from arena.pov import pov
from arena.store import Store
from roles import load

SEATS = ("speaker_0", "speaker_1", "speaker_2")


class Round(Game):
    """Three seats speak in turn, five times each; every one hears only what was said since its last turn."""

    roles = {"speaker": 3}
    info = GameInfo(perfect_information=True)

    def start(self, rng, task):
        self.said = 0
        self.tell("begin", SEATS[0])
        return (SEATS[0],)

    def parse(self, seat, text):
        return text

    def play(self, moves):
        ((seat, text),) = moves.items()
        self.said += 1
        self.score(**{seat: 0.5 + self.said})
        self.tell(f"{seat} said {text}", *(other for other in SEATS if other != seat))
        return () if self.said == 15 else (SEATS[self.said % 3],)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store with a game of fifteen turns, of agents that forget everything after each."""
    role = load("player", memory="turn")
    agents = {
        seat: arena.ScriptedAgent([f"[word {3 * i + s}]" for i in range(5)], seat, role) for s, seat in enumerate(SEATS)
    }
    episode = asyncio.run(arena.play(Round(), agents, seed=1))
    path = tmp_path_factory.mktemp("kept") / "store.db"
    with Store(path) as store:
        store.add(match_of(episode, Round(), id="m"), [episode])
    return path


def test_every_turn_of_every_seat_is_shown_in_order_with_what_it_heard_and_earned(kept, capsys):
    """O-51: fifteen turns of three seats whose prompts hold no earlier turn; the last prompt alone is not the game."""
    assert main(["replay", str(kept), "m"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"[word {i}]") for i in range(15)]
    assert places == sorted(places)
    assert main(["replay", str(kept), "m", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    turns = record["turns"]
    assert [turn["reply"] for turn in turns] == [f"[word {i}]" for i in range(15)]
    assert [turn["seat"] for turn in turns] == list(SEATS) * 5
    assert [turn["rewards"][turn["seat"]] for turn in turns] == [1.5 + i for i in range(15)]
    for i, turn in enumerate(turns[3:], 3):  # what the other two have said since
        assert turn["heard"] == "\n".join(f"{SEATS[j % 3]} said word {j}" for j in (i - 2, i - 1))


def hands(order):
    """One deal of three, with each agent named by its place in `order`."""
    game = arena.make("kuhn_poker", seats=3)
    agents = {role: arena.RandomAgent(name=f"agent {i}") for role, i in zip(game.roles, order, strict=True)}
    return asyncio.run(arena.play(game, agents, seed=3))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_every_section_of_a_record_belongs_to_its_owner(order):
    """O-09: view(i) under a permutation p of the agents is view(p(i)): the seat keeps its hand, the name moves."""
    usual, moved = hands(range(3)), hands(order)
    for place, seat in enumerate(usual.agents):
        assert moved.agents[seat] == f"agent {order[place]}"
        heard = [turn["heard"] for turn in pov(usual, seat)["turns"]]
        assert [turn["heard"] for turn in pov(moved, seat)["turns"]] == heard
        cards = {text.split("Card: ")[1][0] for text in heard}
        assert len(cards) == 1, "a seat was shown two hands"
    assert len({pov(usual, seat)["turns"][0]["heard"].split("Card: ")[1][0] for seat in usual.agents}) == 3

"""A designer is paid for games whose outcome is open, and can set nothing that a game does not declare."""

import asyncio
import random

import pytest

import arena
from arena.curriculum import Curriculum, CurriculumConfig
from arena.testing import check_game
from arena.types import Task
from games.environment_designer import EnvironmentDesigner, read


def designed(*said, task=None, **players):
    """An episode of two tables in which the designer says these words; seats not named in `players` are oracles."""
    game = EnvironmentDesigner("nim", tables=2)
    seats = {seat: arena.OracleAgent() for seat in game.possible_agents}
    seats |= {"designer_0": arena.ScriptedAgent([f"[{word}]" for word in said]), **players}
    return asyncio.run(arena.play(game, seats, seed=1, task=task))


def test_the_contract_holds():
    check_game(lambda: EnvironmentDesigner("nim", tables=2), games=3)


def test_a_won_game_pays_the_designer_nothing_since_p_is_1():
    episode = designed("heaps=2,3 misere=false")
    assert episode.notes == {"p": 1.0}
    assert episode.returns == {"designer_0": 0.0, "first_0": 1.0, "first_1": 1.0, "second_0": -1.0, "second_1": -1.0}


def test_half_of_the_tables_won_pays_1():
    """From 1 and 2 the only winning move is B1; a first seat that takes A1 leaves 2, of which the second takes all."""
    episode = designed("heaps=1,2", first_1=arena.ScriptedAgent(["[A1]"]))
    assert episode.notes == {"p": 0.5}
    assert episode.paid["designer_0"] == {"open": 1.0}


def test_the_most_that_a_designer_can_earn_is_what_is_known():
    lost = {f"first_{i}": arena.ScriptedAgent(["[A1]"]) for i in range(2)}
    paid = [
        designed("heaps=1,2", **dict(list(lost.items())[:tables])).paid.get("designer_0", {}).get("open", 0.0)
        for tables in range(3)
    ]
    assert paid == [0.0, EnvironmentDesigner().known["designer_max"], 0.0]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("heaps=2,9", "heaps can't be 2,9"),
        ("heap=2,3", "did you mean 'heaps'?"),
        ("misere=1", "misere can't be 1: it is one of false true"),
    ],
)
def test_what_the_game_does_not_declare_is_refused_and_recorded(said, reason):
    episode = designed(said)
    (offer,) = episode.offers
    assert offer.gate == "schema"
    assert reason in offer.reason
    assert episode.paid["designer_0"] == {"invalid": -0.5}
    assert [turn.seat for turn in episode.turns] == ["designer_0"]


def test_an_admitted_design_is_offered_as_a_task_that_plays_again_without_a_designer():
    (offer,) = designed("heaps=2,3").offers
    assert (offer.gate, offer.seat) == ("", "designer_0")
    again = designed(task=Task.from_json(offer.task.to_json()))
    assert [turn.seat for turn in again.turns][:2] == ["first_0", "first_1"]
    assert set(again.faced.values()) == {offer.task.id}
    assert again.returns["designer_0"] == 0.0


def test_a_task_that_the_game_does_not_take_is_refused_by_name():
    task = Task.new("nim", params={"heap": [5, 5]})
    with pytest.raises(ValueError, match="game 'nim' has no parameter 'heap': did you mean 'heaps'"):
        EnvironmentDesigner("nim").reset(seed=0, options={"task": task})


def test_one_table_may_end_before_the_other():
    """The first takes B3 and leaves A1 to its opponent; at the other table everything is taken one by one."""
    episode = designed(
        task=Task.new("nim", params={"heaps": [1, 3]}),
        first_0=arena.ScriptedAgent(["[B3]"]),
        second_0=arena.ScriptedAgent(["[A1]"]),
        first_1=arena.ScriptedAgent(["[A1]", "[B1]"]),
        second_1=arena.ScriptedAgent(["[B1]"] * 2),
    )
    assert episode.ending == "over"
    assert [turn.seat for turn in episode.turns] == [
        "first_0",
        "first_1",
        "second_0",
        "second_1",
        "first_1",
        "second_1",
    ]
    assert episode.notes == {"p": 0.0}


def forfeited(task=None):
    """Two tables of one heap of three and one of one: at table 0 the second is silent, at table 1 both are oracles."""
    game = EnvironmentDesigner("nim", tables=2)
    agents = {seat: arena.OracleAgent() for seat in game.possible_agents}
    agents |= {"designer_0": arena.ScriptedAgent(["[heaps=1,3]"]), "second_0": arena.ScriptedAgent(["hm", "hm"])}
    return asyncio.run(arena.play(game, agents, seed=1, task=task))


@pytest.mark.parametrize("task", [None, Task.new("nim", params={"heaps": [1, 3]})])
def test_who_gives_up_loses_at_its_own_table_and_no_zero_is_made_up_for_others(task):
    """O-22: nothing can be told of table 1, which was going on, nor of a design of which one table has no end."""
    episode = forfeited(task)
    assert (episode.ending, episode.fault) == ("forfeit", "second_0")
    assert [episode.returns[seat] for seat in ("first_0", "second_0")] == [1.0, -1.0]
    assert [episode.returns[seat] for seat in ("first_1", "second_1")] == [None, None]
    assert episode.returns["designer_0"] == (None if task is None else 0.0)


def test_a_table_that_was_over_keeps_its_result_when_another_gives_up():
    """Table 0 ends after two moves; at table 1 the first has to move once more, and is silent."""
    episode = designed(
        task=Task.new("nim", params={"heaps": [1, 3]}),
        first_0=arena.ScriptedAgent(["[B3]"]),
        second_0=arena.ScriptedAgent(["[A1]"]),
        first_1=arena.ScriptedAgent(["[A1]", "hm", "hm"]),
        second_1=arena.ScriptedAgent(["[B1]"]),
    )
    assert (episode.ending, episode.fault) == ("forfeit", "first_1")
    assert episode.returns == {"designer_0": 0.0, "first_0": -1.0, "first_1": -1.0, "second_0": 1.0, "second_1": 1.0}


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_team_has_won_where_it_reaches_par_and_a_pool_hears_of_it(right):
    """Par of two states and one word is 1/2, which a right answer passes and a wrong one, worth 0, doesn't."""
    game = EnvironmentDesigner("lewis_signalling", tables=2)
    game.reset(seed=3)
    game.step("states=2 words=1")
    while seat := game.turn():
        table = int(seat[-1])
        state = game.boards[table].state
        other = next(name for name in game.boards[table].states if name != state)
        game.step("ba" if seat.startswith("sender") else state if table < right else other)
    assert game.notes == {"p": right / 2}
    assert game.paid["designer_0", "open"] == (1.0 if right == 1 else 0.0)
    assert game.marks == {f"{role}_{i}": i < right for role in ("sender", "receiver") for i in (0, 1)}


def test_designs_fill_a_pool_that_knows_how_open_each_is():
    """What an oracle wins always as the first, and what it never can: both are known after a game of four tables."""
    pool = Curriculum(CurriculumConfig(past=0.5, solver="first", samples=4))
    game = EnvironmentDesigner("nim")
    for step, heaps in enumerate(("1,2", "2,2")):
        agents = {role: arena.OracleAgent() for role in ("first", "second")}
        agents["designer"] = arena.ScriptedAgent([f"[heaps={heaps} misere=false]"])
        pool.absorb(step, [asyncio.run(arena.play(game, agents, seed=step))])
    assert [entry.p for entry in pool.live()] == [1.0, 0.0]
    assert {entry.state for entry in pool.live()} == {"active"}
    agents["designer"] = arena.ScriptedAgent(["[heaps=2,2 misere=false]"])
    figures = pool.absorb(2, [asyncio.run(arena.play(game, agents, seed=2))])
    assert figures["curriculum/refused/duplicate"] == 1.0
    (task,) = pool.choose(1, random.Random(0))
    again = asyncio.run(arena.play(game, agents, seed=3, task=task))
    assert set(again.faced.values()) == {task.id}


def test_every_reward_has_a_name():
    for episode in (designed("heaps=1,2"), designed("heaps=9"), forfeited()):
        for seat, value in episode.returns.items():
            if value is not None:
                assert sum(episode.paid.get(seat, {}).values()) == value


MALFORMED = ["", "heaps", "heaps=", "=3", "a=1 a=2", "a=1 b", "a=1=2", "1a=2", "a=" + "1" * 300]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_design_is_illegal(text):
    with pytest.raises(arena.IllegalMove):
        read(text)


def test_every_listed_design_is_one_that_the_game_takes():
    game = EnvironmentDesigner("nim")
    game.reset(seed=0)
    listed = game.legal("designer_0")
    assert len(listed) == 15 * 2
    for text in listed:
        game.reset(seed=0)
        game.step(text)
        assert game.offers[0].gate == ""


def test_a_game_without_designs_is_refused():
    with pytest.raises(ValueError, match="declares no designs"):
        EnvironmentDesigner("kuhn_poker")

"""Undercover: who is out when, what it costs whom, and that nobody knows whose word is the other one."""

import asyncio
from statistics import fmean

import pytest

import arena
from arena.agent import BotAgent
from arena.testing import check_game
from games._words import PAIRS, WORDS
from games.undercover import Undercover


def dealt(odd="player_2", **params):
    """The first seed by which that seat is the odd one."""
    game = Undercover(**params)
    for seed in range(100):
        game.reset(seed=seed)
        if game.odd == odd:
            return game
    raise AssertionError(odd)


def stage(game, *moves):
    """Everybody's move; the rewards of the stage."""
    for move in moves:
        assert game.turn()
        game.step(move)
        assert not game.judged, game.judged
    return {seat: reward for seat, reward in game.rewards.items() if reward}


def voted(game, *votes):
    """A round in which those who are in vote for the numbers given, after a clue each."""
    stage(game, *(f"clue {game.stage}" for _ in votes))
    return stage(game, *(f"player_{vote}" for vote in votes))


def chat(game, seat, rng):
    legal = game.legal(seat)
    return rng.choice(legal) if game.voting else rng.choice([*legal, f"well, {rng.random():.3f}"])


@pytest.mark.parametrize("seats", [4, 6])
def test_it_keeps_the_contract(seats):
    check_game(lambda: Undercover(seats), games=4, speak=chat)


def test_who_is_voted_out_by_mistake_leaves_in_mid_game_and_pays_the_odd_seat():
    game = dealt("player_2")
    assert voted(game, 1, 0, 0, 0) == pytest.approx({"player_0": -1 / 3, "player_2": 1 / 3})
    assert game.terminations == {"player_0": True, "player_1": False, "player_2": False, "player_3": False}
    assert game.turn() == "player_1"  # sees player_0 off
    assert game.agents == ["player_1", "player_2", "player_3"]
    assert game.acting == ("player_1", "player_2", "player_3")
    assert "player_0" not in game.legal("player_1")
    game.step("clue")
    with pytest.raises(ValueError, match="has retired already"):
        game.score(player_0=1.0)


def test_the_odd_seat_pays_those_left_when_it_is_caught():
    game = dealt("player_2")
    assert voted(game, 2, 2, 0, 2) == pytest.approx(
        {"player_2": -1.0, **dict.fromkeys(("player_0", "player_1", "player_3"), 1 / 3)}
    )
    assert game.ending == "over"
    assert game.notes == {"caught": 1.0, "rounds": 1.0}
    game = dealt("player_2")
    voted(game, 1, 0, 0, 0)
    assert voted(game, 2, 1, 2) == {"player_2": -1.0, "player_1": 0.5, "player_3": 0.5}
    assert game.paid["player_0", "fooled"] == -1 / 3


def test_once_two_are_left_the_odd_seat_has_won_from_all():
    game = dealt("player_2")
    voted(game, 1, 0, 0, 0)
    assert voted(game, 3, 3, 1) == pytest.approx({"player_3": -1 / 3, "player_1": -1 / 3, "player_2": 2 / 3})
    assert game.ending == "over"
    assert game.notes == {"caught": 0.0, "rounds": 2.0}
    total = {seat: sum(paid for (s, _), paid in game.paid.items() if s == seat) for seat in game.possible_agents}
    assert total == pytest.approx({"player_0": -1 / 3, "player_1": -1 / 3, "player_2": 1.0, "player_3": -1 / 3})


def test_lots_decide_between_equals_and_each_of_them_may_be_out():
    outs = set()
    for seed in range(20):
        game = Undercover()
        game.reset(seed=seed)
        voted(game, 1, 0, 0, 1)
        outs |= {seat for seat in ("player_0", "player_1", "player_2", "player_3") if seat not in game.left}
    assert outs == {"player_0", "player_1"}


def test_one_seat_has_the_other_word_of_a_pair_and_any_seat_may_be_it():
    odds, commons = set(), set()
    for seed in range(200):
        game = Undercover(5)
        game.reset(seed=seed)
        (common,) = {word for seat, word in game.words.items() if seat != game.odd}
        assert any(set(pair) == {common, game.words[game.odd]} for pair in PAIRS)
        assert len(set(game.words.values())) == 2
        odds.add(game.odd)
        commons.add(common)
    assert odds == set(game.possible_agents)
    assert commons == {word for pair in PAIRS for word in pair}
    assert commons <= set(WORDS)


def test_a_seat_hears_its_own_word_alone_and_all_clues_once_all_are_given():
    game = dealt("player_2")
    common, other = game.words["player_0"], game.words["player_2"]
    assert other not in game.observe("player_0")["text"]
    stage(game, "one")
    assert "one" not in game.observe("player_1")["text"]
    stage(game, 'two"', "three", "four")
    for seat, word in (("player_0", common), ("player_2", other)):
        heard = game.observe(seat)["text"].splitlines()
        assert heard[-6:-1] == [
            f"You are {seat}. Your word: {word}.",
            *('player_0: "one"', 'player_1: "two\'"', 'player_2: "three"', 'player_3: "four"'),
        ]


def test_who_is_out_is_told_so_and_the_others_not_whose_word_was_which():
    game = dealt("player_2")
    voted(game, 1, 0, 0, 0)
    assert game.observe("player_0")["text"].endswith("player_0 is out. It had the same word as most.")
    assert all(
        word not in game.observe("player_1")["text"] for word in set(game.words.values()) - {game.words["player_1"]}
    )


@pytest.mark.parametrize("clue", ["{}", "{}s", "a {} of course"])
def test_a_clue_does_not_say_ones_own_word(clue):
    game = dealt()
    game.step(clue.format(game.words["player_0"]))
    assert game.judged == "that says your own word"


def test_a_clue_is_said_once_and_is_short():
    game = dealt()
    stage(game, "Round", "round", "round", "round")
    stage(game, "player_1", "player_0", "player_0", "player_0")
    stage(game)
    for clue in ("round", "ROUND!", "r\u00f3und"):
        with pytest.raises(arena.IllegalMove, match="you have said that before"):
            game.parse("player_1", clue)
    with pytest.raises(arena.IllegalMove, match="say something of at most 40 characters"):
        game.parse("player_1", "x" * 41)
    assert game.parse("player_1", "round thing") == "round thing"
    assert "animal" in game.legal("player_1")


def test_nobody_votes_for_itself_or_for_who_is_out():
    game = dealt("player_2")
    voted(game, 1, 0, 0, 0)
    game.turn()
    stage(game, "a", "b", "c")
    assert game.legal("player_1") == ["player_2", "player_3"]
    game.step("player_1")
    assert game.judged == "vote for [player_2] or [player_3]"


def test_honest_bots_catch_the_odd_seat_far_more_often_than_lots_would():
    honest = [
        asyncio.run(arena.play(Undercover(), {"player": BotAgent("honest")}, seed=seed)).notes["caught"]
        for seed in range(60)
    ]
    chance = [
        asyncio.run(arena.play(Undercover(), {"player": arena.RandomAgent()}, seed=seed)).notes["caught"]
        for seed in range(60)
    ]
    assert fmean(honest) > fmean(chance) + 0.2


@pytest.mark.parametrize(("params", "fault"), [({"seats": 3}, "seats is 3: use 4 to 6"), ({"talk": 5}, "talk is 5")])
def test_sizes_that_cannot_be_played_are_refused(params, fault):
    with pytest.raises(ValueError, match=fault):
        Undercover(**params)

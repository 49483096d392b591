"""Twenty questions: the table, what is true, what pays, and a bot that halves."""

import asyncio
from statistics import fmean

import pytest

import arena
from arena.agent import BotAgent
from arena.testing import check_game
from arena.types import Task
from games._words import PROPERTIES, WORDS, has
from games.twenty_questions import ANSWERER, ASKER, TwentyQuestions


def hidden(word, **params):
    game = TwentyQuestions(**params)
    game.reset(seed=0, options={"task": Task.new("", word=word)})
    return game


def moved(*moves, word="apple", **params):
    game = hidden(word, **params)
    for move in moves:
        game.step(move)
        assert not game.judged, game.judged
    return game


@pytest.mark.parametrize("answerer", [True, False])
def test_it_keeps_the_contract(answerer):
    check_game(lambda: TwentyQuestions(words=6, limit=4, answerer=answerer), games=5)


def test_no_two_words_have_the_same_properties_and_each_property_parts_them():
    assert len({tuple(has(word, name) for name in PROPERTIES) for word in WORDS}) == len(WORDS) == 40
    for name, words in PROPERTIES.items():
        assert words < set(WORDS), name
        assert words, name


def test_the_rewards_by_hand():
    """Three true answers of four and a wrong guess, of ten questions; the sixth one finds it."""
    game = moved(
        *("food?", "yes", "animal?", "no", "sweet?", "no", "guess: onion", "round?", "yes", "guess: apple"), limit=10
    )
    assert game.ending == "over"
    paid = {(ASKER, "found"): 1.0, (ASKER, "early"): 0.4, (ANSWERER, "true"): 0.3, (ANSWERER, "false"): -0.1}
    assert game.paid == pytest.approx(paid)
    assert game.notes == {"found": 1.0, "questions": 6.0, "true_answers": 0.75}


def test_who_never_finds_it_earns_nothing():
    game = moved("guess: onion", "animal?", "no", limit=2)
    assert game.ending == "over"
    assert game.paid == {(ANSWERER, "true"): 0.5}
    assert game.notes == {"found": 0.0, "questions": 2.0, "true_answers": 1.0}
    assert moved("guess: onion", limit=1).notes == {"found": 0.0, "questions": 1.0}
    assert moved("guess: apple", limit=1).paid == {(ASKER, "found"): 1.0, (ASKER, "early"): 0.0}


def test_the_asker_hears_the_answers_as_they_were_given_and_not_whether_they_are_true():
    """O-07: the same answers sound the same, whatever the word."""
    heard = {moved("food?", "no", word=word).observe(ASKER)["text"] for word in ("apple", "horse")}
    assert len(heard) == 1
    assert "Answers: food? no. Questions left: 19." in heard.pop()
    assert (
        moved("food?", word="horse").observe(ANSWERER)["text"] == "The word is horse. Question: food? Say [yes] or [no]"
    )


def test_nothing_is_asked_or_guessed_twice():
    game = moved("food?", "yes", "guess: onion")
    for move in ("food?", "guess: onion", "food", "guess: pear", "is it food?", "Food?"):
        assert move not in game.legal(ASKER)
        with pytest.raises(arena.IllegalMove, match="ask for a property"):
            game.parse(ASKER, move)


def test_without_an_answerer_the_table_answers():
    game = moved("food?", "animal?", word="apple", answerer=False)
    assert game.possible_agents == [ASKER]
    assert "Answers: food? yes, animal? no." in game.observe(ASKER)["text"]


def test_halving_finds_every_word_and_its_mean_is_the_known_one():
    counts = []
    for word in WORDS:
        game = hidden(word, answerer=False)
        while game.turn():
            ((move, odds),) = game.bots["halving"](game, ASKER).items()
            assert odds == 1.0
            game.step(move)
        assert game.notes["found"] == 1.0
        counts.append(game.notes["questions"])
    assert fmean(counts) == game.known["halving"]
    assert max(counts) < 10


def test_two_bots_play_to_the_end_and_one_that_is_lied_to_goes_on_guessing():
    agents = {"asker": BotAgent("halving"), "answerer": BotAgent("halving")}
    episode = asyncio.run(arena.play(TwentyQuestions(), agents, seed=3))
    assert (episode.ending, episode.notes["found"], episode.notes["true_answers"]) == ("over", 1.0, 1.0)
    liar = arena.ScriptedAgent(["[yes]"] * 20)
    episode = asyncio.run(arena.play(TwentyQuestions(), {**agents, "answerer": liar}, seed=3))
    assert episode.ending == "over"


def test_the_answerers_oracle_is_the_table():
    assert moved("food?").oracle(ANSWERER) == {"yes": 1.0}
    assert moved("metal?").oracle(ANSWERER) == {"no": 1.0}
    assert moved().oracle(ASKER) == {}


def test_fewer_words_are_of_every_kind():
    words = TwentyQuestions(words=4).words
    assert words == ("horse", "apple", "hammer", "bicycle")
    assert len(set(TwentyQuestions(words=7).words)) == 7


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"words": 1}, "words is 1: use 2 to 40"),
        ({"words": 41}, "words is 41"),
        ({"limit": 0}, "limit is 0: use 1 to 25"),
    ],
)
def test_sizes_that_cannot_be_played_are_refused(params, fault):
    with pytest.raises(ValueError, match=fault):
        TwentyQuestions(**params)


def test_a_task_without_a_word_of_the_game_is_refused():
    with pytest.raises(ValueError, match="give a word, one of"):
        hidden("pear")

"""Lewis's signalling game: who hears what, what is paid, and the best that any language can do."""

import itertools

import pytest

from arena import solve
from arena.testing import check_game
from games.lewis_signalling import RECEIVER, SENDER, LewisSignalling

SIZES = [(3, 3), (3, 2), (2, 3), (4, 2), (3, 1), (8, 8)]


@pytest.mark.parametrize(("states", "words"), [(3, 3), (5, 2), (2, 8)])
def test_it_keeps_the_contract(states, words):
    check_game(lambda: LewisSignalling(states, words), games=8)


def test_both_are_paid_if_the_state_is_named():
    for named in ("blue", "pink", "gold"):
        game = LewisSignalling()
        game.reset(seed=0)
        state = game.state
        assert game.observe(SENDER)["text"] == f"State: {state}. Actions: [ba] [ko] [mi]"
        game.step("ko")
        assert game.observe(RECEIVER)["text"] == "Word: ko. Actions: [blue] [pink] [gold]"
        game.step(named)
        assert game.rewards == dict.fromkeys((SENDER, RECEIVER), float(named == state))
        assert game.observe(SENDER)["text"] == f"The state was {state}, the word ko, the answer {named}."


@pytest.mark.parametrize(("states", "words"), SIZES)
def test_the_oracle_reaches_par_and_uniform_play_reaches_chance(states, words):
    game = LewisSignalling(states, words)
    tree = solve.tree(game)
    best = solve.values(tree, solve.oracle_policy(tree))
    assert best == pytest.approx(dict.fromkeys((SENDER, RECEIVER), game.known["optimum"]))
    assert game.info.par == game.known["optimum"] == min(1, words / states)
    assert solve.values(tree, solve.uniform(tree)) == pytest.approx(dict.fromkeys(best, game.known["chance"]))
    assert solve.nash_conv(tree, solve.oracle_policy(tree)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("states", "words"), [(3, 3), (3, 2), (2, 3), (4, 2), (3, 1)])
def test_no_pair_of_plans_does_better_than_the_optimum(states, words):
    plans = itertools.product(
        itertools.product(range(words), repeat=states), itertools.product(range(states), repeat=words)
    )
    best = max(sum(answer[word] == state for state, word in enumerate(says)) for says, answer in plans)
    assert best / states == pytest.approx(LewisSignalling(states, words).known["optimum"])


def test_openspiel_pays_the_same():
    pyspiel = pytest.importorskip("pyspiel")
    theirs, game = pyspiel.load_game("lewis_signaling"), LewisSignalling()
    for moves in itertools.product(range(3), repeat=3):
        state = theirs.new_initial_state()
        for action in moves:
            state.apply_action(action)
        game.reset(seed=0)
        game.state = game.states[moves[0]]
        game.step(game.words[moves[1]])
        game.step(game.states[moves[2]])
        assert list(game.rewards.values()) == state.returns()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"states": 1}, "states is 1: use 2 to 8"),
        ({"states": 9}, "states is 9: use 2 to 8"),
        ({"words": 0}, "words is 0: use 1 to 8"),
        ({"words": 9}, "words is 9: use 1 to 8"),
    ],
)
def test_other_sizes_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        LewisSignalling(**params)

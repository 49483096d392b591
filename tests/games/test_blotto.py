"""Colonel Blotto: fields, soldiers, and the equilibrium of (5, 3)."""

import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games.blotto import Blotto, allocations


def fight(one, two, **params):
    game = Blotto(**params)
    game.reset(seed=0)
    game.step(one)
    game.step(two)
    return game.rewards["player_0"]


@pytest.mark.parametrize("params", [{}, {"soldiers": 3, "fields": 4}])
def test_it_keeps_the_contract(params):
    check_game(lambda: Blotto(**params), games=4)


def test_fields_won_minus_fields_lost_are_paid():
    assert fight("3 1 1", "5 0 0") == 1  # loses the first, wins two
    assert fight("5 0 0", "0 3 2") == -1
    assert fight("2 2 1", "2 1 2") == 0
    assert fight("1 1 1 0", "0 0 0 3", soldiers=3, fields=4) == 2


def test_all_soldiers_march():
    game = make("blotto")
    game.reset(seed=0)
    spreads = [tuple(map(int, move.split())) for move in game.legal("player_0")]
    assert len(spreads) == 21 == len(set(spreads))
    assert {sum(spread) for spread in spreads} == {5}
    game.step("1 1 1")
    assert game.judged


def test_who_wins_is_as_in_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("blotto(coins=5,fields=3)")
    state = theirs.new_initial_state()
    actions = {state.action_to_string(0, a): a for a in state.legal_actions(0)}
    ours = Blotto()
    by_word = {words.strip("[]").replace(",", " "): action for words, action in actions.items()}
    assert set(by_word) == set(ours.legal("player_0"))
    for one in by_word:
        for two in by_word:
            after = state.clone()
            after.apply_actions([by_word[one], by_word[two]])
            won = ours.paid_for((one, two))[0]
            assert after.returns()[0] == (won > 0) - (won < 0)


def test_the_oracle_can_not_be_beaten_and_the_value_is_zero():
    pytest.importorskip("scipy")
    game = Blotto()
    tree = solve.tree(game)
    perfect = solve.oracle_policy(tree)
    assert solve.nash_conv(tree, perfect) == pytest.approx(0, abs=1e-9)
    assert solve.values(tree, perfect)["player_0"] == pytest.approx(game.known["value"]) == pytest.approx(0)
    assert solve.nash_conv(tree, solve.uniform(tree)) == pytest.approx(game.known["uniform_nash_conv"])
    assert game.known["uniform_nash_conv"] == pytest.approx(4 / 7)  # 2/7 to each: "3 1 1" against all 21
    assert game.oracle("player_0") == game.oracle("player_1")


def test_armies_that_are_none_or_too_many_are_refused():
    with pytest.raises(ValueError, match="soldiers is 0: use 1 to 500"):
        Blotto(soldiers=0)
    with pytest.raises(ValueError, match="in 715 ways: use at most 500"):
        Blotto(soldiers=9, fields=5)


def test_the_widest_table_is_ready_at_once_and_one_wider_is_refused_unlisted():
    assert len(Blotto(soldiers=30, fields=3).legal("player_0")) == 31 * 32 / 2 == 496
    assert list(allocations(2, 3)) == [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]
    with pytest.raises(ValueError, match=r"200 soldiers on 9 fields can be sent in .* ways: use at most 500"):
        Blotto(soldiers=200, fields=9)

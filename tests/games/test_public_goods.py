"""Public goods: the pot, who knows what of it, and why nobody gives."""

import pytest

from arena import solve
from arena.testing import check_game
from games.public_goods import PublicGoods


def given(*gifts, **params):
    game = PublicGoods(**params)
    game.reset(seed=0)
    for gift in gifts:
        game.step(str(gift))
    return game


@pytest.mark.parametrize("params", [{}, {"seats": 6, "rounds": 2, "factor": 1.5}, {"seats": 2, "factor": 1.9}])
def test_it_keeps_the_contract(params):
    check_game(lambda: PublicGoods(**params), games=4)


def test_what_is_kept_and_a_share_of_the_pot_are_paid():
    game = given(4, 2, 0, seats=3, factor=2)
    assert tuple(game.rewards.values()) == (0 + 4, 2 + 4, 4 + 4)
    assert tuple(given(4, 4, 4, 4, seats=4, factor=3).rewards.values()) == (12,) * 4
    assert tuple(given(1, 0, 0, 0, 0, 0, seats=6, factor=1.5).rewards.values()) == (3.25,) + (4.25,) * 5


def test_a_seat_hears_of_the_pot_and_not_who_gave_it():
    """O-07: who else gave how much makes no difference to what is heard."""
    texts = {given(1, *others).observe("member_0")["text"] for others in ((3, 0), (0, 3), (2, 1))}
    assert texts == {
        "Round 2 of 3. Coins: 4. The pot is shared by 3, times 2. You so far: 1 of 4. Actions: [0] [1] [2] [3] [4]"
    }


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_an_illegal_gift_shifts_no_other(seats):
    gifts = [4, 0, 3, 1, 2, 4][:seats]
    plain = given(*gifts, seats=seats)
    for clumsy in range(seats):
        game = given(*gifts[:clumsy], 5, *gifts[clumsy + 1 :], seats=seats)
        assert game.acting == (f"member_{clumsy}",)
        assert game.given == []
        game.step(str(gifts[clumsy]))
        assert (game.given, game.rewards) == (plain.given, plain.rewards)


@pytest.mark.parametrize(("seats", "rounds"), [(3, 1), (4, 1), (2, 2)])
def test_to_give_nothing_is_the_equilibrium_and_to_give_all_the_optimum(seats, rounds):
    game = PublicGoods(seats, rounds, coins=2, factor=1.5)
    tree = solve.tree(game)
    selfish = solve.oracle_policy(tree)
    assert solve.nash_conv(tree, selfish) == pytest.approx(0, abs=1e-12)
    assert solve.values(tree, selfish) == dict.fromkeys(tree.seats, rounds * game.known["equilibrium"])
    kind = dict.fromkeys(tree.information, (0.0, 0.0, 1.0))
    assert solve.values(tree, kind) == pytest.approx(dict.fromkeys(tree.seats, rounds * game.known["optimum"]))
    # Whoever keeps both coins of a round has them, and loses its share of what they would have become.
    assert solve.nash_conv(tree, kind) == pytest.approx(seats * rounds * 2 * (1 - 1.5 / seats))


def test_no_profile_pays_all_more_than_the_optimum():
    tree = solve.tree(PublicGoods(3, 1, coins=2, factor=1.5))
    assert max(sum(returns) for returns in tree.returns if returns) == pytest.approx(3 * 2 * 1.5)


def test_the_bots_give_all_nothing_or_what_the_others_gave():
    game = given()
    assert game.bots["tit_for_tat"](game, "member_0") == {"4": 1.0}
    game = given(4, 3, 0)
    assert [game.bots["tit_for_tat"](game, seat) for seat in game.agents] == [{"1": 1.0}, {"2": 1.0}, {"3": 1.0}]
    assert game.bots["always_cooperate"](game, "member_2") == {"4": 1.0}
    assert game.bots["always_defect"](game, "member_2") == {"0": 1.0}


def test_the_end_tells_the_last_pot_and_notes_how_much_was_given():
    game = given(4, 2, 0, 0, 0, 0, rounds=2)
    assert game.observe("member_1")["text"] == "You so far: 2 of 6, 0 of 0. That was all."
    assert game.notes == {"given": 6 / 24}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"seats": 1}, "seats is 1: use 2 to 6"),
        ({"factor": 3}, "factor is 3: use more than 1 and less than the 3 seats"),
        ({"factor": 1}, "factor is 1: use more than 1"),
        ({"rounds": 0}, "rounds is 0"),
        ({"coins": 0}, "coins is 0"),
    ],
)
def test_other_sizes_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        PublicGoods(**params)

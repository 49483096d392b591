"""The stag hunt: trust pays, the hare is safe, and its three equilibria."""

import pytest

from arena import solve
from arena.testing import check_game
from games._matrix import equilibria
from games.stag_hunt import TABLE, StagHunt


def hunt(*moves, **params):
    game = StagHunt(**params)
    game.reset(seed=0)
    for move in moves:
        game.step(move)
    return game


@pytest.mark.parametrize("talk", [0, 60])
def test_it_keeps_the_contract(talk):
    check_game(lambda: StagHunt(2, talk), games=4)


def test_a_stag_takes_two_and_a_hare_is_safe():
    for one, two, pays in (("stag", "stag", (3, 3)), ("stag", "hare", (0, 2)), ("hare", "hare", (2, 2))):
        assert tuple(hunt(one, two, rounds=1, talk=0).rewards.values()) == pays
        assert tuple(hunt(two, one, rounds=1, talk=0).rewards.values()) == pays[::-1]


def test_welfare_is_three_a_round_and_trust_must_be_two_thirds():
    game = StagHunt(rounds=1, talk=0)
    assert game.known == {"welfare": 3, "equilibria": 3, "worst_equilibrium": 2, "best_equilibrium": 3}
    tree = solve.tree(game)
    for x, y in equilibria(TABLE.pay[..., 0], TABLE.pay[..., 1]):
        policy = {known: (x if known.seat == "player_0" else y).tolist() for known in tree.information}
        assert solve.nash_conv(tree, policy) == pytest.approx(0, abs=1e-12)
    assert sorted(x[0] for x, _ in equilibria(TABLE.pay[..., 0], TABLE.pay[..., 1])) == [0, pytest.approx(2 / 3), 1]


def test_talk_comes_before_each_hunt():
    game = hunt("I choose stag", "I will come", rounds=2)
    assert game.observe("player_0")["text"].endswith('The other said "I will come". Actions: [stag] [hare]')
    game.step("stag")
    game.step("hare")
    text = game.observe("player_1")["text"]
    assert "Round 2 of 2. You so far: hare against stag. First say something" in text
    assert "come" not in text


def test_the_bots_of_the_dilemma_hunt_too():
    game = hunt("stag", "hare", rounds=3, talk=0)
    assert game.bots["tit_for_tat"](game, "player_0") == {"hare": 1.0}
    assert game.bots["win_stay"](game, "player_0") == {"hare": 1.0}  # nothing was won
    assert game.bots["win_stay"](game, "player_1") == {"hare": 1.0}  # 2 is more than the mean of 7/4
    assert game.bots["always_cooperate"](game, "player_1") == {"stag": 1.0}

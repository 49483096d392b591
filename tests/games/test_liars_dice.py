"""Liar's dice: what may be bid, who is right, who pays, and who is out."""

import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games.liars_dice import LIAR, LiarsDice, counting, true


def rolled(*dice, sides=3):
    """A game of that many seats with these dice."""
    game = LiarsDice(sides=sides, seats=len(dice), dice=max(map(len, dice)))
    game.reset(seed=0)
    put(game, *dice)
    return game


def put(game, *dice):
    """New dice for the seats that are in."""
    game.dice = dict(zip(game.dice, map(list, dice), strict=True))
    asked = game.turn()
    game._heard[asked].pop()
    game._ask(asked)


@pytest.mark.parametrize(
    ("bid", "dice", "holds"),
    [
        ("1x1", [1, 2], True),
        ("2x1", [1, 2], False),
        ("2x1", [1, 3], True),  # 3 is the highest face and stands for 1
        ("2x3", [3, 3], True),
        ("2x3", [2, 3], False),  # but nothing stands for it
        ("3x2", [2, 3, 2, 1], True),
        ("4x2", [2, 3, 2, 1], False),
    ],
)
def test_a_bid_is_true_if_so_many_dice_show_its_face_or_the_highest(bid, dice, holds):
    assert true(bid, 3, dice) == holds


def test_a_bid_must_be_higher_and_the_highest_can_only_be_doubted():
    game = rolled([1], [2])
    assert game.legal("first_0") == ("1x1", "1x2", "1x3", "2x1", "2x2", "2x3")
    game.step("1x3")
    assert game.legal("second_0") == ("2x1", "2x2", "2x3", LIAR)
    game.step("2x3")
    assert game.legal("first_0") == (LIAR,)


def test_a_seat_hears_its_dice_how_many_there_are_and_every_bid():
    game = rolled([1], [2])
    game.step("1x2")
    text = "Your dice: 2. Dice left: 1 1. Bids: 1x2. Actions: [1x3] [2x1] [2x2] [2x3] [liar]"
    assert game.observe("second_0")["text"] == text


@pytest.mark.parametrize(("bid", "first", "loser"), [("1x2", 1, "second_0"), ("2x1", -1, "first_0")])
def test_the_doubter_pays_for_the_truth_and_the_bidder_for_a_lie(bid, first, loser):
    game = rolled([1], [2])
    game.step(bid)
    game.step(LIAR)
    assert game.ending == "over"
    assert game.rewards == {"first_0": first, "second_0": -first}
    text = f"second_0 doubts {bid}. Dice: first_0 1, second_0 2. {loser} loses a die."
    assert game.observe("first_0")["text"] == text


def test_who_loses_a_die_begins_the_next_round_with_one_less():
    game = rolled([1, 1], [2, 2])
    game.step("3x1")
    game.step(LIAR)
    assert (game.ending, set(game.rewards.values())) == ("", {0.0})
    assert [len(faces) for faces in game.dice.values()] == [1, 2]
    assert game.acting == ("first_0",)
    assert "Dice left: 1 2. Bids: none." in game.observe("first_0")["text"]


def test_a_seat_without_dice_is_out_and_the_others_share_what_it_pays():
    game = rolled([1], [1], [1])
    game.step("2x2")
    game.step(LIAR)
    assert game.rewards == {"first_0": -1.0, "second_0": 0.5, "third_0": 0.5}
    assert game.terminations == {"first_0": True, "second_0": False, "third_0": False}
    assert game.turn() == "second_0"
    assert "Dice left: 0 1 1. Bids: none." in game.observe("second_0")["text"]
    put(game, [1], [2])
    game.step("1x2")
    assert game.turn() == "third_0"
    game.step(LIAR)
    assert game.ending == "over"
    assert game.rewards == {"second_0": 1.0, "third_0": -1.0}


def test_the_next_who_is_in_begins_after_a_seat_that_is_out():
    game = rolled([1], [1], [1])
    for move in ("1x1", "2x2", LIAR):
        game.step(move)
    assert not game.dice.get("second_0")
    assert game.turn() == "third_0"


def test_the_counting_bot_bids_what_it_holds_and_doubts_what_is_unlikely():
    game = rolled([1], [2], sides=6)
    assert counting(game, "first_0")["1x1"] == 1  # it holds one
    game.step("2x1")
    assert counting(game, "second_0")[LIAR] == 1  # both unseen dice would have to be right
    game = rolled([3], [2])
    game.step("1x2")
    best = max(counting(game, "second_0").items(), key=lambda item: item[1])
    assert best == ("2x2", 1.0)  # it has a 2, and two of the three other faces make it two


@pytest.mark.parametrize("sides", [2, 3])
def test_the_counting_bot_is_easy_to_beat_and_the_oracle_is_not(sides):
    tree = solve.tree(LiarsDice(sides))
    bot = {
        known: tuple(counting(game, known.seat)[move] for move in known.legal)
        for known, game in zip(tree.information, tree.positions, strict=True)
    }
    assert solve.nash_conv(tree, bot) > 0.3
    assert solve.nash_conv(tree, solve.oracle_policy(tree)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"sides": 1}, "sides is 1: use 2 to 6"), ({"seats": 7}, "seats is 7: use 2"), ({"dice": 0}, "dice is 0: use 1")],
)
def test_numbers_out_of_range_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        LiarsDice(**params)


@pytest.mark.parametrize("label", ["liars_dice(seats=3, sides=4)", "liars_dice(dice=2)"])
def test_the_game_keeps_the_contract_in_other_sizes(label):
    check_game(lambda: make(label), games=4)

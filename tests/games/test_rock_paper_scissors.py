"""Rock, paper, scissors: who beats whom, and what each seat hears."""

import pytest

from games.rock_paper_scissors import RockPaperScissors

WINS = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]


@pytest.mark.parametrize(("one", "two"), WINS)
def test_each_throw_beats_one_other(one, two):
    for first, second, reward in ((one, two, 1.0), (two, one, -1.0), (one, one, 0.0)):
        game = RockPaperScissors()
        game.reset(seed=0)
        game.step(first)
        game.step(second)
        assert game.rewards == {"player_0": reward, "player_1": -reward}


def test_each_round_pays_and_is_told_from_one_s_own_side():
    game = RockPaperScissors(rounds=2)
    game.reset(seed=0)
    game.step("rock")
    game.step("paper")
    assert game.rewards == {"player_0": -1.0, "player_1": 1.0}
    actions = "Actions: [rock] [paper] [scissors]"
    assert game.observe("player_0")["text"] == f"Round 2 of 2. You so far: rock against paper. {actions}"
    assert game.observe("player_1")["text"] == f"Round 2 of 2. You so far: paper against rock. {actions}"


def test_no_rounds_are_refused():
    with pytest.raises(ValueError, match="rounds is 0"):
        RockPaperScissors(rounds=0)

"""The size of a game's tree is known well enough from a few random games that nobody waits for a far too large one."""

import pytest

from arena import evaluation, exact, solve, treesize
from arena.agent import RandomAgent
from arena.game import Game
from arena.make import make


class Bits(Game):
    """A coin is thrown, then somebody says yes or no so many times: every game branches like every other."""

    roles = {"player": 1}

    def __init__(self, turns=3):
        self.turns = turns

    def start(self, rng, task):
        self.left = self.turns
        self.tell(str(rng.randrange(2)))
        return ("player_0",)

    def legal(self, seat):
        return ("yes", "no")

    def play(self, moves):
        self.left -= 1
        return ("player_0",) if self.left else ()


def test_an_estimate_of_a_regular_tree_is_its_size():
    """By hand, below each side of the coin: 1 node, then 2 + 1 illegal, 4 + 2, 8 + 4; the root comes on top."""
    assert treesize.estimate(Bits()) == 1 + 2 * (1 + 3 + 6 + 12)
    assert len(solve.tree(Bits()).parent) == 1 + 2 * (1 + 3 + 6 + 12)


@pytest.mark.parametrize("label", ["kuhn_poker", "leduc_poker(suits=false)", "truel", "dec_tiger", "broadcast"])
def test_trees_that_fit_are_not_given_up(label):
    """Within a factor of 2 of what they have, which is far from the factor that settles the question."""
    estimate = treesize.estimate(make(label))
    try:
        nodes = len(solve.tree(make(label), limit=exact.NODES).parent)
    except ValueError:
        nodes = exact.NODES  # truel just doesn't fit
    assert nodes / 2 < estimate < 2 * nodes
    assert treesize.estimate(make(label)) == estimate


@pytest.mark.parametrize("label", ["mini_whist", "hanabi_mini", "bargaining", "undercover"])
def test_a_far_too_large_tree_is_never_begun(monkeypatch, label):
    monkeypatch.setattr(solve, "tree", lambda *_, **__: pytest.fail("it was unfolded"))
    game = make(label)
    reason = evaluation.unfold(game, dict.fromkeys(game.roles, RandomAgent()))
    assert isinstance(reason, str)
    assert reason.endswith("more than 100000 are too many to enumerate")


def test_unfolding_tells_how_far_it_is(capsys):
    game = make("dec_tiger")
    counted = []
    tree = exact.unfold(game, {"agent": RandomAgent()}, counted.append)
    assert counted == [1000, 2000]
    assert len(tree.parent) == 2347
    evaluation.unfold(game, {"agent": RandomAgent()})
    assert capsys.readouterr().err.startswith("dec_tiger: nodes of its tree, at most 1000/100000\n")

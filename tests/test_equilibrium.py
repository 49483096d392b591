"""Equilibria by linear programming, against games whose solution is known."""

import sys

import pytest

from arena import solve
from arena.equilibrium import equilibrium
from arena.game import Game, GameInfo
from games.dec_tiger import DecTiger
from games.kuhn_poker import KuhnPoker
from games.nim import Nim
from games.rock_paper_scissors import RockPaperScissors

pytest.importorskip("scipy")


class Pennies(Game):
    """Both show a coin; the first seat wins what `table` says of (first, second), the second seat loses it."""

    roles = {"first": 1, "second": 1}
    info = GameInfo(zero_sum=True, simultaneous=True)

    def __init__(self, table=((2, -1), (-1, 1))):
        self.table = table

    def start(self, rng, task):
        return "first_0", "second_0"

    def legal(self, seat):
        return "heads", "tails"

    def play(self, moves):
        one, two = (self.legal("").index(moves[seat]) for seat in ("first_0", "second_0"))
        self.score(first_0=self.table[one][two], second_0=-self.table[one][two])
        return ()


def test_an_uneven_game_of_pennies_has_the_mixture_that_makes_the_other_indifferent():
    """p * 2 - (1 - p) = -p + (1 - p) gives p = 2/5, and the value 1/5."""
    tree = solve.tree(Pennies())
    policy = equilibrium(tree)
    assert [list(row) for row in policy.values()] == [pytest.approx([0.4, 0.6])] * 2
    assert solve.values(tree, policy)["first_0"] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize(
    ("game", "value"), [(KuhnPoker(), -1 / 18), (RockPaperScissors(), 0), (RockPaperScissors(2), 0), (Nim((1, 2)), 1)]
)
def test_nobody_gains_by_leaving_an_equilibrium(game, value):
    tree = solve.tree(game)
    policy = equilibrium(tree)
    assert set(policy) == set(tree.information)
    assert solve.nash_conv(tree, policy) == pytest.approx(0, abs=1e-9)
    assert solve.values(tree, policy)[tree.seats[0]] == pytest.approx(value, abs=1e-9)
    assert all(sum(row) == pytest.approx(1, abs=1e-12) for row in policy.values())


class Biased(Pennies):
    """A draw that nobody sees turns the table round three times in four."""

    def start(self, rng, task):
        (sign,) = rng.choices((1, -1), (1, 3))
        self.table = tuple(tuple(sign * pay for pay in row) for row in ((2, -1), (-1, 1)))
        return super().start(rng, task)


def test_unlike_chances_weigh_what_they_are_worth():
    """On average the table is half of its opposite, so the value is minus half of 1/5, by the same mixture."""
    tree = solve.tree(Biased())
    policy = equilibrium(tree)
    assert [list(row) for row in policy.values()] == [pytest.approx([0.4, 0.6])] * 2
    assert solve.values(tree, policy)["first_0"] == pytest.approx(-0.1, abs=1e-12)


def test_the_second_seat_of_kuhn_poker_has_one_equilibrium_only():
    policy = equilibrium(solve.tree(KuhnPoker()))
    second = {k.heard[-1].split(". Actions")[0]: row[1] for k, row in policy.items() if k.seat == "second_0"}
    assert second == pytest.approx({
        "Card: J. Moves: check": 1 / 3, "Card: Q. Moves: check": 0, "Card: K. Moves: check": 1,
        "Card: J. Moves: bet": 0, "Card: Q. Moves: bet": 1 / 3, "Card: K. Moves: bet": 1,
    })  # fmt: skip


@pytest.mark.parametrize("game", [KuhnPoker(seats=3), DecTiger(1)])
def test_other_games_are_refused(game):
    with pytest.raises(ValueError, match="takes two seats whose returns sum to 0; this game has"):
        equilibrium(solve.tree(game))


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"pip install 'scrimmage\[games\]'"):
        equilibrium(solve.tree(Pennies()))

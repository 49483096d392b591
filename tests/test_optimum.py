"""The best of a team, against values that others have published and one that is counted by hand."""

import itertools

import pytest

from arena import solve
from arena.game import Game, GameInfo
from arena.optimum import optimum
from games.dec_tiger import DecTiger
from games.kuhn_poker import KuhnPoker
from games.tiny_hanabi import OPTIMUM, TinyHanabi, rewards


class Relay(Game):
    """Three seats in a row hear a bit each, and what the one before said; they earn 1 if the last says their parity."""

    roles = {"runner": 3}
    info = GameInfo(cooperative=True, chance=True)

    def start(self, rng, task):
        self.bits = [rng.randrange(2) for _ in range(3)]
        self.said = ["0"]
        return self.ask()

    def ask(self):
        seat = f"runner_{len(self.said) - 1}"
        self.tell(f"{self.bits[len(self.said) - 1]} {self.said[-1]}", seat)
        return (seat,)

    def legal(self, seat):
        return "0", "1"

    def play(self, moves):
        self.said += moves.values()
        if len(self.said) <= 3:
            return self.ask()
        self.score(**dict.fromkeys(self.possible_agents, float(int(self.said[-1]) == sum(self.bits) % 2)))
        return ()


class Twice(Game):
    """Two seats at once say a digit, then another; they earn 1 if all four are 1."""

    roles = {"agent": 2}
    info = GameInfo(cooperative=True, simultaneous=True)

    def start(self, rng, task):
        self.said = ""
        return "agent_0", "agent_1"

    def legal(self, seat):
        return "0", "1"

    def play(self, moves):
        self.said += "".join(moves.values())
        self.score(**dict.fromkeys(moves, float(self.said == "1111")))
        return tuple(moves) if self.stage == 1 else ()


@pytest.mark.parametrize(
    ("game", "value"),
    [*((TinyHanabi(table), value) for table, value in OPTIMUM.items()), (DecTiger(2), -4), (Relay(), 1), (Twice(), 1)],
)
def test_the_team_reaches_its_known_optimum(game, value):
    tree = solve.tree(game)
    policy = optimum(tree)
    assert solve.values(tree, policy) == pytest.approx(dict.fromkeys(tree.seats, value))
    assert all(sorted(row)[-1] == 1 and sum(row) == 1 for row in policy.values())


@pytest.mark.parametrize("table", "ABCD")
def test_no_pair_of_plans_is_better_when_all_256_are_tried_by_hand(table):
    """Without a tree: the first seat's plan is a move for each card, the second's one for each card and move heard."""

    def value(first, second):
        deals = itertools.product(range(2), repeat=2)
        return sum(rewards(table, one, two)[first[one]][second[two, first[one]]] for one, two in deals) / 4

    keys = list(itertools.product(range(2), repeat=2))
    best = max(
        value(first, dict(zip(keys, bits, strict=True)))
        for first in itertools.product(range(2), repeat=2)
        for bits in itertools.product(range(2), repeat=4)
    )
    assert best == OPTIMUM[table]


def test_each_seat_alone_can_be_at_its_best_below_the_optimum():
    """Why all plans are tried: in E to say b and answer b pays 8 and nobody alone does better, but 10 is there."""
    tree = solve.tree(TinyHanabi("E"))
    safe = dict.fromkeys(tree.information, (0.0, 1.0, 0.0))
    assert solve.nash_conv(tree, safe) == 0
    assert solve.values(tree, safe)["first_0"] == 8
    assert solve.values(tree, optimum(tree))["first_0"] == 10


def test_too_much_to_try_and_seats_that_are_paid_apart_are_refused():
    with pytest.raises(ValueError, match="takes 9 plans to be tried: more than 8"):
        optimum(solve.tree(TinyHanabi("E")), limit=8)
    with pytest.raises(ValueError, match="first_0, second_0 aren't"):
        optimum(solve.tree(KuhnPoker()))


def test_a_reply_is_worth_its_best_response():
    tree = solve.tree(KuhnPoker())
    uniform = solve.uniform(tree)
    for seat in tree.seats:
        best = solve.reply(tree, uniform, seat)
        assert {known.seat for known in best} == {seat}
        assert solve.values(tree, {**uniform, **best})[seat] == pytest.approx(solve.best_response(tree, uniform, seat))

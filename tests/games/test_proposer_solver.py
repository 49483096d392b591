"""A proposer and its solvers: the grammar, who is asked, and what is paid."""

import asyncio

import pytest

from arena.agent import PLAYER
from arena.types import Task
from games.proposer_solver import ProposerSolver, accuracy, held_out


def posed(digit, **params):
    game = ProposerSolver(**params)
    game.reset(seed=0, options={"task": Task.new(digit, digit=int(digit))})
    return game


def test_a_proposal_continues_the_digit_and_all_solvers_face_it_at_once():
    game = posed("4", solvers=3)
    assert game.observe("proposer_0")["text"] == "4"
    game.step("7 + 12")
    assert game.acting == ("solver_0", "solver_1", "solver_2")
    assert {game.observe(seat)["text"] for seat in game.acting} == {"47 + 12 = "}
    task = game.faced["solver_0"]
    assert (task.prompt, task.payload, task.parents) == ("47 + 12 = ", {"answer": 59}, (game.faced["proposer_0"].id,))
    assert "solver_0" not in {seat for seat, posed in game.faced.items() if posed.prompt == "4"}


@pytest.mark.parametrize(
    ("replies", "paid"),
    [
        (("59", "59", "1", "2"), 1.0),
        (("59", "59", "59", "59"), 0.0),
        (("1", "", "0", "-59"), 0.0),
        (("59", "5", "9", "95"), 0.75),
    ],
)
def test_a_proposer_earns_most_when_half_are_right(replies, paid):
    game = posed("4", solvers=4)
    game.step("7 + 12")
    for reply in replies:
        game.step(reply)
    assert game.rewards["proposer_0"] == pytest.approx(paid)
    assert [game.rewards[f"solver_{i}"] for i in range(4)] == [float(reply == "59") for reply in replies]
    assert game.ending == "over"


def test_the_most_that_can_be_earned_is_what_is_known():
    most = {"proposer_0": 0.0, "solver_0": 0.0}
    for right in range(5):
        game = posed("4", solvers=4)
        game.step("7 + 12")
        for reply in ["59"] * right + ["0"] * (4 - right):
            game.step(reply)
        most = {seat: max(best, game.rewards[seat]) for seat, best in most.items()}
    assert list(most.values()) == [game.known["proposer_max"], game.known["solver_max"]]


def test_every_reward_has_a_name_by_which_it_is_logged():
    game = posed(4, solvers=2)
    for text in ("7 + 12", "59", "60"):
        game.step(text)
    assert game.paid == {
        ("proposer_0", "learnable"): 1.0,
        ("solver_0", "right"): 1.0,
        ("solver_1", "right"): 0.0,
    }


@pytest.mark.parametrize(
    "reply", ["5⁹", "59", "５９", "59 ", "+59", "059", "59.0", "fifty-nine", "5_9", "٥٩", "59\n", ""]
)
def test_only_the_plain_digits_are_right_and_nothing_else_crashes(reply):
    game = posed("4", solvers=1)
    game.step("7 + 12")
    game.step(reply)
    assert game.judged == ""
    assert game.rewards["solver_0"] == float(reply == "59")


@pytest.mark.parametrize(
    "reply",
    ["", "7", "7+12", "7 + 012", "7 + 9", "77 + 12", "7 + 100", "7 - 12", " 7 + 12", "７ + 12", "7 + 1²", "7 + 12\n"],
)
def test_a_malformed_proposal_costs_half_a_point_and_no_solver_is_asked(reply):
    game = posed("4", solvers=2)
    game.step(reply)
    assert game.ending == "forfeit"
    assert game.judged
    assert game.rewards == {"proposer_0": -0.5, "solver_0": 0.0, "solver_1": 0.0}
    assert list(game.faced) == ["proposer_0"]


def test_held_out_sums_are_refused_in_both_orders_and_never_listed():
    for reply, digit in (("7 + 12", "4"), ("2 + 47", "1")):
        game = posed(digit, held_out=[(47, 12)])
        assert reply not in game.legal("proposer_0")
        game.step(reply)
        assert (game.ending, game.rewards["proposer_0"]) == ("forfeit", -0.5)
        assert "held out" in game.reason


def test_the_held_out_set_is_fixed_distinct_and_inside_the_range():
    pairs = held_out()
    assert pairs == held_out(200, 7)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 200
    assert all(10 <= a <= 99 and 10 <= b <= 99 for a, b in pairs)
    assert held_out(200, 8) != pairs
    assert len(held_out(3, low=10, high=11)) == 3
    with pytest.raises(ValueError, match="3 different sums"):
        held_out(4, low=10, high=11)
    assert ProposerSolver(held_out=200).excluded == {order for a, b in pairs for order in ((a, b), (b, a))}


def test_every_listed_proposal_is_legal_and_they_are_all_sums_of_the_digit():
    game = posed("9", low=90, high=99)
    listed = game.legal("proposer_0")
    assert len(set(listed)) == len(listed) == 100
    assert [game.parse("proposer_0", text) for text in listed] == [
        (a, b) for a in range(90, 100) for b in range(90, 100)
    ]
    assert len(posed("1").legal("proposer_0")) == 900


def test_digits_come_equally_often_and_only_those_that_can_be_continued():
    game, seen = ProposerSolver(low=10, high=39), {}
    for seed in range(900):
        game.reset(seed=seed)
        seen[game.digit] = seen.get(game.digit, 0) + 1
    assert set(seen) == {"1", "2", "3"}
    assert all(abs(count - 300) < 60 for count in seen.values())


def test_proposals_from_the_same_digit_and_solvers_of_the_same_sum_face_the_same_task():
    one, two = posed("4"), ProposerSolver()
    two.reset(seed=99, options={"task": Task.new("4", digit=4)})
    assert one.faced["proposer_0"].id == two.faced["proposer_0"].id
    for game in (one, two):
        game.step("7 + 12")
    assert one.faced["solver_0"].id == two.faced["solver_7"].id


def test_a_task_with_operands_gives_their_digit_and_one_without_is_refused():
    game, task = ProposerSolver(), Task.new("47 + 12 = ", a=47, b=12)
    game.reset(seed=0, options={"task": task})
    assert game.observe("proposer_0")["text"] == "4"
    assert game.faced["proposer_0"].parents == (task.id,)
    with pytest.raises(ValueError, match="give a digit"):
        game.reset(seed=0, options={"task": Task.new("hello")})


@pytest.mark.parametrize("params", [{"solvers": 0}, {"low": 1}, {"low": 50, "high": 20}])
def test_sizes_that_cannot_be_played_are_refused(params):
    with pytest.raises(ValueError, match="use"):
        ProposerSolver(**params)


# -- measuring -----------------------------------------------------------------------------------------------------


class Adder:
    """Solves the sums of `known` operands and hears what it is asked."""

    role = PLAYER

    def __init__(self, known):
        self.known, self.asked = known, []

    async def act(self, context):
        a, b = context.messages[-1]["content"].removesuffix(" = ").split(" + ")
        self.asked.append((int(a), int(b)))
        return f"[{int(a) + int(b)}]" if int(a) in self.known else "[0]"


def measured(known, **params):
    adder = Adder(known)
    game = ProposerSolver(**params)
    found = asyncio.run(accuracy(lambda role, temperature: adder, game))
    return found["accuracy"], adder.asked


def test_accuracy_is_of_the_very_sums_that_the_game_holds_out():
    """Those of another set may have been trained on."""
    assert measured({47}, held_out=[(47, 12), (80, 33)]) == (0.5, [(47, 12), (80, 33)])
    share, asked = measured(range(1000), low=100, high=120, held_out=5)
    assert share == 1.0
    assert asked == list(held_out(5, low=100, high=120))


def test_accuracy_without_a_held_out_sum_is_refused():
    with pytest.raises(ValueError, match=r"set game\.params\.held_out=200"):
        measured({47})

"""Matrix games pay what their table says, and what follows from the table is right."""

import copy
import itertools
import sys

import numpy as np
import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games._matrix import equilibria, zero_sum
from games.matrix_game import PRESETS, MatrixGame

# Row 1 never pays; between the other two, 1/3 and 2/3 make the columns equal: the value is 2/3.
SKEWED = {"moves": [["up", "bad", "down"], ["left", "right"]], "pay": [[2, 0], [-5, -5], [0, 1]]}


def skewed(rounds=1):
    payoffs = [[[pay, -pay] for pay in row] for row in SKEWED["pay"]]
    return make("matrix_game", moves=SKEWED["moves"], payoffs=payoffs, rounds=rounds)


def majority(seats, rounds=2):
    """Everybody of the larger side gets 1 more than the others."""
    moves = ["yes", "no"]

    def nested(profile):
        if len(profile) == seats:
            return [float(profile.count(move) * 2 > seats) for move in profile]
        return [nested((*profile, move)) for move in moves]

    return MatrixGame(moves=moves, payoffs=nested(()), rounds=rounds)


def played(game, *moves):
    game.reset(seed=0)
    for move in moves:
        game.step(move)
    return game


@pytest.mark.parametrize(
    "build",
    [
        *(lambda name=name: make("matrix_game", preset=name, rounds=2) for name in PRESETS),
        skewed,
        lambda: majority(3),
        lambda: majority(6, rounds=1),
    ],
)
def test_every_table_keeps_the_contract(build):
    check_game(build, games=4)


def test_the_presets_are_those_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    names = {"matching_pennies": "mp", "chicken": "cd", "battle_of_sexes": "bos", "stag_hunt": "sh"}
    for ours, theirs in {**names, "coordination": "coordination"}.items():
        game = pyspiel.load_matrix_game(f"matrix_{theirs}")
        expected = np.stack([game.row_utilities(), game.col_utilities()], -1)
        assert np.array_equal(PRESETS[ours].pay, expected), ours


def test_facts_and_roles_follow_from_the_table():
    facts = {name: make("matrix_game", preset=name, rounds=3) for name in PRESETS}
    assert [name for name, game in facts.items() if game.info.zero_sum] == ["matching_pennies"]
    assert [name for name, game in facts.items() if game.info.cooperative] == ["coordination"]
    assert facts["coordination"].info.par == 3.0
    alike = [name for name, game in facts.items() if game.roles == {"player": 2}]
    assert alike == ["chicken", "coordination", "prisoners_dilemma", "stag_hunt"]
    assert facts["battle_of_sexes"].roles == {"first": 1, "second": 1}
    assert majority(5).roles == {"player": 5}
    nothing = MatrixGame(moves=["a"], payoffs=[[[0, 0]]])
    assert (nothing.info.zero_sum, nothing.info.cooperative) == (True, False)


def test_of_three_seats_two_that_are_alike_do_not_make_all_alike():
    pay = np.zeros((2, 2, 2, 3))
    pay[..., 2] = np.arange(2)  # the third gets what its own move is worth, the others nothing
    game = MatrixGame(moves=["a", "b"], payoffs=pay.tolist())
    assert game.roles == {"first": 1, "second": 1, "third": 1}


def test_each_seat_hears_its_own_pay_and_its_own_past():
    game = played(skewed(rounds=2), "down", "right")
    assert game.rewards == {"first_0": 1.0, "second_0": -1.0}
    assert game.observe("second_0")["text"] == (
        "Your pay: left against up -2, left against bad 5, left against down 0, right against up 0, "
        "right against bad 5, right against down -1. Round 2 of 2. You so far: right against down. "
        "Actions: [left] [right]"
    )
    assert game.observe("first_0")["text"].endswith("You so far: down against right. Actions: [up] [bad] [down]")


def test_seats_that_change_places_hear_each_others_words():
    """O-09: what a seat is shown is from its own side, whichever seat it is."""
    for profile in itertools.product(("yes", "no"), repeat=3):
        texts = []
        for order in ((0, 1, 2), (1, 0, 2)):
            game = played(majority(3), *(profile[i] for i in order))
            texts.append([game.observe(f"player_{order.index(i)}")["text"] for i in (0, 1)])
        assert texts[0] == texts[1]


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_an_illegal_reply_of_one_seat_shifts_no_other(seats):
    """All move at once: who is asked again is asked last, and every move counts for the seat that made it."""
    moves = ["yes", "no", "yes", "no", "no", "yes"][:seats]
    plain = played(majority(seats), *moves)
    for clumsy in range(seats):
        game = played(majority(seats), *(*moves[:clumsy], "maybe", *moves[clumsy + 1 :]))
        assert game.acting == (f"player_{clumsy}",)
        assert "not a legal move" in game.observe(f"player_{clumsy}")["text"]
        others = [seat for seat in game.possible_agents if seat != f"player_{clumsy}"]
        assert all("not a legal" not in game.observe(seat)["text"] for seat in others)
        game.step(moves[clumsy])
        assert (game.past, game.rewards) == (plain.past, plain.rewards)


def test_perfect_play_of_a_skewed_game_leaves_nothing_to_gain():
    pytest.importorskip("scipy")
    game = skewed()
    assert game.known == pytest.approx({"value": 2 / 3, "uniform_nash_conv": 1.0 - -4 / 3})
    tree = solve.tree(game)
    perfect = solve.oracle_policy(tree)
    assert sorted(perfect.values()) == [pytest.approx((1 / 3, 0, 2 / 3)), pytest.approx((1 / 3, 2 / 3))]
    assert solve.nash_conv(tree, perfect) == pytest.approx(0, abs=1e-9)
    assert solve.values(tree, perfect)["first_0"] == pytest.approx(game.known["value"])
    assert solve.nash_conv(tree, solve.uniform(tree)) == pytest.approx(game.known["uniform_nash_conv"])


def test_any_zero_sum_table_is_solved_and_always_alike():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    for rows, columns in ((1, 4), (4, 1), (3, 5), (6, 6), (20, 7)):
        pay = rng.normal(size=(rows, columns)).round(1)
        value, one, two = zero_sum(pay)
        assert (one @ pay).min() == pytest.approx(value, abs=1e-8)
        assert (pay @ two).max() == pytest.approx(value, abs=1e-8)
        again = zero_sum(pay.copy())
        assert again[0] == value
        assert np.array_equal(again[1], one)
        assert np.array_equal(again[2], two)


def test_where_all_get_the_same_the_oracles_meet():
    game = make("matrix_game", preset="coordination")
    played(game, *(max(game.oracle(seat), key=game.oracle(seat).get) for seat in played(game).possible_agents))
    assert sum(game.rewards.values()) == 2 * game.known["welfare"] == 2 * game.info.par


def test_the_equilibria_of_the_small_games_are_those_of_the_textbook():
    found = {name: equilibria(t.pay[..., 0], t.pay[..., 1]) for name, t in PRESETS.items()}
    mixed = {name: [x[0] for x, y in pairs if 0 < x[0] < 1] for name, pairs in found.items()}
    assert {name: len(pairs) for name, pairs in found.items()} == {
        "matching_pennies": 1, "chicken": 3, "battle_of_sexes": 3, "coordination": 3, "prisoners_dilemma": 1,
        "stag_hunt": 3,
    }  # fmt: skip
    expected = {"matching_pennies": 1 / 2, "chicken": 1 / 2, "battle_of_sexes": 3 / 5, "coordination": 1 / 2}
    for name, share in {**expected, "stag_hunt": 1 / 2}.items():
        assert mixed[name] == [pytest.approx(share)], name
    known = make("matrix_game", preset="battle_of_sexes").known
    assert known == pytest.approx(
        {"welfare": 2.5, "equilibria": 3, "worst_equilibrium": 6 / 5, "best_equilibrium": 2.5}
    )


def test_what_is_found_for_random_games_are_equilibria_and_their_number_is_odd():
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, two = rng.normal(size=(2, 3, 4))
        found = equilibria(one, two)
        assert len(found) % 2 == 1  # Wilson 1971
        for x, y in found:
            assert (one @ y).max() == pytest.approx(x @ one @ y)
            assert (x @ two).max() == pytest.approx(x @ two @ y)


def test_the_bots_cycle_and_copy():
    game = played(majority(3, rounds=4), "yes", "no", "yes")
    bots = MatrixGame.bots
    assert [bots["copycat"](game, seat) for seat in game.possible_agents] == [{"no": 1.0}, {"yes": 1.0}, {"yes": 1.0}]
    assert bots["cycle"](game, "player_0") == {"no": 1.0}
    assert bots["copycat"](played(skewed(2)), "first_0") == {"up": 1.0}
    assert bots["copycat"](played(skewed(2), "up", "right"), "first_0") == {"up": 1.0}  # it has no "right"


def test_the_mean_pay_is_noted_where_there_is_any_to_be_had():
    assert played(make("matrix_game", preset="prisoners_dilemma"), "cooperate", "defect").notes == {"welfare": 2.5}
    assert played(make("matrix_game"), "heads", "tails").notes == {}


def test_a_position_shares_its_table_with_its_copies():
    game = played(skewed())
    assert copy.deepcopy(game).table is game.table


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    game = played(skewed())
    with pytest.raises(ImportError, match=r"pip install 'scrimmage\[games\]'"):
        game.oracle("first_0")
    pennies = played(make("matrix_game"))
    assert pennies.oracle("first_0") == {"heads": 0.5, "tails": 0.5}  # uniform play needs none


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"preset": "checkers"}, "preset 'checkers' not found: there are matching_pennies"),
        ({"preset": "chicken", "moves": ["a"], "payoffs": [[[1, 1]]]}, "a preset, or moves and payoffs together"),
        ({"moves": ["a"]}, "a preset, or moves and payoffs together"),
        ({"rounds": 0}, "rounds is 0"),
        ({"moves": ["a"], "payoffs": [[[1, 1]], [[2]]]}, "aren't a table of numbers"),
        ({"moves": ["a"], "payoffs": [1]}, "which makes 0 seats: use 2 to 6"),
        ({"moves": ["a", "b"], "payoffs": [[[1, 1]]]}, r"have shape \(1, 1, 2\).* ask for \(2, 2, 2\)"),
        ({"moves": [["a"]], "payoffs": [[[1, 1]]]}, r"moves of 1 seats ask for \(1, 2\)"),
        ({"moves": ["a", "a"], "payoffs": [[[1, 1]]]}, "has the same one twice"),
        ({"moves": ["[a"], "payoffs": [[[1, 1]]]}, r"move '\[a' can't be said"),
        ({"moves": [""], "payoffs": [[[1, 1]]]}, "move '' can't be said"),
        ({"moves": ["a"], "payoffs": [[[1, float("inf")]]]}, "aren't all finite"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(params, message):
    with pytest.raises(ValueError, match=message) as caught:
        MatrixGame(**params)
    assert "\n" not in str(caught.value)

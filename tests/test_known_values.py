"""What every built-in game claims to be known of it is what our own solver computes, where the game is small enough.

A new game is covered by its name; `SIZES` has others than the default. Understood are the `known` values
`information_sets`, `uniform_nash_conv`, `optimum`, `random`, `value` (to the first seat) and those named after a role.
What is understood at no size stands in `ELSEWHERE`, with the test that reads it or where it was published.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from arena import solve
from arena.equilibrium import equilibrium
from arena.make import make, names
from arena.optimum import optimum

pytest.importorskip("scipy")

SIZES = [
    *("dec_tiger(horizon=1)", "kuhn_poker(seats=3)", "leduc_poker(suits=false)", "liars_dice(sides=2)"),
    *("liars_dice(sides=4)", "matrix_game(rounds=2)"),
    *("nim(heaps=[1, 2])", "nim(heaps=[2, 2])", "nim(heaps=[1, 1], misere=true)", "nim(heaps=[4], most=3)"),
    *("broadcast(horizon=2)", "grid_meeting(horizon=1)", "recycling(horizon=2)"),
    *(f'tiny_hanabi(table="{table}")' for table in "ABCDF"),
]
ROOT = Path(__file__).parent.parent
HERE = "tests/test_known_values.py::test_known_values_are_what_the_solver_finds"  # of trees that are solved slowly
PAID = "test_the_most_that_can_be_earned_is_what_is_known"
ELSEWHERE = {
    "absolute_zero": {"proposer_max solver_max": f"tests/games/test_absolute_zero.py::{PAID}"},
    "auction": {
        "pay share": "tests/games/test_auction.py::test_the_oracle_leaves_little_to_gain_by_the_solver_of_the_house"
    },
    "bargaining": {
        "welfare nash_welfare": (
            "tests/games/test_bargaining.py::test_the_known_values_are_the_means_over_all_that_may_be_dealt"
        )
    },
    "broadcast": {"centralised": "tests/test_dec_pomdp.py::test_bounds_by_hand"},
    "coder_tester": {
        "coder_max tester_max": (
            "tests/games/test_coder_tester.py::test_who_passes_all_and_who_rejects_all_earn_the_most_that_is_known"
        )
    },
    "conjecturer_prover": {"conjecturer_max prover_max": f"tests/games/test_conjecturer_prover.py::{PAID}"},
    "connect_four": {"value": "Allis 1988, A knowledge-based approach of Connect-Four"},
    "debate": {"judge_max": "tests/games/test_debate.py::test_the_most_that_a_judge_can_earn_is_what_is_known"},
    "dec_pomdp": {"centralised": "tests/test_dec_pomdp.py::test_bounds_by_hand"},
    "dec_tiger": {"centralised": "tests/test_dec_pomdp.py::test_bounds_by_hand"},
    "environment_designer": {
        "designer_max": (
            "tests/games/test_environment_designer.py::test_the_most_that_a_designer_can_earn_is_what_is_known"
        )
    },
    "generator_verifier_refiner": {
        "generator_max verifier_max refiner_max": f"tests/games/test_generator_verifier_refiner.py::{PAID}"
    },
    "grid_meeting": {"centralised": "tests/test_dec_pomdp.py::test_bounds_by_hand"},
    "hanabi_mini": {"best": "tests/games/test_hanabi_mini.py::test_all_cards_on_the_table_are_the_best_that_is_known"},
    "leader_workers": {
        "leader_max": "tests/games/test_leader_workers.py::test_the_most_that_a_leader_can_earn_is_what_is_known"
    },
    "leduc_poker": {"first second uniform_nash_conv information_sets": HERE},
    "lewis_signalling": {
        "chance": ("tests/games/test_lewis_signalling.py::test_the_oracle_reaches_par_and_uniform_play_reaches_chance")
    },
    "mini_whist": {
        "value": "tests/games/test_mini_whist.py::test_where_the_cards_decide_all_the_value_is_what_is_known"
    },
    "negotiation_roles": {
        "efficiency": (
            "tests/games/test_negotiation_roles.py::"
            "test_who_agrees_exactly_where_that_is_possible_is_as_efficient_as_is_known"
        )
    },
    "prisoners_dilemma": {
        "welfare equilibria worst_equilibrium best_equilibrium": (
            "tests/games/test_prisoners_dilemma.py::test_welfare_is_three_a_round_and_the_only_equilibrium_is_to_defect"
        )
    },
    "proposer_solver": {"proposer_max solver_max": f"tests/games/test_proposer_solver.py::{PAID}"},
    "prover_verifier": {
        "verifier_max": "tests/games/test_prover_verifier.py::test_the_most_that_a_verifier_can_earn_is_what_is_known"
    },
    "public_goods": {
        "optimum equilibrium": (
            "tests/games/test_public_goods.py::test_to_give_nothing_is_the_equilibrium_and_to_give_all_the_optimum"
        )
    },
    "r_zero": {"challenger_max solver_max": f"tests/games/test_r_zero.py::{PAID}"},
    "recycling": {"centralised": "tests/test_dec_pomdp.py::test_bounds_by_hand"},
    "riddles": {"proposer_max solver_max": f"tests/games/test_riddles.py::{PAID}"},
    "stag_hunt": {
        "welfare equilibria worst_equilibrium best_equilibrium": (
            "tests/games/test_stag_hunt.py::test_welfare_is_three_a_round_and_trust_must_be_two_thirds"
        )
    },
    "think_act": {"optimum": "tests/games/test_think_act.py::test_a_right_answer_at_last_is_the_optimum_that_is_known"},
    "tic_tac_toe": {
        "value positions": ("tests/games/test_tic_tac_toe.py::test_perfect_play_draws_and_5478_boards_can_be_reached")
    },
    "truel": {
        "survival_first survival_second survival_third": (
            "tests/games/test_truel.py::test_the_values_of_the_classic_truel_by_hand"
        )
    },
    "twenty_questions": {
        "halving": ("tests/games/test_twenty_questions.py::test_halving_finds_every_word_and_its_mean_is_the_known_one")
    },
}
FEW, MANY = 2_500, 20_000  # nodes: a third of a second, and three seconds


@cache
def small(label, nodes):
    """The game, and its tree or why there is none."""
    game = make(label)
    try:
        return game, solve.tree(game, limit=nodes)
    except ValueError as error:
        return game, str(error)


def tree_of(label, nodes=FEW):
    """The game and its tree; skips the test where that can't be had, or was had with fewer nodes."""
    game, tree = small(label, nodes)
    if isinstance(tree, str) or (nodes > FEW and len(tree.parent) <= FEW):
        pytest.skip(tree if isinstance(tree, str) else "covered by the quick one")
    return game, tree


every = pytest.mark.parametrize("label", [*names(), *SIZES])
sizes = pytest.mark.parametrize("nodes", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])


@cache
def best_play(label, nodes):
    """Play that the solver finds, or proves to be an equilibrium; None where it knows no way."""
    game, tree = small(label, nodes)
    if game.info.cooperative:
        return optimum(tree)
    if not game.info.zero_sum:
        return None
    if len(tree.seats) == 2:
        return equilibrium(tree)
    return solve.oracle_policy(tree) if None not in tree.oracle else None


def measured(label, nodes):
    """By name, all that the solver can say."""
    game, tree = tree_of(label, nodes)
    found = {"information_sets": len(tree.information), "uniform_nash_conv": solve.nash_conv(tree, solve.uniform(tree))}
    if game.info.cooperative:
        found["random"] = solve.values(tree, solve.uniform(tree))[tree.seats[0]]
    policy = best_play(label, nodes)
    if policy is not None:
        assert solve.nash_conv(tree, policy) == pytest.approx(0, abs=1e-9)
        values = solve.values(tree, policy)
        first = values[tree.seats[0]]
        found |= {"value": first, **({"optimum": first} if game.info.cooperative else {})}
        found |= {role: values[f"{role}_0"] for role in game.roles}
    return found


def agrees(known, found):
    """The names of the known values that were checked; AssertionError where one is wrong."""
    checked = {name: value for name, value in known.items() if name in found}
    assert {name: found[name] for name in checked} == pytest.approx(checked, abs=1e-6)
    return sorted(checked)


@every
@sizes
def test_known_values_are_what_the_solver_finds(label, nodes):
    if not agrees(make(label).known, measured(label, nodes)):
        pytest.skip("knows nothing that the solver computes")


@every
@sizes
def test_no_seat_gains_by_leaving_the_oracle_and_no_team_does_better(label, nodes):
    game, tree = tree_of(label, nodes)
    if None in tree.oracle:
        pytest.skip("has no oracle everywhere")
    perfect = solve.oracle_policy(tree)
    if game.info.cooperative:
        best = solve.values(tree, best_play(label, nodes))
        assert solve.values(tree, perfect) == pytest.approx(best, abs=1e-6)
    else:  # where it isn't zero-sum, an oracle may have come near only, by fictitious play
        assert solve.nash_conv(tree, perfect) == pytest.approx(0, abs=1e-6 if game.info.zero_sum else 0.01)


@pytest.mark.parametrize(
    ("label", "name"), [("kuhn_poker", "first"), ("liars_dice", "information_sets"), ("tiny_hanabi", "optimum")]
)
def test_a_wrong_value_is_seen(label, name):
    known, found = make(label).known, measured(label, FEW)
    assert name in agrees(known, found)
    with pytest.raises(AssertionError):
        agrees({**known, name: known[name] + 1e-4}, found)


# -- every known value is checked by somebody --------------------------------------------------------------------------


def elsewhere(name):
    """By known value of a game, the test that reads it, or where it was published."""
    return {key: proof for keys, proof in ELSEWHERE.get(name, {}).items() for key in keys.split()}


def solved(name):
    """The known values of a game that the solver finds at some size."""
    found = set()
    for label in (name, *(size for size in SIZES if size.partition("(")[0] == name)):
        game, tree = small(label, FEW)
        if not isinstance(tree, str):
            found |= set(game.known) & set(measured(label, FEW))
    return found


@pytest.mark.parametrize("name", names())
def test_every_known_value_is_solved_or_listed_with_its_proof(name):
    known, listed = set(make(name).known), set(elsewhere(name))
    assert known - solved(name) <= listed, "solve it at a size of SIZES, or list its proof in ELSEWHERE"
    assert listed <= known, "listed, but not known"


def test_every_proof_is_a_test_that_reads_the_value_or_a_publication():
    for name in ELSEWHERE:
        for key, proof in elsewhere(name).items():
            path, _, function = proof.partition("::")
            if not function:
                assert any(word.isdigit() for word in proof.replace(",", "").split()), f"{name} {key}: give the year"
                continue
            text = (ROOT / path).read_text()
            found = [ast.unparse(node) for node in ast.parse(text).body if getattr(node, "name", "") == function]
            assert found, f"{name} {key}: there is no {proof}"
            assert "known" in found[0] or key in found[0], f"{name} {key}: {proof} doesn't read it"


def test_a_value_that_nobody_checks_is_seen(monkeypatch):
    monkeypatch.setattr("games.kuhn_poker.KuhnPoker.known", {"first": -1 / 18, "luck": 7.0})
    with pytest.raises(AssertionError, match="list its proof"):
        test_every_known_value_is_solved_or_listed_with_its_proof("kuhn_poker")


def test_every_game_that_is_listed_is_there():
    assert set(ELSEWHERE) <= set(names())

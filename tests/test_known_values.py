"""What every built-in game claims to be known of it is what our own solver computes, where the game is small enough.

A new game is covered by its name; `SIZES` has others than the default. Understood are the `known` values
`information_sets`, `uniform_nash_conv`, `optimum`, `value` (to the first seat) and those named after a role.
"""

from functools import cache

import pytest

from arena import solve
from arena.equilibrium import equilibrium
from arena.make import make, names
from arena.optimum import optimum

pytest.importorskip("scipy")

SIZES = [
    *("dec_tiger(horizon=1)", "kuhn_poker(seats=3)", "leduc_poker(suits=false)", "liars_dice(sides=2)"),
    *("liars_dice(sides=4)", "nim(heaps=[1, 2])", "matrix_game(rounds=2)"),
    *(f'tiny_hanabi(table="{table}")' for table in "ABCDF"),
]
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

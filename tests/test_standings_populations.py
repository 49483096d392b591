"""Pay-off matrix, Nash averaging, alpha-rank and circles: what a list from best to worst doesn't tell."""

import math
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.alpharank import alpha_rank
from arena.nash import nash_average
from arena.payoff import Cell, cycles, matrix
from arena.standings import Standings
from arena.types import Match

RPS = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])


def points(gains):
    """Mean points from what the row's agent scores above a half."""
    gains = np.array(gains, float)
    return 0.5 + np.triu(gains, 1) - np.triu(gains, 1).T


def random_points(n, seed):
    return points(np.random.default_rng(seed).uniform(-0.5, 0.5, (n, n)))


def log(results):
    """Matches from {(a, b): (wins, draws, losses)}."""
    matches = []
    for (a, b), counts in results.items():
        for score, count in zip(((1.0, 0.0), (0.5, 0.5), (0.0, 1.0)), counts, strict=True):
            matches += [Match(f"{a}{b}{score}{i}", "g", ((a,), (b,)), score) for i in range(count)]
    return matches


# -- pay-off -------------------------------------------------------------------------------------------------------


def test_the_payoff_is_the_mean_of_points_both_ways_round():
    met = Standings.of(log({("a", "b"): (6, 2, 2), ("b", "c"): (1, 0, 0)}), samples=200).payoff
    assert (met["a", "b"].mean, met["a", "b"].n) == (0.7, 10)
    assert (met["b", "a"].mean, met["b", "a"].n) == pytest.approx((0.3, 10))
    assert met["b", "a"].low == pytest.approx(1 - met["a", "b"].high)
    assert ("a", "c") not in met


def test_the_interval_of_a_cell_is_that_of_jeffreys():
    from scipy.stats import beta

    met = Standings.of(log({("a", "b"): (30, 0, 10), ("c", "d"): (1, 0, 0)}), samples=4000).payoff
    assert (met["a", "b"].low, met["a", "b"].high) == pytest.approx(beta(30.5, 10.5).ppf([0.025, 0.975]), abs=0.01)
    assert met["c", "d"].low == pytest.approx(beta(1.5, 0.5).ppf(0.025), abs=0.03)  # one win doesn't make it certain
    assert met["c", "d"].high == 1.0


# -- Nash averaging ------------------------------------------------------------------------------------------------


def test_rock_paper_scissors_weighs_a_third_each_and_nobody_has_skill():
    weights, skills = nash_average(RPS)
    assert weights == pytest.approx([1 / 3] * 3)
    assert skills == pytest.approx([0, 0, 0], abs=1e-9)


def test_uneven_stakes_weigh_by_the_opposite_stake():
    # a beats b by x, b beats c by y, c beats a by z: the equilibrium is (y, z, x) / (x + y + z).
    x, y, z = 0.1, 0.2, 0.5
    weights, skills = nash_average(points([[0, x, -z], [0, 0, y], [0, 0, 0]]))
    assert weights == pytest.approx(np.array([y, z, x]) / (x + y + z))
    assert skills == pytest.approx([0, 0, 0], abs=1e-9)


def test_who_beats_everybody_carries_all_the_weight_and_others_have_what_they_score_against_it():
    weights, skills = nash_average(points([[0, 0.1, 0.4], [0, 0, 0.4], [0, 0, 0]]))
    assert weights == pytest.approx([1, 0, 0], abs=1e-9)
    assert skills == pytest.approx([0, -0.1, -0.4], abs=1e-9)


def test_of_many_equilibria_the_most_even_one_is_taken():
    weights, skills = nash_average(np.full((4, 4), 0.5))
    assert weights == pytest.approx([0.25] * 4)
    assert skills == pytest.approx([0] * 4)
    # a and b draw and both beat c, by 0.5 and 0.1: every mixture of the two is an equilibrium.
    weights, skills = nash_average(points([[0, 0, 0.5], [0, 0, 0.1], [0, 0, 0]]))
    assert weights == pytest.approx([0.5, 0.5, 0], abs=1e-9)
    assert skills[2] == pytest.approx(-0.3)


@pytest.mark.parametrize("copied", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_copies_of_an_agent_change_nobodys_skill_and_share_its_weight(copied, seed):
    matrices = [random_points(4, seed), points([[0, 0, 0.5, 0.1], [0, 0, 0.1, 0.2], [0, 0, 0, 0], [0, 0, 0, 0]])]
    for p in matrices:
        with_copies = np.array([0, 1, 2, 3, copied, copied])
        weights, skills = nash_average(p)
        more, same = nash_average(p[np.ix_(with_copies, with_copies)])
        assert same == pytest.approx(skills[with_copies], abs=1e-9)
        assert sum(more[with_copies == copied]) == pytest.approx(weights[copied], abs=1e-9)
        mean = (p.mean(axis=1)[with_copies], p[np.ix_(with_copies, with_copies)].mean(axis=1))
        assert not np.allclose(*mean)  # which the plain mean of points does not have


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(0, 10_000), st.booleans())
def test_nobody_scores_above_a_half_against_the_weights_and_listing_order_does_not_matter(n, seed, coarse):
    p = random_points(n, seed)
    p = np.round(2 * p) / 2 if coarse else p  # 0, a half, 1: many equilibria
    weights, skills = nash_average(p)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert skills.max() == pytest.approx(0, abs=1e-8)
    assert weights @ skills == pytest.approx(0, abs=1e-8)
    order = np.random.default_rng(seed).permutation(n)
    again, skills_again = nash_average(p[np.ix_(order, order)])
    assert again == pytest.approx(weights[order], abs=1e-7)
    assert skills_again == pytest.approx(skills[order], abs=1e-7)


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.zeros(3), np.full((2, 2), math.nan)])
def test_points_that_do_not_add_up_are_refused(wrong):
    with pytest.raises(ValueError, match="must add up to 1"):
        nash_average(wrong)


def test_without_scipy_the_standings_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    standings = Standings.of(log({("a", "b"): (3, 0, 1)}), samples=20)
    assert standings.row("a").nash is None
    assert standings.row("a").alpha is not None
    assert standings.notes == ("no Nash averaging: Nash averaging needs scipy: pip install 'scrimmage[games]'",)


def test_agents_who_have_not_met_have_no_nash_average():
    standings = Standings.of(log({("a", "b"): (3, 0, 1), ("b", "c"): (3, 0, 1)}), samples=20)
    assert {(row.nash, row.alpha) for row in standings.rows} == {(None, None)}
    assert standings.notes == ("no Nash averaging, no alpha-rank: 'a' and 'c' have not met",)


# -- alpha-rank ----------------------------------------------------------------------------------------------------


def test_alpha_rank_of_rock_paper_scissors_is_a_third_each():
    assert alpha_rank(RPS) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("gain", [0.0, 0.01, 0.1, 0.5])
def test_alpha_rank_of_two_is_the_odds_of_a_takeover(gain):
    a, b = alpha_rank(points([[0, gain], [0, 0]]), alpha=0.5, population=10)
    assert a / b == pytest.approx(math.exp(9 * 0.5 * 2 * gain))
    assert a + b == pytest.approx(1)


def test_alpha_rank_of_an_order_is_its_top_however_strong_the_selection():
    order = points(np.full((6, 6), 0.5))
    assert alpha_rank(order) == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-12)
    assert alpha_rank(order[::-1, ::-1]) == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_alpha_rank_is_what_openspiel_computes(seed, monkeypatch):
    pytest.importorskip("pyspiel")
    # Its module draws pictures as well, for which the plotting package need not be there.
    drawing = types.ModuleType("open_spiel.python.egt.alpharank_visualizer")
    monkeypatch.setitem(sys.modules, drawing.__name__, drawing)
    egt = pytest.importorskip("open_spiel.python.egt")
    monkeypatch.setattr(egt, "alpharank_visualizer", drawing, raising=False)
    alpharank = pytest.importorskip("open_spiel.python.egt.alpharank")
    p = random_points(5, seed)
    found = alpharank.compute([p], m=20, alpha=0.3, use_local_selection_model=True)
    want = next(part for part in found if isinstance(part, np.ndarray) and part.shape == (5,))
    assert alpha_rank(p, alpha=0.3, population=20) == pytest.approx(want, abs=1e-9)


# -- circles -------------------------------------------------------------------------------------------------------


def met(p):
    names = "abcdefgh"[: len(p)]
    return {(a, b): Cell(p[i][j], 0.0, 1.0, 1) for i, a in enumerate(names) for j, b in enumerate(names) if i != j}


def test_the_share_of_circles_is_one_for_rock_paper_scissors_and_zero_for_an_order():
    assert cycles(met(RPS)) == 1.0
    assert cycles(met(points(np.full((6, 6), 0.5)))) == 0.0
    assert cycles({}) is None
    assert cycles({pair: cell for pair, cell in met(RPS).items() if set(pair) != {"a", "b"}}) is None


@pytest.mark.parametrize("seed", range(5))
def test_circles_are_the_threes_left_over_by_those_with_a_winner(seed):
    # In a round robin without draws a triple has one who beats both others, or is a circle (Kendall and Smith 1940).
    p = random_points(8, seed)
    wins = (p > 0.5).sum(axis=1)
    assert cycles(met(p)) == pytest.approx(1 - sum(math.comb(int(w), 2) for w in wins) / math.comb(8, 3))


def test_the_matrix_has_a_half_on_its_diagonal_and_is_none_where_a_cell_lacks():
    assert matrix(met(RPS), "abc") == pytest.approx(RPS)
    assert matrix({}, "ab") is None

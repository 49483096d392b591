"""An interval of sampled returns stays inside the game, is as wide as it should be, and holds the truth."""

import random

import numpy as np
import pytest

from arena.estimate import Estimate


def jeffreys(won, n):
    """By Beta(won + 1/2, lost + 1/2): a table of its density, added up."""
    share = (np.arange(2_000_000) + 0.5) / 2_000_000
    density = (won - 0.5) * np.log(share) + (n - won - 0.5) * np.log1p(-share)
    total = np.cumsum(np.exp(density - density.max()))
    return share[np.searchsorted(total, [0.025 * total[-1], 0.975 * total[-1]])]


@pytest.mark.parametrize(("won", "n"), [(9, 10), (8, 10), (5, 10), (1, 10), (150, 200), (2, 3)])
def test_of_wins_and_losses_it_is_jeffreys_interval(won, n):
    found = Estimate.of([1.0] * won + [-1.0] * (n - won), -1, 1)
    low, high = 2 * jeffreys(won, n) - 1
    assert (found.mean, found.n) == (pytest.approx((2 * won - n) / n), n)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))


def test_ten_wins_of_ten_are_not_certain_and_no_more_than_ten():
    """Jeffreys' lower end of 10 of 10 is 0.783, or 0.565 of a range from -1 to 1."""
    found = Estimate.of([1.0] * 10, -1, 1)
    assert (found.mean, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(2 * 0.783 - 1, abs=0.02)
    lost = Estimate.of([-1.0] * 10, -1, 1)
    assert (lost.low, lost.high) == (-1.0, pytest.approx(-found.low, abs=0.03))


@pytest.mark.parametrize("samples", [[1.0], [1.0] * 9 + [-1.0], [-1.0] * 9 + [1.0], [0.5, -1.0], [1.0, -1.0, 0.0] * 50])
def test_no_end_leaves_the_range_and_the_mean_is_inside(samples):
    found = Estimate.of(samples, -1, 1)
    assert -1 <= found.low <= found.mean <= found.high <= 1
    assert found.high - found.low > 0.1


def test_many_samples_have_the_width_of_a_normal_distribution():
    """Kuhn poker's returns; the standard error by hand."""
    samples = [-2.0] * 150 + [-1.0] * 300 + [1.0] * 400 + [2.0] * 150
    found = Estimate.of(samples, -2, 2)
    error = (np.var(samples) / len(samples)) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.03)
    assert found == Estimate.of(random.Random(1).sample(samples, len(samples)), -2, 2)


@pytest.mark.parametrize(
    ("n", "odds"),
    [(10, {-1: 0.1, 1: 0.9}), (20, {-2: 0.1, -1: 0.3, 1: 0.4, 2: 0.2}), (60, {-1: 0.02, 0: 0.9, 1: 0.08})],
)
def test_it_holds_the_true_mean_as_often_as_it_says(n, odds):
    """400 draws, of which 95 % are 380; three standard errors are 13. The normal interval holds it 267 times
    in the first."""
    rng, values = random.Random(7), list(odds)
    truth = sum(value * p for value, p in odds.items())
    drawn = (rng.choices(values, odds.values(), k=n) for _ in range(400))
    found = [Estimate.of(samples, min(values), max(values)) for samples in drawn]
    assert sum(one.low <= truth <= one.high for one in found) >= 380 - 13


def test_a_sample_out_of_the_range_is_refused():
    with pytest.raises(ValueError, match=r"samples are \[2.0\]: they must lie between -1 and 1"):
        Estimate.of([2.0], -1, 1)

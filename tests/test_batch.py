"""The batch: rows end to end, and weights that count the whole step."""

from __future__ import annotations

import numpy as np
import pytest

from trainers.batch import NORMALISATIONS, make_batch
from trainers.rows import Decision, Row


def a_row(mask, *, episode="e", role="a", decisions=0, advantage=1.0):
    """A row whose mask is written as "0110"; ids count up from 10."""
    trained = np.array([c == "1" for c in mask])
    n = len(mask)
    return Row(
        episode,
        f"{role}_0",
        role,
        tokens=np.arange(10, 10 + n, dtype=np.int32),
        mask=trained,
        logprobs=np.where(trained, -1.0, 0.0).astype(np.float32),
        versions=np.where(trained, 0, -1).astype(np.int32),
        temperatures=np.where(trained, 0.5, 1.0).astype(np.float32),
        advantages=np.where(trained, advantage, 0.0).astype(np.float32),
        decisions=(Decision(1, ((1,), (2,)), 0, True, np.float32([-1, -1]), 1.0),) * decisions,
    )


ROWS = [
    a_row("0110", episode="e", role="a", decisions=1),
    a_row("01", episode="e", role="b"),
    a_row("011111", episode="f", role="a", decisions=3),
]


@pytest.mark.parametrize(
    ("normalisation", "tokens", "decisions"),
    [
        ("token", [1 / 8, 1 / 8, 1 / 8], [1 / 4, 1 / 4]),
        ("sequence", [1 / 6, 1 / 3, 1 / 15], [1 / 2, 1 / 6]),
        ("episode", [1 / 2, 1 / 2, 1 / 2], [1 / 2, 1 / 2]),
        ("role", [1 / 14, 1 / 2, 1 / 14], [1 / 4, 1 / 4]),
        ("constant", [1 / 5, 1 / 5, 1 / 5], [1 / 5, 1 / 5]),
    ],
)
def test_weights_by_normalisation(normalisation, tokens, decisions):
    batch = make_batch(ROWS, normalisation, 5.0)
    expected = np.repeat(np.float32(tokens), [2, 1, 5])
    np.testing.assert_allclose(batch.weight[batch.mask], expected, rtol=1e-6)
    assert batch.decision_row == (0, 2, 2, 2)
    np.testing.assert_allclose(batch.decision_weight, np.repeat(decisions, [1, 3]))


@pytest.mark.parametrize("normalisation", ["token", "sequence", "role"])
def test_the_mass_of_a_step_is_one(normalisation):
    batch = make_batch(ROWS, normalisation)
    assert batch.weight.sum() == pytest.approx(1.0)
    assert sum(batch.decision_weight) == pytest.approx(1.0)


def test_each_role_has_the_same_mass():
    batch = make_batch(ROWS, "role")
    owner = batch.role[np.searchsorted(batch.starts, np.arange(len(batch.tokens)), side="right") - 1]
    assert [batch.weight[owner == i].sum() for i in range(2)] == pytest.approx([0.5, 0.5])


def test_rows_lie_end_to_end_and_nothing_is_padded():
    batch = make_batch(ROWS)
    assert batch.starts.tolist() == [0, 4, 6, 12]
    assert batch.tokens.tolist() == [10, 11, 12, 13, 10, 11, 10, 11, 12, 13, 14, 15]
    assert batch.roles == ("a", "b")
    assert batch.role.tolist() == [0, 1, 0]
    assert not batch.weight[~batch.mask].any()
    assert batch.temperature.tolist() == np.where(batch.mask, 0.5, 1.0).tolist()
    dtypes = [batch.tokens.dtype, batch.mask.dtype, batch.weight.dtype, batch.starts.dtype, batch.role.dtype]
    assert dtypes == [np.int64, np.bool_, np.float32, np.int64, np.int64]


def test_a_token_is_named_by_its_episode_seat_and_place():
    batch = make_batch(ROWS)
    assert batch.name(5) == "episode e, b_0, role b, token 1"
    assert batch.name(6) == "episode f, a_0, role a, token 0"


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_a_step_without_rows_is_an_empty_batch(normalisation):
    batch = make_batch([], normalisation)
    assert len(batch.tokens) == len(batch.decisions) == 0
    assert batch.starts.tolist() == [0]


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_the_order_of_rows_changes_no_weight(normalisation):
    forward, backward = make_batch(ROWS, normalisation), make_batch(ROWS[::-1], normalisation)
    parts = [forward.weight[a:b].tolist() for a, b in zip(forward.starts, forward.starts[1:], strict=False)]
    back = [backward.weight[a:b].tolist() for a, b in zip(backward.starts, backward.starts[1:], strict=False)]
    assert parts == back[::-1]


def test_an_unknown_normalisation_and_a_useless_constant_are_refused():
    with pytest.raises(ValueError, match="did you mean 'sequence'"):
        make_batch(ROWS, "sequense")
    with pytest.raises(ValueError, match=r"loss.constant is 0.0"):
        make_batch(ROWS, "constant", 0.0)

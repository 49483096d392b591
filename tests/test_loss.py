"""The loss, against REINFORCE, finite differences and values worked out by hand; in float64 where that shows more."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.batch import NORMALISATIONS, make_batch
from trainers.config import LossConfig
from trainers.credit import option_advantages
from trainers.loss import Stats, decision_terms, padded, token_terms
from trainers.rows import Decision, Row

PPO, REINFORCE = LossConfig(kind="ppo"), LossConfig(kind="reinforce")


def doubles(*values):
    return torch.tensor(values, dtype=torch.float64)


def leaf(*values):
    return doubles(*values).requires_grad_()


# -- tokens ------------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(-9, 0), st.floats(-3, 3), st.floats(0, 1)), min_size=1, max_size=6))
def test_at_the_first_step_the_ratio_is_one_and_the_gradient_is_that_of_reinforce(rows):
    """Identity 2: -weight x advantage at each token, clip or no clip."""
    logp_n, advantage_n, weight_n = (doubles(*column) for column in zip(*rows, strict=True))
    gradients = []
    for config in (PPO, replace(PPO, dual_clip=3.0), REINFORCE):
        logp = logp_n.clone().requires_grad_()
        loss, stats = token_terms(logp, logp_n, advantage_n, weight_n, config)
        loss.backward()
        gradients.append(logp.grad)
        assert stats.means()["token/ratio_max"] == 1.0
        assert stats.means()["token/dlogp_max"] == 0.0
        assert stats.means()["token/clipped"] == 0.0
    for gradient in gradients:
        torch.testing.assert_close(gradient, -weight_n * advantage_n)


def test_a_temperature_on_one_side_alone_shows_at_once():
    """O-24, identity 2 with its planted fault: logits 2 and 0 at T = 0.5; before temperature the ratio is 0.897."""
    logits = doubles(2.0, 0.0)
    right, wrong = torch.log_softmax(logits / 0.5, 0)[:1], torch.log_softmax(logits, 0)[:1]
    assert right.item() == pytest.approx(-0.01815, abs=1e-5)
    one = doubles(1.0)
    _, agreed = token_terms(right, right, one, one, PPO)
    _, fault = token_terms(wrong, right, one, one, PPO)
    assert agreed.means()["token/ratio_max"] == 1.0
    assert fault.means()["token/ratio_max"] == pytest.approx(0.897, abs=1e-3)
    assert fault.means()["token/dlogp"] == pytest.approx(0.10878, abs=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "dual", "loss", "moves"),
    [
        (1.5, 1.0, 0.0, -1.28, False),  # far enough up: the clip holds it
        (1.5, -1.0, 0.0, 1.5, True),  # too far up for a bad token: still pushed down
        (0.5, 1.0, 0.0, -0.5, True),
        (0.5, -1.0, 0.0, 0.8, False),
        (5.0, -1.0, 3.0, 3.0, False),  # the dual clip bounds the loss
        (2.0, -1.0, 3.0, 2.0, True),
    ],
)
def test_where_ppo_clips(ratio, advantage, dual, loss, moves):
    logp = leaf(math.log(ratio))
    found, stats = token_terms(logp, doubles(0.0), doubles(advantage), doubles(1.0), replace(PPO, dual_clip=dual))
    found.backward()
    assert found.item() == pytest.approx(loss)
    assert bool(logp.grad.item()) is moves
    assert stats.means()["token/clipped"] == float((ratio, advantage) in [(1.5, 1.0), (0.5, -1.0)])


def test_a_ratio_beyond_float32_is_finite():
    logp = torch.tensor([0.0], requires_grad=True)
    loss, _ = token_terms(logp, torch.tensor([-500.0]), torch.tensor([-1.0]), torch.tensor([1.0]), PPO)
    loss.backward()
    assert math.isfinite(loss.item())
    assert math.isfinite(logp.grad.item())


@pytest.mark.parametrize("what", ["logp", "sampled_logp", "advantage", "weight", "entropy", "reference_logp"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_named_and_never_summed(what, value):
    names = ("logp", "sampled_logp", "advantage", "weight", "entropy", "reference_logp")
    given_ = {each: torch.zeros(3) for each in names}
    given_[what] = torch.tensor([0.0, value, 0.0])
    more = {each: given_.pop(each) for each in ("entropy", "reference_logp")}
    with pytest.raises(ValueError, match=f"{what} of episode e, row 1 is"):
        token_terms(*given_.values(), PPO, **more, name=lambda i: f"episode e, row {i}")


def test_the_gradient_of_the_token_kl_is_exact_in_expectation_and_its_report_is_never_negative():
    """The mean of the k2 gradient over tokens drawn from the policy is the gradient of KL(policy || reference)."""
    logits, reference = leaf(0.3, -0.2, 1.0), torch.log_softmax(doubles(1.0, 0.0, 0.0), 0)
    logp = torch.log_softmax(logits, 0)
    zero = torch.zeros(3, dtype=torch.float64)
    config = replace(REINFORCE, kl=1.0)
    loss, stats = token_terms(logp, logp.detach(), zero, logp.detach().exp(), config, reference_logp=reference)
    (found,) = torch.autograd.grad(loss, logits, retain_graph=True)
    (exact,) = torch.autograd.grad((logp.exp() * (logp - reference)).sum(), logits)
    torch.testing.assert_close(found, exact)
    assert stats.means()["token/kl"] >= 0


def test_the_entropy_bonus_is_counted_in_nats():
    zero, entropy = doubles(0.0, 0.0), leaf(1.0, 3.0)
    loss, stats = token_terms(zero, zero, zero, doubles(0.5, 0.5), replace(PPO, entropy=0.1), entropy=entropy)
    assert loss.item() == pytest.approx(-0.2)
    assert stats.means()["token/entropy"] == 2.0


def test_statistics_are_split_by_role_and_join_over_micro_batches():
    logp, sampled, one = doubles(-1.0, -1.0, -1.0), doubles(-1.0, -1.5, -2.0), doubles(1.0, 1.0, 1.0)
    _, whole = token_terms(logp, sampled, one, one, PPO, role=["a", "b", "b"])
    joined = Stats()
    for i in range(3):
        part = slice(i, i + 1)
        roles = [["a"], ["b"], ["b"]][i]
        joined += token_terms(logp[part], sampled[part], one[part], one[part], PPO, role=roles)[1]
    assert joined.means() == pytest.approx(whole.means())
    means = whole.means()
    assert (means["token/dlogp/a"], means["token/dlogp/b"]) == (0.0, 0.75)
    assert means["token/dlogp_max/b"] == 1.0
    assert means["token/clipped/b"] == 1.0


def test_a_micro_batch_without_free_tokens_has_no_loss():
    """As with `reply: legal`, where all that is trained are decisions."""
    loss, stats = token_terms(*[torch.zeros(0)] * 4, PPO)
    assert loss.item() == 0
    assert stats.means() == {}


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"loss.kind 'pppo'"):
        token_terms(*[doubles(0.0)] * 4, replace(PPO, kind="pppo"))


# -- micro-batches -----------------------------------------------------------------------------------------------------


def a_step(rng):
    """Rows of uneven length, two roles, three episodes, as a table policy would have made them."""
    rows = []
    for b, length in enumerate([3, 9, 1, 5, 7]):
        mask = rng.random(length) < 0.7
        mask[-1] = True
        columns = [rng.normal(size=length).astype(np.float32) * mask for _ in range(2)]
        tokens = rng.integers(0, 4, length).astype(np.int32)
        options = Decision(0, ((0,), (1,)), int(rng.integers(2)), True, np.float32([-0.5, -1]), float(rng.normal()))
        rows.append(
            Row(
                f"e{b // 2}", "s", "ab"[b % 2], tokens, mask, columns[0], mask.astype(np.int32) - 1,
                np.ones(length, np.float32), columns[1], (options,) * (b % 3),
            )
        )  # fmt: skip
    return rows


def gradient(theta, batch, weight=None):
    """d loss / d theta [4] of some rows, where token t has logit theta[t] wherever it stands."""
    theta = theta.clone().requires_grad_()
    table = torch.log_softmax(theta, 0)
    m = torch.from_numpy(batch.mask)
    logp = table[torch.from_numpy(batch.tokens)][m]
    columns = [torch.from_numpy(c).double()[m] for c in (batch.sampled_logp, batch.advantage, batch.weight)]
    if weight is not None:
        columns[2] = torch.full_like(columns[2], weight)
    loss, _ = token_terms(logp, *columns, PPO)
    if batch.decisions:
        options, valid = padded([table[torch.tensor([ids[0] for ids in d.options])] for d in batch.decisions])
        more, _ = decision_terms(options, valid, batch.decisions, doubles(*batch.decision_weight), PPO)
        loss = loss + more
    (found,) = torch.autograd.grad(loss, theta)
    return found


def part_of(whole, rows, chosen):
    """Some rows of a step with the weights that the whole step gave them."""
    part = make_batch([rows[b] for b in chosen])
    weight = np.concatenate([whole.weight[whole.starts[b] : whole.starts[b + 1]] for b in chosen])
    by_row = [[w for w, r in zip(whole.decision_weight, whole.decision_row, strict=True) if r == b] for b in chosen]
    return replace(part, weight=weight, decision_weight=tuple(itertools.chain(*by_row)))


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize(
    "layout", [[[0, 1, 2, 3, 4]], [[0], [1], [2], [3], [4]], [[4, 2], [0, 3, 1]], [[3, 1], [4, 0, 2]]]
)
def test_neither_split_nor_order_changes_the_gradient(normalisation, layout):
    """Identity 3, O-21."""
    rng = np.random.default_rng(3)
    rows, theta = a_step(rng), torch.from_numpy(rng.normal(size=4))
    whole = make_batch(rows, normalisation, 7.0)
    parts = sum(gradient(theta, part_of(whole, rows, chosen)) for chosen in layout)
    torch.testing.assert_close(parts, gradient(theta, whole), rtol=1e-9, atol=1e-12)


def test_weights_made_anew_for_each_micro_batch_would_change_the_gradient():
    """Identity 3's planted fault: each micro-batch divided by its own count, then averaged."""
    rng = np.random.default_rng(3)
    rows, theta = a_step(rng), torch.from_numpy(rng.normal(size=4))
    layout = [[0, 1], [2, 3, 4]]
    fault = sum(gradient(theta, make_batch([rows[b] for b in chosen])) / len(layout) for chosen in layout)
    whole = gradient(theta, make_batch(rows))
    assert (fault - whole).abs().max() > 0.01


# -- decisions ---------------------------------------------------------------------------------------------------------


def a_decision(count, *, taken=0, drawn=True, advantage=0.0, advantages=None, logprobs=None):
    logprobs = np.full(count, -1.0) if logprobs is None else logprobs
    return Decision(
        0, tuple((a,) for a in range(count)), taken, drawn, np.asarray(logprobs, np.float32), advantage,
        None if advantages is None else np.asarray(advantages, np.float32),
    )  # fmt: skip


def test_a_drawn_reply_has_ratio_one_and_the_gradient_of_its_renormalised_probability():
    """Identity 2 for `reply: legal`: whatever mass lies outside the options, the policy is what was drawn from."""
    logits = leaf(-3.0, -2.0, -7.0)
    decision = a_decision(3, taken=1, advantage=2.0, logprobs=logits.detach().numpy())
    valid = torch.ones(1, 3, dtype=torch.bool)
    for config in (PPO, REINFORCE):
        loss, stats = decision_terms(logits[None], valid, [decision], doubles(0.25), config)
        (found,) = torch.autograd.grad(loss, logits)
        pi = torch.softmax(logits.detach(), 0)
        torch.testing.assert_close(found, -0.25 * 2.0 * (doubles(0.0, 1.0, 0.0) - pi))
        assert stats.means()["decision/ratio_max"] == pytest.approx(1.0)
        assert stats.means()["decision/moved_max"] == pytest.approx(0.0, abs=1e-6)


def test_without_renormalising_the_ratio_would_not_be_one():
    """The planted fault: the old probability as the engine scored it, the new one among the options alone."""
    logits = doubles(-3.0, -2.0)
    ratio = (torch.log_softmax(logits, 0)[0] - logits[0]).exp().item()
    assert ratio == pytest.approx(1 / (math.exp(-3) + math.exp(-2)))
    assert ratio > 5


def test_neurd_pushes_every_option_by_its_own_advantage():
    logits, advantages = leaf(0.5, -0.5, 0.0), doubles(1.0, -0.5, 0.25)
    decision = a_decision(3, advantages=advantages.numpy(), advantage=99.0)
    loss, _ = decision_terms(logits[None], torch.ones(1, 3, dtype=torch.bool), [decision], doubles(0.5), PPO)
    (found,) = torch.autograd.grad(loss, logits)
    pi = torch.softmax(logits.detach(), 0)
    torch.testing.assert_close(found, -0.5 * (advantages - pi * advantages.sum()))


def test_options_that_are_not_there_count_for_nothing_and_give_no_nan():
    """A set of two options beside one of three equals the two sets alone, with -inf, NaN or anything in the padding."""
    two, three = a_decision(2, advantages=[1.0, -1.0]), a_decision(3, taken=2, advantage=0.5)
    config = replace(PPO, entropy=0.1, magnet=0.2, kl=0.3)
    rows = [leaf(0.1, -0.4), leaf(0.2, 0.0, -0.3)]
    alone = sum(
        decision_terms(row[None], torch.ones(1, len(row), dtype=torch.bool), [d], doubles(0.5), config,
                       reference_logp=torch.zeros(1, len(row), dtype=torch.float64))[0]
        for row, d in zip(rows, (two, three), strict=True)
    )  # fmt: skip
    expected = torch.autograd.grad(alone, rows)
    for rubbish in (0.0, -math.inf, math.nan, 1e30):
        table, valid = padded(rows)
        table = table.masked_fill(~valid, rubbish)
        reference = torch.zeros(2, 3, dtype=torch.float64)
        loss, _ = decision_terms(table, valid, [two, three], doubles(0.5, 0.5), config, reference_logp=reference)
        assert loss.item() == pytest.approx(alone.item())
        for found, wanted in zip(torch.autograd.grad(loss, rows), expected, strict=True):
            torch.testing.assert_close(found, wanted)


def test_free_replies_with_scored_options_are_moved_by_regularisers_only():
    decision = a_decision(2, drawn=False, advantage=0.0)
    logits = leaf(1.0, 0.0)
    valid = torch.ones(1, 2, dtype=torch.bool)
    loss, _ = decision_terms(logits[None], valid, [decision], doubles(1.0), PPO)
    assert loss.item() == 0
    loss, _ = decision_terms(logits[None], valid, [decision], doubles(1.0), replace(PPO, magnet=0.5))
    pi = torch.softmax(logits.detach(), 0)
    assert loss.item() == pytest.approx(0.5 * (pi * (2 * pi).log()).sum().item())


def test_magnet_entropy_and_kl_have_their_exact_values():
    logits, magnet = leaf(1.0, 0.0, -1.0), doubles(0.5, 0.3, 0.2)
    pi = torch.softmax(logits, 0)
    valid, decision = torch.ones(1, 3, dtype=torch.bool), a_decision(3, drawn=False)
    config = replace(PPO, magnet=0.7, entropy=0.1, kl=0.2)
    anchor = (magnet.log() - 4.0)[None]  # not renormalised: the mass outside the options is no part of it
    reference = torch.zeros(1, 3, dtype=torch.float64)
    loss, stats = decision_terms(
        logits[None], valid, [decision], doubles(1.0), config, magnet_logp=anchor, reference_logp=reference
    )
    divergence, entropy = (pi * (pi / magnet).log()).sum(), -(pi * pi.log()).sum()
    expected = 0.7 * divergence - 0.1 * entropy + 0.2 * (math.log(3) - entropy)
    assert loss.item() == pytest.approx(expected.item())
    means = stats.means()
    assert means["decision/magnet"] == pytest.approx(divergence.item())
    assert means["decision/entropy"] == pytest.approx(entropy.item())
    torch.testing.assert_close(
        torch.autograd.grad(loss, logits, retain_graph=True), torch.autograd.grad(expected, logits)
    )


def test_an_impossible_option_is_named():
    with pytest.raises(ValueError, match="option_logp of episode e, a_0 is"):
        decision_terms(
            doubles(0.0, math.nan)[None], torch.ones(1, 2, dtype=torch.bool), [a_decision(2)], doubles(1.0), PPO,
            name=lambda i: "episode e, a_0",
        )  # fmt: skip


def test_a_step_without_decisions_has_no_loss():
    loss, stats = decision_terms(*padded([]), [], torch.zeros(0), PPO)
    assert loss.item() == 0
    assert stats.means() == {}


# -- games -------------------------------------------------------------------------------------------------------------

PAYOFF = np.array(
    [[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-1.0, 3.0, 0.5]]
)  # to the first of two players who move at once


def value(first, second):
    pis = [np.exp(x) / np.exp(x).sum() for x in (first, second)]
    return pis[0] @ PAYOFF @ pis[1]


def slope(first, second, step=1e-6):
    """d value / d (logits of the first), by central differences."""
    rises = [value(first + step * e, second) - value(first - step * e, second) for e in np.eye(3)]
    return np.array(rises) / (2 * step)


@pytest.mark.parametrize("config", [PPO, REINFORCE], ids=lambda c: c.kind)
@pytest.mark.parametrize("baseline", [0.0, 0.7])
@pytest.mark.parametrize("drawn", [True, False])
def test_the_policy_gradient_of_a_matrix_game_is_the_finite_difference_of_its_exact_value(config, baseline, drawn):
    """Identity 7: all nine outcomes, each weighed by its probability, as decisions or as tokens."""
    first, second = np.array([0.2, -0.5, 0.4]), np.array([-0.1, 0.6, 0.0])
    logits = torch.from_numpy(first).requires_grad_()
    pis = [np.exp(x) / np.exp(x).sum() for x in (first, second)]
    outcomes = list(itertools.product(range(3), range(3)))
    weight = doubles(*(pis[0][a] * pis[1][b] for a, b in outcomes))
    gains = [PAYOFF[a, b] - baseline for a, b in outcomes]
    policy = torch.log_softmax(logits, 0)
    if drawn:
        decisions = [
            a_decision(3, taken=a, advantage=g, logprobs=first) for (a, _), g in zip(outcomes, gains, strict=True)
        ]
        loss, _ = decision_terms(logits.expand(9, 3), torch.ones(9, 3, dtype=torch.bool), decisions, weight, config)
    else:
        logp = policy[[a for a, _ in outcomes]]
        loss, _ = token_terms(logp, logp.detach(), doubles(*gains), weight, config)
    (found,) = torch.autograd.grad(loss, logits)
    np.testing.assert_allclose(-found.numpy(), slope(first, second), atol=1e-6)
    assert np.abs(slope(first, second)).max() > 0.1


def test_regularised_self_play_on_a_cyclic_game_settles_where_plain_play_would_not():
    """NeuRD with a magnet on biased rock-paper-scissors reaches its quantal response equilibrium from far away."""
    payoff = np.array([[0.0, -1.0, 3.0], [1.0, 0.0, -1.0], [-3.0, 1.0, 0.0]])  # zero-sum and symmetric
    logits = [torch.tensor([2.0, 0.0, -1.0]).double(), torch.tensor([-1.0, 0.0, 1.0]).double()]
    alpha, valid = 0.5, torch.ones(1, 3, dtype=torch.bool)
    for _ in range(1500):
        pis = [torch.softmax(x, 0).numpy() for x in logits]
        stepped = []
        for me, table in ((0, payoff), (1, -payoff.T)):
            pushed = option_advantages(table @ pis[1 - me], pis[me], alpha=alpha)
            mine = logits[me].clone().requires_grad_()
            loss, _ = decision_terms(mine[None], valid, [a_decision(3, advantages=pushed)], doubles(1.0), PPO)
            (found,) = torch.autograd.grad(loss, mine)
            stepped.append(logits[me] - 0.05 * found)
        logits = stepped
    pis = [torch.softmax(x, 0).numpy() for x in logits]
    np.testing.assert_allclose(pis[0], pis[1], atol=1e-4)
    response = np.exp(payoff @ pis[1] / alpha)
    np.testing.assert_allclose(pis[0], response / response.sum(), atol=1e-4)

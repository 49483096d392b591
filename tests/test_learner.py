"""The learner: one exact step on the whole batch, or none at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from networks import VOCABULARY, network, plain_logits
from sampled import decision, row

from trainers.batch import make_batch
from trainers.config import LoraConfig, LossConfig, OptimConfig
from trainers.learner import Learner, NonFinite, adapted

TEXT = [1, 2, 3, 4, 5, 6]


def learner(model, steps=10, loss=None, **optim):
    return Learner(model, OptimConfig(**{"lr": 1e-2, "lr_end": 1e-2, **optim}), loss or LossConfig(), steps)


def batch(model, advantage=1.0, **options):
    return make_batch([row(model, TEXT, [3, 5], advantage=advantage, **options)])


def bits(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


# -- the step ----------------------------------------------------------------------------------------------------------


def test_a_step_makes_what_paid_likelier_and_what_cost_rarer():
    for advantage in (1.0, -1.0):
        model = network()
        own = learner(model, lr=1e-3, lr_end=1e-3)
        before = batch(model).sampled_logp.sum()
        update = own.update(batch(model, advantage))
        moved = batch(model).sampled_logp.sum() - before
        assert moved * advantage > 0
        assert update.tokens == 5
        assert own.step == 1


def test_the_first_step_of_adam_is_the_rate_times_the_sign():
    """With betas at zero weight for the past, AdamW moves every weight by lr (up to epsilon), against its gradient."""
    model = network()
    own = learner(model, lr=1e-3, lr_end=1e-3, beta1=0.0, beta2=0.0, clip_norm=0.0)
    before = bits(model)
    own.update(batch(model))
    for name, parameter in model.named_parameters():
        large = parameter.grad.abs() > 1e-3
        step = (parameter - before[name])[large]
        torch.testing.assert_close(step, -1e-3 * parameter.grad[large].sign(), atol=1e-7, rtol=1e-3)


def test_the_norm_is_cut_only_above_its_bound():
    norms = {}
    for bound in (0.0, 0.5, 1e9):
        model = network()
        own = learner(model, clip_norm=bound)
        told = own.update(batch(model)).gradient_norm
        grads = torch.cat([p.grad.flatten() for p in model.parameters()])
        norms[bound] = (told, float(grads.norm()))
    assert norms[0.0][0] == pytest.approx(norms[0.5][0])
    assert norms[0.0][1] == pytest.approx(norms[0.0][0])
    assert norms[1e9][1] == pytest.approx(norms[0.0][0])
    assert norms[0.5][0] > 0.5
    assert norms[0.5][1] == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("advantage", [3e38, float("nan")])
def test_a_step_that_is_no_number_is_not_taken(advantage):
    model = network(dtype=torch.float32)
    own = learner(model)
    own.update(batch(model))
    before, moments = bits(model), [s["exp_avg"].clone() for s in own.optimizer.state.values()]
    bad = [row(model, TEXT, [2, 3, 4, 5], advantage=advantage)] * 4
    with pytest.raises((NonFinite, ValueError), match="the step is not taken"):
        own.update(make_batch(bad, "constant", 1e-3))
    assert same(before, bits(model))
    assert all(torch.equal(a, s["exp_avg"]) for a, s in zip(moments, own.optimizer.state.values(), strict=True))
    assert own.step == 1
    update = own.update(batch(model))
    assert math.isfinite(update.gradient_norm)
    assert not same(before, bits(model))


# -- the schedule ------------------------------------------------------------------------------------------------------


def rates(steps=4, **optim):
    model = network()
    own = learner(model, steps, **optim)
    found = []
    for _ in range(steps + 2):
        found.append(own.rate())
        own.step += 1
    return found


def test_the_rate_falls_geometrically_from_lr_to_lr_end():
    assert rates(lr=1e-2, lr_end=1e-4) == pytest.approx([1e-2, 10**-2.5, 1e-3, 10**-3.5, 1e-4, 1e-4])


def test_the_rate_warms_up_in_a_line():
    assert rates(warmup=2, lr=1e-2, lr_end=1e-2) == pytest.approx([5e-3, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2])


def test_the_rate_told_is_the_rate_used():
    model = network()
    own = learner(model, lr=1e-2, lr_end=1e-4, steps=2)
    told = [own.update(batch(model)).learning_rate for _ in range(3)]
    assert told == pytest.approx([1e-2, 1e-3, 1e-4])
    assert own.optimizer.param_groups[0]["lr"] == told[-1]


# -- LoRA --------------------------------------------------------------------------------------------------------------


def test_an_adapter_begins_as_nothing_and_comes_from_the_seed_alone():
    state = torch.random.get_rng_state()
    made = [adapted(network(dtype=torch.float32), LoraConfig(rank=2), seed) for seed in (3, 3, 4)]
    torch.manual_seed(1)
    made.append(adapted(network(dtype=torch.float32), LoraConfig(rank=2), 3))
    torch.random.set_rng_state(state)
    first, again, other, elsewhere = ({n: p for n, p in bits(model).items() if "lora_" in n} for model in made)
    assert same(first, again)
    assert same(first, elsewhere)
    assert not same(first, other)
    assert all(p.abs().max() == 0 for n, p in first.items() if "lora_B" in n)
    assert all(0.8 < p.abs().max() * p.shape[1] ** 0.5 <= 1 for n, p in first.items() if "lora_A" in n)
    with torch.no_grad():
        expected = plain_logits(network(dtype=torch.float32), TEXT)
        torch.testing.assert_close(plain_logits(made[0], TEXT), expected)


def test_making_an_adapter_draws_nothing_from_torchs_own_generator():
    model = network(dtype=torch.float32)
    state = torch.random.get_rng_state()
    adapted(model, LoraConfig(rank=2), 0)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_lora_step_leaves_the_base_where_it_was():
    model = adapted(network(dtype=torch.float32), LoraConfig(rank=2), 0)
    own = learner(model)
    before = bits(model)
    for _ in range(2):  # the first can move B alone
        own.update(batch(model))
    after = bits(model)
    assert set(own.parameters) == {name for name in before if "lora_" in name}
    assert {name for name in before if not torch.equal(before[name], after[name])} == set(own.parameters)


@pytest.mark.parametrize("rank", [0, 2])
def test_the_next_update_starts_from_the_weights_that_the_last_one_left(rank):
    """Without an engine in between: a merged adapter has to be merged anew."""
    model = adapted(network(dtype=torch.float32), LoraConfig(rank=rank), 0)
    own, first = learner(model), batch(model)
    own.update(first)
    assert own.update(first).stats["token/dlogp_max"] > 1e-2
    assert own.update(batch(model)).stats["token/dlogp_max"] < 1e-4


def test_rank_zero_trains_every_weight():
    model = adapted(network().requires_grad_(False), LoraConfig(rank=0), 0)
    assert set(learner(model).parameters) == {name for name, _ in model.named_parameters()}


# -- what regularisers hold on to --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 2])
def test_kl_is_measured_from_the_start_and_pulls_back_to_it(rank):
    model = adapted(network(dtype=torch.float32), LoraConfig(rank=rank), 0)
    own = learner(model, loss=LossConfig(kl=1.0), lr=3e-3, lr_end=3e-3)
    assert own.update(batch(model, 0.0)).gradient_norm == pytest.approx(0.0, abs=1e-5)
    for _ in range(4):
        own.update(batch(model, 5.0))
    away = own.update(batch(model, 0.0))
    assert away.stats["token/kl"] > 1e-3
    for _ in range(15):
        back = own.update(batch(model, 0.0))
    assert back.stats["token/kl"] < away.stats["token/kl"] / 2


def chosen(model, **given):
    made = decision(model, TEXT, 6, [(7,), (8,), (9, 3)], taken=0, **given)
    return make_batch([row(model, TEXT, [], decisions=(made,))])


def test_a_magnet_follows_at_its_interval_and_stands_still_between():
    model = network()
    own = learner(model, loss=LossConfig(magnet=0.1, magnet_every=2))

    def distance():
        with torch.no_grad():
            pairs = zip(own.magnet.weights().values(), own.transformer.weights().values(), strict=True)
            return max(float((a - b).abs().max()) for a, b in pairs)

    pulls, distances = [], [distance()]
    for _ in range(4):
        pulls.append(own.update(chosen(model, advantage=1.0)).stats["decision/magnet"])
        distances.append(distance())
    assert [d == 0 for d in distances] == [True, False, True, False, True]
    assert [pull < 1e-9 for pull in pulls] == [True, False, True, False]


def test_without_an_interval_the_magnet_is_uniform_over_the_options():
    model = network()
    own = learner(model, loss=LossConfig(magnet=1.0))
    pulls = [own.update(chosen(model, drawn=False)).stats["decision/magnet"] for _ in range(25)]
    made = chosen(model).decisions[0].logprobs.astype(np.float64)
    p = np.exp(made - np.logaddexp.reduce(made))
    assert pulls[-1] == pytest.approx(0.0, abs=0.02)
    np.testing.assert_allclose(p, 1 / 3, atol=0.1)
    assert pulls[0] > 0.05


def test_entropy_is_a_bonus():
    model = network()
    own = learner(model, loss=LossConfig(entropy=1.0))
    told = [own.update(batch(model, 0.0)).stats["token/entropy"] for _ in range(10)]
    assert told[-1] > told[0]
    assert told[-1] < math.log(VOCABULARY)

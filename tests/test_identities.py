"""Identities of training on a small random network, in double precision: each one kills a known fault."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
import torch
from networks import ARCHITECTURES, network, plain_logp, with_lora
from sampled import decision, reinforce, row

from arena.engines import Decoding
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from trainers.batch import make_batch
from trainers.config import LossConfig, OptimConfig
from trainers.learner import Learner

PROMPTS = [(1, 2, 3, 4), (1, 2, 3, 4, 5, 5), (1, 2, 9), (7,)]
RNG = np.random.default_rng(0)
ADVANTAGES = RNG.normal(size=(8, 12))


def learner(model, micro_tokens=10_000, loss=None, lr=1e-3):
    optim = OptimConfig(lr=lr, micro_tokens=micro_tokens, clip_norm=0.0)
    return Learner(model, optim, loss or LossConfig(kind="reinforce"), steps=10)


def played(model, engine=None):
    """Rows of two turns each with another's words between them, sampled by the engine; some with decisions."""
    engine = engine or TorchEngine(Transformer(model))

    async def turn(prompts, seed):
        asked = (
            engine.generate(ids, Decoding((0.5, 1.0)[i % 2], 3), seed=seed + i // 2) for i, ids in enumerate(prompts)
        )
        return await asyncio.gather(*asked)

    prompts = [prompt for prompt in PROMPTS for _ in range(2)]
    first = asyncio.run(turn(prompts, 0))
    heard = [(*prompt, *reply.ids, 11, 12) for prompt, reply in zip(prompts, first, strict=True)]
    second = asyncio.run(turn(heard, 50))
    rows = []
    for i, (prompt, one, text, two) in enumerate(zip(prompts, first, heard, second, strict=True)):
        tokens = [*text, *two.ids, 13]
        trained = [*range(len(prompt), len(prompt) + 3), *range(len(text), len(text) + 3)]
        advantage = np.zeros(len(tokens))
        advantage[trained] = ADVANTAGES[i, :6]
        decisions = ()
        if i % 3 == 0:
            options = [(3,), (4, 5), (4, 6, 7)]
            drawn = decision(model, tokens, len(tokens), options, 1, advantage=float(ADVANTAGES[i, 7]))
            pushed = decision(model, tokens, 2, options, advantages=ADVANTAGES[i, 8:11].astype(np.float32))
            decisions = (drawn, pushed)
        made = row(
            model,
            tokens,
            trained,
            advantage=advantage,
            temperature=(0.5, 1.0)[i % 2],
            logprobs=[*one.logprobs, *two.logprobs],
            role=("first", "second")[i % 2],
            episode=f"e{i // 2}",
            decisions=decisions,
        )
        rows.append(made)
    return rows


def gradient(own, batch):
    """The gradient [all trained weights] that the learner takes."""
    for parameter in own.parameters.values():
        parameter.grad = None
    own.transformer.merge()
    own.gradient(batch)
    return torch.cat([p.grad.flatten() for p in own.parameters.values()])


def plain_gradient(own, batch):
    grads = torch.autograd.grad(reinforce(own.model, batch), list(own.parameters.values()))
    return torch.cat([grad.flatten() for grad in grads])


def assert_equal(found, expected, tolerance=1e-5):
    assert float((found - expected).norm() / expected.norm()) < tolerance


# -- 2: the first step is REINFORCE's ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["reinforce", "ppo"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_first_gradient_is_reinforces_and_every_ratio_is_one(architecture, kind):
    model = network(architecture, tie_word_embeddings=architecture == "qwen2")
    own = learner(model, loss=LossConfig(kind=kind))
    batch = make_batch(played(model), "role")
    assert_equal(gradient(own, batch), plain_gradient(own, batch))
    _, stats, _, _ = own.gradient(batch)
    means = stats.means()
    for name in ("token/ratio_max", "token/ratio_max/first", "token/ratio_max/second", "decision/ratio_max"):
        assert means[name] == pytest.approx(1.0, abs=1e-4)
    assert means["token/dlogp_max"] < 1e-4
    assert means["decision/moved_max"] < 1e-4
    assert means["token/clipped"] == 0


def test_with_an_adapter_too():
    own = learner(with_lora(network("qwen3")))
    batch = make_batch(played(own.model))
    assert_equal(gradient(own, batch), plain_gradient(own, batch))


def test_a_ratio_that_forgets_the_temperature_is_seen(monkeypatch):
    """The planted fault: a trainer that doesn't divide its logits."""
    model = network()
    own = learner(model)
    batch = make_batch(played(model))
    careless = replace(batch, temperature=np.ones_like(batch.temperature))
    _, stats, _, _ = own.gradient(careless)
    assert stats.means()["token/ratio_max"] > 1.1
    assert float((gradient(own, careless) - plain_gradient(own, batch)).norm()) > 1e-2


# -- 3: the layout can't change the gradient ---------------------------------------------------------------------------


@pytest.mark.parametrize("normalisation", ["token", "sequence", "episode", "role", "constant"])
def test_micro_batches_and_order_change_nothing(normalisation):
    model = network()
    rows = played(model)
    expected = gradient(learner(model), make_batch(rows, normalisation))
    for micro_tokens in (1, 20, 60):
        found = gradient(learner(model, micro_tokens), make_batch(rows, normalisation))
        assert_equal(found, expected, 1e-9)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        found = gradient(learner(model, 40), make_batch([rows[i] for i in order], normalisation))
        assert_equal(found, expected, 1e-6)  # weights are float32


def test_ranks_add_up_to_the_whole():
    """Each rank has rows of its own and the weights of the whole step; their gradients are summed."""
    model = network()
    batch = make_batch(played(model))
    expected = gradient(learner(model), batch)
    halves = []
    for rank in (0, 1):
        rows = np.repeat(np.arange(len(batch.starts) - 1), np.diff(batch.starts))
        mine = [d for d, owner in enumerate(batch.decision_row) if owner % 2 == rank]
        part = replace(
            batch,
            mask=batch.mask & (rows % 2 == rank),
            decisions=tuple(batch.decisions[d] for d in mine),
            decision_row=tuple(batch.decision_row[d] for d in mine),
            decision_weight=tuple(batch.decision_weight[d] for d in mine),
        )
        halves.append(gradient(learner(model), part))
    assert_equal(halves[0] + halves[1], expected, 1e-9)


def test_a_micro_batch_with_weights_of_its_own_is_seen():
    """The planted fault: each part normalised by its own token count, as accumulation is often done."""
    model = network()
    rows = played(model)
    expected = gradient(learner(model), make_batch(rows))
    parts = [gradient(learner(model), make_batch(rows[:3])), gradient(learner(model), make_batch(rows[3:]))]
    assert float((sum(parts) / 2 - expected).norm() / expected.norm()) > 1e-2


# -- 5: what can't matter doesn't --------------------------------------------------------------------------------------


def test_words_after_the_last_trained_token_change_nothing():
    model = network()
    tokens = [1, 2, 3, 4, 5]
    shorter = make_batch([row(model, tokens, [2, 4], temperature=0.5)])
    expected = gradient(learner(model), shorter)
    for more in ([6], [7, 8, 9] * 5):
        longer = make_batch([row(model, [*tokens, *more], [2, 4], temperature=0.5)])
        assert torch.equal(gradient(learner(model), longer), expected)


def test_words_before_it_do_matter():
    model = network()
    texts = ([1, 2, 3, 4, 5], [1, 2, 9, 4, 5])
    one, other = (gradient(learner(model), make_batch([row(model, text, [4])])) for text in texts)
    assert float((one - other).norm()) > 1e-2


def test_a_row_without_advantage_leaves_the_others_their_direction():
    model = network()
    told = row(model, [1, 2, 3, 4], [2, 3])
    silent = row(model, [1, 2, 3, 5, 5], [3, 4], advantage=0.0)
    alone = gradient(learner(model), make_batch([told], "constant"))
    assert_equal(gradient(learner(model), make_batch([told, silent], "constant")), alone, 1e-9)


# -- 8: logprobs change if and only if weights do ----------------------------------------------------------------------


def probe(engine):
    return asyncio.run(engine.score((1, 2, 3), [(4, 5, 6), (7,)]))


def test_at_learning_rate_zero_nothing_ever_moves():
    model = network()
    own = learner(model, lr=0.0, loss=LossConfig(entropy=0.1))
    engine = TorchEngine(own.transformer)
    batch = make_batch(played(model))
    before, first, mark = probe(engine), None, engine.checksum()
    for version in range(1, 21):
        update = own.update(batch)
        first = first or update
        engine.renew("live", version)
        assert update.learning_rate == 0.0
        assert (update.loss, update.stats) == (first.loss, first.stats)
    assert engine.checksum() == mark
    assert probe(engine) == before
    assert first.gradient_norm > 0


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_an_update_is_heard_from_the_engine_that_shares_the_weights(kind):
    model = with_lora(network()) if kind == "lora" else network()
    own = learner(model)
    engine = TorchEngine(own.transformer)
    before, mark = probe(engine), engine.checksum()
    own.update(make_batch(played(model, engine)))
    engine.renew("live", 1)
    after = probe(engine)
    assert engine.checksum() != mark
    assert max(abs(a - b) for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True)) > 1e-4
    with torch.no_grad():
        np.testing.assert_allclose(after[0], plain_logp(model, (1, 2, 3), (4, 5, 6)), atol=1e-5)


def test_an_update_without_signal_is_not_heard():
    model = network()
    own = learner(model)
    engine = TorchEngine(own.transformer)
    before, mark = probe(engine), engine.checksum()
    own.update(make_batch([row(model, [1, 2, 3, 4], [3], advantage=0.0)]))
    engine.renew("live", 1)
    assert (probe(engine), engine.checksum()) == (before, mark)

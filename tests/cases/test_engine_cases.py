"""Situations in which other engines gave other numbers than the trainer, or old weights, or copies."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest
import torch
from networks import network, plain_logits
from sampled import row

from arena.engines import Decoding, models
from arena.engines.scripted import ScriptedEngine
from arena.engines.tiny import make_tiny
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer
from trainers.batch import make_batch
from trainers.config import LossConfig, OptimConfig
from trainers.learner import Learner

PROMPT = (1, 0, 1)


def ask(engine, *prompts, decoding, seed=0):
    async def all_of_them():
        asked = (engine.generate(ids, decoding, seed=seed + i) for i, ids in enumerate(prompts))
        return await asyncio.wait_for(asyncio.gather(*asked), 60)

    return asyncio.run(all_of_them())


def two_tokens():
    """A model whose logits after `PROMPT` are 2 and 0."""
    model = network(vocab_size=2)
    with torch.no_grad():
        hidden = model.model(torch.tensor([PROMPT])).last_hidden_state[0, -1]
        model.lm_head.weight.copy_(torch.stack([2 * hidden / hidden.square().sum(), 0 * hidden]))
    return model


def test_o24_engine_and_trainer_divide_by_the_same_temperature():
    """O-24: logits 2 and 0 at T = 0.5: both sides have -0.01815 and the ratio is 1; the fault: 0.897."""
    model = two_tokens()
    learner = Learner(model, OptimConfig(), LossConfig(), steps=1)
    replies = ask(TorchEngine(learner.transformer), *[PROMPT] * 8, decoding=Decoding(0.5, 1))
    reply = next(reply for reply in replies if reply.ids == (0,))
    assert reply.logprobs[0] == pytest.approx(-0.01815, abs=5e-6)

    def ratio(temperature):
        said = row(model, [*PROMPT, 0], [3], temperature=temperature, logprobs=reply.logprobs)
        _, stats, _, _ = learner.gradient(make_batch([said]))
        return stats.means()["token/ratio_max"]

    assert ratio(0.5) == pytest.approx(1.0, abs=1e-6)
    assert ratio(1.0) == pytest.approx(0.897, abs=5e-4)
    assert np.log(ratio(1.0)) + reply.logprobs[0] == pytest.approx(-0.12693, abs=5e-6)


def test_o25_the_folders_generation_settings_are_not_ours(tmp_path):
    """O-25: generation_config.json asks for temperature 1e-6 and top-k 1; eight samples at 1.0 still differ."""
    make_tiny(tmp_path / "m")
    settings = {"do_sample": True, "temperature": 1e-6, "top_k": 1}
    (tmp_path / "m" / "generation_config.json").write_text(json.dumps(settings))
    model, _ = models.load(tmp_path / "m")
    replies = ask(TorchEngine(Transformer(model)), *[PROMPT] * 8, decoding=Decoding(1.0, 8))
    assert len({reply.ids for reply in replies}) == 8


def test_o27_new_weights_speak_at_once():
    """O-27: a changed weight flips the greedy token; after `renew` the engine says the new one, stamped, each time."""
    model = network()
    engine = TorchEngine(Transformer(model))
    greedy = Decoding(0.0, 1)
    for version in range(1, 5):
        (old,) = ask(engine, PROMPT, decoding=greedy)
        with torch.no_grad():
            model.model.layers[0].input_layernorm.weight.neg_()
            best = int(plain_logits(model, PROMPT)[-1].argmax())
        assert best != old.ids[0]
        engine.renew("live", version)
        (new,) = ask(engine, PROMPT, decoding=greedy)
        assert (new.ids, new.version) == ((best,), version)


def test_o27_without_renewal_the_old_weights_go_on_speaking():
    """O-27: what `renew` is for; were nothing cached, the test above could not fail."""
    model = network()
    engine = TorchEngine(Transformer(model))
    (old,) = ask(engine, PROMPT, decoding=Decoding(0.0, 1))
    with torch.no_grad():
        model.model.layers[0].input_layernorm.weight.neg_()
    assert ask(engine, PROMPT, decoding=Decoding(0.0, 1)) == [old]


def test_o27_the_scripted_engine_too():
    """O-27: the double of the tests keeps the same promise."""
    engine = ScriptedEngine(lambda text: [ord(c) for c in text], lambda ids, seed: "a")
    for version in (1, 2):
        engine.load("live", lambda ids, reply, version=version: [-float(version)] * len(reply), version)
        (reply,) = ask(engine, PROMPT, decoding=Decoding())
        assert (reply.version, reply.logprobs) == (version, (-float(version),))


def test_o29_short_and_long_prompts_do_not_disturb_one_another():
    """O-29: greedy replies and logprobs (1e-4) of a short and a long prompt are the same alone and together."""
    model = network("qwen2")
    short, long = (3,), tuple(range(22)) * 5
    decoding = Decoding(0.0, 8)
    both = ask(TorchEngine(Transformer(model)), short, long, decoding=decoding)
    for prompt, reply in zip((short, long), both, strict=True):
        (alone,) = ask(TorchEngine(Transformer(model)), prompt, decoding=decoding)
        assert alone.ids == reply.ids
        np.testing.assert_allclose(alone.logprobs, reply.logprobs, atol=1e-4)


def test_o29_nor_do_short_and_long_rows_in_the_trainer():
    """O-29: the trainer's own log-probabilities of them are the engine's, so every ratio is 1."""
    model = network("qwen2")
    learner = Learner(model, OptimConfig(micro_tokens=10_000), LossConfig(), steps=1)
    short, long = (3,), tuple(range(22)) * 5
    replies = ask(TorchEngine(learner.transformer), short, long, decoding=Decoding(0.7, 8))
    rows = [
        row(
            model,
            [*prompt, *reply.ids],
            range(len(prompt), len(prompt) + 8),
            temperature=0.7,
            logprobs=reply.logprobs,
        )
        for prompt, reply in zip((short, long), replies, strict=True)
    ]
    _, stats, tokens, _ = learner.gradient(make_batch(rows))
    assert stats.means()["token/dlogp_max"] < 1e-4
    assert tokens == len(short) + len(long) + 14

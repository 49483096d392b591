"""The embedded engine: its numbers are the model's own, and no batch, cache or fault shows in them."""

from __future__ import annotations

import asyncio
import math
from collections import Counter

import numpy as np
import pytest
import torch
from networks import VOCABULARY, network, plain_logits, plain_logp, with_lora

from arena.engines import Decoding
from arena.engines import torch as room
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Cache, Transformer

PROMPTS = [(1, 2, 3), (1, 2, 3, 4, 5, 6, 7, 8), (1, 2), (9,) * 20, (1, 2, 3, 0)]
FREE = Decoding(max_tokens=10)


def together(*requests, limit=60):
    async def all_of_them():
        return await asyncio.wait_for(asyncio.gather(*requests), limit)

    return asyncio.run(all_of_them())


def sample(engine, prompts=PROMPTS, decoding=FREE, seed=0):
    return together(*(engine.generate(ids, decoding, seed=seed + i) for i, ids in enumerate(prompts)))


@pytest.fixture(scope="module")
def model():
    return network()


@pytest.fixture
def engine(model):
    return TorchEngine(Transformer(model))


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_logprobs_are_the_models_own_under_the_temperature(model, engine, temperature):
    replies = sample(engine, decoding=Decoding(temperature, 10))
    with torch.no_grad():
        for prompt, reply in zip(PROMPTS, replies, strict=True):
            expected = plain_logp(model, prompt, reply.ids, temperature)
            np.testing.assert_allclose(reply.logprobs, expected, atol=1e-5)


def test_temperature_zero_takes_the_best_and_says_its_plain_logprob(model, engine):
    replies = sample(engine, decoding=Decoding(0.0, 6))
    with torch.no_grad():
        for prompt, reply in zip(PROMPTS, replies, strict=True):
            logits = plain_logits(model, [*prompt, *reply.ids])
            assert list(reply.ids) == logits[len(prompt) - 1 : -1].argmax(-1).tolist()
            np.testing.assert_allclose(reply.logprobs, plain_logp(model, prompt, reply.ids), atol=1e-5)
    assert sample(engine, decoding=Decoding(0.0, 6), seed=50) == replies


def test_scores_are_the_models_own(model, engine):
    replies = [(4, 5, 6), (4, 5), (7,), (), (4, 5, 6, 7)]
    found = together(*(engine.score(prompt, replies) for prompt in PROMPTS))
    with torch.no_grad():
        for prompt, scores in zip(PROMPTS, found, strict=True):
            for reply, values in zip(replies, scores, strict=True):
                expected = plain_logp(model, prompt, reply).tolist() if reply else []
                assert values == pytest.approx(expected, abs=1e-5)


def test_an_adapter_is_part_of_the_model():
    model = with_lora(network("qwen2"))
    (reply,) = sample(TorchEngine(Transformer(model)), PROMPTS[:1])
    with torch.no_grad():
        np.testing.assert_allclose(reply.logprobs, plain_logp(model, PROMPTS[0], reply.ids), atol=1e-5)
        with model.disable_adapter():
            assert np.abs(plain_logp(model, PROMPTS[0], reply.ids).numpy() - reply.logprobs).max() > 0.1


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_what_is_drawn_follows_the_probabilities(model, engine, temperature):
    count = 4000
    replies = sample(engine, [PROMPTS[0]] * count, Decoding(temperature, 1))
    drawn = Counter(reply.ids[0] for reply in replies)
    with torch.no_grad():
        p = torch.softmax(plain_logits(model, PROMPTS[0])[-1] / temperature, -1).tolist()
    usual = [token for token in range(VOCABULARY) if count * p[token] >= 5]
    pairs = [(drawn[token], count * p[token]) for token in usual]
    rest = count - sum(expected for _, expected in pairs)
    if rest >= 1:
        pairs.append((count - sum(found for found, _ in pairs), rest))
    chi_square = sum((found - expected) ** 2 / expected for found, expected in pairs)
    freedom = len(pairs) - 1
    assert freedom >= 3
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)


class Fixed:
    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


@pytest.mark.parametrize("uniform", [0.0, 1e-12, 0.3, 0.5, 0.999999, 1 - 2**-53])
def test_an_id_of_no_mass_is_never_drawn(uniform):
    logp = torch.tensor([[-math.inf, math.log(0.5), -math.inf, math.log(0.5), -math.inf]])
    draw = room._Draw(None, 0, FREE, Fixed(uniform), 1)
    (((token, value),),) = room._draw(logp, [[draw]], 1.0)
    assert token == (1 if uniform < 0.5 else 3)
    assert value == pytest.approx(math.log(0.5))


# -- what is computed, and how often -----------------------------------------------------------------------------------


def test_every_distinct_prefix_is_computed_once(engine):
    replies = sample(engine) + sample(engine, seed=90)
    texts = [prompt + reply.ids[:-1] for prompt, reply in zip(PROMPTS * 2, replies, strict=True)]
    assert engine.usage.forwarded == len({text[:n] for text in texts for n in range(1, len(text) + 1)})
    assert engine.usage.prompt == 2 * sum(map(len, PROMPTS))
    assert engine.usage.sampled == sum(len(reply.ids) for reply in replies)
    before = engine.usage.copy()
    assert sample(engine) == replies[: len(PROMPTS)]
    again = engine.usage.since(before)
    assert (again.forwarded, again.sampled) == (0, 50)


@pytest.mark.parametrize("step_tokens", [1, 3, 17])
def test_short_steps_change_no_token(model, engine, step_tokens):
    expected = sample(engine)
    found = sample(TorchEngine(Transformer(model), step_tokens=step_tokens))
    assert [reply.ids for reply in found] == [reply.ids for reply in expected]
    np.testing.assert_allclose([r.logprobs for r in found], [r.logprobs for r in expected], atol=1e-5)


def test_a_small_cache_forgets_in_mid_reply_and_changes_no_token(model, engine, monkeypatch):
    forgotten = []
    keep = room.TokenTree.keep

    def counted(tree, tips):
        size = len(tree)
        order = keep(tree, tips)
        forgotten.append(size - len(order))
        return order

    monkeypatch.setattr(room.TokenTree, "keep", counted)
    monkeypatch.setattr(room, "Cache", lambda model: Cache(model, slots=4))
    small = TorchEngine(Transformer(model), cache_tokens=8, step_tokens=5)
    replies = [(4, 5, 6), (4, 7)]

    async def ask(engine):
        waves = []
        for wave in range(3):
            lengths = [Decoding(max_tokens=3 + 4 * i) for i in range(len(PROMPTS))]
            draws = [engine.generate(p, d, seed=wave) for p, d in zip(PROMPTS, lengths, strict=True)]
            waves.append(await asyncio.gather(*draws, *(engine.score(prompt, replies) for prompt in PROMPTS)))
        return [[one if isinstance(one, list) else one.ids for one in wave] for wave in waves]

    expected = asyncio.run(ask(engine))
    assert not forgotten
    found = asyncio.run(ask(small))
    assert sum(forgotten) > 50
    for a, b in zip(found, expected, strict=True):
        assert a[: len(PROMPTS)] == b[: len(PROMPTS)]
        for mine, theirs in zip(a[len(PROMPTS) :], b[len(PROMPTS) :], strict=True):
            assert [pytest.approx(values, abs=1e-5) for values in theirs] == mine


# -- weights -----------------------------------------------------------------------------------------------------------


def test_policies_stand_beside_one_another(model, engine):
    other = network(seed=9)
    mark = engine.put("past", Transformer(other).frozen(), version=4)
    assert mark != engine.checksum()
    live, past = together(engine.generate(PROMPTS[0], FREE), engine.generate(PROMPTS[0], FREE, policy="past"))
    assert (live.version, past.version) == (0, 4)
    with torch.no_grad():
        np.testing.assert_allclose(live.logprobs, plain_logp(model, PROMPTS[0], live.ids), atol=1e-5)
        np.testing.assert_allclose(past.logprobs, plain_logp(other, PROMPTS[0], past.ids), atol=1e-5)
    engine.drop("past")
    with pytest.raises(KeyError, match="past"):
        engine.version("past")


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3"])
def test_the_checksum_sees_a_change_of_any_weight(architecture):
    model = network(architecture, dtype=torch.float32)
    engine = TorchEngine(Transformer(model))
    seen = {engine.checksum()}
    for weight in model.parameters():
        with torch.no_grad():
            weight.view(-1)[-1] += 1e-3
        seen.add(engine.checksum())
    assert len(seen) == 1 + len(list(model.parameters()))
    assert engine.checksum() == TorchEngine(Transformer(model)).checksum()


def test_weights_do_not_change_under_a_request(model, engine):
    async def meddle():
        task = asyncio.create_task(engine.generate(PROMPTS[0], FREE))
        await asyncio.sleep(0)
        for change in (
            lambda: engine.renew("live", 1),
            lambda: engine.put("live", Transformer(model)),
            lambda: engine.drop("live"),
        ):
            with pytest.raises(RuntimeError, match="in flight"):
                change()
        return await task

    assert asyncio.run(meddle()).version == 0
    engine.renew("live", 1)


# -- when something goes wrong -----------------------------------------------------------------------------------------


def test_a_failing_step_reaches_everybody_who_waits_and_the_engine_lives_on(model, engine, monkeypatch):
    (expected,) = sample(engine, PROMPTS[:1])
    engine.renew("live", 0)
    with monkeypatch.context() as patch:
        patch.setattr(Transformer, "forward", lambda *_: (_ for _ in ()).throw(MemoryError("no room for the step")))

        async def ask():
            asked = [engine.generate(prompt, FREE) for prompt in PROMPTS] + [engine.score((1,), [(2,)])]
            return await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 60)

        failures = asyncio.run(ask())
    assert [str(failure) for failure in failures] == ["no room for the step"] * 6
    assert sample(engine, PROMPTS[:1]) == [expected]


def test_an_interrupted_run_leaves_nothing_behind(engine):
    (expected,) = sample(engine, PROMPTS[:1])
    with pytest.raises(asyncio.TimeoutError):
        together(engine.generate(PROMPTS[1], Decoding(max_tokens=200)), limit=0.01)
    engine.renew("live", 3)
    assert sample(engine, PROMPTS[:1])[0].ids == expected.ids


def test_an_empty_prompt_is_refused(engine):
    with pytest.raises(ValueError, match="empty prompt"):
        sample(engine, [()])

"""What every engine promises, asked of each in turn: a new engine joins by one entry in SUBJECTS."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from networks import VOCABULARY, network

from arena.engines import ContextFull, Decoding
from arena.engines.scripted import ScriptedEngine
from arena.engines.torch import TorchEngine
from arena.engines.transformer import Transformer

LIMIT, STOPS = 64, frozenset([1, 2, 3])
PROMPT = (5, 6, 7)
FREE = Decoding(max_tokens=12)


@dataclass
class Subject:
    """An engine that holds `LIMIT` tokens, and the way to give its policy other weights."""

    engine: Any
    renew: Callable[[int], None]


def scripted() -> Subject:
    def speak(ids, seed):
        return "".join(random.Random(repr((tuple(ids), seed))).choices("abcdef", k=40))

    engine = ScriptedEngine(lambda text: [ord(letter) - ord("a") for letter in text], speak, limit=LIMIT)
    return Subject(engine, lambda version: engine.load("live", lambda ids, reply: [-2.0] * len(reply), version))


def embedded() -> Subject:
    model = network(max_position_embeddings=LIMIT)
    engine = TorchEngine(Transformer(model))

    def renew(version: int) -> None:
        for weight in model.parameters():
            weight.data.neg_()
        engine.renew("live", version)

    return Subject(engine, renew)


SUBJECTS = {"scripted": scripted, "torch": embedded}


@pytest.fixture(params=SUBJECTS)
def subject(request) -> Subject:
    return SUBJECTS[request.param]()


def together(*requests):
    async def all_of_them():
        return await asyncio.wait_for(asyncio.gather(*requests), 60)

    return asyncio.run(all_of_them())


def test_a_reply_has_a_logprob_an_id_and_keeps_to_its_limit(subject):
    for limit in (1, 5, 12):
        (reply,) = together(subject.engine.generate(PROMPT, Decoding(max_tokens=limit)))
        assert len(reply.ids) == len(reply.logprobs) == limit
        assert all(type(token) is int and 0 <= token < VOCABULARY for token in reply.ids)
        assert all(type(value) is float and value <= 0 for value in reply.logprobs)
        assert reply.stop == "length"


def test_a_limit_of_nothing_is_an_empty_reply(subject):
    (reply,) = together(subject.engine.generate(PROMPT, Decoding(max_tokens=0)))
    assert reply == ((), (), 0, "length")


def test_a_reply_ends_with_its_first_stop(subject):
    decoding = Decoding(max_tokens=30, stop=STOPS)
    replies = together(*(subject.engine.generate(PROMPT, decoding, seed=seed) for seed in range(12)))
    stopped = [reply for reply in replies if reply.stop == "stop"]
    assert stopped
    for reply in replies:
        assert not STOPS & set(reply.ids[:-1])
        assert (reply.ids[-1] in STOPS) == (reply in stopped)
        assert reply in stopped or len(reply.ids) == 30


def test_o28_the_seed_alone_decides_in_any_company(subject):
    """O-28: the same reply alone, in a batch of 16, with the batch reversed, and asked again."""
    engine = subject.engine
    others = [(tuple(range(1, 2 + i)), i) for i in range(15)]
    (alone,) = together(engine.generate(PROMPT, FREE, seed=3))
    batch = [(PROMPT, 3), *others]
    forward = together(*(engine.generate(ids, FREE, seed=seed) for ids, seed in batch))
    backward = together(*(engine.generate(ids, FREE, seed=seed) for ids, seed in batch[::-1]))[::-1]
    assert alone.ids == forward[0].ids == backward[0].ids
    assert [reply.ids for reply in forward] == [reply.ids for reply in backward]
    seeds = together(*(engine.generate(PROMPT, FREE, seed=seed) for seed in range(8)))
    assert len({reply.ids for reply in seeds}) > 4


def test_a_reply_scores_what_it_was_sampled_with(subject):
    (reply,) = together(subject.engine.generate(PROMPT, FREE))
    ((scores, nothing),) = together(subject.engine.score(PROMPT, [reply.ids, ()]))
    assert scores == pytest.approx(list(reply.logprobs), abs=1e-4)
    assert nothing == []
    assert together(subject.engine.score(PROMPT, [])) == [[]]


def test_what_does_not_fit_is_a_typed_error_and_what_just_fits_is_not(subject):
    ids = (1,) * (LIMIT - 4)
    for ask in (
        lambda more: subject.engine.generate(ids, Decoding(max_tokens=more)),
        lambda more: subject.engine.score(ids, [(3,), (3,) * more]),
    ):
        together(ask(4))
        with pytest.raises(ContextFull) as caught:
            together(ask(5))
        assert (caught.value.needed, caught.value.limit) == (LIMIT + 1, LIMIT)


def test_a_cancelled_request_leaves_the_others_alone(subject):
    engine = subject.engine
    expected = together(*(engine.generate(PROMPT, FREE, seed=seed) for seed in range(4)))

    async def with_one_gone():
        tasks = [asyncio.create_task(engine.generate(PROMPT, FREE, seed=seed)) for seed in range(4)]
        for _ in range(12):  # by then the embedded engine has taken its first step or two
            await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)

    found = asyncio.run(with_one_gone())
    assert [found[i].ids for i in (0, 2, 3)] == [expected[i].ids for i in (0, 2, 3)]
    assert isinstance(found[1], asyncio.CancelledError) or found[1].ids == expected[1].ids
    assert together(engine.generate(PROMPT, FREE, seed=1))[0].ids == expected[1].ids


def test_every_reply_is_stamped_with_the_version_that_sampled_it(subject):
    engine = subject.engine
    assert engine.version() == 0
    (old,) = together(engine.generate(PROMPT, FREE))
    subject.renew(7)
    (new,) = together(engine.generate(PROMPT, FREE))
    assert (old.version, new.version, engine.version()) == (0, 7, 7)
    assert old.logprobs != new.logprobs


def test_an_unknown_policy_is_a_key_error(subject):
    engine = subject.engine
    for ask in (
        lambda: together(engine.generate(PROMPT, FREE, policy="other")),
        lambda: together(engine.score(PROMPT, [(1,)], policy="other")),
        lambda: engine.version("other"),
    ):
        with pytest.raises(KeyError, match="other"):
            ask()

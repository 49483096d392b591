"""The scripted engine keeps the promises of every engine: stops, limits, versions, seeds."""

import asyncio

import pytest

from arena.engines import ContextFull, Decoding
from arena.engines.scripted import ScriptedEngine

END = 0


def letters(text):
    return [ord(letter) for letter in text]


def generate(engine, ids=(1, 2), **options):
    policy, seed = options.pop("policy", "live"), options.pop("seed", 0)
    return asyncio.run(engine.generate(ids, Decoding(**options), policy=policy, seed=seed))


def test_a_reply_ends_at_its_first_stop_or_at_the_limit():
    engine = ScriptedEngine(letters, ["a]b]"] * 4, end=END)
    stopped = generate(engine, stop=frozenset(letters("]")))
    assert (stopped.ids, stopped.stop) == (tuple(letters("a]")), "stop")
    ended = generate(engine, stop=frozenset([END]))
    assert (ended.ids, ended.stop) == ((*letters("a]b]"), END), "stop")
    cut = generate(engine, stop=frozenset([END]), max_tokens=3)
    assert (cut.ids, cut.stop) == (tuple(letters("a]b")), "length")
    assert len(cut.logprobs) == 3


def test_a_function_replies_to_prompt_and_seed():
    engine = ScriptedEngine(letters, lambda ids, seed: f"{len(ids)}{seed}")
    assert generate(engine, (5, 5, 5), seed=7).ids == tuple(letters("37"))
    assert engine.asked == [((5, 5, 5), Decoding(), 7)]


def test_a_script_that_is_used_up_says_so():
    with pytest.raises(ValueError, match="the script has 0 replies"):
        generate(ScriptedEngine(letters, []))


def test_what_does_not_fit_is_a_typed_error():
    engine = ScriptedEngine(letters, ["a"], limit=10)
    with pytest.raises(ContextFull) as caught:
        generate(engine, (1,) * 8, max_tokens=3)
    assert (caught.value.needed, caught.value.limit) == (11, 10)
    with pytest.raises(ContextFull):
        asyncio.run(engine.score((1,) * 8, [(1,), (1, 2, 3)]))
    assert generate(engine, (1,) * 8, max_tokens=2).ids == (ord("a"),)


def test_new_weights_come_with_their_version_and_other_numbers():
    engine = ScriptedEngine(letters, ["ab", "ab"])
    old = generate(engine)
    first = engine.load("live", lambda ids, reply: [-2.0] * len(reply), 5)
    new = generate(engine)
    assert (old.version, old.logprobs) == (0, (-1.0, -1.0))
    assert (new.version, new.logprobs) == (5, (-2.0, -2.0))
    assert engine.version() == 5
    assert first != engine.load("live", lambda ids, reply: [], 6)
    assert asyncio.run(ScriptedEngine(letters, ()).score((1,), [(1, 2), ()])) == [[-1.0, -1.0], []]


def test_an_unknown_policy_is_a_key_error():
    for ask in (lambda e: e.generate((1,), Decoding(), policy="other"), lambda e: e.score((1,), [], policy="other")):
        with pytest.raises(KeyError, match="other"):
            asyncio.run(ask(ScriptedEngine(letters, ["a"])))

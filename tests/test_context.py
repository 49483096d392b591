"""A context is append-only, its arrays are always of one length, and it is JSON both ways."""

import json

import pytest

from arena.context import Choice, Context, View


def test_given_ids_are_context_and_sampled_ids_are_trained():
    view = View()
    view.extend([7, 8])
    view.extend([9], logprobs=[-0.5], version=3, temperature=0.7)
    view.extend([10])
    assert view == View([7, 8, 9, 10], [False, False, True, False], [0, 0, -0.5, 0], [-1, -1, 3, -1], [1, 1, 0.7, 1])


def test_ids_and_logprobs_of_different_lengths_are_refused_with_both():
    """O-15"""
    view = View()
    with pytest.raises(ValueError, match="2 sampled ids but 1 logprobs"):
        view.extend([1, 2], logprobs=[-1.0])
    assert view == View()


def test_an_empty_reply_is_a_turn_without_tokens():
    view = View()
    view.extend([], logprobs=[], version=1)
    assert view == View()


def test_what_was_said_is_not_pending():
    context = Context()
    context.hear("your move")
    assert (context.pending, context.turn) == (0, 0)
    context.said("[bet]")
    assert (context.pending, context.turn) == (2, 1)
    assert context.messages == [{"role": "user", "content": "your move"}, {"role": "assistant", "content": "[bet]"}]


def test_json_brings_a_context_back():
    context = Context(seed=(1, "kuhn", "first_0"))
    context.hear("née <|im_end|> \u2028")
    context.views.append(View())
    context.view.extend([1, 2])
    context.view.extend([3], logprobs=[-0.25], version=2)
    context.choices.append(Choice(2, ((3,), (4, 5)), ("bet", "fold"), 0, version=2, logprobs=(-0.25, -1.5), drawn=True))
    context.choices.append(Choice(2, ((3,),), ("bet",), -1))
    context.sampled = 1
    context.said("[bet]")
    assert Context.from_json(json.loads(json.dumps(context.to_json()))) == context

"""The forward pass over token trees is transformers' own, forward and backward, however the texts are laid out."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch
from networks import ARCHITECTURES, VOCABULARY, network, plain_logits, with_lora

from arena.engines import tree as trees
from arena.engines.transformer import Cache, Transformer
from arena.engines.tree import TokenTree

TEXTS = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 9, 8], [1, 2, 7], [5, 5, 5, 5], [1, 2, 3, 9, 8, 0, 0, 3, 1, 2]]


def grown(texts):
    tree = TokenTree()
    return tree, [tree.add(text) for text in texts]


def tree_logits(model, tree, cuts=(), cache=True, view=None):
    """Logits [nodes, V] of all nodes, forwarded in steps that end at `cuts`."""
    view = view or Transformer(model)
    store = Cache(view, slots=2) if cache else None
    found, bounds = [], [0, *cuts, len(tree)]
    for start, stop in pairwise(bounds):
        if store is not None:
            store.reserve(stop)
        hidden = view.forward(
            torch.tensor(tree.ids[start:stop]),
            torch.tensor(tree.depths[start:stop]),
            tree.plan(range(start, stop)),
            store,
            torch.arange(start, stop) if store is not None else None,
        )
        found.append(hidden @ view.head.t())
    return torch.cat(found)


def assert_is_plain(model, tree, tips, logits, atol=1e-5):
    with torch.no_grad():
        for tip in tips:
            plain = plain_logits(model, tree.tokens(tip))
            torch.testing.assert_close(logits[tree.path(tip)], plain, atol=atol, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("tied", "kv_heads"), [(False, 1), (True, 2), (False, 4)])
def test_every_architecture_is_as_transformers_has_it(architecture, tied, kv_heads):
    model = network(architecture, tie_word_embeddings=tied, num_key_value_heads=kv_heads)
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree))
        assert_is_plain(model, tree, tips, tree_logits(model, tree, cache=False))


@pytest.mark.parametrize("options", [dict(attention_bias=True), dict(mlp_bias=True), dict(head_dim=6)])
def test_the_llama_with_more_to_it(options):
    model = network("llama", **options)
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree))


def test_single_precision_agrees_too():
    model = network("qwen3", dtype=torch.float32)
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree), atol=5e-5)


@pytest.mark.parametrize("seed", range(2))
def test_steps_and_order_of_arrival_change_nothing(seed):
    rng = random.Random(seed)
    model = network(rng.choice(ARCHITECTURES))
    texts = [[rng.randrange(3) for _ in range(rng.randrange(1, 16))] for _ in range(8)]
    rng.shuffle(texts)
    tree, tips = grown(texts)
    cuts = sorted(rng.sample(range(1, len(tree)), 5))
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree, cuts))
        assert_is_plain(model, tree, tips, tree_logits(model, tree, range(1, len(tree))))


def test_a_cache_that_was_thinned_out_goes_on_as_if_nothing_had_been():
    model = network()
    view = Transformer(model)
    tree, tips = grown(TEXTS)
    cache = Cache(view, slots=2)
    with torch.no_grad():
        cache.reserve(len(tree))
        nodes = torch.arange(len(tree))
        view.forward(torch.tensor(tree.ids), torch.tensor(tree.depths), tree.plan(range(len(tree))), cache, nodes)
        order = tree.keep([tips[1], tips[3]])
        cache.move(torch.from_numpy(order))
        start, tip = len(tree), tree.add([4, 4, 2], tree.add(TEXTS[1]))
        assert start < len(tree)
        cache.reserve(len(tree))
        fresh = range(start, len(tree))
        hidden = view.forward(
            torch.tensor(tree.ids[start:]),
            torch.tensor(tree.depths[start:]),
            tree.plan(fresh),
            cache,
            torch.tensor(fresh),
        )
        plain = plain_logits(model, tree.tokens(tip))
        torch.testing.assert_close(hidden @ view.head.t(), plain[-3:], atol=1e-5, rtol=0)
        torch.testing.assert_close(cache.hidden[tree.path(tip)] @ view.head.t(), plain, atol=1e-5, rtol=0)


def test_branches_that_attend_to_one_another_are_seen_to_fail(monkeypatch):
    """The planted fault: a mask by order of arrival alone, as one packed row would have it."""
    whole = trees._pad

    def careless(blocks):
        bucket = whole(blocks)
        keys, queries = bucket.keys[:, None, :], bucket.queries[:, :, None]
        return trees.Bucket(bucket.queries, bucket.keys, keys <= queries)

    model = network()
    tree, tips = grown([[1, 2, 3], [1, 2, 5]])
    monkeypatch.setattr(trees, "_pad", careless)
    with torch.no_grad(), pytest.raises(AssertionError, match="not close"):
        assert_is_plain(model, tree, tips, tree_logits(model, tree))


def test_a_text_past_the_sliding_window_is_not_promised():
    """Attention here goes back to the first token, so a model that looks back 8 tokens holds 8."""
    assert Transformer(network("mistral", sliding_window=8)).context == 8
    assert Transformer(network("mistral", sliding_window=None)).context == 256
    assert Transformer(network("qwen2", sliding_window=8, use_sliding_window=False)).context == 256
    model = network("mistral", sliding_window=8)
    tree, tips = grown([list(range(8))])
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree))


def test_positions_that_depend_on_the_length_are_refused():
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    with pytest.raises(ValueError, match="dynamic"):
        Transformer(network("llama", rope_parameters=scaling))


def test_scaled_positions_are_as_transformers_has_them():
    scaling = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    model = network("llama", rope_parameters=scaling)
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        assert_is_plain(model, tree, tips, tree_logits(model, tree))


def test_another_architecture_is_refused_by_name():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=VOCABULARY))
    with pytest.raises(ValueError, match="'gpt2' is not supported: llama, mistral"):
        Transformer(model)


# -- LoRA --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_merged_adapter_is_what_peft_adds_on_the_fly(architecture):
    model = with_lora(network(architecture))
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        logits = tree_logits(model, tree)
        assert_is_plain(model, tree, tips, logits)
        bare = tree_logits(model, tree, view=Transformer(model, adapter=False))
        with model.disable_adapter():
            assert_is_plain(model, tree, tips, bare)
    assert (logits - bare).abs().max() > 0.1


def test_a_changed_adapter_counts_from_the_next_merge_on():
    model = with_lora(network())
    view = Transformer(model)
    tree, tips = grown(TEXTS)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.mul_(-1.0)
        before = tree_logits(model, tree, view=view)
        view.merge()
        after = tree_logits(model, tree, view=view)
        assert_is_plain(model, tree, tips, after)
    assert (before - after).abs().max() > 0.1


# -- gradients: the fast path is the plain path, backward too ----------------------------------------------------------


def padded_loss(model, texts):
    """A weighted sum of log-probabilities of all next tokens, over padded rows of transformers' own forward."""
    width = max(map(len, texts))
    ids = torch.tensor([text + [0] * (width - len(text)) for text in texts])
    attention = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts])
    logp = torch.log_softmax(model(ids, attention_mask=attention).logits, -1)
    return sum(
        (1 + r + 0.1 * t) * logp[r, t, text[t + 1]] for r, text in enumerate(texts) for t in range(len(text) - 1)
    )


def tree_loss(model, texts):
    tree, tips = grown(texts)
    logp = torch.log_softmax(tree_logits(model, tree, cache=False), -1)
    return sum(
        (1 + r + 0.1 * t) * logp[tree.path(tip)[t], text[t + 1]]
        for r, (tip, text) in enumerate(zip(tips, texts, strict=True))
        for t in range(len(text) - 1)
    )


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", ["untied", "tied", "lora"])
def test_gradients_through_the_tree_are_those_of_padded_rows(architecture, kind):
    model = network(architecture, tie_word_embeddings=kind == "tied")
    model = with_lora(model) if kind == "lora" else model
    plain, fast = padded_loss(model, TEXTS), tree_loss(model, TEXTS)
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-6)
    expected, found = gradients(model, plain), gradients(model, fast)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert gradient.abs().max() > 0, name
        error = (found[name] - gradient).abs().max() / gradient.abs().max()
        assert error < 1e-5, name


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["untied", "tied", "lora"])
def test_a_frozen_copy_does_not_move_with_its_model(kind):
    model = network("qwen2", tie_word_embeddings=kind == "tied")
    model = with_lora(model) if kind == "lora" else model
    view = Transformer(model)
    frozen = view.frozen()
    tree, _ = grown(TEXTS)
    with torch.no_grad():
        before = tree_logits(model, tree, view=view)
        torch.testing.assert_close(tree_logits(model, tree, view=frozen), before, atol=1e-12, rtol=0)
        for weight in model.parameters():
            weight += 0.1
        view.merge()
        frozen.merge()
        torch.testing.assert_close(tree_logits(model, tree, view=frozen), before, atol=1e-12, rtol=0)
        assert (tree_logits(model, tree, view=view) - before).abs().max() > 0.1
    assert not any(weight.requires_grad for weight in frozen.weights().values())


def test_weights_go_into_a_copy_by_name():
    one, other = Transformer(network("qwen3", seed=0)).frozen(), Transformer(network("qwen3", seed=5))
    tree, _ = grown(TEXTS)
    one.put(other.weights())
    with torch.no_grad():
        torch.testing.assert_close(tree_logits(None, tree, view=one), tree_logits(None, tree, view=other))
    names = set(one.weights())
    assert {"embedding", "norm", "head", "0.q", "1.down", "0.norm_q", "0.norm_mlp"} <= names

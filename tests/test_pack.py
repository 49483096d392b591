"""Packs hold every distinct token once, and know of every trained token and option where it is decided."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import network, plain_logp
from sampled import decision, row

from arena.engines.transformer import Transformer
from trainers.batch import make_batch
from trainers.pack import packs
from trainers.rows import Decision

ROWS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=2, max_size=8),  # tokens
        st.integers(0, 2**8),  # which of them are trained, as bits
        st.sampled_from([0.5, 1.0]),
        st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=3),  # options of a decision
    ),
    min_size=1,
    max_size=6,
)


def batched(drawn):
    rows = []
    for tokens, bits, temperature, options in drawn:
        trained = [t for t in range(1, len(tokens)) if bits >> t & 1]
        decisions = ()
        if options:
            made = tuple(tuple(option) for option in options)
            decisions = (Decision(len(tokens) - 1, made, 0, True, np.zeros(len(made), np.float32), 1.0),)
        own = [-0.1 * t for t in trained]
        rows.append(row(None, tokens, trained, temperature=temperature, logprobs=own, decisions=decisions))
    return make_batch(rows)


def text(pack, edge):
    """What the model has read at an edge, under which temperature, and the next id."""
    site = int(pack.edge_site[edge])
    return (*pack.tree.tokens(int(pack.site_node[site])), int(pack.edge_token[edge])), float(pack.temperature[site])


@given(ROWS, st.integers(1, 40))
@settings(max_examples=60)
def test_every_trained_token_and_option_has_the_edges_of_its_own_text(drawn, limit):
    batch = batched(drawn)
    tokens, decisions = [], []
    for pack in packs(batch, limit):
        assert (np.diff(pack.edge_site.numpy()) >= 0).all()
        assert torch.equal(pack.token_site, pack.edge_site[pack.token_edge])
        for i, edge in zip(pack.tokens.tolist(), pack.token_edge.tolist(), strict=True):
            start = int(batch.starts[np.searchsorted(batch.starts, i, "right") - 1])
            assert text(pack, edge) == (tuple(batch.tokens[start : i + 1].tolist()), float(batch.temperature[i]))
        for d, options in zip(pack.decisions, pack.option_edges, strict=True):
            made, start = batch.decisions[d], int(batch.starts[batch.decision_row[d]])
            before = tuple(batch.tokens[start : start + made.at].tolist())
            for option, edges in zip(made.options, options, strict=True):
                found = [text(pack, edge) for edge in edges.tolist()]
                assert found == [((*before, *option[: n + 1]), 1.0) for n in range(len(option))]
        tokens += pack.tokens.tolist()
        decisions += pack.decisions
    assert sorted(tokens) == np.flatnonzero(batch.mask).tolist()
    assert sorted(decisions) == list(range(len(batch.decisions)))


@given(ROWS)
@settings(max_examples=40)
def test_one_pack_holds_what_has_to_be_read_once_and_nothing_else(drawn):
    batch = batched(drawn)
    read = set()
    for b, start in enumerate(batch.starts[:-1]):
        ids = tuple(batch.tokens[start : batch.starts[b + 1]].tolist())
        read |= {ids[:n] for t in np.flatnonzero(batch.mask[start : batch.starts[b + 1]]) for n in range(1, t + 1)}
        for made in (d for d, owner in zip(batch.decisions, batch.decision_row, strict=True) if owner == b):
            for option in made.options:
                whole = (*ids[: made.at], *option[:-1])
                read |= {whole[:n] for n in range(1, len(whole) + 1)}
    found = list(packs(batch, 10**9))
    assert len(found) == (1 if read else 0)
    if found:
        assert {found[0].tree.tokens(node) for node in range(len(found[0].tree))} == read


@given(ROWS, st.integers(1, 30))
@settings(max_examples=40)
def test_a_pack_of_several_rows_keeps_the_limit(drawn, limit):
    batch = batched(drawn)
    for pack in packs(batch, limit):
        rows = {int(np.searchsorted(batch.starts, i, "right")) for i in pack.tokens.tolist()}
        rows |= {batch.decision_row[d] + 1 for d in pack.decisions}
        texts = {tuple(batch.tokens[batch.starts[r - 1] : batch.starts[r]].tolist()) for r in rows}
        assert len(pack.tree) <= limit or len(texts) == 1


def test_a_row_with_nothing_to_train_is_not_read():
    idle = row(None, [1, 2, 3], [], logprobs=[])
    assert list(packs(make_batch([idle]), 100)) == []
    (pack,) = packs(make_batch([idle, row(None, [4, 5], [1], logprobs=[-1.0])]), 100)
    assert pack.tree.ids == [4]


def test_a_first_token_has_nothing_to_be_predicted_from():
    with pytest.raises(ValueError, match="episode e, first_0, role first, token 0: its first token is trained"):
        list(packs(make_batch([row(None, [1, 2], [0], logprobs=[-1.0])]), 100))


def test_log_probabilities_are_the_models_own():
    model = network()
    tokens = [1, 2, 3, 4, 5]
    made = decision(model, tokens, 4, [(7,), (8, 9), (5, 5, 5)])
    batch = make_batch([row(model, tokens, [2, 4], temperature=0.5, decisions=(made,))])
    (pack,) = packs(batch, 100)
    with torch.no_grad():
        logp, entropy = pack.forward(Transformer(model))
    np.testing.assert_allclose(logp[pack.token_edge], batch.sampled_logp[[2, 4]], atol=1e-5)
    sums = [float(logp[edges].sum()) for edges in pack.option_edges[0]]
    np.testing.assert_allclose(sums, made.logprobs, atol=1e-5)
    assert len(entropy) == len(pack.site_node)
    assert plain_logp(model, tokens[:4], (8, 9)).sum().item() == pytest.approx(sums[1], abs=1e-5)

"""Token trees: every prefix once, and everybody attends to exactly its own past."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.engines import tree as room
from arena.engines.tree import TokenTree

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=12)


def grown(texts):
    tree = TokenTree()
    return tree, [tree.add(text) for text in texts]


def ancestors(tree, node):
    found = []
    while node >= 0:
        found.append(node)
        node = tree.parents[node]
    return found[::-1]


def attended(plan, rows):
    """By row of the step: the nodes that it may attend to, as the plan's masks say."""
    seen = []
    flat = [(b, i, r) for b, bucket in enumerate(plan.buckets) for i, r in np.ndindex(bucket.queries.shape)]
    for row in range(rows):
        b, i, r = flat[plan.where[row]]
        bucket = plan.buckets[b]
        assert bucket.queries[i, r] == row
        seen.append(sorted(bucket.keys[i][bucket.mask[i, r]].tolist()))
    return seen


def chunks(count, sizes):
    start = 0
    for size in sizes:
        yield range(start, min(start + size, count))
        start = min(start + size, count)
    yield range(start, count)


# -- nodes -------------------------------------------------------------------------------------------------------------


@given(TEXTS)
def test_every_distinct_prefix_is_one_node(texts):
    tree, tips = grown(texts)
    prefixes = {tuple(text[:n]) for text in texts for n in range(1, len(text) + 1)}
    assert len(tree) == len(prefixes)
    assert {tree.tokens(node) for node in range(len(tree))} == prefixes
    assert [tree.tokens(tip) for tip in tips] == [tuple(text) for text in texts]


@given(TEXTS)
def test_a_parent_comes_before_its_children_and_a_depth_is_a_position(texts):
    tree, _ = grown(texts)
    for node in range(len(tree)):
        assert tree.parents[node] < node
        assert tree.depths[node] == len(tree.tokens(node)) - 1
        assert tree.child(tree.parents[node], tree.ids[node]) == node


@given(TEXTS, st.data())
def test_a_text_may_be_added_in_parts(texts, data):
    tree, tips = grown(texts)
    text = data.draw(st.sampled_from(texts))
    cut = data.draw(st.integers(0, len(text)))
    size = len(tree)
    node = tree.add(text[:cut])
    assert tree.add(text[cut:], node) == tips[texts.index(text)]
    assert len(tree) == size
    assert tree.child(-1, 99) is None


@given(TEXTS, st.data())
def test_a_path_leads_from_the_root_whatever_was_planned_before(texts, data):
    tree, tips = grown(texts)
    tree.plan(range(data.draw(st.integers(1, len(tree)))))  # leaves paths behind, from which later ones are built
    tips.append(tree.add([0, 1], tips[0]))
    for node in [*tips, *range(len(tree))]:
        assert tree.path(node).tolist() == ancestors(tree, node)


# -- plans -------------------------------------------------------------------------------------------------------------


@given(TEXTS, st.lists(st.integers(1, 10), max_size=6))
def test_a_plan_says_ancestor_or_self_whatever_the_steps(texts, sizes):
    tree, _ = grown(texts)
    for nodes in chunks(len(tree), sizes):
        if nodes:
            assert attended(tree.plan(nodes), len(nodes)) == [ancestors(tree, node) for node in nodes]


@given(TEXTS, st.integers(0, 60))
def test_the_price_of_copying_moves_keys_between_blocks_but_never_the_answer(texts, price):
    tree, _ = grown(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "GATHER", price)
        plan = tree.plan(range(len(tree)))
    assert attended(plan, len(tree)) == [ancestors(tree, node) for node in range(len(tree))]


@given(TEXTS, st.data())
def test_some_nodes_of_a_step_may_be_left_out(texts, data):
    """The engine forwards a stretch; any ascending choice whose parents are known is as good."""
    tree, _ = grown(texts)
    nodes = [node for node in range(len(tree)) if data.draw(st.booleans())]
    if nodes:
        assert attended(tree.plan(nodes), len(nodes)) == [ancestors(tree, node) for node in nodes]


@given(TEXTS)
def test_a_padded_query_attends_to_something_so_that_no_softmax_is_empty(texts):
    tree, _ = grown(texts)
    plan = tree.plan(range(len(tree)))
    assert all(bucket.mask.any(-1).all() for bucket in plan.buckets)
    assert plan.pairs == sum(bucket.mask.size for bucket in plan.buckets)
    assert plan.pairs >= sum(depth + 1 for depth in tree.depths)


def test_two_branches_by_hand():
    tree, _ = grown([[7, 8, 9], [7, 8, 5], [7, 4]])
    assert tree.ids == [7, 8, 9, 5, 4]
    assert tree.parents == [-1, 0, 1, 1, 0]
    assert attended(tree.plan(range(5)), 5) == [[0], [0, 1], [0, 1, 2], [0, 1, 3], [0, 4]]


# -- forgetting --------------------------------------------------------------------------------------------------------


@given(TEXTS, st.data())
def test_keep_leaves_the_tips_texts_and_nothing_else(texts, data):
    tree, tips = grown(texts)
    kept = data.draw(st.lists(st.sampled_from(tips), min_size=1, max_size=4))
    before = {node: tree.tokens(node) for node in range(len(tree))}
    tree.plan(range(len(tree)))
    order = tree.keep(kept)
    assert order.tolist() == sorted({a for tip in kept for a in prefixes_of(before, tip)})
    assert [tree.tokens(node) for node in range(len(tree))] == [before[old] for old in order.tolist()]
    new = {old: i for i, old in enumerate(order.tolist())}
    for tip in kept:
        assert tree.add(before[tip]) == new[tip]
    assert len(tree) == len(order)
    assert attended(tree.plan(range(len(tree))), len(tree)) == [ancestors(tree, n) for n in range(len(tree))]


def prefixes_of(texts, tip):
    return [node for node, text in texts.items() if texts[tip][: len(text)] == text]


def test_what_was_forgotten_is_added_anew():
    tree, (_, second) = grown([[1, 2], [3, 4]])
    assert tree.keep([second]).tolist() == [2, 3]
    assert (tree.ids, tree.parents, tree.depths) == ([3, 4], [-1, 0], [0, 1])
    assert tree.add([1, 2]) == 3

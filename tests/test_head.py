"""The head gives log-probabilities and entropies where they are asked, and their exact gradients, in any chunks."""

from __future__ import annotations

import pytest
import torch

from trainers import head as room
from trainers.head import head

VOCABULARY, WIDTH = 11, 5


def world(sites=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(sites, WIDTH, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, generator=generator, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor([(0.5, 1.0, 2.0)[s % 3] for s in range(sites)], dtype=torch.float64)
    # no edge at site 0, one at site 1, two at site 2 and so on; one id comes twice at one site
    site = torch.tensor([s for s in range(sites) for _ in range(s)], dtype=torch.int64)
    token = torch.randint(VOCABULARY, (len(site),), generator=generator)
    return hidden, weight, temperature, site, token


def plain(hidden, weight, temperature, site, token):
    logp = torch.log_softmax(hidden @ weight.t() / temperature[:, None], -1)
    return logp[site, token], -(logp.exp() * logp).sum(-1)


def test_values_are_those_of_a_log_softmax():
    for found, expected in zip(head(*world()), plain(*world()), strict=True):
        torch.testing.assert_close(found, expected)


def test_entropies_by_hand():
    """One site of two ids with odds 3 : 1, and one that is flat over eleven."""
    weight = torch.zeros(2, 1, dtype=torch.float64)
    weight[0, 0] = torch.log(torch.tensor(3.0, dtype=torch.float64))
    none = torch.zeros(0, dtype=torch.int64)
    one = torch.ones(1, 1, dtype=torch.float64)
    _, entropy = head(one, weight, one[0], none, none)
    assert float(entropy[0]) == pytest.approx(0.5623351446)
    _, flat = head(one, torch.zeros(11, 1, dtype=torch.float64), one[0], none, none)
    assert float(flat[0]) == pytest.approx(2.3978952728)


@pytest.mark.parametrize("chunk", [2, 128])
def test_gradients_are_those_of_finite_differences(chunk, monkeypatch):
    monkeypatch.setattr(room, "CHUNK", chunk)
    hidden, weight, temperature, site, token = world(4)
    assert torch.autograd.gradcheck(lambda h, w: head(h, w, temperature, site, token), (hidden, weight))


@pytest.mark.parametrize("chunk", [1, 3, 7, 128])
@pytest.mark.parametrize("part", ["logp", "entropy", "both"])
def test_chunks_change_nothing(chunk, part, monkeypatch):
    monkeypatch.setattr(room, "CHUNK", chunk)
    gradients = []
    for way in (plain, head):
        given = world()
        logp, entropy = way(*given)
        scale = torch.arange(1.0, len(logp) + 1, dtype=torch.float64)
        loss = (scale * logp).sum() * (part != "entropy") + (entropy**2).sum() * (part != "logp")
        gradients.append(torch.autograd.grad(loss, given[:2]))
    for expected, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected)


def test_a_weight_that_is_not_trained_gets_no_gradient_and_hidden_states_still_do():
    hidden, weight, *rest = world()
    logp, _ = head(hidden, weight.detach(), *rest)
    logp.sum().backward()
    assert hidden.grad is not None
    assert weight.grad is None


def test_the_same_id_twice_counts_twice():
    hidden, weight, temperature, _, _ = world(1)
    twice = torch.zeros(2, dtype=torch.int64)
    both = torch.autograd.grad(head(hidden, weight, temperature, twice, twice)[0].sum(), weight)[0]
    once = torch.autograd.grad(head(hidden, weight, temperature, twice[:1], twice[:1])[0].sum(), weight)[0]
    torch.testing.assert_close(both, 2 * once)

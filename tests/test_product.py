"""Products are what torch's own are, forward and backward."""

import pytest
import torch
import torch.nn.functional as F

from arena.engines.product import linear, packed, product


@pytest.mark.parametrize("rows", [0, 1, 7, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_product_is_the_linear_layer_of_torch(rows, dtype):
    generator = torch.Generator().manual_seed(rows)
    x, weight = (torch.randn(n, 24, generator=generator, dtype=dtype) for n in (rows, 17))
    expected = F.linear(x, weight)
    assert torch.allclose(product(x, weight), expected, atol=1e-5)
    layout = packed(weight)
    if layout is not None:
        assert torch.allclose(product(x, layout), expected, atol=1e-5)


def test_a_packed_copy_does_not_follow_its_weight():
    """So whoever changes a weight has to pack it again: `Transformer.merge` does."""
    weight = torch.ones(4, 4)
    layout = packed(weight)
    if layout is None:
        pytest.skip("this build of torch has no packed layout")
    weight.mul_(2)
    assert torch.equal(product(torch.ones(1, 4), layout), torch.full((1, 4), 4.0))


def test_gradients_are_those_of_torch():
    x, weight = (torch.randn(n, 6, dtype=torch.float64, requires_grad=True) for n in (5, 3))
    assert torch.autograd.gradcheck(linear, (x, weight))
    x32, w32 = (t.detach().float().requires_grad_() for t in (x, weight))
    linear(x32, w32).square().sum().backward()
    F.linear(x, weight).square().sum().backward()
    assert torch.allclose(x32.grad.double(), x.grad, atol=1e-4)
    assert torch.allclose(w32.grad.double(), weight.grad, atol=1e-4)

"""Matrix products as fast as the machine has them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# On CPUs torch multiplies float32 by the BLAS it was built with. oneDNN, which every CPU build carries for compiled
# models, is 1.2 to 2.8 times as fast on the shapes of small models (bench/product.py); torch has no public name for it.
ONEDNN = bool(torch.backends.mkldnn.is_available()) and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # type: ignore[no-untyped-call]


def product(x: Tensor, weight: Tensor) -> Tensor:
    """x [N, I] times weight [O, I] transposed: [N, O]. No gradient flows through it."""
    if not x.shape[0]:
        return x.new_empty(0, weight.shape[0])
    if ONEDNN and x.device.type == "cpu" and x.dtype == torch.float32:
        done: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
        return done
    return F.linear(x, weight)


def packed(weight: Tensor) -> Tensor | None:
    """A copy of weight [O, I] in the layout that `product` reads fastest for few rows; None where there is none."""
    if not ONEDNN or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return None
    done: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 32)
    return done


class _Linear(torch.autograd.Function):
    """`product` with the gradients of both sides."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (grad,) = grads
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        to_x, to_weight = ctx.needs_input_grad  # type: ignore[attr-defined]
        return product(grad, weight.t()) if to_x else None, grad.t() @ x if to_weight else None


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """x [N, I] times weight [O, I] transposed: [N, O], with the gradients of both."""
    y: Tensor = _Linear.apply(x, weight)  # type: ignore[no-untyped-call]
    return y

"""The forward pass of Llama-like models over a token tree, in plain torch on the parameters of a transformers model."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from arena.engines.product import linear, packed, product
from arena.engines.tree import Plan

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")


class _LowRank(torch.autograd.Function):
    """y = x W'^T with W' = W + s B A formed once a step; gradients of A and B from rank-r products only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, merged: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x, merged, a, b)
        ctx.scale = scale
        return product(x, merged)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        x, merged, a, b = ctx.saved_tensors
        grad_a = ((grad @ b).t() @ x).mul_(ctx.scale)
        grad_b = (grad.t() @ (x @ a.t())).mul_(ctx.scale)
        return product(grad, merged.t()), None, grad_a, grad_b, None


class _Linear:
    """A linear layer of the model, with its LoRA adapter merged in where it has one."""

    def __init__(self, module: Any, adapter: bool):
        base = getattr(module, "base_layer", module)
        self.weight: Tensor = base.weight
        self.bias: Tensor | None = base.bias
        self.base = self.weight
        self.lora: tuple[Tensor, Tensor, float] | None = None
        self.packed: Tensor | None = None
        if adapter and "default" in getattr(module, "lora_A", {}):
            a, b = module.lora_A["default"].weight, module.lora_B["default"].weight
            self.lora = (a, b, float(module.scaling["default"]))

    def merge(self) -> None:
        self.packed = None
        if self.lora is not None:
            a, b, scale = self.lora
            with torch.no_grad():
                out = None if self.weight is self.base else self.weight
                self.weight = torch.addmm(self.base.detach(), b.detach(), a.detach(), alpha=scale, out=out)

    def frozen(self) -> _Linear:
        twin = copy.copy(self)
        twin.weight, twin.lora, twin.packed = self.weight.detach().clone(), None, None
        twin.bias = None if self.bias is None else self.bias.detach().clone()
        twin.base = twin.weight
        return twin

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor
        if not torch.is_grad_enabled():
            y = product(x, self.weight if self.packed is None else self.packed)
        elif self.lora is None:
            y = linear(x, self.weight)
        else:
            a, b, scale = self.lora
            y = _LowRank.apply(x, self.weight, a, b, scale)  # type: ignore[no-untyped-call]
        return y if self.bias is None else y + self.bias


class _Layer:
    def __init__(self, module: Any, adapter: bool):
        attention, mlp = module.self_attn, module.mlp
        self.q, self.k, self.v, self.o = (
            _Linear(getattr(attention, f"{name}_proj"), adapter) for name in ("q", "k", "v", "o")
        )
        self.gate, self.up, self.down = (
            _Linear(getattr(mlp, f"{name}_proj"), adapter) for name in ("gate", "up", "down")
        )
        self.norm_attention: Tensor = module.input_layernorm.weight
        self.norm_mlp: Tensor = module.post_attention_layernorm.weight
        self.norm_q: Tensor | None = attention.q_norm.weight if hasattr(attention, "q_norm") else None
        self.norm_k: Tensor | None = attention.k_norm.weight if hasattr(attention, "k_norm") else None

    @property
    def linears(self) -> tuple[_Linear, ...]:
        return self.q, self.k, self.v, self.o, self.gate, self.up, self.down

    def frozen(self) -> _Layer:
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, _Linear):
                setattr(twin, name, value.frozen())
            elif value is not None:
                setattr(twin, name, value.detach().clone())
        return twin


class Cache:
    """Keys, values and final hidden states of computed nodes; node n lies in slot n. Grows by doubling."""

    def __init__(self, model: Transformer, slots: int = 1024):
        self.model = model
        width = model.kv_heads * model.head_width
        self.keys = torch.empty(len(model.layers), slots, width, dtype=model.dtype, device=model.device)
        self.values = torch.empty_like(self.keys)
        self.hidden = torch.empty(slots, model.width, dtype=model.dtype, device=model.device)

    @property
    def slots(self) -> int:
        return self.hidden.shape[0]

    def reserve(self, slots: int) -> None:
        """Make room for `slots` nodes, keeping what is there."""
        if slots <= self.slots:
            return
        grown = max(slots, 2 * self.slots)
        for name in ("keys", "values", "hidden"):
            old = getattr(self, name)
            new = old.new_empty(*old.shape[:-2], grown, old.shape[-1])
            new[..., : self.slots, :] = old
            setattr(self, name, new)

    def move(self, order: Tensor) -> None:
        """Slot i takes what slot `order[i]` held."""
        n = len(order)
        self.keys[:, :n] = self.keys[:, order]
        self.values[:, :n] = self.values[:, order]
        self.hidden[:n] = self.hidden[order]


class Transformer:
    """Forward passes over token trees, with and without gradients, on the parameters of a transformers causal model.

    With `adapter` the model's LoRA adapter (peft, named "default") is merged in; call `merge` after it has changed.
    `context` is the longest text in tokens: attention here goes back to the first token, so a model that looks back
    less far holds no more than that. Raises ValueError for an architecture that is not in `ARCHITECTURES`, and for
    rotary positions that change with the length of the text.
    """

    def __init__(self, model: Any, adapter: bool = True):
        config = model.config
        if config.model_type not in ARCHITECTURES:
            raise ValueError(f"architecture {config.model_type!r} is not supported: {', '.join(ARCHITECTURES)}")
        rope = (config.rope_parameters or {}).get("rope_type", "default")
        if rope in ("dynamic", "longrope"):
            raise ValueError(f"rotary positions of type {rope!r} change with the length of the text: not supported")
        inner = getattr(model, "base_model", model)
        causal = getattr(inner, "model", inner) if hasattr(model, "peft_config") else model
        body = causal.model
        self.layers = [_Layer(layer, adapter) for layer in body.layers]
        self.embedding: Tensor = body.embed_tokens.weight
        self.norm: Tensor = body.norm.weight
        self.head: Tensor = causal.lm_head.weight
        self.rotary = body.rotary_emb
        self.epsilon: float = config.rms_norm_eps
        self.width: int = config.hidden_size
        self.heads: int = config.num_attention_heads
        self.kv_heads: int = config.num_key_value_heads
        self.head_width: int = getattr(config, "head_dim", None) or self.width // self.heads
        self.context: int = min(config.max_position_embeddings, _window(config))
        self.dtype, self.device = self.embedding.dtype, self.embedding.device
        self.merge()

    def merge(self) -> None:
        """Fold the adapters into the weights used by the forward pass."""
        for layer in self.layers:
            for each in layer.linears:
                each.merge()

    def pack(self) -> None:
        """Make copies of the weights that multiply few rows faster, for inference until `unpack` or `merge`."""
        for layer in self.layers:
            for each in layer.linears:
                each.packed = packed(each.weight)

    def unpack(self) -> None:
        """Free the copies that `pack` made."""
        for layer in self.layers:
            for each in layer.linears:
                each.packed = None

    def frozen(self) -> Transformer:
        """A copy of the weights as they are now, adapters merged, that no optimizer step can change."""
        twin = copy.copy(self)
        for name in ("embedding", "norm", "head"):
            setattr(twin, name, getattr(self, name).detach().clone())
        if self.head is self.embedding:
            twin.head = twin.embedding
        twin.layers = [layer.frozen() for layer in self.layers]
        return twin

    def weights(self) -> dict[str, Tensor]:
        """Every weight of the forward pass by name, adapters merged."""
        found = {"embedding": self.embedding, "norm": self.norm, "head": self.head}
        for i, layer in enumerate(self.layers):
            for name, value in vars(layer).items():
                if isinstance(value, _Linear):
                    found[f"{i}.{name}"] = value.weight
                    if value.bias is not None:
                        found[f"{i}.{name}.bias"] = value.bias
                elif value is not None:
                    found[f"{i}.{name}"] = value
        return found

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Take the values of `weights`, named as by the method of that name."""
        with torch.no_grad():
            for name, weight in self.weights().items():
                weight.copy_(weights[name])

    @property
    def parameters_per_token(self) -> int:
        """Weights that one forwarded token is multiplied with, without the head."""
        return sum(linear.weight.numel() for layer in self.layers for linear in layer.linears)

    def forward(
        self, ids: Tensor, positions: Tensor, plan: Plan, cache: Cache | None = None, slots: Tensor | None = None
    ) -> Tensor:
        """Final hidden states [N, D] of N tokens (ids, positions int64 [N]) that attend as `plan` says.

        With a cache the tokens' keys and values are put into `slots` int64 [N], and the keys of the plan are slots of
        it; without one the keys of the plan are rows of this very step.
        """
        attention = _Attention(self, plan)
        x = F.embedding(ids, self.embedding)
        cos, sin = self.rotary(x[None], positions[None])
        rope = cos[0, :, None].contiguous(), sin[0, :, None].contiguous()
        for index, layer in enumerate(self.layers):
            h = self._norm(x, layer.norm_attention)
            q, k, v = self._project(h, layer, rope)
            if cache is not None:
                cache.keys[index].index_copy_(0, slots, k.flatten(1))  # type: ignore[arg-type]
                cache.values[index].index_copy_(0, slots, v.flatten(1))  # type: ignore[arg-type]
                k, v = cache.keys[index], cache.values[index]
            x = x + layer.o(attention(q, k, v))
            h = self._norm(x, layer.norm_mlp)
            x = x + layer.down(F.silu(layer.gate(h)) * layer.up(h))
        x = self._norm(x, self.norm)
        if cache is not None:
            cache.hidden.index_copy_(0, slots, x)  # type: ignore[arg-type]
        return x

    def _project(self, h: Tensor, layer: _Layer, rope: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        q = layer.q(h).view(len(h), self.heads, self.head_width)
        k = layer.k(h).view(len(h), self.kv_heads, self.head_width)
        v = layer.v(h).view(len(h), self.kv_heads, self.head_width)
        if layer.norm_q is not None and layer.norm_k is not None:
            q, k = self._norm(q, layer.norm_q), self._norm(k, layer.norm_k)
        return _rotate(q, rope), _rotate(k, rope), v

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.epsilon)


def _window(config: Any) -> int:
    """How many tokens a layer of the model looks back at most, itself included."""
    kinds: list[str] = getattr(config, "layer_types", None) or ["sliding_attention"]
    window: int | None = getattr(config, "sliding_window", None)
    return window if window and "sliding_attention" in kinds else int(config.max_position_embeddings)


def _rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rope
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class _Attention:
    """Attention as a plan says; its index tensors are made once for all layers."""

    def __init__(self, model: Transformer, plan: Plan):
        self.kv_heads, self.head_width = model.kv_heads, model.head_width
        self.group = model.heads // model.kv_heads
        device = model.device
        self.buckets = []
        for bucket in plan.buckets:
            # The query heads of one key head are folded into the rows: keys are never repeated.
            mask = torch.from_numpy(bucket.mask).repeat_interleave(self.group, 1)[:, None]
            bias = torch.zeros(mask.shape, dtype=model.dtype).masked_fill_(~mask, float("-inf"))
            queries, keys = (torch.from_numpy(x.reshape(-1)).to(device) for x in (bucket.queries, bucket.keys))
            self.buckets.append((queries, keys, bias.to(device), bucket.queries.shape))
        self.where = torch.from_numpy(plan.where).to(device)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [N, heads, w], k and v [keys, kv_heads(, )w] -> [N, heads * w]."""
        outs = []
        for queries, keys, bias, (count, rows) in self.buckets:
            shape = (count, -1, self.kv_heads, self.head_width)
            qs = q[queries].view(count, rows, self.kv_heads, self.group, self.head_width)
            qs = qs.permute(0, 2, 1, 3, 4).reshape(count, self.kv_heads, rows * self.group, self.head_width)
            ks, vs = (x.index_select(0, keys).view(shape).transpose(1, 2) for x in (k, v))
            out = F.scaled_dot_product_attention(qs, ks, vs, attn_mask=bias)
            out = out.view(count, self.kv_heads, rows, self.group, self.head_width).permute(0, 2, 1, 3, 4)
            outs.append(out.reshape(count * rows, -1))
        return torch.cat(outs).index_select(0, self.where)

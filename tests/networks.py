"""Small random networks of every supported architecture, and the plain way to run them: transformers' own forward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from trainers.config import LoraConfig
from trainers.learner import adapted

VOCABULARY = 23
ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")


def network(architecture: str = "llama", *, dtype: torch.dtype = torch.float64, seed: int = 0, **changes: Any) -> Any:
    """Two layers, two query heads to a key head, no weight at its usual start: a part left out would be seen."""
    shape = dict(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=False,
    )
    if architecture == "qwen3":
        shape["head_dim"] = 16  # not hidden_size / num_attention_heads
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(architecture, **{**shape, **changes}), dtype=dtype)
    return filled(model, seed).eval()


def filled(model: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() == 2:
                weight.copy_(noise * (1.0 if "embed" in name else 1.5 * weight.shape[1] ** -0.5))
            else:
                weight.copy_(0.3 * noise + (0.0 if name.endswith("bias") else 1.0))
    return model


def with_lora(model: Any, rank: int = 3, seed: int = 1) -> Any:
    """The network under an adapter of which neither half is zero."""
    wrapped = adapted(model, LoraConfig(rank=rank, alpha=2 * rank), seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in wrapped.named_parameters():
            if "lora_" in name:
                weight.data = 0.2 * torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    return wrapped.eval()


def plain_logits(model: Any, ids: Any) -> Tensor:
    """Logits [T, V] of one sequence."""
    return model(torch.tensor([list(ids)])).logits[0]


def plain_logp(model: Any, prompt: Any, reply: Any, temperature: float = 1.0) -> Tensor:
    """log p of every id of `reply` after `prompt`, [L]."""
    text = [*prompt, *reply]
    logp = torch.log_softmax(plain_logits(model, text) / temperature, -1)
    at = torch.arange(len(prompt), len(text))
    return logp[at - 1, torch.tensor(text)[at]]

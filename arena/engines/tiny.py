"""The model `tiny`: random weights over bytes, made in a moment; its words mean nothing, but it works as any model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from arena.engines.quiet import quiet

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_tiny(path: Path, seed: int = 0) -> None:
    """Write a 2-layer Llama of 259 byte tokens and 0.1 M random weights; equal seeds give equal bytes."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    generator = torch.Generator().manual_seed(seed)
    with quiet(), torch.no_grad():
        model = LlamaForCausalLM(config)
        for name, weight in model.named_parameters():
            if weight.dim() == 2:  # norms stay at one
                scale = 0.05 if "embed" in name else weight.shape[1] ** -0.5
                weight.normal_(0.0, scale, generator=generator)
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)


def byte_tokenizer() -> Any:
    """A tokenizer whose ids 0 to 255 are the bytes, then <|endoftext|>, <|im_start|>, <|im_end|>."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    # The byte-level convention of GPT-2: printable bytes are themselves, the others the letters from U+0100 on.
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in plain]
    vocabulary = {chr(byte if byte in plain else 256 + others.index(byte)): byte for byte in range(256)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=special[0],
        pad_token=special[0],
        bos_token=special[1],
        eos_token=special[2],
        chat_template=CHATML,
        clean_up_tokenization_spaces=False,
    )

"""The prompts of bench/update.py: texts that are exactly as many tokens long as asked, the same for every contender."""

from __future__ import annotations

import random
import re
import string
import zlib
from typing import Any


def texts(tokenizer: Any, count: int, length: int, seed: int = 0) -> list[str]:
    """`count` texts of random words, each `length` tokens of `tokenizer`; raises RuntimeError if one isn't."""
    words = sorted(word for word in tokenizer.get_vocab() if re.fullmatch(r"Ġ[a-z]{3,}", word))
    pieces = [f" {word[1:]}" for word in words] or list(string.ascii_lowercase)  # letters where bytes are the tokens
    rng = random.Random(seed)
    found = ["".join(rng.choices(pieces, k=length)) for _ in range(count)]
    for text in found:
        if (tokens := len(ids(tokenizer, text))) != length:
            raise RuntimeError(f"a prompt of {length} pieces is {tokens} tokens of this tokenizer: {text[:60]!r} ...")
    return found


def ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def mark(prompts: list[list[int]]) -> str:
    """A checksum of prompts in any order, as 8 hex digits: contenders with equal marks had equal prompts."""
    return f"{zlib.crc32(repr(sorted(prompts)).encode()):08x}"

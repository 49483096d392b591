"""A tokenizer's vocabulary by its letters: all the ways to cut a text into tokens."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

MOST = 20_000  # cuts of one text that are listed; more is a text too long to be spelled out


class Lexicon:
    """The tokens that spell each run of bytes, control tokens left out. `backend` is a `tokenizers.Tokenizer`."""

    def __init__(self, backend: Any, control: Collection[int]):
        added = {i: token.content.encode() for i, token in backend.get_added_tokens_decoder().items()}
        bytewise = "ByteLevel" in json.dumps(json.loads(backend.to_str())["decoder"])
        self.tokens: dict[bytes, list[int]] = {}
        for word, i in sorted(backend.get_vocab(with_added_tokens=True).items(), key=lambda item: int(item[1])):
            spelled = added.get(i) or (_bytes_of_letters(word) if bytewise else _bytes_of_piece(word))
            if spelled and i not in control:
                self.tokens.setdefault(spelled, []).append(i)
        self.longest = max(map(len, self.tokens), default=0)

    def cuts(self, text: bytes, longest: int) -> list[tuple[int, ...]]:
        """All sequences of at most `longest` tokens that spell `text`; ValueError if there are more than `MOST`."""
        count = self._count(text, longest)
        if count > MOST:
            raise ValueError(f"{text.decode(errors='replace')!r} can be spelled in {count} ways: more than {MOST}")
        return list(self._cut(text, longest))

    def _cut(self, text: bytes, longest: int) -> Iterator[tuple[int, ...]]:
        if not text:
            yield ()
        elif longest:
            for length in range(1, min(self.longest, len(text)) + 1):
                for token in self.tokens.get(text[:length], ()):
                    for rest in self._cut(text[length:], longest - 1):
                        yield (token, *rest)

    def _count(self, text: bytes, longest: int) -> int:
        """How many there are: ways[n][i] is the number of cuts of text[i:] into at most n tokens."""
        size = len(text)
        ways = [0] * size + [1]
        for _ in range(longest):
            ways = [
                sum(
                    len(self.tokens.get(text[i : i + length], ())) * ways[i + length]
                    for length in range(1, min(self.longest, size - i) + 1)
                )
                for i in range(size)
            ] + [1]
        return ways[0]


def _letters() -> dict[str, int]:
    """The letter that stands for a byte in byte-level vocabularies: itself if it can be seen, else one from 256 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + i): byte for i, byte in enumerate(hidden)}


BYTES = _letters()


def _bytes_of_letters(word: str) -> bytes:
    return bytes(BYTES[letter] for letter in word) if all(letter in BYTES for letter in word) else b""


def _bytes_of_piece(word: str) -> bytes:
    if len(word) == 6 and word.startswith("<0x") and word.endswith(">"):
        return bytes([int(word[3:5], 16)])
    return word.replace("▁", " ").encode()

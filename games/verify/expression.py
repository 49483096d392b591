"""Whole-number expressions, read and computed here: a text is parsed and never executed."""

from __future__ import annotations

import re

LONG = 200  # characters of an expression
DEEP = 20  # brackets within brackets
LARGE = 10**12  # numbers beyond it are refused, written or computed
TOKEN = re.compile(r" *([0-9]+|[-+*()])")  # [0-9] and not \d: other scripts have digits too


class NoExpression(ValueError):
    """The text is no expression of whole numbers with + - * and brackets, or too large a one."""


def compute(text: str) -> tuple[int, tuple[int, ...]]:
    """The value of an expression, and the numbers that stand in it, in their order; raises NoExpression."""
    if len(text) > LONG:
        raise NoExpression(f"an expression has at most {LONG} characters, that has {len(text)}")
    tokens, at, text = list[str](), 0, text.rstrip(" ")
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise NoExpression(f"{text[at:][:20]!r} isn't read: use whole numbers, + - * and brackets")
        tokens.append(found[1])
        at = found.end()
    reader = _Reader(tokens)
    value = reader.sum(0)
    if reader.at < len(tokens):
        raise NoExpression(f"{tokens[reader.at]!r} doesn't follow {' '.join(tokens[: reader.at])!r}")
    return value, tuple(int(token) for token in tokens if token.isdigit())


class _Reader:
    """Recursive descent: a sum of products of numbers, bracketed sums, and these with a minus before them."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.at = tokens, 0

    def sum(self, depth: int) -> int:
        value = self.product(depth)
        while (sign := self.next("+", "-")) is not None:
            term = self.product(depth)
            value = _small(value + term if sign == "+" else value - term)
        return value

    def product(self, depth: int) -> int:
        value = self.part(depth)
        while self.next("*") is not None:
            value = _small(value * self.part(depth))
        return value

    def part(self, depth: int) -> int:
        if depth > DEEP:
            raise NoExpression(f"brackets are {depth} deep: use at most {DEEP}")
        if self.next("-") is not None:
            return -self.part(depth + 1)
        if self.next("(") is not None:
            value = self.sum(depth + 1)
            if self.next(")") is None:
                raise NoExpression("a bracket isn't closed")
            return value
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if not token.isdigit():
            raise NoExpression(f"a number is missing before {token!r}" if token else "a number is missing at the end")
        self.at += 1
        return _small(int(token))

    def next(self, *wanted: str) -> str | None:
        """The next token if it is one of `wanted`, then read past it."""
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None


def _small(value: int) -> int:
    if abs(value) > LARGE:
        raise NoExpression(f"numbers go up to {LARGE}")
    return value

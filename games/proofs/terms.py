"""Terms over naturals, lists of them, and booleans: read, shown, matched, measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Term = tuple[Any, ...]  # ("v", name) variable, ("c", name) constant of a proof, (symbol, *terms)
Names = Callable[[Term], str]

NAT, LIST, BOOL = "nat", "list", "bool"
LETTERS = {NAT: "abcdenxyz", LIST: "klm", BOOL: "pqr"}  # a variable's first letter tells its sort
SORTS = {letter: sort for sort, letters in LETTERS.items() for letter in letters}
SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {
    "0": ((), NAT),
    "s": ((NAT,), NAT),
    "+": ((NAT, NAT), NAT),
    "*": ((NAT, NAT), NAT),
    "nil": ((), LIST),
    "::": ((NAT, LIST), LIST),
    "++": ((LIST, LIST), LIST),
    "rev": ((LIST,), LIST),
    "len": ((LIST,), NAT),
    "true": ((), BOOL),
    "false": ((), BOOL),
    "~": ((BOOL,), BOOL),
    "&": ((BOOL, BOOL), BOOL),
    "|": ((BOOL, BOOL), BOOL),
}
CONSTRUCTORS = {NAT: ("0", "s"), LIST: ("nil", "::"), BOOL: ("true", "false")}
LEVELS = (("|",), ("&",), ("::", "++"), ("+",), ("*",))  # from the loosest to the tightest
RIGHT = {"::", "++"}  # a :: k ++ l is a :: (k ++ l)
TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|\+\+|::|->|[()+*=:&|~]")
NUMERAL = 20
NESTED = 40
LONG = 300  # characters of a statement
ZERO: Term = ("0",)


class Malformed(ValueError):
    """Raised for text that is no statement, or a line that is no step of a proof."""


def lex(text: str) -> list[str]:
    """The tokens of a statement; raises `Malformed` for anything else in it."""
    if len(text) > LONG:
        raise Malformed(f"the statement has {len(text)} characters: use at most {LONG}")
    tokens = TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"[ \t\n]", "", text):
        strange = re.sub(r"[ \t\n]", "", TOKEN.sub("", text))
        raise Malformed(f"{strange[:10]!r} is no part of a statement")
    return tokens


class Reader:
    """Reads tokens from the left; `deeper` counts how far in it is, since Python's own stack must not be the limit."""

    def __init__(self, text: str):
        self.tokens = lex(text)
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def eat(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise Malformed(f"expected {wanted or 'more'!r}, found {token or 'the end'!r}")
        self.at += 1
        return token

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > NESTED:
            raise Malformed(f"nested more than {NESTED} deep")

    def end(self) -> None:
        if self.peek():
            raise Malformed(f"{self.peek()!r} comes after the end")


def read_term(reader: Reader, variables: tuple[str, ...], level: int = 0) -> Term:
    """The longest term that starts here, all its variables among `variables`."""
    if level == len(LEVELS):
        return _atom(reader, variables)
    left = read_term(reader, variables, level + 1)
    while (symbol := reader.peek()) in LEVELS[level]:
        reader.eat()
        if symbol in RIGHT:
            reader.deeper()
            right = read_term(reader, variables, level)
            reader.depth -= 1
            return build(symbol, left, right)
        left = build(symbol, left, read_term(reader, variables, level + 1))
    return left


def _atom(reader: Reader, variables: tuple[str, ...]) -> Term:
    reader.deeper()
    token = reader.eat()
    if token == "(":
        term = read_term(reader, variables)
        reader.eat(")")
    elif token.isdigit():
        term = numeral(token)
    elif token == "~":
        term = build("~", _atom(reader, variables))
    elif token in variables:
        term = ("v", token)
    elif token in ("nil", "true", "false"):
        term = (token,)
    elif token in ("s", "rev", "len"):
        reader.eat("(")
        term = build(token, read_term(reader, variables))
        reader.eat(")")
    else:
        raise Malformed(f"{token!r} is unknown here")
    reader.depth -= 1
    return term


def numeral(digits: str) -> Term:
    """0, s(0), s(s(0)), ..."""
    if len(digits) > 2 or int(digits) > NUMERAL:
        raise Malformed(f"the number {digits[:10]} is too large: use at most {NUMERAL}")
    term = ZERO
    for _ in range(int(digits)):
        term = ("s", term)
    return term


def build(symbol: str, *terms: Term) -> Term:
    """The symbol applied; raises `Malformed` where a term is of another sort than it takes."""
    wanted = SIGNATURES[symbol][0]
    for term, sort in zip(terms, wanted, strict=True):
        if sort_of(term) != sort:
            raise Malformed(f"{symbol} takes a {sort}, and {show(term)[:40]} is a {sort_of(term)}")
    return (symbol, *terms)


def sort_of(term: Term) -> str:
    return SORTS[term[1][0]] if term[0] in "vc" else SIGNATURES[term[0]][1]


def show(term: Term, names: Names = lambda leaf: str(leaf[1])) -> str:
    """The term as `read_term` reads it; `names` words its variables and constants."""
    if term[0] in "vc":
        return names(term)
    if not term[1:]:
        return str(term[0])
    if term[0] == "s":
        count, inner = 0, term
        while inner[0] == "s":
            count, inner = count + 1, inner[1]
        if inner == ZERO and count <= NUMERAL:
            return str(count)
    parts = [show(part, names) for part in term[1:]]
    if term[0] == "~":
        return f"~{parts[0]}"
    return f"({parts[0]} {term[0]} {parts[1]})" if len(parts) == 2 else f"{term[0]}({parts[0]})"


def bare(text: str) -> str:
    """Without the outermost brackets of `show`, where they are around the whole of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text


def leaves(term: Term) -> Iterator[Term]:
    """Its variables and constants from the left, with repeats."""
    if term[0] in "vc":
        yield term
    else:
        for part in term[1:]:
            yield from leaves(part)


def variables_of(term: Term) -> set[str]:
    return {leaf[1] for leaf in leaves(term) if leaf[0] == "v"}


def size(term: Term) -> int:
    return 1 if term[0] in "vc" else 1 + sum(map(size, term[1:]))


def depth(term: Term) -> int:
    return 1 if term[0] in "vc" else 1 + max(map(depth, term[1:]), default=0)


def positions(term: Term, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Term]]:
    """Every subterm with its place, outermost and leftmost first."""
    yield at, term
    if term[0] not in "vc":
        for i, part in enumerate(term[1:], 1):
            yield from positions(part, (*at, i))


def put(term: Term, at: tuple[int, ...], other: Term) -> Term:
    """The term with `other` at a place."""
    if not at:
        return other
    return (*term[: at[0]], put(term[at[0]], at[1:], other), *term[at[0] + 1 :])


def substitute(term: Term, found: Mapping[str, Term]) -> Term:
    """All variables of `found` replaced at once, so that what comes in is not replaced again."""
    if term[0] == "v":
        return found.get(term[1], term)
    return term if term[0] == "c" else (term[0], *[substitute(part, found) for part in term[1:]])


def match(pattern: Term, term: Term, found: Mapping[str, Term]) -> Mapping[str, Term] | None:
    """What the variables of `pattern` stand for where it looks like `term`, added to `found`; None where it doesn't."""
    if pattern[0] == "v":
        if sort_of(pattern) != sort_of(term):
            return None
        if pattern[1] in found:
            return found if found[pattern[1]] == term else None
        return {**found, pattern[1]: term}
    if pattern[0] == "c" or term[0] in "vc":
        return found if pattern == term else None
    if pattern[0] != term[0]:
        return None
    for one, other in zip(pattern[1:], term[1:], strict=True):
        step = match(one, other, found)
        if step is None:
            return None
        found = step
    return found


def evaluate(term: Term, point: Mapping[str, Any]) -> Any:
    """The value at a point: an int, a tuple of ints or a bool. Written apart from the axioms, which it tests."""
    if term[0] == "v":
        return point[term[1]]
    values = [evaluate(part, point) for part in term[1:]]
    return MEANINGS[term[0]](*values)


MEANINGS: dict[str, Callable[..., Any]] = {
    "0": lambda: 0,
    "s": lambda n: n + 1,
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "nil": lambda: (),
    "::": lambda a, k: (a, *k),
    "++": lambda k, m: k + m,
    "rev": lambda k: k[::-1],
    "len": len,
    "true": lambda: True,
    "false": lambda: False,
    "~": lambda p: not p,
    "&": lambda p, q: p and q,
    "|": lambda p, q: p or q,
}

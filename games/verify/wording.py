"""The words in a program: who reads it is told nothing by them but what it does."""

from __future__ import annotations

import ast
import builtins
import collections
import importlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from arena.leak import leaks
from arena.types import Task
from games.verify import program

EACH, ALL = 12, 40  # characters of one text in a task, and of all texts together
NUMBERS = 1  # in a description: more of them may be the results that are held back
CODE = {"return", "lambda", "def", "print"}  # which has no place in the description of a function
SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNTED = {word: str(number) for number, word in enumerate(SMALL)}
KEYWORDS = {"key", "reverse", "default", "start", "strict", "sep", "maxsplit", "repeat", "initial", "fillvalue", "base"}
PLAIN = (str, list, dict, set, tuple, int, float, collections.Counter, collections.deque, re.Match, re.Pattern)


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """The names that Python itself gives: those of its functions, of methods of plain values, and in modules."""
    there = [builtins, *PLAIN, *map(importlib.import_module, sorted(program.MODULES))]
    return frozenset(name for one in there for name in dir(one)) | program.MODULES


def invented(source: str) -> str:
    """A name in a canonical program that neither Python nor `canonical` gave, "" if there is none.

    In code that is never reached such a name could say anything.
    """
    tree = ast.parse(source)
    own = {f"v{i}" for i in range(program.LONG)} | {program.ENTRY}
    return next((name for name in _names(tree) if name not in own), "")


def _names(tree: ast.AST) -> Iterator[str]:
    """All names in a program that aren't known to Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg not in KEYWORDS:
            yield from [node.arg] if node.arg else []
        found = [getattr(node, field, None) for field in ("id", "attr", "module", "name", "asname", "rest")]
        found += [*getattr(node, "names", ()), *getattr(node, "kwd_attrs", ())]
        found += [getattr(node, "arg", None)] if isinstance(node, ast.arg) else []
        for name in (name for text in found if isinstance(text, str) for name in text.split(".")):
            if name not in known():
                yield name


def texts(value: Any) -> Iterator[str]:
    """The texts in a plain value, also where they are keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from texts(pair)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from texts(part)


def constants(source: str) -> list[str]:
    """The texts that stand in a program."""
    found = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [one if isinstance(one, str) else one.decode("latin-1") for one in found if isinstance(one, (str, bytes))]


def talks(said: Sequence[str]) -> str:
    """Why these texts could speak to who reads them, "" if they are too short for it."""
    if long := next((text for text in said if len(text) > EACH), ""):
        return f"the text {long[:EACH]!r}... has more than {EACH} characters"
    if sum(map(len, said)) > ALL:
        return f"all texts together have more than {ALL} characters"
    return "a text holds < or >" if any(c in text for text in said for c in "<>") else ""


def tells(prompt: str, said: Sequence[str], secrets: Sequence[str]) -> bool:
    """Whether a prompt gives away one of its secrets; in the texts `said` in it, even a short one is no chance."""
    for secret in secrets:
        bare = secret.strip("'\"")
        if leaks(Task.new(prompt, answer=bare)) or leaks(Task.new(prompt, answer=secret)):
            return True
        if bare and any(re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", text) for text in said):
            return True
    return False


def spoils(note: str, results: Sequence[str]) -> bool:
    """Whether the description of a function has code in it, or results that are held back, in digits or in words."""
    words = re.findall(r"[a-z]+|-?[0-9]+(?:\.[0-9]+)?", note.lower())
    numbers = [COUNTED.get(word, word) for word in words if word in COUNTED or not word.isalpha()]
    held = {result.strip("'\"").lower() for result in results}
    return bool(CODE & set(words) or len(numbers) > NUMBERS or held & {*numbers, *words})

"""Programs that a model wrote: read and judged as text, before any jail runs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from games.verify import values

LONG = 1000  # characters of a program with its calls
ENTRY = "f"
MODULES = {"math", "itertools", "functools", "collections", "re", "string", "operator", "heapq", "bisect"}
BANNED = {
    *("eval", "exec", "compile", "open", "input", "breakpoint", "exit", "quit", "help", "memoryview"),
    *("globals", "locals", "vars", "dir", "getattr", "setattr", "delattr", "type", "super"),
}
NOTE = re.compile(r"[A-Za-z0-9 ,.'-]{3,80}")  # words: no code, no brackets that could open a turn
BINDS: dict[type[ast.AST], str] = {  # where a name is given by a text of its own
    ast.arg: "arg",
    ast.FunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
    ast.alias: "asname",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}

Args = tuple[Any, ...]


class Refused(ValueError):
    """A program that no jail is asked to run; `gate` is `well-formed` or `safe`."""

    def __init__(self, gate: str, reason: str):
        super().__init__(reason)
        self.gate = gate


@dataclass(frozen=True)
class Draft:
    """What was written: functions, calls of `f` below them, and what the first comment says.

    `source` is the text of the functions without comments and docstrings: what isn't code can't speak to who reads it.
    """

    source: str
    calls: tuple[Args, ...]
    note: str

    @property
    def trivial(self) -> str:
        """Why the function does nothing with what it is given, "" if it does something."""
        function = next(node for node in ast.parse(self.source).body if _is_entry(node))
        assert isinstance(function, ast.FunctionDef)
        given = {arg.arg for arg in function.args.args}
        if not any(isinstance(node, ast.Name) and node.id in given for node in ast.walk(function)):
            return "it doesn't look at its arguments"
        returned = function.body[0].value if isinstance(function.body[0], ast.Return) else None
        return "it returns its argument" if isinstance(returned, ast.Name) and returned.id in given else ""


def read(text: str, *, function: bool = True) -> Draft:
    """The draft in a text: with `function` it has one called f, else none at all; raises Refused."""
    if len(text) > LONG:
        raise Refused("well-formed", f"a program has at most {LONG} characters, that has {len(text)}")
    if strange := next((c for c in text if not (c == "\n" or " " <= c <= "~")), ""):
        raise Refused("well-formed", f"a program is plain ASCII, without {strange!r}")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Refused("well-formed", f"it isn't Python: {type(error).__name__}") from None
    code = [node for node in body if not isinstance(node, ast.Expr)]
    if body[: len(code)] != code:
        raise Refused("well-formed", f"calls of {ENTRY} stand below the functions, and nothing else does")
    if any(not isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom)) for node in code):
        raise Refused("well-formed", "a program is functions, with imports above them")
    found = sum(_is_entry(node) for node in code)
    if found != function or (code and not function):
        raise Refused("well-formed", f"write one function {ENTRY}" if function else f"write calls of {ENTRY} only")
    calls = tuple(_args(node.value) for node in body[len(code) :] if isinstance(node, ast.Expr))
    if danger := next(_dangers(code), ""):
        raise Refused("safe", f"{danger} isn't allowed")
    note = next((line[1:].strip() for line in text.splitlines() if line.startswith("#")), "")
    try:
        return Draft(_plain(code), calls, note)
    except RecursionError:
        raise Refused("well-formed", "it is nested too deeply") from None


def read_call(text: str) -> Args:
    """The arguments in `f(1, 'a')`, literals all; raises Refused."""
    draft = read(text, function=False)
    if len(draft.calls) != 1:
        raise Refused("well-formed", f"write one call, like {ENTRY}(1)")
    return draft.calls[0]


def call(args: Args) -> str:
    """How a call is shown."""
    return f"{ENTRY}({', '.join(map(values.shown, args))})"


def canonical(source: str) -> str:
    """Equal texts for programs that differ by spaces, comments, docstrings and the names of what they define.

    It does the same, but for names that stand for two things in one program: that one is as good as another.
    """
    tree = ast.parse(source)
    names: dict[str, str] = {ENTRY: ENTRY}
    for node in _in_order(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.setdefault(node.id, f"v{len(names)}")
        elif bound := getattr(node, BINDS.get(type(node), ""), None):
            names.setdefault(bound, f"v{len(names)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [names.get(name, name) for name in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            for keyword in node.keywords:
                keyword.arg = names.get(keyword.arg or "", keyword.arg)
        elif bound := getattr(node, field := BINDS.get(type(node), ""), None):
            setattr(node, field, names[bound])
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return _plain(tree.body)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes as they stand in the text."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _is_entry(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == ENTRY


def _args(node: ast.expr) -> Args:
    """The literal arguments of a call of f."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == ENTRY):
        raise Refused("well-formed", f"a line below the functions is a call of {ENTRY}")
    if node.keywords:
        raise Refused("well-formed", f"arguments of {ENTRY} have no names")
    try:
        return tuple(values.read(ast.unparse(arg)) for arg in node.args)
    except (values.NoValue, RecursionError) as error:
        raise Refused("well-formed", f"arguments are plain values: {error}") from None


def _dangers(code: list[ast.stmt]) -> Iterator[str]:
    """What a program has no need of, and an attack has: the jail holds without this, and is spared the attempt."""
    for node in (inner for statement in code for inner in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names if alias.name.partition(".")[0] not in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] not in MODULES):
            yield f"import of {node.module}"
        words = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "asname")]
        if isinstance(node, ast.Constant):
            words.append(node.value)
        for word in (word for word in words if isinstance(word, str)):
            if "__" in word or (word in BANNED and not isinstance(node, ast.Constant)):
                yield repr(word[:40])


def _plain(code: list[ast.stmt]) -> str:
    """The code in one layout, without docstrings and other texts that stand alone."""
    for node in (inner for statement in code for inner in ast.walk(statement)):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            idle = [s for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
            node.body = [s for s in body if s not in idle] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.Module(code, []))

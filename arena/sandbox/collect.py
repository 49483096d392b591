"""What the tests of a source are: found by reading it, before anything runs, so that none can vanish."""

from __future__ import annotations

import ast
from types import CodeType

SOURCE = "<tests>"


class NoTests(ValueError):
    """The source can't be read, or holds nothing to judge by."""


def collect(source: str) -> list[tuple[str | None, CodeType]]:
    """Every top-level statement with the test that it is, None for one that tests rest on; functions are called last.

    Tests are the functions named test*; of a source without one, the statements with an assert; without those, the
    bare calls. Raises NoTests.
    """
    try:
        body = ast.parse(source, SOURCE).body
        functions = [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
        single = [] if functions else [node for node in body if _asserts(node)] or [n for n in body if _calls(n)]
        found = [(_place(node) if node in single else None, _compiled(ast.Module([node], []))) for node in body]
        found += [(name, _compiled(ast.parse(f"{name}()"))) for name in dict.fromkeys(functions)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoTests(f"the tests can't be read: {error}") from None
    if not functions and not single:
        raise NoTests("no test found: write functions named test*, asserts, or calls of a function that asserts")
    return found


def _compiled(tree: ast.Module) -> CodeType:
    return compile(tree, SOURCE, "exec")


def _place(node: ast.stmt) -> str:
    return f"line {node.lineno}" + (f":{node.col_offset}" if node.col_offset else "")


def _asserts(node: ast.stmt) -> bool:
    definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return not definition and any(isinstance(part, ast.Assert) for part in ast.walk(node))


def _calls(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)

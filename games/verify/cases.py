"""Tests that a model wrote, as lines like `f(2, 'a') == [2]`: read as literals, so that no line of them is executed."""

from __future__ import annotations

import ast

from games.verify import program, values

Case = tuple[program.Args, str]  # arguments, and the text of what f is to return


def read(text: str, most: int) -> list[Case]:
    """The tests in a text, 1 to `most` different ones; raises `program.Refused`."""
    if len(text) > program.LONG:
        raise program.Refused("well-formed", f"tests have at most {program.LONG} characters, these have {len(text)}")
    try:
        body = ast.parse(text).body
        found = [_case(node) for node in body]
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        # Refused and NoValue are ValueErrors too: their texts say more than their type.
        said = str(error) if isinstance(error, (program.Refused, values.NoValue)) else type(error).__name__
        raise program.Refused("well-formed", f"tests are lines like f(1) == 2: {said[:100]}") from None
    if len({program.call(args) for args, _ in found}) < len(found):
        raise program.Refused("well-formed", "two tests are of the same call")
    if not 1 <= len(found) <= most:
        raise program.Refused("well-formed", f"write 1 to {most} tests, not {len(found)}")
    return found


def _case(node: ast.stmt) -> Case:
    said = node.test if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(said, ast.Compare) and len(said.ops) == 1 and isinstance(said.ops[0], ast.Eq)):
        raise program.Refused("well-formed", "each line compares one call with one value")
    return program.read_call(ast.unparse(said.left)), values.shown(values.read(ast.unparse(said.comparators[0])))


def line(case: Case) -> str:
    """How a test is written."""
    args, output = case
    return f"{program.call(args)} == {output}"

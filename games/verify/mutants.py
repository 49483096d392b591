"""Programs that are wrong by one change: what a test is worth is how many of them it finds."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutants(source: str) -> list[str]:
    """All programs that differ from `source` by one operator, constant, condition, result or end of a slice.

    Some of them do what the original does: who wants wrong programs runs them.
    """
    tree = ast.parse(source)
    found: dict[str, None] = {}
    for place, node in enumerate(ast.walk(tree)):
        for field, value in _changes(node):
            twin = copy.deepcopy(tree)
            setattr(list(ast.walk(twin))[place], field, value)
            found[ast.unparse(ast.fix_missing_locations(twin))] = None
    found.pop(ast.unparse(tree), None)
    return list(found)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """(field, new value) of each change that can be made to one node."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
            yield "op", SWAPS[type(op)]()
        case ast.Compare(ops=[op, *rest]) if type(op) in SWAPS:
            yield "ops", [SWAPS[type(op)](), *rest]
        case ast.Constant(value=bool(value)):
            yield "value", not value
        case ast.Constant(value=int(value)):
            yield "value", value + 1
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "test", ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=value) if value is not None:
            yield "value", ast.Constant(None)
        case ast.Slice(lower=lower) if lower is not None:
            yield "lower", None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operand", ast.UnaryOp(ast.Not(), operand)

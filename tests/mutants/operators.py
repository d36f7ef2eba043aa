"""The changes to an expression, each a mistake that a programmer could make."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

Change = tuple[str, ast.AST]
"""The name of a mutation operator, and the node that replaces the original node."""

COMPARED: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
"""For each comparison, its opposite, and for orders also one that differs only on equal values."""

OTHER_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
}

ORDERED: Mapping[str, str] = {
    "sorted": "list",
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "bisect_right": "bisect_left",
}
"""Functions that order or select values, each with a function that replaces it by mistake."""

UNITS: Mapping[int, int] = {1000: 1024, 1024: 1000}

MARK = "~"
"""Appended to a changed string. No name of the protocol, a setting or a class contains it."""


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield every change of one node, in a fixed order."""
    for kind, change in CHANGES:
        if isinstance(node, kind):
            yield from change(node)


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "flag", ast.Constant(not value)
    elif isinstance(value, int | float):
        yield "number", ast.Constant(value + 1)
        yield "number", ast.Constant(value - 1)
        if value in UNITS:
            yield "unit", ast.Constant(UNITS[int(value)])
    elif isinstance(value, str):
        yield "name", ast.Constant(value + MARK)


def _compare(node: ast.Compare) -> Iterator[Change]:
    for place, operator in enumerate(node.ops):
        for other in COMPARED[type(operator)]:
            changed = copy.deepcopy(node)
            changed.ops[place] = other()
            yield "comparison", changed


def _reckoning(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    other = OTHER_ARITHMETIC.get(type(node.op))
    if other is not None:
        changed = copy.deepcopy(node)
        changed.op = other()
        yield "arithmetic", changed


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.USub | ast.Not):
        yield "sign" if isinstance(node.op, ast.USub) else "logic", node.operand


def _logic(node: ast.BoolOp) -> Iterator[Change]:
    """Yield the expression with `and` and `or` swapped, and without each of its conditions."""
    other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "logic", ast.BoolOp(other, node.values)
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield "condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _branch(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    """Yield the negated condition, unless a change of the condition has the same effect."""
    if isinstance(node.test, ast.Compare | ast.UnaryOp):
        return
    changed = copy.deepcopy(node)
    changed.test = ast.UnaryOp(ast.Not(), node.test)
    yield "logic", changed


def _filter(node: ast.comprehension) -> Iterator[Change]:
    for place in range(len(node.ifs)):
        changed = copy.deepcopy(node)
        del changed.ifs[place]
        yield "filter", changed


def _call(node: ast.Call) -> Iterator[Change]:
    if not isinstance(node.func, ast.Name) or node.func.id not in ORDERED:
        return
    changed = copy.deepcopy(node)
    changed.func = ast.Name(ORDERED[node.func.id], ast.Load())
    if node.func.id == "sorted":
        changed.keywords = []
    yield "order", changed


def _jump(node: ast.Break | ast.Continue) -> Iterator[Change]:
    yield "order", ast.Continue() if isinstance(node, ast.Break) else ast.Break()


def _collection(node: ast.Tuple | ast.List | ast.Set) -> Iterator[Change]:
    if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and len(node.elts) > 1:
        for place in range(len(node.elts)):
            changed = copy.deepcopy(node)
            del changed.elts[place]
            yield "set", changed


def _table(node: ast.Dict) -> Iterator[Change]:
    """Yield the table without each entry, unless a change of its key has the same effect."""
    for place, key in enumerate(node.keys):
        if isinstance(key, ast.Constant):
            continue
        changed = copy.deepcopy(node)
        del changed.keys[place], changed.values[place]
        yield "set", changed


CHANGES: Sequence[tuple[type | tuple[type, ...], Callable[..., Iterator[Change]]]] = (
    (ast.Constant, _constant),
    (ast.Compare, _compare),
    ((ast.BinOp, ast.AugAssign), _reckoning),
    (ast.UnaryOp, _unary),
    (ast.BoolOp, _logic),
    ((ast.If, ast.IfExp, ast.While), _branch),
    (ast.comprehension, _filter),
    (ast.Call, _call),
    ((ast.Break, ast.Continue), _jump),
    ((ast.Tuple, ast.List, ast.Set), _collection),
    (ast.Dict, _table),
)
"""For each type of node, the function that yields its changes."""

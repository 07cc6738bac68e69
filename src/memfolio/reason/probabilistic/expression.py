"""A formula over named values, read as a tree of a few known operations: nothing else can be called."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest

LONGEST = 2000
CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045}
FUNCTIONS = {name: name for name in ("abs", "sqrt", "exp", "log", "sin", "cos", "tan", "floor", "ceil", "where")} | {
    "min": "minimum",
    "max": "maximum",
}
"""Each function with its name in numpy; `where(condition, then, else)` chooses."""
_OPERATORS = "Add add Sub sub Mult mul Div truediv Mod mod Pow pow Lt lt LtE le Gt gt GtE ge Eq eq NotEq ne".split()
_BINARY = {
    getattr(ast, node): getattr(operator, name) for node, name in zip(_OPERATORS[::2], _OPERATORS[1::2], strict=True)
}
HINT = "use names, numbers, + - * / % **, comparisons, and, or, not, and " + ", ".join(FUNCTIONS)


def parsed(place: str, text: str, hint: str = HINT) -> ast.expr:
    """A text as a tree in the grammar of Python; what its nodes may be is for the caller to check."""
    if len(text) > LONGEST:
        raise InputError(f"{place} has {len(text):,} characters", hint=f"give at most {LONGEST:,}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{place} cannot be read: {text[:60]!r}", hint=hint) from error


def evaluate(place: str, text: str, values: Mapping[str, Any]) -> Any:
    """A formula over arrays of numbers."""
    import numpy

    tree = parsed(place, text)
    try:
        with numpy.errstate(all="ignore"):
            return _value(tree, {**CONSTANTS, **values}, place)
    except RecursionError as error:
        raise InputError(f"{place} is nested too deeply", hint=HINT) from error


def _value(node: ast.AST, values: Mapping[str, Any], place: str) -> Any:
    import numpy

    def inside(each: ast.AST) -> Any:
        return _value(each, values, place)

    match node:
        case ast.Constant(value=bool() | int() | float() as number) if abs(number) < 1e300:
            return numpy.float64(number)
        case ast.Name(id=name):
            if name not in values:
                raise InputError(f"{place} names {name!r:.60}", hint=nearest(name, list(values)))
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](inside(left), inside(right))
        case ast.UnaryOp(op=ast.USub(), operand=each):
            return -inside(each)
        case ast.UnaryOp(op=ast.Not(), operand=each):
            return numpy.logical_not(inside(each))
        case ast.BoolOp(op=op, values=several):
            join = numpy.logical_and if isinstance(op, ast.And) else numpy.logical_or
            return join.reduce([numpy.asarray(inside(each), dtype=bool) for each in several])
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _BINARY:
            return _BINARY[type(op)](inside(left), inside(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            if len(args) != (3 if name == "where" else 2 if name in ("min", "max") else 1):
                raise InputError(
                    f"{place} gives {name} {len(args)} values", hint="min and max take 2, where 3, others 1"
                )
            return getattr(numpy, FUNCTIONS[name])(*map(inside, args))
        case _:
            raise InputError(f"{place} has {ast.unparse(node)[:60]!r}", hint=HINT)

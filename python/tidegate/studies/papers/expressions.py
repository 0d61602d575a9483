"""Arithmetic in the claim files, such as `B/(R_t-R_r)`, over named numbers."""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING

from tidegate.studies.papers.errors import ReproductionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "max": max,
    "min": min,
}


def evaluate(expression: str | float, names: Mapping[str, object]) -> float:
    """Value of an expression; a number stands for itself.

    >>> evaluate("B/(R_t-R_r)", {"B": 0.8, "R_t": 2.0, "R_r": 1.0})
    0.8
    """
    if not isinstance(expression, str):
        return float(expression)
    try:
        return _value(ast.parse(expression, mode="eval").body, names)
    except (SyntaxError, ZeroDivisionError) as error:
        raise ReproductionError(f"{expression!r}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, object]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            found = names.get(name)
            if isinstance(found, int | float):
                return float(found)
            raise ReproductionError(f"no number named {name!r}; there are {sorted(names)}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise ReproductionError(f"not arithmetic: {ast.unparse(node)!r}")

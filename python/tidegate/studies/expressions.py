"""Arithmetic in the papers' files, such as `B/(R_t-R_r)`, over named numbers or columns of them."""

from __future__ import annotations

import ast
import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tidegate.results.statistics import jain_index
from tidegate.studies.errors import ReproductionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


def _lag(late: NDArray[Any], early: NDArray[Any]) -> float:
    """By how many rows one column follows another: where the two are most alike.

    >>> _lag(np.array([0, 0, 0, 1, 5, 2, 0, 0]), np.array([0, 1, 5, 2, 0, 0, 0, 0]))
    2.0
    """
    a, b = np.asarray(late) - np.mean(late), np.asarray(early) - np.mean(early)
    together = np.correlate(a, b, "full")
    return float(np.argmax(together) - (len(b) - 1))


def _known(*values: NDArray[Any]) -> NDArray[Any]:
    """All that is known in several columns.

    >>> _known(np.array([1.0, np.nan]), np.array([]), np.array([3.0])).tolist()
    [1.0, 3.0]
    """
    found = np.concatenate([np.atleast_1d(one) for one in values])
    found = found[np.isfinite(found)]
    return found if found.size else np.array([np.nan])


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "max": lambda *values: functools.reduce(np.maximum, values),
    "min": lambda *values: functools.reduce(np.minimum, values),
    # Of whole columns.
    "largest": lambda *values: functools.reduce(np.maximum, map(np.max, values)),
    "median": lambda *values: np.median(np.concatenate([np.atleast_1d(one) for one in values])),
    "lag": _lag,
    "average": lambda *values: np.mean(_known(*values)),
    "fairness": lambda *values: jain_index(_known(*values)),
    "round": np.round,
    # 1 where a number lies in this range, and else 0.
    "within": lambda value, low, high: ((value >= low) & (value <= high)).astype(float),
    # The first column, or the second where the first has nothing.
    "or_else": lambda first, second: np.where(np.isnan(first), second, first),
    "jain": lambda *values: sum(values) ** 2 / (len(values) * sum(value**2 for value in values)),
}


def evaluate(expression: str | float, names: Mapping[str, object]) -> float:
    """Value of an expression; a number stands for itself.

    >>> evaluate("B/(R_t-R_r)", {"B": 0.8, "R_t": 2.0, "R_r": 1.0})
    0.8
    """
    if not isinstance(expression, str):
        return float(expression)
    numbers = {name: float(one) for name, one in names.items() if isinstance(one, int | float)}
    return _number(expression, numbers)


def evaluate_asking(expression: str, names: Mapping[str, object], asked: object) -> float:
    """Value of an expression that may call the methods of an object.

    >>> evaluate_asking("count(letter) / 2", {"letter": "a"}, "abracadabra")
    2.5
    """
    calls = [node.func for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Call)]
    called = [call.id for call in calls if isinstance(call, ast.Name)]
    own = {*called} - _FUNCTIONS.keys()
    unknown = sorted(name for name in own if not hasattr(asked, name))
    if unknown:
        raise ReproductionError(f"{expression!r}: the engine has no function {unknown}")
    methods = {name: getattr(asked, name) for name in own}
    return _number(expression, {**names, **methods})


def _number(expression: str, names: Mapping[str, Any]) -> float:
    """Value of an expression; one that has none, such as the logarithm of 0, is an error."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            return float(_value(_parsed(expression), names))
    except (ArithmeticError, TypeError) as error:
        raise ReproductionError(f"{expression!r} has no value: {error}") from error


def evaluate_all(expression: str, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Values of an expression, row by row; NaN or infinite where nothing can be divided by.

    >>> evaluate_all("a / b", {"a": np.array([1.0, 2.0]), "b": np.array([4.0, 4.0])}).tolist()
    [0.25, 0.5]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_value(_parsed(expression), columns))


@functools.cache
def names_in(expression: str) -> frozenset[str]:
    """Names that an expression needs.

    >>> sorted(names_in("max(a, 1) / b"))
    ['a', 'b']
    """
    nodes = ast.walk(_parsed(expression))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) - _FUNCTIONS.keys()


@functools.cache
def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ReproductionError(f"{expression!r}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - numbers or columns
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name in names:
                return names[name]
            raise ReproductionError(f"no number named {name!r}; there are {sorted(names)}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
        case ast.Call(func=ast.Name(id=name), args=args) if callable(names.get(name)):
            return names[name](*(_value(arg, names) for arg in args))
    raise ReproductionError(f"not arithmetic: {ast.unparse(node)!r}")

"""Arithmetic of a study: numbers from variables and figures, without Python's other powers.

Names are variables (`arm`) or figures of a flight (`calm.energy_kj`). A figure has a number for
each seed, so that an expression may have several; at last their mean counts, and `largest(...)` or
`least(...)` where one asks for it.
"""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from xtdrone_core.errors import shown, unknown_name

from .errors import OptimiseError

Value = float | np.ndarray
_OPERATORS: dict[type, Callable[..., Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: getattr(np, name) for name in ("sqrt", "sin", "cos", "tan", "exp", "log", "abs")},
    "atan2": np.arctan2,
    "radians": np.radians,
    "min": np.minimum,
    "max": np.maximum,
    "largest": np.max,
    "least": np.min,
    "mean": np.mean,
}
_CONSTANTS = {"pi": math.pi}
_LONGEST = 500  # characters


class Expression:
    """An expression.

    Attributes:
        text: As it was given.
        names: Variables and figures that it reads.
    """

    def __init__(self, text: object, what: str) -> None:
        """Reads an expression.

        Args:
            text: A number, or text.
            what: What it is, for messages.

        Raises:
            OptimiseError: It is none.
        """
        self.text, self._what = str(text), what
        try:
            if len(self.text) > _LONGEST:
                raise ValueError(f"it has more than {_LONGEST} characters")
            self._tree = ast.parse(self.text.strip(), mode="eval").body
            self.names = sorted(set(_names(self._tree)))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise OptimiseError(f"{what} '{shown(self.text)}' is no expression: {error}") from error

    def check(self, known: Collection[str]) -> None:
        """Checks the names.

        Raises:
            OptimiseError: One is unknown.
        """
        for name in self.names:
            if name not in known:
                text = unknown_name("name", name, known)
                raise OptimiseError(f"{self._what} '{shown(self.text)}': {text}")

    def value(self, values: Mapping[str, Value]) -> float:
        """Returns its number; NaN where it has none.

        Args:
            values: Numbers by name, or one for each seed.
        """
        with np.errstate(all="ignore"):
            try:
                return float(np.mean(_value(self._tree, values)))
            except (ZeroDivisionError, OverflowError, ValueError):
                return math.nan


class Constraint:
    """Two expressions of which one may not be larger.

    Attributes:
        text: As it was given.
        names: Variables and figures that it reads.
    """

    def __init__(self, text: object) -> None:
        """Reads a constraint such as `calm.track_max_m <= 30`.

        Raises:
            OptimiseError: It is none.
        """
        self.text = str(text)
        left, sign, right = self.text.partition("<=")
        if not sign:
            right, sign, left = self.text.partition(">=")
        if not sign:
            raise OptimiseError(
                f"constraint '{shown(self.text)}' has neither <= nor >=: write for example "
                "calm.track_max_m <= 30"
            )
        self._less, self._more = (Expression(side, "constraint") for side in (left, right))
        self.names = sorted({*self._less.names, *self._more.names})

    def check(self, known: Collection[str]) -> None:
        """Checks the names; raises OptimiseError for one that is unknown."""
        self._less.check(known)
        self._more.check(known)

    def excess(self, values: Mapping[str, Value]) -> float:
        """Returns by how much it is violated, relative to its bound; 0 or less where it holds."""
        less, more = self._less.value(values), self._more.value(values)
        return (less - more) / max(abs(more), abs(less), 1e-9)


def _names(node: ast.AST) -> list[str]:
    """Returns the names of a tree; refuses what is not arithmetic."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return []
    if isinstance(node, ast.Name):
        return [] if node.id in _CONSTANTS else [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [f"{node.value.id}.{node.attr}"]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _names(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return [*_names(node.left), *_names(node.right)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise ValueError(unknown_name("function", node.func.id, FUNCTIONS))
        return [name for argument in node.args for name in _names(argument)]
    raise ValueError("only numbers, names, + - * / **, and functions are allowed")


def _value(node: Any, values: Mapping[str, Value]) -> Value:  # a tree that _names() has checked
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]  # a number, see _names()
    if isinstance(node, ast.Name):
        return _CONSTANTS[node.id] if node.id in _CONSTANTS else values[node.id]
    if isinstance(node, ast.Attribute):
        assert isinstance(node.value, ast.Name)
        return values[f"{node.value.id}.{node.attr}"]
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, values))
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        return _OPERATORS[type(node.op)](left, right)
    return FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))

"""Python's operators for tensors: each is the op of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.ops import compare, linalg, math
from dovetail.ops.op import Op
from dovetail.tensor import Operators

BINARY: dict[str, Op] = {
    "add": math.add,
    "sub": math.subtract,
    "mul": math.multiply,
    "truediv": math.divide,
    "matmul": linalg.matmul,
}
COMPARISONS: dict[str, Op] = {"gt": compare.greater}
UNARY: dict[str, Op] = {"neg": math.negative}


def _forward(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return op(self, other)

    return operator


def _reflected(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return op(other, self)

    return operator


def _alone(op: Op) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return op(self)

    return operator


def install() -> None:
    """Gives `Operators`, and so every kind of tensor, its operators."""
    for name, op in BINARY.items():
        setattr(Operators, f"__{name}__", _forward(op))
        setattr(Operators, f"__r{name}__", _reflected(op))
    for name, op in COMPARISONS.items():
        setattr(Operators, f"__{name}__", _forward(op))
    for name, op in UNARY.items():
        setattr(Operators, f"__{name}__", _alone(op))


install()

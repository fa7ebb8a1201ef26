"""Python's operators for tensors: each is the op of the same meaning, or made of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.op import Op
from dovetail.core.tensor import Operators
from dovetail.core.values.host import ARRAYS, cast_like
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops import numpy_calls
from dovetail.ops.linalg import products
from dovetail.ops.math import arithmetic as math
from dovetail.ops.math import bitwise, compare, rounding

BINARY: dict[str, Op] = {
    "add": math.add,
    "sub": math.subtract,
    "mul": math.multiply,
    "truediv": math.divide,
    "floordiv": math.floor_divide,
    "mod": math.mod,
    "and": bitwise.bitwise_and,
    "or": bitwise.bitwise_or,
    "xor": bitwise.bitwise_xor,
    "lshift": bitwise.left_shift,
    "rshift": bitwise.right_shift,
}
PRODUCT: dict[str, Op] = {"matmul": products.matmul}
POWER: dict[str, Op] = {"pow": math.power}
ORDER: dict[str, Op] = {
    "lt": compare.less,
    "le": compare.less_equal,
    "gt": compare.greater,
    "ge": compare.greater_equal,
}
EQUALITY: dict[str, Op] = {"eq": compare.equal, "ne": compare.not_equal}
UNARY: dict[str, Op] = {"neg": math.negative, "abs": math.absolute, "invert": bitwise.invert}


# NumPy's names of the operators: Python asks NumPy first if an array is on the left.
NUMPY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift", "matmul": "matmul", "pow": "power", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _alike(self: Any, other: Any) -> tuple[Any, Any]:
    """Two operands, one of them an array: it takes the dtype of the other if that is a tensor that asks for it."""
    if getattr(self, "arrays_follow", False):
        return self, cast_like(other, self.dtype)
    if getattr(other, "arrays_follow", False):
        return cast_like(self, other.dtype), other
    return self, other


def _of_numpy(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator whose left operand may be an array, as NumPy calls it."""
    return lambda left, right: operator(*_alike(left, right))


def _forward(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in ARRAYS:
            self, other = _alike(self, other)
        return op(self, other)

    return operator


def _reflected(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in ARRAYS:
            self, other = _alike(self, other)
        return op(other, self)

    return operator


def _product(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in ARRAYS:
            self, other = _alike(self, other)
        ranks = _rank(self), _rank(other)
        # `MatMul` takes no vectors; as in NumPy, a vector is a row on the left, and a column on the right.
        return products.dot(self, other) if 1 in ranks and 0 not in ranks else op(self, other)

    return operator


def _reflected_product(op: Op) -> Callable[[Any, Any], Any]:
    forward = _product(op)
    return lambda self, other: forward(other, self)


def _rank(value: Any) -> int | None:
    shape = static_shape(value)
    return None if shape is None else len(shape)


def _power(op: Op) -> Callable[[Any, Any], Any]:
    forward = _forward(op)

    def operator(self: Any, other: Any) -> Any:
        # Most powers that programs write are squares, which are quicker, and far quicker to differentiate.
        if type(other) in (int, float) and other == 2 and (type(other) is int or self.dtype.is_floating):
            return math.square(self)
        return forward(self, other)

    return operator


def _equality(op: Op) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        # None and strings are no tensors: Python then compares by identity, so `x == None` is False.
        if other is None or type(other) is str:
            return NotImplemented
        tensor = self if isinstance(self, Operators) else other  # an array may stand on the left
        if tensor.is_one_of_a_kind:
            return (self is other) is (op is compare.equal)
        return op(self, other)

    return operator


def _alone(op: Op) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return op(self)

    return operator


def _divmod(self: Any, other: Any) -> tuple[Any, Any]:
    return math.floor_divide(self, other), math.mod(self, other)


def _reflected_divmod(self: Any, other: Any) -> tuple[Any, Any]:
    return _divmod(other, self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    return rounding.round(self, ndigits or 0)


_OTHERS = {"divmod": _divmod, "rdivmod": _reflected_divmod, "round": _round}
_FORMS = [
    ("", BINARY, _forward),
    ("r", BINARY, _reflected),
    ("", PRODUCT, _product),
    ("r", PRODUCT, _reflected_product),
    ("", POWER, _power),
    ("r", POWER, _reflected),
    ("", ORDER, _forward),
    ("", EQUALITY, _equality),
    ("", UNARY, _alone),
]


def install() -> None:
    """Give `Operators`, and so every kind of tensor, its operators."""
    for prefix, table, form in _FORMS:
        for name, op in table.items():
            setattr(Operators, f"__{prefix}{name}__", form(op))
    forward: list[Any] = [(table, form) for prefix, table, form in _FORMS if not prefix and table is not UNARY]
    numpy_calls.install({NUMPY[name]: _of_numpy(form(op)) for table, form in forward for name, op in table.items()})
    for name, operator in _OTHERS.items():
        setattr(Operators, f"__{name}__", operator)


install()

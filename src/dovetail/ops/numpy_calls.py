"""NumPy's functions on tensors: `array + tensor` is the op; the other functions compute with the tensors' values.

No tape follows NumPy's computations.  If a tape follows the arguments, a warning names the op to use.  A conversion,
such as `np.asarray(x)` or `x.numpy()`, is the user's wish and gives no warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dovetail.core.base.errors import GradientLostWarning, warn
from dovetail.core.base.scopes import scopes
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.tensor import Operators
from dovetail.core.values.value_kinds import dtype_of

# The names that differ in `dovetail.ops`, and the functions that convert.
OTHERS = {
    "true_divide": "divide", "remainder": "mod", "conjugate": "conj", "amax": "max", "amin": "min", "fabs": "absolute",
    "concat": "concatenate", "add.reduce": "sum", "multiply.reduce": "prod", "maximum.reduce": "max",
}  # fmt: skip
LIBRARIES = {"np": "NumPy", "tf": "TensorFlow"}
CONVERSIONS = frozenset(["atleast_1d", "atleast_2d", "atleast_3d", "copy", "require", "broadcast_arrays"])

FUNCTIONS: dict[str, Any] = {}  # the functions of `dovetail.ops`, which fills it
_operators: dict[Any, Callable[..., Any]] = {}  # ufunc → the function of Python's operator


def install(operators: dict[str, Callable[..., Any]]) -> None:
    """Give tensors NumPy's protocols; `operators` has a function of tensors for each name of a ufunc."""
    _operators.update({getattr(np, name): function for name, function in operators.items()})
    Operators.__array_ufunc__ = _ufunc  # type: ignore[attr-defined]
    Operators.__array_function__ = _function  # type: ignore[attr-defined]


def _ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    operator = _operators.get(ufunc)
    if operator is not None and method == "__call__" and not options:
        return operator(*inputs)
    result = getattr(ufunc, method)(*map(_array, inputs), **{name: _array(v) for name, v in options.items()})
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    warn_of_loss("np", name, inputs, result)
    return result


def _array(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_array, value))
    return np.asarray(value) if isinstance(value, Operators) else value


def _function(self: Any, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if function is np.result_type:
        args = tuple(native_to_dtype(dtype_of(v)).numpy if isinstance(v, Operators) else v for v in args)
    result = function._implementation(*args, **options)
    if function.__name__ not in CONVERSIONS:
        warn_of_loss("np", function.__name__, (*args, *options.values()), result)
    return result


def warn_of_loss(library: str, name: str, args: Iterable[Any], result: Any = 0.0) -> None:
    """Warn that a gradient ends where another library computed floats from a tensor that a tape follows."""
    tapes = scopes().tapes
    if not tapes or not _is_float(result):
        return
    if any(tape.follows(tensor) for tensor in _tensors(args) for tape in tapes):
        op_name = _name_of_op(name)
        op = FUNCTIONS.get(op_name)
        if getattr(op, "differentiable", True):
            instead = f"use ops.{op_name}" if callable(op) else "write it with dovetail.ops"
            problem = f"the gradient ends here, since a tape follows what Dovetail computes, not {LIBRARIES[library]}"
            text = f"{problem}; {instead}, or x.numpy() if the value alone is meant."
            warn(GradientLostWarning, f"{library}.{name}", text)


def _name_of_op(name: str) -> str:
    name = name.removeprefix("reduce_").removesuffix("_v2")
    return OTHERS.get(name, name)


def _is_float(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_float, value))
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "i") in "fcV"


def _tensors(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, Operators):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)

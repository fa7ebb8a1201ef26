"""The ops that Python computes when a graph runs: functions of NumPy arrays, and checks.

The host computes them: if an engine compiles whole programs, the plan has separate segments around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.calls.static_types import DTypeLike, ShapeLike
from dovetail.core.kinds import Bool, Eachs, Float
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import same
from dovetail.core.values.spec import TensorSpec


def specs_of_results(inputs: Any, function: Any, dtypes: Any, shapes: Any) -> list[TensorSpec]:
    """The type rule of an op with the parameters of `py_func`."""
    known = shapes or (None,) * len(dtypes)
    if len(known) != len(dtypes):
        raise op_error(ValueError, "PyFunc", f"{len(known)} shapes are given for {len(dtypes)} results.")
    return [TensorSpec(shape, dtype) for shape, dtype in zip(known, dtypes, strict=True)]


@primitive("PyFunc", cost="move", infer=specs_of_results, differentiable=False)
def py_func(
    inputs: Eachs, function: Callable[..., Any], dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = ()
) -> tuple[Tensor, ...]:
    """The results of a Python function of NumPy arrays, called each time that the op runs; `set_shape` gives shapes.

    Args:
        inputs: tensors; the function gets a copy of each as an array.
        function: returns an array, or a list of them.
        dtypes: the dtypes to which the results are cast, one for each.
        shapes: the shapes of the results, as far as they are known; empty if none is known.

    Source: `tf.compat.v1.py_func`, `tf.raw_ops.PyFunc`.
    """


@primitive("PyFuncStateless", cost="move", infer=specs_of_results, differentiable=False)
def py_func_stateless(
    inputs: Eachs, function: Callable[..., Any], dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = ()
) -> tuple[Tensor, ...]:
    """`py_func` of a function without other effects, so that a run need not call it if nobody uses the results.

    Source: `tf.numpy_function`, `tf.raw_ops.PyFuncStateless`.
    """


@primitive("EagerPyFunc", cost="move", infer=specs_of_results)
def eager_py_func(
    inputs: Eachs, function: Callable[..., Any], dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = ()
) -> tuple[Tensor, ...]:
    """`py_func` of a function that has an attribute `gradient`.

    This is a function of the arrays and of a gradient by each result of a float dtype.  It gives a gradient by each
    input of a float dtype.

    Source: `tf.py_function`, `tf.raw_ops.EagerPyFunc`.
    """


def gradient_of_function(call: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of an op with the parameters of `eager_py_func`: another call, of the function's `gradient`."""

    def gradient(op: Any, *gs: Any) -> Any:
        floats = [x for x in op.inputs if x.dtype.is_differentiable]
        dtypes, shapes = [x.dtype for x in floats], [x.shape for x in floats]
        arriving = [g for y, g in zip(op.outputs, gs, strict=True) if y.dtype.is_differentiable]
        gradients = iter(call([*op.inputs, *arriving], op.attr("function").gradient, dtypes, shapes) if floats else ())
        return [next(gradients) if x.dtype.is_differentiable else None for x in op.inputs]

    return gradient


eager_py_func.gradient(gradient_of_function(eager_py_func))


@primitive("Assert", cost="move", infer=lambda condition, data, message, summarize: condition, differentiable=False)
def require(condition: Bool, data: Eachs, message: str = "", summarize: int = 3) -> Tensor:
    """The condition, which must hold everywhere whenever it is computed.

    Args:
        condition: bools.
        data: the values that the error shows if the condition does not hold.
        message: the text of the error.  Each "{}" in it is a place of one of the data; without any, they follow it.
        summarize: how many elements are shown: the first ones at places, else those at each end of an axis; -1 for all.

    Raises:
        ValueError: the condition does not hold when the graph runs.

    Source: `tf.debugging.Assert`, `tf.raw_ops.Assert`.
    """


@primitive("CheckNumerics", cost="move", infer=same)
def check_numerics(x: Float, message: str = "") -> Tensor:
    """The value itself, whose elements must be finite whenever it is computed.

    Args:
        x: floats of any shape.
        message: the first words of the error.

    Raises:
        ValueError: an element is NaN or infinite.

    Source: `tf.debugging.check_numerics`.

    Example:
        >>> check_numerics([1., 2.], "the loss").numpy()
        array([1., 2.], dtype=float32)
    """


@check_numerics.gradient
def _(op: Any, g: Any) -> Any:
    words = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return check_numerics(g, f"{words} {op.attr('message')}")

"""Making tensors: filled with one value, and by counting."""

from __future__ import annotations

import math
from typing import Any, Literal

from dovetail.core.base.domains import Count
from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import DTypeLike
from dovetail.core.dtypes import as_dtype, promote
from dovetail.core.kinds import Each, Inexact, Ints
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import host
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of, kind_of
from dovetail.ops.math.compare import equal, maximum, saturate_cast, where
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import broadcast_to, cast, convert, dims_of, expand_dims, reshape, shape_of, sum_like

# -- one value everywhere ---------------------------------------------------------------------------------------------


def _fitted_fill(shape: Any, fill_value: Any, dtype: Any) -> list[Any]:
    return [shape, fill_value if dtype is None else host.fitted(fill_value, dtype), dtype]


@composite(
    "Fill",
    cost="move",
    prepare=_fitted_fill,
    samples=[sample((2, 3), array()), sample((2,), 7, "float16"), sample((0, 2), array())],
)
def full(shape: Ints, fill_value: Each, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of one value.

    Args:
        shape: its shape.
        fill_value: the value, or a tensor that broadcasts to the shape.
        dtype: the dtype of the result; the dtype of the value if not given.

    Raises:
        OverflowError: a Python number does not fit into the dtype.

    Source: `numpy.full`.

    Example:
        >>> full((2,), 7).numpy()
        array([7, 7], dtype=int32)
    """
    return broadcast_to(fill_value if dtype is None else cast(fill_value, dtype), shape)


@checked
def zeros(shape: Any, dtype: Any = float) -> Tensor:
    """A tensor of zeros; `floatx` if no dtype is given.

    Source: `numpy.zeros`.

    Example:
        >>> zeros((2,)).numpy()
        array([0., 0.], dtype=float32)
    """
    return full(shape, 0, dtype)


@checked
def ones(shape: Any, dtype: Any = float) -> Tensor:
    """A tensor of ones; `floatx` if no dtype is given.

    Source: `numpy.ones`.

    Example:
        >>> ones((2,), "int32").numpy()
        array([1, 1], dtype=int32)
    """
    return full(shape, 1, dtype)


def _fitted_like(x: Any, fill_value: Any, dtype: Any) -> list[Any]:
    return [x, host.fitted(fill_value, dtype or as_dtype(promote([dtype_of(x)]))), dtype]


@composite(
    "FullLike", cost="move", prepare=_fitted_like, samples=[sample(array(2, 3), array()), sample(array(2), 7, "int32")]
)
def full_like(x: Each, fill_value: Each, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of one value, in the shape of `x`, and in its dtype if no other is given.

    Raises:
        OverflowError: a Python number does not fit into the dtype.

    Source: `numpy.full_like`.

    Example:
        >>> full_like([1., 2.], 7).numpy()
        array([7., 7.], dtype=float32)
    """
    return full(shape_of(x), fill_value, dtype or x.dtype)


@full_like.gradient
def _(op: Any, g: Any) -> Any:
    return None, sum_like(cast(g, op.inputs[1].dtype), op.inputs[1])


@composite("ZerosLike", cost="move", differentiable=False, samples=[sample(array(2, 3)), sample(array(2), "int32")])
def zeros_like(x: Each, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros in the shape of `x`, and in its dtype if no other is given.

    Source: `numpy.zeros_like`.

    Example:
        >>> zeros_like([1., 2.]).numpy()
        array([0., 0.], dtype=float32)
    """
    return full(shape_of(x), 0, dtype or x.dtype)


@composite("OnesLike", cost="move", differentiable=False, samples=[sample(array(2, 3)), sample(array(2), "int32")])
def ones_like(x: Each, dtype: DTypeLike | None = None) -> Tensor:
    """Ones in the shape of `x`, and in its dtype if no other is given.

    Source: `numpy.ones_like`.

    Example:
        >>> ones_like([1., 2.]).numpy()
        array([1., 1.], dtype=float32)
    """
    return full(shape_of(x), 1, dtype or x.dtype)


# -- counting ---------------------------------------------------------------------------------------------------------


def iota_spec(size: Any, dtype: Any) -> TensorSpec:
    if len(size) != 1 or (size[0] is not None and size[0] < 0):
        raise ValueError(f"the size must be one number, 0 or more, not {size}.")
    return TensorSpec(size, dtype)


@primitive(
    "Iota", cost="move", infer=iota_spec, differentiable=False, samples=[sample((4,), "int32"), sample((0,), "float32")]
)
def iota(size: Ints, dtype: DTypeLike = int) -> Tensor:
    """The numbers 0 … size - 1.

    Args:
        size: a number in a tuple.
        dtype: the type of the numbers.

    Source: XLA's Iota.

    Example:
        >>> iota((3,)).numpy()
        array([0, 1, 2], dtype=int32)
    """


@checked
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Evenly spaced numbers `start + i * step`, up to but without `stop`.

    Args:
        start: the first number; with one argument it is `stop`, and the numbers start at 0.
        stop: the end, which is left out.
        step: the distance; it may be negative.
        dtype: the dtype of the result; if not given, int32 for ints, `floatx` for floats, or the dtype of tensors.

    Raises:
        OverflowError: one of the numbers does not fit into the dtype.

    Source: `numpy.arange`.

    Example:
        >>> arange(3).numpy(), arange(1, 2, 0.25).numpy()
        (array([0, 1, 2], dtype=int32), array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    if stop is None:
        start, stop = 0, start
    dtype = as_dtype(dtype) if dtype is not None else promote(map(dtype_of, (start, stop, step)))
    count = _count(start, stop, step)
    if isinstance(count, tuple) and all(isinstance(v, int) for v in (start, stop, step)):
        host.fitted([start, start + max(count[0] - 1, 0) * step], dtype)
    numbers = iota(count, dtype)
    if not (isinstance(step, (int, float)) and step == 1):
        numbers = numbers * cast(step, dtype)
    return numbers if isinstance(start, (int, float)) and start == 0 else numbers + cast(start, dtype)


def _count(start: Any, stop: Any, step: Any) -> Any:
    """The number of numbers from start up to stop: a 1-tuple if it is known, else a tensor."""
    if not all(kind_of(v).is_computed for v in (start, stop, step)):
        return saturate_cast(maximum(-((start - stop) // step), 0), "int32")
    first, last, by = (v if isinstance(v, (int, float)) else convert(v).item() for v in (start, stop, step))
    if by == 0:
        raise op_error(ValueError, "Range", "the step must not be 0.")
    return (max(0, math.ceil((last - first) / by)),)


@composite(
    "LinSpace",
    cost="move",
    samples=[sample(array(), array(), 5), sample(array(2), array(), 3, endpoint=False, axis=-1), sample(0, 1, 1)],
)
def linspace(start: Inexact, stop: Inexact, num: Count = 50, endpoint: bool = True, axis: int = 0) -> Tensor:
    """Evenly spaced numbers from start to stop.

    Args:
        start: the first number; with `stop` it broadcasts.
        stop: the last number, or the one after it.
        num: how many numbers.
        endpoint: whether `stop` is one of them.
        axis: the position of the numbers' axis in the result.

    Source: `numpy.linspace`.

    Example:
        >>> linspace(0, 1, 5).numpy()
        array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    span = stop - start
    after = len(span.shape) - normalize_axis(axis, len(span.shape) + 1)
    steps = reshape(iota((num,), "int32"), (num, *(1,) * after))
    start, stop, span = (expand_dims(broadcast_to(x, shape_of(span)), axis) for x in (start, stop, span))
    count = num - 1 if endpoint else num
    numbers = start + cast(steps, span.dtype) * (span / max(count, 1))
    return where(equal(steps, num - 1), stop, numbers) if endpoint and num > 1 else numbers


@checked
def meshgrid(*x: Any, indexing: Literal["xy", "ij"] = "xy") -> list[Any]:
    """The coordinates of a grid: each vector repeated along the axes of the others.

    Args:
        x: vectors.
        indexing: "xy": the first two axes of the results belong to the second and the first vector; "ij": in order.

    Source: `numpy.meshgrid`.

    Example:
        >>> [t.numpy().tolist() for t in meshgrid([1, 2], [3, 4, 5], indexing="ij")]
        [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    """
    vectors = [reshape(v, (-1,)) for v in x]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    dims = [dims_of(vectors[i])[0] for i in order]
    lines = [[-1 if i == axis else 1 for i in order] for axis in range(len(vectors))]
    return [broadcast_to(reshape(v, line), dims) for v, line in zip(vectors, lines, strict=True)]

"""Searching: the positions of elements, their counts, and the different ones; result shapes depend on values.

Programs compiled by JAX have no such shapes: there `where`, `one_hot` or a fixed `length` do the job.
"""

from __future__ import annotations

from typing import Annotated, Any

from dovetail.core.base.domains import Count, at_least
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import DTypeLike
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Each, Integer, Ints, Real
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.math import compare, reduce
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.samples import array, bools, ints, sample
from dovetail.ops.shapes.create import full, iota, iota_spec, ones_like, zeros_like
from dovetail.ops.shapes.index import coordinates, gather, tensor_scatter_add, tensor_scatter_update
from dovetail.ops.shapes.join import concatenate, stack, unstack
from dovetail.ops.shapes.shape import cast, convert, dims_of, expand_dims, reshape, shaped
from dovetail.ops.shapes.sort import argsort, searchsorted


def _positions_spec(x: TensorSpec) -> TensorSpec:
    return TensorSpec((None, x.rank), ALL["int32"])


@primitive(
    "Where",
    cost="move",
    infer=_positions_spec,
    differentiable=False,
    samples=[
        sample(bools(2, 3), dynamic=True),
        sample(ints(4, low=-1, high=2), dynamic=True),
        sample(array(0, 2), dynamic=True),
    ],
)
def positions(x: Each) -> Tensor:
    """The positions of the elements that are not zero, in row-major order.

    Returns:
        int32 of shape (number of positions, rank).

    Source: `numpy.argwhere`; `tf.where` with one argument.

    Example:
        >>> positions([[True, False], [True, True]]).numpy()
        array([[0, 0],
               [1, 0],
               [1, 1]], dtype=int32)
    """


@checked
def nonzero(x: Any) -> tuple[Any, ...]:
    """The positions of the elements that are not zero: for each axis, an int32 tensor.

    Source: `numpy.nonzero`.

    Example:
        >>> [t.numpy() for t in nonzero([0, 3, 4])]
        [array([1, 2], dtype=int32)]
    """
    return tuple(unstack(positions(x), axis=-1))


@checked
def boolean_mask(x: Any, mask: Any, axis: int = 0) -> Any:
    """The slices of `x` where a mask is True.

    Args:
        x: any tensor.
        mask: booleans, in the shape of as many axes of `x` from `axis` on.
        axis: the first axis that the mask covers.

    Returns:
        A tensor in which one axis replaces the axes of the mask.

    Source: `tf.boolean_mask`.

    Example:
        >>> boolean_mask([1, 2, 3], [True, False, True]).numpy()
        array([1, 3], dtype=int32)
    """
    x = convert(x)
    return x[(slice(None),) * normalize_axis(axis, len(x.shape)) + (convert(mask, "bool"),)]


def _one_hot_spec(x: Any, num_classes: Any, axis: int, dtype: Any) -> TensorSpec:
    classes: Any = iota_spec(num_classes, dtype)
    at = normalize_axis(axis, len(x.shape) + 1)
    return TensorSpec((*x.shape[:at], *classes.shape, *x.shape[at:]), dtype)


@composite(
    "OneHot",
    cost="move",
    infer=_one_hot_spec,
    differentiable=False,
    samples=[
        sample(ints(2, 3), 4),
        sample(ints(2, low=-1, high=3), 2, axis=0, dtype="int32"),
        sample(ints(), 3),
        sample(ints(3, dtype="uint8"), 300),
    ],
)
def one_hot(x: Integer, num_classes: Annotated[Ints, at_least(0)], axis: int = -1, dtype: DTypeLike = float) -> Tensor:
    """Ones at the classes, zeros elsewhere; all zeros for a number that is no class.

    Args:
        x: class numbers.
        num_classes: the number of classes, which is the size of the new axis; it may be a tensor.
        axis: the position of the new axis in the result.
        dtype: the type of the result.

    Source: `tf.one_hot`; `keras.ops.one_hot`.

    Example:
        >>> one_hot([1, 0], 3).numpy()
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)
    """
    after = len(x.shape) - normalize_axis(axis, len(x.shape) + 1)
    classes = reshape(iota(num_classes, "int32"), (-1, *(1,) * after))
    return cast(compare.equal(expand_dims(compare.saturate_cast(x, "int32"), axis), classes), dtype)


LARGEST = 2**48  # no memory holds counts up to this number, and 1 can be added to it


@checked
def bincount(x: Any, weights: Any = None, minlength: Count = 0, length: Count | None = None) -> Any:
    """How often each number occurs, along the last axis.

    Args:
        x: integers, 0 or more, with one axis or two (rows are counted by themselves).
        weights: the weight of each occurrence; 1 if not given.
        minlength: the least size of the result.
        length: the size of the result, if it must be known: numbers beyond are left out.

    Returns:
        The counts of 0, 1, 2, … in int32, or the dtype of the weights.

    Source: `numpy.bincount`.

    Example:
        >>> bincount([1, 1, 3]).numpy()
        array([0, 2, 0, 1], dtype=int32)
    """
    x = shaped(x)
    weights = ones_like(x, "int32") if weights is None else shaped(weights)
    size: Any = length
    if length is None:
        highest = reduce.max(concatenate([reshape(x, (-1,)), cast([0], dtype_of(x))]))
        highest = compare.minimum(compare.saturate_cast(highest, "int64"), LARGEST)
        size = compare.maximum(highest + 1, minlength) if static_shape(x)[-1] != 0 else minlength
    counted = logical_and(compare.greater_equal(x, 0), compare.less(x, size))
    rows = len(static_shape(x)) - 1
    counts = full([*dims_of(x)[:rows], size], 0, weights.dtype)
    where = stack([*coordinates(x, rows), compare.where(counted, x, 0)], -1)
    return tensor_scatter_add(counts, where, compare.where(counted, weights, 0))


@composite(
    "Unique",
    cost="move",
    samples=[
        sample(ints(6, high=3), dynamic=True),
        sample([1.0, float("nan"), 1.0, float("nan")], dynamic=True),
        sample(array(2, 2, gap=0.1), dynamic=True),
        sample(array(0), dynamic=True),
    ],
)
def unique(x: Real) -> tuple[Tensor, ...]:
    """The different values of a tensor.

    Returns:
        values: each once, in ascending order, with one NaN at most.
        inverse: int32 in the shape of `x`: the number of each element's value.
        counts: int32: how often each value occurs.

    Source: `numpy.unique`.

    Example:
        >>> [t.numpy() for t in unique([3, 1, 3])]
        [array([1, 3], dtype=int32), array([1, 0, 1], dtype=int32), array([1, 2], dtype=int32)]
    """
    flat = reshape(x, (-1,))
    order = argsort(flat)
    ordered = gather(flat, order)
    before, after = ordered[:-1], ordered[1:]
    differs = compare.not_equal(before, after)
    if x.dtype.is_differentiable:
        differs = logical_and(differs, compare.equal(before, before))  # the NaN at the end are one value
    is_first = concatenate([ones_like(ordered[:1], "bool"), differs])
    starts = positions(is_first)[:, 0]
    number = searchsorted(starts, iota(dims_of(order)[:1]), side="right") - 1
    inverse = tensor_scatter_update(zeros_like(order), expand_dims(order, -1), number)
    ends = concatenate([starts[1:], reshape(cast(dims_of(order)[0], "int32"), (1,))])
    return gather(ordered, starts), reshape(inverse, dims_of(x)), ends - starts

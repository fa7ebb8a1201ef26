"""Strided slices: the part of a tensor between two positions on each axis; `subscript` writes them as `x[...]`."""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Anything, Ints
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import shape_of


def _sliced_dim(dim: int | None, begin: Any, end: Any, step: Any) -> int | None:
    """The length of a slice; a bound is an int, "open" or None for unknown."""
    if begin == end == "open" and step in (1, -1):
        return dim
    if dim is None or None in (begin, end, step):
        return None
    return len(range(dim)[slice(None if begin == "open" else begin, None if end == "open" else end, step)])


def _strided_slice_spec(
    x: RankedSpec, begin: Any, end: Any, strides: Any, begin_mask: int = 0, end_mask: int = 0, shrink_axis_mask: int = 0
) -> TensorSpec:
    if not len(begin) == len(end) == len(strides):
        raise ValueError(f"begin, end and strides must be equally long, but they are {begin}, {end} and {strides}.")
    if 0 in strides:
        raise ValueError("a step must not be 0.")
    if len(begin) > len(x.shape):
        raise IndexError(f"{len(begin)} axes are indexed, but the tensor has {len(x.shape)}.")
    shape = []
    for i, (first, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        dim = x.shape[i]
        if shrink_axis_mask >> i & 1:
            if first is not None and dim is not None and not -dim <= first < dim:
                raise IndexError(f"the index {first} is out of range for axis {i}, which has the size {dim}.")
        else:
            bounds = "open" if begin_mask >> i & 1 else first, "open" if end_mask >> i & 1 else stop
            shape.append(_sliced_dim(dim, *bounds, step))
    return TensorSpec((*shape, *x.shape[len(begin) :]), x.dtype)


@primitive(
    "StridedSlice",
    cost="move",
    infer=_strided_slice_spec,
    samples=[
        sample(array(5, 4), (1, 0), (4, 0), (2, 1), end_mask=2),
        sample(array(5, 4), (-1, 0), (0, 0), (-2, -1), begin_mask=2, end_mask=3),
        sample(array(3, 2, 4), (1, 0, -1), (0, 9, 0), (1, 1, 1), shrink_axis_mask=0b101),
        sample(array(3), (3,), (1,), (1,)),
    ],
)
def strided_slice(
    x: Anything,
    begin: Ints,
    end: Ints,
    strides: Ints,
    begin_mask: int = 0,
    end_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """The slice `x[begin[0]:end[0]:strides[0], …]`, by NumPy's rules; `x[...]` with slices and ints becomes this op.

    Args:
        x: any tensor.
        begin, end, strides: one number for each of the first axes; they may be tensors.
        begin_mask: bit i says that `begin[i]` does not count: the slice starts as early as it can.
        end_mask: bit i says that `end[i]` does not count: the slice runs as far as it can.
        shrink_axis_mask: bit i says that axis i goes away: only `begin[i]` counts and is an index.

    Raises:
        IndexError: an index is out of range (slices are clipped, as in Python).

    Source: `tf.strided_slice`.

    Example:
        >>> strided_slice([1, 2, 3, 4], (-1,), (0,), (-2,)).numpy()
        array([4, 2], dtype=int32)
    """


@strided_slice.gradient
def _(op: Any, g: Any) -> Any:
    x, *where = op.args
    return strided_slice_grad(g, shape_of(x), *where)


def _strided_slice_grad_spec(g: RankedSpec, shape: Any, *where: Any) -> TensorSpec:
    whole = RankedSpec(tuple(shape), g.dtype)
    infer.require_shape(g, _strided_slice_spec(whole, *where).shape)
    return whole


@primitive(
    "StridedSliceGrad",
    cost="move",
    infer=_strided_slice_grad_spec,
    samples=[
        sample(array(2, 4), (5, 4), (1, 0), (4, 0), (2, 1), end_mask=2),
        sample(array(3, 4), (5, 4), (-1, 0), (0, 0), (-2, -1), begin_mask=2, end_mask=3),
        sample(array(2), (3, 2, 4), (1, 0, -1), (0, 9, 0), (1, 1, 1), shrink_axis_mask=0b101),
    ],
)
def strided_slice_grad(
    g: Anything,
    shape: Ints,
    begin: Ints,
    end: Ints,
    strides: Ints,
    begin_mask: int = 0,
    end_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Zeros of a shape, with `g` at a slice: the gradient of `strided_slice`.

    Source: `tf.raw_ops.StridedSliceGrad`.

    Example:
        >>> strided_slice_grad([1, 2], (5,), (0,), (5,), (3,)).numpy()
        array([1, 0, 0, 2, 0], dtype=int32)
    """


@strided_slice_grad.gradient
def _(op: Any, g: Any) -> Any:
    _, _, *where = op.args
    return strided_slice(g, *where)


def along(x: Any, axis: int, start: Any, stop: Any, step: Any = 1) -> Any:
    """The slice start:stop:step along one axis, which is not negative."""
    before = (0,) * axis
    whole = (1 << axis) - 1
    return strided_slice(x, (*before, start), (*before, stop), (*(1,) * axis, step), whole, whole)

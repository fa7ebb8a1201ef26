"""Joining tensors, and cutting them into parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import SizeList, Sizes
from dovetail.core.kinds import Anything, Anythings, Ints
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import RankedSpec, Shape, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import dims_of, expand_dims, reshape, shaped
from dovetail.ops.shapes.slicing import along


def _same_but(shapes: Sequence[Shape], axis: int | None) -> list[int | None]:
    """The one shape that all have, except along an axis.

    Raises:
        ValueError: the shapes differ elsewhere.
    """
    known = [s for s in shapes if s is not None]
    if any(len(s) != len(known[0]) for s in known):
        raise ValueError(f"the tensors must have the same rank, but their shapes are {list(shapes)}.")
    merged: list[int | None] = []
    for i, dims in enumerate(zip(*known, strict=True)):
        different = {d for d in dims if d is not None}
        if i != axis and len(different) > 1:
            but = "" if axis is None else f" except along axis {axis}"
            raise ValueError(f"the shapes must be equal{but}, but they are {list(shapes)}.")
        merged.append(different.pop() if different else None)
    return merged


def _concat_spec(xs: list[TensorSpec], axis: int) -> TensorSpec:
    if not xs:
        raise ValueError("there must be at least one tensor.")
    shapes = [x.shape for x in xs]
    if None in shapes:
        known = [s for s in shapes if s is not None]
        if not known:
            return TensorSpec(None, xs[0].dtype)
        shapes = [(None,) * len(known[0]) if s is None else s for s in shapes]
    axis = normalize_axis(axis, len(shapes[0]))  # type: ignore[arg-type]
    merged = _same_but(shapes, axis)
    along = [s[axis] for s in shapes]  # type: ignore[index]
    merged[axis] = None if None in along else sum(along)  # type: ignore[arg-type]
    return TensorSpec(tuple(merged), xs[0].dtype)


@primitive(
    "ConcatV2",
    cost="move",
    infer=_concat_spec,
    samples=[
        sample([array(2, 3), array(1, 3)]),
        sample([array(2, 3), array(2, 1), array(2, 0)], axis=-1),
        sample([array(2)], 0),
    ],
)
def concatenate(xs: Anythings, axis: int = 0) -> Tensor:
    """Join tensors along an axis that they have.

    Args:
        xs: tensors whose shapes are equal except along the axis; promoted to a common dtype.
        axis: the axis, which may be negative.

    Raises:
        ValueError: the shapes do not fit.

    Source: `numpy.concatenate`.

    Example:
        >>> concatenate([[1, 2], [3]]).numpy()
        array([1, 2, 3], dtype=int32)
    """


@concatenate.gradient
def _(op: Any, g: Any) -> Any:
    axis = normalize_axis(op.attr("axis"), len(g.shape))
    parts = []
    start: Any = 0
    for x in op.inputs:
        stop = dims_of(x)[axis] + start
        parts.append(along(g, axis, start, stop))
        start = stop
    return parts


def _stack_spec(xs: list[TensorSpec], axis: int = 0) -> TensorSpec:
    if not xs:
        raise ValueError("there must be at least one tensor.")
    shapes = [x.shape for x in xs if x.shape is not None]
    if not shapes:
        return TensorSpec(None, xs[0].dtype)
    merged = _same_but(shapes, None)
    merged.insert(normalize_axis(axis, len(merged) + 1), len(xs))
    return TensorSpec(tuple(merged), xs[0].dtype)


@composite(
    "Pack",
    cost="move",
    infer=_stack_spec,
    samples=[sample([array(2, 3), array(2, 3)]), sample([array(2), array(2)], axis=-1), sample([array()])],
)
def stack(xs: Anythings, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis.

    Args:
        xs: tensors of the same shape; promoted to a common dtype.
        axis: the position of the new axis in the result.

    Raises:
        ValueError: the shapes differ.

    Source: `numpy.stack`.

    Example:
        >>> stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return concatenate([expand_dims(x, axis) for x in xs], axis)


@stack.gradient
def _(op: Any, g: Any) -> Any:
    return unstack(g, len(op.inputs), op.attr("axis"))


def _unstack_spec(x: RankedSpec, num: int, axis: int) -> list[TensorSpec]:
    axis = normalize_axis(axis, len(x.shape))
    if x.shape[axis] not in (None, num):
        raise ValueError(f"axis {axis} has the size {x.shape[axis]}, so there are not {num} slices.")
    return [TensorSpec((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)] * num


@composite("Unpack", cost="move", infer=_unstack_spec, samples=[sample(array(2, 3), 3, -1), sample(array(2), 2, 0)])
def _unstack(x: Anything, num: int, axis: int) -> tuple[Tensor, ...]:
    """The slices along an axis, without it."""
    before = (slice(None),) * normalize_axis(axis, len(x.shape))
    return tuple(x[(*before, i)] for i in range(num))


@_unstack.gradient
def _(op: Any, *g: Any) -> Any:
    return stack(g, op.attr("axis"))


@checked
def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The slices along an axis, without it.

    Args:
        x: any tensor.
        num: the number of slices; needed only if the dimension is unknown.
        axis: the axis.

    Source: `tf.unstack`.

    Example:
        >>> [t.numpy() for t in unstack([[1, 2], [3, 4]])]
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    if num is None:
        num = _known_dim(x := shaped(x), axis, "Unpack", "num")
    return list(_unstack(x, num, axis)) if num else []


def _known_dim(x: Any, axis: int, op_name: str, argument: str) -> int:
    known = static_shape(x)
    dim = known[normalize_axis(axis, len(known))]
    if dim is None:
        raise op_error(ValueError, op_name, f"the size of axis {axis} is not known, so {argument} must be given.")
    return dim


def _split_spec(x: RankedSpec, sizes: Any, axis: int) -> list[TensorSpec]:
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError(f"the sizes must be 0 or more, but they are {sizes}.")
    axis = normalize_axis(axis, len(x.shape))
    if None not in (x.shape[axis], *sizes) and sum(sizes) != x.shape[axis]:
        raise ValueError(f"the sizes {sizes} do not add up to {x.shape[axis]}, the size of axis {axis}.")
    return [TensorSpec((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype) for size in sizes]


@composite(
    "SplitV",
    cost="move",
    infer=_split_spec,
    samples=[sample(array(2, 6), (1, 3, 2), -1), sample(array(4, 2), (2, 2), 0), sample(array(2), (2, 0), 0)],
)
def _split(x: Anything, sizes: Ints, axis: int) -> tuple[Tensor, ...]:
    """The parts of an axis, by their sizes."""
    axis = normalize_axis(axis, len(x.shape))
    ends = list(itertools.accumulate(sizes))
    return tuple(along(x, axis, start, end) for start, end in zip([0, *ends], ends, strict=False))


@_split.gradient
def _(op: Any, *g: Any) -> Any:
    return concatenate(g, op.attr("axis"))


@checked
def split(x: Any, indices_or_sections: Sizes, axis: int = 0) -> list[Any]:
    """Cut a tensor into parts along an axis.

    Args:
        x: any tensor.
        indices_or_sections: the number of equal parts, or the positions at which to cut.
        axis: the axis.

    Raises:
        ValueError: the axis cannot be cut into this number of equal parts.

    Source: `numpy.split`.

    Example:
        >>> [t.tolist() for t in split([1, 2, 3, 4], 2)], [t.tolist() for t in split([1, 2, 3, 4], [1])]
        ([[1, 2], [3, 4]], [[1], [2, 3, 4]])
    """
    x = shaped(x)
    dims = dims_of(x)
    at = normalize_axis(axis, len(static_shape(x)))
    dim = dims[at]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1 or (isinstance(dim, int) and dim % count):
            raise op_error(
                ValueError, "Split", f"axis {axis} has the size {dim}, which cannot be cut into {count} equal parts."
            )
        if not isinstance(dim, int):  # a reshape fails if the parts are not equal
            return unstack(reshape(x, [*dims[:at], count, dim // count, *dims[at + 1 :]]), count, at)
        sizes = [dim // count] * count
    else:
        cuts = [0, *indices_or_sections, dim]
        if isinstance(dim, int):
            cuts = [min(max(cut + dim if cut < 0 else cut, 0), dim) for cut in cuts]
        sizes = [end - start for start, end in itertools.pairwise(cuts)]
        if isinstance(dim, int):
            sizes = [max(size, 0) for size in sizes]
    return list(_split(x, sizes, axis))


@checked
def split_sizes(x: Any, sizes: SizeList, axis: int = 0) -> list[Any]:
    """Cut a tensor into parts of given sizes along an axis.

    Args:
        x: any tensor.
        sizes: the sizes, which may be tensors; one may be -1, and takes the rest.
        axis: the axis.

    Source: `tf.split` with a list of sizes.

    Example:
        >>> [t.numpy() for t in split_sizes([1, 2, 3, 4], [1, -1])]
        [array([1], dtype=int32), array([2, 3, 4], dtype=int32)]
    """
    x = shaped(x)
    sizes = list(sizes)
    open_ = [i for i, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if len(open_) > 1:
        raise op_error(ValueError, "SplitV", f"only one size can be -1, but they are {sizes}.")
    if open_:
        dim = dims_of(x)[normalize_axis(axis, len(static_shape(x)))]
        sizes[open_[0]] = dim - sum(size for i, size in enumerate(sizes) if i != open_[0])
    return list(_split(x, sizes, axis))

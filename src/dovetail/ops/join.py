"""Joining, splitting, repeating and rearranging tensors along their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.ops.infer import normalize_axis
from dovetail.ops.kinds import Anythings
from dovetail.ops.op import composite, primitive
from dovetail.ops.samples import array, sample
from dovetail.ops.shape import convert, dims_of, expand_dims
from dovetail.ops.slicing import along
from dovetail.ops.spec import Shape, TensorSpec
from dovetail.tensor import Tensor


def _same_but(shapes: Sequence[Shape], axis: int | None) -> list[int | None]:
    """The one shape that all have, except along an axis.

    Raises:
        ValueError: they differ elsewhere.
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
    infer=_concat_spec,
    samples=[
        sample([array(2, 3), array(1, 3)]),
        sample([array(2, 3), array(2, 1), array(2, 0)], axis=-1),
        sample([array(2)], 0),
    ],
)
def concatenate(xs: Anythings, axis: int = 0) -> Tensor:
    """Tensors joined along an axis they have.

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
    infer=_stack_spec,
    samples=[sample([array(2, 3), array(2, 3)]), sample([array(2), array(2)], axis=-1), sample([array()])],
)
def stack(xs: Anythings, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Args:
        xs: tensors of the same shape; promoted to a common dtype.
        axis: where the new axis stands in the result.

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


def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The slices along an axis, without it.

    Args:
        x: any tensor.
        num: how many there are; needed only where the dimension is unknown.
        axis: the axis.

    Source: `tf.unstack`.

    Example:
        >>> [t.numpy() for t in unstack([[1, 2], [3, 4]])]
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    x = convert(x)
    axis = normalize_axis(axis, len(x.shape))
    num = x.shape[axis] if num is None else num
    if num is None:
        raise ValueError(f"how many slices there are along axis {axis} is not known; say it with num=.")
    before = (slice(None),) * axis
    return [x[(*before, i)] for i in range(num)]

"""Extending: tensors repeated along their axes, or with a border around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from dovetail.core.base.domains import at_least
from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Scalar, Sizes
from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.kinds import Anything, Ints
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import host
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.math.compare import where
from dovetail.ops.math.cumulative import cumsum
from dovetail.ops.math.reduce import sum
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.create import iota, ones_like
from dovetail.ops.shapes.index import for_positions, gather
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.rearrange import flip
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, reshape, shape_of, shaped
from dovetail.ops.shapes.slicing import along, strided_slice
from dovetail.ops.shapes.sort import searchsorted

# -- copies -----------------------------------------------------------------------------------------------------------


def _tile_parts(shape: Sequence[Any], repeats: Any) -> tuple[list[Any], list[Any]]:
    """The shape and the repeats, the shorter one with ones in front."""
    repeats = list(repeats)
    rank = max(len(shape), len(repeats))
    return [1] * (rank - len(shape)) + list(shape), [1] * (rank - len(repeats)) + repeats


def _tile_spec(x: RankedSpec, repeats: Any) -> TensorSpec:
    if any(r is not None and r < 0 for r in repeats):
        raise ValueError(f"the repeats must be 0 or more, but they are {repeats}.")
    pairs = zip(*_tile_parts(x.shape, repeats), strict=True)
    return TensorSpec(tuple(None if None in pair else pair[0] * pair[1] for pair in pairs), x.dtype)


@composite(
    "Tile",
    cost="move",
    infer=_tile_spec,
    samples=[sample(array(2, 3), (2, 1)), sample(array(2), (2, 2)), sample(array(1, 2), (3,)), sample(array(2), (0,))],
)
def tile(x: Anything, repeats: Ints) -> Tensor:
    """Copies of a tensor side by side.

    Args:
        x: any tensor.
        repeats: the number of copies along each axis; missing ones in front are 1, as are missing axes of `x`.

    Source: `numpy.tile`.

    Example:
        >>> tile([1, 2], (2,)).numpy()
        array([1, 2, 1, 2], dtype=int32)
    """
    dims, counts = _tile_parts(dims_of(x), repeats)
    copies = broadcast_to(reshape(x, _interleave([1] * len(dims), dims)), _interleave(counts, dims))
    return reshape(copies, [a * b for a, b in zip(dims, counts, strict=True)])


@tile.gradient
def _(op: Any, g: Any) -> Any:
    x, repeats = op.args
    dims, counts = _tile_parts(dims_of(x), repeats)
    copies = reshape(g, _interleave(counts, dims))
    return reshape(sum(copies, tuple(range(0, 2 * len(dims), 2))), shape_of(x))


def _interleave(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [item for pair in zip(a, b, strict=True) for item in pair]


@checked
def repeat(x: Any, repeats: Annotated[Sizes, at_least(0)], axis: int | None = None) -> Any:
    """Repeat each element several times in a row.

    Args:
        x: any tensor.
        repeats: how many times: one integer, or one for each element along the axis (either may be a tensor).
        axis: the axis; None to repeat the elements of the flattened tensor.

    Raises:
        ValueError: there are more or fewer integers than elements along the axis.

    Source: `numpy.repeat`.

    Example:
        >>> repeat([1, 2], 2).numpy(), repeat([1, 2], [3, 1]).numpy()
        (array([1, 1, 2, 2], dtype=int32), array([1, 1, 1, 2], dtype=int32))
    """
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    x = shaped(x)
    axis = normalize_axis(axis, len(static_shape(x)))
    dims = dims_of(x)
    given = static_shape(repeats)
    if given in ((), (1,)):  # one number for all
        count = repeats[0] if given else repeats
        copies = broadcast_to(expand_dims(x, axis + 1), [*dims[: axis + 1], count, *dims[axis + 1 :]])
        return reshape(copies, [*dims[:axis], dims[axis] * count, *dims[axis + 1 :]])
    if isinstance(dims[axis], int) and given not in ((dims[axis],), (None,), None):
        problem = f"repeats must be one number or one for each of the {dims[axis]} elements along axis {axis}"
        raise ValueError(f"{problem}, but they have the shape {given}.")
    if isinstance(repeats, (list, tuple, np.ndarray)):
        return gather(x, np.repeat(np.arange(len(repeats), dtype=np.int32), repeats), axis)
    repeats = shaped(repeats)
    counts = cast(repeats, for_positions(repeats.dtype))
    places = iota(expand_dims(sum(counts), 0), counts.dtype)
    return gather(x, searchsorted(cumsum(counts), places, side="right"), axis)


# -- borders ----------------------------------------------------------------------------------------------------------


def _pad_spec(x: RankedSpec, low: Any, high: Any, value: Any = 0) -> TensorSpec:
    if any(n is not None and n < 0 for n in (*low, *high)):
        raise ValueError(f"pad widths must be 0 or more, but they are {low} before and {high} after; slice to cut off.")
    if not len(low) == len(high) == len(x.shape):
        raise ValueError(
            f"there must be a pad width for each of the {len(x.shape)} axes, but they are {low} and {high}."
        )
    parts = zip(low, x.shape, high, strict=True)
    return TensorSpec(tuple(None if None in part else part[0] + part[1] + part[2] for part in parts), x.dtype)


@primitive(
    "PadV2",
    cost="move",
    infer=_pad_spec,
    samples=[
        sample(array(2, 3), (1, 0), (2, 1)),
        sample(array(2, 0), (0, 1), (0, 1), 7.0),
        sample(array(), (), ()),
    ],
)
def _pad(x: Anything, low: Ints, high: Ints, value: Scalar = 0) -> Tensor:
    """A border of one value before and after the elements of each axis."""


@_pad.gradient
def _(op: Any, g: Any) -> Any:
    x, low, *_ = op.args
    ends = [before + dim for before, dim in zip(low, dims_of(x), strict=True)]
    return strided_slice(g, low, ends, (1,) * len(ends))


_SKIPPED = {"reflect": 1, "symmetric": 0}  # how many elements at the edge are not mirrored


def _mirror_pad_spec(x: RankedSpec, paddings: Any, mode: str) -> TensorSpec:
    low, high = zip(*paddings, strict=True) if paddings else ((), ())
    spec = _pad_spec(x, low, high)
    for axis, (dim, pair) in enumerate(zip(x.shape, paddings, strict=True)):
        if dim is not None and any(pair) and max(pair) > dim - _SKIPPED[mode]:
            raise ValueError(f"axis {axis} has {dim} elements, too few to mirror {max(pair)} of them in mode {mode!r}.")
    return spec


@composite(
    "MirrorPad",
    cost="move",
    infer=_mirror_pad_spec,
    samples=[
        sample(array(3, 4), ((2, 1), (0, 3)), "reflect"),
        sample(array(3, 2), ((3, 0), (1, 2)), "symmetric"),
    ],
)
def _mirror_pad(x: Anything, paddings: Sequence[tuple[int, int]], mode: Literal["reflect", "symmetric"]) -> Tensor:
    """A border in which the elements at the edge are mirrored."""
    skip = _SKIPPED[mode]
    for axis, (before, after) in enumerate(paddings):
        dim = dims_of(x)[axis]
        start = flip(along(x, axis, skip, skip + before), axis)
        end = flip(along(x, axis, dim - skip - after, dim - skip), axis)
        x = concatenate([start, x, end], axis)
    return x


@checked
def pad(
    x: Any,
    pad_width: Sizes,
    mode: Literal["constant", "reflect", "symmetric"] = "constant",
    constant_values: Any = 0,
) -> Any:
    """A border around a tensor.

    Args:
        x: any tensor.
        pad_width: the widths before and after each axis: a pair for each, one pair or one number for all.  The numbers
            may be tensors if the mode is "constant".
        mode: "constant"; "reflect": the elements mirrored at the last one; "symmetric": mirrored at the edge.
        constant_values: the number that fills a constant border; it may be a tensor without axes.

    Raises:
        ValueError: a width is negative, or too wide to mirror.
        TypeError: the border is filled with a fraction, but `x` has integers.
        OverflowError: the number that fills it does not fit into the dtype of `x`.

    Source: `numpy.pad`.

    Example:
        >>> pad([1, 2, 3], (1, 2)).numpy()
        array([0, 1, 2, 3, 0, 0], dtype=int32)
        >>> pad([1, 2, 3], (1, 2), "reflect").numpy()
        array([2, 1, 2, 3, 2, 1], dtype=int32)
    """
    x = shaped(x)
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    if len(pad_width) == 2 and not any(isinstance(n, (list, tuple)) or static_shape(n) for n in pad_width):
        pad_width = [pad_width] * len(static_shape(x))
    if mode != "constant":
        return _mirror_pad(x, pad_width, mode)
    low, high = ([pair[i] for pair in pad_width] for i in (0, 1))
    if not is_tensor(constant_values):
        return _pad(x, low, high, _border(constant_values, native_to_dtype(dtype_of(x))))
    if static_shape(constant_values):
        raise op_error(ValueError, "PadV2", f"constant_values must be one number, not {constant_values!r}.")
    return where(_pad(ones_like(x, "bool"), low, high), _pad(x, low, high), cast(constant_values, dtype_of(x)))


def _border(value: Any, dtype: DType) -> Any:
    """The number that fills a border.

    Raises:
        TypeError: the number is a fraction, and the dtype has only integers.
        OverflowError: the number does not fit into the dtype.
    """
    if dtype.is_integer and isinstance(value, float) and not value.is_integer():
        raise TypeError(f'{value} is no {dtype}; cast x first, as in cast(x, "float32").')
    return host.fitted(value, dtype)

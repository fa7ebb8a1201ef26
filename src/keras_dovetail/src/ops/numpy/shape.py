"""Functions that move, repeat, join and cut the numbers of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.calls.static_types import with_ints
from keras_dovetail.src.dtypes import alike, as_tensor, name_of, promoted, widened
from keras_dovetail.src.ops.calls import functions, of_tensor

OF_TENSOR = "broadcast_to flip moveaxis ravel repeat roll size squeeze swapaxes tile transpose"

globals().update(functions(of_tensor, OF_TENSOR))
split = of_tensor(ops.split)
trace = of_tensor(ops.trace, widened)


def concatenate(xs: Any, axis: int | None = 0) -> Any:
    xs = alike(xs)
    return ops.concatenate([ops.ravel(x) for x in xs] if axis is None else xs, 0 if axis is None else axis)


def stack(x: Any, axis: int = 0) -> Any:
    return ops.stack(alike(x), axis)


def _with_rank(x: Any, rank: int) -> Any:
    """A tensor with at least `rank` axes, as from NumPy's `atleast_…`."""
    while len(x.shape) < rank:
        x = ops.expand_dims(x, -1 if len(x.shape) == 2 else 0)
    return x


def vstack(xs: Any) -> Any:
    return ops.concatenate([_with_rank(x, 2) for x in alike(xs)], 0)


def hstack(xs: Any) -> Any:
    xs = [_with_rank(x, 1) for x in alike(xs)]
    return ops.concatenate(xs, 0 if len(xs[0].shape) == 1 else 1)


def dstack(xs: Any) -> Any:
    return ops.concatenate([_with_rank(x, 3) for x in alike(xs)], 2)


def column_stack(xs: Any) -> Any:
    return ops.concatenate([x if len(x.shape) > 1 else ops.reshape(x, (-1, 1)) for x in alike(xs)], 1)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x, indices_or_sections = as_tensor(x), with_ints(indices_or_sections)
    if not isinstance(indices_or_sections, int):
        return ops.split(x, indices_or_sections, axis)
    parts = np.array_split(np.empty(x.shape[axis]), indices_or_sections)
    return ops.split_sizes(x, [len(part) for part in parts], axis)


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    return split(x, indices_or_sections, 0)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    x = as_tensor(x)
    return split(x, indices_or_sections, 0 if len(x.shape) == 1 else 1)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    return split(x, indices_or_sections, 2)


def expand_dims(x: Any, axis: Any) -> Any:
    return ops.expand_dims(as_tensor(x), axis)


def fliplr(x: Any) -> Any:
    return ops.flip(as_tensor(x), 1)


def flipud(x: Any) -> Any:
    return ops.flip(as_tensor(x), 0)


def rot90(array: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    array = as_tensor(array)
    rank = len(array.shape)
    if rank < 2:
        raise ValueError(f"rot90: the tensor must have 2 axes or more, but its shape is {tuple(array.shape)}.")
    if len(axes) != 2 or axes[0] % rank == axes[1] % rank:
        raise ValueError(f"Invalid axes: {axes}. rot90 needs two different axes, such as (0, 1).")
    first, second = axes
    if k % 2:
        array = ops.swapaxes(array, first, second)
    flipped = [[], [first], [first, second], [second]][k % 4]
    return ops.flip(array, flipped) if flipped else array


def pad(x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = None) -> Any:
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}"
        )
    x = as_tensor(x)
    widths = np.broadcast_to(np.asarray(pad_width), (len(x.shape), 2)).tolist()
    return ops.pad(x, widths, mode, 0 if constant_values is None else constant_values)


def reshape(x: Any, newshape: Any) -> Any:
    return ops.reshape(as_tensor(x), newshape)


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    return ops.take(as_tensor(x), _index(indices), axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Any:
    return ops.take_along_axis(as_tensor(x), _index(indices), axis)


def _index(indices: Any) -> Any:
    indices = as_tensor(indices)
    return indices if "int" in str(indices.dtype) else ops.saturate_cast(indices, "int32")


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return ops.diagonal(as_tensor(x), offset, axis1, axis2)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    a = as_tensor(a)
    if name_of(a) != "bool":
        return ops.diff(a, n, axis)
    a = ops.moveaxis(a, axis, -1)
    for _ in range(n):
        a = ops.not_equal(a[..., 1:], a[..., :-1])
    return ops.moveaxis(a, -1, axis)


def ndim(x: Any) -> int:
    return len(as_tensor(x).shape)


def unravel_index(indices: Any, shape: Any) -> Any:
    indices = as_tensor(indices)
    coordinates = []
    for length in reversed(shape):
        coordinates.append(ops.mod(indices, length))
        indices = ops.floor_divide(indices, length)
    return tuple(reversed(coordinates))


def kron(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    rank = max(len(x1.shape), len(x2.shape))
    x1, x2 = (ops.reshape(x, (1,) * (rank - len(x.shape)) + tuple(x.shape)) for x in (x1, x2))
    product = ops.expand_dims(x1, [*range(1, 2 * rank, 2)]) * ops.expand_dims(x2, [*range(0, 2 * rank, 2)])
    return ops.reshape(product, [a * b for a, b in zip(x1.shape, x2.shape, strict=True)])

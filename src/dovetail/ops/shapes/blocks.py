"""Blocks: reading and writing a part of known size whose position may be a tensor, as compiled loops need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Anything, Index, Ints
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import full, zeros_like
from dovetail.ops.shapes.join import stack
from dovetail.ops.shapes.shape import dims_of, shape_of, shaped


def _check_block(x: RankedSpec, start: RankedSpec, size: Any) -> None:
    infer.require_shape(start, (len(x.shape),))
    if len(size) != len(x.shape):
        raise ValueError(f"the size must have one number for each of the {len(x.shape)} axes, but it is {tuple(size)}.")
    if any(None not in (n, dim) and not 0 <= n <= dim for n, dim in zip(size, x.shape, strict=True)):
        raise ValueError(f"a block of the size {tuple(size)} does not fit into the shape {x.shape}.")


def _slice_spec(x: RankedSpec, start: RankedSpec, size: Any) -> TensorSpec:
    _check_block(x, start, size)
    return TensorSpec(tuple(size), x.dtype)


@primitive(
    "Slice",
    cost="move",
    infer=_slice_spec,
    samples=[sample(array(4, 3), ints(2, high=3), (2, 1)), sample(array(4), [9], (2,)), sample(array(2), [0], (0,))],
)
def _slice(x: Anything, start: Index, size: Ints) -> Tensor:
    """The block of a size that starts at a position."""


@_slice.gradient
def _(op: Any, g: Any) -> Any:
    x, start, _ = op.args
    return _slice_update(zeros_like(x, g.dtype), start, g), None


@checked
def slice(x: Any, start_indices: Any, shape: Sequence[Any]) -> Any:
    """The block of a known shape that starts at a position, which may be a tensor.

    Args:
        x: any tensor.
        start_indices: the first index on each axis: a tensor, or a list that may hold tensors.  A block that would
            not lie inside is moved until it does.
        shape: its size on each axis; -1 means all from the start on, for starts that are Python ints.

    Source: `keras.ops.slice`; `jax.lax.dynamic_slice`.

    Example:
        >>> slice([[1, 2, 3], [4, 5, 6]], (0, 1), (2, 2)).numpy()
        array([[2, 3],
               [5, 6]], dtype=int32)
    """
    x = shaped(x)
    if any(type(size) is int and size == -1 for size in shape):
        dims = dims_of(x)
        shape = [dims[i] - start_indices[i] if size == -1 else size for i, size in enumerate(shape)]
    return _slice(x, _position(start_indices), shape)


def _slice_update_spec(x: RankedSpec, start: RankedSpec, updates: RankedSpec) -> TensorSpec:
    _check_block(x, start, updates.shape)
    return x


@primitive(
    "XlaDynamicUpdateSlice",
    cost="move",
    infer=_slice_update_spec,
    samples=[
        sample(array(4, 3), ints(2, high=3), array(2, 1)),
        sample(array(4), [9], array(2)),
        sample(array(2), [0], array(0)),
    ],
)
def _slice_update(x: Anything, start: Index, updates: Anything) -> Tensor:
    """`x` with a block replaced."""


@_slice_update.gradient
def _(op: Any, g: Any) -> Any:
    _, start, updates = op.inputs
    return _slice_update(g, start, zeros_like(updates, g.dtype)), None, _slice(g, start, shape_of(updates))


@checked
def slice_update(x: Any, start_indices: Any, updates: Any) -> Any:
    """`x` with the block that starts at a position replaced.

    Args:
        x: any tensor.
        start_indices: the first index on each axis, as for `slice`.
        updates: the new block, of the rank of `x`.

    Source: `keras.ops.slice_update`; `jax.lax.dynamic_update_slice`.

    Example:
        >>> slice_update([1, 2, 3], [1], [7, 8]).numpy()
        array([1, 7, 8], dtype=int32)
    """
    return _slice_update(x, _position(start_indices), updates)


def _position(indices: Any) -> Any:
    if not isinstance(indices, (list, tuple)):
        return indices
    return stack(indices) if indices else full((0,), 0)

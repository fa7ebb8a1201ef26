"""Rules of batching: the result of an op for arguments of which some have an axis of examples in front.

A rule takes the op, the number of examples and the op's arguments in order; arguments that hold all examples are
`Batch` objects.  It returns a `Batch` (or several).  Each slice of that is the op's result for one example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from dovetail import ops
from dovetail.batching.table import (
    ALONG_AXES,
    REDUCTIONS,
    Batch,
    NotBatchable,
    Rows,
    declare,
    is_first_only,
    is_static,
    leading_axis,
    need,
    rank_of,
)
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.core.op import Op
from dovetail.core.values.shapes import normalize_axis
from dovetail.ops.shapes.index import coordinates, gather

rule = partial(declare, "examples")


# -- arguments --------------------------------------------------------------------------------------------------------


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Batch) or hasattr(x, "shape")


def _with_rank(x: Any, rank: int) -> Any:
    """The tensor, with axes of size 1 behind the axis of examples, so that the other axes broadcast."""
    if not isinstance(x, Batch):
        return x
    return ops.expand_dims(x.value, tuple(range(1, 1 + rank - x.rank))) if x.rank < rank else x.value


def _only_first(x: Any, *others: Any) -> Any:
    """The first argument's values, if all other tensors are the same for all examples."""
    need(is_first_only(x, *others))
    return x.value


def _known(ints: Any) -> Sequence[int]:
    """The integers of a shape; raise `NotBatchable` if some are not known."""
    need(is_static(ints))
    return list(ints)


def _later(axis: Any, rank: int) -> Any:
    """An axis of an example, or several, counted behind the axis of examples."""
    if isinstance(axis, int):
        return normalize_axis(axis, rank) + 1
    return tuple(normalize_axis(a, rank) + 1 for a in axis)


# -- element by element, and over the last axes -----------------------------------------------------------------------


@rule("Cast", "Bitcast", "Complex", "Identity", "StopGradient", "Polygamma")
def elementwise(op: Op[..., Any], size: Any, *args: Any) -> Any:
    rank = max(rank_of(x) for x in args if _is_tensor(x))
    return Batch(op(*[_with_rank(x, rank) if _is_tensor(x) else x for x in args]))


@rule(
    *("MatMul", "Cholesky", "Lu", "Qr", "Svd", "Eig", "SelfAdjointEigV2", "LogMatrixDeterminant", "MatrixInverse"),
    *("MatrixDeterminant", "MatrixSolve", "MatrixTriangularSolve", "FFT", "IFFT", "FFT2D", "IFFT2D", "RFFT", "IRFFT"),
    *("MatrixExponential", "MatrixSquareRoot", "TopKV2"),
)
def _of_last_axes(op: Op[..., Any], size: Any, *args: Any) -> Any:
    """Run an op that takes axes in front as a batch, which broadcasts."""
    rank = max(rank_of(x) for x in args if _is_tensor(x))
    result = op(*[_with_rank(x, rank) if _is_tensor(x) else x for x in args])
    return list(map(Batch, result)) if op.returns_tuple else Batch(result)


@rule("Einsum")
def _(op: Op[..., Any], size: Any, inputs: Any, equation: str) -> Any:
    parts, result = equation.split("->")
    letter = next(c for c in map(chr, chain(range(97, 123), range(65, 91))) if c not in equation)
    marked = [letter * isinstance(x, Batch) + part for x, part in zip(inputs, parts.split(","), strict=True)]
    values = [x.value if isinstance(x, Batch) else x for x in inputs]
    return Batch(op(values, f"{','.join(marked)}->{letter}{result}"))


# -- along axes -------------------------------------------------------------------------------------------------------


@rule(*REDUCTIONS)
def _(op: Op[..., Any], size: Any, x: Batch, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        return Batch(op(x.value, _later(axis, x.rank), keepdims))
    dims = x.value.shape[1:]
    reduced = op(ops.reshape(x.value, (size, -1 if None in dims else math.prod(dims))), 1, False)
    return Batch(ops.reshape(reduced, (size, *(1,) * x.rank)) if keepdims else reduced)


@rule(*ALONG_AXES)
def _(op: Op[..., Any], size: Any, x: Batch, axis: Any, *static: Any) -> Any:
    if axis is None:
        raise NotBatchable
    return Batch(op(x.value, _later(axis, x.rank), *static))


@rule("ConcatV2")
def _(op: Op[..., Any], size: Any, xs: Any, axis: int) -> Any:
    return Batch(op([leading_axis(x, size) for x in xs], _later(axis, rank_of(xs[0]))))


@rule("Pack")
def _(op: Op[..., Any], size: Any, xs: Any, axis: int) -> Any:
    return Batch(op([leading_axis(x, size) for x in xs], _later(axis, rank_of(xs[0]) + 1)))


@rule("ExpandDims")
def _(op: Op[..., Any], size: Any, x: Batch, axis: Any) -> Any:
    added = 1 if isinstance(axis, int) else len(axis)
    return Batch(op(x.value, _later(axis, x.rank + added)))


@rule("OneHot")
def _(op: Op[..., Any], size: Any, x: Batch, num_classes: Any, axis: int, dtype: Any) -> Any:
    return Batch(op(x.value, num_classes, _later(axis, x.rank + 1), dtype))


# -- shapes -----------------------------------------------------------------------------------------------------------


@rule("Shape")
def _(op: Op[..., Any], size: Any, x: Batch) -> Any:
    return op(x.value)[1:]


@rule("Reshape")
def _(op: Op[..., Any], size: Any, x: Batch, shape: Any) -> Any:
    return Batch(op(x.value, (size, *_known(shape))))


@rule("BroadcastTo")
def _(op: Op[..., Any], size: Any, x: Batch, shape: Any) -> Any:
    shape = _known(shape)
    return Batch(op(_with_rank(x, len(shape)), (size, *shape)))


@rule("Transpose")
def _(op: Op[..., Any], size: Any, x: Batch, axes: Any) -> Any:
    axes = range(x.rank)[::-1] if axes is None else axes
    return Batch(op(x.value, (0, *_later(tuple(axes), x.rank))))


@rule("SumLike")
def _(op: Op[..., Any], size: Any, g: Any, like: Any) -> Any:
    inner = g.value.shape[1:] if isinstance(g, Batch) else g.shape
    target = like.value.shape[1:] if isinstance(like, Batch) else like.shape
    if None in inner or None in target:
        raise NotBatchable
    extra = len(inner) - len(target)
    ones = [i + extra for i, dim in enumerate(target) if dim == 1 and inner[i + extra] != 1]
    axes = tuple(i + 1 for i in (*range(extra), *ones))
    batched = leading_axis(g, size)
    return Batch(ops.reshape(ops.sum(batched, axes), (size, *target)) if axes else batched)


@rule("PadV2")
def _(op: Op[..., Any], size: Any, x: Any, low: Any, high: Any, value: Any) -> Any:
    return Batch(op(_only_first(x, low, high), (0, *_known(low)), (0, *_known(high)), value))


# -- slices and positions ---------------------------------------------------------------------------------------------


def _window(begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, shrink: int) -> tuple[Any, ...]:
    """The bounds of a strided slice of each example, as bounds of one slice of all examples."""
    bounds = (0, *_known(begin)), (0, *_known(end)), (1, *_known(strides))
    return (*bounds, begin_mask << 1 | 1, end_mask << 1 | 1, shrink << 1)


@rule("StridedSlice")
def _(op: Op[..., Any], size: Any, x: Any, *where: Any) -> Any:
    return Batch(op(_only_first(x, *where), *_window(*where)))


@rule("StridedSliceGrad")
def _(op: Op[..., Any], size: Any, g: Any, shape: Any, *where: Any) -> Any:
    return Batch(op(_only_first(g, shape, *where), (size, *_known(shape)), *_window(*where)))


@rule("Slice")
def _(op: Op[..., Any], size: Any, x: Any, start: Any, block: Any) -> Any:
    return Batch(op(_only_first(x, start), ops.pad(start, [(1, 0)]), (size, *_known(block))))


@rule("XlaDynamicUpdateSlice")
def _(op: Op[..., Any], size: Any, x: Any, start: Any, updates: Any) -> Any:
    if isinstance(start, Batch):
        raise NotBatchable
    return Batch(op(leading_axis(x, size), ops.pad(start, [(1, 0)]), leading_axis(updates, size)))


@rule("GatherV2")
def _(op: Op[..., Any], size: Any, x: Any, indices: Any, axis: int) -> Any:
    axis = normalize_axis(axis, rank_of(x))
    if not isinstance(x, Batch):
        return Batch(ops.moveaxis(op(x, indices.value, axis), axis, 0))
    if not isinstance(indices, Batch):
        return Batch(op(x.value, indices, axis + 1))
    return Batch(gather(x.value, indices.value, axis + 1, 1))


@rule("GatherNd")
def _(op: Op[..., Any], size: Any, x: Any, indices: Any) -> Any:
    if not isinstance(x, Batch):
        return Batch(op(x, indices.value))
    return Batch(op(x.value, _of_examples(leading_axis(indices, size))))


@rule("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMul", "TensorScatterMax", "TensorScatterMin")
def _(op: Op[..., Any], size: Any, x: Any, indices: Any, updates: Any) -> Any:
    x, indices, updates = (leading_axis(t, size) for t in (x, indices, updates))
    return Batch(op(x, _of_examples(indices), updates))


def _of_examples(indices: Any) -> Any:
    """Positions in each example as positions in the whole batch."""
    (example,) = coordinates(indices[..., 0], 1)
    return ops.concatenate([example[..., None], indices], -1)


# -- windows: the examples join the batch of these ops -----------------------------------------------------------------


@rule("OverlapAdd")
def _(op: Op[..., Any], size: Any, patches: Any, input_sizes: Any, *static: Any) -> Any:
    each, *sizes = _known(input_sizes)
    _only_first(patches)
    return Rows(op(patches.rows, (size * each, *sizes), *static), size, each)


@rule(*CONVOLUTIONS["BackpropInput"])
def _(op: Op[..., Any], size: Any, input_sizes: Any, kernel: Any, g: Any, *static: Any) -> Any:
    each, *sizes = _known(input_sizes)
    _only_first(g, kernel)
    return Rows(op((size * each, *sizes), kernel, g.rows, *static), size, each)

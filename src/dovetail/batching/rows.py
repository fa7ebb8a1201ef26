"""Joined batches: if examples are batches themselves, an op that treats each row alone runs on the rows of all.

The rows of all examples follow each other along the first axis, so the op sees one large batch: composites stay whole,
and libraries run the large batches that they are made for.  A rule by rows raises `NotBatchable` if it cannot be sure
that the op treats rows alone.  Ops in `STARTS` begin to join; other ops go on if an argument is joined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail.batching.table import (
    ALONG_AXES,
    REDUCTIONS,
    RULES,
    Batch,
    NotBatchable,
    Rows,
    Rules,
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

rule = partial(declare, "rows")
POOLS = tuple(f"{kind}Pool{rank}" for kind in ("Avg", "Max") for rank in ("1D", "", "3D"))
RESIZES = ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea", "ScaleAndTranslate")
NORMALIZATIONS = ("BatchNormalization", "LayerNormalization")
STARTS = {"MatMul", "Einsum", "SlidingWindows", "LSTM", "GRU", "GRUResetBefore", "ScaledDotProductAttention"}
STARTS |= {*CONVOLUTIONS[""], *POOLS, *RESIZES, *NORMALIZATIONS}


def joined(op: Op[..., Any], size: Any, args: Sequence[Any]) -> Any:
    """Run an op on the rows of all examples, and return its results, joined.

    Args:
        op: any op.
        size: the number of examples.
        args: in order; arguments that hold all examples are `Batch` objects.

    Raises:
        NotBatchable: with these arguments rows may not be treated alone, or the op does not join batches.
    """
    batches = [x for arg in args for x in (arg if isinstance(arg, (tuple, list)) else [arg]) if isinstance(x, Batch)]
    goes_on = any(isinstance(x, Rows) for x in batches)
    found_rule = _aligned if op.is_elementwise else RULES.get(op.name, Rules()).rows
    if found_rule is None or not (goes_on or op.name in STARTS):
        raise NotBatchable
    need(all(x.rank > 0 for x in batches))
    each, *others = [x.each for x in batches]
    need(all(isinstance(each, int) and other == each for other in others))
    result = op(*map(_rows_of, found_rule(size, each, *args)))
    return [Rows(x, size, each) for x in result] if op.returns_tuple else Rows(result, size, each)


# -- rules ------------------------------------------------------------------------------------------------------------


def _rows_of(arg: Any) -> Any:
    if isinstance(arg, (tuple, list)):
        return type(arg)(map(_rows_of, arg))
    return arg.rows if isinstance(arg, Batch) else arg


def _is_later(axis: Any, rank: int) -> bool:
    """Whether an axis, or each of several, comes behind the axis of rows."""
    axes = (axis,) if isinstance(axis, int) else axis
    return axes is not None and all(normalize_axis(a, rank) != 0 for a in axes)


@rule("Cast", "Identity", "StopGradient")
def _aligned(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    """Check arguments that broadcast: one that is the same for all examples must be the same for all rows."""
    tensors = [x for x in args if isinstance(x, Batch) or hasattr(x, "shape")]
    rank = max(map(rank_of, tensors))
    for x in tensors:
        need(x.rank == rank if isinstance(x, Batch) else len(x.shape) < rank or x.shape[0] == 1)
    return args


@rule("SlidingWindows", *CONVOLUTIONS[""], *POOLS, *RESIZES)
def _(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    need(is_first_only(*args))
    return args


@rule(*NORMALIZATIONS)
def _(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    need(is_first_only(*args) and _is_later(args[-2], args[0].rank))  # args[-2] is the axis
    return args


@rule("LSTM")
def _(size: Any, each: Any, x: Any, h: Any, c: Any, *weights: Any) -> Sequence[Any]:
    need(is_first_only(x, *weights))
    return x, *(Batch(leading_axis(state, size)) for state in (h, c)), *weights


@rule("GRU", "GRUResetBefore")
def _(size: Any, each: Any, x: Any, h: Any, *weights: Any) -> Sequence[Any]:
    need(is_first_only(x, *weights))
    return x, Batch(leading_axis(h, size)), *weights


@rule("ScaledDotProductAttention")
def _(size: Any, each: Any, query: Any, key: Any, value: Any, mask: Any, *static: Any) -> Sequence[Any]:
    need(all(isinstance(x, Batch) and x.rank > 2 for x in (query, key, value)))
    _aligned(size, each, query, key, value, *([] if mask is None else [mask]))
    return query, key, value, mask, *static


@rule("MatMul")
def _(size: Any, each: Any, x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Sequence[Any]:
    if rank_of(x) > 2 or rank_of(y) > 2:
        _aligned(size, each, x, y)
    else:
        need(is_first_only(x, y) and not transpose_a)
    return x, y, transpose_a, transpose_b


@rule("Einsum")
def _(size: Any, each: Any, inputs: Any, equation: str) -> Sequence[Any]:
    parts, result = equation.split("->")
    letter = result[:1]
    need(letter.isalpha() and result.count(letter) == 1)
    for x, part in zip(inputs, parts.split(","), strict=True):
        need(part.count(letter) == isinstance(x, Batch) == part.startswith(letter))
    return inputs, equation


@rule(*REDUCTIONS, *ALONG_AXES)
def _(size: Any, each: Any, x: Any, axis: Any, *static: Any) -> Sequence[Any]:
    need(_is_later(axis, x.rank))
    return x, axis, *static


@rule("ConcatV2")
def _(size: Any, each: Any, xs: Any, axis: int) -> Sequence[Any]:
    need(_is_later(axis, rank_of(xs[0])))
    return [x if isinstance(x, Batch) else Batch(leading_axis(x, size)) for x in xs], axis


@rule("SplitV", "Unpack")
def _(size: Any, each: Any, x: Any, sizes: Any, axis: int) -> Sequence[Any]:
    need(is_first_only(x, sizes) and _is_later(axis, x.rank))
    return x, sizes, axis


@rule("ExpandDims")
def _(size: Any, each: Any, x: Any, axis: Any) -> Sequence[Any]:
    need(_is_later(axis, x.rank + (1 if isinstance(axis, int) else len(axis))))
    return x, axis


@rule("Transpose")
def _(size: Any, each: Any, x: Any, axes: Any) -> Sequence[Any]:
    need(axes is not None and axes[0] % x.rank == 0)
    return x, axes


@rule("Reshape")
def _(size: Any, each: Any, x: Any, shape: Any) -> Sequence[Any]:
    need(is_static(shape) and len(shape) > 0 and is_first_only(x) and None not in x.rows.shape[1:])
    first, *rest = shape
    need(first == each or (first == -1 and math.prod(rest) == math.prod(x.rows.shape[1:])))
    return x, (size * each, *rest)


@rule("BroadcastTo")
def _(size: Any, each: Any, x: Any, shape: Any) -> Sequence[Any]:
    need(is_static(shape) and is_first_only(x) and len(shape) == x.rank and shape[0] == each)
    return x, (size * each, *shape[1:])


@rule("PadV2")
def _(size: Any, each: Any, x: Any, low: Any, high: Any, value: Any) -> Sequence[Any]:
    need(is_first_only(x, low, high, value) and low[0] == high[0] == 0)
    return x, low, high, value


@rule("StridedSlice")
def _(size: Any, each: Any, x: Any, begin: Any, end: Any, strides: Any, *masks: int) -> Sequence[Any]:
    begin_mask, end_mask, shrink = masks
    need(is_first_only(x, begin, end, strides) and bool(begin_mask & end_mask & 1) and not shrink & 1)
    need(strides[0] == 1)
    return x, begin, end, strides, *masks


@rule("GatherV2")
def _(size: Any, each: Any, x: Any, indices: Any, axis: int) -> Sequence[Any]:
    """Gather rows of a table that all examples share, as in an embedding."""
    need(isinstance(indices, Batch) and not isinstance(x, Batch) and normalize_axis(axis, len(x.shape)) == 0)
    return x, indices, axis

"""Joined batches: if examples are batches themselves, an op that treats each row alone runs on the rows of all.

The rows of all examples follow each other along the first axis, so the op sees one large batch: composites stay whole,
and libraries run the large batches that they are made for.  A rule of `ROWS` takes the arguments of an op and returns
the arguments for the rows of all examples.  It raises `NotBatchable` if it cannot be sure that rows are treated alone.
Ops in `STARTS` begin to join; other ops go on if an argument is joined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from dovetail import ops
from dovetail.core.infer import normalize_axis
from dovetail.core.op import Op
from dovetail.core.windows import CONVOLUTIONS
from dovetail.ops.shapes.shape import dims_of

Rule = Callable[..., Sequence[Any]]
ROWS: dict[str, Rule] = {}
POOLS = tuple(f"{kind}Pool{rank}" for kind in ("Avg", "Max") for rank in ("1D", "", "3D"))
RESIZES = ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea", "ScaleAndTranslate")
NORMALIZATIONS = ("BatchNormalization", "LayerNormalization")
STARTS = {"MatMul", "Einsum", "SlidingWindows", "LSTM", "GRU", "ScaledDotProductAttention"}
STARTS |= {*CONVOLUTIONS[""], *POOLS, *RESIZES, *NORMALIZATIONS}


class NotBatchable(Exception):
    """An error: a rule does not know these arguments."""


class Batch:
    """The values of all examples.

    Attributes:
        value: a tensor with the examples along its first axis.
        rank: the rank of one example's value.
        each: the number of rows of an example.
        rows: the rows of all examples, one after another.
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def value(self) -> Any:
        return self._value

    @property
    def rank(self) -> int:
        return len(self._value.shape) - 1

    @property
    def each(self) -> Any:
        return dims_of(self._value)[1]

    @cached_property
    def rows(self) -> Any:
        size, each, *rest = dims_of(self._value)
        return ops.reshape(self._value, (size * each, *rest))


class Rows(Batch):
    """Values as rows, one after another; they are split into examples only if an op needs these."""

    def __init__(self, rows: Any, size: Any, each: Any) -> None:
        self.rows, self._size, self._each = rows, size, each

    @cached_property
    def value(self) -> Any:
        return ops.reshape(self.rows, (self._size, self._each, *dims_of(self.rows)[1:]))

    @property
    def rank(self) -> int:
        return len(self.rows.shape)

    @property
    def each(self) -> Any:
        return self._each


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
    rule = _aligned if op.is_elementwise else ROWS.get(op.name)
    if rule is None or not (goes_on or op.name in STARTS):
        raise NotBatchable
    _need(all(x.rank > 0 for x in batches))
    each, *others = [x.each for x in batches]
    _need(all(isinstance(each, int) and other == each for other in others))
    found = op(*map(_rows_of, rule(size, each, *args)))
    return [Rows(x, size, each) for x in found] if op.returns_tuple else Rows(found, size, each)


def leading_axis(x: Any, size: Any) -> Any:
    """A tensor with the axis of examples; a tensor without it is repeated for each example."""
    return x.value if isinstance(x, Batch) else ops.broadcast_to(x, (size, *dims_of(ops.identity(x))))


# -- rules ------------------------------------------------------------------------------------------------------------


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorate a function as the rule of some ops."""

    def declare(function: Rule) -> Rule:
        ROWS.update(dict.fromkeys(names, function))
        return function

    return declare


def _need(condition: bool) -> None:
    if not condition:
        raise NotBatchable


def _rows_of(arg: Any) -> Any:
    if isinstance(arg, (tuple, list)):
        return type(arg)(map(_rows_of, arg))
    return arg.rows if isinstance(arg, Batch) else arg


def _is_first_only(x: Any, *others: Any) -> bool:
    return isinstance(x, Batch) and not any(isinstance(other, Batch) for other in others)


def _rank(x: Any) -> int:
    return x.rank if isinstance(x, Batch) else len(x.shape)


def _is_later(axis: Any, rank: int) -> bool:
    """Whether an axis, or each of several, comes behind the axis of rows."""
    axes = (axis,) if isinstance(axis, int) else axis
    return axes is not None and all(normalize_axis(a, rank) != 0 for a in axes)


def _is_static(ints: Any) -> bool:
    return isinstance(ints, (tuple, list)) and all(isinstance(i, int) for i in ints)


@rule("Cast", "Identity", "StopGradient")
def _aligned(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    """Check arguments that broadcast: one that is the same for all examples must be the same for all rows."""
    tensors = [x for x in args if isinstance(x, Batch) or hasattr(x, "shape")]
    rank = max(map(_rank, tensors))
    for x in tensors:
        _need(x.rank == rank if isinstance(x, Batch) else len(x.shape) < rank or x.shape[0] == 1)
    return args


@rule("SlidingWindows", *CONVOLUTIONS[""], *POOLS, *RESIZES)
def _(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    _need(_is_first_only(*args))
    return args


@rule(*NORMALIZATIONS)
def _(size: Any, each: Any, *args: Any) -> Sequence[Any]:
    _need(_is_first_only(*args) and _is_later(args[-2], args[0].rank))  # args[-2] is the axis
    return args


@rule("LSTM")
def _(size: Any, each: Any, x: Any, h: Any, c: Any, *weights: Any) -> Sequence[Any]:
    _need(_is_first_only(x, *weights))
    return x, *(Batch(leading_axis(state, size)) for state in (h, c)), *weights


@rule("GRU")
def _(size: Any, each: Any, x: Any, h: Any, *weights: Any) -> Sequence[Any]:
    _need(_is_first_only(x, *weights))
    return x, Batch(leading_axis(h, size)), *weights


@rule("ScaledDotProductAttention")
def _(size: Any, each: Any, query: Any, key: Any, value: Any, mask: Any, *static: Any) -> Sequence[Any]:
    _need(all(isinstance(x, Batch) and x.rank > 2 for x in (query, key, value)))
    _aligned(size, each, query, key, value, *([] if mask is None else [mask]))
    return query, key, value, mask, *static


@rule("MatMul")
def _(size: Any, each: Any, x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Sequence[Any]:
    if _rank(x) > 2 or _rank(y) > 2:
        _aligned(size, each, x, y)
    else:
        _need(_is_first_only(x, y) and not transpose_a)
    return x, y, transpose_a, transpose_b


@rule("Einsum")
def _(size: Any, each: Any, inputs: Any, equation: str) -> Sequence[Any]:
    parts, result = equation.split("->")
    letter = result[:1]
    _need(letter.isalpha() and result.count(letter) == 1)
    for x, part in zip(inputs, parts.split(","), strict=True):
        _need(part.count(letter) == isinstance(x, Batch) == part.startswith(letter))
    return inputs, equation


@rule("Sum", "Prod", "Max", "Min", "Mean", "Any", "All", "ArgMax", "ArgMin", "LogSumExp", "EuclideanNorm")
@rule("Cumsum", "Cumprod", "CumulativeLogsumexp", "Sort", "ArgSort", "Softmax", "LogSoftmax", "ReverseV2", "Squeeze")
def _(size: Any, each: Any, x: Any, axis: Any, *static: Any) -> Sequence[Any]:
    _need(_is_later(axis, x.rank))
    return x, axis, *static


@rule("ConcatV2")
def _(size: Any, each: Any, xs: Any, axis: int) -> Sequence[Any]:
    _need(_is_later(axis, _rank(xs[0])))
    return [x if isinstance(x, Batch) else Batch(leading_axis(x, size)) for x in xs], axis


@rule("SplitV", "Unpack")
def _(size: Any, each: Any, x: Any, sizes: Any, axis: int) -> Sequence[Any]:
    _need(_is_first_only(x, sizes) and _is_later(axis, x.rank))
    return x, sizes, axis


@rule("ExpandDims")
def _(size: Any, each: Any, x: Any, axis: Any) -> Sequence[Any]:
    _need(_is_later(axis, x.rank + (1 if isinstance(axis, int) else len(axis))))
    return x, axis


@rule("Transpose")
def _(size: Any, each: Any, x: Any, axes: Any) -> Sequence[Any]:
    _need(axes is not None and axes[0] % x.rank == 0)
    return x, axes


@rule("Reshape")
def _(size: Any, each: Any, x: Any, shape: Any) -> Sequence[Any]:
    _need(_is_static(shape) and len(shape) > 0 and _is_first_only(x) and None not in x.rows.shape[1:])
    first, *rest = shape
    _need(first == each or (first == -1 and math.prod(rest) == math.prod(x.rows.shape[1:])))
    return x, (size * each, *rest)


@rule("BroadcastTo")
def _(size: Any, each: Any, x: Any, shape: Any) -> Sequence[Any]:
    _need(_is_static(shape) and _is_first_only(x) and len(shape) == x.rank and shape[0] == each)
    return x, (size * each, *shape[1:])


@rule("PadV2")
def _(size: Any, each: Any, x: Any, low: Any, high: Any, value: Any) -> Sequence[Any]:
    _need(_is_first_only(x, low, high, value) and low[0] == high[0] == 0)
    return x, low, high, value


@rule("StridedSlice")
def _(size: Any, each: Any, x: Any, begin: Any, end: Any, strides: Any, *masks: int) -> Sequence[Any]:
    begin_mask, end_mask, shrink = masks
    _need(_is_first_only(x, begin, end, strides) and bool(begin_mask & end_mask & 1) and not shrink & 1)
    _need(strides[0] == 1)
    return x, begin, end, strides, *masks


@rule("GatherV2")
def _(size: Any, each: Any, x: Any, indices: Any, axis: int) -> Sequence[Any]:
    """Gather rows of a table that all examples share, as in an embedding."""
    _need(isinstance(indices, Batch) and not isinstance(x, Batch) and normalize_axis(axis, len(x.shape)) == 0)
    return x, indices, axis

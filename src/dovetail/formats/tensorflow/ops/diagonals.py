"""Diagonals of matrices: Diag, DiagPart, MatrixDiag, MatrixDiagPart, MatrixSetDiag, MatrixBandPart, later versions."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.tensorflow.ops.shapes import element, scalar
from dovetail.formats.tensorflow.table import row, rows
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("MatrixDiag MatrixDiagPart: x")


@row("MatrixBandPart: x lower upper")
def banded(x: Any, lower: Any, upper: Any) -> Any:
    """Matrices with zeros outside of a band; a negative number keeps that side whole.

    In a graph of sessions, a constant number is computed with, since it can be fed and edited.
    """
    in_session = type(x) is GraphTensor and x.graph.outermost.dialect.records_effects
    known = [None if is_tensor(n) and in_session else constant_of(n) if is_tensor(n) else n for n in (lower, upper)]
    bounds = [n if value is None else int(value) for n, value in zip((lower, upper), known, strict=True)]
    if all(isinstance(bound, int) for bound in bounds):
        return OPS["MatrixBandPart"](x, *(None if bound < 0 else bound for bound in bounds))
    rows, columns = (ops.arange(size) for size in dims_of(x)[-2:])
    below = ops.expand_dims(rows, -1) - columns
    near = (
        ops.logical_or(ops.less(bound, 0), ops.less_equal(distance, ops.cast(bound, "int32")))
        for bound, distance in zip(bounds, (below, -below), strict=True)
    )
    return ops.where(ops.logical_and(*near), x, ops.zeros_like(x))


@row("Diag: x")
def _(x: Any) -> Any:
    dims = dims_of(x)
    return ops.reshape(OPS["MatrixDiag"](ops.reshape(x, [-1])), [*dims, *dims])


@row("DiagPart: x")
def _(x: Any) -> Any:
    dims = dims_of(x)[: rank_of(x) // 2]
    size = ops.prod(ops.convert(dims, dtype="int32"))
    return ops.reshape(OPS["MatrixDiagPart"](ops.reshape(x, [size, size])), dims)


def _smaller(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ops.minimum(a, b)


def larger(a: Any, b: Any) -> Any:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else ops.maximum(a, b)


def _offset(k: Any, rows: Any, columns: Any, longest: Any, align: str) -> tuple[Any, Any]:
    """The lengths of diagonals, and where their elements begin in rows of the length of the longest."""
    length = ops.minimum(rows + ops.minimum(k, 0), columns - ops.maximum(k, 0))
    above, below = (side == "LEFT" for side in align.split("_"))
    is_left = ops.logical_or(ops.logical_and(k >= 0, above), ops.logical_and(k <= 0, below))
    return length, ops.where(is_left, 0, longest - length)


def _bounds(k: Any) -> tuple[Any, Any, bool | None]:
    """The lowest and the highest diagonal, and whether they are one: None if a run says it."""
    if is_tensor(k) and k.shape in ((), (1,)):
        one = ops.reshape(k, ())
        return one, one, True
    k = ops.reshape(k, [-1]) if is_tensor(k) else [k] if isinstance(k, int) else k
    low, high = element(k, 0), element(k, -1)
    return low, high, low == high if isinstance(low, int) and isinstance(high, int) else None


def _either(is_first: Any, first: Any, second: Any) -> Any:
    return (first if is_first else second) if isinstance(is_first, bool) else ops.where(is_first, first, second)


@row(
    "MatrixDiagPartV2: x k? padding; +align=LEFT_LEFT",
    "MatrixDiagPartV3: x k? padding; align",
)
def diagonals_of(x: Any, k: Any, padding: Any, align: str) -> Any:
    """A diagonal of matrices, or several as rows of one length."""
    (low, high, is_one), (*batch, rows, columns) = _bounds(k), dims_of(x)
    longest = _smaller(rows + _smaller(high, 0), columns - larger(low, 0))
    diagonals = ops.expand_dims(high - ops.arange(high - low + 1, dtype="int32"), -1)
    length, offset = _offset(diagonals, rows, columns, longest, align)
    number = ops.arange(longest, dtype="int32") - offset  # (diagonals, longest): the element of a diagonal
    is_inside = ops.logical_and(number >= 0, number < length)
    place = (number + ops.maximum(-diagonals, 0)) * columns + number + ops.maximum(diagonals, 0)
    flat = ops.reshape(x, [*batch, rows * columns])
    rows_of_diagonals = OPS["GatherV2"](flat, ops.where(is_inside, place, 0), len(batch))
    rows_of_diagonals = ops.where(is_inside, rows_of_diagonals, padding)
    if is_one is None:
        dims = ops.shape(rows_of_diagonals)
        kept = dims[len(batch) + ops.cast(ops.equal(low, high), "int32") :]
        return ops.reshape(rows_of_diagonals, ops.concatenate([dims[: len(batch)], kept], 0))
    return ops.reshape(rows_of_diagonals, [*batch, longest]) if is_one else rows_of_diagonals


@row(
    "MatrixSetDiag: x diagonal; +align=RIGHT_LEFT",
    "MatrixSetDiagV2: x diagonal k?; +align=LEFT_LEFT",
    "MatrixSetDiagV3: x diagonal k?; align",
)
def with_diagonals(x: Any, diagonal: Any, align: str, k: Any = 0) -> Any:
    """Matrices with other diagonals."""
    (low, high, _), (*batch, rows, columns) = _bounds(k), dims_of(x)
    longest = ops.shape(diagonal)[-1] if diagonal.shape is None else dims_of(diagonal)[-1]
    below = ops.expand_dims(ops.arange(rows, dtype="int32"), -1)
    right = ops.arange(columns, dtype="int32")
    distance = right - below
    _, offset = _offset(distance, rows, columns, longest, align)
    place = (high - distance) * longest + ops.minimum(below, right) + offset
    is_inside = ops.logical_and(distance >= low, distance <= high)
    flat = ops.reshape(diagonal, [*batch, (high - low + 1) * longest])
    return ops.where(is_inside, OPS["GatherV2"](flat, ops.where(is_inside, place, 0), len(batch)), x)


@row(
    "MatrixDiagV2: diagonal k? rows? columns? padding; +align=LEFT_LEFT",
    "MatrixDiagV3: diagonal k? rows? columns? padding; align",
)
def of_diagonals(diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any, align: str) -> Any:
    """Matrices of one diagonal each, or of several."""
    (low, high, is_one), rows, columns = _bounds(k), scalar(rows), scalar(columns)
    is_open = is_one is None or diagonal.shape is None  # the rank of the result depends on values
    dims = ops.shape(diagonal) if is_open else dims_of(diagonal)
    longest = dims[-1]
    least = longest - _smaller(high, 0), longest + larger(low, 0)
    square = larger(*least)
    size = [
        _either(given >= 0, given, _either(other < 0, square, own))
        for given, other, own in ((rows, columns, least[0]), (columns, rows, least[1]))
    ]
    if not is_open:
        batch = dims[: -1 if is_one else -2]
        return with_diagonals(ops.broadcast_to(padding, [*batch, *size]), diagonal, align, k)
    count = ops.size(diagonal) // ((high - low + 1) * longest)
    matrices = with_diagonals(ops.broadcast_to(padding, [count, *size]), diagonal, align, k)
    before = dims[: ops.size(dims) - 2 + ops.cast(ops.equal(low, high), "int32")]
    return ops.reshape(matrices, ops.concatenate([before, ops.shape(matrices)[1:]], 0))

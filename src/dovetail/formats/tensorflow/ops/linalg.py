"""Matrices, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.tensorflow.ops.shapes import element, scalar
from dovetail.formats.tensorflow.table import row
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of


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
    dims = dims_of(x)[: len(x.shape) // 2]
    size = ops.prod(ops.convert(dims, dtype="int32"))
    return ops.reshape(OPS["MatrixDiagPart"](ops.reshape(x, [size, size])), dims)


@row("Cross: x y")
def _(x: Any, y: Any) -> Any:
    shifted = [(ops.roll(x, -a, -1), ops.roll(y, -b, -1)) for a, b in ((1, 2), (2, 1))]
    return shifted[0][0] * shifted[0][1] - shifted[1][0] * shifted[1][1]


@row(
    "BatchMatMul BatchMatMulV2: x y; adj_x adj_y grad_x grad_y",
    "BatchMatMulV3: x y; adj_x adj_y Tout>0 grad_x grad_y",
)
def _(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    pairs = (x, adj_x), (y, adj_y)
    x, y = (OPS["Conj"](value) if adjoint and value.dtype.is_complex else value for value, adjoint in pairs)
    return OPS["MatMul"](x, y, adj_x, adj_y)


@row("SparseMatMul: x y; transpose_a transpose_b a_is_sparse b_is_sparse")
def _(x: Any, y: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    x, y = (ops.cast(one, "float32") for one in (x, y))
    return OPS["MatMul"](x, y, transpose_a, transpose_b)


@row("XlaEinsum: x y; equation")
def _(x: Any, y: Any, equation: str) -> Any:
    return OPS["Einsum"]([x, y], equation)


# -- decompositions ---------------------------------------------------------------------------------------------------


@row("Qr: x; full_matrices")
def _(x: Any, full_matrices: bool = False) -> Any:
    return OPS["Qr"](x, "complete" if full_matrices else "reduced")


@row("Svd: x; compute_uv full_matrices")
def _(x: Any, compute_uv: bool = True, full_matrices: bool = False) -> list[Any]:
    parts = OPS["Svd"](x, full_matrices, compute_uv)
    if not compute_uv:
        nothing = ops.zeros([0], x.dtype)
        return [parts[0] if isinstance(parts, (list, tuple)) else parts, nothing, nothing]
    u, s, vh = parts
    return [s, u, ops.swapaxes(OPS["Conj"](vh) if x.dtype.is_complex else vh, -1, -2)]


@row("Eig: x; compute_v=True Tout>0")
def _(x: Any) -> Any:
    return OPS["Eig"](x)


@row("Lu: x; output_idx_type>1")
def _(x: Any) -> list[Any]:
    """The factors, and the rows of x in their order, from the exchanges of rows."""
    lu, pivots = OPS["Lu"](x)
    *batch, rows, _ = dims_of(x)
    numbers = ops.broadcast_to(ops.arange(rows, dtype="int32"), [*batch, rows])

    def exchanged(i: Any, order: Any) -> Any:
        other = ops.expand_dims(OPS["GatherV2"](pivots, i, len(batch)), -1)
        here = ops.expand_dims(OPS["GatherV2"](order, i, len(batch)), -1)
        there = ops.take_along_axis(order, other, -1)
        return ops.where(ops.equal(numbers, i), there, ops.where(ops.equal(numbers, other), here, order))

    return [lu, ops.fori_loop(0, dims_of(pivots)[-1], exchanged, numbers)]


# -- diagonals --------------------------------------------------------------------------------------------------------


def _smaller(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ops.minimum(a, b)


def _larger(a: Any, b: Any) -> Any:
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
    longest = _smaller(rows + _smaller(high, 0), columns - _larger(low, 0))
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
    least = longest - _smaller(high, 0), longest + _larger(low, 0)
    square = _larger(*least)
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


# -- bands -----------------------------------------------------------------------------------------------------------


def _shifted(diagonal: Any, offset: int) -> Any:
    """Matrices whose row i has the element i of a diagonal, `offset` columns right of the main one."""
    return ops.roll(ops.matrix_diag(diagonal), offset, -1)


@row("TridiagonalSolve: diagonals rhs; partial_pivoting=True perturb_singular=False")
def _(diagonals: Any, rhs: Any) -> Any:
    """By whole matrices, with exchanges of rows."""
    above, main, below = (diagonals[..., k, :] for k in range(3))
    matrix = ops.triu(_shifted(above, 1), 1) + ops.matrix_diag(main) + ops.tril(_shifted(below, -1), -1)
    return ops.solve(matrix, rhs)


@row("TridiagonalMatMul: superdiag maindiag subdiag rhs")
def _(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Any:
    above, main, below = (ops.swapaxes(one, -1, -2) for one in (superdiag, maindiag, subdiag))
    edge = ops.zeros_like(rhs[..., :1, :])
    up = ops.concatenate([rhs[..., 1:, :] * above[..., :-1, :], edge], -2)
    return main * rhs + up + ops.concatenate([edge, rhs[..., :-1, :] * below[..., 1:, :]], -2)


@row("BandedTriangularSolve: bands rhs; lower adjoint")
def _(bands: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """By whole matrices; the first band is the main diagonal, or the last one of an upper triangle."""
    *batch, count, n = dims_of(bands)
    numbers = ops.arange(n, dtype="int32")
    down = ops.expand_dims(numbers, -1)
    distance = down - numbers if lower else numbers - down
    is_inside = ops.logical_and(distance >= 0, distance < count)
    place = (distance if lower else count - 1 - distance) * n + down
    flat = ops.reshape(bands, [*batch, count * n])
    elements = OPS["GatherV2"](flat, ops.where(is_inside, place, 0), len(batch))
    matrix = ops.where(is_inside, elements, ops.zeros([], bands.dtype))
    return OPS["MatrixTriangularSolve"](matrix, rhs, lower, adjoint)


# -- Fourier transforms -----------------------------------------------------------------------------------------------


_RANKS = (("", 1), ("2D", 2), ("3D", 3))


@row(*(f"RFFT{name}: x length?; Tcomplex>0 +rank={rank}" for name, rank in _RANKS))
def _(x: Any, length: Any, rank: int) -> Any:
    *others, last = (element(length, i) for i in range(rank))
    for axis, size in enumerate(others, -rank):
        x = _of_length(x, axis, size)
    if not isinstance(last, int):
        x, last = _of_length(x, -1, last), None
    return _along(OPS["FFT"], OPS["RFFT"](x, last), range(-rank, -1))


@row(*(f"IRFFT{name}: x length?; Treal>0 +rank={rank}" for name, rank in _RANKS))
def _(x: Any, length: Any, rank: int) -> Any:
    *others, last = (element(length, i) for i in range(rank))
    for axis, size in enumerate(others, -rank):
        x = _of_length(x, axis, size)
    transform: Any = OPS["IRFFT"] if isinstance(last, int) else OPS["IRFFT"].body
    return transform(_along(OPS["IFFT"], x, range(-rank, -1)), last)


@row("FFT3D: x")
def _(x: Any) -> Any:
    return _along(OPS["FFT"], x, (-1, -2, -3))


@row("IFFT3D: x")
def _(x: Any) -> Any:
    return _along(OPS["IFFT"], x, (-1, -2, -3))


@row("FFTND: x length! axes!; +inverse=False", "IFFTND: x length! axes!; +inverse=True")
def _(x: Any, length: Sequence[int], axes: Sequence[int], inverse: bool) -> Any:
    return _along(OPS["IFFT" if inverse else "FFT"], _of_lengths(x, length, axes), axes)


@row("RFFTND: x length! axes!; Tcomplex>0")
def _(x: Any, length: Sequence[int], axes: Sequence[int]) -> Any:
    x = _of_lengths(x, length[:-1], axes[:-1])
    spectrum = _along(lambda one: OPS["RFFT"](one, length[-1]), x, axes[-1:])
    return _along(OPS["FFT"], spectrum, axes[:-1])


@row("IRFFTND: x length! axes!; Treal>0")
def _(x: Any, length: Sequence[int], axes: Sequence[int]) -> Any:
    x = _along(OPS["IFFT"], _of_lengths(x, length[:-1], axes[:-1]), axes[:-1])
    return _along(lambda one: OPS["IRFFT"](one, length[-1]), x, axes[-1:])


def _of_lengths(x: Any, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    for axis, size in zip(axes, lengths, strict=True):
        x = _of_length(x, axis - len(x.shape) if axis >= 0 else axis, size)
    return x


def _along(transform: Callable[[Any], Any], x: Any, axes: Any) -> Any:
    for axis in axes:
        x = ops.swapaxes(transform(ops.swapaxes(x, axis, -1)), axis, -1)
    return x


def _of_length(x: Any, axis: int, size: Any) -> Any:
    """An axis cut to a length, or filled with zeros."""
    rank, old = len(x.shape), dims_of(x)[axis]
    spare = [0] * rank
    spare[axis] = _larger(size - old, 0)
    x = OPS["PadV2"](x, [0] * rank, spare)
    return x[(..., slice(size), *[slice(None)] * (-1 - axis))]

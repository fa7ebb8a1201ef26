"""Matrices: MatMul, Einsum, MatrixInverse, MatrixSolve, Cholesky, Qr, Svd, SelfAdjointEigV2, Lu, TridiagonalSolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

rows("""
MatMul: x y; transpose_a transpose_b grad_a grad_b
Einsum: inputs*; equation
Cholesky MatrixDeterminant LogMatrixDeterminant MatrixSquareRoot: x
MatrixInverse: x; adjoint=False
MatrixSolve: matrix rhs; adjoint
MatrixTriangularSolve: matrix rhs; lower adjoint
SelfAdjointEigV2: x; compute_v
Qr: x; full_matrices:mode@complete
Eig: x; compute_v=True Tout>0
""")


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


@row("ConjugateTranspose: x axes!")
def _(x: Any, axes: Any) -> Any:
    turned = OPS["Transpose"](x, axes)
    return OPS["Conj"](turned) if x.dtype.is_complex else turned


@row("SparseMatMul: x y; transpose_a transpose_b a_is_sparse b_is_sparse")
def _(x: Any, y: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    x, y = (ops.cast(one, "float32") for one in (x, y))
    return OPS["MatMul"](x, y, transpose_a, transpose_b)


@row("XlaEinsum: x y; equation")
def _(x: Any, y: Any, equation: str) -> Any:
    return OPS["Einsum"]([x, y], equation)


# -- decompositions ---------------------------------------------------------------------------------------------------


@row("Svd: x; compute_uv full_matrices")
def _(x: Any, compute_uv: bool = True, full_matrices: bool = False) -> list[Any]:
    parts = OPS["Svd"](x, full_matrices, compute_uv)
    if not compute_uv:
        nothing = ops.zeros([0], x.dtype)
        return [parts[0] if isinstance(parts, (list, tuple)) else parts, nothing, nothing]
    u, s, vh = parts
    return [s, u, ops.swapaxes(OPS["Conj"](vh) if x.dtype.is_complex else vh, -1, -2)]


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


# -- bands ------------------------------------------------------------------------------------------------------------


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


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("MatMul", lambda operation: any(rank_of(t) != 2 for t in operation.inputs))
def _matmul(place: Place, x: Ref, y: Ref, transpose_a: bool, transpose_b: bool) -> list[Ref]:
    """The adjoint of the conjugate is the transpose."""
    if place.operation.outputs[0].dtype.is_complex:
        x, y = (place.node("Conj", z) if is_turned else z for z, is_turned in ((x, transpose_a), (y, transpose_b)))
    return place.result("BatchMatMulV2", x, y, adj_x=transpose_a, adj_y=transpose_b)


@writes("Svd")
def _svd(place: Place, x: Ref, full_matrices: bool, compute_uv: bool) -> list[Ref]:
    """The singular vectors in Dovetail's order, and the singular values as real numbers."""
    matrix = place.operation.inputs[0].spec
    s, u, v = place.several("Svd", x, dtypes=[x.dtype] * 3, compute_uv=compute_uv, full_matrices=full_matrices)
    s = place.node("Real", s, dtype=place.real, Tout=place.real) if matrix.dtype.is_complex else s
    if not compute_uv:
        return place.results([s])
    (adjoint,) = place.computed(lambda v: ops.conj(ops.swapaxes(v, -1, -2)), (v, matrix))
    return place.results([u, s, adjoint])


@writes("SelfAdjointEigV2", lambda operation: operation.inputs[0].dtype.is_complex or not operation.attrs["compute_v"])
def _eigh(place: Place, x: Ref, compute_v: bool) -> list[Ref]:
    w, v = place.several("SelfAdjointEigV2", x, dtypes=[x.dtype] * 2, compute_v=compute_v)
    w = place.node("Real", w, dtype=place.real, Tout=place.real) if place.operation.inputs[0].dtype.is_complex else w
    return place.results([w, v] if compute_v else [w])


@writes("LogMatrixDeterminant", lambda operation: operation.inputs[0].dtype.is_complex)
def _log_determinant(place: Place, x: Ref) -> list[Ref]:
    sign, size = place.several("LogMatrixDeterminant", x, dtypes=[x.dtype] * 2)
    return place.results([sign, place.node("Real", size, dtype=place.real, Tout=place.real)])


@writes("Lu")
def _lu(place: Place, x: Ref) -> list[Ref]:
    """LAPACK's exchanges of rows, found from TensorFlow's permutation."""
    lu, order = place.several("Lu", x, dtypes=[x.dtype, "int32"], output_idx_type=as_dtype("int32"))
    *batch, rows, count = place.shapes[0]

    def exchanges(order: Any) -> Any:
        places, swaps = OPS["Iota"](rows), []
        now = ops.zeros_like(order) + places
        for i in range(count):
            at = ops.cast(ops.argmax(ops.equal(now, order[..., i : i + 1]), -1), "int32")
            swaps.append(at)
            now = ops.where(ops.equal(places, ops.expand_dims(at, -1)), now[..., i : i + 1], now)
            now = ops.where(ops.equal(places, i), -1, now)
        return ops.stack(swaps, -1)

    pivots = place.computed(exchanges, (order, TensorSpec((*batch, rows), as_dtype("int32"))))
    return place.results([lu, *pivots])


@body("Einsum", lambda operation: len(operation.inputs) > 2)
def _einsum(op: Any, inputs: Sequence[Any], equation: str) -> Any:
    """A sum over more than two tensors: one after the other."""
    parts, result = equation.replace(" ", "").split("->")
    letters, *others = parts.split(",")
    product, *rest = inputs
    for number, (x, part) in enumerate(zip(rest, others, strict=True)):
        later = {*result, *"".join(others[number + 1 :])}
        kept = "".join(dict.fromkeys(c for c in letters + part if c in later)) if number + 1 < len(rest) else result
        product, letters = op([product, x], f"{letters},{part}->{kept}"), kept
    return product


@body("MatrixSolve", lambda operation: known_dims(operation.inputs[0])[:-2] != known_dims(operation.inputs[1])[:-2])
def _solve(op: Any, matrix: Any, rhs: Any, adjoint: bool) -> Any:
    shapes = [ops.zeros(dims_of(x)[:-2]) for x in (matrix, rhs)]
    batch = dims_of(ops.add(*shapes))
    return op(*(ops.broadcast_to(x, [*batch, *dims_of(x)[-2:]]) for x in (matrix, rhs)), adjoint)

"""Matrices: MatMul, Gemm, Einsum, Det, Trilu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.bodies import of
from dovetail.formats.nodes.constants import counted
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.sizes import integer
from dovetail.formats.onnx.table import body, by_values, no_way, row, rows, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, rank_of

rows("""
MatMul < MatMul: x y
Einsum < Einsum: inputs*; equation
Det = MatrixDeterminant: x
""")
no_way(("Cholesky", "Lu", "Qr", "SelfAdjointEigV2", "Eig", "Svd"), "it decomposes no matrices")
no_way(("MatrixSolve", "MatrixTriangularSolve"), "it solves no equations")


# -- reading ----------------------------------------------------------------------------------------------------------


@row("Gemm: a b c; alpha beta transA transB")
def _(a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> Any:
    product = ops.matmul(ops.transpose(a) if transA else a, ops.transpose(b) if transB else b)
    product = product if alpha == 1 else ops.cast(product * alpha, a.dtype)
    return product if c is None else product + (c if beta == 1 else ops.cast(c * beta, c.dtype))


@row("MatMul: x y")
def matmul(x: Any, y: Any) -> Any:
    """A product of matrices, or of vectors as rows and columns."""
    rows, columns = rank_of(x) == 1, rank_of(y) == 1
    product = ops.matmul(ops.expand_dims(x, 0) if rows else x, ops.expand_dims(y, 1) if columns else y)
    product = ops.squeeze(product, -1) if columns else product
    return ops.squeeze(product, -1 if columns else -2) if rows else product


@row("Einsum: xs*; equation")
def _(xs: Sequence[Any], equation: str) -> Any:
    """Letters that a tensor has twice are those of a diagonal."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms, operands = left.split(","), []
    for i, x in enumerate(xs):
        head, dots, tail = terms[i].rpartition("...")
        for letter in dict.fromkeys(tail):
            while tail.count(letter) > 1:
                first, second = tail.index(letter), tail.rindex(letter)
                x = OPS["MatrixDiagPart"](x, 0, first - len(tail), second - len(tail))
                tail = "".join(c for n, c in enumerate(tail) if n not in (first, second)) + letter
        terms[i] = head + dots + tail
        operands.append(x)
    return ops.einsum(f"{','.join(terms)}{arrow}{right}", *operands)


@row("Trilu: x k!; upper")
def _(x: Any, k: int = 0, upper: int = 1) -> Any:
    k = k[0] if isinstance(k, list) else k
    wide = ops.cast(x, "int32") if x.dtype.is_bool else x
    part = ops.triu(wide, k) if upper else ops.tril(wide, k)
    return ops.cast(part, x.dtype)


@by_values("Trilu")
def _triangle(node: Node) -> Any:
    x, k = node.tensor(0), integer(node, 1)
    if rank_of(x) < 2:
        raise Unreadable("its input is no matrix")
    rows, columns = (counted(size) for size in dims_of(x)[-2:])
    distance = columns - ops.expand_dims(rows, 1)
    kept = ops.greater_equal(distance, k) if node.attrs.get("upper", 1) else ops.less_equal(distance, k)
    return ops.where(kept, x, ops.zeros_like(x))


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("MatMul", lambda operation: operation.attrs["transpose_a"] or operation.attrs["transpose_b"])
def _matmul(place: Place, x: Ref, y: Ref, transpose_a: bool, transpose_b: bool) -> list[Ref]:
    if all(len(shape) == 2 for shape in place.shapes) and x.dtype.is_floating:
        return place.result("Gemm", x, y, transA=int(transpose_a), transB=int(transpose_b))
    x, y = (
        _swapped(place, ref, len(shape)) if is_swapped else ref
        for ref, shape, is_swapped in zip((x, y), place.shapes, (transpose_a, transpose_b), strict=True)
    )
    return place.result("MatMul", x, y)


def _swapped(place: Place, x: Ref, rank: int) -> Ref:
    return place.node("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


@body("Einsum", lambda operation: len({_dots(operation, i) for i in range(len(operation.inputs))} - {0}) > 1)
def _einsum(op: Any, inputs: Any, equation: str) -> Any:
    """Give each ellipsis as many axes as the others have."""
    letters = equation.partition("->")[0].split(",")
    counts = [rank_of(x) - len(part.replace("...", "").strip()) for x, part in zip(inputs, letters, strict=True)]
    missing = [max(counts) - count if "..." in part else 0 for count, part in zip(counts, letters, strict=True)]
    at = [part.strip().index(".") if "." in part else 0 for part in letters]
    filled = zip(inputs, at, missing, strict=True)
    return op([ops.reshape(x, [*dims_of(x)[:i], *[1] * n, *dims_of(x)[i:]]) for x, i, n in filled], equation)


def _dots(operation: Operation, number: int) -> int:
    """The number of axes for which the ellipsis of an input stands."""
    part = operation.attrs["equation"].partition("->")[0].split(",")[number].strip()
    return rank_of(operation.inputs[number]) - len(part) + 3 if "..." in part else 0


@body("LogMatrixDeterminant", of("float32", "float64"))
def _log_determinant(op: Any, x: Any) -> Any:
    determinant = OPS["MatrixDeterminant"](x)
    return ops.sign(determinant), ops.log(ops.absolute(determinant))

"""Rules of products of matrices, of decompositions, and of systems of equations."""

from __future__ import annotations

import functools
import math
import string
from typing import Any

import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from dovetail.core.rules import Rule
from dovetail.engines import matrices
from dovetail.engines.numpy import engine as numpy_engine
from dovetail.engines.numpy_like import einsum_of_one
from dovetail.engines.tensorflow import sums
from dovetail.engines.tensorflow.tables import SMALL, cast, dims, ints, kernel, rules, widened

# -- products ---------------------------------------------------------------------------------------------------------

# TensorFlow has no products of these integers.
_WIDER = {**SMALL, tf.uint32: tf.int64, tf.uint64: tf.int64}
_matmul = kernel("MatMul", "a", "b", "transpose_a", "transpose_b")
_batch_matmul = kernel("BatchMatMulV2", "x", "y", "adj_x", "adj_y")


@rules("MatMul")
@widened(_WIDER)
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if y.shape.rank == 2 and x.shape.rank == 2:
        return _matmul(x, y, transpose_a, transpose_b)
    if y.shape.rank == 2 and not transpose_a:  # one product of matrices is faster than many
        *rows, inner = dims(x)
        columns = dims(y)[0 if transpose_b else 1]
        product = _matmul(tf.reshape(x, ints((-1, inner))), y, False, transpose_b)
        return tf.reshape(product, ints((*rows, columns)))
    if x.dtype.is_complex:  # the kernel would take conjugates too
        x, y = (tf.linalg.matrix_transpose(t) if s else t for t, s in ((x, transpose_a), (y, transpose_b)))
        transpose_a = transpose_b = False
    return _batch_matmul(x, y, transpose_a, transpose_b)


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    dtype = inputs[0].dtype
    wide = _WIDER.get(dtype, dtype)
    x = inputs[0]
    if len(inputs) == 1 and sums.has_fractions(x) and x.shape.num_elements() not in range(4 * sums.LONGEST):
        diagonals, axes, order = einsum_of_one(equation, x.shape.rank)
        x = tf.einsum(diagonals, x) if diagonals else x
        return tf.transpose(sums.total(x, axes, False), order)
    parts, result = equation.replace(" ", "").split("->")
    if "." in parts and "." not in result:
        inputs, parts = _spelled_out(inputs, parts.split(","))
    return cast(tf.einsum(f"{parts}->{result}", *[cast(x, wide) for x in inputs]), dtype)


def _spelled_out(inputs: Any, parts: list[str]) -> tuple[list[Any], str]:
    """Operands and their letters, with letters for an ellipsis that is summed over, which the kernel cannot do."""
    free = sorted(set(string.ascii_letters) - set("".join(parts)))
    operands, letters = [], []
    for x, part in zip(inputs, parts, strict=True):
        axes = x.shape.rank - len(part.replace("...", ""))
        start = len(part.partition("...")[0])
        axis_letters = free[-axes:] if axes else []
        ones = [i for i in range(axes) if x.shape[start + i] == 1]  # they are broadcast
        operands.append(tf.squeeze(x, [start + i for i in ones]) if ones else x)
        letters.append(part.replace("...", "".join(c for i, c in enumerate(axis_letters) if i not in ones)))
    return operands, ",".join(letters)


# -- systems of equations ---------------------------------------------------------------------------------------------


def _adjoint(x: Any) -> Any:
    return tf.linalg.adjoint(x)


def _broadcast(*stacks: Any) -> list[Any]:
    """Stacks of matrices with the same leading axes, which TensorFlow's kernels need."""
    batch = functools.reduce(tf.broadcast_dynamic_shape, [tf.shape(s)[:-2] for s in stacks])
    return [tf.broadcast_to(s, tf.concat([batch, tf.shape(s)[-2:]], 0)) for s in stacks]


def _masked(failed: Any, result: Any) -> Any:
    """NaN for the matrices on which an algorithm fails."""
    failed = tf.reshape(failed, (*dims(failed), *(1,) * (result.shape.rank - failed.shape.rank)))
    return tf.where(failed, tf.constant(math.nan, result.dtype), result)


def _regular(x: Any) -> tuple[Any, Any]:
    """The matrices with the identity instead of singular ones, and whether each is singular."""
    size = tf.math.real(tf.linalg.slogdet(x).log_abs_determinant)
    singular = ~tf.math.is_finite(size)
    return tf.where(singular[..., None, None], tf.eye(dims(x)[-1], dtype=x.dtype), x), singular


@rules("MatrixSolve")
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    matrix, rhs = _broadcast(matrix, rhs)
    matrix, singular = _regular(matrix)
    return _masked(singular, tf.raw_ops.MatrixSolve(matrix=matrix, rhs=rhs, adjoint=adjoint))


@rules("MatrixInverse")
def _(x: Any) -> Any:
    x, singular = _regular(x)
    return _masked(singular, tf.raw_ops.MatrixInverse(input=x))


@rules("MatrixTriangularSolve")
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    zero = tf.reduce_any(tf.linalg.diag_part(matrix) == 0, -1)
    matrix = tf.where(zero[..., None, None], tf.eye(dims(matrix)[-1], dtype=matrix.dtype), matrix)
    matrix, rhs = _broadcast(matrix, rhs)
    result = tf.raw_ops.MatrixTriangularSolve(matrix=matrix, rhs=rhs, lower=lower, adjoint=adjoint)
    return _masked(zero, result)


rules["MatrixDeterminant"] = kernel("MatrixDeterminant", "input")


@rules("LogMatrixDeterminant")
def _(x: Any) -> Any:
    sign, logarithm = tf.raw_ops.LogMatrixDeterminant(input=x)
    return sign, tf.math.real(logarithm)


# -- decompositions: TensorFlow gives the real numbers of complex matrices as complex ones ----------------------------


def _finite(rule: Rule) -> Rule:
    """A rule whose results are all NaN for matrices with NaN or infinity, which TensorFlow refuses to decompose."""

    @functools.wraps(rule)
    def compute(x: Any, *static: Any) -> Any:
        bad = ~tf.reduce_all(tf.math.is_finite(tf.abs(x)), (-2, -1))
        results = rule(tf.where(bad[..., None, None], tf.zeros((), x.dtype), x), *static)
        return [_masked(bad, y) for y in results]

    return compute


@rules("Cholesky")
def _(x: Any) -> Any:
    result = tf.raw_ops.Cholesky(input=x)  # without a factor, the lower half is NaN, or 0 if it is complex
    positive = tf.math.real(tf.linalg.diag_part(result)) > 0
    return _masked(~tf.reduce_all(positive, -1), result)


@rules("Qr")
def _(x: Any, mode: str) -> Any:
    return tuple(tf.raw_ops.Qr(input=x, full_matrices=mode == "complete"))


@rules("SelfAdjointEigV2")
@_finite
def _(x: Any, compute_v: bool) -> Any:
    w, v = tf.raw_ops.SelfAdjointEigV2(input=x, compute_v=compute_v)
    return matrices.turned(tnp, tf.math.real(w), v) if compute_v else [tf.math.real(w)]


@rules("Eig")
def _(x: Any) -> Any:
    """NumPy's rule, since TensorFlow's kernel gives the eigenvalues in another order than LAPACK."""
    dtype = tf.complex128 if x.dtype in (tf.float64, tf.complex128) else tf.complex64
    w, v = tf.numpy_function(numpy_engine.eager_rules["Eig"], [x], [dtype, dtype], stateful=False)
    w.set_shape(x.shape[:-1])
    v.set_shape(x.shape)
    return w, v


@rules("Svd")
@_finite
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    s, u, v = tf.raw_ops.Svd(input=x, compute_uv=compute_uv, full_matrices=full_matrices)
    s = tf.math.real(s)
    return matrices.aligned(tnp, u, s, _adjoint(v)) if compute_uv else [s]


@rules("Lu")
def _(x: Any) -> Any:
    """NumPy's rule: TensorFlow's kernel refuses singular matrices, and gives a permutation, not LAPACK's pivots."""
    lu, pivots = tf.numpy_function(numpy_engine.eager_rules["Lu"], [x], [x.dtype, tf.int32], stateful=False)
    lu.set_shape(x.shape)
    pivots.set_shape((*x.shape[:-2], min(x.shape[-2:], key=lambda dim: (dim is not None, dim))))
    return lu, pivots


rules.by_table |= {"Eig", "Lu"}

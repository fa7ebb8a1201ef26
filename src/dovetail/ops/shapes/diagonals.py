"""Diagonals: matrices made from them, read along them, and cut along them."""

from __future__ import annotations

from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Anything
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.math.compare import equal, less_equal, maximum, minimum, where
from dovetail.ops.math.reduce import sum
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.create import iota
from dovetail.ops.shapes.rearrange import moveaxis
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims, reshape, shaped
from dovetail.ops.shapes.slicing import along, strided_slice_grad


def _distances(rows: Any, columns: Any) -> Any:
    """The distance of each place of a matrix to the right of the main diagonal."""
    return iota((columns,), "int32") - expand_dims(iota((rows,), "int32"), -1)


@checked
def eye(rows: Any, columns: Any = None, k: int = 0, dtype: Any = float) -> Any:
    """A matrix with ones on a diagonal.

    Args:
        rows, columns: its size; as many columns as rows if not given.
        k: which diagonal: 0 the main one, above it positive.
        dtype: its type.

    Source: `numpy.eye`.

    Example:
        >>> eye(2, 3).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    return cast(equal(_distances(rows, rows if columns is None else columns), k), dtype)


@checked
def tri(rows: Any, columns: Any = None, k: int = 0, dtype: Any = float) -> Any:
    """A matrix with ones on and below a diagonal.

    Args:
        rows, columns, k, dtype: as for `eye`.

    Source: `numpy.tri`.

    Example:
        >>> tri(2, 3).numpy()
        array([[1., 0., 0.],
               [1., 1., 0.]], dtype=float32)
    """
    return cast(less_equal(_distances(rows, rows if columns is None else columns), k), dtype)


@composite(
    "MatrixBandPart",
    cost="move",
    samples=[sample(array(3, 4), 1, 0), sample(array(2, 3, 3), None, -1), sample(array(0, 2), 0, None)],
)
def band_part(x: Anything, lower: int | None = None, upper: int | None = None) -> Tensor:
    """Matrices with zeros outside a band around the main diagonal.

    Args:
        x: of shape (…, rows, columns).
        lower: how many diagonals below the main one stay; None for all.
        upper: how many above it stay; None for all.  Negative numbers cut into the other side.

    Source: `tf.linalg.band_part`, where a negative number means all.

    Example:
        >>> band_part([[1, 2, 3], [4, 5, 6]], 0, 1).numpy()
        array([[1, 2, 0],
               [0, 5, 6]], dtype=int32)
    """
    distances = _distances(*dims_of(x)[-2:])
    if lower is not None:
        x = where(distances >= -lower, x, cast(0, x.dtype))
    return x if upper is None else where(distances <= upper, x, cast(0, x.dtype))


@band_part.gradient
def _(op: Any, g: Any) -> Any:
    return band_part(g, op.attr("lower"), op.attr("upper"))


@checked
def tril(x: Any, k: int = 0) -> Any:
    """Matrices with zeros above a diagonal.

    Source: `numpy.tril`.

    Example:
        >>> tril([[1, 2], [3, 4]]).numpy()
        array([[1, 0],
               [3, 4]], dtype=int32)
    """
    return band_part(x, None, k)


@checked
def triu(x: Any, k: int = 0) -> Any:
    """Matrices with zeros below a diagonal.

    Source: `numpy.triu`.

    Example:
        >>> triu([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [0, 4]], dtype=int32)
    """
    return band_part(x, -k, None)


@composite(
    "MatrixDiagPart",
    cost="move",
    samples=[sample(array(3, 3)), sample(array(2, 4, 3), -1, 1, 2), sample(array(2, 5), 9), sample(array(0, 2))],
)
def diagonal(x: Anything, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """A diagonal of matrices.

    Args:
        x: of rank 2 or more.
        offset: which diagonal: 0 the main one, above it positive.
        axis1, axis2: the axes of the matrices.

    Returns:
        The other axes, and last the diagonal.

    Source: `numpy.diagonal`, whose axes are the first two if not given.

    Example:
        >>> diagonal([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    *batch, rows, columns = dims_of(x)
    start = offset if offset >= 0 else -offset * columns
    length = _at_most(rows, columns - offset) if offset >= 0 else _at_most(rows + offset, columns)
    flat = reshape(x, [*batch, rows * columns])
    return along(flat, len(batch), start, start + length * (columns + 1), columns + 1)


def _at_most(a: Any, b: Any) -> Any:
    """The smaller of two dimensions, not below 0."""
    return max(min(a, b), 0) if isinstance(a, int) and isinstance(b, int) else maximum(minimum(a, b), 0)


@composite(
    "MatrixDiag",
    cost="move",
    samples=[sample(array(3)), sample(array(2, 2), 1), sample(array(2), -2), sample(array(0))],
)
def matrix_diag(x: Anything, offset: int = 0) -> Tensor:
    """Square matrices with the vectors on a diagonal, and zeros elsewhere.

    Args:
        x: of shape (…, n).
        offset: which diagonal: 0 the main one, above it positive.

    Returns:
        A tensor of shape (…, n + |offset|, n + |offset|).

    Source: `tf.linalg.diag`.

    Example:
        >>> matrix_diag([1, 2]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    if not len(x.shape):
        raise ValueError("x must have a last axis, along which the diagonal lies; it is a scalar.")
    *batch, length = dims_of(x)
    size = length + abs(offset)
    start = offset if offset >= 0 else -offset * size
    before = (0,) * len(batch)
    whole = (1 << len(batch)) - 1
    flat = strided_slice_grad(
        x, [*batch, size * size], (*before, start), (*before, start + length * (size + 1)),
        (*(1 for _ in batch), size + 1), whole, whole,
    )  # fmt: skip
    return reshape(flat, [*batch, size, size])


@checked
def diag(x: Any, k: int = 0) -> Any:
    """A matrix from its diagonal, or the diagonal of a matrix.

    Source: `numpy.diag`.

    Example:
        >>> diag([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    x = shaped(x)
    return matrix_diag(x, k) if len(static_shape(x)) == 1 else diagonal(x, k)


@checked
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal.

    Source: `numpy.trace`.

    Example:
        >>> trace([[1, 2], [3, 4]]).numpy()
        array(5, dtype=int32)
    """
    return sum(diagonal(x, offset, axis1, axis2), -1)

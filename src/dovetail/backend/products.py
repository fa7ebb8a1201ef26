"""Products of matrices, and of the samples of two batches."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import sparse
from dovetail.backend.table import k_error
from dovetail.core.calls.static_types import with_ints
from dovetail.core.kinds import TensorLike
from dovetail.core.values.shapes import normalize_axis
from dovetail.ops.shapes.shape import dims_of, reorder, shaped

__all__ = ["batch_dot", "dot", "set_batch_dot_mode"]

MODES = ("batch", "matmul")
batch_dot_mode = "batch"  # what `set_batch_dot_mode` set


def dot(x: TensorLike, y: TensorLike) -> Any:
    """The product over the last axis of `x` and the last but one of `y`.

    Args:
        x: numbers of shape (…, n); or a sparse matrix.
        y: numbers of shape (…, n, m); for a sparse `x`, (n, m).

    Returns:
        A tensor with the other axes of `x`, then the other axes of `y`: (…, …, m).

    Raises:
        ValueError: a rank is below 2 (`x` may have the rank 1 if `y` has 3 or more), or the sizes of the two axes
            differ.

    Source: `tf.keras.backend.dot`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.dot(x, y)`, `np.dot(x, y)`.

    Example:
        >>> dot([[1., 2.]], [[3.], [4.]]).numpy()
        array([[11.]], dtype=float32)
        >>> dot(K.ones((2, 5, 3)), K.ones((3, 4))).shape
        (2, 5, 4)
    """
    if K.is_sparse(x):
        return sparse.sparse_dot(x, y)
    ranks = K.ndim(x), K.ndim(y)
    if min(ranks) < 2 and not ranks[0] == 1 < 2 < ranks[1]:
        raise ValueError(
            f"both must have the rank 2 or more, not {ranks[0]} and {ranks[1]}; see K.expand_dims and `x * y`."
        )
    return ops.tensordot(x, y, axes=(-1, -2))


def batch_dot(x: TensorLike, y: TensorLike, axes: Any = None) -> Any:
    """The product of each sample of `x` and the sample of `y` at the same place in the batch.

    Args:
        x, y: numbers of shape (batch, …).
        axes: the axis of `x` and the axis of `y` over which products are summed; an int for both.  By default the last
            axis of `x` and the last but one of `y`, or the last of `y` if it has only two.

    Returns:
        A tensor of shape (batch, other axes of `x`, other axes of `y`); (batch, 1) if there are none.

    Raises:
        ValueError: a rank is below 2, the batches or the sizes of the two axes differ, or `axes` names the batch.
        IndexError: there is no such axis.

    Source: `tf.keras.backend.batch_dot`; see `set_batch_dot_mode` for the behaviour of Keras before 2.2.5.

    Differs: tensors of two dtypes are promoted, and axes may be NumPy integers; tf.keras refuses both.

    Modern: `keras.ops.einsum`, `np.einsum`.

    Example:
        >>> batch_dot([[1., 2.], [3., 4.]], [[5., 6.], [7., 8.]]).numpy()
        array([[17.],
               [53.]], dtype=float32)
        >>> batch_dot(K.ones((8, 3, 4)), K.ones((8, 5, 4)), axes=2).shape
        (8, 3, 5)
    """
    x, y = shaped(x), shaped(y)
    ranks = K.ndim(x), K.ndim(y)
    if min(ranks) < 2:
        raise ValueError(f"both must have the rank 2 or more, not {ranks[0]} and {ranks[1]}.")
    first, second = _summed_axes(axes, *ranks)
    if batch_dot_mode == "matmul" and _are_matrices(x, y, first, second):
        return _batch_matmul(x, y, first, second)
    _check_sizes(x, y, first, second)
    left, right = dims_of(x), dims_of(y)
    x_rest = [i for i in range(1, ranks[0]) if i != first]
    y_rest = [i for i in range(1, ranks[1]) if i != second]
    rows, columns = [left[i] for i in x_rest], [right[i] for i in y_rest]
    x, y = reorder(x, [0, *x_rest, first]), reorder(y, [0, second, *y_rest])
    if len(rows) != 1:
        x = ops.reshape(x, [left[0], math.prod(rows), left[first]])
    if len(columns) != 1:
        y = ops.reshape(y, [right[0], right[second], math.prod(columns)])
    product = ops.matmul(x, y)
    if len(rows) == len(columns) == 1:
        return product
    return ops.reshape(product, [left[0], *(rows + columns or [1])])


def _summed_axes(axes: Any, x_rank: int, y_rank: int) -> tuple[int, int]:
    if axes is None:
        axes = x_rank - 1, 1 if y_rank == 2 else y_rank - 2
    axes = with_ints(axes)
    pair = tuple(axes) if hasattr(axes, "__iter__") else (axes, axes)
    if len(pair) != 2 or any(hasattr(axis, "__iter__") for axis in pair):
        raise ValueError(f"axes must be an int or two ints, not {axes!r}.")
    try:
        first, second = normalize_axis(index(pair[0]), x_rank), normalize_axis(index(pair[1]), y_rank)
    except IndexError as error:
        raise k_error(IndexError, "batch_dot", str(error), f"axes={axes!r}") from None
    if 0 in (first, second):
        raise ValueError(
            "axis 0 is the batch, over which nothing is summed; give inputs that are no batch a batch of one."
        )
    return first, second


def _check_sizes(x: Any, y: Any, first: int, second: int) -> None:
    left, right = K.int_shape(x), K.int_shape(y)
    for axis, other, what in ((0, 0, "the batches"), (first, second, "the axes that are summed over")):
        if None not in (left[axis], right[other]) and left[axis] != right[other]:
            raise ValueError(f"{what} must be equally long, but they are {left[axis]} and {right[other]}.")


def _are_matrices(x: Any, y: Any, first: int, second: int) -> bool:
    """Whether Keras before 2.2.5 multiplied matrices: of equal rank, or of vectors of `x`, over a last axis or two."""
    left, right = K.int_shape(x), K.int_shape(y)
    rank = len(right)
    if rank < 4 or len(left) not in (rank - 1, rank) or min(first, second) < rank - 2:
        return False
    pairs = zip(left, right[: rank - 2], strict=False)
    return all(None in pair or 1 in pair or pair[0] == pair[1] for pair in pairs)


def _batch_matmul(x: Any, y: Any, first: int, second: int) -> Any:
    """Matrix products over the last two axes; an `x` with one axis less is a batch of vectors."""
    rank, of_vectors = K.ndim(y), K.ndim(x) < K.ndim(y)
    x = ops.expand_dims(x, -1) if of_vectors else x
    product = ops.matmul(x, y, transpose_a=first == rank - 2, transpose_b=second == rank - 1)
    return ops.squeeze(product, -2) if of_vectors else product


def set_batch_dot_mode(mode: str) -> None:
    """Set how `batch_dot` treats tensors of more than three axes.

    Args:
        mode: "batch", the default: the first axis is the batch, and all other axes of both are in the result.
            With "matmul", as in Keras before 2.2.5, all axes but the last two are the batch, as for `np.matmul`.  An
            `x` with one axis less is a batch of vectors.  Programs of that time, capsule networks and attention among
            them, rely on it.  Tensors that those versions refused are multiplied as with "batch", if their sizes are
            known.

    Raises:
        ValueError: the mode is something else.

    Source: `keras.backend.batch_dot` of Keras 2.2.4.

    Modern: `keras.ops.matmul(x, y)`, for "matmul".

    Example:
        >>> x, y = K.ones((8, 5, 3, 4)), K.ones((8, 5, 4, 2))
        >>> K.batch_dot(x, y).shape
        (8, 5, 3, 5, 2)
        >>> set_batch_dot_mode("matmul")
        >>> K.batch_dot(x, y).shape
        (8, 5, 3, 2)
        >>> set_batch_dot_mode("batch")
    """
    global batch_dot_mode
    if mode not in MODES:
        raise ValueError(f"the mode must be 'batch' or 'matmul', not {mode!r}.")
    batch_dot_mode = mode

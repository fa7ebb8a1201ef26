"""Joining tensors, repeating them, and picking parts of them."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import sparse
from dovetail.core.kinds import TensorLike

__all__ = [
    "concatenate",
    "gather",
    "one_hot",
    "repeat",
    "repeat_elements",
    "slice",
    "stack",
    "tile",
]

# -- joining ----------------------------------------------------------------------------------------------------------


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """Tensors joined along an existing axis.

    Args:
        tensors: tensors whose shapes are equal except along the axis.
        axis: the axis.

    Returns:
        A tensor of the dtype of the tensors; a sparse one if all are sparse.

    Raises:
        ValueError: there is no such axis, or the shapes do not fit.

    Source: `tf.keras.backend.concatenate`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.
    Differs: a negative axis is counted from the last once; tf.keras wraps it around any number of times.

    Modern: `keras.ops.concatenate(tensors, axis)`, `np.concatenate(tensors, axis)`.

    Example:
        >>> concatenate([[[1, 2]], [[3]]]).numpy()
        array([[1, 2, 3]], dtype=int32)
    """
    are_sparse = [K.is_sparse(t) for t in tensors] if isinstance(tensors, (list, tuple)) else [False]
    if all(are_sparse) and are_sparse:
        return sparse.sparse_concatenate(tensors, axis)
    return ops.concatenate([K.to_dense(t) for t in tensors] if any(are_sparse) else tensors, axis)


def stack(x: Any, axis: int = 0) -> Any:
    """Tensors of one shape joined along a new axis.

    Args:
        x: the tensors; a single tensor counts as the list of its slices along the first axis.
        axis: the position of the new axis in the result.

    Returns:
        A tensor of one more axis.

    Raises:
        ValueError: there is no such axis, or the shapes differ.

    Source: `tf.keras.backend.stack`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.stack(x, axis)`, `np.stack(x, axis)`.

    Example:
        >>> stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return ops.stack(x if isinstance(x, (list, tuple)) else ops.unstack(x), axis)


# -- repeating --------------------------------------------------------------------------------------------------------


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Any:
    """Each element along an axis, repeated several times in a row.

    Args:
        x: a tensor of rank 1 or more.
        rep: how many times.
        axis: the axis.

    Returns:
        A tensor of the rank and dtype of `x`; the axis is `rep` times as long.

    Raises:
        ValueError: there is no such axis, or `rep` is negative.

    Source: `tf.keras.backend.repeat_elements`.

    Modern: `keras.ops.repeat(x, rep, axis)`, `np.repeat(x, rep, axis)`.

    Example:
        >>> repeat_elements([1, 2], 2, axis=0).numpy()
        array([1, 1, 2, 2], dtype=int32)
    """
    return ops.repeat(x, operator.index(rep), axis)


def repeat(x: TensorLike, n: Any) -> Any:
    """A matrix repeated `n` times: each sample becomes a sequence of `n` equal steps.

    Args:
        x: a tensor of shape (samples, features).
        n: how many times; it may be a tensor.

    Returns:
        A tensor of shape (samples, n, features) and the dtype of `x`.

    Raises:
        ValueError: the rank of `x` is not 2.

    Source: `tf.keras.backend.repeat`.

    Modern: `keras.ops.repeat(x[:, None], n, axis=1)`.

    Example:
        >>> repeat([[1, 2], [3, 4]], 2).numpy()
        array([[[1, 2],
                [1, 2]],
        <BLANKLINE>
               [[3, 4],
                [3, 4]]], dtype=int32)
    """
    if K.ndim(x) not in (2, None):
        raise ValueError(f"x must have the rank 2, not {K.ndim(x)}; see repeat_elements.")
    return ops.tile(ops.expand_dims(x, 1), (1, n, 1))


def tile(x: TensorLike, n: Any) -> Any:
    """Copies of a tensor side by side.

    Args:
        x: a tensor of rank 1 or more.
        n: how many copies along each axis: an int for a vector, a list of numbers and scalar tensors, or a tensor.

    Returns:
        A tensor of the rank and dtype of `x`.

    Raises:
        ValueError: there is not a number for each axis, or one is negative.

    Source: `tf.keras.backend.tile`.

    Modern: `keras.ops.tile(x, n)`, `np.tile(x, n)`.

    Example:
        >>> tile([[1, 2]], (2, 2)).numpy()
        array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
    """
    n = [n] if isinstance(n, int) else n
    if isinstance(n, (list, tuple)) and K.ndim(x) not in (len(n), None):
        raise ValueError(f"there must be a number of copies for each of the {K.ndim(x)} axes, not {n}.")
    return ops.tile(x, n)


# -- picking ----------------------------------------------------------------------------------------------------------


def gather(reference: TensorLike, indices: TensorLike) -> Any:
    """The slices of a tensor at positions along its first axis.

    Args:
        reference: a tensor of rank 1 or more, or a sparse one.
        indices: integers of any shape.

    Returns:
        A dense tensor of the dtype of `reference`, also for a sparse one; the axes of `indices` replace the first axis.

    Raises:
        TypeError: the indices are no integers.
        ValueError: a position is out of range; a program that JAX has compiled gives NaN instead.

    Source: `tf.keras.backend.gather`.

    Differs: negative positions count from the end, as in NumPy; tf.keras refuses them.
    Differs: sparse tensors are taken; tf.keras refuses them.

    Modern: `keras.ops.take(reference, indices, axis=0)`, `np.take(reference, indices, axis=0)`.

    Example:
        >>> gather([[1, 2], [3, 4], [5, 6]], [2, 0]).numpy()
        array([[5, 6],
               [1, 2]], dtype=int32)
    """
    return ops.gather(reference, indices)


def one_hot(indices: TensorLike, num_classes: Any) -> Any:
    """Ones at the classes, zeros elsewhere; all zeros for a number that is no class.

    Args:
        indices: integers of any shape.
        num_classes: how many classes there are; it may be a tensor.

    Returns:
        A float32 tensor of shape (*the shape of `indices`, num_classes).

    Raises:
        TypeError: the indices are no integers.

    Source: `tf.keras.backend.one_hot`.

    Modern: `keras.ops.one_hot(indices, num_classes)`.

    Example:
        >>> one_hot([1, 0], 3).numpy()
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)
    """
    return ops.one_hot(indices, num_classes, dtype="float32")


def slice(x: TensorLike, start: Any, size: Any) -> Any:
    """The block of a tensor that has a given start and size.

    Args:
        x: any tensor.
        start: the first index on each axis: a tensor, or a list of numbers and scalar tensors.
        size: the number of elements on each axis, in the same form; -1 means all from the start on.

    Returns:
        A tensor of the rank and dtype of `x`.

    Raises:
        ValueError: an axis lacks a start or a size, or the block does not lie inside `x`.  A block whose start is known
            only when a program runs is moved inside instead.

    Source: `keras.backend.slice` of Keras 2.3.

    Modern: `keras.ops.slice(x, start, size)`, `tf.slice(x, start, size)`.

    Example:
        >>> slice([[1, 2, 3], [4, 5, 6]], (0, 1), (2, 2)).numpy()
        array([[2, 3],
               [5, 6]], dtype=int32)
    """
    known = K.int_shape(x)
    starts, sizes = (_numbers(given, len(known)) for given in (start, size))
    if not len(starts) == len(sizes) == len(known):
        raise ValueError(
            f"each of {len(known)} axes must have a start and a size, not {len(starts)} and {len(sizes)} of them."
        )
    for axis, (dim, first, count) in enumerate(zip(known, starts, sizes, strict=True)):
        if not _fits(dim, first, count):
            raise ValueError(
                f"{count} elements from {first} on do not lie inside axis {axis}, which has the size {dim}."
            )
    if _are_known(sizes) and -1 not in sizes and not _are_known(starts):
        return ops.slice(x, starts, sizes)  # here the shape is known, which JAX needs
    pairs = zip(starts, sizes, strict=True)
    ends = [None if isinstance(count, int) and count == -1 else first + count for first, count in pairs]
    return ops.getitem(x, tuple(map(builtins.slice, starts, ends)))


def _are_known(numbers: list[Any]) -> bool:
    return builtins.all(isinstance(n, int) for n in numbers)


def _numbers(given: Any, rank: int) -> list[Any]:
    """A number for each axis: an int if it is known, else a scalar tensor."""
    return [_known(n) for n in (given if isinstance(given, (list, tuple)) else [given[i] for i in range(rank)])]


def _known(number: Any) -> Any:
    try:
        return operator.index(number)
    except TypeError:
        return number


def _fits(dim: int | None, first: Any, count: Any) -> bool:
    """Whether a block can lie inside an axis, as far as the numbers are known."""
    if dim is None or not isinstance(first, int) or not isinstance(count, int):
        return True
    return count >= -1 and 0 <= first <= first + builtins.max(count, 0) <= dim

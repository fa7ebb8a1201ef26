"""Rows: small arrays of NumPy that lie one after the other in memory, so that one call computes with all of them.

A NumPy call takes half a microsecond before it computes, as long as thousands of numbers then take.  So the steps of
optimizers keep small variables in rows.  They cut large ones into blocks, whose intermediate results stay in the
processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter, is_, itemgetter
from typing import Any

import numpy as np

from dovetail.core.values.shapes import size_of

SMALL = 1 << 14  # the most elements of an array that is put in a row
MANY = 16  # the fewest small arrays for which keeping a row pays off in each step of an optimizer
BLOCK = 1 << 17  # elements that one call computes

# (the arrays to write, the arrays before the step, the gradient, an array to compute in, maybe the gradient)
Step = Callable[[Sequence[Any], Sequence[Any], Any, Any], None]


def is_worth_it(operation: Any) -> bool:
    """Whether a step of these variables takes less time in rows and blocks than operation by operation."""
    sizes = [size_of(variable.shape) for variable in operation.args[0]]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and (max(known) > BLOCK or sum(size <= SMALL for size in known) >= MANY)


class Row(np.ndarray):
    """The memory of arrays that lie one after the other.

    NumPy sets a view's `base` to the array that owns the memory, past any views between, unless one of them is of
    another class.  So `Row` is a subclass: a row is the base of its parts alone, and a view of a part refers to the
    part.  The reference count of a part thus shows whether it has views.  A row keeps the memory of all its parts,
    which are small.
    """

    parts: tuple[int, ...]  # their ids


def new_row(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of the same shapes and dtype as some, in a row."""
    row = Row(sum(array.nbytes for array in arrays), np.uint8)
    parts, at = list[Any](), 0
    for array in arrays:
        parts.append(np.ndarray(array.shape, array.dtype, row, at))
        at += array.nbytes
    row.parts = tuple(map(id, parts))
    return parts


def in_row(arrays: Sequence[Any]) -> Any:
    """The elements of arrays that lie in a row, as one array; None if they do not."""
    row, dtype = arrays[0].base, arrays[0].dtype
    if type(row) is not Row or row.parts != tuple(map(id, arrays)):
        return None
    is_row = all(map(is_, map(_base, arrays), repeat(row)))  # a new array may have the id of a part that is gone
    return np.ndarray((row.size // dtype.itemsize,), dtype, row) if is_row else None


_base = attrgetter("base")


def _joined(arrays: Sequence[Any]) -> Any:
    joined = in_row(arrays)
    return np.concatenate(arrays, axis=None) if joined is None else joined


@cache
def _parted(sizes: tuple[int, ...]) -> tuple[list[int], list[int], int]:
    """The numbers of the arrays in a row, the numbers of the others, and the size of the longest block."""
    small = [number for number, size in enumerate(sizes) if size <= SMALL]
    small = small if len(small) > 1 else []
    others = [number for number in range(len(sizes)) if number not in small]
    return small, others, min(BLOCK, max([sizes[number] for number in others], default=0))


def stepped(step: Step, before: Sequence[Sequence[Any]], gradients: Sequence[Any], out: Any = None) -> tuple[Any, ...]:
    """The results of an elementwise step for the arrays of some lists.

    Args:
        step: the function that computes.
        before: lists of arrays, with the same shapes and dtypes in each list.
        gradients: arrays of the same shapes and dtypes.
        out: arrays for the results; small ones are used if they lie in a row, as the returned ones do.

    Returns:
        The arrays of each list after the step.
    """
    count = len(gradients)
    small, others, longest = _parted(tuple([gradient.size for gradient in gradients]))
    after: list[Any] = [None] * (count * len(before)) if out is None else list(out)
    if small:
        _step_in_row(step, before, gradients, after, small)
    scratch = np.empty(longest, gradients[0].dtype)
    for number in others:
        gradient = gradients[number]
        old = [arrays[number] for arrays in before]
        new = after[number::count]
        if new[0] is None or not all(array.flags.c_contiguous for array in new):
            after[number::count] = new = [np.empty(gradient.shape, gradient.dtype) for _ in new]
        if gradient.size <= BLOCK:
            step(new, old, gradient, scratch[: gradient.size].reshape(gradient.shape))
        else:
            _step_in_blocks(step, new, old, gradient, scratch)
    return tuple(after)


def _step_in_row(
    step: Step, before: Sequence[Sequence[Any]], gradients: Sequence[Any], after: list[Any], numbers: list[int]
) -> None:
    """Compute the results of some arrays at once; put new arrays into `after` unless its own form a row."""
    pick, count = itemgetter(*numbers), len(gradients)
    changes = pick(gradients)
    new = []
    for first in range(0, len(after), count):
        parts = pick(after[first : first + count])
        row = None if parts[0] is None else in_row(parts)
        if row is None:
            parts = new_row(changes)
            row = in_row(parts)
            for number, part in zip(numbers, parts, strict=True):
                after[first + number] = part
        new.append(row)
    gradient = np.concatenate(changes, axis=None)
    step(new, [_joined(pick(arrays)) for arrays in before], gradient, gradient)


def _step_in_blocks(step: Step, new: Sequence[Any], old: Sequence[Any], gradient: Any, scratch: Any) -> None:
    """Write the results of one large array, block after block."""
    old, new, gradient = [a.reshape(-1) for a in old], [a.reshape(-1) for a in new], gradient.reshape(-1)
    for start in range(0, gradient.size, BLOCK):
        block = slice(start, start + BLOCK)
        here = gradient[block]
        step([a[block] for a in new], [a[block] for a in old], here, scratch[: here.size])


def adam(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    means: Sequence[Any],
    square_means: Sequence[Any],
    rate: Any,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    out: Any = None,
) -> tuple[Any, ...]:
    """The rule of AdamStep."""
    left_1, left_2, small = map(gradients[0].dtype.type, (1 - beta_1, 1 - beta_2, epsilon))

    def step(new: Sequence[Any], old: Sequence[Any], gradient: Any, scratch: Any) -> None:
        (new_variable, new_mean, new_square), (variable, mean, square) = new, old
        _moved(mean, gradient, left_1, new_mean)
        np.square(gradient, scratch)
        _moved(square, scratch, left_2, new_square)
        np.sqrt(new_square, scratch)
        np.add(scratch, small, scratch)
        np.multiply(new_mean, rate, new_variable)
        np.divide(new_variable, scratch, new_variable)
        np.subtract(variable, new_variable, new_variable)

    return stepped(step, (variables, means, square_means), gradients, out)


def _moved(average: Any, towards: Any, share: Any, new: Any) -> None:
    np.subtract(towards, average, new)
    np.multiply(new, share, new)
    np.add(average, new, new)


def sgd(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    momenta: Sequence[Any],
    rate: Any,
    momentum: float,
    nesterov: bool,
    out: Any = None,
) -> tuple[Any, ...]:
    """The rule of SgdStep."""
    kept = gradients[0].dtype.type(momentum)

    def plain(new: Sequence[Any], old: Sequence[Any], gradient: Any, scratch: Any) -> None:
        np.multiply(gradient, rate, scratch)
        np.subtract(old[0], scratch, new[0])

    def with_momentum(new: Sequence[Any], old: Sequence[Any], gradient: Any, scratch: Any) -> None:
        (new_variable, new_change), (variable, change) = new, old
        np.multiply(gradient, rate, scratch)
        np.multiply(change, kept, new_change)
        np.subtract(new_change, scratch, new_change)
        if nesterov:
            np.multiply(new_change, kept, new_variable)
            np.subtract(new_variable, scratch, new_variable)
        np.add(variable, new_variable if nesterov else new_change, new_variable)

    lists = (variables, momenta) if momenta else (variables,)
    return stepped(with_momentum if momenta else plain, lists, gradients, out)

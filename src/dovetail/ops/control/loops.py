"""Loops over integers and over the slices of tensors, built on `scan` and `while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.calls.check_arguments import checked
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.structure import flatten, map_structure, unflatten
from dovetail.core.values.value_kinds import is_recorded, kind_of, static_shape
from dovetail.ops.control.flow import check_functions, scan, while_loop
from dovetail.ops.shapes.create import arange
from dovetail.ops.shapes.join import concatenate, stack
from dovetail.ops.shapes.shape import cast, dims_of, rank_of, reshape, shaped
from dovetail.ops.shapes.subscript import getitem


@checked
def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Apply a function for each integer from `lower` up to, but not including, `upper`.

    Args:
        lower, upper: integers.  If they are known now, the loop has a gradient in linear time on each engine.
        body: (integer, value) → the next value, of the same structure.
        init: the first value, a structure of tensors.

    Source: `jax.lax.fori_loop`.

    Example:
        >>> fori_loop(0, 4, lambda i, total: total + i, 0).numpy()
        array(6, dtype=int32)
    """
    check_functions("While", body=body)
    if all(kind_of(bound).is_computed and not is_recorded(bound) for bound in (lower, upper)):
        return scan(lambda value, i: (body(i, value), None), init, arange(int(lower), int(upper)))[0]
    return while_loop(lambda i, value: i < upper, lambda i, value: (i + 1, body(i, value)), (lower, init))[1]


@checked
def map_fn(f: Callable[[Any], Any], elems: Any, dtype: Any = None) -> Any:
    """The results of a function for each slice of tensors, stacked.

    Args:
        f: slices, in the structure of `elems` → a structure of tensors.
        elems: a structure of tensors with the same first dimension.
        dtype: the dtype of the results, or a structure of dtypes; the dtypes that `f` gives if not given.

    Source: `tf.map_fn`.

    Example:
        >>> from dovetail.ops import convert
        >>> map_fn(lambda x: x * x, convert([1., 2., 3.])).numpy()
        array([1., 4., 9.], dtype=float32)
    """
    check_functions("Scan", f=f)
    stacked = scan(lambda carry, x: (carry, f(x)), (), elems)[1]
    if dtype is None:
        return stacked
    leaves, structure = flatten(stacked)
    dtypes = flatten(dtype)[0]
    dtypes = dtypes * len(leaves) if len(dtypes) == 1 else dtypes
    return unflatten(structure, [cast(leaf, d) for leaf, d in zip(leaves, dtypes, strict=True)])


@checked
def vectorized_map(f: Callable[[Any], Any], elems: Any) -> Any:
    """The results of a function for each slice of tensors, stacked, computed for all slices at once.

    The function is traced on one slice; each op of the trace then runs once, on all slices.  An op without a
    rule for this runs slice by slice.  The whole function runs slice by slice, as in `map_fn`, on an engine's own
    values.  So it does if it assigns variables, or has branches, loops that end by a condition, or its own gradients.

    Args:
        f: slices, in the structure of `elems` → a structure of tensors.
        elems: a structure of tensors with the same first dimension.

    Source: `tf.vectorized_map`.

    Example:
        >>> from dovetail.ops import convert
        >>> vectorized_map(lambda pair: pair[0] + pair[1], (convert([1., 2.]), convert([3., 4.]))).numpy()
        array([4., 6.], dtype=float32)
    """
    check_functions("Scan", f=f)
    leaves, structure = flatten(elems)
    leaves = list(map(shaped, leaves))
    if not leaves or not all(kind_of(leaf).is_computed or is_recorded(leaf) for leaf in leaves):
        return map_fn(f, elems)
    results: Any = None

    def flat(*slices: Any) -> list[Any]:
        nonlocal results
        flat_results, results = flatten(f(unflatten(structure, slices)))
        return flat_results

    stacked = hooks.batched(flat, leaves)
    return map_fn(f, elems) if stacked is None else unflatten(results, stacked)


@checked
def foldl(f: Callable[[Any, Any], Any], elems: Any, initializer: Any = None) -> Any:
    """Combine the slices of tensors from first to last.

    Args:
        f: (the combination so far, next slice) → the combination.
        elems: a structure of tensors with the same first dimension.
        initializer: the first combination; the first slice if not given.

    Source: `tf.foldl`.

    Example:
        >>> from dovetail.ops import convert
        >>> foldl(lambda total, x: total * 10 + x, convert([1, 2, 3])).numpy()
        array(123, dtype=int32)
    """
    return _fold(f, elems, initializer, reverse=False)


@checked
def foldr(f: Callable[[Any, Any], Any], elems: Any, initializer: Any = None) -> Any:
    """Combine the slices of tensors from last to first; see `foldl`.

    Source: `tf.foldr`.

    Example:
        >>> from dovetail.ops import convert
        >>> foldr(lambda total, x: total * 10 + x, convert([1, 2, 3])).numpy()
        array(321, dtype=int32)
    """
    return _fold(f, elems, initializer, reverse=True)


def _fold(f: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool) -> Any:
    check_functions("Scan", f=f)
    if initializer is None:
        first, rest = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
        initializer = map_structure(lambda x: getitem(x, first), elems)
        elems = map_structure(lambda x: getitem(x, rest), elems)
    return scan(lambda carry, x: (f(carry, x), None), initializer, elems, reverse=reverse)[0]


@checked
def associative_scan(f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All partial combinations along an axis, in a number of steps logarithmic in its length.

    Args:
        f: (slices, slices) → their combinations, elementwise along the axis; it must be associative.
        elems: a structure of tensors with the same known dimension at `axis`.
        reverse: whether to combine from the end.
        axis: the axis.

    Source: `jax.lax.associative_scan`.

    Example:
        >>> from dovetail.ops import convert
        >>> associative_scan(lambda a, b: a + b, convert([1., 2., 3., 4.])).numpy()
        array([ 1.,  3.,  6., 10.], dtype=float32)
    """
    check_functions("Scan", f=f)
    leaves, structure = flatten(elems)
    leaves = [shaped(leaf) for leaf in leaves]
    axis = normalize_axis(axis, min(map(rank_of, leaves)))
    counts = {static_shape(leaf)[axis] for leaf in leaves} - {None}
    if len(counts) != 1:
        problem = f"all elems must have one known size along axis {axis}, not {sorted(counts) or None}"
        raise op_error(ValueError, "Scan", f"{problem}; use scan if it is not known.")
    (count,) = counts

    def part(xs: list[Any], *bounds: int | None) -> list[Any]:
        return [getitem(x, _along(axis, *bounds)) for x in xs]

    if reverse:
        leaves = part(leaves, None, None, -1)

    def combine(first: list[Any], second: list[Any]) -> list[Any]:
        return flatten(f(unflatten(structure, first), unflatten(structure, second)))[0]

    def scanned(xs: list[Any], n: int) -> list[Any]:
        if n < 2:
            return xs
        half = n // 2
        pairs = combine(part(xs, 0, 2 * half, 2), part(xs, 1, None, 2))
        odd = scanned(pairs, half)
        later = combine(part(odd, 0, (n - 1) // 2, 1), part(xs, 2, None, 2))
        even = [concatenate([x, y], axis) for x, y in zip(part(xs, 0, 1, 1), later, strict=True)]
        return [_interleaved(a, b, n, axis) for a, b in zip(even, odd, strict=True)]

    partial = scanned(leaves, count)
    return unflatten(structure, part(partial, None, None, -1) if reverse else partial)


def _along(axis: int, *bounds: int | None) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(*bounds))


def _interleaved(even: Any, odd: Any, n: int, axis: int) -> Any:
    """The slices of two tensors in turn, n in all; `even` may have one more."""
    if n % 2:
        last = getitem(even, _along(axis, n // 2, None))
        even = getitem(even, _along(axis, 0, n // 2))
        return concatenate([_interleaved(even, odd, n - 1, axis), last], axis)
    both = stack([even, odd], axis + 1)
    dims = dims_of(both)
    return reshape(both, [*dims[:axis], n, *dims[axis + 2 :]])

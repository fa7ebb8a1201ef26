"""Branches, and loops over the slices of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.errors import describe
from dovetail.core.kinds import TensorLike
from dovetail.core.values.structure import alike, flatten, map_structure, show, unflatten
from dovetail.core.values.value_kinds import seen

__all__ = ["foldl", "foldr", "map_fn", "switch"]


# -- branches ---------------------------------------------------------------------------------------------------------


def switch(
    condition: TensorLike,
    then_expression: TensorLike | Callable[[], Any],
    else_expression: TensorLike | Callable[[], Any],
) -> Any:
    """One of two values, picked by a scalar condition, or elementwise.

    Args:
        condition: numbers or bools; all numbers except 0 are true.  A scalar picks one value.  Of two functions, only
            the picked one is called; in a graph both are called, and only the picked one runs.  A condition of one axis
            picks along the last axis of the values.  One of more axes gets new axes at its end, so that it picks
            slices.
        then_expression, else_expression: tensors that broadcast, or functions without arguments that return them.  With
            a scalar condition they may have any shapes (one rank in a graph, one shape if JAX runs it), or be functions
            that return structures.

    Returns:
        The picked tensor, or a tensor of the picked elements.

    Raises:
        TypeError: the condition is None or a string; or functions return different structures in a graph.
        ValueError: the condition has more axes than the first value that is no number, or another shape than the values
            have there; or a rank is not known.

    Source: `tf.keras.backend.switch`.

    Differs: the condition may be a Python bool, a list, or of shape (1,) with scalar values or lazy functions;
        tf.keras refuses them.
    Differs: the first may be a number, also where the condition has axes; tf.keras refuses that.
    Differs: the two may have different dtypes, which are promoted where both are needed; tf.keras refuses them.

    Modern: `keras.ops.cond(condition, then_fn, else_fn)`, `keras.ops.where(condition, x, y)`.

    Example:
        >>> x = K.constant([[1., 2.], [3., 4.]])
        >>> switch(K.sum(x) > 100., lambda: x / 0., lambda: -x).numpy()
        array([[-1., -2.],
               [-3., -4.]], dtype=float32)
        >>> switch([[True], [False]], x, 0.).numpy()
        array([[1., 2.],
               [0., 0.]], dtype=float32)
    """
    if condition is None or isinstance(condition, str):
        raise TypeError(f"the condition must be a tensor or a bool, not {condition!r}.")
    return ops.switch(condition, _as_function(then_expression), _as_function(else_expression))


def _as_function(expression: Any) -> Any:
    """A sparse tensor as a function that gives it, since it is a structure; any other expression itself."""
    return (lambda: expression) if K.is_sparse(expression) else expression


# -- loops ------------------------------------------------------------------------------------------------------------


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """The results of a function for each slice of tensors, stacked.

    Args:
        fn: the slices at one position, in the structure of `elems` → a tensor, or a structure of tensors.
        elems: a tensor of one axis or more, or a structure of tensors of the same length.
        name: a prefix of the names of the graph's nodes; "map" if not given.
        dtype: the dtype of the result; a structure of dtypes if `fn` returns another structure than `elems`.

    Returns:
        The results, stacked along a new first axis, in the structure of `dtype`, or else of `elems`.

    Raises:
        TypeError: `fn` is not callable, or `dtype` is no dtype.
        ValueError: there is nothing to slice, the lengths differ, or `fn` returns another structure.

    Source: `tf.keras.backend.map_fn`.

    Differs: without `dtype`, results of another dtype than the slices' stay as they are, and with it, they are cast;
        tf.keras refuses them.
    Differs: over no slices, the result has the shape that it has in a TensorFlow graph, also eagerly.

    Modern: `keras.ops.map(fn, elems)`, `keras.ops.vectorized_map(fn, elems)`.

    Example:
        >>> x = K.constant([1., 2., 3.])
        >>> map_fn(lambda v: v * v, x).numpy()
        array([1., 4., 9.], dtype=float32)
        >>> y, n = map_fn(lambda v: (v / 2, 7), x, dtype=("float32", "int32"))
        >>> y.numpy(), n.numpy()
        (array([0.5, 1. , 1.5], dtype=float32), array([7, 7, 7], dtype=int32))
    """
    _check_slices(elems)
    wanted = map_structure(K.dtype, elems) if dtype is None else dtype
    dtypes, structure = flatten(wanted)

    def step(slices: Any) -> Any:
        leaves, form = flatten(fn(slices))
        if not alike(form, structure):
            raise ValueError(
                f"fn returned the structure {show(form)}, not {show(structure)}; say its dtypes with dtype=..."
            )
        keep = dtype is None
        pairs = zip(leaves, dtypes, strict=True)
        return unflatten(form, [x if keep and hasattr(seen(x), "dtype") else ops.cast(x, d) for x, d in pairs])

    with K.name_scope(name or "map"):
        return ops.map_fn(step if callable(fn) else fn, elems)


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combine the slices of tensors from the first to the last.

    Args:
        fn: (the combination so far, the next slices in the structure of `elems`) → the new combination.
        elems: a tensor of one axis or more, or a structure of tensors of the same length.
        initializer: the first combination, a tensor or a structure; the first slices if not given.
        name: a prefix of the names of the graph's nodes; "foldl" if not given.

    Returns:
        The last combination, in the structure of `initializer`.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: there is nothing to slice, the lengths differ, there are no slices and no initializer, or `fn`
            returns another structure.

    Source: `tf.keras.backend.foldl`.

    Modern: `functools.reduce(fn, elems)`, `keras.ops.scan(...)`.

    Example:
        >>> foldl(lambda total, v: total * 10 + v, K.constant([1, 2, 3])).numpy()
        array(123., dtype=float32)
    """
    return _fold("foldl", ops.foldl, fn, elems, initializer, name)


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """Combine the slices of tensors from the last to the first.

    Args:
        fn: (the combination so far, the slices before, in the structure of `elems`) → the new combination.
        elems: a tensor of one axis or more, or a structure of tensors of the same length.
        initializer: the first combination, a tensor or a structure; the last slices if not given.
        name: a prefix of the names of the graph's nodes; "foldr" if not given.

    Returns:
        The last combination, in the structure of `initializer`.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: there is nothing to slice, the lengths differ, there are no slices and no initializer, or `fn`
            returns another structure.

    Source: `tf.keras.backend.foldr`.

    Modern: `functools.reduce(fn, elems[::-1])`, `keras.ops.scan(..., reverse=True)`.

    Example:
        >>> foldr(lambda total, v: total * 10 + v, K.constant([1, 2, 3])).numpy()
        array(321., dtype=float32)
    """
    return _fold("foldr", ops.foldr, fn, elems, initializer, name)


def _fold(function: str, op: Callable[..., Any], fn: Any, elems: Any, initializer: Any, name: str | None) -> Any:
    _check_slices(elems, needed=initializer is None)

    def step(total: Any, slices: Any) -> Any:
        result = fn(total, slices)
        before, after = flatten(total)[1], flatten(result)[1]
        if not alike(before, after):
            raise ValueError(f"fn must return the structure that it gets, but {show(before)} becomes {show(after)}.")
        return result

    with K.name_scope(name or function):
        return op(step if callable(fn) else fn, elems, initializer)


def _check_slices(elems: Any, needed: bool = False) -> None:
    """Raise an error for values without a first axis, or without slices if one is needed."""
    leaves, _ = flatten(elems)
    if not leaves:
        raise ValueError(f"elems must be a tensor or a structure of tensors, not {elems!r}.")
    for x in leaves:
        shape = K.int_shape(x)
        if shape == ():
            raise ValueError(
                f"elems must have an axis to be sliced along, but one is {describe(x)}; a list is a structure, so make "
                "a tensor of numbers with K.constant."
            )
        if needed and shape is not None and shape[0] == 0:
            raise ValueError(f"there are no slices in {describe(x)}, so it needs an initializer.")

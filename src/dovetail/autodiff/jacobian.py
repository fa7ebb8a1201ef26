"""Derivatives beyond the gradient, all by reverse mode: jacobians row by row, products with jacobians and hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.recorder import Recorder
from dovetail.autodiff.reverse import backward, or_zeros
from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.shapes import size_of
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import followed, is_tensor
from dovetail.ops.shapes.shape import dims_of, shape_of

Pullback = Callable[[Any], list[Any]]  # a gradient of the target → gradients of the sources, or None


def jacobian(pullback: Pullback, target: Any, sources: Sequence[Any]) -> list[Any]:
    """The derivatives of every element of the target by each source, of shape `target.shape + source.shape`.

    Raises:
        ValueError: the target's shape is not known.
    """
    rows = [pullback(seed) for seed in _basis(target.shape, target.dtype, "jacobian")]
    return [_stacked([row[i] for row in rows], 0, (*target.shape, *dims_of(x))) for i, x in enumerate(sources)]


def batch_jacobian(pullback: Pullback, target: Any, source: Any) -> Any:
    """The jacobian of each example, of shape `(batch, *target.shape[1:], *source.shape[1:])`.

    Raises:
        ValueError: the batches differ in size, or the shape of an example's target is not known.
    """
    for tensor in (target, source):
        if not tensor.shape:
            raise op_error(ValueError, "batch_jacobian", f"{tensor!r} has no first dimension for a batch.")
    sizes = {target.shape[0], source.shape[0]} - {None}
    if len(sizes) > 1:
        problem = f"the target is a batch of {target.shape[0]}, the source of {source.shape[0]}; they must be equal."
        raise op_error(ValueError, "batch_jacobian", problem)
    seeds = _basis(target.shape[1:], target.dtype, "batch_jacobian")
    rows = [pullback(ops.broadcast_to(seed, shape_of(target)))[0] for seed in seeds]
    dims = dims_of(source)
    return _stacked(rows, 1, (dims[0], *target.shape[1:], *dims[1:]))


def _basis(shape: Any, dtype: Any, name: str) -> list[Any]:
    """The tensors of a shape that are one at one place and zero elsewhere."""
    size = size_of(shape)
    if size is None:
        raise op_error(ValueError, name, f"the shape of the target must be known, but it is {shape}.")
    return [ops.convert(place, dtype) for place in np.eye(size).reshape(size, *shape)]


def _stacked(rows: list[Any], axis: int, shape: Sequence[Any]) -> Any:
    return None if all(row is None for row in rows) else ops.reshape(ops.stack(rows, axis), shape)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """A function's result, and how it changes when the arguments change: the jacobian times a vector.

    Args:
        function: takes tensors, returns a tensor or a structure of them.
        primals: its arguments, tensors of floats.
        tangents: the direction in which they change: a tensor of the same shape for each, or None for one that is
            fixed.

    Returns:
        The result, and its derivative in that direction, of the same structure.

    Source: Townsend, "A new trick for calculating Jacobian vector products" (2017): reverse mode, twice.

    Example:
        >>> y, change = jvp(lambda x: x * x, [[1., 2.]], [[1., 10.]])
        >>> change.numpy()
        array([ 2., 40.], dtype=float32)
    """
    _check("jvp", function, primals=primals, tangents=tangents)
    primals = _tensors(primals)
    with Recorder() as inner:
        for x in primals:
            inner.follow(x)
        result = function(*primals)
    ys, structure = flatten(result, "jvp")
    with Recorder() as outer:
        seeds = [ops.zeros_like(y) for y in ys]  # any values will do: the gradient is linear in them
        for seed in seeds:
            outer.follow(seed)
        gradients = backward(reversed(inner.nodes), zip(ys, seeds, strict=True), primals)
    changes = backward(reversed(outer.nodes), _along(gradients, tangents), seeds)
    return result, unflatten(structure, or_zeros(changes, ys))


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The hessian of a function times a vector: how its gradient changes when the arguments change.

    Args:
        function: takes tensors, returns a tensor whose elements are added.
        primals: its arguments, tensors of floats or variables that it uses.
        tangents: the direction in which they change: a tensor of the same shape for each, or None for one that is
            fixed.

    Returns:
        A tensor of the shape of each primal.

    Source: Pearlmutter, "Fast exact multiplication by the Hessian" (1994), by reverse mode over reverse mode.

    Example:
        >>> hvp(lambda x: x * x * x, [[1., 2.]], [[1., 10.]])[0].numpy()
        array([  6., 120.], dtype=float32)
    """
    _check("hvp", function, primals=primals, tangents=tangents)
    primals = _tensors(primals)
    with Recorder() as outer:
        for x in primals:
            outer.follow(x)
        with Recorder() as inner:
            for x in primals:
                inner.follow(x)
            y = function(*primals)
        gradients = backward(reversed(inner.nodes), [(y, ops.ones_like(y))], primals)
    products = backward(reversed(outer.nodes), _along(gradients, tangents), primals)
    return or_zeros(products, primals)


def _check(name: str, function: Any, **lists: Any) -> None:
    if not callable(function):
        raise op_error(
            TypeError, name, f"function is called with the primals; give a function, not {describe(function)}."
        )
    for word, given in lists.items():
        if not isinstance(given, (list, tuple)):
            raise op_error(
                TypeError, name, f"{word} is a list, with one for each argument of function; write [{describe(given)}]."
            )


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [value if is_tensor(value) else ops.convert(value) for value in map(followed, values)]


def _along(gradients: list[Any], tangents: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of a gradient and the tangent of its primal, without pairs in which one is None."""
    if len(gradients) != len(tangents):
        raise ValueError(f"there are {len(gradients)} primals and {len(tangents)} tangents; each needs one.")
    pairs = [(g, v) for g, v in zip(gradients, tangents, strict=True) if g is not None and v is not None]
    return [(g, ops.convert(v, g.dtype)) for g, v in pairs]

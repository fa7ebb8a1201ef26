"""Feeds: sparse placeholders, and the values of the inputs of programs.

A sparse placeholder becomes three placeholders of a program: the positions, the elements, and an array without
elements.  The shape of that array contains the shape of the whole tensor.  So the shape is known wherever shapes are,
also to engines that compile once for each shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.backend import sparse
from dovetail.backend.sparse import SparseTensor
from dovetail.core.base.errors import describe
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import spec
from dovetail.edit.graph import Graph
from dovetail.ops.shapes.shape import dims_of

EXTENT = "_sparse_extent"  # the attribute of a sparse placeholder's values that holds its extent


class Fed(NamedTuple):
    """A sparse placeholder among the inputs of a program, or the value for it.

    Attributes:
        indices, values: the positions and the elements.
        extent: an array without elements: its shape is the shape of the whole tensor, then an axis of size 0.
    """

    indices: Any
    values: Any
    extent: Any


def sparse_placeholder(graph: Graph, shape: Sequence[int | None] | None, dtype: Any, name: str | None) -> SparseTensor:
    """A sparse input of a default graph.

    Raises:
        ValueError: the rank is not known.
    """
    if shape is None:
        raise ValueError(
            "the rank of a sparse placeholder must be known: give ndim, or a shape with None for what is not known."
        )
    with graph.as_default(), graph.name_scope(name or "SparsePlaceholder"):
        indices = graph.placeholder(spec((None, len(shape)), "int64"), "indices")
        values = graph.placeholder(spec((None,), dtype), "values")
        extent = graph.placeholder(spec((*shape, 0)), "shape")
        dims = dims_of(extent)[:-1]
    vars(values)[EXTENT] = extent
    return SparseTensor(indices, values, dims)


def sources(inputs: Any) -> Any:
    """A structure of inputs, with a `Fed` for each sparse placeholder.

    Raises:
        TypeError: a sparse tensor is no placeholder.
    """
    return map_sparse(_source, inputs)


def _source(placeholder: SparseTensor) -> Fed:
    extent = getattr(placeholder.values, EXTENT, None)
    if extent is None:
        raise TypeError(f"a sparse input must be made by K.placeholder(sparse=True), unlike {placeholder!r}.")
    return Fed(placeholder.indices, placeholder.values, extent)


def given(inputs: Any, values: Any) -> Any:
    """The values for a structure of inputs; sparse inputs take SciPy matrices and sparse tensors.

    Raises:
        TypeError: a value is sparse and the input is not, or the other way round.
        ValueError: the shape of a sparse value does not fit.
    """
    if type(inputs) is SparseTensor:
        return _value(inputs, values)
    if isinstance(inputs, (list, tuple)) and isinstance(values, (list, tuple)) and len(inputs) == len(values):
        return [given(one, value) for one, value in zip(inputs, values, strict=True)]
    if isinstance(inputs, dict) and isinstance(values, dict):
        return {key: given(inputs[key], value) if key in inputs else value for key, value in values.items()}
    if hasattr(inputs, "op") and _is_sparse(values):
        raise TypeError(
            f"the input {inputs.op.name!r} is dense: make it with K.placeholder(sparse=True), or give a dense array, "
            f"not {_text(values)}."
        )
    return values


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocoo") or hasattr(type(value), "dense_shape")


def _value(placeholder: SparseTensor, value: Any) -> Fed:
    name = placeholder.op.name.rpartition("/")[0]
    if hasattr(value, "tocoo"):
        matrix = sparse.from_scipy(value)
    elif _is_sparse(value):
        matrix = sparse.as_sparse(value)
    else:
        raise TypeError(
            f"the input {name!r} is sparse: it is given a matrix of scipy.sparse or a K.SparseTensor, "
            f"not {describe(value)}."
        )
    if not fits(matrix.shape, placeholder.shape):
        raise ValueError(f"the input {name!r} has the shape {placeholder.shape}: {_text(value)} does not fit.")
    return Fed(matrix.indices, matrix.values, np.empty((*matrix.shape, 0), "float32"))


def _text(value: Any) -> str:
    return f"a sparse value of shape {tuple(value.shape)}"


def map_sparse(function: Callable[[SparseTensor], Any], value: Any) -> Any:
    """Apply a function to the sparse tensors in a structure of lists, tuples and dicts."""
    if type(value) is SparseTensor:
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(map_sparse(function, item) for item in value)
    return {key: map_sparse(function, item) for key, item in value.items()} if type(value) is dict else value

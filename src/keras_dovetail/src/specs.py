"""Shape inference for functions, by tracing them on placeholders: nothing is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.backend.feeding import sparse_placeholder
from dovetail.core.values.spec import spec
from dovetail.core.values.value_kinds import is_recorded, kind_of
from dovetail.edit.graph import Graph
from dovetail.interop.keras_values import READ, run_of
from dovetail.interop.privates import KerasTensor, StatelessScope, SymbolicScope, standardize_dtype, tree
from keras_dovetail.src.tensors import is_tensor

_FILLINGS = 83, 89  # primes: a dimension that depends on an unknown one differs between the two traces


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of a function's results.

    Args:
        fn: a function of tensors; variables that it assigns keep their values.
        args, kwargs: its arguments, with KerasTensors or tensors of a graph instead of tensors.

    Returns:
        Its results, with KerasTensors instead of tensors; a dimension is None if it depends on an unknown one.
    """
    with StatelessScope(), SymbolicScope():
        first = _traced(fn, args, kwargs, _FILLINGS[0])
        if any(None in (x.shape or ()) for x in tree.flatten((args, kwargs)) if _has_no_value(x)):
            second = _traced(fn, args, kwargs, _FILLINGS[1])
            return tree.map_structure(_common, first, second)
        return first


def _traced(fn: Callable[..., Any], args: Any, kwargs: Any, filling: int) -> Any:
    graph = Graph("spec")

    def placeholder(x: Any) -> Any:
        if not _has_no_value(x):
            return x
        dims = [filling if dim is None else dim for dim in x.shape or ()]
        if x.sparse if isinstance(x, KerasTensor) else kind_of(x).is_sparse:
            return sparse_placeholder(graph, dims, x.dtype, None)
        return graph.placeholder(spec(dims, x.dtype))

    def read(x: Any) -> Any:
        READ.add(x)
        return placeholder(x)

    with graph.as_default(), StatelessScope(), run_of(read):
        args, kwargs = tree.map_structure(placeholder, (args, kwargs))
        return tree.map_structure(_as_spec, fn(*args, **kwargs))


def _has_no_value(x: Any) -> bool:
    """Whether x is a KerasTensor, or a tensor of a graph, as from a layer that is built in a trace."""
    return isinstance(x, KerasTensor) or is_recorded(x)


def _as_spec(x: Any) -> Any:
    if not is_tensor(x):
        return x
    return KerasTensor(tuple(x.shape), standardize_dtype(x.dtype), sparse=kind_of(x).is_sparse)


def _common(first: Any, second: Any) -> Any:
    if not isinstance(first, KerasTensor):
        return first
    dims = [a if a == b else None for a, b in zip(first.shape, second.shape, strict=True)]
    return KerasTensor(dims, first.dtype, sparse=first.sparse)

"""Inlining: the part that a compiled function adds to another graph, after its passes have edited it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.scopes import record_on, scopes
from dovetail.core.base.table import OPS
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import unflatten
from dovetail.core.values.value_kinds import dtype_of
from dovetail.edit.graph import Graph, GraphTensor, new_graph
from dovetail.edit.transplant import transplant
from dovetail.trace import trace, variables
from dovetail.trace.results import collect

_TRACED = (GraphTensor, Tensor, np.ndarray, np.generic)  # leaves that become inputs of the part; others are static


def inline_call(
    around: Graph, function: Callable[..., Any], leaves: Sequence[Any], structure: Any, has_kwargs: bool, edit: Any
) -> Any:
    """Add a function's operations to a graph, edited by passes, and return the function's result.

    Args:
        around: the graph.
        function: the function, which is called once.
        leaves, structure: its positional arguments, or the pair (args, kwargs) if `has_kwargs`.
        edit: edits the graph of the function's operations, and keeps the number of outputs.
    """
    part = new_graph(getattr(function, "__name__", "function"), around)
    with record_on(tape.eager_only() for tape in scopes().tapes), part.as_default():
        given = [(leaf, _input(part, leaf)) if isinstance(leaf, _TRACED) else (leaf, leaf) for leaf in leaves]
        call: Any = unflatten(structure, [own for _, own in given])
        rebuild = collect(part, function(*call[0], **call[1]) if has_kwargs else function(*call))
        count, assigned = len(part.outputs), list(part.state.assigned)
        part.outputs = [*part.outputs, *(variables.read_variable(part, v) for v in assigned)]
    edit(part)
    mapped = {own: _known(around, leaf, own) for leaf, own in given if own is not leaf}
    mapped |= {inner: _known(around, outer, inner) for outer, inner in part.captures.items()}
    for variable, inner in part.state.inputs.items():
        read = variables.read_for_update if variable in part.state.assigned else variables.read_variable
        mapped[inner] = read(around, variable)
    copied = transplant(part.operations, around, mapped).of(part.outputs)
    for variable, value in zip(assigned, copied[count:], strict=True):
        variables.assign_variable(around, variable, value)
    results: list[Any] = copied[:count]
    return rebuild(results)


def _input(part: Graph, leaf: Any) -> GraphTensor:
    return part.placeholder(TensorSpec(leaf.shape, dtype_of(leaf)), "arg")


def _known(around: Graph, value: Any, own: GraphTensor) -> GraphTensor:
    return trace.to_graph(value, own.dtype, around, OPS["Identity"])

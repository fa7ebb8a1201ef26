"""Replaying: a graph's operations in the graph that is being built, with the shapes that its values have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.table import OPS
from dovetail.core.values.shapes import fits
from dovetail.edit.inference import infer_from
from dovetail.edit.transplant import Variables, check_count, transplant
from dovetail.graph.operation import GraphTensor
from dovetail.trace import trace

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def replay(graph: Graph, *inputs: Any) -> Any:
    """Add the operations of a graph to the graph that is being built, as if its ops were called there.

    Args:
        graph: is not changed.
        inputs: a value for each of its inputs.

    Returns:
        Its output; a tuple of outputs if there are none or several.

    Raises:
        TypeError: there are more or fewer inputs; or no graph is being built.
        ValueError: a shape does not fit, or an output was removed from the graph.
    """
    current = trace.current_graph()
    if current is None:
        raise op_error(TypeError, graph.name, "a graph runs on Tensors, not on an engine's own values.")
    check_count(graph, inputs)
    for tensor in graph.outputs:
        graph.check_tensor(tensor)
    mapped: dict[GraphTensor, GraphTensor] = {}
    for tensor, value in zip(graph.inputs, inputs, strict=True):
        mapped[tensor] = new = trace.to_graph(value, tensor.dtype, current, OPS["Identity"])
        if not fits(new.shape, tensor.shape):
            raise op_error(ValueError, graph.name, f"{new!r} does not fit the input {tensor!r}.")
    copies = transplant(graph.operations, current, mapped, variables=Variables.READ)
    others = {new for tensor, new in mapped.items() if new.shape != tensor.shape}
    infer_from([op for op in copies.operations.values() if not others.isdisjoint(op.inputs)], others)
    results = tuple(copies.of(graph.outputs))
    return results[0] if len(results) == 1 else results

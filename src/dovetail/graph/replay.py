"""Replaying a graph: what it does is done in the graph that is built just then, on its variables and tapes."""

from __future__ import annotations

from typing import Any

from dovetail.errors import op_error
from dovetail.graph import trace
from dovetail.graph.copying import copy_operation
from dovetail.graph.ir import Graph, GraphTensor
from dovetail.ops.infer import fits
from dovetail.ops.op import OPS


def replay(graph: Graph, *inputs: Any) -> Any:
    """Adds what a graph does to the graph that is being built, as if its ops were called there.

    Args:
        graph: is not changed.
        inputs: a value for each of its inputs.

    Returns:
        Its output; a tuple of them, if there is not one but none or several.

    Raises:
        TypeError: there are more or fewer inputs; or no graph is being built.
        ValueError: a shape does not fit.
    """
    current = trace.current_graph()
    if current is None:
        raise op_error(TypeError, graph.name, "a graph runs on Tensors, not on an engine's own values.")
    if len(inputs) != len(graph.inputs):
        raise op_error(TypeError, graph.name, f"the graph has {len(graph.inputs)} inputs, not {len(inputs)}.")
    given = [*zip(graph.inputs, inputs, strict=True), *((constant, t) for t, constant in graph.closures.items())]
    mapped: dict[GraphTensor, GraphTensor] = {}
    for tensor, value in given:
        mapped[tensor] = new = trace.to_graph(value, tensor.dtype, current, OPS["Identity"])
        if not fits(new.shape, tensor.shape):
            raise op_error(ValueError, graph.name, f"{new!r} does not fit the input {tensor!r}.")
    for op in graph.operations:  # all that it reads is what was there before it assigns
        if op.type == "ReadVariableOp":
            mapped[op.outputs[0]] = trace.read_variable(current, op.attrs["variable"])
    done = {t.op for t in mapped}
    for op in graph.operations:
        if op.type == "AssignVariableOp":
            mapped[op.outputs[0]] = mapped[op.inputs[0]]
            trace.assign_variable(current, op.attrs["variable"], mapped[op.inputs[0]])
        elif op not in done:
            trace.record_on_tapes(copy_operation(op, current, mapped))
    results = tuple(mapped[t] for t in graph.outputs)
    return results[0] if len(results) == 1 else results

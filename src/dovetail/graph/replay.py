"""Replaying a graph: what it does is done in the graph that is built just then, on its variables and tapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.errors import op_error
from dovetail.core.infer import fits
from dovetail.core.recording import recording
from dovetail.core.table import OPS
from dovetail.graph import trace
from dovetail.graph.copying import Copies, override_gradients
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph


def replay(graph: Graph, *inputs: Any) -> Any:
    """Adds what a graph does to the graph that is being built, as if its ops were called there.

    Args:
        graph: is not changed.
        inputs: a value for each of its inputs.

    Returns:
        Its output; a tuple of them, if there is not one but none or several.

    Raises:
        TypeError: there are more or fewer inputs; or no graph is being built.
        ValueError: a shape does not fit, or an output was removed from the graph.
    """
    current = trace.current_graph()
    if current is None:
        raise op_error(TypeError, graph.name, "a graph runs on Tensors, not on an engine's own values.")
    if len(inputs) != len(graph.inputs):
        raise op_error(TypeError, graph.name, f"the graph has {len(graph.inputs)} inputs, not {len(inputs)}.")
    for tensor in graph.outputs:
        graph.check_tensor(tensor)
    copies = Copies(current)
    for tensor, value in zip(graph.inputs, inputs, strict=True):
        copies.tensors[tensor] = new = trace.to_graph(value, tensor.dtype, current, OPS["Identity"])
        if not fits(new.shape, tensor.shape):
            raise op_error(ValueError, graph.name, f"{new!r} does not fit the input {tensor!r}.")
    given = {t.op for t in graph.inputs}
    transfer(graph, copies, [op for op in graph.operations if op not in given])
    results = tuple(copies.of(graph.outputs))
    return results[0] if len(results) == 1 else results


def transfer(graph: Graph, copies: Copies, operations: list[Operation]) -> None:
    """Copies operations of a graph with what they do to variables, which is done where they are copied to.

    Args:
        graph: whose operations they are.
        copies: where to, and what stands for the inputs of the graph.
        operations: in program order.
    """
    target = copies.target
    for tape in recording.tapes:
        tape.record_nodes(graph.origins)
    origins: dict[GraphTensor, Any] = {constant: tensor for tensor, constant in graph.closures.items()}
    reads = [op for op in operations if op.type == "ReadVariableOp"]
    values = {op: trace.read_variable(target, op.attrs["variable"]) for op in reads}  # as it was before it is assigned
    for op in operations:
        if op in values:
            copies.stand_in(op, values[op])
        elif op.type == "AssignVariableOp":
            value = copies.stand_in(op, copies[op.inputs[0]])
            trace.assign_variable(target, op.attrs["variable"], value)
        elif op.outputs and op.outputs[0] in origins:
            origin = origins[op.outputs[0]]
            copies.stand_in(op, trace.to_graph(origin, op.outputs[0].dtype, target, OPS["Identity"]))
        else:
            copy = copies.copy(op)
            override_gradients(copy, target.gradient_overrides)
            trace.record_on_tapes(copy)

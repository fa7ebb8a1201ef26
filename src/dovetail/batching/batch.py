"""Batching: trace a function of one example, and run it on all examples at once, operation by operation.

`table.py` has the rules of each op.  The rules by examples (`rules.py`) give the result of an operation whose inputs
have an axis of examples in front.  If examples are batches, the rules by rows (`rows.py`) go first.  A composite
without a rule is batched through its body.  An op without either, or with a loop in its body, runs for each example
alone: convolutions with kernels that differ, random numbers of keys that differ, CTC.  The whole function runs for each
example alone if it has branches, effects, custom gradients, or loops other than loops over slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dovetail import ops
from dovetail.batching.rows import joined
from dovetail.batching.rules import elementwise
from dovetail.batching.table import RULES, Batch, NotBatchable, Rules, leading_axis
from dovetail.core.base.scopes import scopes
from dovetail.core.values.spec import TensorSpec
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.control.loops import map_fn
from dovetail.ops.control.plumbing import NEVER_PRUNED, PRINTS
from dovetail.ops.shapes.shape import dims_of
from dovetail.trace.control import subgraph
from dovetail.trace.trace import body_graph, open_graph

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

_WHOLE = {"If", "While", "WhileGrad", "Call", *NEVER_PRUNED, *PRINTS}


def batched(function: Callable[..., Sequence[Any]], xs: Sequence[Any]) -> list[Any] | None:
    """Run a function on each slice of tensors along their first axes, and stack the results.

    Args:
        function: slices → a flat list of results; it is called once, with graph Tensors.
        xs: eager or graph Tensors, at least one, whose first axes have the same size.

    Returns:
        The stacked results; None if the function can only run slice by slice.
    """
    specs = {f"x{i}": TensorSpec(x.shape and x.shape[1:], x.dtype) for i, x in enumerate(xs)}
    graph = subgraph("vectorized_map", _graph_around(xs), specs, function)
    if graph.state.assigned:
        return None
    size = dims_of(xs[0])[0]
    values: dict[GraphTensor, Any] = dict(zip(graph.inputs, map(Batch, xs), strict=False))
    values |= {inner: outer for outer, inner in graph.captures.items()}
    values |= {inner: tensor for tensor, inner in graph.closures.items()}
    values |= {inner: variable for variable, inner in graph.state.inputs.items()}
    try:
        return [leading_axis(value, size) for value in _run(graph, values, size)]
    except NotBatchable:
        return None


def _graph_around(xs: Sequence[Any]) -> Graph | None:
    """The graph that the results will be in; None if they are computed now."""
    if (graph := scopes().graph) is not None:
        return graph
    return next((open_graph(x, "vectorized_map") for x in xs if type(x) is GraphTensor), None)


def _run(graph: Graph, values: dict[GraphTensor, Any], size: Any) -> list[Any]:
    """The outputs of a graph for values of its inputs, some of which hold all examples.

    Raises:
        NotBatchable: it has operations that hold functions, or custom gradients.
    """
    if any(op.type in _WHOLE or op.gradient_function for op in graph.operations):
        raise NotBatchable
    for operation in graph.operations:
        if operation.outputs and operation.outputs[0] not in values:
            values.update(zip(operation.outputs, _results(operation, values, size), strict=True))
    return [values[t] for t in graph.outputs]


def _results(operation: Operation, values: dict[GraphTensor, Any], size: Any) -> Sequence[Any]:
    if operation.type == "Const":
        return [operation.attrs["value"]]
    op, inputs = operation.op, [values[t] for t in operation.inputs]
    args = operation.arguments(inputs)
    if operation.type == "Scan":
        return _scanned(size, *args)
    if not any(isinstance(x, Batch) for x in inputs):
        result = op(*args)
        return result if op.returns_tuple else [result]
    with suppress(NotBatchable):
        result = joined(op, size, args)
        return result if op.returns_tuple else [result]
    rule = elementwise if op.is_elementwise else RULES.get(operation.type, Rules()).examples
    with suppress(NotBatchable):
        if rule is not None:
            result = rule(op, size, *args)
            return result if isinstance(result, (tuple, list)) else [result]
    with suppress(NotBatchable):
        if op.body is not None:
            body = body_graph(op, operation.args)
            return _run(body, dict(zip(body.inputs, inputs, strict=True)), size)
    return _one_by_one(operation, inputs)


def _scanned(
    size: Any, init: Sequence[Any], xs: Sequence[Any], constants: Sequence[Any], body: Graph, length: Any, reverse: bool
) -> list[Any]:
    """The results of a loop over slices, whose steps run on all examples."""

    def step(carry: Sequence[Any], slices: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moving = [Batch(part) if isinstance(x, Batch) else part for x, part in zip(xs, slices, strict=True)]
        given = [*map(Batch, carry), *moving, *constants]
        results = [leading_axis(x, size) for x in _run(body, dict(zip(body.inputs, given, strict=True)), size)]
        return results[: len(init)], results[len(init) :]

    steps_first = [ops.moveaxis(x.value, 1, 0) if isinstance(x, Batch) else x for x in xs]
    carry, stacked = ops.scan(step, [leading_axis(x, size) for x in init], steps_first, length, reverse)
    return [*map(Batch, carry), *(Batch(ops.moveaxis(y, 1, 0)) for y in stacked)]


def _one_by_one(operation: Operation, inputs: list[Any]) -> list[Any]:
    """The results of an op without a rule, example by example."""
    moving = [i for i, x in enumerate(inputs) if isinstance(x, Batch)]

    def one(slices: Any) -> Any:
        given = list(inputs)
        for i, x in zip(moving, slices, strict=True):
            given[i] = x
        result = operation.op(*operation.arguments(given))
        return list(result) if operation.op.returns_tuple else [result]

    return list(map(Batch, map_fn(one, [inputs[i].value for i in moving])))

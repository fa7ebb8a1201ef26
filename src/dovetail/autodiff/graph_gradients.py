"""`gradients(ys, xs)`: the gradient as further nodes of the same graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

from dovetail.autodiff import reverse
from dovetail.core.base.errors import op_error
from dovetail.core.tensor import Tensor
from dovetail.core.values.structure import flatten, flatten_like
from dovetail.core.values.value_kinds import followed
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.base import foreign_tensor
from dovetail.graph.nesting import outermost_of
from dovetail.graph.reach import reach
from dovetail.trace import trace


def gradients(ys: Any, xs: Any, grad_ys: Any = None, stop_gradients: Any = ()) -> list[Any]:
    """Gradients of the sum of `ys` with respect to each of `xs`, as tensors of their graph.

    Args:
        ys: a graph Tensor or several.
        xs: graph Tensors of the same graph, or variables and eager Tensors that it uses.
        grad_ys: gradients that arrive at `ys`, in their structure; ones if None.
        stop_gradients: tensors of the graph whose operations pass no gradient on, as if they were constants.

    Returns:
        A list as long as `xs`, with None for each x that `ys` do not depend on.

    Raises:
        TypeError: an x or a y is of an integer dtype, or a y is not a graph Tensor.
        ValueError: the tensors are in several graphs.

    Source: `tf.gradients`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((3,)), "x")
        >>> graph.outputs = gradients(x * x, x)
        >>> dt.function(graph)(dt.ops.constant([1., 2., 3.])).numpy()
        array([2., 4., 6.], dtype=float32)
    """
    (targets, structure), sources = flatten(ys, "gradients"), [*map(followed, flatten(xs, "gradients")[0])]
    for y in targets:
        if type(y) is not GraphTensor:
            raise op_error(TypeError, "gradients", f"{y!r} is not in a graph; for eager values use GradientTape.")
    current = trace.current_graph()
    if not targets and current is None:
        raise op_error(ValueError, "gradients", "ys has no tensor: give one, or a list of them, of a graph.")
    graph = trace.open_graph(targets[0], "gradients") if current is None else current
    for tensor in (*sources, *targets):
        if not tensor.dtype.is_differentiable:
            raise op_error(TypeError, "gradients", f"{tensor!r} has no gradient; cast it to a float.")
    given, kept = flatten_like(structure, grad_ys), flatten(stop_gradients)[0]
    _check_one_graph([t for t in (*targets, *sources, *given, *kept) if type(t) is GraphTensor])
    with graph.as_default():
        stopped = {t.op for t in kept}
        seeds = [(y, reverse.seed(y, g)) for y, g in zip(targets, given, strict=True)]
        return _through(targets[0].op.graph, seeds, sources, stopped) if targets else [None] * len(sources)


def _check_one_graph(tensors: list[GraphTensor]) -> None:
    """Refuse tensors of several graphs; graphs inside one count as that."""
    for tensor in tensors:
        if outermost_of(tensor.op.graph) is not outermost_of(tensors[0].op.graph):
            raise op_error(ValueError, "gradients", foreign_tensor(tensors[0].op.graph, tensor))


def _through(graph: Graph, seeds: list[tuple[Any, Any]], sources: list[Any], stopped: set[Operation]) -> list[Any]:
    """The gradients that flow from the seeds, whose tensors are in one graph, to the sources.

    In a body of control flow they also flow through the tensors that it captures from the graph around it.
    """
    points = [_points(graph, x) for x in sources]
    taken = [(outer, own) for outer, own in graph.captures.items() if type(outer) is GraphTensor]
    flat = [*(p for of_source in points for p in of_source), *(own for _, own in taken)]
    nodes = [op for op in between([y for y, _ in seeds], flat) if op not in stopped]
    gradients = dict(zip(map(id, flat), reverse.backward(reversed(nodes), seeds, flat), strict=True))
    by_source = [_sum(gradients[id(p)] for p in of_source) for of_source in points]
    outside = [(outer, g) for outer, own in taken if (g := gradients[id(own)]) is not None]
    if not outside:
        return by_source
    around = _through(outside[0][0].op.graph, outside, sources, stopped)
    return [_sum(pair) for pair in zip(by_source, around, strict=True)]


def _sum(gradients: Iterable[Any]) -> Any:
    """The sum of the gradients that are not None; None if all are."""
    there = [g for g in gradients if g is not None]
    return functools.reduce(operator.add, there) if there else None


def _points(graph: Graph, source: Any) -> list[Any]:
    """The tensors of a graph that represent a source; none if the graph does not use it."""
    if type(source) is GraphTensor:
        return [source] if source.op.graph is graph else []
    if type(source) is Tensor:
        point = graph.closures.get(source, graph.captures.get(source))
    elif graph.dialect.records_effects:  # state stops gradients: they go to the variable, not to the assigned tensor
        return [op.outputs[0] for op in graph.operations if op.type in _OF_VARIABLES and op.attrs["variable"] is source]
    else:
        point = graph.state.inputs.get(source)
        if point is None:
            reads = (op for op in graph.operations if op.type == "ReadVariableOp" and op.attrs["variable"] is source)
            point = next((op.outputs[0] for op in reads), None)
    return [] if point is None else [point]


_OF_VARIABLES = ("ReadVariableOp", "AssignVariableOp")


def between(targets: list[Any], sources: list[Any]) -> list[Operation]:
    """The operations on a path from a source to a target, in program order."""
    behind = set(reach(sources, forward=True, control=False))
    return reach(targets, control=False, outside=lambda op: op not in behind)

"""`gradients(ys, xs)`: the gradient as more nodes of the same graph."""

from __future__ import annotations

from typing import Any

from dovetail.autodiff import reverse
from dovetail.core.errors import op_error
from dovetail.core.structure import flatten, flatten_like
from dovetail.core.tensor import Tensor
from dovetail.graph import trace
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.reach import reach


def gradients(ys: Any, xs: Any, grad_ys: Any = None, stop_gradients: Any = ()) -> list[Any]:
    """Gradients of the sum of `ys` with respect to each of `xs`, as tensors of their graph.

    Args:
        ys: a graph Tensor or several.
        xs: graph Tensors of the same graph, or variables and eager Tensors that it uses.
        grad_ys: gradients that arrive at `ys`, in their structure; ones where it is None.
        stop_gradients: tensors of the graph whose operations hand no gradient on, as if they were constants.

    Returns:
        A list as long as `xs`, with None where `ys` do not depend on it.

    Raises:
        TypeError: an x or a y is of an integer dtype, or a y is not a graph Tensor.

    Source: `tf.gradients`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((3,)), "x")
        >>> graph.outputs = gradients(x * x, x)
        >>> dt.function(graph)(dt.ops.constant([1., 2., 3.])).numpy()
        array([2., 4., 6.], dtype=float32)
    """
    (targets, structure), sources = flatten(ys), flatten(xs)[0]
    for y in targets:
        if type(y) is not GraphTensor:
            raise op_error(TypeError, "gradients", f"{y!r} is not in a graph; for eager values use GradientTape.")
    current = trace.current_graph()
    graph = trace.open_graph(targets[0], "gradients") if current is None else current
    for tensor in (*sources, *targets):
        if not tensor.dtype.is_differentiable:
            raise op_error(TypeError, "gradients", f"{tensor!r} has no gradient; cast it to a float.")
    points = [_point(graph, x) for x in sources]
    given = flatten_like(structure, grad_ys)
    with graph.as_default():
        stopped = {t.op for t in flatten(stop_gradients)[0]}
        nodes = [op for op in between(targets, [p for p in points if p is not None]) if op not in stopped]
        seeds = [(y, reverse.seed(y, g)) for y, g in zip(targets, given, strict=True)]
        return reverse.backward(reversed(nodes), seeds, points)


def _point(graph: Graph, source: Any) -> Any:
    """The tensor of the graph that stands for a source; None where the graph does not use it."""
    if type(source) is GraphTensor:
        return source
    if type(source) is Tensor:
        return graph.closures.get(source, graph.captures.get(source))
    return _read_of(graph, source)


def _read_of(graph: Graph, variable: Any) -> Any:
    if variable in graph.state.inputs:
        return graph.state.inputs[variable]
    return next(
        (op.outputs[0] for op in graph.operations if op.type == "ReadVariableOp" and op.attrs["variable"] is variable),
        None,
    )


def between(targets: list[Any], sources: list[Any]) -> list[Operation]:
    """The operations that lie on a path from a source to a target, in program order."""
    behind = set(reach(sources, forward=True, control=False))
    return reach(targets, control=False, outside=lambda op: op not in behind)

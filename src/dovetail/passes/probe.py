"""Probing: outputs that say what values a program computes.

A point is an operation of the graph, or of a branch or loop inside.  Its statistics are one vector, of `FIELDS`.
Vectors of several steps are joined: loops carry the vector of the steps so far, and a branch that is not taken gives
the vector of no step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dovetail import ops
from dovetail.core.base.scopes import record_on
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.trace import trace

INT = as_dtype("int32")
FIELDS = ("size", "nans", "infinities", "sum", "squares", "zeros", "steps", "least", "most", "first_bad_step")
_STEPS, _LEAST, _MOST, _FIRST = map(FIELDS.index, ("steps", "least", "most", "first_bad_step"))
NO_STEP = np.array([0, 0, 0, 0, 0, 0, 0, np.inf, -np.inf, np.inf], "float32")
SHAPE, STATISTICS, VALUE = "shape", "statistics", "value"


def add_finite(graph: Graph, ends: int) -> int:
    """Add an output that says whether all floats among the results are finite; add none if there are no floats.

    Args:
        graph: the graph to edit.
        ends: the number of outputs that are results; further ones are not looked at.

    Returns:
        The number of added outputs.
    """
    floats = [t for t in dict.fromkeys(graph.outputs[:ends]) if t.dtype.is_differentiable]
    if not floats:
        return 0
    with record_on(()), graph.as_default():
        finite: Any = ops.all(ops.isfinite(floats[0]))
        for tensor in floats[1:]:
            finite = ops.logical_and(finite, ops.all(ops.isfinite(tensor)))
    graph.outputs = [*graph.outputs, finite]
    return 1


class Point(NamedTuple):
    """A point of a graph, with an output about it.

    Attributes:
        label: its name.
        kind: SHAPE, STATISTICS or VALUE.
        tensor: the tensor that is looked at.
        found: the tensor that says it, in the graph.
    """

    label: str
    kind: str
    tensor: GraphTensor
    found: GraphTensor


# (operation, the name of the operation that holds its graph, or "") → its label, and which kinds are wanted; or None
Wanted: TypeAlias = Callable[[Operation, str], "tuple[str, frozenset[str]] | None"]


def add_points(graph: Graph, wanted: Wanted) -> list[Point]:
    """Add an output for each kind that is wanted of a point, and return the points in the order of the outputs.

    The conditions of loops have no points.  Values inside of loops and branches have known shapes, else they are left
    out: a `While` gives the value of its last step, a `Scan` the values of all steps.
    """
    with record_on(()):
        points = list(_points(graph, wanted, ""))
    graph.outputs = [*graph.outputs, *(point.found for point in points)]
    return points


def _points(graph: Graph, wanted: Wanted, around: str) -> Iterator[Point]:
    for operation in list(graph.operations):
        if operation.type in _INSIDE:
            for name in _INSIDE[operation.type]:
                yield from _from_inside(operation, name, wanted)
        asked = wanted(operation, around)
        if asked is None or not operation.outputs:
            continue
        label, kinds = asked
        tensor = operation.outputs[0]
        if tensor.dtype.is_floating and STATISTICS in kinds:
            with graph.as_default():
                yield Point(label, STATISTICS, tensor, _statistics(tensor))
        if VALUE in kinds and (not around or tensor.is_static):
            yield Point(label, VALUE, tensor, tensor)
        if tensor.shape is not None and (not tensor.is_static or kinds == {SHAPE}):
            with graph.as_default():
                yield Point(label, SHAPE, tensor, trace.to_graph(ops.shape(tensor), INT, graph, OPS["Identity"]))


def _statistics(tensor: GraphTensor) -> Any:
    x = ops.cast(tensor, "float32")
    finite = ops.isfinite(x)
    kept = ops.where(finite, x, 0.0)
    nans, size = _count(ops.isnan(x)), _count(ops.ones_like(finite))
    infinities = size - nans - _count(finite)
    bound = np.array([np.inf], "float32")  # for empty tensors
    least, most = (
        function(ops.concatenate([ops.reshape(ops.where(finite, x, sign * np.inf), (-1,)), sign * bound]))
        for function, sign in ((ops.min, 1.0), (ops.max, -1.0))
    )
    first = ops.where(nans + infinities > 0, 0.0, np.inf)
    sums = [size, nans, infinities, ops.sum(kept), ops.sum(kept * kept), _count(ops.equal(x, 0.0))]
    return ops.stack([*sums, np.float32(1.0), least, most, ops.cast(first, "float32")])


def _count(flags: Any) -> Any:
    return ops.sum(ops.cast(flags, "float32"))


def _joined(rows: Any) -> Any:
    """The vector of several steps, from a row for each, in order."""
    before = ops.cumsum(rows[:, _STEPS]) - rows[:, _STEPS]
    first = ops.min(rows[:, _FIRST] + before)
    sums = [ops.sum(rows[:, number]) for number in range(_LEAST)]
    return ops.stack([*sums, ops.min(rows[:, _LEAST]), ops.max(rows[:, _MOST]), first])


# -- branches and loops -----------------------------------------------------------------------------------------------

# op type → its subgraphs whose points are handed out
_INSIDE = {"If": ("then_branch", "else_branch"), "While": ("body",), "Scan": ("body",)}


def _from_inside(operation: Operation, name: str, wanted: Wanted) -> Iterator[Point]:
    """The points inside of a branch or loop, with further results of the operation."""
    body = operation.body(name)
    for point in list(_points(body, wanted, operation.name)):
        is_value = point.kind != STATISTICS
        with operation.graph.as_default():
            outputs = _GIVE[operation.type](operation, body, name, point.found, is_value)
        yield point._replace(found=outputs)


def _given_by_branch(operation: Operation, body: Graph, name: str, tensor: GraphTensor, is_value: bool) -> Any:
    (other,) = (part for part in _INSIDE["If"] if part != name)
    nothing = _zeros(tensor) if is_value else NO_STEP
    return operation.add_output(**{name: tensor, other: operation.body(other).constant(nothing)})


def _given_by_while(operation: Operation, body: Graph, name: str, tensor: GraphTensor, is_value: bool) -> Any:
    first = operation.graph.constant(_zeros(tensor) if is_value else NO_STEP)
    return operation.add_output(first, body=lambda before: tensor if is_value else _joined(ops.stack([before, tensor])))


def _zeros(tensor: GraphTensor) -> np.ndarray:
    assert tensor.shape is not None, "points without a shape are left out"
    return np.zeros([dim or 0 for dim in tensor.shape], tensor.dtype.numpy)


def _given_by_scan(operation: Operation, body: Graph, name: str, tensor: GraphTensor, is_value: bool) -> Any:
    rows: Any = operation.add_output(body=tensor)
    if is_value:
        return rows
    rows = ops.flip(rows, 0) if operation.attrs["reverse"] else rows
    return _joined(ops.concatenate([NO_STEP[None], rows]))  # there may be no steps


_GIVE = {"If": _given_by_branch, "While": _given_by_while, "Scan": _given_by_scan}

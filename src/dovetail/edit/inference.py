"""Inference after an edit: update shapes through a graph, into the graphs inside it and out again.

It also follows the known elements of tensors if these decide on shapes: through `Shape` and the arithmetic with shapes
(`graph.shape_values`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.infer import CARRIES_NAN
from dovetail.core.values.shapes import size_of
from dovetail.core.values.spec import Shape, TensorSpec
from dovetail.edit.transplant import copy_graph
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.shape_values import LARGEST, ShapeValues
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS, join_specs
from dovetail.trace.trace import infer_specs

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def infer_again(operation: Operation, known: ShapeValues | None = None) -> list[tuple[GraphTensor, Shape]]:
    """The outputs whose shapes differ from the inferred ones, with the inferred shapes."""
    op, args, known = operation.op, operation.args, known or ShapeValues()
    for index in op.ints_positions:
        if operation.layout[index] is not None:
            tensor = operation.inputs[operation.input_at(index)]
            args[index] = known.ints(tensor)
    specs = infer_specs(op, args, operation.where)
    specs = specs if op.returns_tuple else (specs,)
    if len(specs) != len(operation.outputs):
        problem = f"it would have {len(specs)} results, not {len(operation.outputs)}."
        raise op_error(ValueError, op.name, problem, where=operation.where)
    pairs = list(zip(operation.outputs, specs, strict=True))
    for tensor, spec in pairs:
        if spec.dtype != tensor.dtype:
            problem = f"{tensor!r} would become {spec!r}; cast what it is computed from."
            raise op_error(TypeError, op.name, problem, where=operation.where)
    return [(tensor, spec.shape) for tensor, spec in pairs if spec.shape != tensor.shape]


def merged(inferred: Shape, said: Shape) -> Shape:
    """A shape from both a type rule and `set_shape`; if they differ, the type rule is right."""
    if inferred is None or said is None or len(inferred) != len(said):
        return said if inferred is None else inferred
    return TensorShape(b if a is None else a for a, b in zip(inferred, said, strict=True))


def holds_shape_values(tensor: GraphTensor) -> bool:
    """Whether a tensor's elements may decide on shapes: it has few integers, or an unknown number of them."""
    size = size_of(tensor.shape)
    return tensor.dtype.is_integer and (size is None or size <= LARGEST)


def infer_from(operations: Iterable[Operation], changed: Iterable[GraphTensor] = ()) -> None:
    """Give the outputs of these operations, and of all affected ones, the shapes that their inputs imply now.

    Args:
        operations: of one graph; one of their inputs was replaced, or has another shape.
        changed: tensors whose known elements may have changed.

    Raises:
        ValueError, TypeError, IndexError: the inputs of an operation do not fit.
    """
    others = set(changed)
    todo: list[tuple[int, int, Operation]] = []

    def push(users: Iterable[Operation]) -> None:
        for operation in users:
            heappush(todo, (operation._position, id(operation), operation))

    push(operations)
    last: Operation | None = None
    while todo:
        operation = heappop(todo)[-1]
        if operation is last:  # its inputs were final when it was first visited
            continue
        last = operation
        infer_subgraphs(operation)
        for tensor, shape in infer_again(operation):
            tensor.put_shape(shape)
            push(tensor.consumers())
        if _passes_on(operation, others):
            others.add(operation.outputs[0])
            push(operation.outputs[0].consumers())


def _passes_on(operation: Operation, changed: set[GraphTensor]) -> bool:
    """Whether known elements of an operation's result may have changed, because its inputs' elements or shapes did."""
    if operation.type == "Shape":
        return True
    return (
        operation.type in CARRIES_NAN
        and holds_shape_values(operation.outputs[0])
        and any(t in changed for t in operation.inputs)
    )


# -- graphs inside of operations --------------------------------------------------------------------------------------


def infer_subgraphs(operation: Operation) -> None:
    """Give the inputs of the graphs inside an operation the shapes that it passes to them, and infer the rest.

    Raises:
        ValueError, TypeError, IndexError: a graph does not take these shapes, or a loop does not keep its own.
    """
    if operation.type not in SUBGRAPH_CALLS:
        return
    for name, carried, others in SUBGRAPH_CALLS[operation.type](*operation.args):
        fixed = [t.shape for t in others]
        if not _takes(operation.attrs[name], carried, fixed):
            _give(own_subgraph(operation, name), carried, fixed)


def _takes(inner: Graph, carried: Sequence[Any], fixed: Sequence[Shape]) -> bool:
    """Whether the inputs of a subgraph have the shapes that it is given."""
    own, first = [t.shape for t in inner.inputs], [t.shape for t in carried]
    if own[len(first) :] != fixed or any(_rank(a) != _rank(b) for a, b in zip(own, first, strict=False)):
        return False
    return own[: len(first)] == _joined(inner, first)


def _rank(shape: Shape) -> int | None:
    return None if shape is None else len(shape)


def _give(inner: Graph, carried: Sequence[Any], fixed: Sequence[Shape]) -> None:
    """Set the shapes of a subgraph's inputs: carried ones, made wider until they stay, then the others."""
    shapes = [t.shape for t in carried]
    while True:  # it ends, since each round knows less of some dimension
        users: list[Operation] = []
        for tensor, shape in zip(inner.inputs, [*shapes, *fixed], strict=True):
            if tensor.shape != shape:
                tensor.put_shape(shape)
                users += tensor.consumers()
        infer_from(users)
        joined = _joined(inner, shapes)
        if joined == shapes:
            return
        shapes = joined


def _joined(inner: Graph, shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes that fit both the values that a loop carries and the results of its body."""
    pairs = zip(shapes, inner.outputs, strict=False)
    return [join_specs(TensorSpec(a, b.dtype), b.spec, "what a loop carries").shape for a, b in pairs]


def own_subgraph(operation: Operation, name: str) -> Graph:
    """A subgraph of an operation, which is copied first if other operations hold it too."""
    inner = operation.attrs[name]
    if any(holder is not operation for holder in holders_of(inner)):
        inner = copy_graph(inner)
        operation.hold_attr(name, inner)
    return inner

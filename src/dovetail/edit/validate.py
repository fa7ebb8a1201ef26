"""Validation: whether a graph has the properties that every pass and edit must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dovetail.core.values.shapes import fits
from dovetail.core.values.signature import static_key
from dovetail.edit.inference import infer_again
from dovetail.graph.operation import SINGLE, Operation
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def problems(graph: Graph) -> Iterator[str]:
    """Yield the problems of a graph and the graphs inside it, a sentence each."""
    operations = graph.operations
    place = {op: i for i, op in enumerate(operations)}
    if len(operations) != len(graph._operations):
        yield f"{len(operations)} operations stand in order, but {len(graph._operations)} are named."
    if len(operations) != sum(map(len, graph.by_type.values())):
        yield f"{len(operations)} operations stand in order, but `by_type` holds more or fewer."
    for op in operations:
        if graph._operations.get(op.name) is not op:
            yield f"{op!r} is not found by its name."
        if op.type != op.op.name or op not in graph.by_type.get(op.type, ()):
            yield f"{op!r} is not found by its type."
        yield from (f"{op!r} {problem}." for problem in _problems_of(op, place))
    for what, tensors in (("input", graph.inputs), ("output", graph.outputs)):
        yield from (f"the {what} {t!r} is of no operation in the graph." for t in tensors if t.op not in place)
    for inner in graph.subgraphs():
        yield from (f"in {inner.name}: {problem}" for problem in problems(inner))


def _problems_of(op: Operation, place: dict[Operation, int]) -> Iterator[str]:
    counted = sum(1 if count == SINGLE else count or 0 for count in op.layout)
    if counted != len(op.inputs) or len(op.layout) != len(op.op.params):
        yield f"has {len(op.inputs)} inputs, but the layout {op.layout}"
    for tensor in op.inputs:
        if place.get(tensor.op, len(place)) >= place[op]:
            yield f"takes {tensor!r}, which is not made before it"
        if sorted(tensor._uses.get(op, ())) != [i for i, t in enumerate(op.inputs) if t is tensor]:
            yield f"takes {tensor!r}, which does not know it as a consumer"
    for other in op.control_inputs:
        if place.get(other, len(place)) >= place[op] or op not in other.control_outputs:
            yield f"waits for {other!r}, which does not stand before it or does not know of it"
    for i, tensor in enumerate(op.outputs):
        if tensor.op is not op or tensor.index != i:
            yield f"has the output {tensor!r}, which names {tensor.op!r} as what makes it"
        for user in tensor.consumers():
            if user not in place or not any(t is tensor for t in user.inputs):
                yield f"has the output {tensor!r}, which counts {user!r} as a consumer"
    yield from _problems_of_attributes(op)
    yield from _problems_of_subgraphs(op)
    try:
        others = infer_again(op)
    except (ValueError, TypeError, IndexError) as error:
        yield f"is refused by its type rule: {str(error).rstrip('.')}"
        return
    for tensor, shape in others:
        if not fits(tensor.shape, shape):
            yield f"has the output {tensor!r}, but its type rule says {shape}"


def _problems_of_attributes(op: Operation) -> Iterator[str]:
    for name, value in op.attrs.items():
        try:
            held = op.op.normalize(name, value)
        except (LookupError, TypeError, ValueError) as error:
            yield f"has an attribute that its op does not accept: {str(error).rstrip('.')}"
            continue
        if held is not value and static_key(held) != static_key(value):
            yield f"holds {name}={value!r}, not {held!r}"


def _problems_of_subgraphs(op: Operation) -> Iterator[str]:
    for name, carried, others in SUBGRAPH_CALLS[op.type](*op.args) if op.type in SUBGRAPH_CALLS else ():
        inner, given = op.attrs[name], (*carried, *others)
        if len(inner.inputs) != len(given):
            yield f"gives {len(given)} tensors to its {name}, which takes {len(inner.inputs)}"
            continue
        for own, tensor in zip(inner.inputs, given, strict=True):
            if own.dtype != tensor.dtype or not fits(own.shape, tensor.shape):
                yield f"gives {tensor!r} to the input {own!r} of its {name}"

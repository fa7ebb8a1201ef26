"""Writing of branches, loops and calls: their graphs become functions of the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.values.spec import spec
from dovetail.formats.nodes.ways import unique
from dovetail.formats.tensorflow.written_nodes import Nodes, Place, Ref, writes
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import shape_proto

INT = spec((), "int32")


def _function(name: str) -> Any:
    return TENSORFLOW.NameAttrList(name=name)


def _name(place: Place, part: str) -> str:
    return f"{place.name}_{part}".replace("/", "_")


def _plain(place: Place, part: str, graph: Any) -> Any:
    """A graph as a function, for an attribute."""
    return _function(place.nodes.writer.body(_name(place, part), graph))


def _stateless(place: Place, type: str) -> str:
    """The type of a node, which says that its functions have no effects if they have none."""
    return type if place.operation.is_kept or _prints(place.operation) else f"Stateless{type}"


def _prints(operation: Any) -> bool:
    return any(op.type == "Print" or _prints(op) for part in operation.subgraphs() for op in part)


def _shapes(specs: Sequence[Any]) -> list[Any]:
    return [shape_proto(spec.shape) for spec in specs]


@writes("If")
def _if(place: Place, condition: Ref, inputs: Sequence[Ref], then_branch: Any, else_branch: Any) -> list[Ref]:
    outputs = place.operation.outputs
    return place.result(
        _stateless(place, "If"),
        condition,
        inputs,
        then_branch=_plain(place, "true", then_branch),
        else_branch=_plain(place, "false", else_branch),
        Tout=[t.dtype for t in outputs],
        output_shapes=_shapes(outputs),
    )


@writes("Call")
def _call(place: Place, inputs: Sequence[Ref], graph: Any) -> list[Ref]:
    return place.result(
        "PartitionedCall", inputs, f=_plain(place, "call", graph), Tout=[t.dtype for t in place.operation.outputs]
    )


@writes("While")
def _while(
    place: Place, init: Sequence[Ref], constants: Sequence[Ref], condition: Any, body: Any, maximum_iterations: Any
) -> list[Ref]:
    """A loop; TensorFlow's carries the constants."""
    count = len(init)
    specs = [*(("carry", t.spec) for t in body.inputs[:count]), *(("constant", t.spec) for t in body.inputs[count:])]

    def test(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        return _part(nodes, condition, refs)

    def step(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        return [*_part(nodes, body, refs), *refs[count:]]

    return place.results(_loop(place, specs, [*init, *constants], test, step, maximum_iterations)[:count])


@writes("Scan")
def _scan(
    place: Place, init: Sequence[Ref], xs: Sequence[Ref], constants: Sequence[Ref], body: Any, length: Any, reverse: Any
) -> list[Ref]:
    """A loop over slices, which TensorFlow has in lists; it carries the number of the step, too."""
    count, stacked = len(init), body.outputs[len(init) :]
    lists = [
        place.node("TensorListFromTensor", x, _element(place, t), dtype="variant", element_dtype=t.dtype)
        for x, t in zip(xs, body.inputs[count:], strict=False)
    ]
    size = (
        place.constant(length, "length")
        if length is not None
        else place.node("TensorListLength", lists[0], dtype="int32")
    )
    results = [
        place.node("TensorListReserve", _element(place, t), size, dtype="variant", element_dtype=t.dtype)
        for t in stacked
    ]
    specs: list[tuple[str, Any]] = [("carry", t.spec) for t in body.inputs[:count]]
    specs += [("step", INT), ("length", INT), *[("list", "variant")] * (len(results) + len(lists))]
    specs += [("constant", t.spec) for t in body.inputs[count + len(xs) :]]
    at = count + 2
    inner = at + len(results)

    def test(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        return nodes.add("Less", unique("goes_on", nodes.names), refs[count:at], ["bool"], {})

    def step(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        index = refs[count]
        if reverse:
            (last,) = nodes.add(
                "Sub", unique("left", nodes.names), [refs[count + 1], _next(nodes, index)], ["int32"], {}
            )
            index = last
        slices = [
            nodes.add(
                "TensorListGetItem",
                unique("slice", nodes.names),
                [items, index, nodes.constant(_sizes(t.shape), unique("shape", nodes.names))],
                [t.dtype],
                {"element_dtype": t.dtype},
            )[0]
            for items, t in zip(refs[inner:], body.inputs[count : count + len(xs)], strict=False)
        ]
        outputs = _part(nodes, body, [*refs[:count], *slices, *refs[inner + len(xs) :]])
        kept = [
            nodes.add("TensorListSetItem", unique("set", nodes.names), [items, index, y], ["variant"], {})[0]
            for items, y in zip(refs[at:inner], outputs[count:], strict=True)
        ]
        return [*outputs[:count], _next(nodes, refs[count]), refs[count + 1], *kept, *refs[inner:]]

    first = [*init, place.constant(0, "step"), size, *results, *lists, *constants]
    ends = _loop(place, specs, first, test, step)
    ys = [
        place.node("TensorListStack", items, _element(place, t), dtype=t.dtype, element_dtype=t.dtype)
        for items, t in zip(ends[at:inner], stacked, strict=True)
    ]
    return place.results([*ends[:count], *ys])


def _loop(
    place: Place,
    specs: Sequence[tuple[str, Any]],
    first: Sequence[Ref],
    test: Callable[..., list[Ref]],
    step: Callable[..., list[Ref]],
    limit: int | None = None,
) -> list[Ref]:
    """Add a loop, and return its values at the end.

    It also carries the number of the step and the most steps, -1 for any number: TensorFlow's gradient takes these two
    from the first places.
    """

    def goes_on(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        (more,) = test(nodes, refs[2:])
        if limit is not None:
            (below,) = nodes.add("Less", unique("is_below", nodes.names), refs[:2], ["bool"], {})
            (more,) = nodes.add("LogicalAnd", unique("goes_on", nodes.names), [more, below], ["bool"], {})
        return [more]

    def body(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
        results = step(nodes, refs[2:])
        return [_next(nodes, refs[0]), refs[1], *results]

    specs = [("counter", INT), ("maximum_iterations", INT), *specs]
    first = [place.constant(0, "counter"), place.constant(-1 if limit is None else limit, "maximum_iterations"), *first]
    writer = place.nodes.writer
    names = [writer.build(_name(place, part), specs, fill) for part, fill in (("condition", goes_on), ("body", body))]
    shapes = _shapes([INT if isinstance(one, str) else one for _, one in specs])
    return place.several(
        _stateless(place, "While"),
        first,
        dtypes=[ref.dtype for ref in first],
        cond=_function(names[0]),
        body=_function(names[1]),
        output_shapes=shapes,
        parallel_iterations=10,
    )[2:]


def _part(nodes: Nodes, graph: Any, refs: Sequence[Ref]) -> list[Ref]:
    """Add the operations of a graph, and return the values of its outputs."""
    return nodes.part(graph, dict(zip(graph.inputs, refs, strict=True)), graph.outputs)


def _next(nodes: Nodes, index: Ref) -> Ref:
    one = nodes.constant(_int(1), unique("one", nodes.names))
    return nodes.add("AddV2", unique("next", nodes.names), [index, one], ["int32"], {})[0]


def _int(value: int) -> np.ndarray:
    return np.asarray(value, "int32")


def _sizes(shape: Any) -> np.ndarray:
    """The shape of the elements of a list: -1 for unknown sizes."""
    return _int(-1) if shape is None else np.asarray([-1 if size is None else size for size in shape], "int32")


def _element(place: Place, tensor: Any) -> Ref:
    return place.constant(_sizes(tensor.shape), "shape")

"""Branches, loops and calls: If, Case, While, PartitionedCall, NoOp; Scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.values.spec import spec
from dovetail.formats.nodes.constants import constant_of, filled
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.names import behind, split
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import no_way, rows, special, writes
from dovetail.formats.tensorflow.tensor_lists import TensorList, is_carried, rebuilt, tensors_of
from dovetail.formats.tensorflow.values import Foreign, Optional
from dovetail.formats.tensorflow.written_nodes import Nodes, Place, Ref
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import shape_proto

rows("NoOp < NoOp:")
no_way(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "a file cannot hold its Python function")
no_way(COLLECTIVES, "it is computed by several processes")

INT = spec((), "int32")


@special("PartitionedCall StatefulPartitionedCall", "it calls functions of the file", of_files=True)
def _call(node: Node) -> Any:
    return node.reader.call(node.attrs("f"), node.inputs)


@special("If StatelessIf", "it calls functions of the file", of_files=True)
def _if(node: Node) -> Any:
    condition, *inputs = node.inputs
    names = [node.attrs(name) for name in ("then_branch", "else_branch")]
    return branches(node, node.taken(condition), [partial(node.reader.call, name, inputs) for name in names])


@special("Case StatelessCase", "it calls functions of the file", of_files=True)
def _case(node: Node) -> Any:
    """One of several functions; the last one for a number that none has."""
    names = [attribute.name for attribute in node.proto.attr["branches"].list.func]
    last = len(names) - 1
    return _chosen(node, ops.where((node.tensor(0) < 0) | (node.tensor(0) > last), last, node.tensor(0)), names, 0)


def _chosen(node: Node, number: Any, names: Sequence[str], first: int) -> Any:
    inputs = node.inputs[1:]
    if first == len(names) - 1:
        return node.reader.call(names[first], inputs)
    calls = [partial(node.reader.call, names[first], inputs), partial(_chosen, node, number, names, first + 1)]
    return branches(node, ops.equal(number, first), calls)


def branches(node: Node, condition: Any, calls: Sequence[Callable[[], list[Any]]]) -> list[Any]:
    """The results of one of two calls; results that are no tensors can be used if both have the same."""
    known = constant_of(condition)
    if known is not None:
        return calls[0 if known else 1]()
    whole: list[list[Any]] = []
    specs: dict[int, tuple[Optional, list[Any]]] = {}  # number of a result → its optional values, and their specs

    def branch(call: Any) -> list[Any]:
        values = list(map(node.taken, call()))
        whole.append(values)
        optional = [
            tensor
            for number, (_, each) in specs.items()
            for tensor in values[number].tensors()
            or [filled([n or 0 for n in one.shape], 0, one.dtype) for one in each]
        ]
        return tensors_of(values) + optional

    def chosen() -> list[Any]:
        whole.clear()
        return list(ops.cond(ops.cast(condition, "bool"), lambda: branch(calls[0]), lambda: branch(calls[1])))

    results_of_branch = chosen()
    for number, pair in enumerate(zip(*whole, strict=True)):
        if given := next((one for one in pair if isinstance(one, Optional) and one.values), None):
            specs[number] = given, [tensor.spec for tensor in given.tensors()]
    results_of_branch = (
        chosen() if specs else results_of_branch
    )  # once more, with stand-ins in the branch without these tensors
    left = iter(results_of_branch)
    results = rebuilt([_common(*pair) for pair in zip(*whole, strict=True)], left)
    for number, (given, _) in specs.items():
        results[number] = given.rebuilt(left)
    return results


def _common(one: Any, other: Any) -> Any:
    """A result of two branches."""
    if is_carried(one) or isinstance(one, Optional) or one == other:
        return one
    return Foreign("a branch", "the branches give different variables, strings or tables")


@special("While StatelessWhile", "it calls functions of the file", of_files=True)
def _while(node: Node) -> Any:
    condition, body, reader = node.attrs("cond"), node.attrs("body"), node.reader
    inputs = list(map(node.taken, node.inputs))
    if reader.runs:
        return repeated(inputs, partial(reader.call, body), lambda values: reader.call(condition, values)[0])
    moving = _moving(node, body)

    def whole(values: Sequence[Any]) -> list[Any]:
        by_place = dict(zip(moving, values, strict=True))
        return [by_place.get(i, value) for i, value in enumerate(inputs)]

    def step(values: list[Any]) -> list[Any]:
        results = reader.call(body, whole(values))
        return [results[i] for i in moving]

    return whole(looped([inputs[i] for i in moving], step, lambda values: reader.call(condition, whole(values))[0]))


def repeated(values: list[Any], step: Callable[[list[Any]], list[Any]], test: Callable[[list[Any]], Any]) -> list[Any]:
    """The values of a loop when it ends, if each step is computed at once."""
    while np.all(constant_of(test(values))):
        values = step(values)
    return values


def looped(first: list[Any], step: Callable[[list[Any]], list[Any]], test: Callable[[list[Any]], Any]) -> list[Any]:
    """The values of a loop when it ends: tensors, and lists of tensors.

    Args:
        first: the values before it.
        step: (values) → the next values.
        test: (values) → whether to go on.

    Raises:
        Unreadable: the elements of an empty list have no known shape.
    """
    first = _with_elements(first, step)
    tensors = ops.while_loop(
        lambda *state: ops.cast(test(rebuilt(first, state)), "bool"),
        lambda *state: tensors_of(step(rebuilt(first, state))),
        tensors_of(first),
    )
    return rebuilt(first, tensors)


def _with_elements(first: list[Any], step: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The first values of a loop; empty lists get zeros, with the shapes of the body's elements."""
    empty = [i for i, value in enumerate(first) if isinstance(value, TensorList) and value.data is None]
    if not any(not isinstance(first[i].shape, list) or min(first[i].shape, default=0) < 0 for i in empty):
        return first
    values, once = list(first), step(first)  # for the shapes of its results
    for i in empty:
        if isinstance(once[i], Foreign):
            raise Unreadable(once[i].reason)
        if not isinstance(once[i], TensorList):
            raise Unreadable("it carries a list whose next value is none")
        if once[i].data is not None:
            values[i] = once[i].blank(first[i].size)
    return values


def _moving(node: Node, body: str) -> list[int]:
    """The numbers of the values that a loop changes; its body gives the others back as they are."""
    function = node.reader.functions.get(body)
    if function is None:
        raise Unreadable(f"there is no function {body!r}")
    nodes = {inner.name: inner for inner in function.node_def}
    arguments = [argument.name for argument in function.signature.input_arg]
    moving = []
    for number, output in enumerate(function.signature.output_arg):
        name = split(behind(function.ret[output.name], nodes))[0]
        if number < len(arguments) and name == arguments[number]:
            continue
        if not is_carried(node.taken(node.inputs[number])):
            raise Unreadable(f"its value {number} changes, and is no tensor")
        moving.append(number)
    return moving


@special("NoOp ControlTrigger", "it has only the nodes for which it waits")
def _nothing(node: Node) -> Any:
    if node.reader.is_session and any(text.startswith("^") for text in node.proto.input):
        node.reader.graph.group()  # a run of it runs all for which it waits
    return []


# -- writing ----------------------------------------------------------------------------------------------------------


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
def _write_if(place: Place, condition: Ref, inputs: Sequence[Ref], then_branch: Any, else_branch: Any) -> list[Ref]:
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
def _write_call(place: Place, inputs: Sequence[Ref], graph: Any) -> list[Ref]:
    return place.result(
        "PartitionedCall", inputs, f=_plain(place, "call", graph), Tout=[t.dtype for t in place.operation.outputs]
    )


@writes("While")
def _write_while(
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

"""Branches, loops and calls: If, Loop, Scan.

A loop is one of Dovetail's if it is over tensors, and the sizes of what its steps give are known.  Any other one is
unrolled: its number of steps, or after each step whether it goes on, must be known.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import each_step, make
from dovetail.core.base.scopes import record_on
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.values.spec import TensorSpec, spec
from dovetail.formats.nodes.constants import constant_of, filled, is_tensor, recorded
from dovetail.formats.nodes.opaque import Unreadable, is_refusal
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.table import no_way, special, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of

no_way(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "a file cannot hold its Python function")
no_way(COLLECTIVES, "it is computed by several processes")


# -- reading ----------------------------------------------------------------------------------------------------------


@special("If")
def _if(node: Node) -> Any:
    """One of two subgraphs; where the condition is known, that one alone is read."""
    then, other = node.attrs["then_branch"], node.attrs["else_branch"]
    known = node.known(0)
    if known is not None:
        return node.reader.subgraph(node, then if known.reshape(-1)[0] else other, [])
    condition = ops.reshape(node.tensor(0), [])

    def branch(graph: Any) -> list[Any]:
        return [_as_tensor(node, value) for value in node.reader.subgraph(node, graph, [])]

    try:
        with node.reader.decided_by(condition):
            results = list(ops.cond(condition, lambda: branch(then), lambda: branch(other)))
    except Exception as error:  # results of other ranks or dtypes, as if the condition were known before
        if is_refusal(error):
            node.reader.need(condition)
        raise
    if any(value.shape is None for value in results):
        node.reader.need(condition)
    return results


def _as_tensor(node: Node, value: Any) -> Any:
    if isinstance(value, Weight):
        return node.reader.weight(value)
    if is_tensor(value):
        return value
    raise Unreadable("its branches give values that are no tensors")


LONGEST = 1000  # steps that are unrolled; a loop that its body ends has as many as the limits of reading allow


def _is_number(value: Any) -> bool:
    return is_tensor(value) or (isinstance(value, Weight) and not value.array.dtype.hasobject)


def _check_body(node: Node, least: int) -> None:
    """Check that the body gives a number of values.

    Raises:
        Unreadable: it gives fewer.
    """
    count = len(node.attrs["body"].output)
    if count < least:
        raise Unreadable(f"its body gives {count} values, and must give {least} or more")


def _step(node: Node, values: Sequence[Any]) -> list[Any]:
    """The results of the body, which must be tensors.

    Raises:
        Unreadable: one is not.
    """
    results = node.reader.subgraph(node, node.attrs["body"], values)
    tensors = node.reader.tensors_of(results)
    if not all(map(is_tensor, tensors)):
        raise Unreadable("its body gives values that are no tensors")
    return tensors


def _specs(node: Node, given: Sequence[Any]) -> list[TensorSpec]:
    """The specs of the results of the body, which a trace gives that nothing keeps."""
    graph = hooks.new_graph(node.name, node.reader.graph)
    with record_on(()), graph.as_default():
        return [value.spec for value in _step(node, [graph.placeholder(one.spec, "given") for one in given])]


@special("Loop")
def _loop(node: Node) -> Any:
    """The last states, and what the steps give, stacked."""
    _check_body(node, max(len(node.inputs) - 1, 1))
    if not all(map(_is_number, node.inputs[2:])):
        return _unrolled(node)
    states = [node.tensor(index) for index in range(2, len(node.inputs))]
    limit = ops.reshape(node.tensor(0), []) if node.has(0) else None
    goes_on = ops.reshape(node.tensor(1), []) if node.has(1) else recorded(True, "bool")
    count, start, rows = len(states), recorded(0, "int64"), list[Any]()
    specs = _specs(node, [start, goes_on, *states])
    ranks = [spec.rank for spec in specs[1 : 1 + count]]
    if ranks != [state.spec.rank for state in states] and _starts(goes_on, limit):  # the first step gives the ranks
        after, *results = _step(node, [start, goes_on, *states])
        start, goes_on = recorded(1, "int64"), ops.reshape(after, [])
        states, rows = results[:count], results[count:]
        specs = _specs(node, [start, goes_on, *states])
    given = specs[1 + count :]
    if not all(spec.is_static for spec in given):
        return _unrolled(node)
    empty = [filled([0, *(spec.shape or ())], 0, spec.dtype) for spec in given]
    stacks = [ops.expand_dims(row, 0) for row in rows] or empty

    def condition(step: Any, goes_on: Any, *values: Any) -> Any:
        return goes_on if limit is None else ops.logical_and(goes_on, ops.less(step, limit))

    def body(step: Any, goes_on: Any, *values: Any) -> Any:
        after, *results = _step(node, [step, goes_on, *values[:count]])
        rows = zip(values[count:], results[count:], strict=True)
        longer = [ops.concatenate([stack, ops.expand_dims(row, 0)], 0) for stack, row in rows]
        return (step + 1, ops.reshape(after, []), *results[:count], *longer)

    steps = None if limit is None else constant_of(limit)
    most = None if steps is None else int(steps)
    return list(ops.while_loop(condition, body, (start, goes_on, *states, *stacks), most)[2:])


def _starts(goes_on: Any, limit: Any) -> bool:
    """Whether it is known that a loop has a first step."""
    known = [constant_of(value) for value in (goes_on, limit) if value is not None]
    return all(value is not None and value > 0 for value in known)


def _unrolled(node: Node) -> list[Any]:
    most = int(np.reshape(node.constant(0), -1)[0]) if node.has(0) else None
    goes_on, states = not node.has(1) or node.constant(1), list(node.inputs[2:])
    given: list[list[Any]] = []
    for step in itertools.count() if most is None or most > LONGEST else each_step(most):
        if not goes_on or step == most:
            break
        make(1)  # so that a loop without an end comes to the limit
        now = [Weight("", np.asarray(step, "int64")), Weight("", np.asarray(True))]
        results = node.reader.subgraph(node, node.attrs["body"], [*now, *states])
        after = results[0].array if isinstance(results[0], Weight) else constant_of(results[0])
        if after is None:
            raise Unreadable("its body decides by values whether to go on")
        goes_on, states = bool(after), results[1 : 1 + len(states)]
        given.append(results[1 + len(states) :])
    return [*states, *(ops.stack(node.reader.tensors_of(rows)) for rows in zip(*given, strict=True))]


def bounded(count: Any) -> int:
    """The number of steps that are read one after the other.

    Raises:
        Unreadable: it is large.
    """
    if count > LONGEST:
        raise Unreadable(f"it has {count} steps, and at most {LONGEST} are unrolled")
    return int(count)


def _moved(value: Any, axis: int, is_backward: int) -> Any:
    """A tensor whose axis is the first one, in the order of the steps."""
    value = ops.moveaxis(value, axis, 0) if axis else value
    return ops.flip(value, 0) if is_backward else value


def _rows(node: Node, inputs: int) -> int:
    """The number of the last inputs that are scanned.

    Raises:
        Unreadable: there are fewer inputs.
    """
    count: int = node.attrs["num_scan_inputs"]
    if not 1 <= count <= inputs:
        raise Unreadable(f"its num_scan_inputs is {count}, and it has {inputs} inputs")
    return count


def _scanned(node: Node, states: list[Any], xs: list[Any]) -> list[Any]:
    _check_body(node, len(states))
    last, given = ops.scan(
        lambda carry, rows: _divided(_step(node, [*carry, *rows]), len(states)), tuple(states), tuple(xs)
    )
    return [*last, *given]


def _divided(values: list[Any], count: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(values[:count]), tuple(values[count:])


@special("Scan")
def _scan(node: Node) -> Any:
    if node.version < 9:
        return _scan_of_batches(node)
    count = _rows(node, len(node.inputs))
    values = [node.tensor(index) for index in range(len(node.inputs))]
    states, xs = values[: len(values) - count], values[len(values) - count :]
    none = [0] * (len(node.inputs) + len(node.proto.output))
    places = zip(
        xs, node.attrs.get("scan_input_axes", none), node.attrs.get("scan_input_directions", none), strict=False
    )
    results = _scanned(node, states, [_moved(x, axis, backward) for x, axis, backward in places])
    outputs = results[len(states) :]
    axes, directions = node.attrs.get("scan_output_axes", none), node.attrs.get("scan_output_directions", none)
    outputs = [ops.flip(y, 0) if backward else y for y, backward in zip(outputs, directions, strict=False)]
    outputs = [ops.moveaxis(y, 0, axis) if axis else y for y, axis in zip(outputs, axes, strict=False)]
    return [*results[: len(states)], *outputs]


def _scan_of_batches(node: Node) -> list[Any]:
    """The scan of opset 8, whose values have a first axis for independent scans."""
    if node.has(0):
        raise Unreadable("its sequences have lengths of their own")
    count = _rows(node, len(node.inputs) - 1)
    values = [node.tensor(index) for index in range(1, len(node.inputs))]
    size = dims_of(values[-1])[0]
    if not isinstance(size, int):
        raise Unreadable("its number of sequences is not known")
    backward = node.attrs.get("directions", [0] * count)
    if len(backward) != count:
        raise Unreadable(f"its directions are {backward}, for {count} inputs")
    each = []
    for number in each_step(bounded(size)):
        own = [value[number] for value in values]
        xs = [_moved(x, 0, back) for x, back in zip(own[len(own) - count :], backward, strict=True)]
        each.append(_scanned(node, own[: len(own) - count], xs))
    return [ops.stack(list(rows)) for rows in zip(*each, strict=True)]


# -- writing: graphs take the values around them by name --------------------------------------------------------------

STEP, GOES_ON = ("step", spec((), "int64")), ("goes_on", spec((), "bool"))


def _part(place: Place, graph: Any, refs: Sequence[Ref]) -> list[Ref]:
    """Add the operations of a graph, and return the values of its outputs."""
    return place.nodes.part(graph, dict(zip(graph.inputs, refs, strict=True)), graph.outputs, f"{place.name}/")


@writes("Call")
def _call(place: Place, inputs: Sequence[Ref], graph: Any) -> list[Ref]:
    return _part(place, graph, inputs)


@writes("If")
def _write_if(place: Place, condition: Ref, inputs: Sequence[Ref], then_branch: Any, else_branch: Any) -> list[Ref]:
    def branch(name: str, graph: Any) -> Any:
        return place.graph(name, [], lambda inner, _: _part(inner, graph, inputs))

    branches = {"then_branch": branch("then", then_branch), "else_branch": branch("else", else_branch)}
    return place.result("If", place.cast(condition, "bool"), **branches)


@writes("While")
def _while(
    place: Place, init: Sequence[Ref], constants: Sequence[Ref], condition: Any, body: Any, maximum_iterations: Any
) -> list[Ref]:
    def step(inner: Place, refs: list[Ref]) -> list[Ref]:
        carry = _part(inner, body, [*refs[2:], *constants])
        return [*_part(inner, condition, [*carry, *constants]), *carry]

    (begins,) = _part(place, condition, [*init, *constants])
    carried = [("carry", tensor.spec) for tensor in body.inputs[: len(init)]]
    limit = None if maximum_iterations is None else place.constant(maximum_iterations)
    return place.result("Loop", limit, begins, *init, body=place.graph("body", [STEP, GOES_ON, *carried], step))


@writes("Scan")
def _write_scan(
    place: Place, init: Sequence[Ref], xs: Sequence[Ref], constants: Sequence[Ref], body: Any, length: Any, reverse: Any
) -> list[Ref]:
    count, stacked = len(init), len(body.outputs) - len(init)
    carried = [("carry", tensor.spec) for tensor in body.inputs[:count]]
    slices = [("slice", tensor.spec) for tensor in body.inputs[count : count + len(xs)]]
    if not xs:
        return _counted(place, init, constants, carried, body, length, reverse)
    shapes = [tensor.shape for tensor in body.outputs]
    graph = place.graph(
        "body", [*carried, *slices], lambda inner, refs: _part(inner, body, [*refs, *constants]), shapes
    )
    ways = {"scan_input_directions": [1] * len(xs), "scan_output_directions": [1] * stacked} if reverse else {}
    return place.result(
        "Scan", *init, *xs, body=graph, num_scan_inputs=len(xs), **{k: v or None for k, v in ways.items()}
    )


def _counted(place: Place, init: Any, constants: Any, carried: Any, body: Any, length: int, reverse: bool) -> list[Ref]:
    """A loop that takes no slices, so only the number of its steps is known."""

    def step(inner: Place, refs: list[Ref]) -> list[Ref]:
        return [refs[1], *_part(inner, body, [*refs[2:], *constants])]

    graph = place.graph("body", [STEP, GOES_ON, *carried], step)
    results = place.result("Loop", place.constant(length), place.constant(True, "bool"), *init, body=graph)
    return [*results[: len(init)], *(_turned(place, one) if reverse else one for one in results[len(init) :])]


def _turned(place: Place, x: Ref) -> Ref:
    """A value with the order of its first axis turned round."""
    return place.node("Slice", x, *(place.constant([n]) for n in (-1, -(2**62), 0, -1)))

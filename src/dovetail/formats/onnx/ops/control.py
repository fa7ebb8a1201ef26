"""Loops of subgraphs.

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
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes.constants import constant_of, filled, is_tensor, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.table import special
from dovetail.ops.shapes.shape import dims_of

LONGEST = 1000  # steps that are unrolled; a loop that its body ends has as many as the limits of reading allow


def _is_number(value: Any) -> bool:
    return is_tensor(value) or (isinstance(value, Weight) and not value.array.dtype.hasobject)


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


# -- scans ------------------------------------------------------------------------------------------------------------


def _moved(value: Any, axis: int, is_backward: int) -> Any:
    """A tensor whose axis is the first one, in the order of the steps."""
    value = ops.moveaxis(value, axis, 0) if axis else value
    return ops.flip(value, 0) if is_backward else value


def _scanned(node: Node, states: list[Any], xs: list[Any]) -> list[Any]:
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
    count = node.attrs["num_scan_inputs"]
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
    count = node.attrs["num_scan_inputs"]
    values = [node.tensor(index) for index in range(1, len(node.inputs))]
    size = dims_of(values[-1])[0]
    if not isinstance(size, int):
        raise Unreadable("its number of sequences is not known")
    backward = node.attrs.get("directions", [0] * count)
    each = []
    for number in each_step(bounded(size)):
        own = [value[number] for value in values]
        xs = [_moved(x, 0, back) for x, back in zip(own[len(own) - count :], backward, strict=True)]
        each.append(_scanned(node, own[: len(own) - count], xs))
    return [ops.stack(list(rows)) for rows in zip(*each, strict=True)]

"""Nodes that call functions, branch and loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import constant_of, filled, is_tensor, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.frames import Frame
from dovetail.formats.tensorflow.names import behind, split
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.reading import special
from dovetail.formats.tensorflow.tensor_lists import TensorList, is_carried, is_zero, rebuilt, tensors_of
from dovetail.formats.tensorflow.values import Foreign, Optional

# -- functions --------------------------------------------------------------------------------------------------------


@special("PartitionedCall StatefulPartitionedCall")
def _call(node: Node) -> Any:
    return node.reader.call(node.attrs("f"), node.inputs)


@special("If StatelessIf")
def _if(node: Node) -> Any:
    condition, *inputs = node.inputs
    names = [node.attrs(name) for name in ("then_branch", "else_branch")]
    return branches(node, node.taken(condition), [partial(node.reader.call, name, inputs) for name in names])


@special("Case StatelessCase")
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


@special("OptionalFromValue OptionalNone")
def _optional(node: Node) -> Any:
    values = enumerate(node.inputs)
    return Optional(tuple(one if isinstance(one, TensorList) else node.tensor(i) for i, one in values))


@special("OptionalGetValue OptionalHasValue")
def _value(node: Node) -> Any:
    value = node.inputs[0]
    if not isinstance(value, Optional):
        raise node.refused(0, "no optional value")
    if node.type == "OptionalHasValue":
        return recorded(bool(value.values), "bool")
    if not value.values:
        raise Unreadable("the optional value is not there")
    return list(value.values)


@special("While StatelessWhile")
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


# -- TensorFlow 1 -----------------------------------------------------------------------------------------------------


@special("Merge RefMerge")
def _merge(node: Node) -> Any:
    """The result of one of two branches, which takes its values from switches."""
    reader, body = node.reader, node.body
    condition, yes, no, switches, waits = body.frames.branch(node.proto)
    given = {switch.name: [reader.value(body, switch.input[0])] * 2 for switch in switches}
    given |= {name: body.values[name] for name in waits}
    predicate = node.taken(reader.value(body, condition))

    def result(text: str) -> list[Any]:
        return list(map(node.read, reader.read(body.inside(given), [text])))  # in the branch, which assigns

    results = branches(node, predicate, [lambda: result(yes), lambda: result(no)])
    return [*results, ops.cast(predicate, "int32")]


@special("Exit RefExit")
def _exit(node: Node) -> Any:
    """A result of a loop, which is read once for all its exits."""
    body = node.body
    frame, merge = body.frames.frame_of(node.proto)
    if id(frame) not in body.loops:
        body.loops[id(frame)] = node.name, dict(zip(frame.merges, _run(node, frame), strict=True))
    first, results = body.loops[id(frame)]
    if first in body.effects:  # whoever waits for any exit waits for the assignments of the loop
        body.effects[node.name] = body.effects[first]
    return results[merge]


def _run(node: Node, frame: Frame) -> list[Any]:
    """The values of a loop when it ends."""
    reader, body = node.reader, node.body
    constants = {enter: [node.taken(reader.value(body, text))] for enter, text in frame.constants.items()}

    handles = (one for (one,) in constants.values() if isinstance(one, Foreign))
    names = list(dict.fromkeys(one.name for one in handles if one.name in body.stacks))
    count = len(frame.merges)

    def test(values: list[Any]) -> Any:
        merged = {merge: [value] * 2 for merge, value in zip(frame.merges, values, strict=False)}
        return reader.read(body.inside(constants | merged), [frame.condition])[0]

    def step(values: list[Any]) -> list[Any]:
        pairs = list(zip(frame.merges, values[:count], strict=True))
        given = {merge: [value] * 2 for merge, value in pairs}
        given |= {frame.switches[merge]: [value] * 2 for merge, value in pairs if merge in frame.switches}
        inner = body.inside(constants | given)
        inner.stacks |= zip(names, values[count:], strict=True)
        results = reader.read(inner, [*frame.waits, *(text for _, text in frame.merges.values())])
        return [*results, *(inner.stacks[name] for name in names)]

    first = [node.taken(reader.value(body, text)) for text, _ in frame.merges.values()]
    first += [body.stacks[name] for name in names]
    if any(isinstance(one, Foreign) and one.name not in body.stacks for (one,) in constants.values()):
        first = _with_flows(first, step)
    ends = (repeated if reader.runs else looped)(first, step, test)
    body.stacks |= zip(names, ends[count:], strict=True)
    return ends[:count]


def _with_flows(first: list[Any], step: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The first values of a loop; lists of zeros for the numbers 0 to which it adds gradients of arrays."""
    zero = [is_tensor(value) and value.shape == () and is_zero(value) for value in first]
    once = step(first) if any(zero) else first
    pairs = zip(zero, first, once, strict=True)
    return [new.zeros() if flag and isinstance(new, TensorList) else value for flag, value, new in pairs]


# stacks, in which loops keep what the loops of their gradients need


@special("StackV2")
def _stack(node: Node) -> Any:
    node.body.stacks[node.name] = TensorList(None, 0, None, node.attrs("elem_type"))
    return Foreign(node.name, "it is the handle of a stack")


def _name_of_stack(node: Node) -> str:
    """The name of the stack of an input.

    Raises:
        Unreadable: it is none, or another branch has it.
    """
    handle = node.inputs[0]
    if not isinstance(handle, Foreign) or handle.name not in node.body.stacks:
        raise node.refused(0, "no stack of this loop")
    return handle.name


@special("StackPushV2")
def _push(node: Node) -> Any:
    name, item = _name_of_stack(node), node.inputs[1]
    is_flow = isinstance(item, TensorList)  # it orders what is written to an array, which needs no order here
    node.body.stacks[name] = node.body.stacks[name].grown(filled([], 0, "float32") if is_flow else node.tensor(1))
    return item


@special("StackPopV2")
def _pop(node: Node) -> Any:
    name = _name_of_stack(node)
    rows = node.body.stacks[name].rows()
    node.body.stacks[name] = TensorList.of(rows[:-1])
    return rows[-1]

"""Branches and loops of TensorFlow 1: Merge, Exit, StackV2, StackPushV2, StackPopV2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.formats.nodes.constants import filled, is_tensor
from dovetail.formats.tensorflow.frames import Frame
from dovetail.formats.tensorflow.ops.control import branches, looped, repeated
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import shapes, special
from dovetail.formats.tensorflow.tensor_lists import TensorList, is_zero
from dovetail.formats.tensorflow.values import Foreign

shapes("Merge RefMerge: - []")


@special("Merge RefMerge", "the nodes before it say which branch it ends", of_files=True)
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


@special("Exit RefExit", "the nodes before it say which loop it ends", of_files=True)
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


# -- stacks -----------------------------------------------------------------------------------------------------------


STACK = "loops carry the stack, which no tensor is"


@special("StackV2", STACK, of_files=True)
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


@special("StackPushV2", STACK, of_files=True)
def _push(node: Node) -> Any:
    name, item = _name_of_stack(node), node.inputs[1]
    is_flow = isinstance(item, TensorList)  # it orders what is written to an array, which needs no order here
    node.body.stacks[name] = node.body.stacks[name].grown(filled([], 0, "float32") if is_flow else node.tensor(1))
    return item


@special("StackPopV2", STACK, of_files=True)
def _pop(node: Node) -> Any:
    name = _name_of_stack(node)
    rows = node.body.stacks[name].rows()
    node.body.stacks[name] = TensorList.of(rows[:-1])
    return rows[-1]

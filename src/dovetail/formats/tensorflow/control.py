"""Nodes that call functions, branch, loop, and read or assign variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.hooks import hooks
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import Unreadable
from dovetail.formats.tensorflow.reading import Node, special, split
from dovetail.formats.tensorflow.values import Foreign, Handle, TensorList, constant_of, is_tensor

# -- variables --------------------------------------------------------------------------------------------------------


@special("VarHandleOp VariableV2 Variable")
def _handle(node: Node) -> Any:
    handle = Handle(node.reader.variable(node.proto))
    return handle if node.type == "VarHandleOp" else hooks.read(node.reader.graph, handle.variable)


@special("ReadVariableOp")
def _read(node: Node) -> Any:
    return ops.identity(hooks.read(node.reader.graph, node.variable(0)))


@special("ResourceGather")
def _gather(node: Node) -> Any:
    from_variable = hooks.read(node.reader.graph, node.variable(0))
    return ops.gather(from_variable, node.tensor(1), axis=0, batch_dims=node.attrs("batch_dims", 0))


@special("VarIsInitializedOp")
def _is_initialized(node: Node) -> Any:
    node.variable(0)
    return ops.convert(True)


@special("VariableShape")
def _variable_shape(node: Node) -> Any:
    return ops.cast(ops.shape(hooks.read(node.reader.graph, node.variable(0))), node.attrs("out_type", "int32"))


@special("DisableCopyOnRead")
def _no_copy(node: Node) -> Any:
    return []


@special("AssignVariableOp AssignAddVariableOp AssignSubVariableOp")
def _assign(node: Node) -> Any:
    variable, value, graph = node.variable(0), node.tensor(1), node.reader.graph
    if node.type == "AssignAddVariableOp":
        value = hooks.read(graph, variable) + value
    if node.type == "AssignSubVariableOp":
        value = hooks.read(graph, variable) - value
    hooks.assign(graph, variable, value)
    return []


@special("Assert")
def _assert(node: Node) -> Any:
    data = node.inputs[1:]
    texts = [part.strings for part in data if isinstance(part, Foreign) and part.strings is not None]
    words = [text.decode(errors="replace") for array in texts for text in array.reshape(-1).tolist()]
    OPS["Assert"](node.tensor(0), [value for value in data if is_tensor(value)], " ".join(words))
    return []


# -- functions --------------------------------------------------------------------------------------------------------


@special("PartitionedCall StatefulPartitionedCall")
def _call(node: Node) -> Any:
    return node.reader.call(node.attrs("f"), node.inputs)


@special("If StatelessIf")
def _if(node: Node) -> Any:
    condition, *inputs = node.inputs
    known = constant_of(condition)
    names = [node.attrs(name) for name in ("then_branch", "else_branch")]
    if known is not None:
        return node.reader.call(names[0 if known else 1], inputs)
    return branched(node, node.tensor(0), names, inputs)


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
    calls = [lambda: node.reader.call(names[first], inputs), lambda: _chosen(node, number, names, first + 1)]
    return _branches(number == first, calls)


def branched(node: Node, condition: Any, names: Sequence[str], inputs: Sequence[Any]) -> list[Any]:
    """The results of one of two functions."""
    return _branches(condition, [lambda name=name: node.reader.call(name, inputs) for name in names])


def _branches(condition: Any, calls: Sequence[Any]) -> list[Any]:
    """The results of one of two calls, which may have results that are no tensors, if both have the same."""
    whole: list[list[Any]] = []

    def branch(call: Any) -> list[Any]:
        whole.append(call())
        return tensors_of(whole[-1])

    found = ops.cond(ops.cast(condition, "bool"), lambda: branch(calls[0]), lambda: branch(calls[1]))
    others = [[value for value in results if not _is_carried(value)] for results in whole]
    if others[0] != others[1]:
        raise Unreadable("its branches give different variables, strings or tables")
    return rebuilt(whole[0], found)


def _is_carried(value: Any) -> bool:
    return is_tensor(value) or isinstance(value, TensorList)


def tensors_of(values: Sequence[Any]) -> list[Any]:
    """The tensors among some values; a list of tensors has one."""
    return [value.rows() if isinstance(value, TensorList) else value for value in values if _is_carried(value)]


def rebuilt(values: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """The values with other tensors in place of theirs."""
    left = iter(tensors)
    return [
        TensorList.of(next(left)) if isinstance(value, TensorList) else next(left) if is_tensor(value) else value
        for value in values
    ]


@special("While StatelessWhile")
def _while(node: Node) -> Any:
    condition, body = node.attrs("cond"), node.attrs("body")
    reader, moving = node.reader, _moving(node, body)
    first = _with_elements(node, body, moving)

    def whole(state: Sequence[Any]) -> list[Any]:
        values = rebuilt([first[i] for i in moving], state)
        found = dict(zip(moving, values, strict=True))
        return [found.get(i, value) for i, value in enumerate(first)]

    def step(*state: Any) -> list[Any]:
        results = reader.call(body, whole(state))
        return tensors_of([results[i] for i in moving])

    def test(*state: Any) -> Any:
        return ops.cast(reader.call(condition, whole(state))[0], "bool")

    carried = [first[i] for i in moving]
    found = ops.while_loop(test, step, tensors_of(carried))
    results = dict(zip(moving, rebuilt(carried, found), strict=True))
    return [results.get(i, value) for i, value in enumerate(first)]


def _moving(node: Node, body: str) -> list[int]:
    """The numbers of the values that a loop changes; its body gives the others back as they are."""
    function = node.reader.functions.get(body)
    if function is None:
        raise Unreadable(f"there is no function {body!r}")
    nodes = {inner.name: inner for inner in function.node_def}
    arguments = [argument.name for argument in function.signature.input_arg]
    moving = []
    for number, output in enumerate(function.signature.output_arg):
        name = split(function.ret[output.name])[0]
        while name in nodes and nodes[name].op == "Identity":
            name = split(nodes[name].input[0])[0]
        if number < len(arguments) and name == arguments[number]:
            continue
        if not _is_carried(node.inputs[number]):
            raise Unreadable(f"its value {number} changes, and is no tensor")
        moving.append(number)
    return moving


def _with_elements(node: Node, body: str, moving: Sequence[int]) -> list[Any]:
    """The first values of a loop; empty lists get zeros, with the shapes of the body's elements."""
    values = list(node.inputs)
    empty = [i for i in moving if isinstance(values[i], TensorList) and values[i].data is None]
    if any(not isinstance(values[i].shape, list) or min(values[i].shape, default=0) < 0 for i in empty):
        once = node.reader.call(body, values)  # for the shapes of its results
        for i in empty:
            if isinstance(once[i], TensorList) and once[i].data is not None:
                values[i] = TensorList.of(ops.zeros_like(once[i].data))
            elif isinstance(once[i], Foreign):
                raise Unreadable(once[i].reason)
    return values

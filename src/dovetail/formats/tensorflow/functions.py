"""Functions of the library: nodes that call them, and functions that call them by other names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dovetail.formats.tensorflow.names import argument_name
from dovetail.formats.wire.messages import TENSORFLOW


def fill_call(node: Any, function: Any, inputs: Sequence[str]) -> None:
    """Make a node a call of a function.

    Args:
        node: a message `NodeDef` with a name.
        function: the message `FunctionDef`.
        inputs: the names of its inputs.
    """
    node.op = "StatefulPartitionedCall"
    node.input.extend(inputs)
    node.attr["Tin"].list.type.extend(one.type for one in function.signature.input_arg)
    node.attr["Tout"].list.type.extend(one.type for one in function.signature.output_arg)
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.SetInParent()
    node.attr["f"].func.name = function.signature.name


def wrapped(function: Any, name: str, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> Any:
    """A function that calls another one, with other names.

    Args:
        function: the message `FunctionDef`.
        name: of the new one.
        inputs: key → number of an argument; the arguments that have no key keep their names and come last.
        outputs: key → number of a result.
    """
    made = TENSORFLOW.FunctionDef()
    made.signature.name, made.signature.is_stateful = name, function.signature.is_stateful
    arguments, results = function.signature.input_arg, function.signature.output_arg
    shapes = function.attr["_input_shapes"].list.shape
    named = {number: key for key, number in inputs.items()}
    order = [*(inputs[key] for key in sorted(inputs)), *(i for i in range(len(arguments)) if i not in named)]
    titles: dict[int, str] = {}
    for number in order:
        titles[number] = argument_name(named.get(number, arguments[number].name), titles.values())
        made.signature.input_arg.add().CopyFrom(arguments[number])
        made.signature.input_arg[-1].name = titles[number]
        made.attr["_input_shapes"].list.shape.add().CopyFrom(shapes[number])
    call = made.node_def.add(name="StatefulPartitionedCall")
    fill_call(call, function, [titles[number] for number in range(len(arguments))])
    known: list[str] = []
    for key, number in sorted(outputs.items()):
        known.append(argument_name(key, known))
        made.signature.output_arg.add(name=known[-1], type=results[number].type)
        made.ret[known[-1]] = f"{call.name}:output:{number}"
    made.signature.control_output.append(call.name)
    made.control_ret[call.name] = call.name
    return made


def called(proto: Any) -> Iterator[str]:
    """The names of the functions that a node calls."""
    for attribute in proto.attr.values():
        if attribute.WhichOneof("value") == "func":
            yield attribute.func.name
        yield from (function.name for function in attribute.list.func)

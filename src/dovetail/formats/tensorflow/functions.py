"""Functions of the library: graphs of Dovetail as messages `FunctionDef`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.rows import NAMES
from dovetail.formats.tensorflow.writing import nodes_of
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of, shape_proto

RESOURCE = 20  # the number of the dtype of handles
FIRST = """
y: Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Cos Cosh Erf Exp Expm1 Floor Log Log1p LogicalNot Neg Rint Round
y: Reciprocal Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh Transpose ZerosLike OnesLike
z: AddV2 Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mul NotEqual
z: Pow RealDiv SquaredDifference Sub
activations: Elu LeakyRelu Relu Relu6 Selu Softplus Softsign
product: MatMul
softmax: Softmax
logsoftmax: LogSoftmax
value: ReadVariableOp
"""
OUTPUT = {
    name: output
    for output, _, names in (line.partition(": ") for line in FIRST.strip().splitlines())
    for name in names.split()
}


@dataclass
class Written:
    """A function.

    Attributes:
        definition: the message.
        captured: the variables whose handles are its last arguments, in order.
    """

    definition: Any
    captured: list[Any]


def argument_name(name: str, taken: Iterable[str]) -> str:
    """A name for an argument or a result of a function, which no other one has."""
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())
    plain = plain if plain[:1].isalpha() else f"x{plain}"
    found, count, known = plain, 0, {*taken}
    while found in known:
        found, count = f"{plain}_{count}", count + 1
    return found


def function_of(name: str, inputs: Sequence[tuple[str, Any]], outputs: Sequence[tuple[str, Any]]) -> Written:
    """A graph as a function.

    Args:
        name: of the function.
        inputs, outputs: pairs of a name and a tensor of the graph.

    Raises:
        Unreadable: TensorFlow has no words for an operation.
    """
    definition = TENSORFLOW.FunctionDef()
    definition.signature.name = name
    references: dict[Any, str] = {}
    arguments: list[str] = []
    shapes = definition.attr["_input_shapes"].list.shape

    def argument(title: str, dtype: int, shape: Any, handle: Any = None) -> str:
        arguments.append(argument_name(title, arguments))
        added = definition.signature.input_arg.add(name=arguments[-1], type=dtype)
        if handle is not None:
            added.handle_data.add(dtype=number_of(handle.dtype), shape=shape_proto(handle.shape))
        shapes.append(shape_proto(shape))
        return arguments[-1]

    for title, tensor in inputs:
        references[tensor] = argument(title, number_of(tensor.dtype), tensor.shape)
    graph = next((tensor.op.graph for _, tensor in [*inputs, *outputs]), None)
    captured: dict[Any, str] = {}
    effects: list[str] = []
    for operation in () if graph is None else graph.operations:
        variable = operation.attrs.get("variable")
        if variable is not None and variable not in captured:
            captured[variable] = argument(variable.name, RESOURCE, (), variable)
        if operation.type == "Placeholder":
            continue
        if operation.type == "Const":
            node = TENSORFLOW.NodeDef(name=operation.name)
            constant_node(node, operation.attrs["value"])
            nodes = [node]
        elif variable is not None:
            node = TENSORFLOW.NodeDef(name=operation.name, op=operation.type, input=[captured[variable]])
            node.attr["dtype"].type = number_of(variable.dtype)
            nodes = [node]
            if operation.type == "AssignVariableOp":
                effects.append(operation.name)
                node.input.append(references[operation.inputs[0]])
                references[operation.outputs[0]] = node.input[1]
            node.input.extend(f"^{other.name}" for other in operation.control_inputs)
        else:
            nodes = nodes_of(operation)
            _name_inputs(nodes, operation, references)
        definition.node_def.extend(nodes)
        if operation.type != "AssignVariableOp":
            kind = nodes[-1].op
            names = NAMES.get(kind, [])
            for number, tensor in enumerate(operation.outputs):
                at = f"{names[number]}:0" if names else f"{OUTPUT.get(kind, 'output')}:{number}"
                references[tensor] = f"{operation.name}:{at}"
    results: list[str] = []
    for title, tensor in outputs:
        results.append(argument_name(title, results))
        definition.signature.output_arg.add(name=results[-1], type=number_of(tensor.dtype))
        definition.ret[results[-1]] = references[tensor]
    for effect in effects:
        definition.signature.control_output.append(effect)
        definition.control_ret[effect] = effect
    definition.signature.is_stateful = bool(captured)
    return Written(definition, list(captured))


def _name_inputs(nodes: list[Any], operation: Any, references: dict[Any, str]) -> None:
    """Give the inputs of an operation's node the names that they have in functions."""
    node = nodes[-1]
    tensors = iter(operation.inputs)
    constants = {one.name for one in nodes[:-1]}
    for number, text in enumerate(node.input):
        if text in constants:
            node.input[number] = f"{text}:output:0"
        elif not text.startswith("^"):
            node.input[number] = references[next(tensors)]


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

"""TensorFlow 1's tool that transforms definitions of graphs by the names of transforms.

Source: `tensorflow.tools.graph_transforms`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.compat.tensorflow.names.graph.tools import new_placeholder, with_nodes
from dovetail.compat.tensorflow.names.graph.util import extract_sub_graph
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.formats.tensorflow.names import split

_ARGUMENT = re.compile(r"""\s*(\w+)\s*=\s*("[^"]*"|'[^']*'|[^,()\s]+)\s*(?:,|$)""")
_TRANSFORM = re.compile(r"""\s*(\w+)\s*(?:\(((?:"[^"]*"|'[^']*'|[^()"'])*)\))?\s*""")
_LATER = "leave it out: Dovetail does so when it runs the graph"
_ADVICE = {
    **dict.fromkeys(["fold_constants", "merge_duplicate_nodes", "fold_batch_norms", "fold_old_batch_norms"], _LATER),
    **dict.fromkeys(
        ["quantize_weights", "quantize_nodes", "round_weights"], "cast the constants by dovetail.ops.cast instead"
    ),
}
Arguments = dict[str, list[str]]


@function("tools.graph_transforms.TransformGraph")
def transform_graph(
    input_graph_def: Any, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]
) -> Any:
    """A definition after transforms, in order.

    Args:
        inputs, outputs: operations, which transforms keep.
        transforms: texts such as `"strip_unused_nodes"` or `"remove_nodes(op=Identity, op=CheckNumerics)"`.

    Raises:
        NotImplementedError: a transform is not offered; the message says which are.
        ValueError: a text is no transform, or lacks an argument.

    Source: `tensorflow.tools.graph_transforms.TransformGraph` of TensorFlow 1.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> from dovetail.compat.tensorflow.tools.graph_transforms import TransformGraph
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.nn.relu(tf.identity(tf.placeholder(tf.float32, [], "x")), name="y")
        >>> found = TransformGraph(graph.as_graph_def(), ["x"], ["y"], ["remove_nodes(op=Identity)"])
        >>> [node.op for node in found.node]
        ['Placeholder', 'Relu']
    """
    definition = input_graph_def
    for text in transforms:
        match = _TRANSFORM.fullmatch(text)
        if match is None:
            raise op_error(ValueError, _TITLE, f"{text!r} is no transform: write name(argument=value, ...).")
        name, arguments = match[1], _arguments(match[2] or "", text)
        if name not in _TRANSFORMS:
            advice = f"{_ADVICE[name]}. " if name in _ADVICE else ""
            raise op_error(
                NotImplementedError, _TITLE, f"no transform {name!r}: {advice}There are {', '.join(_TRANSFORMS)}."
            )
        try:
            definition = _TRANSFORMS[name](definition, list(inputs), list(outputs), arguments)
        except KeyError as error:
            raise op_error(ValueError, _TITLE, f"{text!r} lacks the argument {error}.") from None
    return definition


_TITLE = "tf.tools.graph_transforms.TransformGraph"


def _arguments(text: str, transform: str) -> Arguments:
    """The arguments of a transform: each word with its values."""
    arguments: Arguments = {}
    at = 0
    while text[at:].strip():
        match = _ARGUMENT.match(text, at)
        if match is None:
            raise op_error(ValueError, _TITLE, f"{transform!r} has no argument at {text[at:]!r}: write word=value.")
        arguments.setdefault(match[1], []).append(match[2].strip("\"'"))
        at = match.end()
    return arguments


def _stripped(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
    """The part from the inputs, which become placeholders, to the outputs."""
    (dtype,), shape = arguments.get("type", [""]), arguments.get("shape")
    dtypes = dict(zip(arguments.get("name", []), arguments.get("type_for_name", []), strict=False))
    shapes = dict(zip(arguments.get("name", []), arguments.get("shape_for_name", []), strict=False))
    nodes = []
    for node in definition.node:
        said = dtypes.get(node.name, dtype), shapes.get(node.name, shape[0] if shape else None)
        is_known = node.op == "Placeholder" and not any(said)
        if node.name in map(_operation, inputs) and not is_known:
            dims = (
                None if said[1] is None else [None if n < 0 else n for n in map(int, filter(None, said[1].split(",")))]
            )
            own = node.attr["dtype" if "dtype" in node.attr else "T"].type
            nodes.append(new_placeholder(node, said[0] or own or "float32", dims))
        else:
            nodes.append(node)
    return extract_sub_graph(with_nodes(definition, nodes), [*map(_operation, outputs)])


def _operation(name: str) -> str:
    return split(name)[0]


def _without(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
    """Without nodes of some types, which pass their one input on."""
    waited = {text[1:] for node in definition.node for text in node.input if text.startswith("^")}
    kept = {*map(_operation, (*inputs, *outputs)), *waited}
    gone = {
        node.name: node.input[0]
        for node in definition.node
        if node.op in arguments["op"] and node.name not in kept and len(node.input) == 1
    }

    def source(text: str) -> str:
        while text.removesuffix(":0") in gone:
            text = gone[text.removesuffix(":0")]
        return text

    def changed(node: Any) -> None:
        node.input[:] = [source(text) for text in node.input]

    left = [node for node in definition.node if node.name not in gone]
    return _each(with_nodes(definition, left), changed)


def _each(definition: Any, change: Callable[[Any], None], types: Sequence[str] = ("*",)) -> Any:
    """A definition whose nodes of some types are changed."""
    made = with_nodes(definition, definition.node)
    for node in made.node:
        if "*" in types or node.op in types:
            change(node)
    return made


def _sorted(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
    """With each node behind those that it takes; an edge back into a loop counts for nothing."""
    nodes = {node.name: node for node in definition.node}
    done: dict[str, Any] = {}
    for first in nodes:
        stack, opened = [first], set[str]()
        while stack:
            name = stack[-1]
            needed = [split(text.lstrip("^"))[0] for text in nodes[name].input]
            waiting = (
                []
                if name in opened
                else [one for one in needed if one in nodes and one not in done and one not in opened]
            )
            opened.add(name)
            stack += waiting
            if not waiting:
                done.setdefault(stack.pop(), None)
    return with_nodes(definition, [nodes[name] for name in done])


def _attribute(rename: bool) -> Callable[..., Any]:
    """A transform that removes or renames an attribute."""

    def transform(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
        (old,) = arguments["old_attribute_name" if rename else "attribute_name"]
        new = arguments["new_attribute_name"][0] if rename else ""

        def change(node: Any) -> None:
            if old in node.attr:
                if rename:
                    node.attr[new].CopyFrom(node.attr[old])
                del node.attr[old]

        return _each(definition, change, arguments.get("op_name", ["*"]))

    return transform


def _renamed_op(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
    (old,), (new,) = arguments["old_op_name"], arguments["new_op_name"]
    return _each(definition, lambda node: setattr(node, "op", new), [old])


def _on_device(definition: Any, inputs: list[str], outputs: list[str], arguments: Arguments) -> Any:
    (device,), (if_default,) = arguments.get("device", [""]), arguments.get("if_default", ["false"])

    def change(node: Any) -> None:
        if if_default != "true" or not node.device:
            node.device = device

    return _each(definition, change)


_TRANSFORMS: dict[str, Callable[[Any, list[str], list[str], Arguments], Any]] = {
    "strip_unused_nodes": _stripped,
    "remove_nodes": _without,
    "sort_by_execution_order": _sorted,
    "remove_attribute": _attribute(rename=False),
    "rename_attribute": _attribute(rename=True),
    "rename_op": _renamed_op,
    "set_device": _on_device,
    "remove_device": lambda definition, *_: _each(definition, lambda node: node.ClearField("device")),
}

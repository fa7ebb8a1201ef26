"""The picture of a graph of TensorFlow's, from its `GraphDef`: functions that it calls are inside of the operations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dovetail.formats.pictures.picture import LONGEST, OUTPUT, SHORT, Node, Picture, Weight
from dovetail.formats.summary.graphs import dtype_name
from dovetail.formats.wire.tensors import array_of

VARIABLES = frozenset(["VarHandleOp", "VariableV2", "Variable"])
MOST = 50_000  # nodes of a picture: a function that would add more is left out


Values = Callable[[str], np.ndarray | None]  # the name of a variable's node → its value, if that is known


def picture_of_proto(name: str, proto: Any, values: Values = lambda name: None) -> Picture:
    """The picture of a message `GraphDef`.

    Args:
        name: of the picture.
        proto: the message; values of variables are not in it.
        values: gives them.
    """
    reader = _Reader({function.signature.name: function for function in proto.library.function}, values)
    return reader.picture(name, _sorted(proto.node), {})


class _Reader:
    """A reader of nodes, which knows the functions that they may call."""

    def __init__(self, functions: Mapping[str, Any], values: Values) -> None:
        self.functions, self.values = functions, values
        self.room = MOST
        self.open: list[str] = []  # the functions that are read now, so that one that calls itself is not endless

    def picture(self, name: str, protos: list[Any], known: dict[str, int], nodes: Iterable[Node] = ()) -> Picture:
        """The picture of some nodes, after those whose numbers are known by name."""
        picture = Picture(name, list(nodes))
        for proto in protos:
            known[proto.name] = len(picture.nodes)
            picture.nodes.append(self._node(proto))
        self.room -= len(protos)
        for proto in protos:
            node = picture.nodes[known[proto.name]]
            for text in proto.input:
                source, output = _source(text)
                if source not in known:
                    continue
                if output < 0:
                    node.waits.append(known[source])
                else:
                    node.inputs.append((known[source], output))
                    _extend(picture.nodes[known[source]], output)
        return picture

    def _node(self, proto: Any) -> Node:
        label = proto.name.rpartition("/")[2]
        node = Node(proto.name, proto.op, proto.op, "" if label == proto.op else label)
        node.outputs = list(_outputs(proto))
        node.attributes = [
            (key, _cut(_text(proto.attr[key]))) for key in sorted(proto.attr) if not key.startswith("_output")
        ]
        node.facts = {"device": proto.device} if proto.device else {}
        node.weight = self._weight(proto)
        for key in sorted(proto.attr):
            value = proto.attr[key]
            called = [value.func.name] if value.WhichOneof("value") == "func" else [f.name for f in value.list.func]
            node.inner += [(key, self._function(name)) for name in called if self._can_open(name)]
        return node

    def _weight(self, proto: Any) -> Weight | None:
        """The weight that a node gives: a variable, or a constant of some size."""
        if proto.op in VARIABLES:
            spec = f"{dtype_name(proto.attr['dtype'].type)}{_shape(proto.attr['shape'].shape)}"
            return Weight(proto.name, spec, partial(self.values, proto.name))
        tensor = proto.attr["value"].tensor if proto.op == "Const" else None
        if tensor is None or math.prod(d.size for d in tensor.tensor_shape.dim) <= SHORT:
            return None
        return Weight(proto.name, _plain("tensor", tensor), partial(_array, tensor))

    def _can_open(self, name: str) -> bool:
        function = self.functions.get(name)
        return function is not None and name not in self.open and len(function.node_def) <= self.room

    def _function(self, name: str) -> Picture:
        function = self.functions[name]
        starts = [Node(arg.name, "Placeholder", arg.name, dtype_name(arg.type)) for arg in function.signature.input_arg]
        for node in starts:
            node.outputs = [node.subtitle]
        known = {node.name: number for number, node in enumerate(starts)}
        self.open.append(name)
        picture = self.picture(name, _sorted(function.node_def), known, starts)
        self.open.pop()
        for result, text in sorted(function.ret.items()):
            source, output = _source(text)
            if source in known:
                _extend(picture.nodes[known[source]], output)
                spec = picture.nodes[known[source]].outputs[output]
                picture.nodes.append(Node(result, OUTPUT, OUTPUT, spec or result, [(known[source], output)]))
        return picture


def _source(text: str) -> tuple[str, int]:
    """The node that an input names, and its output: `x`, `x:1`, `x:port:1` in functions; -1 for `^x`, which waits.

    Example:
        >>> [_source(text) for text in ("x", "x:1", "x:output:2", "^x")]
        [('x', 0), ('x', 1), ('x', 2), ('x', -1)]
    """
    if text.startswith("^"):
        return text[1:], -1
    name, *rest = text.split(":")
    return name, int(rest[-1]) if rest and rest[-1].isdecimal() and len(rest[-1]) < 6 else 0


def _extend(node: Node, output: int) -> None:
    node.outputs += [""] * (output + 1 - len(node.outputs))


def _sorted(protos: Iterable[Any]) -> list[Any]:
    """Nodes after those whose results they take; nodes of a circle stay in their order, at the end."""
    by_name = {proto.name: proto for proto in protos}
    waits = {name: {_source(text)[0] for text in proto.input} & by_name.keys() for name, proto in by_name.items()}
    users: dict[str, list[str]] = {name: [] for name in by_name}
    for name, sources in waits.items():
        for source in sources:
            users[source].append(name)
    ready = deque(name for name, sources in waits.items() if not sources)
    ordered: list[Any] = []
    while ready:
        name = ready.popleft()
        ordered.append(by_name.pop(name))
        for user in users[name]:
            waits[user].discard(name)
            if not waits[user]:
                ready.append(user)
    return [*ordered, *by_name.values()]


def _array(tensor: Any) -> np.ndarray | None:
    """The value of a constant; None if it is damaged, or of a type that is not known."""
    try:
        return array_of(tensor)
    except (ValueError, TypeError):  # a FormatError among them
        return None


def _outputs(proto: Any) -> Iterator[str]:
    """The dtypes and shapes of a node's results, as far as it says them."""
    kind = next((proto.attr[key].type for key in ("dtype", "T", "DstT", "out_type") if key in proto.attr), 0)
    shapes = proto.attr["_output_shapes"].list.shape if "_output_shapes" in proto.attr else ()
    if not shapes and "shape" in proto.attr:
        shapes = (proto.attr["shape"].shape,)
    for shape in shapes:
        yield f"{dtype_name(kind)}{_shape(shape)}"


def _shape(shape: Any) -> str:
    return "[...]" if shape.unknown_rank else f"[{','.join('?' if d.size < 0 else str(d.size) for d in shape.dim)}]"


def _text(value: Any) -> str:
    """An attribute as text."""
    kind = value.WhichOneof("value")
    if kind == "list":
        texts = [_plain(name.name, item) for name, items in value.list.ListFields() for item in items[:LONGEST]]
        return f"[{', '.join(texts)}]"
    return "" if kind is None else _plain(kind, getattr(value, kind))


def _plain(kind: str, value: Any) -> str:
    if kind == "type":
        return dtype_name(value)
    if kind == "shape":
        return _shape(value)
    if kind == "tensor":
        return f"{dtype_name(value.dtype)}{_shape(value.tensor_shape)}"
    if kind == "func":
        return str(value.name)
    return value[: 2 * LONGEST].decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

"""Refreshing: the tensors of a model in its message get the values that its weights have now."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from dovetail.formats.onnx.encoding import attribute
from dovetail.formats.onnx.model import Model
from dovetail.formats.onnx.nodes import named_parts, parts_of
from dovetail.formats.onnx.tensors import CARRIERS, FIELDS, Tensors, data_of, number_of

ALIGNED = 4096  # bytes, at whose multiples external data begins, so that it can be mapped
SMALL = 1024  # bytes of data that stays in the message

Data = list[tuple[Any, np.ndarray]]  # messages of tensors, and the arrays whose data they are to have


def copied(message: Any) -> Any:
    """A copy of a message."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def refreshed(model: Model, message: Any, external: bool, others: Collection[str] = ()) -> Data:
    """The tensors in a message whose data is new, or is not in the message.

    Args:
        model: the model.
        message: of it; lists of numbers in it, and sparse tensors, get the values that they have now.
        external: whether the data of all initializers is to be written beside the new file.
        others: names of initializers that get other data.
    """
    tensors, data = Tensors(model.file, model.folder), Data()
    for title, is_initializer, proto in _tensors(message, model.repeated):
        if is_initializer and title in others:
            continue
        is_list = not hasattr(proto, "dims")  # the floats of a Constant
        array = np.array(proto.floats, "float32") if is_list else tensors.array(proto)
        now = _now(model, title, array)
        is_changed = now is not array and now.tobytes() != array.tobytes()
        if is_list:
            proto.CopyFrom(attribute("value", now) if is_changed else proto)
        elif is_changed or proto.data_location == 1 or (external and is_initializer):
            data.append((proto, now))
    for prefix, graph in parts_of(message.graph):
        for sparse in list(graph.sparse_initializer):
            name, array = sparse.values.name, tensors.dense(sparse)
            now = _now(model, _title(name, prefix, model.repeated), array)
            if now is not array and now.tobytes() != array.tobytes():
                graph.sparse_initializer.remove(sparse)
                data.append((graph.initializer.add(name=name, dims=now.shape, data_type=number_of(now.dtype)), now))
    return data


def as_it_stands(model: Model, most: int) -> bytes | None:
    """The bytes of a model that nobody edited, with the values that its weights have now.

    Args:
        model: the model.
        most: of the bytes; for more, with those in other files, the result is None.
    """
    message = copied(model.proto)
    data = refreshed(model, message, external=False)
    if message.ByteSize() + sum(array.nbytes for _, array in data) > most:
        return None
    for proto, array in data:
        fill(proto, array)
    return message.SerializeToString()


def fill(proto: Any, array: np.ndarray, beside: Any = None, name: str = "") -> None:
    """Give a message of a tensor its data; large data goes to the file `beside`, if it is not None."""
    for field in ("external_data", "data_location", "raw_data", *FIELDS.values(), "int32_data"):
        proto.ClearField(field)
    if array.dtype.hasobject:
        proto.string_data.extend(str(text).encode() for text in array.reshape(-1))
        return
    values = data_of(array)
    if beside is None or len(values) <= SMALL:
        proto.raw_data = values.tobytes()
        return
    beside.write(b"\0" * (-beside.tell() % ALIGNED))
    proto.data_location = type(proto).EXTERNAL
    for key, value in (("location", name), ("offset", beside.tell()), ("length", len(values))):
        proto.external_data.add(key=key, value=str(value))
    beside.write(values.data)


def _now(model: Model, title: str, array: np.ndarray) -> np.ndarray:
    """The value of a weight, whose array the file has."""
    variable = model.variables.get(title) if title else None
    return array if variable is None or array.dtype.name in CARRIERS else np.asarray(variable.numpy())


def _title(name: str, prefix: str, repeated: Collection[str]) -> str:
    """The name of a weight in the whole model."""
    return f"{prefix}{name}" if name in repeated else name


def _tensors(message: Any, repeated: Collection[str]) -> Iterator[tuple[str, bool, Any]]:
    """The tensors in a message: names of weights, whether they are initializers of the model, and messages."""
    for prefix, graph in parts_of(message.graph):
        for one in graph.initializer:
            yield _title(one.name, prefix, repeated), not prefix, one
        for node in graph.node:
            name = node.output[0] if node.op_type == "Constant" and node.output else ""
            yield from ((name and _title(name, prefix, repeated), False, one) for one in _attributes(node, bool(name)))
    for function in message.functions:  # its constants are no variables
        for graph in (function, *(inner for node in function.node for _, inner in _inside(node))):
            yield from (("", False, one) for one in getattr(graph, "initializer", ()))
            yield from (("", False, one) for node in graph.node for one in _attributes(node, False))


def _inside(node: Any) -> Iterator[tuple[str, Any]]:
    """The graphs of a node, and those inside."""
    for path, graph in named_parts(node):
        yield from parts_of(graph, path)


def _attributes(node: Any, is_constant: bool) -> Iterator[Any]:
    """The tensors among the attributes of a node, and the attribute itself where it is a constant's floats."""
    for one in node.attribute:
        yield from [one.t] if one.HasField("t") else one.tensors
        if is_constant and one.floats:
            yield one

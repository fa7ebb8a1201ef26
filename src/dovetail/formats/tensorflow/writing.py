"""Writing: an operation of Dovetail as a node of TensorFlow, and constants for its static arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.formats.tensorflow.attributes import CONVERTERS, Unreadable, constant_node, set_attribute
from dovetail.formats.tensorflow.rows import WRITTEN, Row
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import number_of
from dovetail.graph.operation import SINGLE, Operation


def nodes_of(operation: Operation) -> list[Any]:
    """An operation as messages `NodeDef`: constants for static arguments that are inputs there, and the node.

    Raises:
        Unreadable: no row says the operation in TensorFlow's words.
    """
    row = WRITTEN.get(operation.type)
    if row is None:
        raise Unreadable(f"no row writes the op {operation.type}")
    constants: list[Any] = []
    node = TENSORFLOW.NodeDef(name=operation.name, op=row.type)
    for one in row.inputs:
        number = operation.op.index_of(one.param)
        count, first = operation.layout[number], operation.input_at(number)
        if count is None:
            array = _array(operation, one.param)
            constant = TENSORFLOW.NodeDef(name=f"{operation.name}/{one.param}")
            constant_node(constant, array)
            constants.append(constant)
            node.input.append(constant.name)
            dtype: Any = array.dtype
        else:
            tensors = operation.inputs[first : first + (1 if count == SINGLE else count)]
            node.input.extend(tensor.op.name if tensor.index == 0 else tensor.name for tensor in tensors)
            dtype = tensors[0].dtype if tensors else None
            if one.way == "*":
                node.attr["N"].i = len(tensors)
        if one.dtype and dtype is not None:
            node.attr[one.dtype].type = number_of(dtype)
    _set_attributes(node, row, operation)
    node.input.extend(f"^{other.name}" for other in operation.control_inputs)
    return [*constants, node]


def _set_attributes(node: Any, row: Row, operation: Operation) -> None:
    layout = _layout(operation)
    for attribute in row.attributes:
        if attribute.result is not None:
            node.attr[attribute.theirs].type = number_of(operation.outputs[attribute.result].dtype)
        elif attribute.only is not None:
            set_attribute(node.attr[attribute.theirs], attribute.only)
        elif attribute.theirs == "num_split":
            node.attr[attribute.theirs].i = len(operation.outputs)
        elif attribute.ours:
            CONVERTERS[attribute.converter][1](node, attribute.theirs, operation.attrs[attribute.ours], layout)


def _layout(operation: Operation) -> str:
    """The order of a window's numbers, in TensorFlow's letters."""
    spatial = "DHW" if "3D" in operation.type else "HW"
    return f"NC{spatial}" if operation.attrs.get("data_format") == "channels_first" else f"N{spatial}C"


def _array(operation: Operation, param: str) -> np.ndarray:
    """A static argument as the array of a constant; None means all axes."""
    value = operation.attrs[param]
    if value is None:
        shape = operation.inputs[0].shape
        if shape is None:
            raise Unreadable(f"{param} is None, and the rank is not known")
        axes = list(range(len(shape)))
        value = axes[::-1] if operation.type == "Transpose" else axes
    return np.asarray(value) if isinstance(value, float) else np.asarray(value, "int32")

"""Nodes that no row can say: constants, and values that may be no tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import fold
from dovetail.core.base.table import OPS
from dovetail.core.values.shapes import broadcast
from dovetail.formats.nodes.constants import constant_of, filled, is_tensor, recorded
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.ops.gradients import broadcast_axes
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.reading import special
from dovetail.formats.tensorflow.table import READ
from dovetail.formats.tensorflow.values import Foreign, Handle, Host
from dovetail.formats.wire.tensors import array_of
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import sum_like

ASSERTION = "assertion failed:"  # the first words of the error of a check, before its data

LARGEST = 1 << 20  # bytes of a constant with one value for all elements


@special("Const ConstV2 HostConst")
def _const(node: Node) -> Any:
    proto = node.proto.attr["value"].tensor
    array = array_of(proto, node.reader.file, f"the constant {node.name!r}")
    graph = node.reader.graph
    if array.nbytes > LARGEST and not any(array.strides):  # a few bytes may say any number of elements
        return ops.broadcast_to(graph.constant(np.array(array.flat[0]), "Const"), array.shape)
    fold(array.nbytes if not any(array.strides) else 0)
    return graph.constant(np.array(array), "Const")


@special("NoOp ControlTrigger")
def _nothing(node: Node) -> Any:
    if node.reader.is_session and any(text.startswith("^") for text in node.proto.input):
        node.reader.graph.group()  # a run of it runs all for which it waits
    return []


@special("Identity IdentityN RefIdentity")
def _identities(node: Node) -> Any:
    return [
        ops.identity(node.tensor(i)) if is_tensor(value) or getattr(value, "is_reference", False) else value
        for i, value in enumerate(node.inputs)
    ]


@special("PlaceholderWithDefault")
def _default(node: Node) -> Any:
    """An operation that runs may feed, where they can; else its default."""
    if not node.reader.is_session:
        return ops.identity(node.tensor(0))
    shape = node.attrs("shape", None, (tuple, type(None)))
    return ops.placeholder_with_default(node.tensor(0), shape, shape is None)


@special("VarHandleOp VariableV2 Variable")
def _handle(node: Node) -> Any:
    return Handle(node.reader.variable(node.proto), is_reference=node.type != "VarHandleOp")


@special("Assert")
def _assert(node: Node) -> Any:
    data = node.inputs[1:]
    places = ["{}" if is_tensor(value) else " ".join(_words([value])) for value in data]
    text = " ".join([ASSERTION, *(f"[{place}]" for place in places)])
    OPS["Assert"](node.tensor(0), [*filter(is_tensor, data)], text, node.attrs("summarize", 3))
    return []


@special("Print")
def _print(node: Node) -> Any:
    """The first input, printed if it is all the data; other data are not printed."""
    x = node.tensor(0)
    if node.inputs[1:] != [x]:
        return ops.identity(x)
    return OPS["Print"](x, node.attrs("message", ""), node.attrs("summarize", 3))


@special("BroadcastGradientArgs")
def _broadcast(node: Node) -> Any:
    """The axes over which two gradients are summed; if a rank is not known, the shapes to which they are."""
    a, b = node.tensors()
    if (None,) not in (a.shape, b.shape):
        return broadcast_axes(a, b, node.attrs("T", "int32"))
    return [Foreign(node.name, "the rank of a shape is not known", sum_to=shape) for shape in (a, b)]


@special("Sum")
def _sum(node: Node) -> Any:
    """A sum over axes, or to the shape that a tensor of unknown rank has before it is broadcast."""
    if not isinstance(node.inputs[1], Foreign) or node.inputs[1].sum_to is None:
        return by_row(READ[node.type], node)
    g = node.tensor(0)
    return sum_like(g, filled(node.inputs[1].sum_to, 0, g.dtype))


@special("Equal NotEqual")
def _compared(node: Node) -> Any:
    """Elementwise, or one bool if the shapes do not broadcast and TensorFlow's `==` and `!=` made the node."""
    x, y = node.tensor(0), node.tensor(1)
    if not node.attrs("incompatible_shape_error", True):
        try:
            broadcast(x.shape, y.shape)
        except ValueError:
            return recorded(node.type == "NotEqual", "bool")
    return OPS[node.type](x, y)


@special("TopKV2")
def _top(node: Node) -> Any:
    """The largest elements; all are sorted if their number is no constant, such as a part of a shape."""
    x, k = node.tensor(0), node.tensor(1)
    if type(x) is GraphTensor and x.op.type == "Invert" and _is_whole(k, x):  # as `written` writes ArgSort
        order = OPS["ArgSort"](_before_bits(x.op.inputs[0]), -1)
        return [ops.take_along_axis(x, order, -1), ops.cast(order, node.attrs("index_type", "int32"))]
    if constant_of(k) is not None:
        return by_row(READ[node.type], node)
    ascending = ops.argsort(ops.flip(x, -1), -1)  # flipped, so that the first of equal elements is the first in the end
    places = (ops.shape(x)[-1] - 1 - ops.flip(ascending, -1))[..., :k]
    return [ops.take_along_axis(x, places, -1), ops.cast(places, node.attrs("index_type", "int32"))]


def _is_whole(k: Any, x: Any) -> bool:
    """Whether a number is the size of the last axis of inverted integers."""
    if (known := constant_of(k)) is not None:
        return bool(known == x.shape[-1])
    if k.op.type != "StridedSlice" or k.op.inputs[0].op.type != "Shape":
        return False
    is_last = k.op.attrs["shrink_axis_mask"] == 1 and k.op.attrs.get("begin") == (-1,)
    return is_last and any(k.op.inputs[0].op.inputs[0] is one for one in (x, x.op.inputs[0]))


def _before_bits(bits: Any) -> Any:
    """The floats of which some integers are the order, as `written_bodies` writes them; else the integers."""
    if bits.op.type == "Transpose":
        return ops.transpose(_before_bits(bits.op.inputs[0]), bits.op.attrs["axes"])
    path = ("SelectV2", 2), ("Bitcast", 0), ("SelectV2", 2), ("SelectV2", 2)
    x = bits
    for type, number in path:
        if x.op.type != type:
            return bits
        x = x.op.inputs[number]
    raw, plain = bits.op.inputs[2], bits.op.inputs[2].op.inputs[0]
    (less, xor, _), (equal, zeros, numbers) = ([one.op for one in y.op.inputs] for y in (bits, plain))
    known = ("Less", less, raw, 0), ("BitwiseXor", xor, raw, raw.dtype.max), ("Equal", equal, x, 0)
    is_order = zeros.type == "ZerosLike" and numbers.inputs[0].op.type == "IsNan"
    for type, op, given, number in known:
        is_order = is_order and op.type == type and op.inputs[0] is given and constant_of(op.inputs[1]) == number
    return x if is_order and numbers.inputs[0].op.inputs[0] is x else bits


def _words(data: Sequence[Any]) -> Iterator[str]:
    """The constant strings among some values."""
    for value in data:
        if isinstance(value, Host) and value.node.type == "Const":
            array = array_of(value.node.proto.attr["value"].tensor)
            yield from (text.decode(errors="replace") for text in array.reshape(-1).tolist())

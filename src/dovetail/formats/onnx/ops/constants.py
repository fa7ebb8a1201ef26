"""Constants and values as they are: Constant, ConstantOfShape, EyeLike, Range, Identity; variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import counted, filled, is_tensor, of_rank, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Later, Narrow, Node, Weight
from dovetail.formats.onnx.sizes import scalar
from dovetail.formats.onnx.table import special, writes
from dovetail.formats.onnx.tensors import STRING, dtype_of
from dovetail.formats.onnx.written_nodes import Place, Ref

# -- reading ----------------------------------------------------------------------------------------------------------

VALUES = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
STRINGS = {"value_string", "value_strings"}


@special("Constant")
def _constant(node: Node) -> Any:
    name, value = next(iter(node.attrs.items()), ("", np.zeros(0)))
    title = node.reader.title(node.proto.output[0], node.body.prefix)
    if name == "value":
        return Weight(title, value)
    if name in VALUES:
        return Weight(title, np.asarray(value, VALUES[name]))
    if name in STRINGS:
        return Weight(node.proto.output[0], np.asarray(value, object))
    if name == "sparse_value":
        return Weight(title, node.reader.tensors.dense(value))
    raise Unreadable(f"it has the attribute {name!r}")


@special("ConstantOfShape")
def _constant_of_shape(node: Node) -> Any:
    value = node.array("value") if "value" in node.attrs else np.zeros(1, "float32")
    return filled(node.shape(0), value[0], value.dtype.name)


@special("Identity")
def _identity(node: Node) -> Any:
    value = node.value(0)
    if isinstance(value, (Narrow, Later)):
        return value._replace(tensor=ops.identity(value.tensor))
    return [ops.identity(node.tensor(0)) if is_tensor(value) else value]


@special("Range")
def _range(node: Node) -> Any:
    first, last, by = (scalar(node.shape(i)) for i in range(3))
    if not any(map(is_tensor, (first, last, by))):
        within(int((last - first) / by))
    return [ops.arange(first, last, by, dtype_of(node.number(0)))]


@special("EyeLike")
def _eye_like(node: Node) -> Any:
    rows, columns = of_rank(node.tensor(0), 2)
    number = node.attrs.get("dtype", node.number(0))
    dtype = dtype_of(number)
    if number == STRING or dtype is None:
        raise Unreadable(f"its dtype is {number}")
    places = ops.expand_dims(counted(rows), 1) + node.attrs.get("k", 0)
    return ops.cast(ops.equal(places, counted(columns)), dtype)


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("Placeholder")
def _placeholder(place: Place, dtype: Any, shape: Any, known: Any) -> list[Ref]:
    raise place.refused(ValueError, "it is a placeholder that is no input of the model; name it among the inputs.")


@writes("Const")
def _const(place: Place, value: np.ndarray) -> Ref:
    return place.nodes.writer.constant(value, place.name)


@writes("ReadVariableOp")
def _read(place: Place, variable: Any, in_order: bool) -> Ref:
    return place.nodes.writer.variable(variable)


@writes("Identity IdentityN StopGradient PlaceholderWithDefault PreventGradient XlaOptimizationBarrier")
@writes("Assert CheckNumerics EnsureShape Print Tap")
def same(place: Place, x: Any, *args: Any) -> Any:
    """The first of the values that an operation takes, or the list of these, since it gives the same."""
    return x


@writes("Iota")
def _iota(place: Place, size: Any, dtype: Any) -> list[Ref]:
    if not isinstance(size, Ref):
        values = np.arange(size[0]).astype(dtype.numpy)
        return [place.nodes.writer.constant(values, place.name)]
    scalar = place.node("Squeeze", place.ints(size), place.constant([0]))
    return place.result("Cast", place.node("Range", place.constant(0), scalar, place.constant(1)), to=dtype)

"""Nodes that no row can say: constants, and types that pass on values of any kind."""

from __future__ import annotations

import io
import math
from copy import copy
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.formats.nodes.constants import counted, filled, is_tensor, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Later, Narrow, Node, Weight
from dovetail.formats.onnx.ops.arithmetic import widened
from dovetail.formats.onnx.ops.attention import repeated
from dovetail.formats.onnx.ops.shapes import scalar
from dovetail.formats.onnx.ops.strings import is_of_strings, of_numbers, placed, words_at
from dovetail.formats.onnx.table import special
from dovetail.formats.onnx.tensors import CARRIERS, STRING, dtype_of
from dovetail.ops.shapes.shape import dims_of

VALUES = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
STRINGS = {"value_string", "value_strings"}
MOVES = "Reshape Transpose Squeeze Unsqueeze Concat Slice Gather GatherElements GatherND Flatten Expand Tile Split"
MOVES += " Pad ai.onnx.ml.ArrayFeatureExtractor"


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
    value = node.inputs[0]
    if isinstance(value, (Narrow, Later)):
        return value._replace(tensor=ops.identity(value.tensor))
    return [ops.identity(node.tensor(0)) if is_tensor(value) else value]


@special(MOVES)
def _moved(node: Node) -> Any:
    """The dtype stays where elements move only, also one that Dovetail does not have; of strings, their places move."""
    value: Any = node.inputs[0]
    value = placed(value.array) if is_of_strings(value) else value
    if isinstance(value, Later):
        inner = copy(node)  # an opaque operation takes the inputs of the node itself
        inner.inputs = [value.tensor, *node.inputs[1:]]
        return [words_at(one, value.make) for one in of_numbers(inner)]
    number = node.number(0) if isinstance(value, (Narrow, Weight)) else 0
    moved = of_numbers(node)
    return [Narrow(one, number) for one in moved] if number in CARRIERS else moved


@special("Range")
def _range(node: Node) -> Any:
    first, last, by = (scalar(node.shape(i)) for i in range(3))
    if not any(map(is_tensor, (first, last, by))):
        within(int((last - first) / by))
    return [ops.arange(first, last, by, dtype_of(node.number(0)))]


@special("EyeLike")
def _eye_like(node: Node) -> Any:
    rows, columns = dims_of(node.tensor(0))
    number = node.attrs.get("dtype", node.number(0))
    dtype = dtype_of(number)
    if number == STRING or dtype is None:
        raise Unreadable(f"its dtype is {number}")
    places = ops.expand_dims(counted(rows), 1) + node.attrs.get("k", 0)
    return ops.cast(ops.equal(places, counted(columns)), dtype)


@special("BitCast")
def _bit_cast(node: Node) -> Any:
    dtype = dtype_of(node.attrs["to"])
    if dtype is None or node.attrs["to"] in CARRIERS or node.number(0) in CARRIERS:
        raise Unreadable("Dovetail has not these bits")
    x = node.tensor(0)
    if x.dtype.is_bool or dtype.is_bool:
        return ops.cast(ops.bitcast(ops.cast(x, "uint8") if x.dtype.is_bool else x, "uint8"), dtype)
    return ops.bitcast(x, dtype)


@special("If")
def _if(node: Node) -> Any:
    """One of two subgraphs; where the condition is known, that one alone is read."""
    then, other = node.attrs["then_branch"], node.attrs["else_branch"]
    known = node.known(0)
    if known is not None:
        return node.reader.subgraph(node, then if known.reshape(-1)[0] else other, [])
    condition = ops.reshape(node.tensor(0), [])

    def branch(graph: Any) -> list[Any]:
        return [_as_tensor(node, value) for value in node.reader.subgraph(node, graph, [])]

    try:
        results = list(ops.cond(condition, lambda: branch(then), lambda: branch(other)))
    except (TypeError, ValueError):  # results of other ranks or dtypes, as if the condition were known before
        node.reader.need(condition)
        raise
    if any(value.shape is None for value in results):
        node.reader.need(condition)
    return results


def _as_tensor(node: Node, value: Any) -> Any:
    if isinstance(value, Weight):
        return node.reader.weight(value)
    if is_tensor(value):
        return value
    raise TypeError("its branches give values that are no tensors")


@special("ImageDecoder")
def _decoded(node: Node) -> Any:
    """The pixels of a picture in a file's bytes, which the host decodes while the model is read."""
    data = np.asarray(node.constant(0), np.uint8).tobytes()
    mode = node.attrs.get("pixel_format", "RGB")
    try:
        from PIL import Image

        picture = Image.open(io.BytesIO(data))
        within(*picture.size)
        pixels = np.asarray(picture.convert("L" if mode == "Grayscale" else "RGB"))
    except ImportError:
        raise Unreadable("Pillow decodes pictures, and is not installed: pip install pillow") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unreadable(f"its picture cannot be decoded: {error}") from None
    return Weight("", np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1)[..., :: -1 if mode == "BGR" else 1]))


@special("ai.onnx.preview.FlexAttention")
def _flex_attention(node: Node) -> Any:
    """Attention whose scores and shares go through subgraphs."""
    q, k, v = (node.tensor(i) for i in range(3))
    k, v = (repeated(one, q.shape[1]) for one in (k, v))
    factor = math.sqrt(node.attrs.get("scale", 1 / math.sqrt(q.shape[3])))
    scores = ops.matmul(ops.cast(q * factor, q.dtype), ops.cast(ops.swapaxes(k, -1, -2) * factor, q.dtype))
    dtype = dtype_of(node.attrs.get("softmax_precision", 0)) or widened(q.dtype)
    scores = _through(node, "score_mod", ops.cast(scores, dtype))
    shares = _through(node, "prob_mod", ops.softmax(scores, -1))
    return ops.cast(ops.matmul(shares, ops.cast(v, dtype)), v.dtype)


def _through(node: Node, name: str, value: Any) -> Any:
    """A value that a subgraph changes, if the node has it."""
    if name not in node.attrs:
        return value
    return ops.cast(node.reader.subgraph(node, node.attrs[name], [value])[0], value.dtype)


@special("ai.onnx.preview.training.Gradient")
def _gradient(node: Node) -> Any:
    """The gradients of a value of the graph, which the node names, by the first of its inputs."""
    (y,) = node.reader.read(node.body, [node.attrs["y"]])
    xs = [node.tensor(i) for i in range(len(node.attrs["xs"]))]
    return hooks.gradients([y], xs, [ops.ones_like(y)])

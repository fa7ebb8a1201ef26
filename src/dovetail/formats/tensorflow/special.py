"""Nodes that no row can say: their inputs or attributes mean something else here, or several ops compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import Unreadable
from dovetail.formats.tensorflow.reading import Node, special
from dovetail.formats.tensorflow.values import Foreign, is_tensor
from dovetail.formats.wire.tensors import array_of
from dovetail.ops.shapes.shape import dims_of

LARGEST = 1 << 20  # elements of an array that is computed while a file is read

# -- constants and shapes ---------------------------------------------------------------------------------------------


@special("Const ConstV2 HostConst")
def _const(node: Node) -> Any:
    proto = node.proto.attr["value"].tensor
    array = array_of(proto, node.reader.file, f"the constant {node.name!r}")
    if array.dtype.hasobject:
        return Foreign(node.name, "it has strings", array)
    return node.reader.graph.constant(np.array(array), "Const")


@special("NoOp ControlTrigger")
def _nothing(node: Node) -> Any:
    return []


@special("Identity IdentityN RefIdentity")
def _identities(node: Node) -> Any:
    return [
        ops.identity(node.tensor(i)) if is_tensor(value) or getattr(value, "is_reference", False) else value
        for i, value in enumerate(node.inputs)
    ]


@special("Rank")
def _rank(node: Node) -> Any:
    x = node.tensor(0)
    if x.shape is None:
        return ops.shape(ops.shape(x))[0]
    return node.reader.graph.constant(np.array(len(x.shape), "int32"), "Rank")


@special("Size")
def _size(node: Node) -> Any:
    return ops.cast(ops.prod(ops.shape(node.tensor(0))), node.attrs("out_type", "int32"))


@special("ShapeN")
def _shapes(node: Node) -> Any:
    return [ops.cast(ops.shape(x), node.attrs("out_type", "int32")) for x in node.tensors()]


@special("Range")
def _range(node: Node) -> Any:
    bounds = [node.shape(index) for index in range(3)]
    dtype = node.tensor(0).dtype
    if all(isinstance(bound, list) for bound in bounds):
        (start,), (stop,), (step,) = bounds
        if step and abs((stop - start) / step) <= LARGEST:
            return node.reader.graph.constant(np.arange(start, stop, step, dtype=dtype.numpy), "Range")
    start, stop, step = (bound[0] if isinstance(bound, list) else bound for bound in bounds)
    return ops.arange(start, stop, step, dtype=dtype)


@special("StridedSlice")
def _strided_slice(node: Node) -> Any:
    x = node.tensor(0)
    begin, end, strides = (node.shape(index) for index in (1, 2, 3))
    masks = {name: node.attrs(f"{name}_mask", 0) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    if not masks["ellipsis"] and not masks["new_axis"]:
        kept = {f"{name}_mask": masks[name] for name in ("begin", "end", "shrink_axis")}
        return OPS["StridedSlice"](x, begin, end, strides, **kept)
    if not all(isinstance(bound, list) for bound in (begin, end, strides)):
        raise Unreadable("its bounds depend on values, and it has an ellipsis or a new axis")
    return x[tuple(_item(masks, i, *bounds) for i, bounds in enumerate(zip(begin, end, strides, strict=True)))]


def _item(masks: dict[str, int], i: int, begin: int, end: int, stride: int) -> Any:
    """One of Python's indices: an ellipsis, a new axis, an integer or a slice."""
    if masks["ellipsis"] >> i & 1:
        return Ellipsis
    if masks["new_axis"] >> i & 1:
        return None
    if masks["shrink_axis"] >> i & 1:
        return begin
    first, last = (None if masks[name] >> i & 1 else bound for name, bound in (("begin", begin), ("end", end)))
    return slice(first, last, stride)


@special("Split")
def _split(node: Node) -> Any:
    axis, count = node.constant(0), node.attrs("num_split")
    return ops.split(node.tensor(1), count, axis)


@special("SplitV")
def _split_sizes(node: Node) -> Any:
    x, sizes, axis = node.tensor(0), node.shape(1), node.constant(2)
    if isinstance(sizes, list) and -1 in sizes:
        sizes[sizes.index(-1)] = dims_of(x)[axis] - (sum(sizes) + 1)
    return OPS["SplitV"](x, sizes, axis)


@special("Slice")
def _slice(node: Node) -> Any:
    x, start, size = node.tensor(0), node.shape(1), node.shape(2)
    if isinstance(size, list) and -1 in size:
        dims = dims_of(x)
        size = [dims[i] - start[i] if length == -1 else length for i, length in enumerate(size)]
    return OPS["Slice"](x, start, size)


@special("Unique")
def _unique(node: Node) -> Any:
    x = node.tensor(0)
    values, places, *_ = OPS["Unique"](x)  # in ascending order; TensorFlow has them in the order of the input
    count, size = dims_of(values)[0], dims_of(x)[0]
    none = ops.full([count], size, "int32")
    first = OPS["TensorScatterMin"](none, ops.expand_dims(places, -1), ops.arange(size, dtype="int32"))
    order = ops.argsort(first)
    ranks = ops.argsort(order)
    places = ops.cast(OPS["GatherV2"](ranks, places, 0), node.attrs("out_idx", "int32"))
    return [OPS["GatherV2"](values, order, 0), places]


@special("Pad PadV2")
def _pad(node: Node) -> Any:
    value = node.constant(2) if len(node.inputs) > 2 else 0
    paddings = node.shape(1)
    if isinstance(paddings, list):
        return OPS["PadV2"](node.tensor(0), paddings[::2], paddings[1::2], value)
    return OPS["PadV2"](node.tensor(0), paddings[:, 0], paddings[:, 1], value)


@special("OneHot")
def _one_hot(node: Node) -> Any:
    x, on, off = node.tensor(0), node.tensor(2), node.tensor(3)
    depth = node.shape(1)
    hot = ops.one_hot(x, depth[0] if isinstance(depth, list) else depth, node.attrs("axis", -1), "bool")
    return ops.where(hot, on, off)


@special("GatherV2 Gather")
def _gather(node: Node) -> Any:
    axis = node.constant(2) if len(node.inputs) > 2 else 0
    batch = node.attrs("batch_dims", 0)
    return gathered(node.tensor(0), node.tensor(1), axis, batch)


def gathered(x: Any, indices: Any, axis: int, batch: int) -> Any:
    """The slices of a tensor at indices, as TensorFlow's GatherV2."""
    if not batch:
        return OPS["GatherV2"](x, indices, axis)
    return ops.gather(x, indices, axis=axis, batch_dims=batch)


@special("Select")
def _select(node: Node) -> Any:
    condition, x, y = node.tensors()
    if condition.shape is not None and x.shape is not None and 0 < len(condition.shape) < len(x.shape):
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * (len(x.shape) - len(condition.shape))])
    return ops.where(condition, x, y)


@special("ScatterNd")
def _scatter(node: Node) -> Any:
    indices, updates, shape = node.tensor(0), node.tensor(1), node.shape(2)
    return ops.tensor_scatter_add(ops.zeros(shape, updates.dtype), indices, updates)


@special("TensorScatterSub")
def _scatter_sub(node: Node) -> Any:
    x, indices, updates = node.tensors()
    return ops.tensor_scatter_add(x, indices, -updates)


@special("MatrixBandPart")
def _band(node: Node) -> Any:
    lower, upper = (None if (bound := node.constant(index)) < 0 else bound for index in (1, 2))
    return OPS["MatrixBandPart"](node.tensor(0), lower, upper)


@special("ReverseSequence")
def _reverse_sequence(node: Node) -> Any:
    x, lengths = node.tensors()
    axis, batch = node.attrs("seq_dim"), node.attrs("batch_dim", 0)
    rank, size = len(x.shape), dims_of(x)[axis]
    places = ops.arange(size)
    lengths = ops.expand_dims(ops.cast(lengths, "int32"), -1)
    places = ops.where(ops.less(places, lengths), lengths - 1 - places, places)  # (batch, steps)
    shape = [1] * rank
    shape[batch], shape[axis] = dims_of(x)[batch], size
    places = places if batch < axis else ops.transpose(places)
    return ops.take_along_axis(x, ops.broadcast_to(ops.reshape(places, shape), dims_of(x)), axis)


@special("DepthToSpace SpaceToDepth")
def _depth_space(node: Node) -> Any:
    x, size = node.tensor(0), node.attrs("block_size")
    if node.attrs.layout != "channels_last":
        raise Unreadable("its channels come first")
    batch, height, width, channels = dims_of(x)
    if node.type == "SpaceToDepth":
        parts = ops.reshape(x, [batch, height // size, size, width // size, size, channels])
        joined = [batch, height // size, width // size, channels * size * size]
        return ops.reshape(ops.transpose(parts, (0, 1, 3, 2, 4, 5)), joined)
    parts = ops.reshape(x, [batch, height, width, size, size, channels // (size * size)])
    joined = [batch, height * size, width * size, channels // (size * size)]
    return ops.reshape(ops.transpose(parts, (0, 1, 3, 2, 4, 5)), joined)


@special("SpaceToBatchND")
def _space_to_batch(node: Node) -> Any:
    x, blocks, pads = node.tensor(0), node.constant(1), node.constant(2)
    count, rank = len(blocks), len(node.tensor(0).shape)
    around = [0] * (rank - 1 - count)
    x = OPS["PadV2"](x, [0, *(pad[0] for pad in pads), *around], [0, *(pad[1] for pad in pads), *around])
    dims = dims_of(x)
    parts = [part for size, block in zip(dims[1 : count + 1], blocks, strict=True) for part in (size // block, block)]
    axes = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, rank + count)]
    x = ops.transpose(ops.reshape(x, [dims[0], *parts, *dims[count + 1 :]]), axes)
    return ops.reshape(x, [dims[0] * int(np.prod(blocks)), *parts[::2], *dims[count + 1 :]])


@special("BatchToSpaceND")
def _batch_to_space(node: Node) -> Any:
    x, blocks, crops = node.tensor(0), node.constant(1), node.constant(2)
    count, rank, dims = len(blocks), len(node.tensor(0).shape), dims_of(node.tensor(0))
    batch = dims[0] // int(np.prod(blocks))
    x = ops.reshape(x, [*blocks, batch, *dims[1:]])
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    x = ops.transpose(x, [count, *pairs, *range(2 * count + 1, rank + count)])
    sizes = [size * block for size, block in zip(dims[1 : count + 1], blocks, strict=True)]
    x = ops.reshape(x, [batch, *sizes, *dims[count + 1 :]])
    return x[(slice(None), *(slice(a, size - b) for (a, b), size in zip(crops, sizes, strict=True)))]


# -- arithmetic -------------------------------------------------------------------------------------------------------


@special("AddN AccumulateNV2")
def _add_all(node: Node) -> Any:
    first, *others = node.tensors()
    found = ops.identity(first) if not others else first
    for other in others:
        found = found + other
    return found


@special("Div")
def _divide(node: Node) -> Any:
    x, y = node.tensors()
    return _truncated(x, y) if x.dtype.is_integer else OPS["RealDiv"](x, y)


@special("TruncateDiv")
def _truncate_divide(node: Node) -> Any:
    return _truncated(*node.tensors())


def _truncated(x: Any, y: Any) -> Any:
    """The quotient of integers, rounded towards zero."""
    floor = OPS["FloorDiv"](x, y)
    is_below = ops.logical_and(ops.less(floor, 0), ops.not_equal(floor * y, x))
    return floor + ops.cast(is_below, floor.dtype)


@special("Mod TruncateMod")
def _truncate_mod(node: Node) -> Any:
    x, y = node.tensors()
    if x.dtype.is_integer:
        return x - _truncated(x, y) * y
    return x - OPS["Trunc"](x / y) * y


@special("MulNoNan Xlogy Xlog1py Xdivy")
def _zero_wins(node: Node) -> Any:
    x, y = node.tensors()
    zero = (y if node.type == "MulNoNan" else x) == 0
    safe = ops.where(zero, ops.ones_like(x), x if node.type == "MulNoNan" else y)
    found = _OF_SECOND[node.type](safe) * (y if node.type == "MulNoNan" else x)
    return ops.where(zero, ops.zeros_like(found), found)


_OF_SECOND: dict[str, Callable[[Any], Any]] = {
    "Xlogy": ops.log,
    "Xlog1py": ops.log1p,
    "Xdivy": lambda y: 1 / y,
    "MulNoNan": lambda x: x,
}


# type → (first input, second input) → the gradient, as TensorFlow's training graphs have them
_GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "SigmoidGrad": lambda y, g: g * y * (1 - y),
    "TanhGrad": lambda y, g: g * (1 - ops.square(y)),
    "SqrtGrad": lambda y, g: g * 0.5 / y,
    "RsqrtGrad": lambda y, g: g * -0.5 * y * ops.square(y),
    "ReciprocalGrad": lambda y, g: -g * ops.square(y),
    "InvGrad": lambda y, g: -g * ops.square(y),
    "SoftplusGrad": lambda g, x: g * ops.sigmoid(x),
    "SoftsignGrad": lambda g, x: g / ops.square(1 + ops.absolute(x)),
    "EluGrad": lambda g, y: ops.where(y < 0, g * (y + 1), g),
}


@special(" ".join(_GRADIENTS))
def _gradient(node: Node) -> Any:
    return _GRADIENTS[node.type](*node.tensors())


@special("BiasAddGrad")
def _bias_gradient(node: Node) -> Any:
    g = node.tensor(0)
    channels = len(g.shape) - 1 if node.attrs.layout == "channels_last" else 1
    return ops.sum(g, [axis for axis in range(len(g.shape)) if axis != channels])


@special("L2Loss")
def _l2_loss(node: Node) -> Any:
    return ops.sum(ops.square(node.tensor(0))) / 2


@special("Igammac")
def _upper_gamma(node: Node) -> Any:
    return 1 - OPS["Igamma"](*node.tensors())


@special("Cross")
def _cross(node: Node) -> Any:
    x, y = node.tensors()
    shifted = [(ops.roll(x, -a, -1), ops.roll(y, -b, -1)) for a, b in ((1, 2), (2, 1))]
    return shifted[0][0] * shifted[0][1] - shifted[1][0] * shifted[1][1]


@special("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def _batch_matmul(node: Node) -> Any:
    adjoints = [node.attrs(name, False) for name in ("adj_x", "adj_y")]
    pairs = zip(node.tensors(), adjoints, strict=True)
    x, y = (OPS["Conj"](value) if is_adjoint and value.dtype.is_complex else value for value, is_adjoint in pairs)
    return OPS["MatMul"](x, y, *adjoints)


@special("BroadcastArgs")
def _broadcast_args(node: Node) -> Any:
    a, b = (node.constant(index) for index in (0, 1))
    return node.reader.graph.constant(np.array(np.broadcast_shapes(a, b), node.tensor(0).dtype.numpy), "Shape")


@special("Qr")
def _qr(node: Node) -> Any:
    return OPS["Qr"](node.tensor(0), "complete" if node.attrs("full_matrices", False) else "reduced")


@special("RFFT")
def _rfft(node: Node) -> Any:
    (length,) = node.constant(1)
    return OPS["RFFT"](node.tensor(0), length)


@special("IRFFT")
def _irfft(node: Node) -> Any:
    (length,) = node.constant(1)
    return OPS["IRFFT"](node.tensor(0), length)


@special("UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd")
def _unsorted_segments(node: Node) -> Any:
    return _segments(node, node.shape(2))


@special("SegmentSum SegmentProd")
def _sorted_segments(node: Node) -> Any:
    return _segments(node, ops.max(node.tensor(1)) + 1)


def _segments(node: Node, count: Any) -> Any:
    """The elements that have a number in common, reduced; negative numbers go to a row that is cut away."""
    x, numbers = node.tensor(0), node.tensor(1)
    kind = node.type.removeprefix("Unsorted").removeprefix("Segment")
    none = {"Sum": 0, "Prod": 1, "Max": x.dtype.min, "Min": x.dtype.max}[kind]
    scatter = {"Sum": "Add", "Prod": "Mul"}.get(kind, kind)
    count = count[0] if isinstance(count, list) else count
    shape = [count + 1, *dims_of(x)[len(numbers.shape) :]]
    rows = ops.expand_dims(ops.maximum(numbers, -1) + 1, -1)
    return OPS[f"TensorScatter{scatter}"](ops.full(shape, ops.cast(none, x.dtype), x.dtype), rows, x)[1:]

"""Convolutions, whose channels are the second axis: Conv, ConvTranspose, DeformConv, Col2Im.

Their gradients are convolutions, too: by the image a ConvTranspose, by the kernel a Conv of images and gradients with
batches and channels exchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, Windows
from dovetail.core.values.spec import spec
from dovetail.formats.nodes.bodies import pads_of
from dovetail.formats.nodes.constants import counted, is_tensor, known_size, of_rank, recorded, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.ops.images import corners_at
from dovetail.formats.onnx.table import body, row, writes
from dovetail.formats.onnx.windows import FIRST, WINDOW, channels_first, given_back, image_of, pad_attributes, paddings
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

# -- reading ----------------------------------------------------------------------------------------------------------


@row(f"Conv: x kernel bias; {WINDOW} group")
def convolved(
    x: Any,
    kernel: Any,
    bias: Any = None,
    size: Any = None,
    strides: Any = None,
    dilations: Any = None,
    pads: Any = None,
    auto: str = "NOTSET",
    group: int = 1,
) -> Any:
    """A convolution; groups are those whose number the channels and the kernel's inputs give."""
    rank = rank_of(kernel) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    widths = paddings(x, size or known_dims(kernel)[2:], strides, dilations, pads, auto)
    if any(map(is_tensor, itertools.chain(*widths))):
        x, widths = ops.pad(x, [(0, 0), (0, 0), *widths]), [(0, 0)] * rank
    if known_dims(x)[1] is None and group > 1:  # else nobody could tell the groups
        batch, _, *sizes = dims_of(x)
        x = ops.reshape(x, [batch, known_size(kernel, 1) * group, *sizes])
    kernel = ops.transpose(kernel, [*range(2, rank + 2), 1, 0])
    if rank > 3:
        raise Unreadable(f"it has {rank} spatial axes, and Dovetail computes at most 3")
    images = ops.conv(x, kernel, tuple(strides), widths, FIRST, tuple(dilations))
    return images if bias is None else images + ops.reshape(bias, [1, -1, *[1] * rank])


@row(f"ConvTranspose: x kernel bias; {WINDOW} group output_padding:extra output_shape:shape")
def _(
    x: Any,
    kernel: Any,
    bias: Any = None,
    size: Any = None,
    strides: Any = None,
    dilations: Any = None,
    pads: Any = None,
    auto: str = "NOTSET",
    group: int = 1,
    extra: Any = None,
    shape: Any = None,
) -> Any:
    rank = rank_of(kernel) - 2
    strides, dilations, extra = strides or [1] * rank, dilations or [1] * rank, extra or [0] * rank
    size = [known_size(kernel, axis) for axis in range(2, rank + 2)]
    sizes: list[Any] = of_rank(x, rank + 2)[2:]
    full = [(sizes[i] - 1) * strides[i] + (size[i] - 1) * dilations[i] + 1 + extra[i] for i in range(rank)]
    if shape or auto.startswith("SAME"):
        less = [(size[i] - 1) * dilations[i] + 1 + extra[i] - strides[i] for i in range(rank)]
        cut = [full[i] - wanted for i, wanted in enumerate(list(shape)[-rank:])] if shape else less
        if not all(isinstance(number, int) for number in cut):
            raise Unreadable("its padding depends on a size that is not known")
        low = [max(number, 0) - max(number, 0) // 2 if auto != "SAME_UPPER" else max(number, 0) // 2 for number in cut]
        high = [max(number, 0) - one for number, one in zip(cut, low, strict=True)]
        spare = [max(-number, 0) for number in cut]
    else:
        pads = pads or [0] * 2 * rank
        low, high, spare = pads[:rank], pads[rank:], [0] * rank
    exact = [f - e for f, e in zip(full, extra, strict=True)]
    pairs = zip(ops.split(x, group, 1), ops.split(kernel, group, 0), strict=True) if group > 1 else [(x, kernel)]
    parts = [enlarged(one, part, strides, dilations, exact) for one, part in pairs]
    result = parts[0] if group == 1 else ops.concatenate(parts, 1)
    result = ops.pad(result, [(0, 0), (0, 0), *((0, e + s) for e, s in zip(extra, spare, strict=True))])
    result = result[(slice(None), slice(None), *(slice(a, -b or None) for a, b in zip(low, high, strict=True)))]
    return result if bias is None else result + ops.reshape(bias, [1, -1, *[1] * rank])


def enlarged(x: Any, kernel: Any, strides: Any, dilations: Any, full: Any) -> Any:
    """The gradient of a convolution without padding."""
    rank = len(full)
    kernel = ops.transpose(kernel, [*range(2, rank + 2), 1, 0])
    shape = [dims_of(x)[0], dims_of(kernel)[-2], *full]
    return ops.conv_transpose(x, kernel, tuple(strides), "valid", None, FIRST, tuple(dilations), shape)


@row("DeformConv: x kernel offset bias mask; dilations group kernel_shape:size offset_group:sets pads strides")
def _(
    x: Any,
    kernel: Any,
    offset: Any,
    bias: Any = None,
    mask: Any = None,
    dilations: Any = None,
    group: int = 1,
    size: Any = None,
    sets: int = 1,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    """A convolution whose windows take elements beside their own places, by offsets of each."""
    dims = [known_size(kernel, axis) for axis in range(rank_of(kernel))]
    size = dims[2:]
    rank, points = len(size), math.prod(size)
    within(rank, points)
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    batch, channels, *sizes = dims_of(x)
    counts = dims_of(offset)[2:]
    offset = ops.reshape(offset, [batch * sets, points, rank, *counts])
    places = []
    for axis in range(rank):
        own = np.indices(size)[axis].reshape([points, *[1] * rank]) * dilations[axis] - pads[axis]
        steps = ops.reshape(counted(counts[axis]) * strides[axis], [-1, *[1] * (rank - 1 - axis)])
        at = offset[:, :, axis] + recorded(own, offset.dtype) + ops.cast(steps, offset.dtype)
        places.append(ops.reshape(at, [batch * sets, -1]))
    images = ops.reshape(x, [batch * sets, channels // sets, *sizes])
    elements: Any = sum(corners_at(images, places, "linear", "zeros", [(0, 0)] * rank))
    if mask is not None:
        elements = elements * ops.reshape(mask, [batch * sets, 1, -1])
    taken = ops.reshape(elements, [batch, group, channels // group * points, -1])
    weights = ops.reshape(kernel, [group, dims[0] // group, -1])
    result = ops.reshape(ops.matmul(weights, taken), [batch, dims[0], *counts])
    return result if bias is None else result + ops.reshape(bias, [1, -1, *[1] * rank])


@row("Col2Im: x image! block!; dilations pads strides")
def _(
    x: Any, image: Sequence[int], block: Sequence[int], dilations: Any = None, pads: Any = None, strides: Any = None
) -> Any:
    """An image from its windows, which are added where they overlap."""
    rank, size = len(block), math.prod(block)
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    whole = [image[i] + pads[i] + pads[i + rank] for i in range(rank)]
    counts = [(whole[i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    batch, columns = dims_of(x)[:2]
    channels = columns // size
    windows = ops.reshape(x, [batch * channels, size, *counts])
    within(size, size)
    kernel = recorded(np.eye(size).reshape([size, 1, *block]), x.dtype)
    exact = [(counts[i] - 1) * strides[i] + (block[i] - 1) * dilations[i] + 1 for i in range(rank)]
    padded = enlarged(windows, kernel, strides, dilations, exact)
    padded = ops.pad(padded, [(0, 0), (0, 0), *((0, w - e) for w, e in zip(whole, exact, strict=True))])
    item = (slice(None), slice(None), *(slice(pads[i], pads[i] + image[i]) for i in range(rank)))
    return ops.reshape(padded[item], [batch, channels, *image])


# -- writing ----------------------------------------------------------------------------------------------------------

FORWARD, TO_INPUT, TO_KERNEL = (" ".join(CONVOLUTIONS[part]) for part in ("", "BackpropInput", "BackpropFilter"))


def _groups(channels: Any, kernel: Any) -> int:
    return 1 if channels is None or not kernel[-2] else int(channels // kernel[-2])


def _kernel_first(place: Place, kernel: Ref, rank: int) -> Ref:
    """A kernel (window..., inputs, outputs) as (outputs, inputs, window...)."""
    return place.node("Transpose", kernel, perm=[rank + 1, rank, *range(rank)])


@writes(FORWARD)
def _convolve(place: Place, x: Ref, kernel: Ref, strides: Any, padding: Any, dilations: Any, layout: str) -> list[Ref]:
    (image, window), rank = place.shapes, len(strides)
    sizes, channels = image_of(image, layout)
    convolved = place.node(
        "Conv",
        channels_first(place, x, rank, layout),
        _kernel_first(place, kernel, rank),
        group=_groups(channels, window),
        strides=strides,
        dilations=dilations,
        **pad_attributes(Windows(window[:rank], strides, dilations, padding), sizes),
    )
    return given_back(place, convolved, rank, layout)


@writes(TO_INPUT)
def _to_input(
    place: Place, sizes: Any, kernel: Ref, g: Ref, strides: Any, padding: Any, dilations: Any, layout: str
) -> list[Ref]:
    rank, window, result = len(strides), place.shapes[-2], place.made[0]
    spatial, channels = image_of(result, layout)
    windows = Windows(window[:rank], strides, dilations, padding)
    attrs = {"group": _groups(channels, window), "strides": strides, "dilations": dilations}
    inputs = channels_first(place, g, rank, layout), _kernel_first(place, kernel, rank)
    if None in spatial and any(stride > 1 for stride in strides):
        whole = place.node("ConvTranspose", *inputs, **attrs)
        return given_back(place, _cut(place, whole, place.ints(sizes), windows, layout), rank, layout)
    attrs |= pad_attributes(windows, spatial)
    if None not in spatial:
        rests = zip(windows.padded(spatial), windows.spans, strides, strict=True)
        attrs["output_padding"] = [(n - span) % stride for n, span, stride in rests]
    return given_back(place, place.node("ConvTranspose", *inputs, **attrs), rank, layout)


def _cut(place: Place, whole: Ref, sizes: Ref, windows: Windows, layout: str) -> Ref:
    """The part of an image with its padding, channels first, that has sizes which only a run knows."""
    rank = len(windows.size)

    def cut(whole: Any, sizes: Any) -> Any:
        axes = range(2, rank + 2) if layout == "channels_first" else range(1, rank + 1)
        wanted = [sizes[axis] for axis in axes]
        lows = [low for low, _ in pads_of(windows, wanted)]
        ends = zip(lows, wanted, dims_of(whole)[2:], strict=True)
        filled = OPS["PadV2"](whole, [0] * (rank + 2), [0, 0, *(ops.maximum(low + n - end, 0) for low, n, end in ends)])
        start = ops.stack([ops.convert(one, dtype="int32") for one in (0, 0, *lows)])
        return OPS["Slice"](filled, start, [*dims_of(whole)[:2], *wanted])

    batch, channels = place.made[0][0], image_of(place.made[0], layout)[1]
    image = spec((batch, channels, *[None] * rank), whole.dtype)
    index = spec((rank + 2,), "int32")
    return place.computed(cut, (whole, image), (place.cast(sizes, "int32"), index))[0]


def _is_unknown(operation: Operation) -> bool:
    sizes, _ = image_of(known_dims(operation.inputs[0]), operation.attrs["data_format"])
    return operation.attrs["padding"] == "same" and None in sizes and max(operation.attrs["strides"]) > 1


@body(TO_KERNEL, _is_unknown)
def _padded_to_kernel(
    op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    window = tuple(op_size for op_size in sizes[: len(strides)])
    around = pads_of(Windows(window, strides, dilations, padding), image_of(dims_of(x), layout)[0])
    outside = ([0, 0], []) if layout == "channels_first" else ([0], [0])
    low, high = ([*outside[0], *(pair[i] for pair in around), *outside[1]] for i in (0, 1))
    return op(OPS["PadV2"](x, low, high), sizes, g, strides, "valid", dilations, layout)


@writes(TO_KERNEL)
def _to_kernel(
    place: Place, x: Ref, sizes: Any, g: Ref, strides: Any, padding: Any, dilations: Any, layout: str
) -> list[Ref]:
    """The images of each channel are a batch, whose channels are the samples; so are the gradients, as kernels."""
    rank, window = len(strides), place.made[0]
    spatial, channels = image_of(place.shapes[0], layout)
    groups, windows = _groups(channels, window), Windows(window[:rank], strides, dilations, padding)
    images, kernels = channels_first(place, x, rank, layout), channels_first(place, g, rank, layout)
    images, kernels = (place.node("Transpose", one, perm=[1, 0, *range(2, rank + 2)]) for one in (images, kernels))
    if groups > 1:
        images = _grouped(place, images, groups, window[-2])
    gradient = place.node(
        "Conv", images, kernels, group=groups, strides=dilations, dilations=strides, **pad_attributes(windows, spatial)
    )
    axes = place.constant([*range(2, rank + 2)])
    gradient = place.node("Slice", gradient, place.constant([0] * rank), place.constant(window[:rank]), axes)
    return place.result("Transpose", gradient, perm=[*range(2, rank + 2), 0, 1])


def _grouped(place: Place, images: Ref, groups: int, inner: int) -> Ref:
    """(groups · inner, samples, ...) as (inner, groups · samples, ...)."""
    sizes = place.node("Slice", place.shape(images), place.constant([1]), place.constant([2**31]))
    split = place.node("Concat", [place.constant([groups, inner]), sizes], axis=0)
    rank = len(place.shapes[0]) + 1
    moved = place.node("Transpose", place.node("Reshape", images, split), perm=[1, 0, *range(2, rank)])
    spatial = place.node("Slice", sizes, place.constant([1]), place.constant([2**31]))
    return place.node("Reshape", moved, place.node("Concat", [place.constant([inner, -1]), spatial], axis=0))


@body("OverlapAdd", lambda operation: operation.inputs[0].dtype.is_floating)
def _overlap(op: Any, patches: Any, sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    """The gradient of a convolution that takes each element of its windows."""
    rank, volume = len(size), int(np.prod(size))
    batch, *inside, channels = (sizes[i] for i in range(rank + 2))
    order = (0, 2 * rank + 1, *range(1, 2 * rank + 1))
    steps = dims_of(patches)[1 : rank + 1]
    flat = ops.reshape(ops.transpose(patches, order), (-1, *steps, volume))
    kernel = ops.reshape(ops.cast(ops.eye(volume), patches.dtype), (*size, 1, volume))
    moves = strides, padding, dilations, "channels_last"
    image = OPS[CONVOLUTIONS["BackpropInput"][rank - 1]]((dims_of(flat)[0], *inside, 1), kernel, flat, *moves)
    return ops.transpose(ops.reshape(image, (batch, channels, *inside)), (0, *range(2, rank + 2), 1))


# -- float64, which ONNX Runtime does not compute: products of windows and kernels ------------------------------------


def _is_wide(operation: Operation) -> bool:
    """Whether a convolution is of float64, and its kernel and its channels are known; a gradient by groups stays."""
    part = operation.type.partition("D")[2]
    ends = [*operation.inputs, *operation.outputs]
    image = ends[-1] if part == "BackpropInput" else ends[0]
    kernel: Any = {"": ends[1], "BackpropInput": ends[-3], "BackpropFilter": ends[-1]}[part].shape
    channels = image.shape and image.shape[1 if operation.attrs["data_format"] == "channels_first" else -1]
    if image.dtype != "float64" or not channels or not all(kernel or [None]):
        return False
    return part != "BackpropInput" or bool(channels == kernel[-2])


def _channels_last(x: Any, layout: str) -> Any:
    return x if layout == "channels_last" else ops.transpose(x, (0, *range(2, rank_of(x)), 1))


def _given_back(x: Any, layout: str) -> Any:
    rank = rank_of(x)
    return x if layout == "channels_last" else ops.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def _rows(x: Any, window: Sequence[int], groups: int, strides: Any, padding: Any, dilations: Any) -> tuple[Any, Any]:
    """The windows as rows of each group, (groups, windows, elements), and the sizes (batch, windows...)."""
    windows = OPS["SlidingWindows"](x, tuple(window), strides, dilations, padding, 0.0)
    count, per = int(np.prod(window)), known_dims(x)[-1] // groups
    split = ops.transpose(ops.reshape(windows, (-1, count, groups, per)), (2, 0, 1, 3))
    return ops.reshape(split, (groups, -1, count * per)), dims_of(windows)[: len(window) + 1]


@body(" ".join(CONVOLUTIONS[""]), _is_wide)
def _wide(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    x, (*window, per, filters) = _channels_last(x, layout), kernel.shape
    groups = known_dims(x)[-1] // per
    rows, sizes = _rows(x, window, groups, strides, padding, dilations)
    columns = ops.transpose(ops.reshape(kernel, (-1, groups, filters // groups)), (1, 0, 2))
    products = ops.transpose(ops.matmul(rows, columns), (1, 0, 2))
    return _given_back(ops.reshape(products, (*sizes, filters)), layout)


@body(" ".join(CONVOLUTIONS["BackpropFilter"]), _is_wide)
def _wide_to_kernel(
    op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    x, g, (*window, per, filters) = _channels_last(x, layout), _channels_last(g, layout), sizes
    groups = known_dims(x)[-1] // per
    rows, _ = _rows(x, window, groups, strides, padding, dilations)
    columns = ops.transpose(ops.reshape(g, (-1, groups, filters // groups)), (1, 0, 2))
    products = ops.matmul(ops.transpose(rows, (0, 2, 1)), columns)
    return ops.reshape(ops.transpose(products, (1, 0, 2)), (*window, per, filters))


@body(" ".join(CONVOLUTIONS["BackpropInput"]), _is_wide)
def _wide_to_input(
    op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    """A convolution, by the reversed kernel, of gradients with zeros between them."""
    g, rank, (*window, _, filters) = _channels_last(g, layout), len(strides), kernel.shape
    windows, axes = Windows(tuple(window), strides, dilations, padding), range(1, rank + 1)
    wanted = [sizes[axis + (layout == "channels_first")] for axis in axes]
    batch, *steps, _ = dims_of(g)
    apart = ops.reshape(g, (batch, *(n for step in steps for n in (step, 1)), filters))
    apart = ops.pad(apart, [(0, 0), *(pair for stride in strides for pair in ((0, 0), (0, stride - 1))), (0, 0)])
    apart = ops.reshape(apart, (batch, *(step * stride for step, stride in zip(steps, strides, strict=True)), filters))
    lows = [low for low, _ in pads_of(windows, wanted)]
    apart = OPS["PadV2"](
        apart,
        [0, *(span - 1 for span in windows.spans), 0],
        [0, *(n + span for n, span in zip(wanted, windows.spans, strict=True)), 0],
        0.0,
    )
    ends = [low + n + span - 1 for low, n, span in zip(lows, wanted, windows.spans, strict=True)]
    apart = apart[(slice(None), *(slice(low, end) for low, end in zip(lows, ends, strict=True)))]
    turned = ops.transpose(kernel[(slice(None, None, -1),) * rank], (*range(rank), rank + 1, rank))
    ones = (1,) * rank
    forward = OPS[CONVOLUTIONS[""][rank - 1]]
    return _given_back(forward(apart, turned, ones, "valid", dilations, "channels_last"), layout)

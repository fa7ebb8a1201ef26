"""Writing of convolutions, pools and windows, whose operators have the channels first.

Their gradients are convolutions, too: by the image a ConvTranspose, by the kernel a Conv of images and gradients with
batches and channels exchanged.  The gradient of a maximum goes to the position that MaxPool gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows
from dovetail.core.values.spec import spec
from dovetail.formats.nodes.bodies import pads_of
from dovetail.formats.onnx.table import body, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of

FORWARD, TO_INPUT, TO_KERNEL = (" ".join(CONVOLUTIONS[part]) for part in ("", "BackpropInput", "BackpropFilter"))
MAXIMA, MEANS = POOLS["MaxPool"], POOLS["AvgPool"]

# -- layouts ----------------------------------------------------------------------------------------------------------


def first(place: Place, x: Ref, rank: int, layout: str = "channels_last") -> Ref:
    """An image of some spatial axes with the channels first."""
    return x if layout == "channels_first" else place.node("Transpose", x, perm=[0, rank + 1, *range(1, rank + 1)])


def given_back(place: Place, x: Ref, rank: int, layout: str = "channels_last") -> list[Ref]:
    """An image whose channels are first, as the operation's result."""
    return [x] if layout == "channels_first" else place.result("Transpose", x, perm=[0, *range(2, rank + 2), 1])


def _image(shape: Any, layout: str) -> tuple[Any, Any]:
    """The spatial sizes of an image, and the number of its channels."""
    return (shape[2:], shape[1]) if layout == "channels_first" else (shape[1:-1], shape[-1])


def _groups(channels: Any, kernel: Any) -> int:
    return 1 if channels is None or not kernel[-2] else int(channels // kernel[-2])


def pads(windows: Windows, sizes: Sequence[Any]) -> dict[str, Any]:
    """The attributes that say the padding; sizes that are not known are padded when the model runs."""
    if all(stride == 1 for stride in windows.strides):
        sizes = [1 if size is None else size for size in sizes]  # any size is padded alike
    if windows.padding == "same" and None in sizes:
        return {"auto_pad": "SAME_UPPER"}
    pairs = windows.pads(sizes)
    return {"pads": [*(low for low, _ in pairs), *(high for _, high in pairs)]}


# -- convolutions -----------------------------------------------------------------------------------------------------


def _kernel_first(place: Place, kernel: Ref, rank: int) -> Ref:
    """A kernel (window..., inputs, outputs) as (outputs, inputs, window...)."""
    return place.node("Transpose", kernel, perm=[rank + 1, rank, *range(rank)])


@writes(FORWARD)
def _convolve(place: Place, x: Ref, kernel: Ref, strides: Any, padding: Any, dilations: Any, layout: str) -> list[Ref]:
    (image, window), rank = place.shapes, len(strides)
    sizes, channels = _image(image, layout)
    convolved = place.node(
        "Conv",
        first(place, x, rank, layout),
        _kernel_first(place, kernel, rank),
        group=_groups(channels, window),
        strides=strides,
        dilations=dilations,
        **pads(Windows(window[:rank], strides, dilations, padding), sizes),
    )
    return given_back(place, convolved, rank, layout)


@writes(TO_INPUT)
def _to_input(
    place: Place, sizes: Any, kernel: Ref, g: Ref, strides: Any, padding: Any, dilations: Any, layout: str
) -> list[Ref]:
    rank, window, result = len(strides), place.shapes[-2], place.made[0]
    spatial, channels = _image(result, layout)
    windows = Windows(window[:rank], strides, dilations, padding)
    attrs = {"group": _groups(channels, window), "strides": strides, "dilations": dilations}
    inputs = first(place, g, rank, layout), _kernel_first(place, kernel, rank)
    if None in spatial and any(stride > 1 for stride in strides):
        whole = place.node("ConvTranspose", *inputs, **attrs)
        return given_back(place, _cut(place, whole, place.ints(sizes), windows, layout), rank, layout)
    attrs |= pads(windows, spatial)
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

    batch, channels = place.made[0][0], _image(place.made[0], layout)[1]
    image = spec((batch, channels, *[None] * rank), whole.dtype)
    index = spec((rank + 2,), "int32")
    return place.computed(cut, (whole, image), (place.cast(sizes, "int32"), index))[0]


def _is_unknown(operation: Operation) -> bool:
    shape: Any = operation.inputs[0].shape
    sizes, _ = _image(shape, operation.attrs["data_format"])
    return operation.attrs["padding"] == "same" and None in sizes and max(operation.attrs["strides"]) > 1


@body(TO_KERNEL, _is_unknown)
def _padded_to_kernel(
    op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    window = tuple(op_size for op_size in sizes[: len(strides)])
    around = pads_of(Windows(window, strides, dilations, padding), _image(dims_of(x), layout)[0])
    outside = ([0, 0], []) if layout == "channels_first" else ([0], [0])
    low, high = ([*outside[0], *(pair[i] for pair in around), *outside[1]] for i in (0, 1))
    return op(OPS["PadV2"](x, low, high), sizes, g, strides, "valid", dilations, layout)


@writes(TO_KERNEL)
def _to_kernel(
    place: Place, x: Ref, sizes: Any, g: Ref, strides: Any, padding: Any, dilations: Any, layout: str
) -> list[Ref]:
    """The images of each channel are a batch, whose channels are the samples; so are the gradients, as kernels."""
    rank, window = len(strides), place.made[0]
    spatial, channels = _image(place.shapes[0], layout)
    groups, windows = _groups(channels, window), Windows(window[:rank], strides, dilations, padding)
    images, kernels = first(place, x, rank, layout), first(place, g, rank, layout)
    images, kernels = (place.node("Transpose", one, perm=[1, 0, *range(2, rank + 2)]) for one in (images, kernels))
    if groups > 1:
        images = _grouped(place, images, groups, window[-2])
    gradient = place.node(
        "Conv", images, kernels, group=groups, strides=dilations, dilations=strides, **pads(windows, spatial)
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


# -- pools ------------------------------------------------------------------------------------------------------------


def _pool(place: Place, size: Any, strides: Any, padding: str, layout: str) -> dict[str, Any]:
    windows = Windows(size, strides, (1,) * len(size), padding)
    return {"kernel_shape": size, "strides": strides, **pads(windows, _image(place.shapes[0], layout)[0])}


@writes(" ".join(MAXIMA))
def _max_pool(place: Place, x: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank = len(size)
    pooled = place.node("MaxPool", first(place, x, rank, layout), **_pool(place, size, strides, padding, layout))
    return given_back(place, pooled, rank, layout)


@writes(" ".join(MEANS))
def _mean_pool(place: Place, x: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank = len(size)
    pooled = place.node("AveragePool", first(place, x, rank, layout), **_pool(place, size, strides, padding, layout))
    return given_back(place, pooled, rank, layout)


def _positions(place: Place, x: Ref, size: Any, *moves: Any) -> Ref:
    """The flat positions of the maxima of an image whose channels are first."""
    return place.several("MaxPool", x, dtypes=[x.dtype, "int64"], **_pool(place, size, *moves))[1]


@writes(" ".join(f"{name}Grad" for name in MAXIMA))
def _max_gradient(place: Place, x: Ref, g: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank, flat = len(size), place.constant([-1])
    x, g = (first(place, one, rank, layout) for one in (x, g))
    positions = place.node("Reshape", _positions(place, x, size, strides, padding, layout), flat)
    count = place.node("Reshape", place.node("Size", x, dtype="int64"), flat)
    zeros = place.node("Expand", place.constant([0], x.dtype), count)
    sums = place.node("ScatterElements", zeros, positions, place.node("Reshape", g, flat), axis=0, reduction="add")
    return given_back(place, place.node("Reshape", sums, place.shape(x), allowzero=1), rank, layout)


@writes(" ".join(f"{name}GradGrad" for name in MAXIMA))
def _max_second(place: Place, x: Ref, h: Ref, size: Any, strides: Any, padding: str, layout: str) -> list[Ref]:
    rank = len(size)
    x, h = (first(place, one, rank, layout) for one in (x, h))
    positions = _positions(place, x, size, strides, padding, layout)
    largest = place.node("Gather", place.node("Reshape", h, place.constant([-1])), positions)
    return given_back(place, largest, rank, layout)


@body(" ".join(f"{name}Grad" for name in MEANS))
def _mean_gradient(op: Any, x: Any, g: Any, size: Any, strides: Any, padding: str, layout: str) -> Any:
    """Each window's gradient, divided by the number of its elements, to all of them: a convolution's gradient."""
    rank, ones = len(size), (1,) * len(size)
    moves = strides, padding, ones, "channels_last"
    kernel = ops.ones((*size, 1, 1), x.dtype)
    sizes, channels = _image(dims_of(x), layout)
    g = g if layout == "channels_first" else ops.transpose(g, (0, rank + 1, *range(1, rank + 1)))
    counts = OPS[CONVOLUTIONS[""][rank - 1]](ops.ones((1, *sizes, 1), x.dtype), kernel, *moves)
    steps = dims_of(g)[2:]
    spread = ops.reshape(g, (-1, *steps, 1)) / counts
    gradient = OPS[CONVOLUTIONS["BackpropInput"][rank - 1]]((dims_of(spread)[0], *sizes, 1), kernel, spread, *moves)
    gradient = ops.reshape(gradient, (-1, channels, *sizes))
    return gradient if layout == "channels_first" else ops.transpose(gradient, (0, *range(2, rank + 2), 1))


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

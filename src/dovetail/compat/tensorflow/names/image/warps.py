"""Images that are sampled between their pixels: `tf.contrib.resampler` and `tf.contrib.image.dense_image_warp`.

Source: `tf.contrib` of TensorFlow 1.15, the function of the same name.
"""

from __future__ import annotations

import itertools
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of, shaped


@function("contrib.resampler.resampler", "v1", scope="resampler")
def resampler(data: Any, warp: Any, name: str | None = None) -> Any:
    """The values of images at places between their pixels; outside of them, 0.

    Args:
        data: (batch, height, width, channels).
        warp: (batch, …, 2), the column and the row of each place.

    Returns:
        A tensor (batch, …, channels).

    Raises:
        ValueError: a rank is another one.
    """
    data, warp = shaped(data), shaped(warp)
    if len(static_shape(data)) != 4 or static_shape(warp)[-1] != 2:
        shapes = f"{data.shape} and {warp.shape}"
        problem = f"data is (batch, height, width, channels), and warp (batch, …, 2), not {shapes}."
        raise op_error(ValueError, "tf.contrib.resampler.resampler", problem)
    batch, *inner, _ = dims_of(warp)
    places = ops.reshape(warp, [batch, -1, 2])
    found = _between(data, places[..., 1], places[..., 0])
    return ops.reshape(found, [batch, *inner, dims_of(data)[3]])


@function("contrib.image.dense_image_warp", "v1", scope="dense_image_warp")
def dense_image_warp(image: Any, flow: Any, name: str | None = None) -> Any:
    """Images of which each pixel comes from another place: that of the pixel less the flow.

    Args:
        image: (batch, height, width, channels).
        flow: (batch, height, width, 2), rows and columns; places outside of an image are moved to its edge.
    """
    image, flow = shaped(image), shaped(flow)
    batch, height, width, channels = dims_of(image)
    floats = [ops.cast(size, flow.dtype) for size in (height, width)]
    rows = ops.reshape(ops.cast(ops.arange(height), flow.dtype), [1, -1, 1]) - flow[..., 0]
    columns = ops.reshape(ops.cast(ops.arange(width), flow.dtype), [1, 1, -1]) - flow[..., 1]
    places = [
        ops.reshape(ops.minimum(ops.maximum(place, 0), size - 1), [batch, -1])
        for place, size in zip((rows, columns), floats, strict=True)
    ]
    return ops.reshape(_between(image, *places), [batch, height, width, channels])


def _between(data: Any, rows: Any, columns: Any) -> Any:
    """The values of images at places (batch, count), by the four pixels around each; a pixel outside is 0."""
    batch, height, width, channels = dims_of(data)
    flat = ops.reshape(data, [batch, height * width, channels])
    first = ops.floor(rows), ops.floor(columns)
    total: Any = 0
    for steps in itertools.product((0, 1), repeat=2):
        weight: Any = 1
        numbers = []
        for place, below, step, size in zip((rows, columns), first, steps, (height, width), strict=True):
            at = below + step
            is_inside = ops.logical_and(at >= 0, at <= ops.cast(size - 1, at.dtype))
            weight = weight * ops.where(is_inside, 1 - ops.absolute(place - at), 0)
            numbers.append(ops.cast(ops.where(is_inside, at, 0), "int32"))
        pixels = ops.gather(flat, numbers[0] * width + numbers[1], 1, 1)
        total = total + ops.expand_dims(ops.cast(weight, data.dtype), -1) * pixels
    return total

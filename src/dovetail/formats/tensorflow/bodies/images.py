"""Images in other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import Unreadable
from dovetail.formats.tensorflow.rows import row
from dovetail.ops.shapes.shape import dims_of

_RESIZE = "Resize{0}: x/T size?/-; align_corners:aligned half_pixel_centers:centered +kind={0}"


@row(*map(_RESIZE.format, ("Bilinear", "Bicubic", "NearestNeighbor")))
def resized(x: Any, size: Any, kind: str, aligned: bool = False, centered: bool = False) -> Any:
    """Images of another size, sampled at the centres of pixels or at their corners.

    Raises:
        Unreadable: Dovetail does not sample so.
    """
    if kind != "NearestNeighbor":
        x = ops.cast(x, "float32")
    if centered:
        return OPS[f"Resize{kind}"](x, size, "channels_last")
    if kind == "Bicubic":
        raise Unreadable("it does not sample at the centres of pixels")
    for axis, new in ((1, size[0]), (2, size[1])):
        x = _resampled(x, axis, new, aligned, kind == "NearestNeighbor")
    return x


def _resampled(x: Any, axis: int, new: Any, aligned: bool, nearest: bool) -> Any:
    """An axis of an image with another size, from pixels at their corners, as TensorFlow 1 resizes."""
    old = dims_of(x)[axis]
    if not isinstance(old, int) or not isinstance(new, int):
        raise Unreadable("it resizes from corners, and a size depends on values")
    scale = np.float32((old - 1) / (new - 1)) if aligned and new > 1 else np.float32(old / new)
    places = np.arange(new, dtype="float32") * scale
    if nearest:
        rounded = np.floor(places + 0.5) if aligned else np.floor(places)
        return OPS["GatherV2"](x, np.minimum(rounded, old - 1).astype("int32"), axis)
    low = np.minimum(np.floor(places), old - 1).astype("int32")
    high = np.minimum(low + 1, old - 1)
    weight = (places - low).astype("float32").reshape([-1] + [1] * (3 - axis))
    first, second = (OPS["GatherV2"](x, index, axis) for index in (low, high))
    return first + (second - first) * weight

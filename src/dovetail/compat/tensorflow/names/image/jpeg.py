"""TensorFlow's names for pictures in JPEG: whether bytes are one, its size, a part of it, and images after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.image.colours import convert_image_dtype
from dovetail.compat.tensorflow.names.image.crops import crop_to_bounding_box
from dovetail.compat.tensorflow.names.strings.functions import BY_TYPE
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.ops.shapes.shape import shaped

_decoded, _encoded = BY_TYPE["DecodeJpeg"], BY_TYPE["EncodeJpeg"]


@function("image.is_jpeg io.is_jpeg")
def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether the bytes of a picture are JPEG.

    Source: `tf.io.is_jpeg`.
    """
    return computed(lambda given: np.bool_(given.item()[:3] == b"\xff\xd8\xff"), [contents], ["bool"], [()], name)[0]


@function("image.extract_jpeg_shape io.extract_jpeg_shape", scope=True)
def extract_jpeg_shape(contents: Any, output_type: Any = "int32", name: str | None = None) -> Any:
    """The height, the width and the channels of a picture in JPEG.

    Source: `tf.io.extract_jpeg_shape`.
    """
    return ops.cast(ops.shape(_decoded(contents)), output_type)


@function("image.decode_and_crop_jpeg io.decode_and_crop_jpeg", scope=True)
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """A part of a picture in JPEG.

    Args:
        crop_window: the first row and column, the height and the width.

    Source: `tf.io.decode_and_crop_jpeg`.
    """
    window = shaped(crop_window)
    picture = _decoded(contents, channels, ratio)
    return in_v1(crop_to_bounding_box)(picture, *(window[i] for i in range(4)))


@function("image.adjust_jpeg_quality", scope=True)
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None) -> Any:
    """An image after it was JPEG of a quality, from 0 to 100.

    Source: `tf.image.adjust_jpeg_quality`.
    """
    image = shaped(image)
    dtype, known = image.dtype, image.shape
    bytes = convert_image_dtype(image, "uint8", saturate=True)
    found = convert_image_dtype(_decoded(_encoded(bytes, quality=int(jpeg_quality))), dtype, saturate=True)
    if hasattr(found, "set_shape"):
        found.set_shape(known)
    return found

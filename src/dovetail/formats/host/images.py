"""Pictures, decoded and encoded by Pillow."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from dovetail.formats.nodes.opaque import Unreadable

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # number of channels → Pillow's mode


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise Unreadable("pictures need Pillow, which is not installed: pip install pillow") from None


def decode(data: np.ndarray, *, channels: int = 0, dtype: Any = None, ratio: int = 1) -> np.ndarray:
    """A picture as an array of the shape (height, width, channels), uint8.

    Args:
        data: the bytes of a PNG, JPEG, BMP or GIF.
        channels: how many channels it shall have; as many as it has, if 0.
        dtype: uint8, if it is given.
        ratio: 1; TensorFlow makes the picture smaller by another.

    Raises:
        Unreadable: Pillow is not installed, or the arguments ask for more.
    """
    if dtype is not None and dtype.name != "uint8":
        raise Unreadable(f"it decodes a picture to {dtype.name}, and Dovetail to uint8")
    if ratio != 1:
        raise Unreadable("it makes the picture smaller")
    with _pillow().open(io.BytesIO(data.item())) as picture:
        channels = channels or len(picture.getbands())
        array = np.asarray(picture.convert(MODES[channels]))
    return array.reshape(*array.shape[:2], channels)


def encode_png(array: np.ndarray, *, compression: int = -1) -> np.ndarray:
    """A picture as the bytes of a PNG.

    Args:
        array: uint8 of the shape (height, width, channels).
        compression: the level, from 0 to 9; -1 is the library's own choice.

    Raises:
        Unreadable: it is of another dtype or shape.
    """
    return _encoded(array, format="PNG", compress_level=6 if compression < 0 else compression)


def encode_jpeg(
    array: np.ndarray,
    *,
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
) -> np.ndarray:
    """A picture as the bytes of a JPEG; see `encode_png`."""
    subsampling = 2 if chroma_downsampling else 0
    options = {"quality": quality, "progressive": progressive, "optimize": optimize_size, "subsampling": subsampling}
    return _encoded(array, format="JPEG", **options)


def _encoded(array: np.ndarray, **options: Any) -> np.ndarray:
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in MODES:
        shape = f"{array.dtype} of the shape {array.shape}"
        raise Unreadable(f"it encodes uint8 of the shape (height, width, channels), with up to 4 channels, not {shape}")
    file = io.BytesIO()
    _pillow().fromarray(array[..., 0] if array.shape[2] == 1 else array).save(file, **options)
    return np.array(file.getvalue(), object)

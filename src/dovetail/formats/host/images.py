"""Nodes that decode and encode pictures, by Pillow."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from dovetail.formats.opaque import Unreadable
from dovetail.formats.tensorflow.host.table import host

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # number of channels → Pillow's mode


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise Unreadable("pictures need Pillow, which is not installed: pip install pillow") from None


@host("DecodePng DecodeJpeg DecodeBmp DecodeImage")
def _decode(node: Any, data: np.ndarray) -> Any:
    dtype = node.attrs("dtype") if "dtype" in node.attrs else None
    if dtype is not None and dtype.name != "uint8":
        raise Unreadable(f"it decodes a picture to {dtype.name}, and Dovetail to uint8")
    if node.attrs("ratio", 1) != 1:
        raise Unreadable("it makes the picture smaller")
    with _pillow().open(io.BytesIO(data.item())) as picture:
        channels = node.attrs("channels", 0) or len(picture.getbands())
        array = np.asarray(picture.convert(MODES[channels]))
    return array.reshape(*array.shape[:2], channels)


@host("EncodePng EncodeJpeg")
def _encode(node: Any, array: np.ndarray) -> Any:
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in MODES:
        shape = f"{array.dtype} of the shape {array.shape}"
        raise Unreadable(f"it encodes uint8 of the shape (height, width, channels), with up to 4 channels, not {shape}")
    if node.type == "EncodePng":
        level = node.attrs("compression", -1)
        options = {"format": "PNG", "compress_level": 6 if level < 0 else level}
    else:
        options = {
            "format": "JPEG",
            "quality": node.attrs("quality", 95),
            "progressive": node.attrs("progressive", False),
            "optimize": node.attrs("optimize_size", False),
            "subsampling": 2 if node.attrs("chroma_downsampling", True) else 0,
        }
    file = io.BytesIO()
    _pillow().fromarray(array[..., 0] if array.shape[2] == 1 else array).save(file, **options)
    return np.array(file.getvalue(), object)

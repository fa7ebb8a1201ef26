"""Nodes that decode pictures, by Pillow."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from dovetail.formats.opaque import Unreadable
from dovetail.formats.tensorflow.host.table import host

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # number of channels → Pillow's mode


@host("DecodePng DecodeJpeg DecodeBmp DecodeImage")
def _decode(node: Any, data: np.ndarray) -> Any:
    dtype = node.attrs("dtype") if "dtype" in node.attrs else None
    if dtype is not None and dtype.name != "uint8":
        raise Unreadable(f"it decodes a picture to {dtype.name}, and Dovetail to uint8")
    if node.attrs("ratio", 1) != 1:
        raise Unreadable("it makes the picture smaller")
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        raise Unreadable("pictures are decoded by Pillow, which is not installed: pip install pillow") from None
    with image.open(io.BytesIO(data.item())) as picture:
        channels = node.attrs("channels", 0) or len(picture.getbands())
        array = np.asarray(picture.convert(MODES[channels]))
    return array.reshape(*array.shape[:2], channels)

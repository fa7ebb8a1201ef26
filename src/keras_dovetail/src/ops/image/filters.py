"""Filters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, result_type
from keras_dovetail.src.ops.image.layout import as_batch
from keras_dovetail.versions import is_mended


def _bell(size: int, sigma: Any) -> Any:
    """The weights of a normal distribution around the middle; their sum is 1."""
    x = ops.arange(size, dtype=sigma.dtype) - (size - 1) / 2
    weights = ops.exp(-0.5 * ops.square(x / sigma))
    return weights / ops.sum(weights)


def gaussian_blur(images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0), data_format: Any = None) -> Any:
    batch, back = as_batch(images, data_format)
    dtype = result_type(batch, "float32")
    down, across = (
        _bell(int(size), width)
        for size, width in zip(np.asarray(kernel_size), ops.unstack(as_tensor(sigma, dtype)), strict=True)
    )
    if not is_mended("gaussian_blur"):
        down, across = across, down
    shape = (down.shape[0], across.shape[0], batch.shape[-1], 1)
    kernel = ops.broadcast_to((down[:, None] * across)[..., None, None], shape)
    blurred = ops.depthwise_conv(as_tensor(batch, dtype), kernel, 1, "same", "channels_last")
    return as_tensor(back(blurred), batch.dtype)


def sobel_edges(images: Any, data_format: Any = None) -> Any:
    """The slopes down and across, on a new last axis; the images are padded with zeros."""
    batch, back = as_batch(images, data_format)
    x = ops.pad(batch, [(0, 0), (1, 1), (1, 1), (0, 0)])
    down, across = x[:, 2:] - x[:, :-2], x[:, :, 2:] - x[:, :, :-2]
    slopes = (
        down[:, :, :-2] + 2 * down[:, :, 1:-1] + down[:, :, 2:],
        across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:],
    )
    return ops.stack([back(slope) for slope in slopes], -1)

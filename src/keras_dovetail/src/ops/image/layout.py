"""Images as one batch whose channels are last, and the way back to their own layout."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dovetail import ops
from dovetail.interop.privates import standardize_data_format
from keras_dovetail.src.dtypes import as_tensor


def checked_rank(images: Any) -> Any:
    """The tensor of one image, or of several; a ValueError for other ranks."""
    images = as_tensor(images)
    if len(images.shape) not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={tuple(images.shape)}"
        )
    return images


def channels_axis(data_format: Any) -> int:
    return -1 if standardize_data_format(data_format) == "channels_last" else -3


def as_batch(images: Any, data_format: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The images as (batch, rows, columns, channels), and a function that gives results the layout of the images."""
    images = checked_rank(images)
    single, axis = len(images.shape) == 3, channels_axis(data_format)
    batch = ops.moveaxis(ops.expand_dims(images, 0) if single else images, axis, -1)

    def back(found: Any) -> Any:
        found = ops.moveaxis(found, -1, axis)
        return ops.squeeze(found, 0) if single else found

    return batch, back


def checked_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    if value not in choices:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected of one {sorted(choices)}. Received: {name}={value}"
        )

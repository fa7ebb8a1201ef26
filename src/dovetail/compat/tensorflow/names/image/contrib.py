"""`tf.contrib.image`: images that are turned, moved and projected.

Source: `tf.contrib.image`, the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of, shaped

_projected = of_type("ImageProjectiveTransformV2")


def _transform(images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None) -> Any:
    """Images whose pixel (x, y) is ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) before, k = c0 x + c1 y + 1.

    Args:
        images: (height, width), (height, width, channels), or with a batch before; pixels from outside are 0.
        transforms: a0, a1, a2, b0, b1, b2, c0, c1: one row, or one for each image.
        interpolation: "NEAREST" or "BILINEAR".
        output_shape: the height and width of the results.
    """
    images, transforms = shaped(images), ops.cast(transforms, "float32")
    rank = len(images.shape)
    batch = images[None, ..., None] if rank == 2 else images[None] if rank == 3 else images
    size = dims_of(batch)[1:3] if output_shape is None else output_shape
    rows = ops.broadcast_to(ops.reshape(transforms, [-1, 8]), [dims_of(batch)[0], 8])
    projected = _projected(batch, rows, size, interpolation, "CONSTANT")
    return projected[0, ..., 0] if rank == 2 else projected[0] if rank == 3 else projected


def _rows(*columns: Any) -> Any:
    """Transforms by their eight columns, each a number or one for each image."""
    count = ops.shape(columns[2])
    return ops.stack([ops.broadcast_to(ops.cast(column, "float32"), count) for column in columns], -1)


def _rotation(angles: Any, image_height: Any, image_width: Any) -> Any:
    """The transforms that turn images by angles, against the clock, around their middle."""
    angles = ops.reshape(ops.cast(angles, "float32"), [-1])
    height, width = (ops.cast(size, "float32") - 1 for size in (image_height, image_width))
    sin, cos = ops.sin(angles), ops.cos(angles)
    x = (width - (cos * width - sin * height)) / 2
    y = (height - (sin * width + cos * height)) / 2
    return _rows(cos, -sin, x, sin, cos, y, 0, 0)


def _translation(translations: Any) -> Any:
    """The transforms that move images by (dx, dy)."""
    moves = ops.reshape(ops.cast(translations, "float32"), [-1, 2])
    return _rows(1, 0, -moves[:, 0], 0, 1, -moves[:, 1], 0, 0)


def _rotate(images: Any, angles: Any, interpolation: str = "NEAREST") -> Any:
    height, width = dims_of(shaped(images))[-3:-1] if len(images.shape) > 2 else dims_of(shaped(images))
    return _transform(images, _rotation(angles, height, width), interpolation)


def _translate(images: Any, translations: Any, interpolation: str = "NEAREST") -> Any:
    return _transform(images, _translation(translations), interpolation)


def _matrices(transforms: Any) -> Any:
    """Transforms as matrices (3, 3)."""
    rows = ops.reshape(ops.cast(transforms, "float32"), [-1, 8])
    return ops.reshape(ops.concatenate([rows, ops.ones_like(rows[:, :1])], 1), [-1, 3, 3])


def _flat(transform_matrices: Any) -> Any:
    """Matrices (3, 3) as transforms."""
    rows = ops.reshape(ops.cast(transform_matrices, "float32"), [-1, 9])
    return rows[:, :8] / rows[:, 8:]


ROWS: dict[str, tuple[Callable[..., Any], str]] = {  # name → function and words
    "transform": (_transform, "images transforms interpolation output_shape"),
    "rotate": (_rotate, "images angles interpolation"),
    "translate": (_translate, "images translations interpolation"),
    "angles_to_projective_transforms": (_rotation, "angles image_height image_width"),
    "translations_to_projective_transforms": (_translation, "translations"),
    "flat_transforms_to_matrices": (_matrices, "transforms"),
    "matrices_to_flat_transforms": (_flat, "transform_matrices"),
}
for _name, (_function, _words) in ROWS.items():
    row(f"contrib.image.{_name}", _function, _words)

"""Affine, perspective and elastic transforms: each new pixel has a position in the old image."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.interop.privates import draw_seed, standardize_data_format
from dovetail.ops import random
from keras_dovetail.src.dtypes import as_tensor, promoted, result_type
from keras_dovetail.src.ops.image.filters import gaussian_blur
from keras_dovetail.src.ops.image.layout import as_batch, checked_choice, checked_rank
from keras_dovetail.src.ops.image.sample import INSIDE, ORDERS, rounded_as, sampled


def _grid(batch: Any, dtype: Any) -> tuple[Any, Any]:
    """The rows and the columns of all pixels, (rows, columns) each."""
    rows, columns = batch.shape[1:3]
    y, x = ops.meshgrid(ops.arange(rows, dtype=dtype), ops.arange(columns, dtype=dtype), indexing="ij")
    return y, x


def _seen(batch: Any, y: Any, x: Any, interpolation: str, fill_mode: str, fill_value: Any) -> Any:
    """Images (batch, rows, columns, channels), sampled at the positions y and x, (batch, rows, columns) each."""
    count, rows, columns, channels = batch.shape
    first = ops.reshape(ops.arange(count, dtype="int32") * (rows * columns), (-1, 1, 1))
    pixels = ops.reshape(as_tensor(batch, y.dtype), (-1, channels))
    values = sampled(pixels, (rows, columns), (y, x), ORDERS[interpolation], fill_mode, fill_value, first)
    return rounded_as(values, batch.dtype)


def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: Any = 0,
    data_format: Any = None,
) -> Any:
    checked_choice("interpolation", interpolation, ORDERS)
    checked_choice("fill_mode", fill_mode, INSIDE)
    batch, back = as_batch(images, data_format)
    transform = as_tensor(transform)
    if len(transform.shape) not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
            f"Received input with shape: transform.shape={tuple(transform.shape)}"
        )
    if transform.shape[-1] not in (8, None):
        raise ValueError(
            "Invalid transform shape: expected the last dimension to be 8. "
            f"Received: transform.shape={tuple(transform.shape)}"
        )
    dtype = result_type(batch, "float32")
    y, x = _grid(batch, dtype)
    # The last two numbers, for a perspective, have no effect, as on Keras' other backends.
    a0, a1, a2, b0, b1, b2 = _numbers(as_tensor(transform, dtype))[:6]
    return back(_seen(batch, b1 * y + b0 * x + b2, a1 * y + a0 * x + a2, interpolation, fill_mode, fill_value))


def _numbers(transform: Any) -> list[Any]:
    """Each number of the transforms (batch, 8), as (batch, 1, 1); one transform serves all images."""
    return [ops.reshape(number, (-1, 1, 1)) for number in ops.unstack(ops.reshape(transform, (-1, 8)), axis=1)]


def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: Any = 0,
    data_format: Any = None,
) -> Any:
    checked_choice("interpolation", interpolation, ORDERS)
    checked_rank(images)
    points = {"start_points": as_tensor(start_points), "end_points": as_tensor(end_points)}
    for name, value in points.items():
        if len(value.shape) not in (2, 3) or tuple(value.shape[-2:]) != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {tuple(value.shape)}"
            )
    start, end = points.values()
    if tuple(start.shape) != tuple(end.shape):
        raise ValueError(
            "start_points and end_points must have the same shape. Received start_points.shape="
            f"{tuple(start.shape)}, end_points.shape={tuple(end.shape)}"
        )
    batch, back = as_batch(images, data_format)
    dtype = result_type(batch, "float32")
    start, end = (ops.reshape(as_tensor(p, dtype), (-1, 4, 2)) for p in (start, end))
    y, x = _grid(batch, dtype)
    a0, a1, a2, a3, a4, a5, a6, a7 = _numbers(compute_homography_matrix(start, end))
    depth = a6 * x + a7 * y + 1
    at_y, at_x = (a3 * x + a4 * y + a5) / depth, (a0 * x + a1 * y + a2) / depth
    return back(_seen(batch, at_y, at_x, interpolation, "constant", fill_value))


def compute_homography_matrix(start_points: Any, end_points: Any) -> Any:
    start, end = promoted(start_points, end_points, with_float=True)
    dtype = start.dtype
    start, end = (as_tensor(points, result_type(dtype, "float32")) for points in (start, end))
    (to_x, to_y), (x, y) = (ops.unstack(points, axis=-1) for points in (start, end))
    one, zero = ops.ones_like(x), ops.zeros_like(x)
    rows_of_x = ops.stack([x, y, one, zero, zero, zero, -to_x * x, -to_x * y], -1)
    rows_of_y = ops.stack([zero, zero, zero, x, y, one, -to_y * x, -to_y * y], -1)
    system = ops.reshape(ops.stack([rows_of_x, rows_of_y], 2), (-1, 8, 8))
    coefficients = ops.solve(system, ops.reshape(start, (-1, 8, 1)))
    return as_tensor(ops.reshape(coefficients, (-1, 8)), dtype)


def elastic_transform(
    images: Any,
    alpha: Any = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: Any = 0.0,
    seed: Any = None,
    data_format: Any = None,
) -> Any:
    checked_choice("interpolation", interpolation, ORDERS)
    checked_choice("fill_mode", fill_mode, INSIDE)
    batch, back = as_batch(images, standardize_data_format(data_format))
    dtype = result_type(batch, "float32")
    size = int(6 * sigma) | 1
    alpha, sigma = as_tensor(alpha, dtype), as_tensor(sigma, dtype)
    key = ops.bitcast(as_tensor(draw_seed(seed), "uint32"), "int32")

    def moved(key: Any) -> Any:
        noise = random.normal(key, (*batch.shape[:3], 1), dtype=dtype) * sigma
        blurred = gaussian_blur(noise, (size, size), ops.stack([sigma, sigma]), "channels_last")
        return blurred[..., 0] * alpha

    across, down = random.split(key)
    y, x = _grid(batch, dtype)
    return back(_seen(batch, y + moved(down), x + moved(across), interpolation, fill_mode, fill_value))

"""Sample calls of the functions of `keras.src.backend.numpy.image`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.keras_dovetail.ops.calls import Call, floats, ints

RGB, MANY = floats(5, 6, 3, low=0, high=1), floats(2, 5, 6, 3, low=0, high=1)
FIRST = floats(2, 3, 5, 6, low=0, high=1)
TURNS = np.float32([[0.9, 0.2, 0.3, -0.1, 1.1, -0.4, 0, 0], [1, 0, 1.5, 0, 1, -2, 0, 0]])
CORNERS = np.float32([[[0, 0], [0, 5], [4, 0], [4, 5]]] * 2)
MOVED = CORNERS + floats(2, 4, 2, low=-0.4, high=0.4)
PLACES = floats(2, 7, low=-3, high=8)
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def call(name: str, *args: Any, same_dtype: bool = True, tolerance: float = 1e-4, **options: Any) -> Call:
    return Call("image", name, args, options, same_dtype, tolerance)


CALLS = [call(name, x) for name in ("rgb_to_grayscale", "rgb_to_hsv", "hsv_to_rgb") for x in (RGB, MANY)]
CALLS += [call(name, FIRST, data_format="channels_first") for name in ("rgb_to_grayscale", "rgb_to_hsv", "hsv_to_rgb")]
CALLS += [call("rgb_to_grayscale", RGB[..., :1]), call("rgb_to_grayscale", ints(4, 4, 3, high=200, dtype="uint8"))]
CALLS += [
    call("resize", MANY, size, interpolation=kind, antialias=antialias)
    for kind in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")
    for size in ((3, 9), (10, 4))
    for antialias in (False, True)
]
CALLS += [
    call("resize", RGB, (7, 7)),
    call("resize", FIRST, (7, 6), data_format="channels_first"),
    call("resize", ints(1, 4, 4, 1, high=200, dtype="uint8"), (7, 3)),
    call("resize", MANY, (4, 10), crop_to_aspect_ratio=True),
    call("resize", MANY, (4, 10), pad_to_aspect_ratio=True, fill_value=0.5),
    call("resize", RGB, (10, 4), pad_to_aspect_ratio=True),
]
CALLS += [
    call("scale_and_translate", RGB, (8, 4, 3), np.float32([1.5, 0.7]), np.float32([0.5, -1]), (0, 1), method)
    for method in ("linear", "cubic", "lanczos3", "lanczos5", "trilinear")
]
CALLS += [
    call("scale_and_translate", RGB, (8, 4, 3), np.float32([0.5, 0.7]), np.float32([0.5, 0]), (0, 1), "linear", False)
]
CALLS += [
    call("map_coordinates", floats(5, 6), PLACES, order, fill_mode=mode, fill_value=0.3)
    for order in (0, 1)
    for mode in MODES
]
CALLS += [
    call("map_coordinates", floats(3, 4, 5), floats(3, 2, 2, low=-1, high=5), 1),
    call("map_coordinates", ints(5, 6, high=100), PLACES, 1, fill_mode="nearest"),
]
CALLS += [
    call("affine_transform", MANY, TURNS, interpolation=kind, fill_mode=mode, fill_value=0.2)
    for kind in ("nearest", "bilinear")
    for mode in MODES
]
CALLS += [
    call("affine_transform", RGB, TURNS[0]),
    call("affine_transform", FIRST, TURNS, data_format="channels_first"),
    call("compute_homography_matrix", CORNERS, MOVED, tolerance=1e-3),
    call("perspective_transform", MANY, CORNERS, MOVED, fill_value=0.1, tolerance=1e-3),
    call("perspective_transform", RGB, CORNERS[0], MOVED[0], tolerance=1e-3),
    call("gaussian_blur", MANY, data_format="channels_last"),
    call("gaussian_blur", RGB, (3, 5), (0.5, 2.0), data_format="channels_last"),
    call("gaussian_blur", FIRST, data_format="channels_first"),
]

"""Kernels of resized images: the weight of a pixel by its distance.

Each is a function (NumPy or ops by its names, distance) → weight, for distances of 0 and more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Kernel = Callable[[Any, Any], Any]


def triangle(xp: Any, x: Any) -> Any:
    """Linear interpolation."""
    return xp.maximum(1 - x, 0)


def gaussian(xp: Any, x: Any) -> Any:
    """A normal density with the deviation 1/2, up to a distance of 1.5, and up to a factor."""
    return xp.where(x < 1.5, xp.exp(-2 * x**2), 0)


def cubic(c: float, b: float = 0.0) -> Kernel:
    """Make a cubic kernel: with `b` = 0 the one of Keys, who calls -`c` a.

    Source: Keys, "Cubic convolution interpolation for digital image processing", 1981; Mitchell and Netravali,
        "Reconstruction filters in computer graphics", 1988.
    """

    def kernel(xp: Any, x: Any) -> Any:
        near = ((2 - 1.5 * b - c) * x - (3 - 2 * b - c)) * x * x + (1 - b / 3)
        far = ((-(b / 6 + c) * x + (b + 5 * c)) * x - (2 * b + 8 * c)) * x + (4 / 3 * b + 4 * c)
        return xp.where(x < 1, near, xp.where(x < 2, far, 0))

    return kernel


def lanczos(radius: int) -> Kernel:
    """Make the kernel of Lanczos with a radius."""

    def kernel(xp: Any, x: Any) -> Any:
        angle = math.pi * xp.maximum(x, 1e-3)  # nearer than that, the weight is 1 in float32
        weight = radius * xp.sin(angle) * xp.sin(angle / radius) / angle**2
        return xp.where(x < 1e-3, 1, xp.where(x < radius, weight, 0))

    return kernel

"""TensorFlow's names for the colours of images: other spaces, brightness, contrast, and changes by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.random.draws import uniform
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of
from dovetail.ops.shapes.shape import shaped

GREY = [[0.2989], [0.5870], [0.1140]]
SPACES = {  # the matrix of each change of colours
    "rgb_to_yiq": [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "yiq_to_rgb": [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.62082476, -0.64720424, 1.70423049]],
    "rgb_to_yuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "yuv_to_rgb": [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]],
}


@function("image.convert_image_dtype", scope=True)
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Any:
    """Images in another dtype: floats from 0 to 1, integers from 0 to their largest number.

    Args:
        saturate: whether numbers that the dtype lacks become the nearest that it has.

    Source: `tf.image.convert_image_dtype`.
    """
    image, dtype = shaped(image), as_dtype(dtype)
    old = as_dtype(image.dtype)
    if old == dtype or (old.is_floating and dtype.is_floating):
        return ops.cast(image, dtype)
    cast = saturated if saturate else ops.cast
    if dtype.is_floating:
        return ops.divide(ops.cast(image, dtype), float(old.max))
    if old.is_floating:
        return cast(ops.multiply(image, dtype.max + 0.5), dtype)
    if dtype.max < old.max:
        return cast(ops.floor_divide(image, (old.max + 1) // (dtype.max + 1)), dtype)
    return ops.multiply(cast(image, dtype), (dtype.max + 1) // (old.max + 1))


def saturated(x: Any, dtype: Any) -> Any:
    """A tensor in another dtype; numbers that it lacks become the nearest that it has."""
    x, wanted = shaped(x), as_dtype(dtype)
    own = as_dtype(x.dtype)
    limits = [max(own.min, wanted.min), min(own.max, wanted.max)]
    return ops.cast(ops.clip(x, *(ops.cast(limit, own) for limit in limits)), wanted)


row("saturate_cast dtypes.saturate_cast", saturated, "value:x dtype")


def _by_float(change: Callable[..., Any], image: Any, *numbers: Any) -> Any:
    """Images that a function of floats changes, in their own dtype."""
    image = shaped(image)
    dtype = as_dtype(image.dtype)
    floats = convert_image_dtype(image, dtype if dtype.is_floating else "float32")
    return convert_image_dtype(change(floats, *numbers), dtype, saturate=True)


def _brighter(x: Any, delta: Any) -> Any:
    return ops.add(x, ops.cast(delta, x.dtype))


def _gamma(x: Any, gamma: Any, gain: Any) -> Any:
    return ops.multiply(ops.power(x, gamma), gain)


_contrast, _hue, _saturation = map(of_type, ("AdjustContrastv2", "AdjustHue", "AdjustSaturation"))
CHANGES: dict[str, tuple[str, Callable[..., Any]]] = {  # the name → the words of its parameters, and the function
    "brightness": ("image delta", lambda image, delta: _by_float(_brighter, image, delta)),
    "contrast": (
        "images contrast_factor",
        lambda images, contrast_factor: _by_float(_contrast, images, contrast_factor),
    ),
    "hue": ("image delta", lambda image, delta: _by_float(_hue, image, delta)),
    "saturation": (
        "image saturation_factor",
        lambda image, saturation_factor: _by_float(_saturation, image, saturation_factor),
    ),
}
for _name, (_words, _change) in CHANGES.items():
    row(f"image.adjust_{_name}", _change, _words)


def _adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    return _by_float(_gamma, image, gamma, gain)


row("image.adjust_gamma", _adjust_gamma, "image gamma gain")


def _within(name: str) -> Callable[..., Any]:
    def changed(image: Any, max_delta: Any, seed: Any = None) -> Any:
        if not max_delta >= 0:
            raise op_error(ValueError, f"tf.image.random_{name}", f"max_delta must be 0 or more, not {max_delta}.")
        return CHANGES[name][1](image, uniform([], -max_delta, max_delta, seed=seed))

    return changed


def _between(name: str) -> Callable[..., Any]:
    def changed(image: Any, lower: Any, upper: Any, seed: Any = None) -> Any:
        if not 0 <= lower < upper:
            problem = f"0 <= lower < upper must hold, but they are {lower} and {upper}."
            raise op_error(ValueError, f"tf.image.random_{name}", problem)
        return CHANGES[name][1](image, uniform([], lower, upper, seed=seed))

    return changed


for _name, _drawn in {"brightness": _within, "hue": _within, "contrast": _between, "saturation": _between}.items():
    _function = _drawn(_name)
    _function.__doc__ = f"`tf.image.adjust_{_name}` by a number that is drawn."
    function(f"image.random_{_name}")(_function)


# -- other spaces -----------------------------------------------------------------------------------------------------


@function("image.rgb_to_grayscale", scope=True)
def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """Images of three colours in grey, with one channel.

    Source: `tf.image.rgb_to_grayscale`.
    """
    return _by_float(lambda x: ops.matmul(x, ops.cast(GREY, x.dtype)), images)


@function("image.grayscale_to_rgb", scope=True)
def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """Grey images with three equal channels.

    Source: `tf.image.grayscale_to_rgb`.
    """
    return ops.concatenate([images] * 3, -1)


def _into(matrix: list[list[float]]) -> Callable[..., Any]:
    return lambda images: ops.matmul(images, ops.cast(matrix, dtype_of(images)))


for _name, _matrix in SPACES.items():
    row(f"image.{_name}", _into(_matrix), "images")

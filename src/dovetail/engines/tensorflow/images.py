"""Rules of resized images, and of their gradients: TensorFlow's kernels, where they are quicker than the bodies."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dovetail.core.rules import EAGER, PROGRAM, Rule
from dovetail.engines.body_rules import body_rule
from dovetail.engines.tensorflow.executable import as_program
from dovetail.engines.tensorflow.tables import cast, dims, ints, kernel, rules

_CENTERS: dict[str, Any] = {"align_corners": False, "half_pixel_centers": True}
_HALVES_AND_SINGLES = (tf.float32, tf.float16, tf.bfloat16)
_FLOATS = (*_HALVES_AND_SINGLES, tf.float64)
_INTEGERS = (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.int64)


def _resized(name: str, images: str = "images") -> Rule:
    resize = kernel(name, images, "size")
    return lambda x, size: resize(x, ints(size), **_CENTERS)


def _bilinear_gradient(g: Any, size: Any) -> Any:
    batch, _, _, channels = dims(g)
    image = tf.raw_ops.Empty(shape=ints((batch, *size, channels)), dtype=tf.float32)  # the kernel reads only its shape
    return tf.raw_ops.ResizeBilinearGrad(grads=cast(g, tf.float32), original_image=image, **_CENTERS)


_BOTH = ("channels_last", "channels_first")
_KERNELS: dict[str, tuple[Rule, tuple[Any, ...], tuple[str, ...]]] = {  # the dtypes and layouts that they are good for
    "ResizeNearestNeighbor": (_resized("ResizeNearestNeighbor"), (*_INTEGERS, *_FLOATS), ("channels_last",)),
    "ResizeNearestNeighborGrad": (_resized("ResizeNearestNeighborGrad", "grads"), _FLOATS, _BOTH),
    "ResizeBilinear": (
        _resized("ResizeBilinear"),
        _HALVES_AND_SINGLES,
        _BOTH,
    ),  # this and the kernels below compute in float32
    "ResizeBilinearGrad": (_bilinear_gradient, _HALVES_AND_SINGLES, _BOTH),
    "ResizeBicubic": (_resized("ResizeBicubic"), _HALVES_AND_SINGLES, ("channels_last",)),
}


def _or_body(resize: Rule, dtypes: tuple[Any, ...], layouts: tuple[str, ...], body: Rule) -> Rule:
    def rule(x: Any, size: Any, data_format: str) -> Any:
        if x.dtype not in dtypes or data_format not in layouts or 0 in x.shape.as_list():
            return body(x, size, data_format)
        if data_format == "channels_last":
            return cast(resize(x, size), x.dtype)
        y = resize(tf.raw_ops.Transpose(x=x, perm=[0, 2, 3, 1]), size)
        return tf.raw_ops.Transpose(x=cast(y, x.dtype), perm=[0, 3, 1, 2])

    return rule


# Not for native values: TensorFlow has no gradient of the gradient of these kernels.
for _name, _fit in _KERNELS.items():
    rules(_name, layers=(EAGER, PROGRAM))(_or_body(*_fit, as_program(body_rule(_name, "tensorflow"))))

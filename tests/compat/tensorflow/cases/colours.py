"""Cases of the colours and parts of images."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import FIXED, call, program

IMAGES = array(2, 5, 6, 3, low=0, high=1)
BYTES = ints(2, 4, 4, 3, high=255, dtype="uint8")


def cases():
    for name in ("brightness", "hue"):
        yield call(f"image.adjust_{name}", IMAGES, 0.2)
        yield call(f"image.adjust_{name}", BYTES, 0.1)
    for name in ("contrast", "saturation"):
        yield call(f"image.adjust_{name}", IMAGES, 1.5)
        yield call(f"image.adjust_{name}", BYTES, 0.5)
    yield call("image.adjust_gamma", IMAGES, 2.0, 0.5)
    for name in (
        "rgb_to_grayscale",
        "rgb_to_yiq",
        "yiq_to_rgb",
        "rgb_to_yuv",
        "yuv_to_rgb",
        "rgb_to_hsv",
        "hsv_to_rgb",
    ):
        yield call(f"image.{name}", IMAGES)
    yield call("image.rgb_to_grayscale", BYTES)
    yield call("image.grayscale_to_rgb", array(2, 3, 1))
    for dtype in ("uint8", "float16", "int16"):
        yield call("image.convert_image_dtype", IMAGES, dtype)
        yield call("image.convert_image_dtype", BYTES, dtype)
    yield call("image.convert_image_dtype", array(3, low=-3, high=3), "uint8", saturate=True)
    yield call("saturate_cast", array(4, low=-300, high=300), "uint8")
    yield call("image.crop_to_bounding_box", IMAGES, 1, 2, 3, 4)
    yield call("image.pad_to_bounding_box", IMAGES, 1, 2, 9, 8, ways=FIXED)
    for part in (0.5, 0.7, 1.0):
        yield call("image.central_crop", IMAGES, part)
    yield call("image.central_crop", IMAGES, 1.2, raises=True)
    for k in (0, 1, 2, 3, 5, -1):
        yield call("image.rot90", IMAGES, k)
    yield call("image.rot90", array(3, 4, 1))
    yield call("image.transpose", IMAGES)
    yield call("image.image_gradients", IMAGES)
    yield call("image.sobel_edges", IMAGES, ways=FIXED)
    yield call("image.psnr", IMAGES, array(2, 5, 6, 3, low=0, high=1), 1.0)
    yield call("image.ssim", IMAGES, array(2, 5, 6, 3, low=0, high=1), 1.0, filter_size=3, ways=FIXED)
    wide, other = array(2, 13, 14, 3, low=0, high=1), array(2, 13, 14, 3, low=0.1, high=0.9)
    powers = {"power_factors": (0.3, 0.5, 0.2), "filter_size": 3}
    yield call("image.ssim_multiscale", wide, other, 1.0, **powers, ways=FIXED)
    for change in ("brightness", "hue"):
        yield program(
            f"image.random_{change} (shape)",
            lambda tf, x, change=change: tf.shape(getattr(tf.image, f"random_{change}")(x, 0.1)),
            IMAGES,
        )
        yield call(f"image.random_{change}", IMAGES, -1.0, raises=True)
    for change in ("contrast", "saturation"):
        yield program(
            f"image.random_{change} (shape)",
            lambda tf, x, change=change: tf.shape(getattr(tf.image, f"random_{change}")(x, 0.5, 1.5)),
            IMAGES,
        )
        yield call(f"image.random_{change}", IMAGES, 2.0, 1.0, raises=True)
    for flip in ("left_right", "up_down"):  # one of two results
        yield program(
            f"image.random_flip_{flip}",
            lambda tf, x, flip=flip: _is_one_of(
                tf, getattr(tf.image, f"random_flip_{flip}")(x), x, getattr(tf.image, f"flip_{flip}")(x)
            ),
            array(3, 4, 2),
        )
    yield program(
        "compat.v1.random_crop",
        lambda tf, x: tf.reduce_mean(tf.compat.v1.random_crop(x, [2, 3])),
        np.ones((4, 5), "float32"),
    )


def _is_one_of(tf, found, *known):
    return tf.reduce_any(tf.stack([tf.reduce_all(tf.equal(found, one)) for one in known]))


CASES = list(cases())

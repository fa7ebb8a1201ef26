"""Images that are resized from the corners of pixels, turned and moved; bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

IMAGES = array(2, 5, 6, 3)


def _resized(name: str, size: tuple[int, int], **options: Any) -> Callable[[Any, Any], Any]:
    """A case: images of a size that is known, then of one that is not."""

    def case(tf: Any, fed: Any) -> Any:
        resize = getattr(tf.image, name)
        rows = fed(np.int32(size[0]), [])
        return [
            resize(fed(IMAGES, [None, 5, 6, 3]), size, **options),
            tf.gradients(tf.square(resize(image := fed(IMAGES, [2, 5, 6, 3]), size, **options)), image),
            resize(fed(IMAGES, [None, None, None, 3]), tf.stack([rows, size[1]]), **options),
        ]

    return case


def turned(tf: Any, fed: Any) -> Any:
    x, angles, moves = fed(IMAGES, [2, 5, 6, 3]), tf.constant([0.3, -1.2]), tf.constant([[1.0, 2.0], [-0.6, 0.2]])
    transforms = tf.constant([[1.1, 0.2, -0.3, 0.1, 0.9, 0.4, 0.01, -0.02]])
    image, found = tf.contrib.image, []
    for how in ("NEAREST", "BILINEAR"):
        found += [image.rotate(x, angles, how), image.translate(x, moves, how), image.transform(x, transforms, how)]
    whole = image.transform(x, image.angles_to_projective_transforms(angles, 5.0, 6.0), "BILINEAR", [4, 3])
    return [*found, whole]


def bits(tf: Any, fed: Any) -> Any:
    x, y = fed(np.int32([5, -3, 12])), fed(np.int32([3, 6, 1]))
    two = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
    return [tf.bitwise.invert(x)] + [getattr(tf.bitwise, name)(x, y) for name in two]


def of_methods(tf: Any, fed: Any) -> Any:
    x = fed(IMAGES, [2, 5, 6, 3])
    return [tf.image.resize_images(x, [7, 4], method) for method in range(4)] + [tf.image.resize_area(x, [3, 8])]


def of_boxes(tf: Any, fed: Any) -> Any:
    """Parts of images and images with zeros, at places that are fed; with the dimensions that are known."""
    one, two = fed(np.int32(1), []), fed(np.int32(2), [])
    parts = []
    for x in (fed(IMAGES, [2, 5, 6, 3]), fed(IMAGES, [None, None, None, 3]), fed(IMAGES[0], [None, None, 3])):
        parts += [
            tf.image.crop_to_bounding_box(x, one, two, 3, tf.constant(4)),
            tf.image.crop_to_bounding_box(x, 1, 0, two, 4),
            tf.image.pad_to_bounding_box(x, one, two, 9, 11),
            tf.image.pad_to_bounding_box(x, 1, 2, two * 4, 9),
            tf.image.resize_image_with_crop_or_pad(x, two * 2, 8),
        ]
    return [*parts, [tf.constant([-1 if n is None else n for n in x.shape.as_list()]) for x in parts]]


def outside(tf: Any, fed: Any) -> Any:
    """Whether each call refuses a box that is not inside."""
    x, large = fed(IMAGES, [2, 5, 6, 3]), fed(np.int32(4), [])
    calls = [
        lambda n: tf.image.crop_to_bounding_box(x, n, 0, 2, 2),
        lambda n: tf.image.crop_to_bounding_box(x, 0, n, 2, 3),
        lambda n: tf.image.pad_to_bounding_box(x, 0, n, 5, 9),
        lambda n: tf.image.pad_to_bounding_box(x, 0, 0, n, 9),
        lambda n: tf.image.crop_to_bounding_box(x, -n, 0, 2, 2),
    ]

    def refuses(call: Callable[[Any], Any], number: Any) -> bool:
        try:
            made = call(number)
            with tf.Session() as session:
                session.run(made, {x: IMAGES, large: 4})
        except (ValueError, tf.errors.InvalidArgumentError):
            return True
        return False

    return tf.constant([refuses(call, number) for call in calls for number in (4, large)])


CASES = {
    **{
        f"{name}_{way}": _resized(f"resize_{name}", size, **options)
        for name in ("bilinear", "nearest_neighbor", "bicubic")
        for way, size, options in (
            ("corners", (7, 9), {}),
            ("aligned", (8, 4), {"align_corners": True}),
            ("one", (1, 3), {"align_corners": True}),
        )
    },
    "of_methods": of_methods,
    "turned": turned,
    "bits": bits,
    "boxes": of_boxes,
    "outside": outside,
}

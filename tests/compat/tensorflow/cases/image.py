"""Cases of images."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import EAGER, FIXED, call

IMAGES = array(2, 4, 5, 3)
BOXES = np.float32([[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 2, 1, 3], [0.1, 0, 1, 1], [3, 3, 2, 2]])


def cases():
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3"):
        yield call("image.resize", IMAGES, [8, 7], method, ways=FIXED)
        yield call("image.resize", IMAGES, [2, 3], method, ways=EAGER)
    yield call("image.resize", ints(2, 4, 4, 1, high=255), [2, 2])
    yield call("image.resize", IMAGES, [3, 3], antialias=True, ways=FIXED)
    yield call("image.resize", array(4, 5, 3), [8, 8], preserve_aspect_ratio=True, ways=FIXED)
    yield call("image.resize", IMAGES, [2, 2], "straight", raises=True)
    for name in ("resize_bilinear", "resize_nearest_neighbor"):
        for given in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            yield call(f"compat.v1.image.{name}", IMAGES, [7, 9], **given)
            yield call(f"compat.v1.image.{name}", IMAGES, [2, 3], **given)
    yield call("compat.v1.image.resize_images", IMAGES, [7, 9])
    yield call("compat.v1.image.resize_images", array(4, 5, 3), [2, 9], 1)
    yield call("compat.v1.image.resize", IMAGES, [8, 10], 3, ways=FIXED)
    yield call("image.extract_patches", IMAGES, [1, 2, 3, 1], [1, 1, 2, 1], [1, 1, 1, 1], "VALID")
    yield call("image.extract_patches", IMAGES, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    yield call("compat.v1.extract_image_patches", IMAGES, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "VALID")
    yield call("image.per_image_standardization", IMAGES)
    yield call("image.per_image_standardization", np.ones((2, 2, 3), "float32"))
    yield call("image.total_variation", IMAGES)
    yield call("image.total_variation", array(4, 5, 3))
    yield call("image.flip_left_right", IMAGES)
    yield call("image.flip_up_down", array(4, 5, 3))
    yield call("image.resize_with_crop_or_pad", IMAGES, 3, 8)
    yield call("image.resize_with_crop_or_pad", array(5, 4, 1), 2, 2)
    yield call("image.resize_with_crop_or_pad", array(5, 4, 1), 8, 3)
    boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], [-0.5, 0.5, 1.5, 0.2]])
    yield call("image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 0]), [3, 4])
    yield call("image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 1]), [1, 2], "nearest", 7.0)
    yield call("compat.v1.image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 0]), [2, 2])
    yield call("image.non_max_suppression", BOXES, np.float32([0.9, 0.8, 0.7, 0.95, 0.1]), 3)
    yield call("image.non_max_suppression", BOXES, np.float32([0.9, 0.8, 0.7, 0.7, 0.1]), 5, 0.9, 0.5)


CASES = list(cases())

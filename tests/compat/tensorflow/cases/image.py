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
    for target in ([3, 8], [9, 4], [8, 10], [4, 5], [2, 2]):
        yield call("image.resize_with_pad", IMAGES, *target)
        yield call("compat.v1.image.resize_image_with_pad", IMAGES, *target)
    for number, method in enumerate(("bilinear", "nearest", "bicubic", "area")):
        yield call("image.resize_with_pad", array(5, 4, 1), 3, 7, method, ways=FIXED)
        yield call("compat.v1.image.resize_image_with_pad", array(5, 4, 1), 7, 3, number, ways=FIXED)
    yield call("image.resize_with_pad", IMAGES, 2, 9, "bilinear", True, ways=FIXED)
    yield call("compat.v1.image.resize_image_with_pad", IMAGES, 7, 9, align_corners=True)
    yield call("image.resize_with_pad", ints(2, 4, 5, 1, high=255), 6, 6)
    yield call("image.resize_with_pad", IMAGES, 0, 4, raises=True)
    pixels, shares = np.float32([[0.0, 1.4], [-2.0, 3.0]]), np.float32([[0.1, -0.2], [-1.5, 0.9]])
    for centered in (True, False):
        yield call("image.extract_glimpse", IMAGES, [3, 2], shares, centered, True, "zero")
        yield call("image.extract_glimpse", IMAGES, [2, 4], pixels, centered, False, "zero")
        yield call("image.extract_glimpse", IMAGES, [7, 7], shares, centered, noise="zero")
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 2], np.float32([[0.1, -0.2], [0.3, 0.2]]))
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 3], np.float32([[0.4, 0.5], [0.3, 0.4]]), False)
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 2], np.float32([[1, 2], [2, 3]]), False, False, False)
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 2], np.float32([[1, -1], [0, 1]]), True, False)
    yield call("image.extract_glimpse", IMAGES, [2, 2], shares, noise="loud", raises=True)
    boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], [-0.5, 0.5, 1.5, 0.2]])
    yield call("image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 0]), [3, 4])
    yield call("image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 1]), [1, 2], "nearest", 7.0)
    yield call("compat.v1.image.crop_and_resize", IMAGES, boxes, np.int32([0, 1, 0]), [2, 2])
    yield call("image.non_max_suppression", BOXES, np.float32([0.9, 0.8, 0.7, 0.95, 0.1]), 3)
    yield call("image.non_max_suppression", BOXES, np.float32([0.9, 0.8, 0.7, 0.7, 0.1]), 5, 0.9, 0.5)


CASES = list(cases())

"""Cases of boxes in images: the best ones, drawn ones, and windows."""

import numpy as np

from dovetail.ops.samples import array
from tests.compat.tensorflow.parity import EAGER, FIXED, call

IMAGES = array(2, 6, 7, 3)
BOXES = np.float32([[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 2, 1, 3], [0.1, 0, 1, 1], [3, 3, 2, 2]])
SCORES = np.float32([0.9, 0.8, 0.7, 0.95, 0.1])
DRAWN = np.float32(
    [[[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.9], [-0.4, 0.5, 0.6, 1.4]], [[0.5, 0.5, 0.4, 1], [2, 2, 3, 3], [0] * 4]]
)


def cases():
    yield call("compat.v1.image.non_max_suppression_padded", BOXES, SCORES, 4)
    yield call("compat.v1.image.non_max_suppression_padded", BOXES, SCORES, 4, 0.3, 0.2, True)
    yield call("image.non_max_suppression_with_scores", BOXES, SCORES, 4)
    yield call("image.non_max_suppression_with_scores", BOXES, SCORES, 4, 0.9, 0.05, 0.5)
    overlaps = np.maximum(np.random.RandomState(1).rand(5, 5), np.eye(5)).astype("float32")
    yield call("image.non_max_suppression_overlaps", overlaps, SCORES, 4, 0.4)
    boxes = np.stack([BOXES, BOXES[::-1]])[:, :, None]
    scores = np.stack([np.stack([SCORES, SCORES[::-1]], 1), np.stack([SCORES * 0.9, SCORES], 1)])
    yield call("image.combined_non_max_suppression", boxes, scores, 3, 4, clip_boxes=False, ways=FIXED)
    yield call("image.combined_non_max_suppression", boxes, scores, 3, 4, 0.4, 0.3, True, ways=FIXED)
    yield call("image.draw_bounding_boxes", IMAGES, DRAWN, np.float32([[1, 0, 0.5], [0, 1, 0]]))
    yield call("compat.v1.image.draw_bounding_boxes", IMAGES, DRAWN)
    yield call("compat.v1.image.draw_bounding_boxes", array(2, 6, 7, 1), DRAWN)
    places = np.float32([[0.1, -0.3], [0.9, 0.2]])
    for given in ({}, {"centered": False}):
        yield call("image.extract_glimpse", IMAGES, [3, 4], places, noise="zero", **given)
    yield call("image.extract_glimpse", IMAGES, [3, 4], places * 5, True, False, "zero", ways=EAGER)
    yield call("image.extract_glimpse", IMAGES, [2, 2], places + 2, False, False, "zero", ways=EAGER)
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 3], places * np.float32([[1, 1], [0, 0]]))
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 3], places * 3, True, False, ways=EAGER)
    yield call("compat.v1.image.extract_glimpse", IMAGES, [2, 3], np.float32([[0.5, 0.4]] * 2), False, ways=EAGER)
    for size in ((12, 9), (3, 9), (5, 2)):
        yield call("image.resize_with_pad", IMAGES, *size, ways=FIXED)
        yield call("compat.v1.image.resize_image_with_pad", IMAGES, *size)
    yield call("compat.v1.image.resize_image_with_pad", array(6, 7, 3), 4, 4, 1)


CASES = list(cases())

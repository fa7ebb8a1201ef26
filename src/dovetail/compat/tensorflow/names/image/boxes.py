"""TensorFlow's names for boxes in images: drawn, chosen, sampled, and windows that look at parts of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.random.draws import seed_of_draw
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.table import function, of_rank
from dovetail.core.base.errors import op_error
from dovetail.ops.shapes.shape import shaped

# -- the best boxes ---------------------------------------------------------------------------------------------------

_padded, _scored, _overlapping, _combined = map(
    of_type,
    ("NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps", "CombinedNonMaxSuppression"),
)
LEAST = float("-inf")


@function("image.non_max_suppression_padded", "v1", scope=True)
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = LEAST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any:
    """The boxes with the best scores, with zeros up to `max_output_size` if it is said so; and how many they are.

    Source: `tf.compat.v1.image.non_max_suppression_padded`.
    """
    found = _padded(
        of_rank(boxes, 2), of_rank(scores, 1), max_output_size, iou_threshold, score_threshold, pad_to_max_output_size
    )
    return tuple(found)


@function("image.non_max_suppression_with_scores", scope=True)
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = LEAST,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> Any:
    """The boxes with the best scores, and their scores, which boxes that overlap make smaller.

    Source: `tf.image.non_max_suppression_with_scores`.
    """
    given = (
        of_rank(boxes, 2),
        of_rank(scores, 1),
        max_output_size,
        iou_threshold,
        score_threshold,
        soft_nms_sigma,
        False,
    )
    indices, values, _ = _scored(*given)
    return indices, values


@function("image.non_max_suppression_overlaps", scope=True)
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = LEAST,
    name: str | None = None,
) -> Any:
    """The boxes with the best scores, except boxes that overlap with a better one as a matrix says.

    Source: `tf.image.non_max_suppression_overlaps`.
    """
    return _overlapping(overlaps, of_rank(scores, 1), max_output_size, overlap_threshold, score_threshold)


class Combined(NamedTuple):
    """The best boxes of all classes.

    Source: `tf.image.combined_non_max_suppression`.
    """

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


@function("image.combined_non_max_suppression", scope=True)
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = LEAST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Combined:
    """The boxes with the best scores of each image and class, and of these the best ones of all classes.

    Source: `tf.image.combined_non_max_suppression`.
    """
    sizes = max_output_size_per_class, max_total_size
    return Combined(*_combined(boxes, scores, *sizes, iou_threshold, score_threshold, pad_per_class, clip_boxes))


# -- drawn boxes ------------------------------------------------------------------------------------------------------

COLOURS = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ],
    "float32",
)


@function("image.draw_bounding_boxes", v1="images boxes name colors")
def draw_bounding_boxes(images: Any, boxes: Any, colors: Any = None, name: str | None = None) -> Any:
    """Images with the edges of boxes drawn into them.

    Args:
        images: floats of the shape (batch, height, width, 1, 3 or 4).
        boxes: (batch, boxes, 4), the rows and columns of two corners, as shares of the height and the width.
        colors: (colours, channels), which boxes take in turn.

    Source: `tf.image.draw_bounding_boxes`.
    """
    images = shaped(images)

    def draw(pictures: np.ndarray, boxes: np.ndarray, *table: np.ndarray) -> np.ndarray:
        drawn, depth = pictures.copy(), pictures.shape[-1]
        colours: Any = table[0] if table and len(table[0]) else np.ones((10, 1)) if depth == 1 else COLOURS
        for picture, its in zip(drawn, boxes, strict=True):
            for number, box in enumerate(its):
                _draw(picture, box, colours[number % len(colours)][:depth])
        return drawn

    inputs = [images, boxes, *([] if colors is None else [colors])]
    return computed(draw, inputs, [images.dtype], [images.shape], name)[0]


def _draw(picture: np.ndarray, box: np.ndarray, colour: np.ndarray) -> None:
    """Draw the edges of a box that are inside of a picture."""
    sizes = np.array(picture.shape[:2])
    (top, left), (bottom, right) = first, last = (np.float32(box.reshape(2, 2)) * (sizes - 1)).astype("int64")
    if (first > last).any() or (first >= sizes).any() or (last < 0).any():
        return
    rows, columns = (slice(max(a, 0), b + 1) for a, b in ((top, bottom), (left, right)))
    for row in (top, bottom):
        if 0 <= row < sizes[0]:
            picture[row, columns] = colour
    for column in (left, right):
        if 0 <= column < sizes[1]:
            picture[rows, column] = colour


# -- boxes by chance --------------------------------------------------------------------------------------------------


class Sampled(NamedTuple):
    """A box for `tf.slice`, and the same box as shares of the height and the width.

    Source: `tf.image.sample_distorted_bounding_box`.
    """

    begin: Any
    size: Any
    bboxes: Any


_SAMPLING = "min_object_covered aspect_ratio_range area_range max_attempts use_image_if_no_bounding_boxes name"


@function("image.sample_distorted_bounding_box", v1=f"image_size bounding_boxes seed seed2 {_SAMPLING}")
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
    seed2: Any = None,
) -> Sampled:
    """A part of an image by chance, which has a share of one of its boxes.

    Args:
        image_size: height, width and channels.
        bounding_boxes: (batch, boxes, 4), as in `tf.image.draw_bounding_boxes`.
        min_object_covered: the least share of a box that is inside of the part.
        aspect_ratio_range, area_range: the limits of width / height, and of the share of the image.
        max_attempts: after how many tries the whole image is taken.
        use_image_if_no_bounding_boxes: whether an image without boxes is a box itself.

    Raises:
        ValueError: there is no box; when it is computed.

    Source: `tf.image.sample_distorted_bounding_box`.
    """
    ratios, shares = aspect_ratio_range or (0.75, 1.33), area_range or (0.05, 1.0)
    number = seed_of_draw((seed or None) if not seed2 else 1_000_003 * (seed or 0) + seed2)
    draws = np.random.RandomState(None if number is None else number % 2**32)
    takes_whole = bool(use_image_if_no_bounding_boxes)

    def sample(sizes: np.ndarray, boxes: np.ndarray, least: np.ndarray) -> list[np.ndarray]:
        boxes = boxes.reshape(-1, 4).astype("float64")
        if not len(boxes) and not takes_whole:
            problem = "there is no box: give one, or use_image_if_no_bounding_boxes=True."
            raise op_error(ValueError, "tf.image.sample_distorted_bounding_box", problem)
        boxes = boxes if len(boxes) else np.array([[0.0, 0.0, 1.0, 1.0]])
        whole = sizes[:2].astype("int64")
        tries = (_tried(draws, whole, ratios, shares) for _ in range(max_attempts or 100))
        fits = (part for part in tries if part is not None and _covered(part / np.tile(whole, 2), boxes) >= least)
        part = next(fits, np.array([0, 0, *whole]))
        begin, size = [*part[:2], 0], [*(part[2:] - part[:2]), -1]
        share = np.float32(part / np.tile(whole, 2)).reshape(1, 1, 4)
        return [np.array(begin, sizes.dtype), np.array(size, sizes.dtype), share]

    sizes = shaped(image_size)
    given = [sizes, bounding_boxes, min_object_covered]
    found = py_func(sample, given, [sizes.dtype, sizes.dtype, "float32"], name=name)
    for one, shape in zip(found, ([3], [3], [1, 1, 4]), strict=True):
        if hasattr(one, "set_shape"):
            one.set_shape(shape)
    return Sampled(*found)


def _tried(draws: Any, whole: np.ndarray, ratios: Sequence[float], shares: Sequence[float]) -> np.ndarray | None:
    """A part of a random area and proportion: its first and last rows and columns; None if it is larger."""
    ratio, area = draws.uniform(*ratios), draws.uniform(*shares) * whole.prod()
    height = round(np.sqrt(area / ratio))
    size = np.array([height, round(height * ratio)])
    if (size < 1).any() or (size > whole).any():
        return None
    first = np.array([draws.randint(room + 1) for room in whole - size])
    return np.concatenate([first, first + size])


def _covered(part: np.ndarray, boxes: np.ndarray) -> float:
    """The largest share of a box that is inside of a part."""
    sides = np.minimum(part[2:], boxes[:, 2:]) - np.maximum(part[:2], boxes[:, :2])
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return float(np.max(np.prod(np.maximum(sides, 0), axis=1) / np.maximum(areas, 1e-12)))

"""Boxes by chance, and pictures in JPEG."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf

v1 = tf.compat.v1
BOXES = np.float32([[[0.2, 0.3, 0.6, 0.8], [0.0, 0.0, 0.1, 0.1]]])


@pytest.mark.parametrize("least", [0.1, 1.0])
def test_sampled_boxes(least):
    with v1.Graph().as_default(), v1.Session() as session:
        size = v1.constant([50, 80, 3])
        found = v1.image.sample_distorted_bounding_box(
            size, BOXES, seed=3, min_object_covered=least, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.9]
        )
        assert (found.begin.shape, found.size.dtype, found.bboxes.shape) == ((3,), v1.int32, (1, 1, 4))
        parts = [session.run(found) for _ in range(20)]
    assert len({tuple(part.begin) for part in parts}) > 3
    for begin, extent, share in parts:
        assert begin[2] == 0 and extent[2] == -1 and (begin[:2] + extent[:2] <= [50, 80]).all()
        np.testing.assert_allclose(share[0, 0], [*begin[:2] / [50, 80], *(begin + extent)[:2] / [50, 80]], rtol=1e-5)
        assert 0.09 <= np.prod(extent[:2]) / 4000 <= 0.91 and 0.45 <= extent[1] / extent[0] <= 2.2
        sides = np.minimum(share[0, 0, 2:], BOXES[0, :, 2:]) - np.maximum(share[0, 0, :2], BOXES[0, :, :2])
        areas = np.prod(BOXES[0, :, 2:] - BOXES[0, :, :2], axis=1)
        assert (np.prod(np.maximum(sides, 0), axis=1) / areas).max() >= least - 1e-5


def test_boxes_of_images_without_any():
    empty = np.zeros((1, 0, 4), "float32")
    with pytest.raises(ValueError, match="there is no box"):
        tf.image.sample_distorted_bounding_box([10, 10, 3], empty)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        [10, 10, 3], empty, min_object_covered=1.0, area_range=[1, 1], use_image_if_no_bounding_boxes=True
    )
    assert begin.numpy().tolist() == [0, 0, 0] and size.numpy().tolist() == [10, 10, -1]


def test_pictures_in_jpeg():
    pytest.importorskip("PIL")
    rows = np.arange(24)[:, None, None] * 8 + np.arange(32)[None, :, None] * np.array([1, 2, 3])
    picture = rows.clip(0, 255).astype("uint8")
    data = tf.io.encode_jpeg(picture, quality=95)
    whole = tf.io.decode_jpeg(data).numpy()
    assert tf.io.is_jpeg(data).numpy() and not tf.io.is_jpeg(tf.io.encode_png(picture)).numpy()
    assert tf.io.extract_jpeg_shape(data).numpy().tolist() == [24, 32, 3]
    part = tf.io.decode_and_crop_jpeg(data, [2, 3, 10, 12], channels=3).numpy()
    np.testing.assert_array_equal(part, whole[2:12, 3:15])
    worse = tf.image.adjust_jpeg_quality(picture, 30).numpy()
    assert worse.shape == picture.shape and worse.dtype == picture.dtype
    assert 0 < np.abs(worse.astype(int) - picture).mean() < 20
    floats = tf.image.adjust_jpeg_quality(picture.astype("float32") / 255, 95)
    np.testing.assert_allclose(floats, picture / 255, atol=0.1)
    with v1.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(v1.string, [])
        made = v1.image.decode_and_crop_jpeg(fed, [2, 3, 10, 12]), v1.image.is_jpeg(fed)
        found = session.run(made, {fed: data.numpy().item() if hasattr(data.numpy(), "item") else data.numpy()})
        np.testing.assert_array_equal(found[0], part)
        assert found[1]

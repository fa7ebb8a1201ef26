"""Measures of predictions: what TensorFlow's cases do not show."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest


def test_a_matrix_of_confusion_has_as_many_classes_as_the_numbers():
    found = np.asarray(tf.confusion_matrix([0, 3, 1], [0, 1, 1]))
    assert found.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_the_best_predictions_have_an_axis_for_the_samples():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="axis for the samples"):
        tf.metrics.precision_at_top_k(tf.constant([2, 7], tf.int64), tf.constant([9, 4, 6], tf.int64))

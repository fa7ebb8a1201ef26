"""TensorFlow's own tensors as arguments: TensorFlow computes with them, and its tapes differentiate them."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from tests.libraries import Library, require

require("tensorflow", "its own tensors")

real = Library("tensorflow")


def test_tensors_of_tensorflow_stay_so():
    x = real.constant([1.0, 2.0])
    with real.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.relu(x) * x)
    assert isinstance(y, real.Tensor)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]
    compiled = real.function(lambda v: tf.matmul(v, tf.transpose(v)) + tf.reduce_mean(v, keepdims=True))
    assert compiled(real.constant([[1.0, 2.0]])).numpy().tolist() == [[6.5]]


def test_they_mix_with_those_of_the_engine():
    with dt.engine("tensorflow"):
        x = tf.constant([1.0, 2.0])
        assert np.asarray(tf.add(x, real.constant([1.0, 1.0]))).tolist() == [2.0, 3.0]
        assert real.add(tf.constant([1.0]), 1.0).numpy().tolist() == [2.0]
        with tf.compat.v1.Graph().as_default():
            y = tf.compat.v1.placeholder(tf.float32, [2]) * 2.0
            assert tf.compat.v1.Session().run(y, {y.op.inputs[0]: real.constant([1.0, 2.0])}).tolist() == [2.0, 4.0]


@pytest.mark.filterwarnings("ignore")
def test_dtypes_are_those_of_tensorflow():
    assert tf.float32 == real.float32
    assert tf.cast([1], real.float64).dtype == tf.float64
    assert tf.as_dtype(real.int8) is tf.int8

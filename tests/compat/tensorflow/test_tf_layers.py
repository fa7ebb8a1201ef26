"""`tf.layers` where TensorFlow's processor cannot: channels first; and copies, errors, gone words."""

from __future__ import annotations

import copy
import importlib

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from dovetail.compat.tensorflow.names.layers.second_names import NAMES
from tests.compat.tensorflow.legacy import array

FIRST = (0, 3, 1, 2)
X = array(2, 6, 5, 3)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


CALLS = {
    "conv2d": ((4, 3), {"strides": 2, "padding": "same"}),
    "conv2d_transpose": ((4, 3), {"strides": 2}),
    "separable_conv2d": ((4, 3), {}),
    "max_pooling2d": ((2, 2), {}),
    "average_pooling2d": ((2, 1), {"padding": "same"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_channels_first_is_channels_last_of_the_transposed(name):
    args, settings = CALLS[name]
    settings = settings if "pooling" in name else {**settings, "name": "it", "reuse": tf.AUTO_REUSE}
    function = getattr(tf.layers, name)
    last = function(X, *args, **settings)
    first = function(X.transpose(FIRST), *args, data_format="channels_first", **settings)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ours, wanted = session.run([first, last])
    np.testing.assert_allclose(ours, wanted.transpose(FIRST), atol=1e-5)


def test_a_copy_of_a_called_layer_shares_its_variables_and_keeps_lists_of_its_own():
    layer = tf.layers.Dense(3)
    layer(array(2, 4))
    made = copy.deepcopy(layer)
    made.add_loss(tf.constant(1.0))
    assert made.kernel is layer.kernel and made.scope_name == layer.scope_name
    assert len(made.losses) == 1 and not layer.losses


@pytest.mark.parametrize("setting", ["renorm", "virtual_batch_size", "adjustment"])
def test_another_normalization_of_batches_is_refused_by_name(setting):
    with pytest.raises(NotImplementedError, match=f"{setting} is not offered"):
        tf.layers.batch_normalization(X, **{setting: 2})


WRONG = {
    "2 axes": lambda: tf.layers.Dense(3)(array(2, 3)) is None or _strict()(array(2, 3, 4)),
    "known": lambda: tf.layers.dense(tf.placeholder("float32", [None, None]), 3),
    "no argument 'unit'": lambda: tf.layers.Dense(3, unit=4),
    "missing a required argument: 'units'": lambda: tf.layers.dense(X),
    "no function of TensorFlow is called 'rely'": lambda: tf.layers.dense(X, 2, activation="rely"),
    "has no scope before": lambda: tf.layers.Dense(3).scope_name,
    "has no variables before": lambda: tf.layers.Dense(3).count_params(),
    "was not called": lambda: tf.layers.Dense(3).output,
}


def _strict():
    layer = tf.layers.Layer()
    layer.input_spec = tf.layers.InputSpec(ndim=2)
    return layer


@pytest.mark.parametrize("message", WRONG)
def test_errors_say_what_is_wrong(message):
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        WRONG[message]()


def test_embed_sequence_gives_rows_of_one_table_and_reuses_it():
    ids = np.array([[1, 0], [2, 2]])
    embed = tf.contrib.layers.embed_sequence
    first = embed(ids, 3, 4, scope="words", regularizer=tf.nn.l2_loss)
    again = embed(ids, scope="words", reuse=True)
    (table,) = tf.model_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows, once_more, numbers = session.run([first, again, table])
    assert table.name == "words/embeddings:0" and len(tf.losses.get_regularization_losses()) == 1
    np.testing.assert_array_equal(rows, numbers[ids])
    np.testing.assert_array_equal(once_more, rows)


def test_private_modules_have_second_names():
    place = "dovetail.compat.tensorflow.compat.v1.python.layers"
    for module, names in NAMES.items():
        for name in names.split():
            second, _, first = name.partition(":")
            assert getattr(importlib.import_module(f"{place}.{module}"), second) is getattr(tf.layers, first)

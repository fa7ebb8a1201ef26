"""Dovetail inside a `tf.function` that AutoGraph rewrites, and Dovetail's tensors in TensorFlow's functions."""

from __future__ import annotations

import warnings

import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.errors import GradientLostWarning
from tests.libraries import Library, require

tf = Library("tensorflow")
require("tensorflow", "its functions take the tensors")


def test_the_user_s_code_is_rewritten_and_dovetail_s_is_not():
    @tf.function
    def step(x):
        if tf.reduce_sum(x) > 0:
            x = K.sigmoid(ops.relu(x, max_value=2.0))
        return K.foldl(lambda total, row: total + row, x)

    assert step(tf.zeros((2, 3))).numpy().tolist() == [0, 0, 0]
    assert step(tf.ones((2, 3))).numpy() == pytest.approx([1.4621172] * 3)


# -- TensorFlow's functions on Dovetail's tensors ---------------------------------------------------------------------

CALLS = {
    "tf.tanh": (lambda x: tf.tanh(x), "ops.tanh"),
    "tf.reduce_sum": (lambda x: tf.reduce_sum(x), "ops.sum"),
    "tf.concat": (lambda x: tf.concat([x, x], 0), "ops.concatenate"),
    "tf.relu": (lambda x: tf.nn.relu(x), "ops.relu"),
    "tf.add": (lambda x: tf.constant([1.0, 2.0]) + x, "ops.add"),
    "tf.cast": (lambda x: tf.cast(x, "float64"), "ops.cast"),
}


def said(call, *values):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call(*values)
    return result, {str(w.message): w.filename for w in found if w.category is GradientLostWarning}


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_that_tensorflow_ends_a17(engine, name):
    call, instead = CALLS[name]
    x, v = ops.constant([1.0, -2.0]), dt.Variable([1.0, -2.0])
    result, found = said(call, x)
    assert found == {} and result.numpy().tolist() == call(tf.constant([1.0, -2.0])).numpy().tolist()
    with dt.GradientTape() as tape:
        tape.watch(x)
        for watched in (x, v):
            ((text, file),) = said(call, watched)[1].items()
            assert text.startswith(f"{name} at test_tensorflow.py:") and instead in text and file == __file__
        assert said(tf.convert_to_tensor, x)[1] == said(tf.constant, x)[1] == said(tf.argmax, x)[1] == {}


def test_tensors_of_the_tensorflow_engine_stay_differentiable_a17():
    with dt.engine("tensorflow"):
        x = K.constant([1.0, -2.0])
        with tf.GradientTape() as tape:
            tape.watch(x.value)
            y = tf.reduce_sum(tf.square(x) * x.value)
        assert tape.gradient(y, x.value).numpy().tolist() == [3, 12]
        assert tf.convert_to_tensor(x) is x.value
        assert tf.add(tf.constant([1.0, 2.0], "float64"), x).dtype == tf.float64


NEED_VALUES = (
    lambda p: tf.tanh(p),
    lambda p: tf.reduce_mean(p),
    lambda p: tf.map_fn(lambda x: x, p),
    lambda p: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), [0, p]),
    lambda p: tf.nest.map_structure(tf.abs, [p]),
    lambda p: tf.math.unsorted_segment_mean(p, [0, 1], 2),
    lambda p: tf.experimental.numpy.log10(p),
    lambda p: tf.image.flip_left_right(tf.stack([p, p])),
)


def test_graph_tensors_name_the_user_s_line_a17():
    p = dt.Graph().placeholder(dt.spec((2,)), "p")
    for call in NEED_VALUES:
        with pytest.raises(
            TypeError, match=r"Placeholder at test_tensorflow.py:\d+: TensorFlow needs a value"
        ) as error:
            call(p)
        assert "import dovetail.compat.tensorflow as tf" in str(error.value) and "`tensorflow.data`" in str(error.value)


def test_tensorflow_s_tape_says_that_it_follows_none_of_dovetail_s_tensors():
    x, p = ops.constant([1.0, 2.0]), dt.Graph().placeholder(dt.spec((2,)), "p")
    with tf.GradientTape() as tape:
        y = tf.constant(1.0)
    for target, sources in ((x, y), (p, y), (y, dt.Variable(1.0))):
        with pytest.raises(
            AttributeError, match=r"GradientTape follows .*write `import .* Or use a dovetail.GradientTape"
        ):
            tape.gradient(target, sources)
    assert not hasattr(x, "_id")

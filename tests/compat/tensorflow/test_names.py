"""The names that real programs use: each is offered, or says why not; modules can be imported as TensorFlow's are."""

from __future__ import annotations

import importlib
from operator import attrgetter
from pathlib import Path

import pytest

from dovetail import backend as K
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.table import ABSENT, V1, V2
from tests.libraries import require

NAMES = Path(__file__).with_name("names.txt").read_text().split()  # counted in 297 files of 16 packages


@pytest.mark.parametrize("view", [tf, tf.compat.v1], ids=["v2", "v1"])
def test_every_name_is_offered_or_says_why_not(view):
    require("tensorflow", "it writes event files")
    unexplained = []
    for name in NAMES:
        try:
            attrgetter(name)(view)
        except AttributeError as error:
            if not any(why in str(error) for why in ABSENT.values()):
                unexplained.append(f"{name}: {error}")
    assert unexplained == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reduce_summ", "Did you mean tf.reduce_sum"),
        ("hypot", "dovetail.ops.hypot"),
        ("keras.layers", "Keras itself runs on Dovetail"),
        ("layers.dense", "Use layers of Keras"),
        ("contrib.slim.conv2d", "Use layers of Keras"),
        ("data.Dataset", "iterate over arrays"),
        ("estimator.Estimator", "Keras' fit"),
        ("string", "NumPy arrays"),
        ("raw_ops.CustomClipGradient", "no op is called 'CustomClipGradient'"),
        ("load_op_library", "by dovetail.register_op"),
        ("math.squared", "Did you mean tf.math.square"),
    ],
)
def test_a_missing_name_says_what_to_write(name, words):
    with pytest.raises(AttributeError, match=words.replace(".", r"\.")):
        attrgetter(name)(tf)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("compat.v1", "placeholder"),
        ("compat.v2", "function"),
        ("compat.v1.nn", "relu"),
        ("math", "reduce_sum"),
        ("python.framework.ops", "RegisterGradient"),
        ("python.framework.dtypes", "float32"),
        ("python.ops.math_ops", "reduce_sum"),
        ("python.ops.nn_ops", "relu"),
        ("python.ops.gradients_impl", "gradients"),
        ("python.util.nest", "flatten"),
        ("python.client.device_lib", "list_physical_devices"),
        ("contrib.graph_editor", "sgv"),
        ("config.experimental", "set_memory_growth"),
    ],
)
def test_modules_are_imported_as_those_of_tensorflow(module, name):
    found = importlib.import_module(f"dovetail.compat.tensorflow.{module}")
    assert callable(getattr(found, name)) or found.float32 == "float32"
    assert name in dir(found)


def test_the_views_are_of_one_table():
    assert tf.compat.v1.nn.conv2d is V1["nn.conv2d"]
    assert tf.nn.conv2d is V2["nn.conv2d"]
    assert tf.placeholder is tf.compat.v1.placeholder  # what one view alone has, the other finds
    assert tf.math.add is tf.add


def test_k_reaches_the_names():
    assert K.tf is tf
    assert K.tf.matmul([[2.0]], [[3.0]]).numpy() == [[6.0]]


def test_wrong_arguments_name_the_function():
    with pytest.raises(TypeError, match=r"tf\.reduce_sum.*no argument 'reduction_indices'; it takes input_tensor"):
        tf.reduce_sum([1.0], reduction_indices=0)
    with pytest.raises(TypeError, match=r"tf\.add.*it takes 3 arguments but 4 were given"):
        tf.add(1.0, 2.0, "name", 4)
    with pytest.raises(ValueError, match=r"tf\.reduce_sum.*the axis 5 is out of range"):
        tf.reduce_sum([1.0], 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.reshape"):
        tf.reshape([1.0, 2.0, 3.0], [2, 2])


def test_mixed_dtypes_are_promoted_where_tensorflow_refuses_them():
    assert tf.add(tf.constant([1]), tf.constant([0.5])).dtype == tf.float32

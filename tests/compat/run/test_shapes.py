"""Shapes that programs of TensorFlow 1 read: `x.shape` has dimensions, in each of their files."""

from __future__ import annotations

import pytest

from dovetail.compat import running

TEXT = """
import numpy as np
{imports}
from inner import width
x, unknown = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
w = tf.get_variable("w", [x.shape[1], 2])
a = np.zeros((2, 5))
a.shape = (5, 2)
rows = x.shape[0]
is_none, printed = rows is None, str(x.shape)
found = [width(x), unknown.shape.ndims, w.shape[0].value, a.shape[0], np.shape(a)[1], x.shape.as_list()]
"""
INNER = "def width(x):\n    return x.shape[-1].value"


@pytest.mark.parametrize(
    ("imports", "shows_none"),
    [
        ("import tensorflow as tf", False),
        ("import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()", False),
        ("import tensorflow.compat.v1 as tf; tf.disable_eager_execution()", True),
    ],
)
def test_a_shape_has_the_dimensions_of_its_version(imports, shows_none, tmp_path):
    text = TEXT.replace("unknown.shape.ndims", "unknown.get_shape().ndims") if shows_none else TEXT
    (tmp_path / "old.py").write_text(text.format(imports=imports))
    (tmp_path / "inner.py").write_text(INNER)
    with running(tmp_path / "old.py") as program:
        names = program.run()
    assert names["is_none"] is shows_none
    assert names["printed"] == ("(None, 3)" if shows_none else "(?, 3)")
    assert names["found"] == [3, None, 3, 5, 2, [None, 3]]


COMPARED = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x, unknown = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
found = [unknown.shape.dims, unknown.shape.ndims, str(unknown.shape), x.shape == [None, 3], x.shape != [2, 3]]
found += [tf.zeros([3]).shape == 3, tf.zeros([3]).shape == 2, repr(x.shape), x.shape[0], x.shape[1:] == [3]]
"""
FOUND = [None, None, "<unknown>", True, True, True, False, "TensorShape([None, 3])", None, True]


def test_shapes_of_a_program_of_v1_compare_and_print_as_tensorflows(tmp_path):
    (tmp_path / "new.py").write_text(COMPARED)
    with running(tmp_path / "new.py") as program:
        assert program.run()["found"] == FOUND


PRINTED = """
import tensorflow as tf
x, unknown = tf.placeholder(tf.float32, [None, 3], "x"), tf.placeholder(tf.int32, name="unknown")
texts = [str(x), f"{unknown}", "{} of {}".format(tf.constant([1.0, 2.0], name="c"), 3)]
"""
TEXTS = [
    'Tensor("x:0", shape=(?, 3), dtype=float32)',
    'Tensor("unknown:0", dtype=int32)',
    'Tensor("c:0", shape=(2,), dtype=float32) of 3',
]


def test_tensors_print_as_tensorflows(tmp_path):
    (tmp_path / "old.py").write_text(PRINTED)
    with running(tmp_path / "old.py") as program:
        assert program.run()["texts"] == TEXTS

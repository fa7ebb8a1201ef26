"""Lists and arrays of tensors whose rank the file does not say, and their gradients, against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.tensorflow.calling import tf
from tests.libraries import require

require("tensorflow", "lists are compared with it")

VALUES = [np.float32([1, 2, 3]), np.float32([[1, -2], [3, 4]])]


def array(size: int, **settings: Any) -> Any:
    return tf.TensorArray(tf.float32, size, infer_shape=False, **settings)


def two(x: Any) -> Any:
    return array(2).write(0, x).write(1, x * 2)


def looped(x: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, x * x * tf.cast(i, tf.float32)))  # noqa: E731
    return tf.while_loop(lambda i, items: i < 3, body, (0, array(3)))[1]


def branched(x: Any) -> Any:
    items = array(2).write(0, x)
    return tf.cond(tf.reduce_sum(x) > 0, lambda: items.write(1, x * 2), lambda: items.write(1, x * 3)).stack()


def popped(x: Any) -> Any:
    raw = tf.raw_ops
    items = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)
    items = raw.TensorListPushBack(input_handle=items, tensor=x)
    items = raw.TensorListPushBack(input_handle=items, tensor=x * 2)
    items, last = raw.TensorListPopBack(input_handle=items, element_shape=-1, element_dtype=tf.float32)
    items = raw.TensorListPushBack(input_handle=items, tensor=last + 1)
    return raw.TensorListStack(input_handle=items, element_shape=-1, element_dtype=tf.float32)


BUILDS = {
    "stack": lambda x: two(x).stack(),
    "gather": lambda x: two(x).gather([1, 0]),
    "read": lambda x: array(3).write(0, x).write(1, tf.reduce_sum(x)).read(0),
    "several ranks": lambda x: array(3).write(0, x).write(1, tf.reduce_sum(x)).read(1) * 2,
    "grows": lambda x: array(0, dynamic_size=True).write(0, x).write(1, x * x).stack(),
    "unstack": lambda x: array(0, dynamic_size=True).unstack(x).read(1),
    "scatter": lambda x: array(0, dynamic_size=True).scatter([1, 0], x[:2]).stack(),
    "read and gathered": lambda x: two(x).read(1) + tf.reduce_sum(two(x).gather([1, 0])),
    "branch": branched,
    "pop": popped,
}
LOOPS = {"loop": lambda x: looped(x).stack(), "map": lambda x: tf.map_fn(lambda row: row * row, x)}


def with_gradient(build: Any) -> Any:
    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = build(x)
        return {"y": y, "gradient": tf.convert_to_tensor(tape.gradient(y, x))}

    return tf.function(both, input_signature=[tf.TensorSpec(None, tf.float32)])


@pytest.mark.parametrize("name", [*BUILDS, *LOOPS])
def test_lists_of_tensors_of_unknown_rank(engine: str, name: str, tmp_path: Path):
    module = tf.Module()
    module.f = with_gradient((BUILDS | LOOPS)[name])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    run = dt.saved_model.load(tmp_path).signatures["serving_default"]
    for x in VALUES:
        found = run(x)
        for key, right in module.f(tf.constant(x)).items():
            assert found[key].shape == right.shape
            np.testing.assert_allclose(found[key].numpy(), right, rtol=1e-6, err_msg=key)


OF_TENSORFLOW_1 = {
    "stack": lambda x: two(x).stack(),
    "gather": lambda x: two(x).gather([1, 0]) + two(x).read(1),
    "unstack": lambda x: array(0, dynamic_size=True).unstack(x).read(1),
    "scatter": lambda x: array(0, dynamic_size=True).scatter([1, 0], x[:2]).read(0),
    "split": lambda x: array(2).split(x, [1, tf.shape(x)[0] - 1]).read(1),
    "concat": lambda x: array(2).write(0, x).write(1, x[:1] * 3).concat(),
    "twice": lambda x: (lambda items: items.read(0) + items.gather([0, 1])[1] * items.read(0))(
        array(2, clear_after_read=False).write(0, x).write(1, x * 2)
    ),
}


@pytest.mark.parametrize("name", OF_TENSORFLOW_1)
def test_gradients_of_arrays_of_tensorflow_1(engine: str, name: str, tmp_path: Path):
    v1, rows = tf.compat.v1, np.arange(6, dtype="float32").reshape(3, 2)
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder("float32", [None, 2], "x")
            y = OF_TENSORFLOW_1[name](x) ** 2
            tf.identity(v1.gradients(y, x)[0], "gradient")
            right = session.run("gradient:0", {x: rows})
    finally:
        v1.enable_control_flow_v2()
    (tmp_path / "x.pb").write_bytes(graph.as_graph_def().SerializeToString())
    found = dt.saved_model.load(tmp_path / "x.pb").results("gradient")(x=rows)["gradient"].numpy()
    np.testing.assert_allclose(found, right, rtol=1e-6)

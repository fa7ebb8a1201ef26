"""Programs in TensorFlow 1's words against TensorFlow 2.21, which runs in a process of its own with tf_keras.

A module of `old/` has cases: functions of `tf` and `fed`, which makes a placeholder of an array.  A case builds a
graph and returns tensors in any nest.  Both sides give the variables the same numbers; a case in the module's `INITIAL`
keeps its initial numbers.  Compared are values, gradients, and the variables in order: name, shape, dtype, collections.

    CASES = {"dense": lambda tf, fed: tf.layers.dense(fed(array(3, 4)), 5)}

`tf.contrib` of the oracle is TF-Slim, whose layers and scopes are those of contrib.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import subprocess
import sys
import traceback
import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

COLLECTIONS = (
    "variables", "trainable_variables", "local_variables", "model_variables", "moving_average_variables",
    "metric_variables",
)  # fmt: skip
COUNTED = ("losses", "regularization_losses", "update_ops", "summaries", "activations")  # collections whose size counts


def array(*shape: int, seed: int = 0, dtype: Any = "float32") -> np.ndarray:
    """Numbers between -1 and 1."""
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype)


def outcome(tf: Any, case: Callable[..., Any], initial: bool) -> dict[str, Any]:
    """The results of a case, as JSON has them, or the last line of its error."""
    try:
        with tf.Graph().as_default() as graph:
            return _found(tf, graph, case, initial)
    except Exception as error:
        return {"error": type(error).__name__, "text": traceback.format_exc(limit=-4)}


def _found(tf: Any, graph: Any, case: Callable[..., Any], initial: bool) -> dict[str, Any]:
    feeds: dict[Any, np.ndarray] = {}

    def fed(values: Any, shape: Any = None) -> Any:
        values = np.asarray(values)
        made = tf.placeholder(values.dtype, [None, *values.shape[1:]] if shape is None else shape)
        feeds[made] = values
        return made

    results = [x for x in tf.nest.flatten(case(tf, fed)) if x is not None]
    float_results = [x for x in results if getattr(getattr(x, "dtype", None), "is_floating", False)]
    trained = tf.trainable_variables()
    slopes = tf.gradients(float_results, trained) if float_results and trained else []
    slopes = [tf.convert_to_tensor(slope) for slope in slopes if slope is not None]
    variables = {v.name: v for name in COLLECTIONS for v in graph.get_collection(name)}
    with tf.Session(graph=graph) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        if not initial:
            for name, v in variables.items():
                v.load(_numbers(name, np.asarray(session.run(v))), session)
        values, gradients = session.run([results, slopes], feeds)
    places = {c: graph.get_collection(c) for c in COLLECTIONS}
    where = {name: [c for c, there in places.items() if any(v is w for w in there)] for name, v in variables.items()}
    return {
        "values": [np.asarray(x).tolist() for x in values],
        "shapes": [list(np.shape(x)) for x in values],
        "gradients": [np.asarray(x).tolist() for x in gradients],
        "variables": [[v.name, v.shape.as_list(), v.dtype.base_dtype.name, where[v.name]] for v in variables.values()],
        "counts": {name: len(graph.get_collection(name)) for name in COUNTED},
    }


def _numbers(name: str, like: np.ndarray) -> np.ndarray:
    """Numbers that a variable's name gives, small and positive; integers stay."""
    if like.dtype.kind != "f":
        return like
    return np.random.RandomState(zlib.crc32(name.encode())).uniform(0.02, 0.3, like.shape).astype(like.dtype)


@functools.cache
def expected(module: str) -> dict[str, dict[str, Any]]:
    """What TensorFlow gives for the cases of a module of `old/`, by name."""
    process = _server()
    print(module, file=process.stdin, flush=True)
    return json.loads(next(line for line in process.stdout if line.startswith("{")))


@functools.cache
def _server() -> Any:
    """A process with TensorFlow that answers names of modules; its errors are in what the test prints."""
    process = _started(__name__, stdin=subprocess.PIPE)
    atexit.register(process.communicate)
    return process


def answer(module: str, *args: str) -> Any:
    """What a module prints last, as JSON, in a process with TensorFlow."""
    process = _started(module, *args, stderr=subprocess.PIPE)
    printed, said = process.communicate()
    assert process.returncode == 0, said[-3000:]
    return json.loads(printed.splitlines()[-1])


def _started(module: str, *args: str, **pipes: Any) -> Any:
    settings = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", module, *args]
    return subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True, **pipes)


def check(module: str, name: str, atol: float = 1e-5) -> None:
    """Compare one case on the current engine with TensorFlow.

    Raises:
        AssertionError: something differs.
    """
    import dovetail.compat.tensorflow.compat.v1 as tf

    cases = importlib.import_module(module)
    ours = outcome(tf, cases.CASES[name], name in getattr(cases, "INITIAL", ()))
    theirs = expected(module)[name]
    assert ours.get("error") == theirs.get("error"), (
        f"{ours.get('text', ours)}\nTensorFlow: {theirs.get('text', theirs)}"
    )
    if "error" in theirs:
        return
    for key in ("variables", "counts", "shapes"):
        assert ours[key] == theirs[key], (key, ours[key], theirs[key])
    for key in ("values", "gradients"):
        for mine, its in zip(ours[key], theirs[key], strict=True):
            np.testing.assert_allclose(mine, its, atol=atol, rtol=1e-4, err_msg=key)


def oracle() -> Any:
    """TensorFlow 1's names of TensorFlow 2.21, with those parts of contrib that TF-Slim has."""
    import tensorflow as tf2

    tf: Any = tf2.compat.v1
    tf.disable_v2_behavior()
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import array_ops, control_flow_ops, variable_scope

    # TF-Slim takes these from there.
    ops.IndexedSlices, ops.Tensor, variable_scope.variable = tf.IndexedSlices, tf.Tensor, tf.Variable
    control_flow_ops.cond, array_ops.stack = tf.cond, tf.stack
    from tf_keras.src.legacy_tf_layers import normalization

    sys.modules["tf_keras.legacy_tf_layers.normalization"] = normalization  # TensorFlow imports it from there
    import tf_slim
    from tf_slim.layers import utils
    from tf_slim.nets import resnet_utils, resnet_v1, resnet_v2

    layers = SimpleNamespace(**{**vars(tf_slim), "utils": utils})
    tf_slim.nets = SimpleNamespace(resnet_utils=resnet_utils, resnet_v1=resnet_v1, resnet_v2=resnet_v2)
    tf.contrib = SimpleNamespace(
        losses=tf_slim.losses,
        rnn=tf.nn.rnn_cell,
        slim=tf_slim,
        layers=layers,
        framework=tf_slim,
        metrics=tf_slim.metrics,
    )
    from tf_keras.src.layers.preprocessing import image_preprocessing as moved

    def transform(images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None) -> Any:
        return moved.transform(images, transforms, "constant", 0.0, interpolation.lower(), output_shape)

    tf.contrib.image = SimpleNamespace(
        transform=transform,
        rotate=lambda x, angles, *how: transform(x, moved.get_rotation_matrix(angles, *map(float, x.shape[1:3])), *how),
        translate=lambda x, moves, *how: transform(x, moved.get_translation_matrix(moves), *how),
        angles_to_projective_transforms=moved.get_rotation_matrix,
    )
    return tf


if __name__ == "__main__":
    tf = oracle()
    for line in sys.stdin:
        cases = importlib.import_module(line.strip())
        initial = getattr(cases, "INITIAL", ())
        found = {name: outcome(tf, case, name in initial) for name, case in cases.CASES.items()}
        print("\n" + json.dumps(found), flush=True)

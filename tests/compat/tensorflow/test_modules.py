"""TensorFlow's modules that are Keras', in a process of their own, and modules of `tensorflow.python`."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from operator import attrgetter
from types import ModuleType

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from dovetail.compat.tensorflow import private
from dovetail.compat.tensorflow.entries import V1, V2
from tests import keras_backends
from tests.libraries import checks_of, require

TWO_ROWS = (  # one function each
    *("softmax_cross_entropy_with_logits_v2", "matrix_diag", "matrix_diag_part", "matmul"),
    *("string_to_number", "string_to_hash_bucket"),
)
PYTHON = "dovetail.compat.tensorflow.compat.v1.python"
CHECKS = "tests.compat.tensorflow.keras_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_keras(check):
    require("keras", "TensorFlow's names are Keras'")
    keras_backends.check(CHECKS, check, "dovetail")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import keras; tf.keras.layers", "import keras_dovetail first, or set KERAS_BACKEND=dovetail"),
        ("import keras; tf.losses.MeanSquaredError", "import keras_dovetail first"),
        ("print(tf.losses, [m for m in sys.modules if m.startswith('keras')]); 1 / 0", " []\n"),
        (
            "tf.compat.v1.layers.dense(tf.compat.v1.placeholder('float32', [1, 2]), 3); "
            "print([m for m in sys.modules if m.startswith('keras')]); 1 / 0",
            "[]\n",
        ),
        ("from dovetail.compat.tensorflow.keras import Model; import keras; 1 / keras.backend.backend()", "'str'"),
    ],
)
def test_keras_is_imported_when_it_is_asked_for(program, words):
    require("keras", "TensorFlow's names are Keras'")
    program = f"import sys, dovetail.compat.tensorflow as tf; {program}"
    environment = {**os.environ, "KERAS_BACKEND": "numpy"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert run.returncode == 1 and words in run.stdout + run.stderr


# After Dovetail has imported TensorFlow, to explain and to compute, claim 2.29.
KERAS_AFTER_TENSORFLOW = """
import sys, dovetail as dt
dt.explain(dt.function(lambda x: x * 2.0), dt.ops.ones(3), engine="tensorflow")
dt.set_engine("tensorflow")
assert dt.ops.ones(3).engine == "tensorflow"
assert "tensorflow" in sys.modules and "keras" not in sys.modules
import dovetail.compat.tensorflow as tf
import dovetail.compat.tensorflow.keras.layers
model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
print(model(tf.ones([1, 3])).numpy().tolist(), sys.modules["keras"].backend.backend())
import tensorflow
print(tensorflow.keras.layers.Dense is tf.keras.layers.Dense)
"""


def test_keras_is_there_after_dovetail_has_imported_tensorflow():
    require("keras", "TensorFlow's names are Keras'")
    require("tensorflow", "it is imported")
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    command = [sys.executable, "-c", KERAS_AFTER_TENSORFLOW]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.stdout.split("\n")[:2] == ["[[3.0, 3.0]] dovetail", "True"], run.stderr[-2000:]


def test_private_modules_have_names_for_what_they_are_in_tensorflow():
    """Check that a name of `tensorflow.python` gives the function of its public name."""
    require("tensorflow", "the oracle")
    import tensorflow

    public = _public(tensorflow, {}) | _public(tensorflow.compat.v1, {})
    found, wrong = 0, []
    for path, beginnings in private.modules().items():
        theirs = _module(f"tensorflow.{path}")
        for name, value in vars(theirs).items() if isinstance(beginnings, tuple) and theirs else ():
            names = [key for key in public.get(id(value), ()) if key in V1 or key in V2]
            ours = _module(f"dovetail.compat.tensorflow.compat.v1.{path}")
            if names and name not in TWO_ROWS and hasattr(ours, name):
                found += 1
                if not any(
                    getattr(ours, name) is attrgetter(key)(view) for key in names for view in (tf, tf.compat.v2)
                ):
                    wrong.append(f"{path}.{name} is not {names}")
    assert wrong == [] and found > 900


def _public(module, found, prefix=""):
    """The functions and classes of TensorFlow by their ids → their public names."""
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            is_public = str(vars(value).get("__name__")).startswith("tensorflow._api")
            if is_public and not name.startswith("_") and prefix + name not in ("compat.v1", "compat.v2"):
                _public(value, found, f"{prefix}{name}.")
        elif callable(value) and not name.startswith("_"):
            found.setdefault(id(value), []).append(prefix + name)
    return found


def _module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


LINES = """
from P.ops import ctc_ops; ctc_ops.ctc_loss
from P.ops.gen_nn_ops import _relu_grad
from P.ops import gen_nn_ops as g, nn_grad; assert nn_grad.gen_nn_ops is g; g.max_pool_grad, g._avg_pool_grad, g.conv2d
from P.ops import gen_sparse_ops as g; g.sparse_tensor_dense_mat_mul, g.sparse_fill_empty_rows
from P.framework import tensor_shape as t; assert t.scalar().ndims == 0 and t.vector(3) == [3]; t.matrix(2, None)
from P.framework import tensor_shape as t; assert t.unknown_shape().ndims is None and t.unknown_shape(2).ndims == 2
from P.framework import tensor_shape as t; assert t.as_shape([2]) == [2] and t.as_dimension(3).value == 3
from P.layers.utils import smart_cond, constant_value; assert smart_cond(True, lambda: 1, lambda: 2) == 1
from P.ops import resources; assert resources.shared_resources() == resources.local_resources() == []
from R.contrib.layers.python import layers; layers.conv2d, layers.layers.fully_connected
from R.contrib.layers.python.layers import initializers, regularizers, normalization; regularizers.l2_regularizer
from R.core.framework import variable_pb2; variable_pb2.VariableDef
from P.ops import array_ops, math_ops, nn_ops, nn_grad, gen_math_ops, gen_array_ops; nn_ops.relu
import P.ops.gen_math_ops as g; assert g.mat_mul is V1["matmul"]
from P.ops.init_ops import Zeros, Constant; assert Zeros is V1["zeros_initializer"]
from P.framework import ops, dtypes, tensor_util, errors_impl; ops.RegisterGradient, errors_impl.NotFoundError
from P.training.saver import Saver; assert Saver is V1["train.Saver"]
from P.training import adam, gradient_descent; adam.AdamOptimizer
from P.saved_model import builder, tag_constants; builder.SavedModelBuilder, tag_constants.SERVING
from P.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from P.summary.writer.writer import FileWriter
from P.client.session import Session
from P.eager import context; context.executing_eagerly
from P.platform import tf_logging as logging; logging.info
from P.platform.gfile import FastGFile
from R.core.framework import graph_pb2, summary_pb2; graph_pb2.GraphDef, summary_pb2.Summary
from R.core.framework import attr_value_pb2, node_def_pb2, tensor_pb2, types_pb2; assert types_pb2.DT_FLOAT == 1
from P.framework.importer import import_graph_def; from P.framework.tensor_util import MakeNdarray, make_tensor_proto
from R.core.protobuf import config_pb2; config_pb2.ConfigProto
from R.core.example.example_pb2 import Example
import R.python.ops.math_ops; R.python.ops.math_ops.reduce_sum
from R.models.rnn import rnn, rnn_cell, seq2seq; rnn.bidirectional_rnn, rnn_cell.LSTMCell, seq2seq.rnn_decoder
from P.client import device_lib; assert {d.device_type for d in device_lib.list_local_devices()} <= {"CPU", "GPU"}
from R.contrib.ctc import ctc_ops; assert ctc_ops.ctc_loss is V1["contrib.ctc.ctc_loss"]
from R.contrib.crf.python.ops import crf; from R.contrib.eager.python import tfe; crf.crf_decode, tfe.Network
from R.contrib.legacy_seq2seq.python.ops import seq2seq as legacy; legacy.rnn_decoder, legacy.sequence_loss_by_example
from R.contrib.seq2seq.python.ops import attention_wrapper, helper; helper.TrainingHelper
from R.contrib.training.python.training.hparam import HParams
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_import_statements_of_private_modules(line):
    exec(line.replace("P.", f"{PYTHON}.").replace("R.", "dovetail.compat.tensorflow."), {"V1": V1})


def private_names(module, names):
    found = importlib.import_module(f"{PYTHON}.{module}")
    return [getattr(found, name) for name in names.split()]


def test_decorators():
    from dovetail.compat.tensorflow.python import tf2
    from dovetail.compat.tensorflow.python.util import all_util, deprecation, tf_decorator, tf_export, tf_inspect

    @tf_export.tf_export("own", v1=["own"])
    @deprecation.deprecated("2018-01-01", "Use another.")
    def own(x, y=2, *rest, **more):
        "The text."
        return x + y

    def outer(*args):
        return own(*args) * 2

    made = tf_decorator.make_decorator(own, outer)
    assert own(1) == 3 and made(1) == 6 and made.__doc__ == "The text." and tf_decorator.unwrap(made)[1] is own
    assert (
        tf_inspect.getargspec(own)[:4] == (["x", "y"], "rest", "more", (2,))
        and tf_inspect.isfunction is inspect.isfunction
    )
    assert deprecation.deprecated_argument_lookup("axis", None, "dim", 1) == 1
    assert deprecation.deprecated_argument_lookup("axis", 0, "dim", None) == 0
    with pytest.raises(ValueError, match=r"dim.*: the argument has a value, and axis too"):
        deprecation.deprecated_argument_lookup("axis", 0, "dim", 1)
    assert "LINES" in all_util.make_all(__name__) and "_module" not in all_util.make_all(__name__)
    all_util.remove_undocumented(__name__)
    assert tf2.enabled()


def test_functions_of_graphs():
    constant_value, smart_cond = private_names("framework.tensor_util", "constant_value") + private_names(
        "framework.smart_cond", "smart_cond"
    )
    from_inputs, tensors = private_names("framework.ops", "_get_graph_from_inputs convert_n_to_tensor")
    (with_dependencies,) = private_names("ops.control_flow_ops", "with_dependencies")
    relu_grad, (broadcast_mul,) = (
        private_names("ops.gen_nn_ops", "relu_grad")[0],
        private_names("ops.nn_grad", "_BroadcastMul"),
    )
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        variable = tf.Variable([1.0, 2.0])
        session.run(variable.initializer)
        assert constant_value(tf.constant([1.0, 2.0])).tolist() == [1.0, 2.0] and constant_value(x) is None
        assert constant_value(np.float32(3)) == 3
        assert from_inputs([1.0, x]) is graph and from_inputs([1.0]) is graph
        assert [t.shape.rank for t in tensors([1.0, x])] == [0, 1]
        added = with_dependencies([tf.assign_add(variable, [1.0, 1.0])], x * 2, name="after")
        assert added.op.name == "after" and session.run(added, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
        assert session.run(variable).tolist() == [2.0, 3.0]
        assert smart_cond(True, lambda: 1, lambda: 2) == 1 and smart_cond(tf.constant(False), lambda: 1, lambda: 2) == 2
        unknown = smart_cond(x[0] > 1, lambda: x + 1, lambda: x - 1)
        assert session.run(unknown, {x: [2.0, 0.0]}).tolist() == [3.0, 1.0]
        assert session.run(relu_grad(x, tf.constant([1.0, 0.0])), {x: [5.0, 6.0]}).tolist() == [5.0, 0.0]
        assert session.run(broadcast_mul(x, tf.ones([2, 2])), {x: [5.0, 6.0]}).tolist() == [[5.0, 5.0], [6.0, 6.0]]

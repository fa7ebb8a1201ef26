"""The names that real programs use: each is offered, or its error says why not; modules can be imported."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from dovetail import backend as K
from dovetail import ops
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.entries import V1, V2
from dovetail.compat.tensorflow.names.absences import ABSENT
from dovetail.compat.tensorflow.table import row
from tests.compat.tensorflow import old_names
from tests.compat.tensorflow.public_names import PUBLIC, SUGGESTED, rows, suggested
from tests.libraries import require

ROOT = Path(__file__).parents[3]
# A name a line, with how many of 297 files of 16 packages use it; none use the sisters of names and those of examples.
NAMES = Path(__file__).with_name("names.txt").read_text().split()[::2]


@pytest.mark.parametrize("view", [tf, tf.compat.v1], ids=["v2", "v1"])
def test_every_name_is_offered_or_says_why_not(view):
    require("google", "the classes of messages stand on protobuf")
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
        ("layers.denze", "Did you mean tf.layers.dense"),
        ("contrib.layers.weighted_sparse_column", "This column is not offered"),
        ("data.SqlDataset", "read others in Python"),
        ("io.decode_proto", "write import tensorflow, then tensorflow.io"),
        ("image.decode_gif", "write import tensorflow, then tensorflow.io or tensorflow.image"),
        ("estimator.BoostedTreesClassifier", "Keras' fit"),
        ("strings.ngrams", "by tf.py_func"),
        ("raw_ops.CustomClipGradient", "no op is called 'CustomClipGradient'"),
        ("load_op_library", "with dovetail.register_op"),
        ("math.squared", "Did you mean tf.math.square"),
        ("Placeholder", "Did you mean tf.placeholder"),
        ("session", "Did you mean tf.Session"),
        ("nn.relu_6", "Did you mean tf.nn.relu6"),
        ("maths.add", "Did you mean tf.math?"),
        ("train.AdamOptimiser", "Did you mean tf.train.AdamOptimizer"),
        ("sparse.bincount", "There is tf.bincount, whose last part is the same"),
        ("sysconfig.get_include", "with dovetail.register_op"),
        ("lite", "tf.lite is not offered. Models are not converted"),
        ("autodiff", "Dovetail offers nothing of this module."),
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
        ("experimental.numpy", "take_along_axis"),
        ("config.experimental", "set_memory_growth"),
    ],
)
def test_modules_are_imported_as_those_of_tensorflow(module, name):
    found = importlib.import_module(f"dovetail.compat.tensorflow.{module}")
    assert callable(getattr(found, name)) or found.float32 == "float32"
    assert name in dir(found)


@pytest.mark.parametrize(
    "name",
    [
        "strings.unicode_script",
        "train.Server",
        "initializers.unit",
        "xla",
        "zz",
    ],
)
def test_no_name_is_suggested_that_is_another_thing(name):
    with pytest.raises(AttributeError, match="is not offered") as caught:
        attrgetter(name)(tf.compat.v1)
    assert not re.search("Did you mean|There is", str(caught.value))


def test_the_public_names_are_those_of_tensorflow():
    require("tensorflow", "it has the names")
    program = "import json; from tests.compat.tensorflow.public_names import of_tensorflow as f; print(json.dumps(f()))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert [*json.loads(run.stdout.splitlines()[-1]).values()] == PUBLIC.read_text().splitlines()


def test_suggested_names():
    assert rows(suggested()) == SUGGESTED.read_text()


def test_raw_ops_suggest_misspelt_ops():
    with pytest.raises(AttributeError, match="'MatMull'; did you mean 'MatMul'"):
        tf.raw_ops.MatMull  # noqa: B018
    with pytest.raises(AttributeError, match=r"'Abort'; a gradient"):
        tf.raw_ops.Abort  # noqa: B018


def test_functions_have_the_last_part_of_their_names():
    assert [tf.nn.relu.__name__, tf.math.reduce_sum.__name__, tf.nn.conv2d.__name__] == ["relu", "reduce_sum", "conv2d"]


def test_python_adds_no_guess_of_its_own():
    program = "import dovetail.compat.tensorflow.compat.v1 as tf; tf.zeross"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr.count("Did you mean") == 1 and ".." not in run.stderr.splitlines()[-1]


IMPORTS = """
import R.compat.v1 as tf; tf.compat.v1.Session
import R.compat.v1 as tf; tf.compat.v2.function
import R.compat.v1 as tf; tf.compat.v1.compat.v2.compat.v1.Session
import R.compat.v2 as tf; tf.compat.v1.nn.relu
import R as tf; tf.compat.v2.compat.v2.nn.relu
from R.compat import v1; v1.Session
from R.compat import v1 as tf, v2; tf.nn.relu, v2.function
from R import compat; compat.v1.Session
from R.compat.v1 import compat; compat.v1.Session
import R.compat as c; c.v1.Session
import R.compat.v1.compat.v1 as tf; tf.Session
import R.compat.v1.compat as c; c.v1.Session, c.v2.function, c.as_str
import R.compat.v2.compat.v1 as tf; tf.Session
from R.compat.v1.compat import v1; v1.Session
from R.compat.v1.compat.v1 import nn; nn.relu
import R.compat.v1.nn; R.compat.v1.nn.relu
from R.compat.v2.nn import relu
from R.compat.v1.compat import as_text
from R.compat.v1 import *; placeholder, nn.relu
from R.compat.v1.train import *; Saver
from R import *; constant
import R.compat.v1 as tf; assert tf.compat.v1.Session is tf.Session is tf.compat.v2.compat.v1.Session
import R.compat.v1 as tf; assert {"compat", "nn", "placeholder"} <= set(dir(tf)) and "v1" in dir(tf.compat)
import R as tf; assert "compat" in dir(tf) and {"v1", "v2", "as_str"} <= set(dir(tf.compat))
""".strip().splitlines()


@pytest.mark.parametrize("root", ["dovetail.compat.tensorflow", "tensorflow"])
@pytest.mark.parametrize("line", IMPORTS)
def test_import_statements(line, root):
    if root == "tensorflow":
        require("tensorflow", "the oracle")
    exec(re.sub(r"\bR\b", root, line), {})


@pytest.mark.parametrize("value", ["a", b"a", bytearray(b"a"), 3, Path("x"), None], ids=repr)
@pytest.mark.parametrize("name", ["as_bytes", "as_text", "as_str", "as_str_any", "path_to_str", "dimension_value"])
def test_strings_of_compat(name, value):
    require("tensorflow", "the oracle")
    import tensorflow

    found = []
    for module in (tf, tensorflow):
        try:
            found.append(getattr(module.compat, name)(value))
        except TypeError:
            found.append(TypeError)
    assert found[0] == found[1] and type(found[0]) is type(found[1])
    for kinds in ("bytes_or_text_types", "integral_types", "real_types", "complex_types"):
        assert getattr(tf.compat, kinds) == getattr(tensorflow.compat, kinds)
    assert tf.compat.dimension_at_index(tf.TensorShape([3, None]), 0) == 3
    assert tf.compat.dimension_at_index(tf.TensorShape(None), 1) is None


def test_the_views_are_of_one_table():
    assert tf.compat.v1.nn.conv2d is V1["nn.conv2d"]
    assert tf.nn.conv2d is V2["nn.conv2d"]
    assert tf.placeholder is tf.compat.v1.placeholder  # each view finds names that only the other one has
    assert tf.math.add is tf.add


def test_k_reaches_the_names():
    assert K.tf is tf
    assert K.tf.matmul([[2.0]], [[3.0]]).numpy() == [[6.0]]


def test_numpy_s_behaviour_is_what_dovetail_has_of_it():
    with pytest.warns(UserWarning, match=r"experimental_enable_numpy_behavior.*no methods.*use tf.cast"):
        tf.experimental.numpy.experimental_enable_numpy_behavior()
    assert tf.experimental.numpy.pi == np.pi and tf.experimental.numpy.float32 is np.float32
    assert tf.experimental.numpy.round([1.26], 1).numpy() == np.float32([1.3])


def test_wrong_arguments_name_the_function():
    with pytest.raises(TypeError, match=r"tf\.reduce_sum.*no argument 'reduction_indices'; it takes input_tensor"):
        tf.reduce_sum([1.0], reduction_indices=0)
    with pytest.raises(TypeError, match=r"tf\.add.*it takes 3 arguments but 4 were given"):
        tf.add(1.0, 2.0, "name", 4)
    with pytest.raises(ValueError, match=r"tf\.reduce_sum.*the axis 5 is out of range"):
        tf.reduce_sum([1.0], 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.reshape"):
        tf.reshape([1.0, 2.0, 3.0], [2, 2])


def test_words_of_tensorflow_1():
    parts, old = [[[1.0], [3.0]], [[2.0]]], tf.compat.v1
    assert old.nn.embedding_lookup(parts, [1]).tolist() == [[2.0]]  # by default, rows go round
    assert old.nn.embedding_lookup(parts, [1], "div").tolist() == tf.nn.embedding_lookup(parts, [1]).tolist() == [[3.0]]
    assert old.cond(True, lambda: [1.0], fn2=lambda: [2.0]) == 1.0
    assert tf.cond(True, lambda: [1.0], lambda: [2.0]) == [1.0]
    with pytest.raises(TypeError, match=r"tf\.nn\.embedding_lookup.*no argument 'partition_strategy'"):
        tf.nn.embedding_lookup(parts, [1], partition_strategy="div")
    with pytest.raises(TypeError, match=r"tf\.cond.*the argument 'fn1' is given twice"):
        old.cond(True, lambda: 1.0, lambda: 2.0, fn1=lambda: 3.0)
    with pytest.raises(ValueError, match=r"tf\.debugging\.assert_near.*far 7"):
        old.debugging.assert_near([1.0], [2.0], None, None, ["far 7"])
    with pytest.raises(ValueError, match="words for it say so: x:y name"):
        row("nn.nothing", ops.exp, "x:y")


def test_mixed_dtypes_are_promoted_where_tensorflow_refuses_them():
    assert tf.add(tf.constant([1]), tf.constant([0.5])).dtype == tf.float32


def test_old_names_that_are_offered():
    """The file says which of TensorFlow 1.15's names are there."""
    found = [row for row in old_names.rows() if row.library == "tf" and "keras" not in row.name.split(".")[:2]]
    assert len(found) > 3000 and [row for row in found if row not in old_names.looked_up([row])] == []


def test_old_names_of_several_programs_work_or_say_what_to_write():
    used = [row for row in old_names.rows() if row.programs > 1 and row.state == "missing" and row.library == "tf"]
    said = {row.name: old_names.problem("tf", row.name) for row in used if "keras" not in row.name.split(".")[:2]}
    assert {name: text for name, text in said.items() if not any(why in text for why in ABSENT.values())} == {}

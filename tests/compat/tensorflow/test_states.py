"""Names that ask how a program computes, versions, codes of errors, and files beside a program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.names.random import draws
from dovetail.formats.tensorflow.saving import PRODUCER
from tests.libraries import require

v1 = tf.compat.v1


def test_versions_and_codes():
    assert v1.GIT_VERSION == tf.version.GIT_VERSION == tf.__git_version__ and "2.21" in tf.version.GIT_VERSION
    assert v1.GRAPH_DEF_VERSION == PRODUCER
    require("tensorflow", "it has the codes")
    import tensorflow

    codes = {name: code for name, code in vars(tensorflow.errors).items() if name.isupper()}
    assert {name: getattr(tf.errors, name) for name in codes} == codes and len(codes) == 17
    assert (tf.dtypes.double, tf.dtypes.half) == (tf.float64, tf.float16)
    assert issubclass(tf.errors.UnauthenticatedError, PermissionError)


def test_scopes_of_functions():
    seen = []

    @tf.function
    def f(x):
        seen.append((tf.inside_function(), tf.is_symbolic_tensor(x), tf.get_static_value(x)))
        with tf.init_scope():
            seen.append((tf.inside_function(), tf.executing_eagerly(), float(tf.constant(2.0) + 1)))
        return x

    f(tf.constant(1.0))
    assert seen[:2] == [(True, True, None), (False, True, 3.0)]
    assert not tf.inside_function() and not tf.is_symbolic_tensor(tf.constant(1.0))
    with v1.Graph().as_default(), v1.Session() as session:
        first = v1.Variable(1.0)
        session.run(first.initializer)
        with v1.control_dependencies([first.assign(5.0)]), tf.init_scope():
            later = first + 0.0
        assert session.run(later) == 1.0 and session.run(first) == 1.0
        assert v1.get_static_value(v1.constant([1, 2])).tolist() == [1, 2]


def test_gradients_that_pass_through(engine):
    x = tf.constant([1.3, -0.6])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(tf.round)(x) * [2.0, 3.0]
    np.testing.assert_allclose(y, [2, -3])
    np.testing.assert_allclose(tape.gradient(y, x), [2, 3])


def test_settings_with_one_value():
    assert v1.resource_variables_enabled() and v1.control_flow_v2_enabled() and not tf.test.is_built_with_rocm()
    for switch in (v1.enable_tensor_equality, v1.disable_control_flow_v2, tf.config.experimental.enable_op_determinism):
        assert switch() is None
    assert tf.config.optimizer.set_jit(True) is None and tf.config.optimizer.get_jit() == ""


def test_seeds(monkeypatch):
    monkeypatch.setitem(draws._global, "seed", None)  # other tests may have set one
    assert v1.get_seed(None) == (None, None) and v1.get_seed(3) == (87654321, 3)
    monkeypatch.setitem(draws._global, "seed", 7)
    assert v1.get_seed(3) == (7, 3)
    drawn = [v1.random_poisson(4.0, [3, 2], seed=1), v1.random.poisson([4.0, 9.0], [3], seed=1)]
    assert [one.shape for one in drawn] == [(3, 2), (3, 2)]


def test_files_beside_the_program():
    loader, here = v1.resource_loader, Path(__file__)
    assert loader.get_data_files_path() == loader.get_root_dir_with_all_resources() == str(here.parent)
    assert loader.get_path_to_datafile("a.txt") == str(here.parent / "a.txt")
    assert loader.load_resource(here.name) == here.read_bytes() and loader.readahead_file_path("b") == "b"

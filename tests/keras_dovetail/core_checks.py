"""Checks of the core of the Keras backend, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import copy
import doctest
import importlib
import pickle
import sys
import tempfile

import keras_dovetail  # must be first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
from keras import ops
from keras.src import backend

import dovetail as dt
from dovetail.core.base import memory
from dovetail.core.base.hooks import hooks
from tests.keras_backends import main

IN_SRC = ("distribution_lib", "ops.core", "specs", "tensors", "trainer", "variable")
EXAMPLES = ("twins", *(f"src.{name}" for name in IN_SRC))


def check_keras_runs_on_dovetail():
    assert keras.backend.backend() == "dovetail"
    assert isinstance(ops.ones(2), dt.Tensor)
    assert keras_dovetail.finder.FOLLOWED.keys() - {"jax", "tensorflow"} <= sys.modules.keys()


def check_one_process_has_keras_own_classes():
    """Check that only several ranks have losses and metrics that see the whole batch."""
    for kind in (keras.losses.Loss, keras.metrics.Metric):
        assert "__init_subclass__" not in vars(kind)
    for method in (keras.losses.Dice.call, keras.metrics.Mean.update_state, keras.layers.MixUp.call):
        assert method.__module__.startswith("keras.") and not hasattr(method, "__wrapped__"), method


def check_nothing_for_stock_backends_is_registered():
    assert "dovetail.interop.keras.stock" not in sys.modules
    assert not hooks.reads and hooks.array_result is None


def check_integers_of_64_bits_stay_out_of_range():
    wide = np.int64([2**32 + 1, -(2**32) - 1])
    assert ops.convert_to_tensor(wide).numpy().tolist() == [2**31 - 1, -(2**31)]
    assert ops.convert_to_tensor(np.uint64([2**32 + 1])).numpy().tolist() == [2**32 - 1]
    assert ops.convert_to_tensor(wide, "int32").numpy().tolist() == [1, -1]
    for call in (
        lambda ids: ops.take(np.float32([1, 2, 3]), ids),
        lambda ids: ops.take_along_axis(np.float32([1, 2, 3]), ids),
        lambda ids: keras.layers.Embedding(3, 2)(ids),
    ):
        with pytest.raises((IndexError, ValueError)):
            call(wide)
    for call in (
        lambda ids: ops.one_hot(ids, 3),
        lambda ids: ops.multi_hot(ids, 3),
        lambda ids: ops.segment_sum(np.float32([5, 5]), ids, num_segments=3),
    ):
        assert not np.asarray(call(wide)).any()
    model = keras.Sequential([keras.Input((1,), dtype="int32"), keras.layers.Embedding(3, 2)])
    with pytest.raises((IndexError, ValueError)):
        model.predict(wide[:, None], verbose=0)


def check_memory_stays():
    assert dt.config.keep_memory() or memory.glibc() is None


def check_examples():
    for name in EXAMPLES:
        found = doctest.testmod(importlib.import_module(f"keras_dovetail.{name}"))
        assert not found.failed, name


def check_copies_of_variables_are_variables_of_their_own():
    w = keras.Variable([1.0, 2.0], name="w", trainable=False)
    for other in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        w.assign([5.0, 5.0])
        assert other.numpy().tolist() == [1, 2] and other.name == "w" and not other.trainable
        other.assign([7.0, 7.0])
        assert w.numpy().tolist() == [5, 5]
        w.assign([1.0, 2.0])


def check_variables_are_read_on_the_current_engine():
    w = keras.Variable([1.0, 2.0])
    with dt.engine("torch"):
        assert w.value.engine == "torch"
        w.assign_add([1.0, 1.0])
    assert w.value.engine == "numpy" and w.numpy().tolist() == [2, 3]


def check_tapes_follow_variables():
    w = keras.Variable([1.0, 2.0])
    with dt.GradientTape() as tape:
        y = ops.sum(w * w)
    assert tape.gradient(y, [w])[0].numpy().tolist() == [2, 4]
    w.trainable = False
    with dt.GradientTape() as tape:
        y = ops.sum(w * w)
    assert tape.gradient(y, w) is None
    with dt.GradientTape() as tape:
        tape.watch(w)
        y = ops.sum(w * w)
    assert tape.gradient(y, w).numpy().tolist() == [2, 4]


def check_dovetails_ops_take_variables():
    w = keras.Variable([1.0, 2.0])
    assert dt.ops.add(w, 1.0).numpy().tolist() == [2, 3]
    assert dt.ops.concatenate([w, w]).shape == (4,)


def check_a_variable_made_while_a_program_is_traced_has_a_value():
    made = []

    @dt.function
    def step(x):
        if not made:
            made.append(keras.Variable("ones", shape=(2,)))
        made[0].assign_add(x)
        return made[0] * 2.0

    assert step(np.float32([1, 2])).numpy().tolist() == [4, 6]
    assert made[0].numpy().tolist() == [2, 3]


def check_layers_are_built_in_any_trace_and_kept():
    """Check layers built in a first and in a later trace; the later calls use their weights."""
    dense, other = keras.layers.Dense(2, kernel_initializer="ones"), keras.layers.Dense(1, kernel_initializer="ones")
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones"), keras.layers.Dropout(0.5)])

    @dt.function
    def step(x):
        found = dense(x)
        return model(other(found), training=True) if x.shape[0] > 1 else found

    x = np.ones((1, 3), "float32")
    assert step(x).numpy().tolist() == [[3, 3]]
    assert set(step(np.ones((2, 3), "float32")).numpy().ravel()) <= {0, 12}
    dense.kernel.assign(dense.kernel * 2.0)
    assert step(x).numpy().tolist() == [[6, 6]]
    assert set(step(np.ones((2, 3), "float32")).numpy().ravel()) <= {0, 24} and len(model.weights) == 2


def check_a_layer_in_each_trace_is_refused():
    """Check that a layer in each trace raises an error, as on TensorFlow, for its weights and its seeds."""
    for make in (lambda: keras.layers.Dense(2), lambda: keras.layers.Dropout(0.5), keras.metrics.Mean):

        @dt.function
        def step(x, make=make):
            return keras.ops.sum(make()(x))

        try:
            step(np.ones((1, 3), "float32"))
        except ValueError as error:
            assert "step at core_checks.py:" in str(error) and "each trace of the function" in str(error)
        else:
            raise AssertionError(f"{make} is called")


def check_optimizers_and_metrics_are_built_in_the_first_call():
    layer = keras.layers.Dense(1, kernel_initializer="ones")  # so that the loss falls, whatever was drawn before
    optimizer, metric = keras.optimizers.Adam(0.1), keras.metrics.Mean()
    x, y = np.ones((4, 3), "float32"), np.zeros((4, 1), "float32")
    traces = []

    @dt.function
    def step(x, y):
        traces.append(x.shape)
        with dt.GradientTape() as tape:
            loss = keras.ops.mean((layer(x) - y) ** 2)
        weights = layer.trainable_variables
        optimizer.apply(tape.gradient(loss, [w._value for w in weights]), weights)
        metric.update_state(loss)
        return loss

    losses = [float(step(x, y)) for _ in range(20)]
    assert losses[-1] < losses[0] and int(optimizer.iterations.numpy()) == 20 and len(traces) == 2
    assert abs(float(metric.result()) - np.mean(losses)) < 1e-4


def check_a_program_that_returns_a_variable_returns_its_value():
    w = keras.Variable([1.0, 2.0])

    @dt.function
    def step(x):
        w.assign(x)
        return w, {"w": w, "name": "w"}

    first, others = step(np.float32([3, 4]))
    assert isinstance(first, dt.Tensor) and first.numpy().tolist() == [3, 4]
    assert others["w"].numpy().tolist() == [3, 4] and others["name"] == "w"


def check_numbers_of_64_bits_become_32_wide_unless_asked_for():
    wide = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
    for dtype, narrow in wide.items():
        assert ops.convert_to_tensor(np.ones(2, dtype)).dtype == narrow
        assert ops.convert_to_tensor(np.ones(2, dtype), dtype=dtype).dtype == dtype
        assert ops.convert_to_tensor(dt.ops.ones(2, dtype)).dtype == dtype
    keras.config.set_floatx("float64")
    try:
        assert ops.convert_to_tensor(np.ones(2)).dtype == "float64"
    finally:
        keras.config.set_floatx("float32")


def check_others_tensors_come_to_the_current_engine():
    import torch

    assert ops.convert_to_tensor(torch.ones(2)).engine == "numpy"
    with dt.engine("torch"):
        x = ops.convert_to_tensor([1.0, 2.0])
        assert x.engine == "torch"
    assert ops.convert_to_tensor(x).engine == "numpy"


def check_host_values_are_constants_of_the_graph_that_is_traced():
    found = []

    @dt.function
    def f(x):
        found.append(keras_dovetail.src.ops.convert_to_tensor([1.0, 2.0]))
        return x + found[0]

    f(np.float32([1, 2]))
    assert found[0].op.type == "Const"


def check_specs():
    x = keras.KerasTensor((None, 6), "float16")

    def spec(f, *args):
        found = backend.compute_output_spec(f, *args)
        return found.shape, found.dtype

    assert spec(lambda x: ops.reshape(x, (-1, 3)), x) == ((None, 3), "float16")
    assert spec(lambda x: ops.cast(x[:, :2], "int32"), x) == ((None, 2), "int32")
    assert spec(lambda x: ops.concatenate([x, x], 0), x) == ((None, 6), "float16")
    assert spec(lambda x: ops.sum(x, 0), x) == ((6,), "float16")
    assert spec(lambda x, n: ops.tile(x, (1, n)), x, 3) == ((None, 18), "float16")


def check_layers_are_built_in_a_trace():
    model = keras.Sequential([Layers()])
    dt.function(model)(np.ones((2, 3), "float32"))
    assert model.layers[0].get_build_config() == {"input_shape": (2, 3)}
    assert [tuple(w.shape) for w in model.weights] == [(3, 1), (1,)]


class Layers(keras.layers.Layer):
    """A layer whose own layer is built when Keras calls it to infer the output."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)


def check_finding_specs_changes_nothing():
    w = keras.Variable([1.0, 2.0])

    def assigning(x):
        w.assign(ops.sum(x, 0))
        return w + 1.0

    assert backend.compute_output_spec(assigning, keras.KerasTensor((None, 2))).shape == (2,)
    assert w.numpy().tolist() == [1, 2]


def check_control_flow():
    assert int(ops.cond(ops.convert_to_tensor(3) > 2, lambda: 1, lambda: 2)) == 1
    assert int(ops.while_loop(lambda i: i < 7, lambda i: (i + 2,), (0,))[0]) == 8
    total, sums = ops.scan(lambda carry, x: (carry + x, carry + x), np.float32(0), np.float32([1, 2, 3]), reverse=True)
    assert float(total) == 6 and sums.numpy().tolist() == [6, 5, 3]
    assert int(ops.switch(1, [lambda x: x, lambda x: x + 1], 5)) == 6
    assert ops.map(lambda x: x * 2, np.int32([1, 2])).numpy().tolist() == [2, 4]
    assert ops.associative_scan(lambda a, b: a + b, np.int32([1, 2, 3])).numpy().tolist() == [1, 3, 6]
    assert int(ops.fori_loop(0, 3, lambda i, x: x + i, 1)) == 4


def check_slices():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    assert ops.slice(x, (0, 1), (-1, 2)).numpy().tolist() == [[1, 2], [4, 5]]
    assert ops.slice_update(x, (1, 1), [[9.0, 9.0]]).numpy().tolist() == [[0, 1, 2], [3, 9, 9]]
    assert [part.numpy().tolist() for part in ops.unstack(x)] == x.tolist()
    assert ops.scatter([[0], [2], [0]], [1.0, 2.0, 3.0], (3,)).numpy().tolist() == [4, 0, 2]
    for reduction, wanted in {None: 5, "add": 7, "mul": 10, "max": 5, "min": 2}.items():
        found = keras_dovetail.src.ops.core.scatter_update([1.0, 2.0], [[1]], [5.0], reduction)
        assert found.numpy().tolist() == [1, wanted]


def check_custom_gradients():
    @ops.custom_gradient
    def doubled(x):
        return x + 0.0, lambda *args, upstream=None: 2 * (args[0] if upstream is None else upstream)

    w = keras.Variable([1.0, 2.0])
    with dt.GradientTape() as tape:
        y = ops.sum(doubled(w) * 3.0)
    assert tape.gradient(y, w).numpy().tolist() == [6, 6]


def check_what_runs_again_draws_and_assigns_once():
    seed, count = keras.random.SeedGenerator(1), keras.Variable(0.0, trainable=False)
    w = keras.Variable(np.ones(50, "float32"))

    def noisy(x):
        count.assign_add(1.0)
        return x * keras.random.uniform((50,), seed=seed) * w

    found = []
    for function in (noisy, keras.remat(noisy), keras.remat(keras.remat(noisy))):
        seed.state.assign([1, 0])
        with dt.GradientTape() as tape:
            y = function(w.value)
        found.append((y.numpy(), tape.gradient(y, w).numpy()))
    assert float(count) == 3
    for y, gradient in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(gradient, found[0][1])


def check_devices():
    assert keras.distribution.list_devices() == ["cpu:0"]
    with keras.device("cpu"):
        assert ops.ones(2).device == "cpu:0"
    for name, kind in {"cpu:7": ValueError, 3: ValueError}.items():
        try:
            with keras.device(name):
                raise AssertionError(name)
        except kind:
            pass


def check_operations_are_named_by_scopes():
    def called(x):
        with backend.name_scope("outer"), backend.name_scope("inner"):
            return dt.ops.tanh(x)

    names = [operation.name for operation in dt.function(called).graph(dt.spec((2,)))]
    assert any(name.startswith("outer/inner/") for name in names), names


def check_weights_are_taken_where_variables_are():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    w, held = layer.kernel, layer.kernel._value
    before, x = w.numpy(), np.ones((4, 3), "float32")

    def loss(*_):
        return dt.ops.sum(dt.ops.square(dt.ops.matmul(x, w)))

    (product,) = dt.hvp(loss, [w], [np.ones((3, 2), "float32")])
    np.testing.assert_allclose(product.numpy(), np.full((3, 2), 2.0 * 4 * 3))
    graph = dt.SessionGraph()
    with graph.as_default():
        gradients = dt.gradients(loss(), [w])
    wanted = 2 * x.T @ (x @ before)
    np.testing.assert_allclose(dt.Session(graph).run(gradients)[0], wanted, rtol=1e-5)

    @dt.custom_gradient
    def product_of(a, b):
        return dt.ops.sum(a * b), lambda g: (g * 2.0 * dt.ops.ones_like(a), g * 5.0 * dt.ops.ones_like(b))

    with dt.GradientTape() as tape:
        y = product_of(dt.ops.ones((3, 2)), w)
    np.testing.assert_allclose(tape.gradient(y, w).numpy(), np.full((3, 2), 5.0))
    assert len({w, layer.bias, w}) == 2
    zeros, called = dt.Variable(np.zeros((3, 2), "float32")), dt.function(lambda x: dt.ops.matmul(x, w))
    graph = called.graph(dt.spec((4, 3)))
    for old, new, result in ((w, zeros, 0.0 * x @ before), (zeros, w, x @ before)):
        assert graph.replace_variables({old: new}) == 1
        np.testing.assert_allclose(dt.function(graph)(x).numpy(), result, rtol=1e-5)
    assert called.graph(dt.spec((4, 3))).freeze([w]) == 1
    np.testing.assert_array_equal(dt.Variable(w).numpy(), before)
    with tempfile.TemporaryDirectory() as folder:
        dt.save({"w": w, "all": [layer.bias]}, f"{folder}/weights.safetensors")
        found = dt.load(f"{folder}/weights.safetensors")
    assert type(found["w"]) is dt.Variable and found["w"].name == held.name
    np.testing.assert_array_equal(found["w"].numpy(), before)


if __name__ == "__main__":
    main(globals())

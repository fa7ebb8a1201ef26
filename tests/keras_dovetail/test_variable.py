"""First values of Keras' variables: computed on numpy, and moved to the current engine."""

from __future__ import annotations

import pytest

from tests.conftest import ENGINES
from tests.keras_dovetail.test_seeds import START, said
from tests.libraries import require

MODEL = """
import dovetail as dt, numpy as np

def made():
    keras.utils.set_random_seed(5)
    layers = [
        keras.layers.Conv2D(5, 3), keras.layers.BatchNormalization(), keras.layers.Reshape((25, 5)),
        keras.layers.LSTM(3, dropout=0.1), keras.layers.Dense(2, kernel_initializer="truncated_normal"),
        keras.layers.Dense(7, kernel_initializer=keras.initializers.Orthogonal(seed=1)),
    ]
    model = keras.Sequential([keras.Input((7, 7, 3)), *layers])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return [*model.variables, *model.optimizer.variables]
"""


def test_nothing_is_compiled():
    require("jax", "it compiles what it computes")
    listen = """
import jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
dt.set_engine("jax")
variables = made()
assert {v._value.engine for v in variables} == {"jax"}
events = [event for event in compiled if "compile" in event]
keras.ops.add(variables[0], 1)
print([events, any("compile" in event for event in compiled)])
"""
    assert said(START, MODEL, listen) == [[], True]


def test_values_are_the_same_on_each_engine():
    compare = f"""
wanted = [v.numpy() for v in made()]
for engine in {ENGINES!r}:
    with dt.engine(engine):
        variables = made()
        assert {{v._value.engine for v in variables}} == {{engine}}, engine
        for a, b in zip(wanted, variables, strict=True):
            assert (a == b.numpy()).all() and a.dtype == b.numpy().dtype, (engine, b.path)
print(len(wanted))
"""
    assert said(START, MODEL, 'dt.set_engine("numpy")', compare) == 38


OWN = {
    "numpy": "array = np.arange(6, dtype='float32').reshape(2, 3)",
    "torch": "import torch; array = torch.arange(6.0).reshape(2, 3)",
    "jax": "import jax; array = jax.numpy.arange(6.0).reshape(2, 3)",
    "tensorflow": "import tensorflow as tf; array = tf.reshape(tf.range(6.0), (2, 3))",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_initializers_that_return_values_of_an_engine(engine):
    check = """
def built(initializer, dtype="float32"):
    layer = keras.layers.Dense(3, kernel_initializer=initializer, dtype=dtype)
    layer.build((None, 2))
    assert layer.kernel._value.engine == engine, layer.kernel._value.engine
    assert layer.kernel.dtype == dtype
    return layer.kernel

ways = {
    "the library's own": lambda shape, dtype: array,
    "Dovetail's": lambda shape, dtype: dt.ops.convert(array, dtype),
    "on an engine that it chooses": lambda shape, dtype: chosen(shape, dtype),
    "Keras'": lambda shape, dtype: keras.ops.reshape(keras.ops.arange(6, dtype=dtype), shape),
    "nested lists": lambda shape, dtype: [[0, 1, 2], [3, 4, 5]],
}

def chosen(shape, dtype):
    with dt.engine(engine):
        x = keras.ops.reshape(keras.ops.arange(6, dtype=dtype), shape)
        assert x.engine == engine
        return x

with dt.engine(engine):
    for way, initializer in ways.items():
        for dtype in ("float32", "bfloat16", "float64"):
            assert built(initializer, dtype).numpy().tolist() == [[0, 1, 2], [3, 4, 5]], (way, dtype)
    kernel = built(ways["the library's own"])
    if engine == "numpy":
        array[:] = 9
    assert kernel.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    wide = built(lambda shape, dtype: keras.ops.full(shape, 1 / 3, dtype), "float64")
    assert (wide.numpy() == 1 / 3).all()
print(True)
"""
    assert said(START, MODEL, f"engine = {engine!r}", OWN[engine], check) is True


def test_they_are_put_on_the_device_of_the_scope():
    require("jax", "it can have several devices here")
    check = """
dt.set_engine("jax")
with keras.device("cpu:1"):
    there = made()
assert {v._value.device for v in there} == {"cpu:1"}, {v._value.device for v in there}
assert {v._value.device for v in made()} == {"cpu:0"}
print(True)
"""
    devices = "import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'"
    assert said(devices, START, MODEL, check) is True

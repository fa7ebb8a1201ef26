"""GPUs, on each engine that has one: values and gradients equal numpy's, and tools say what the GPU does.

`make test-gpu` runs these tests.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine

UNITS = 5
PROGRAMS = {
    "product": (lambda x, y: x @ y, [(3, 4), (4, 5)]),
    "convolution": (lambda x, k: ops.conv(x, k, padding="same"), [(2, 6, 6, 3), (3, 3, 3, 4)]),
    "depthwise convolution": (lambda x, k: ops.depthwise_conv(x, k, padding="same"), [(2, 6, 6, 3), (3, 3, 3, 2)]),
    "pool": (lambda x: ops.max_pool(x, 2), [(2, 6, 6, 3)]),
    "LSTM": (ops.lstm, [(2, 7, 3), (2, UNITS), (2, UNITS), (3, 4 * UNITS), (UNITS, 4 * UNITS)]),
    "LSTM with a bias": (
        ops.lstm,
        [(2, 7, 3), (2, UNITS), (2, UNITS), (3, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)],
    ),
    "GRU": (ops.gru, [(2, 7, 3), (2, UNITS), (3, 3 * UNITS), (UNITS, 3 * UNITS)]),
    "GRU with biases": (ops.gru, [(2, 7, 3), (2, UNITS), (3, 3 * UNITS), (UNITS, 3 * UNITS), (2, 3 * UNITS)]),
    "softmax": (ops.softmax, [(4, 6)]),
    "cumulative sum": (ops.cumsum, [(20,)]),
    "sorted": (ops.sort, [(20,)]),
    "scan": (lambda x: ops.scan(lambda carry, row: (carry * row, carry + row), ops.ones(3), x)[1], [(6, 3)]),
    "branch": (lambda x: ops.cond(ops.sum(x) > 0, lambda: ops.tanh(x), lambda: -x), [(6,)]),
}


@pytest.fixture(params=["torch", "jax", "tensorflow"])
def gpu(request):
    """The name of an engine whose values are on a GPU."""
    if request.param not in dt.list_engines():
        pytest.skip("it is not installed")
    devices = get_engine(request.param).devices()
    if not devices[0].startswith("gpu"):
        pytest.skip("there is no GPU")
    with dt.engine(request.param), dt.device(devices[0]):
        yield request.param


def first(found):
    return found[0] if isinstance(found, (tuple, list)) else found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients(gpu, rng, name, dtype):
    program, shapes = PROGRAMS[name]
    arrays = [rng.uniform(0.1, 1.0, shape).astype(dtype) for shape in shapes]

    def computed():
        given = [ops.convert(array) for array in arrays]
        with dt.GradientTape() as tape:
            tape.watch(given)
            y = first(program(*given))
        compiled = first(dt.function(program)(*given))
        return [y, compiled, *tape.gradient(y, given)]

    found = computed()
    assert all(value.device.startswith("gpu") for value in found)
    with dt.engine("numpy"):
        expected = computed()
    for mine, theirs in zip(found, expected, strict=True):
        tolerance = 2e-3 if dtype == "float32" else 1e-6  # products of float32 may round to TF32
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), tolerance, tolerance)


def test_random_numbers_are_the_same(gpu):
    found = ops.random.normal(3, (1000,)), dt.function(lambda key: ops.random.uniform(key, (1000,)))(3)
    with dt.engine("numpy"):
        expected = ops.random.normal(3, (1000,)), ops.random.uniform(3, (1000,))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-5, 1e-5)
    for draw in (ops.random.bits, dt.function(ops.random.bits)):
        for start in (0, 400, 900):
            part = draw(3, (101,), (start, 1001)).numpy()
            with dt.engine("numpy"):
                np.testing.assert_array_equal(part, ops.random.bits(3, (1001,)).numpy()[start : start + 101])


@pytest.mark.parametrize("other", ["numpy", "torch"])
def test_values_of_processors_go_along_in_jax(other):
    """Check values that move between JAX and an engine with values in the processor's memory.

    JAX computes on a GPU unless it is asked not to.
    """
    if not {"jax", other} <= set(dt.list_engines()) or not get_engine("jax").devices()[0].startswith("gpu"):
        pytest.skip("there is no GPU, or no such engine")
    with dt.engine("jax"):
        x, v = ops.constant([1.0, 2.0]), dt.Variable([3.0, 4.0])
        with dt.GradientTape() as tape:
            tape.watch(x)
            with dt.engine(other):
                y = ops.convert(x, engine=other) * 2.0
            z = x * ops.convert(y, engine="jax") + v
        slope = tape.gradient(z, x)
        assert {value.device for value in (x, z, slope)} == {"gpu:0"}
        np.testing.assert_allclose([z.numpy(), slope.numpy()], [[5.0, 12.0], [4.0, 8.0]])
    with dt.engine(other):
        v.assign(ops.convert([5.0, 6.0]))  # this moves it to the other engine
    with dt.engine("jax"):
        np.testing.assert_allclose(dt.function(lambda x: x + v)(x).numpy(), [6.0, 8.0])


def test_parts_of_a_program_are_on_the_gpu(gpu):
    """Check a program of which only the middle is there: its plan shows the moves."""

    def program(x):
        y = ops.exp(x)
        with dt.place(engine=gpu, device="gpu:0"):
            y = ops.tanh(y)
        return y * 2.0

    x = np.linspace(-1.0, 1.0, 2000, dtype="float32")
    with dt.place(device=None), dt.engine("numpy"):
        function = dt.function(program)
        np.testing.assert_allclose(function(x).numpy(), 2 * np.tanh(np.exp(x)), 1e-5)
        plan = function.plan(x)
    assert [segment.engine.name for segment in plan.segments] == ["numpy", gpu, "numpy"]
    assert [transfer.size for transfer in plan.transfers] == [8000, 8000] and f"{gpu} (gpu:0): Tanh" in str(plan)


def test_a_convolution_is_explained_down_to_its_kernel(gpu):
    x, k = ops.ones((8, 32, 32, 8)), ops.ones((3, 3, 8, 16))
    explained = dt.explain(lambda x, k: ops.conv(x, k, padding="same"), x, k, engine=gpu)
    (convolution,) = [found for found in explained.operations if found.type == "Conv2D"]
    told = " ".join(convolution.of("routine")).lower()
    assert "gpu:0" in convolution.of("runs as")[0] and any(word in told for word in ("cudnn", "cuda", "gpu")), told


def test_a_profile_waits_for_the_gpu(gpu):
    """Check that a large product takes longer than a small one, though the calls return at once."""
    times = []
    for size in (64, 16384):
        x, function = ops.ones((size, size)), dt.function(lambda x: x @ x)
        function(x)
        with dt.profile() as profile:
            function(x)
        times.append(profile.by_operation()["MatMul"]["time"])
    assert times[1] > 2 * times[0], times


def test_a_limit_of_memory(gpu):
    if gpu != "torch":
        pytest.skip("only torch has limits of memory for a GPU that act in a running process")
    x = ops.ones((1 << 26,))  # PyTorch asks the driver for 20 MB at least, and smaller values share them
    (held,) = [found for found in dt.memory_info("gpu:0") if found.engine == gpu]
    dt.set_memory_limit(held.bytes + (1 << 20), engine=gpu, device="gpu:0")
    try:
        with pytest.raises(MemoryError, match="Exp"):
            ops.exp(x)
    finally:
        dt.set_memory_limit(None, engine=gpu, device="gpu:0")
    assert ops.exp(x).device == "gpu:0"


@pytest.mark.parametrize("program", ["placed", "trained"])
def test_programs(gpu, program):
    """Check a program of TensorFlow 1 with devices, and Keras' `fit`, each in its own process."""
    environment = {**os.environ, "DOVETAIL_ENGINE": gpu, "KERAS_BACKEND": "dovetail"}
    command = [sys.executable, "-m", "tests.engines.gpu_programs", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr

"""A program for a process in which an engine has several processors: plans follow the devices of operations.

XLA_FLAGS=--xla_force_host_platform_device_count=2 python -m tests.execute.several_devices jax
"""

import importlib
import sys

import numpy as np

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.compat import tensorflow as tf
from dovetail.core.engines.devices import soft_placement_of_run
from dovetail.core.engines.engine_registry import get_engine
from tests.execute.test_random_pins import check_pins

FIRST, SECOND = "cpu:0", "cpu:1"
X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def graph_of(function, *specs, **devices):
    """A function's graph, with operations pinned to devices by their types, inside of loops, too."""
    graph = dt.function(function).graph(*specs)
    for part in (graph, *graph.subgraphs()):
        for op in part.operations:
            op.device = devices.get(op.type)
    return graph


def lines(f, *arguments):
    return [line.strip() for line in str(f.plan(*arguments)).splitlines()]


def check(f, function, *arguments):
    """Check that a graph with devices gives the function's numbers and gradients, on the devices of the arguments."""
    found = []
    for called in (f, function):
        with dt.GradientTape() as tape:
            tape.watch(arguments)
            y = called(*arguments)
        found.append([y, *tape.gradient(y, arguments)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert [g.device for g in found[0][1:]] == [x.device for x in arguments]


def check_segments(name):
    """Check that an operation with another device starts a segment, which makes constants and random numbers there."""

    def f(x):
        return ops.tanh(ops.exp(x + ops.constant([1.0, 2.0, 3.0]))) * ops.random.uniform(7, (3,))

    pinned = dt.function(graph_of(f, dt.spec((2, 3)), Exp=SECOND))
    x = ops.convert(X)
    assert lines(pinned, x) == [
        f"plan of 'f' on {name} ({FIRST}): 3 segments, 2 transfers",
        *(line for line in lines(pinned, x)[1:2] if line.startswith(f"{name} ({FIRST}): ")),
        f"move AddV2:0 from {name} ({FIRST}) to {name} ({SECOND}), 24 B",
        f"{name} ({SECOND}): Exp",
        f"move Exp:0 from {name} ({SECOND}) to {name} ({FIRST}), 24 B",
        f"{name} ({FIRST}): Tanh, Mul",
    ]
    assert pinned(x).device == FIRST
    check(pinned, f, x)
    with dt.device(SECOND):
        there = ops.convert(X)
    assert len(pinned.plan(there).segments) == 1 and pinned(there).device == SECOND  # all runs on the device of `there`
    check(pinned, f, there)


def check_results():
    """Check that results stay on their segment's device; from another engine they move to the plan's device."""
    graph = graph_of(lambda x: (ops.exp(x), ops.sin(x), ops.tanh(x), x, ops.ones((2,))), dt.spec((2, 3)), Exp=SECOND)
    graph.get_operation("Sin").engine = "numpy"
    results = dt.function(graph)(X)
    assert [r.device for r in results] == [SECOND, FIRST, FIRST, FIRST, FIRST]
    np.testing.assert_allclose(results[1].numpy(), np.sin(X), rtol=1e-6)
    again = dt.function(graph_of(lambda a, b: a + b, *[dt.spec((2, 3))] * 2, AddV2=SECOND))
    assert again(results[0], results[1]).device == SECOND  # arguments on two devices are brought together


def check_wishes(name):
    """Check that a plan follows TensorFlow's device strings if the device exists, and ignores others."""

    def f(x):
        return ops.tanh(ops.sin(ops.exp(x)))

    graph = tf.function(f).graph(dt.spec((2, 3)))
    wishes = {"Exp": "/cpu:1", "Sin": "/job:localhost/device:CPU:*", "Tanh": "/job:ps/device:CPU:1"}
    for op in graph.operations:
        op.device = wishes.get(op.type)
    wished, x = dt.function(graph), ops.convert(X)
    assert [s.device for s in wished.plan(x).segments] == [SECOND, FIRST]
    check(wished, f, x)
    for op in graph.operations:
        op.device = op.device and "/device:GPU:5"
    assert len(wished.plan(x).segments) == 1
    check(wished, f, x)


def check_made_there():
    """Check all functions of a program that make values without inputs."""

    def f(x):
        return ops.ones_like(x), ops.shape(x), ops.random.normal(ops.random.key(ops.shape(x)[0]), (4,))

    graph = dt.function(f).graph(dt.spec((2, None)))
    for op in graph.operations:
        op.device = SECOND
    x = ops.convert(X)
    results, expected = dt.function(graph)(x), f(x)
    assert [r.device for r in results] == [SECOND] * 3
    for r, e in zip(results, expected, strict=True):
        np.testing.assert_allclose(r.numpy(), e.numpy(), rtol=1e-6)


def check_loops():
    def loop(x):
        return ops.scan(lambda s, row: (ops.tanh(s + row) * 2.0, s), x[0], x)[1]

    f = dt.function(graph_of(loop, dt.spec((2, 3)), Tanh=SECOND))
    x = ops.convert(X)
    assert any("Tanh" in line and SECOND in line for line in lines(f, x))
    check(f, loop, x)


def check_variables():
    """Check that variables are lent to the segment that computes, and live on the device of their new value."""
    v, w, rate = dt.Variable(np.zeros(3, "float32")), dt.Variable(np.zeros(3, "float32")), dt.Variable(0.5)

    def step():
        v.assign(v + rate)
        w.assign(ops.exp(w * rate))

    f = dt.function(graph_of(step, Exp=SECOND))
    for n in range(1, 4):
        f()
        assert (v.device, w.device) == (FIRST, SECOND) and (v.numpy() == n / 2).all()
    before = w.numpy()
    dt.function(step)()
    np.testing.assert_allclose(w.numpy(), np.exp(before / 2), rtol=1e-6)


def check_errors():
    graph = graph_of(lambda x: ops.exp(x), dt.spec((2, 3)), Exp="gpu:7")
    for name in ("gpu:7", "gpu", 3):
        graph.get_operation("Exp").device = name
        try:
            with soft_placement_of_run(False):
                dt.function(graph)(X)
        except ValueError as error:
            said = str(error)
        known = ", ".join(get_engine(dt.ops.convert(X).engine).devices())
        assert said.startswith("Exp at several_devices.py:") and f"the device {name!r}, but" in said and known in said
    for name in ("cpu", SECOND):
        graph.get_operation("Exp").device = name
        np.testing.assert_allclose(dt.function(graph)(X).numpy(), np.exp(X), rtol=1e-6)


def check_k_functions():
    x = K.placeholder((None, 3))
    y = K.exp(x)
    y.op.device = SECOND
    np.testing.assert_allclose(K.function([x], [y * 2.0])([X])[0], 2 * np.exp(X), rtol=1e-6)
    K.clear_session()


def split_processor(name):
    """Make two devices of TensorFlow's processor, before it is used; for JAX, $XLA_FLAGS does so."""
    if name == "tensorflow":
        config = importlib.import_module(name).config
        (processor,) = config.list_physical_devices("CPU")
        config.set_logical_device_configuration(processor, [config.LogicalDeviceConfiguration()] * 2)


def main(name):
    split_processor(name)
    dt.set_engine(name)
    check_segments(name)
    check_results()
    check_wishes(name)
    check_made_there()
    check_loops()
    check_variables()
    check_errors()
    check_k_functions()
    check_pins(8, [(name, None), (name, FIRST), (name, SECOND), ("numpy", None)])


if __name__ == "__main__":
    main(sys.argv[1])

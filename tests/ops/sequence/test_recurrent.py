"""LSTM and GRU as one op: against loops that are written step by step, on every engine, with their gradients."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

BATCH, STEPS, FEATURES, UNITS = 3, 5, 4, 2


def lstm_by_steps(x, h, c, kernel, recurrent, bias):
    outputs = []
    for step in range(STEPS):
        i, f, g, o = ops.split(x[:, step] @ kernel + h @ recurrent + bias, 4, -1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        outputs.append(h)
    return ops.stack(outputs, 1), h, c


def gru_by_steps(x, h, kernel, recurrent, bias):
    outputs = []
    for step in range(STEPS):
        x_z, x_r, x_n = ops.split(x[:, step] @ kernel + bias[0], 3, -1)
        h_z, h_r, h_n = ops.split(h @ recurrent + bias[1], 3, -1)
        z = ops.sigmoid(x_z + h_z)
        h = z * h + (1 - z) * ops.tanh(x_n + ops.sigmoid(x_r + h_r) * h_n)
        outputs.append(h)
    return ops.stack(outputs, 1), h


LAYERS = {"lstm": lstm_by_steps, "gru": gru_by_steps}


def arguments(rng, name):
    gates, count = {"lstm": (4, 2), "gru": (3, 1)}[name]
    wide = gates * UNITS
    bias = (2, wide) if name == "gru" else (wide,)
    shapes = [(BATCH, STEPS, FEATURES), *[(BATCH, UNITS)] * count, (FEATURES, wide), (UNITS, wide), bias]
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_are_their_loops(engine, name, dtype, rng):
    given = arguments(rng, name)
    with dt.engine("numpy"):
        wanted = LAYERS[name](*map(ops.convert, given))
    for found, expected in zip(getattr(ops, name)(*[a.astype(dtype) for a in given]), wanted, strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_no_steps(engine, name, rng):
    """Check that the states and their gradients stay."""
    x, *given = [ops.convert(a) for a in arguments(rng, name)]
    states = given[: len(given) - 3]

    def layer(*given):
        with dt.GradientTape() as tape:
            for tensor in given:
                tape.watch(tensor)
            outputs, *last = getattr(ops, name)(*given)
            loss = sum(ops.sum(state) for state in last)
        return outputs, last, tape.gradient(loss, list(given))

    for way in (layer, dt.function(layer)):
        outputs, last, gradients = way(x[:, :0], *given)
        assert outputs.shape == (BATCH, 0, UNITS)
        for found, state in zip(last, states, strict=True):
            assert found.numpy().tolist() == state.numpy().tolist()
        sums = [float(ops.sum(gradient)) for gradient in gradients]
        assert sums == [0.0, *[BATCH * UNITS] * len(states), 0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_a_loop(engine, name, rng):
    """Check all outputs, by all arguments, against a loop that is written step by step and taped."""
    given = [ops.convert(a) for a in arguments(rng, name)]
    weights = [rng.normal(size=shape) for shape in ((BATCH, STEPS, UNITS), *[(BATCH, UNITS)] * (len(given) - 4))]

    def gradients(layer, *given):
        with dt.GradientTape() as tape:
            for tensor in given:
                tape.watch(tensor)
            loss = sum(ops.sum(y * w) for y, w in zip(layer(*given), weights, strict=True))
        return tape.gradient(loss, list(given))

    wanted = gradients(LAYERS[name], *given)
    compiled = dt.function(lambda *given: gradients(getattr(ops, name), *given))
    for way in (lambda *given: gradients(getattr(ops, name), *given), compiled):
        for found, expected in zip(way(*given), wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-8, 1e-10)


@pytest.mark.parametrize("name", LAYERS)
def test_no_features(engine, name, rng):
    """Check that the states alone count, as with features that are 0."""
    given = arguments(rng, name)
    at = len(given) - 3

    def gradients(width):
        tensors = [
            ops.convert(a) for a in (given[0][..., :width] * 0, *given[1:at], given[at][:width], *given[at + 1 :])
        ]
        with dt.GradientTape() as tape:
            for tensor in tensors:
                tape.watch(tensor)
            loss = squares(getattr(ops, name)(*tensors))
        return [loss, *tape.gradient(loss, tensors)]

    nothing, zero = gradients(0), gradients(1)
    for place, (found, expected) in enumerate(zip(nothing, zero, strict=True)):
        if place in (1, 1 + at):  # these are the gradients of the features and their weights
            assert 0 in found.shape
        else:
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-8, 1e-10)


def squares(values):
    return sum(ops.sum(ops.square(value)) for value in values)


def slopes_of_slopes(name, differentiate, given):
    """The gradients of the squares of gradients, by a function `differentiate`."""
    return differentiate(
        lambda *given: squares(differentiate(lambda *x: squares(getattr(ops, name)(*x)), *given)), *given
    )


def by_tape(function, *given):
    with dt.GradientTape() as tape:
        for tensor in given:
            tape.watch(tensor)
        loss = function(*given)
    return tape.gradient(loss, list(given), unconnected_gradients="zero")


def by_jax(function, *given):
    jax = pytest.importorskip("jax")
    return jax.grad(function, tuple(range(len(given))))(*given)


def by_tensorflow(function, *given):
    tf = pytest.importorskip("tensorflow")
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = function(*given)
    return tape.gradient(loss, given, unconnected_gradients="zero")


def by_jit(function, signature):
    return pytest.importorskip("jax").jit(function)


def by_tf_function(function, signature):
    tf = pytest.importorskip("tensorflow")
    specs = [tf.TensorSpec(spec.shape, spec.dtype.name) for spec in signature]
    return tf.function(function, input_signature=specs, autograph=False)


SECOND = {  # the differentiation, and the compilation of a program of it
    "Dovetail": (by_tape, lambda function, signature: dt.function(function, input_signature=signature)),
    "jax": (by_jax, by_jit),
    "tensorflow": (by_tensorflow, by_tf_function),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("library", SECOND)
def test_second_derivatives_without_steps_of_unknown_shapes(library, name, rng):
    differentiate, program = SECOND[library]
    x, *given = [a.astype("float32") for a in arguments(rng, name)]
    given = [x[:, :0], *given]
    with dt.engine("numpy"):
        wanted = slopes_of_slopes(name, by_tape, list(map(ops.convert, given)))
    run = program(
        lambda *given: slopes_of_slopes(name, differentiate, given), [dt.spec([None] * a.ndim) for a in given]
    )
    for found, expected in zip(run(*given), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found), expected.numpy(), 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        (((3, 4), (3, 2), (3, 2), (4, 8), (2, 8)), "batch, steps, features"),
        (((3, 5, 4), (2, 2), (3, 2), (4, 8), (2, 8)), r"\(3, None\)"),
        (((3, 5, 4), (3, 2), (3, 3), (4, 8), (2, 8)), r"\(3, 2\)"),
        (((3, 5, 4), (3, 2), (3, 2), (4, 6), (2, 8)), r"\(4, 8\)"),
        (((3, 5, 4), (3, 2), (3, 2), (4, 8), (2, 8), (2, 8)), r"\(8,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, problem):
    with pytest.raises(ValueError, match=problem):
        ops.lstm(*[np.zeros(shape, "float32") for shape in shapes])

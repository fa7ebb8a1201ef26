"""Ops on KerasTensors and Keras variables, on the backend of Keras that runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from tests.keras_backends import main

ON_DOVETAIL = os.environ.get("KERAS_BACKEND") == "dovetail"
OF_STOCK = {  # checks that hold only if Keras computes with another library
    "check_what_is_traced_is_no_value_of_a_variable",  # Dovetail's programs assign variables
    "check_errors_name_the_op_and_the_line",  # Keras' layers take K's placeholders
    "check_a_tape_does_not_follow_what_keras_has",  # tapes follow Keras' variables
}
X = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")


def inputs():
    return keras.Input((4,), name="x")


def close(found, wanted):
    found = [keras.ops.convert_to_numpy(v) for v in keras.tree.flatten(found)]
    wanted = [np.asarray(v) for v in keras.tree.flatten(wanted)]
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and str(a.dtype) == str(b.dtype), (a.shape, a.dtype, b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def holds(x, y, wanted):
    """Check a model's predictions: as it is made, saved and loaded, and cloned."""
    model = keras.Model(x, y)
    close(model.predict(X, verbose=0), wanted)
    for again in (loaded(model), keras.models.clone_model(model)):
        close(again(X, training=False), wanted)  # `predict` would compile the same program again


def loaded(model):
    """The model, saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.keras")
        model.save(path)
        return keras.saving.load_model(path)


# -- ops --------------------------------------------------------------------------------------------------------------


def check_ops():
    x = inputs()
    y = ops.softmax(ops.matmul(x, np.eye(4, dtype="float32") * 2))
    assert isinstance(y, keras.KerasTensor) and y.shape == (None, 4) and y.dtype == "float32"
    exp = np.exp(2 * X)
    holds(x, y, exp / exp.sum(-1, keepdims=True))


def check_operators():
    x, two = inputs(), ops.constant([2.0] * 4)
    holds(x, [x * two, two - x, ops.absolute(x) ** 2.0 / 3, ops.tanh(x)[:, ::-2], -ops.exp(x) + x], [
        X * 2, 2 - X, X**2 / 3, np.tanh(X)[:, ::-2], X - np.exp(X),
    ])  # fmt: skip


def check_custom_gradients_are_for_layers():
    twice = dt.custom_gradient(lambda a: (a * 2.0, lambda g: g))

    class Twice(keras.layers.Layer):
        def call(self, x):
            return twice(x)

    for symbolic in (False, True):  # K's default graph is not the model's
        if symbolic:
            K.placeholder((2,))
        x = inputs()
        with pytest.raises(TypeError, match=r"functional model of Keras.* in the `call` of a keras.layers.Layer"):
            twice(x)
        close(keras.Model(x, Twice()(x)).predict(X, verbose=0), X * 2)
    K.clear_session()


def check_equality_is_identity():
    y = ops.tanh(inputs())
    assert y == y and y != 0 and y in [y] and len({y, y}) == 1


def check_several_results_and_lists():
    x = inputs()
    a, b, c, d = ops.unstack(x, axis=-1)
    holds(x, [ops.stack([d, a]), ops.concatenate([x, np.ones((1, 4), "float32")], 0)], [
        np.stack([X[:, 3], X[:, 0]]), np.concatenate([X, np.ones((1, 4), "float32")]),
    ])  # fmt: skip
    assert b.shape == c.shape == (None,)


def check_shapes_that_are_tensors():
    x = inputs()
    batch, width = ops.shape(x)[0], ops.shape(x)[1]
    halves = ops.reshape(x, [batch, width // 2, 2])
    assert halves.shape == (None, 2, 2)
    flat = ops.reshape(x, ops.concatenate([ops.shape(x)[:1], [2, 2]]))
    assert flat.shape == (None, 2, 2)
    holds(x, [halves, flat, ops.tile(x, [width, 1])], [X.reshape(5, 2, 2), X.reshape(5, 2, 2), np.tile(X, (4, 1))])


def check_constants_keep_their_bits():
    x = inputs()
    scalar = np.float32(0.1)
    infinite = np.array([np.inf, -np.inf, np.nan, 0.1], "float32")
    holds(x, [ops.add(x, scalar), ops.where(x > 100.0, x, infinite)], [X + scalar, np.broadcast_to(infinite, X.shape)])


def check_a_variable_is_saved_with_its_value():
    x, variable = inputs(), dt.Variable([1.0, 2.0, 3.0, 4.0], name="v", trainable=False)
    y = [ops.multiply(x, variable), ops.map_fn(lambda row: row + variable, x)]
    holds(x, y, [X * variable.numpy(), X + variable.numpy()])
    model = keras.Model(x, y)
    model.predict(X, verbose=0)
    K.set_value(variable, [0.0] * 4)
    close(model.predict(X, verbose=0), [X * 0, X])


def check_a_variable_that_is_not_trained_is_told_of():
    with pytest.warns(UserWarning, match="'w' is not trained with this functional model.*add_weight") as told:
        keras.Model(x := inputs(), K.dot(x, K.variable(np.ones((4, 1)), name="w")))
    assert Path(told[0].filename).name == Path(__file__).name


def check_what_is_traced_is_no_value_of_a_variable():
    variable = K.variable(0.0, name="v")

    class Mean(keras.layers.Layer):
        def call(self, x):
            K.update(variable, K.mean(x))
            return x

    Mean()(X)
    np.testing.assert_allclose(K.get_value(variable), X.mean(), rtol=1e-5)
    if keras.backend.backend() != "torch":  # torch traces nothing
        with pytest.raises(ValueError, match=r"K.update: .*'v' cannot be assigned a .* is tracing.*add_weight"):
            Mean()(inputs())
    np.testing.assert_allclose(K.get_value(variable), X.mean(), rtol=1e-5)


def check_keras_variables():
    weight = keras.Variable(np.full((4, 2), 0.5, "float32"))
    value = ops.matmul(keras.ops.convert_to_tensor(X), weight)
    assert keras.ops.is_tensor(value)
    close(value, X @ np.full((4, 2), 0.5, "float32"))
    close(ops.reshape(weight, [2, -1]), np.full((2, 4), 0.5, "float32"))
    close(keras.Model(x := inputs(), ops.matmul(x, weight)).predict(X, verbose=0), X @ np.full((4, 2), 0.5, "float32"))


def check_a_keras_variable_in_an_op_is_a_weight_of_the_model():
    scale = keras.Variable(np.ones(4, "float32"), name="scale")
    outer = keras.Variable(np.ones(4, "float32"), trainable=False, name="outer")
    x = inputs()
    model = keras.Model(x, ops.map_fn(lambda row: ops.add(row, outer), ops.multiply(x, scale)))
    assert model.trainable_weights == [scale] and model.non_trainable_weights == [outer]
    close(model.predict(X, verbose=0), X + 1)
    scale.assign([2.0, 3.0, 4.0, 5.0])
    outer.assign([0.0, 0.0, 0.0, 1.0])
    for made in (model, loaded(model)):
        close(made.predict(X, verbose=0), X * np.float32([2, 3, 4, 5]) + np.float32([0, 0, 0, 1]))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(X, X, epochs=1, verbose=0)
    assert (keras.ops.convert_to_numpy(scale) != [2, 3, 4, 5]).all()


def check_errors_name_the_op_and_the_line():
    with pytest.raises(ValueError, match=r"MatMul at keras_checks.py:\d+.*inner dimensions"):
        ops.matmul(inputs(), np.ones((3, 2), "float32"))
    graph_tensor = dt.Graph("g").placeholder(dt.spec((4,)))
    with pytest.raises(TypeError, match=r"graph.*KerasTensor cannot meet"):
        ops.add(inputs(), graph_tensor)
    for use in (keras.layers.Dense(2), keras.ops.relu, keras.Sequential([keras.layers.Dense(2)])):
        with pytest.raises(TypeError, match=r"at keras_checks.py:\d+: Keras needs a value.*use keras.Input"):
            use(K.placeholder((None, 4)))
    K.clear_session()
    with pytest.raises(ValueError, match="no op 'Nonsense'"):
        from dovetail.interop.keras.calls import OpCall

        OpCall("Nonsense")


# -- control flow -----------------------------------------------------------------------------------------------------


def check_loops():
    x = inputs()
    outer = x * 3.0
    total, sums = ops.scan(lambda carry, row: (carry + row, ops.sum(carry)), ops.zeros((4,)), x)
    count, grown = ops.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2 + outer), (0, x))
    holds(x, [ops.map_fn(lambda row: ops.sum(row) * 2, x), total, sums, ops.reshape(count, (1,)), grown], [
        X.sum(-1) * 2,
        X.sum(0),
        np.concatenate([[0], np.cumsum(X, 0)[:-1].sum(-1)]).astype("float32"),
        np.array([3], np.int32),
        X * 8 + 3 * X * 7,
    ])  # fmt: skip


def check_branches():
    x = inputs()
    outer = ops.exp(x)
    positive = ops.sum(x) > 1e6
    holds(x, [ops.cond(positive, lambda: outer + 1, lambda: outer), ops.switch(positive, x, ops.zeros_like(x))], [
        np.exp(X), np.zeros_like(X),
    ])  # fmt: skip
    with pytest.raises(ValueError, match=r"If at keras_checks.py:\d+: a result of both branches must have one rank"):
        ops.cond(positive, lambda: x, lambda: ops.sum(x))


def check_captures_have_any_name():
    """Check that names like Keras' own, and names that start again, do not decide what a body captures."""
    x = keras.Input((4,), batch_size=5, name="keras_tensor_7000")
    older = [x * 1.0 for _ in range(9)]
    outer = keras.layers.Dense(4, kernel_initializer="ones", name="keras_tensor_7")(older[-1])
    positive = ops.sum(x) > 1e6
    keras.backend.clear_session()  # names of tensors start at 0 again
    y = ops.cond(positive, lambda: outer + 1, lambda: outer * 2.0)
    model = keras.Model(x, y)
    assert "keras_tensor_7" in [layer.name for layer in model.layers]  # it is a capture, not a part of the branches
    close(model.predict(X, verbose=0), np.repeat(X.sum(-1, keepdims=True) * 2, 4, -1))


def check_rnn():
    x = inputs()
    steps = ops.expand_dims(x, -1)
    last, outputs, _ = ops.rnn(lambda i, s: (i + s[0], [i + s[0]]), steps, [ops.zeros_like(steps[:, 0])])
    holds(x, [last[:, 0], outputs[:, :, 0]], [X.sum(-1), np.cumsum(X, -1)])


def check_layers_inside_functions_are_trained_and_saved():
    x = inputs()
    dense = keras.layers.Dense(1, kernel_initializer="ones")
    y = ops.map_fn(lambda row: dense(ops.reshape(row, (1, 4)))[0], x)
    model = keras.Model(x, y)
    assert len(model.trainable_weights) == 2
    model.compile(keras.optimizers.SGD(0.1), "mse")
    before = model.evaluate(X, np.zeros((5, 1)), verbose=0)
    model.fit(X, np.zeros((5, 1)), epochs=5, verbose=0)
    assert model.evaluate(X, np.zeros((5, 1)), verbose=0) < before / 2
    close(loaded(model).predict(X, verbose=0), model.predict(X, verbose=0))


def check_a_layer_may_be_inside_and_outside_of_functions():
    x = inputs()
    dense = keras.layers.Dense(4)
    rows = ops.map_fn(lambda row: dense(ops.reshape(row, (1, 4)))[0], x)
    model = keras.Model(x, [dense(rows), ops.map_fn(lambda row: dense(ops.reshape(row, (1, 4)))[0], rows)])
    again = loaded(model)
    assert len(again.weights) == 2
    close(again.predict(X, verbose=0), model.predict(X, verbose=0))


def check_dropout_inside_functions_knows_the_phase():
    x = inputs()
    drop = keras.layers.Dropout(0.5, seed=1)
    model = keras.Model(x, ops.map_fn(lambda row: drop(row), ops.ones_like(x)))
    zeros = [np.count_nonzero(keras.ops.convert_to_numpy(model(X, training=t)) == 0) for t in (False, True)]
    assert zeros[0] == 0 < zeros[1]


def check_what_layers_inside_functions_remember():
    x = inputs()
    drop, dense = keras.layers.Dropout(0.5, seed=1), keras.layers.Dense(4, use_bias=False)
    norm = keras.layers.BatchNormalization(momentum=0.5)

    def row(r):
        return drop(dense(norm(ops.reshape(r, (1, 4)))))[0]

    rows = ops.map_fn(row, x)
    both = ops.cond(ops.sum(x) > 1e6, lambda: rows, lambda: drop(rows + 1.0))
    _, last = ops.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, drop(v)), (0, ops.stop_gradient(both)))
    model = keras.Model(x, [rows, last])
    model.compile(keras.optimizers.SGD(0.1), ["mse", "mse"])
    before = model.get_weights()
    model.fit(X, [X, X], epochs=2, shuffle=False, verbose=0)
    kernel = next(i for i, w in enumerate(model.weights) if w is dense.kernel)
    assert (model.get_weights()[kernel] != before[kernel]).all()
    drawn = [keras.ops.convert_to_numpy(model(X + 1.0, training=True)[0]) == 0 for _ in range(2)]
    assert (drawn[0] != drawn[1]).any() and len({tuple(r) for r in drawn[0]}) > 1
    moved = keras.ops.convert_to_numpy(norm.moving_mean)
    wanted = np.zeros(4)
    for r in np.concatenate([X, X, X + 1.0, X + 1.0]):
        wanted = (wanted + r) / 2
    np.testing.assert_allclose(moved, wanted, rtol=1e-4)


# -- random numbers ---------------------------------------------------------------------------------------------------


def check_random_numbers_are_new_in_each_call():
    x = inputs()
    model = keras.Model(x, ops.random.normal(ops.random.key(3), ops.shape(x)))
    first, second = model.predict(X, verbose=0), model.predict(X, verbose=0)
    assert first.shape == X.shape and (first != second).all()


# -- the learning phase ----------------------------------------------------------------------------------------------


def check_the_phase_is_what_the_model_is_told():
    x = inputs()
    calls = []

    def noisy():
        calls.append("noisy")
        return x + 1000.0 * K.random_uniform(K.shape(x), minval=1.0, maxval=2.0)

    halves = K.in_test_phase(x * 0.5, lambda: x)
    model = keras.Model(x, [K.in_train_phase(noisy, x), halves])
    assert calls == ["noisy"]
    for made in (model, loaded(model), keras.models.clone_model(model)):
        close(made.predict(X, verbose=0), [X, X * 0.5])
        drawn = [keras.ops.convert_to_numpy(made(X, training=True)[0]) for _ in range(2)]
        assert (drawn[0] > 900).all() and (drawn[0] != drawn[1]).all()
        close(made(X, training=True)[1], X)
    close(K.function([x, K.learning_phase()], [halves])([X, 1])[0], X)
    close(K.function([x, K.learning_phase()], [halves])([X, 0])[0], X * 0.5)


def check_the_phase_is_followed_by_fit():
    x = inputs()
    scale = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
    y = K.in_train_phase(lambda: scale(x), lambda: scale(x) + K.constant([[100.0]]))
    model = keras.Model(x, y * 1.0)
    assert len(model.trainable_weights) == 1
    model.compile(keras.optimizers.SGD(0.1), "mse")
    losses = model.fit(X, np.zeros((5, 1)), epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0] < 100.0 < model.evaluate(X, np.zeros((5, 1)), verbose=0)


def check_the_phase_that_is_set_is_built_in():
    x = inputs()
    with K.learning_phase_scope(1):
        y = K.in_train_phase(lambda: x + 1.0, x)
    with K.learning_phase_scope(0):
        z = K.in_train_phase(lambda: x + 1.0, x)
    assert z is x
    holds(x, [y, K.in_train_phase(x, x * 2.0, training=True)], [X + 1, X])


def check_what_depends_on_the_phase_has_one_rank():
    x = inputs()
    with pytest.raises(ValueError, match=r"K.in_train_phase at keras_checks.py:\d+: .*must have one rank"):
        K.in_train_phase(lambda: K.sum(x), x)
    with pytest.raises(ValueError, match=r"K.in_train_phase at keras_checks.py:\d+: .*must have one structure"):
        K.in_train_phase(lambda: [x, x], x)
    assert K.in_train_phase(lambda: 1 / 0, lambda: "testing") == "testing"


# -- functions and gradients ------------------------------------------------------------------------------------------


def classifier():
    """A small model, and its tensors: the input, an inner one, the result."""
    keras.utils.set_random_seed(0)
    x = inputs()
    inner = keras.layers.Dense(6, activation="tanh", name="inner")(x)
    return x, inner, keras.layers.Dense(3, activation="softmax")(inner)


def differences(f, x, step=1e-2):
    """The gradient of a number-valued function by central differences."""
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        found[index] = (f(moved[0]) - f(moved[1])) / (2 * step)
    return found


def check_k_function():
    x, inner, y = classifier()
    model = keras.Model(x, y)
    hidden, result = K.function([x], [inner, y])([X])
    np.testing.assert_allclose(result, model.predict(X, verbose=0), rtol=1e-5)
    np.testing.assert_allclose(K.function([inner], [y])([hidden])[0], result, rtol=1e-5)
    with pytest.raises(ValueError, match=r"also depend on .*must be among the inputs"):
        K.function([inputs()], [y])
    dropped = keras.layers.Dropout(0.5, seed=1)(x)
    told = K.function([x, K.learning_phase()], [dropped])
    assert (told([X, 0])[0] == X).all() and (told([X, 1])[0] == 0).any()


def check_gradients():
    x, inner, y = classifier()
    loss = K.sum(K.square(y[:, 1]))
    of_x, of_inner, none = K.gradients(loss, [x, inner, inputs()])
    assert none is None and of_x.shape == x.shape and of_inner.shape == inner.shape
    value, found, hidden, found_inner = K.function([x], [loss, of_x, inner, of_inner])([X])
    assert np.shape(value) == ()
    f, of_hidden = K.function([x], [loss]), K.function([inner], [loss])
    np.testing.assert_allclose(found, differences(lambda v: f([v])[0], X), atol=2e-3)
    np.testing.assert_allclose(found_inner, differences(lambda v: of_hidden([v])[0], hidden), atol=2e-3)


def check_gradients_of_gradients():
    x, _, y = classifier()
    penalty = K.sum(K.square(K.gradients(K.sum(K.square(y[:, 1])), x)[0]))
    f = K.function([x], [penalty])
    found = K.function([x], K.gradients(penalty, x))([X])[0]
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, differences(lambda v: f([v])[0], X), atol=2e-3)


def check_a_gradient_penalty_is_trained():
    x, _, y = classifier()
    slope = K.gradients(y[:, 1] * 10.0, x)[0]
    model = keras.Model(x, K.sqrt(K.sum(K.square(slope), axis=-1)))
    assert len(model.trainable_weights) == 4
    model.compile(keras.optimizers.Adam(0.02), "mse")
    losses = model.fit(X, np.ones(5), epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


def check_a_model_with_gradients_is_saved():
    x, _, y = classifier()
    slope = K.gradients(y[:, 1], x)[0]
    for outputs in ([y, slope], [slope, K.gradients(K.sum(K.square(slope)), x)[0]]):
        model = keras.Model(x, outputs)
        again = loaded(model)
        assert len(again.weights) == len(model.weights) == 4
        close(again.predict(X, verbose=0), model.predict(X, verbose=0))
        again.set_weights([w * 2 for w in again.get_weights()])  # the layers inside and outside share weights
        model.set_weights([w * 2 for w in model.get_weights()])
        close(again.predict(X, verbose=0), model.predict(X, verbose=0))
    with pytest.raises(NotImplementedError, match="save the model to a file"):
        keras.models.clone_model(model)


def check_integers_have_no_gradient():
    x, _, y = classifier()
    whole = keras.Input((2,), dtype="int32")
    assert K.gradients(K.sum(y), [whole]) == [None] == K.gradients(K.argmax(y), [x])


def check_gradients_by_weights():
    x, inner, y = classifier()
    norm = keras.layers.BatchNormalization()
    loss = K.mean(K.square(norm(y)[:, 1] - 1.0))
    model = keras.Model(x, [y, loss])
    weights = model.trainable_weights
    *slopes, of_inner, none = K.gradients(loss, [*weights, inner, keras.layers.Dense(1).add_weight(shape=(2,))])
    assert none is None and [g.shape for g in slopes] == [w.shape for w in weights]
    f = K.function([x], [loss, *slopes, of_inner])
    value, *found, _ = f([X])
    for weight, slope in zip(weights, found, strict=True):
        start = keras.ops.convert_to_numpy(weight)

        def moved(array, weight=weight):
            weight.assign(array)
            return f([X])[0]

        np.testing.assert_allclose(slope, differences(moved, start), atol=2e-3)
        weight.assign(start)
    assert f([X])[0] == value and max(np.abs(slope).max() for slope in found) > 1e-2
    with pytest.raises(TypeError, match=r"its tensors and weights, not to float32\[100,10\]; make it a weight"):
        K.gradients(loss, K.ones((100, 10)))


def check_a_model_with_gradients_by_weights_is_trained_and_saved():
    x, _, y = classifier()
    kernel = keras.Model(x, y).trainable_weights[0]
    model = keras.Model(x, [y, K.sum(K.square(K.gradients(5.0 * y[:, 1], kernel)[0]))[None]])
    again = loaded(model)
    close(again.predict(X, verbose=0), model.predict(X, verbose=0))
    again.set_weights([w * 2 for w in again.get_weights()])
    model.set_weights([w * 2 for w in model.get_weights()])
    close(again.predict(X, verbose=0), model.predict(X, verbose=0))
    total = keras.Model(x, model.outputs[1] * K.ones_like(y[:, 0]))
    total.compile(keras.optimizers.Adam(0.02), "mse")
    losses = total.fit(X, np.ones(5), epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


def check_a_function_updates_what_a_model_has():
    x, _, y = classifier()
    wanted, rate, steps = (
        keras.Input((3,)),
        dt.Variable(0.5, trainable=False),
        keras.Variable(0, dtype="int32", trainable=False),
    )
    loss = K.mean(K.square(y - wanted))
    weights = keras.Model(x, y).trainable_weights
    slopes = K.gradients(loss, weights)
    updates = [K.update_sub(w, rate * g) for w, g in zip(weights[:2], slopes[:2], strict=True)]
    updates += [(w, ops.subtract(w, rate * g)) for w, g in zip(weights[2:], slopes[2:], strict=True)]
    step = K.function([x, wanted], [loss], updates=[*updates, (steps, 7)])
    target = np.eye(3, dtype="float32")[[0, 1, 2, 0, 1]]
    losses = [float(step([X, target])[0]) for _ in range(30)]
    assert losses[-1] < losses[0] / 2 and int(keras.ops.convert_to_numpy(steps)) == 7
    start = keras.ops.convert_to_numpy(weights[0])
    K.set_value(rate, 0.0)
    step([X, target])
    assert (keras.ops.convert_to_numpy(weights[0]) == start).all()
    with pytest.raises(TypeError, match=r"K.function at keras_checks.py:\d+: an update is a result of K.update"):
        K.function([x], [y], updates=[y])


def check_a_tape_does_not_follow_what_keras_has():
    weight = keras.Variable(np.ones(3, "float32"))
    with dt.GradientTape(persistent=True) as tape:
        loss = ops.sum(dt.Variable([1.0, 2.0]))
    for source in (weight, inputs()):
        with pytest.raises(TypeError, match=r"GradientTape\.gradient at keras_checks.py:\d+: .* of Keras .*K\.grad"):
            tape.gradient(loss, source)
        with pytest.raises(TypeError, match=r"GradientTape\.watch"):
            tape.watch(source)


# -- loading ----------------------------------------------------------------------------------------------------------


def check_a_fresh_process_loads():
    x = inputs()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.keras")
        keras.Model(x, ops.map_fn(ops.sum, ops.tanh(x) * ops.constant([1.0] * 4))).save(path)
        orders = ("import dovetail, keras", "import keras, dovetail", "import dovetail.backend, keras")
        for imports in orders if keras.backend.backend() == "jax" else orders[:1]:  # all backends have the same order
            first = "import keras_dovetail; " if ON_DOVETAIL else ""
            program = f"{first}{imports}; keras.saving.load_model({path!r})"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


GIVEN = {  # functions of K and ops, as a program may give them to layers
    "activation": lambda: keras.layers.Dense(3, activation=ops.sigmoid),
    "functions": lambda: keras.layers.Activation(ops.gelu),  # Keras has another of this name
    "K's": lambda: keras.layers.Dense(3, activation=K.hard_sigmoid),
    "Keras' names": lambda: keras.layers.Dense(3, activation=K.tanh),
    "Lambda": lambda: keras.layers.Lambda(K.square, output_shape=(4,)),
    "arguments": lambda: keras.layers.Lambda(ops.cumsum, output_shape=(4,), arguments={"axis": 1}),
    "regularizer": lambda: keras.layers.Dense(3, kernel_regularizer=ops.sum),
    "constraint": lambda: keras.layers.Dense(3, kernel_constraint=ops.softsign),
}
if ON_DOVETAIL:
    GIVEN["initializer"] = lambda: keras.layers.Dense(3, kernel_initializer=K.ones, bias_initializer=ops.ones)


def check_functions_that_layers_are_given_are_saved():
    with tempfile.TemporaryDirectory() as folder:
        for name, make in GIVEN.items():
            model = keras.Sequential([keras.Input((4,)), make()])
            config = model.layers[-1].get_config()
            assert type(model.layers[-1]).from_config(dict(config)).get_config() == config, name
            wanted = model.predict(X, verbose=0)
            for ending in ("keras", "h5"):
                path = str(Path(folder) / f"model.{ending}")
                model.save(path)
                close(keras.saving.load_model(path).predict(X, verbose=0), wanted)
        assert keras.layers.Dense(3, activation=K.tanh).get_config()["activation"] == "tanh"
        model = keras.Sequential(
            [keras.Input((4,)), *(GIVEN[name]() for name in ("activation", "functions", "Lambda"))]
        )
        model.save(path := str(Path(folder) / "fresh.keras"))
        program = f"import {'keras_dovetail, ' * ON_DOVETAIL}dovetail, keras; keras.saving.load_model({path!r})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def check_functions_with_keras_names_compute_the_same():
    from dovetail.interop.keras.saving import OF_KERAS

    rows = np.abs(X) / np.abs(X).sum(1, keepdims=True)
    for name in OF_KERAS:
        if hasattr(keras.activations, name):
            close(getattr(K, name)(X), getattr(keras.activations, name)(X))
        else:
            truth = np.arange(5) % 4 if name.startswith("sparse") else rows
            found, wanted = (getattr(owner, name)(truth, rows) for owner in (K, keras.losses))
            close(ops.mean(found), keras.ops.mean(wanted))


if __name__ == "__main__":
    main({name: value for name, value in globals().items() if not (ON_DOVETAIL and name in OF_STOCK)})

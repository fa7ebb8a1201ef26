"""Checks that K and Keras agree if Keras runs on Dovetail: weights, models, placeholders, settings, phases."""

from __future__ import annotations

import threading

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
from keras import layers

import dovetail as dt
from dovetail import backend as K
from tests.keras_backends import ENGINES, main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(12, 3)).astype("float32"), RANDOM.normal(size=12).astype("float32")


def small():
    keras.utils.set_random_seed(1)
    x = keras.Input((3,))
    return keras.Model(x, layers.Dense(1, use_bias=True)(layers.Dense(4, "tanh")(x)))


def arrays(weights):
    return [np.array(w) for w in weights]


def by_tape(model, rate):
    """The loss, and the weights after a step of gradient descent."""
    with dt.GradientTape() as tape:
        loss = K.mean(K.square(K.flatten(model(X)) - Y))
    gradients = tape.gradient(loss, model.trainable_weights)
    pairs = zip(model.trainable_weights, gradients, strict=True)
    return float(loss), [np.array(w) - rate * g.numpy() for w, g in pairs]


def near(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# -- settings ---------------------------------------------------------------------------------------------------------


def check_settings_are_one():
    values = {"floatx": "float16", "epsilon": 1e-4, "image_data_format": "channels_first"}
    before = {name: getattr(K, name)() for name in values}
    places = (keras.config, keras.backend, K, dt.config)
    for name, value in values.items():
        for setter in places:
            getattr(setter, f"set_{name}")(value)
            seen = [getattr(each, name)() for each in places]
            thread = threading.Thread(target=lambda name=name, seen=seen: seen.append(getattr(keras.config, name)()))
            thread.start()
            thread.join()
            assert seen == [value] * len(seen)
            getattr(setter, f"set_{name}")(before[name])
    K.set_floatx("float64")
    try:
        assert keras.ops.ones(2).dtype == keras.Variable("ones", shape=()).dtype == K.ones((2,)).dtype == "float64"
    finally:
        keras.config.set_floatx("float32")


def check_wrong_settings_are_refused():
    for set_one in (keras.config.set_floatx, K.set_floatx, keras.config.set_image_data_format):
        with pytest.raises(ValueError, match="nonsense"):
            set_one("nonsense")
    keras.config.set_image_data_format("CHANNELS_LAST")
    assert keras.config.floatx() == "float32" and K.image_data_format() == "channels_last"


# -- weights ----------------------------------------------------------------------------------------------------------


def check_k_takes_weights():
    kernel = small().layers[1].kernel
    value = np.array(kernel)
    np.testing.assert_allclose(K.eval(K.sum(kernel)), value.sum(), rtol=1e-6)
    np.testing.assert_allclose(K.eval(K.dot(K.constant(X), kernel)), X @ value, rtol=1e-5)
    assert K.int_shape(kernel) == (3, 4) and K.dtype(kernel) == "float32" and K.is_variable(kernel)
    assert K.get_value(kernel).tolist() == K.batch_get_value([kernel])[0].tolist() == value.tolist()
    K.set_value(kernel, value + 1)
    K.update_add(kernel, K.ones_like(kernel))
    np.testing.assert_allclose(np.array(kernel), value + 2)


def check_operators_in_place_never_touch_a_weight():
    for name in ENGINES:
        with dt.engine(name):
            kernel = small().layers[1].kernel
            value = np.array(kernel)
            for start in (kernel, kernel.value, K.identity(kernel), K.reshape(kernel, (4, 3)), K.transpose(kernel)):
                changed = start
                changed += 1.0
                changed *= 2.0
                changed **= 2.0
                assert changed is not start
            K.eval(kernel)[:] = 0.0
            kernel.numpy()[:] = 0.0
            np.testing.assert_array_equal(np.array(kernel), value)


# -- models and placeholders ------------------------------------------------------------------------------------------


def check_a_function_trains_a_model():
    """Check updates from gradients of the model's output and a placeholder of targets."""
    for name in ENGINES:
        with dt.engine(name):
            model = small()
            wanted, weights = by_tape(model, 0.1)
            target = K.placeholder((None,))
            loss = K.mean(K.square(K.flatten(model.output) - target))
            gradients = K.gradients(loss, model.trainable_weights)
            updates = [K.update_sub(w, 0.1 * g) for w, g in zip(model.trainable_weights, gradients, strict=True)]
            train = K.function([model.input, target], [loss], updates=updates)
            near(train([X, Y]), [wanted])
            near(arrays(model.trainable_weights), weights)
            assert train([X, Y])[0] < wanted
            K.clear_session()


def check_models_take_placeholders():
    model = small()
    wanted, weights = by_tape(model, 0.1)
    x, target = K.placeholder((None, 3)), K.placeholder((None,))
    y = model(x)
    assert y.shape == (None, 1)
    loss = keras.losses.mean_squared_error(target, K.flatten(y))
    pairs = zip(model.trainable_weights, K.gradients(loss, model.trainable_weights), strict=True)
    step = K.function([x, target], [loss, y], updates=[(w, w - 0.1 * g) for w, g in pairs])
    found, before = step([X, Y])
    near([found], [wanted])
    near(arrays(model.trainable_weights), weights)
    assert (K.function([x], y)(X) != before).any()
    K.clear_session()
    near([model.predict(X, verbose=0)], [model(X).numpy()])


def check_expressions_of_weights_are_recorded():
    """Check expressions of weights while the default graph is open; so a penalty on weights has its gradient."""
    kernel = small().layers[1].kernel
    value = np.array(kernel)
    x = K.placeholder(())
    for penalty in (kernel * kernel, K.square(kernel), keras.ops.square(kernel)):
        loss = x * K.sum(penalty)
        found = K.function([x], K.gradients(loss, [kernel]))([0.5])[0]
        np.testing.assert_allclose(found, value, rtol=1e-6)
    loss = keras.regularizers.L2(0.5)(kernel) + x
    np.testing.assert_allclose(K.function([x], K.gradients(loss, kernel))([0.0])[0], value, rtol=1e-6)
    K.clear_session()


def check_keras_trains_while_the_default_graph_is_open():
    found = []
    for opened in (False, True):
        if opened:
            K.placeholder((2,))
        model = small()
        model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae", keras.metrics.R2Score()])
        history = model.fit(X, Y[:, None], epochs=2, verbose=0).history
        evaluated, trained = model.evaluate(X, Y[:, None], verbose=0), model.train_on_batch(X, Y[:, None])
        found.append([*history["loss"], *evaluated, *trained])
        assert model.predict(X, verbose=0).shape == (12, 1) and float(model.optimizer.iterations) == 3
    K.clear_session()
    near(*found)


def check_gradients_by_inputs_and_weights():
    model = small()
    kernel, bias = model.layers[-1].weights
    by_input, by_kernel, by_bias = K.gradients(K.sum(model.output), [model.input, kernel, bias])
    found = K.function([model.input], [by_input, by_kernel, by_bias])([X])
    with dt.GradientTape() as tape:
        x = dt.ops.convert(X)
        tape.watch(x)
        y = K.sum(model(x))
    near(found, [g.numpy() for g in tape.gradient(y, [x, kernel, bias])])


def check_layers_that_assign_do_so_in_each_run():
    class Counting(layers.Layer):
        def build(self, shape):
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            self.count.assign_add(1.0)
            return x + self.count

    layer, x = Counting(), K.placeholder((2,))
    f = K.function([x], layer(x))
    assert [f([[0.0, 1.0]]).tolist() for _ in range(2)] == [[1, 2], [2, 3]] and float(layer.count) == 2
    K.clear_session()
    drop, x = layers.Dropout(0.5), K.placeholder((200,))
    f = K.function([x], drop(x, training=True))
    assert (f(np.ones(200)) != f(np.ones(200))).any()
    K.clear_session()


def check_updates_of_functions_of_models():
    model = small()
    kernel = model.layers[1].kernel
    value = np.array(kernel)
    mean = K.mean(model.output)
    f = K.function([model.input], [mean], updates=[K.update_add(kernel, mean * K.ones((3, 4)))])
    np.testing.assert_allclose(np.array(kernel), value)
    found = f([X])[0]
    np.testing.assert_allclose(np.array(kernel), value + found, rtol=1e-6)


# -- computations of a model in K -------------------------------------------------------------------------------------


def noisy_loss(y_true, y_pred):
    return K.mean(K.square(y_true - y_pred)) * (1.0 + K.random_uniform(()))


def check_random_numbers_without_seeds_are_new_in_each_step():
    for name in ENGINES:
        with dt.engine(name):
            x = keras.Input((3,))
            model = keras.Model(x, layers.Lambda(lambda v: v + K.random_normal(K.shape(v)))(x))
            assert (model.predict(X, verbose=0) != model.predict(X, verbose=0)).all()
            model = small()
            model.compile(keras.optimizers.SGD(0.0), noisy_loss)
            assert len(set(model.fit(X, Y[:, None], epochs=4, batch_size=12, verbose=0).history["loss"])) == 4


def check_the_learning_phase_is_what_layers_are_told():
    class Phase(layers.Layer):
        def call(self, x, training=None):
            return K.in_train_phase(x * 0.0 + 1.0, x * 0.0) + 10.0 * float(K.learning_phase())

    x = keras.Input((3,))
    model = keras.Model(x, Phase()(x))
    assert set(model(X, training=True).numpy().ravel()) == {11} and set(model(X).numpy().ravel()) == {0}
    assert set(model.predict(X, verbose=0).ravel()) == {0}


def check_the_learning_phase_steers_layers_that_placeholders_meet():
    """Check that dropout and averages follow the fed phase, also through a model; without training nothing changes."""
    for name in ENGINES:
        with dt.engine(name):
            x = keras.Input((3,))
            normal, drop = layers.BatchNormalization(momentum=0.5), layers.Dropout(0.5, seed=1)
            model = keras.Model(x, drop(normal(x)))
            before = model.predict(X, verbose=0)
            trained = (X - X.mean(0)) / np.sqrt(X.var(0) + normal.epsilon)
            mean = 0.5 * X.mean(0)

            given, phase = K.placeholder((None, 3)), K.learning_phase()
            y = model(given)
            f = K.function([given, phase], [y, K.gradients(K.sum(y), [normal.gamma])[0]])
            for _ in range(2):
                np.testing.assert_allclose(f([X, 0])[0], before, rtol=1e-5)
            first, second = (f([X, 1])[0] for _ in range(2))
            for found in (first, second):
                np.testing.assert_allclose(found[found != 0], 2 * trained[found != 0], rtol=1e-4, atol=1e-5)
            assert 0.2 < (first == 0).mean() < 0.8 and (first != second).any()
            np.testing.assert_allclose(normal.moving_mean.numpy(), 1.5 * mean, rtol=1e-4)

            after = model.predict(X, verbose=0)
            plain = K.function([given], y)
            np.testing.assert_allclose(plain([X]), after, rtol=1e-5)
            of_model = K.function([model.input, phase], [model.output])
            np.testing.assert_allclose(of_model([X, 0])[0], after, rtol=1e-5)
            assert (of_model([X, 1])[0] == 0).any()
            np.testing.assert_allclose(K.function([given, phase], drop(given, training=False))([X, 1]), X)
            assert (K.function([given, phase], drop(given))([X, 1]) == 0).any()
            mixed = K.function([model.input, given, phase], model.output + 0.0 * given)
            assert (mixed([X, X, 1]) == 0).any() and (mixed([X, X, 0]) != 0).all()
            with K.learning_phase_scope(1):
                assert (K.function([given], drop(given))([X]) == 0).any()
            K.clear_session()


@dt.custom_gradient
def reversed_gradient(x):
    """The value itself, with a gradient that is not its derivative."""
    return x, lambda upstream: -0.5 * upstream


class Scaled(layers.Layer):
    """An activation that depends on the statistics of its input, for sequences of any length."""

    def call(self, x):
        scale = K.std(x, axis=1, keepdims=True) + K.abs(K.mean(x, axis=1, keepdims=True))
        return K.tanh(x / (scale + K.epsilon()))


def short(w):
    """A constraint: columns no longer than 0.5."""
    return w / K.maximum(1.0, 2.0 * K.sqrt(K.sum(K.square(w), axis=0, keepdims=True)))


def spread(w):
    """A regularization by the variance."""
    return 0.1 * K.var(w)


def check_constraints_regularization_and_gradients_in_k():
    """Check code of tutorials in K for layers, which trains alike on each engine, on sequences of several lengths."""
    rng = np.random.default_rng(0)
    batches = [(rng.normal(size=(8, length, 3)).astype("float32"), rng.normal(size=(8, 1))) for length in (4, 7)]
    losses = []
    for name in ENGINES:
        with dt.engine(name):
            keras.utils.set_random_seed(0)
            x = keras.Input((None, 3))
            normal = (x - K.mean(x, axis=-1, keepdims=True)) * 2.0
            dense = layers.Dense(5, kernel_constraint=short, kernel_regularizer=spread)
            h = Scaled()(dense(normal))
            model = keras.Model(x, layers.Dense(1)(layers.GlobalAveragePooling1D()(h)))
            model.compile(keras.optimizers.SGD(0.5), "mse")
            losses.append([model.train_on_batch(*batch) for _ in range(4) for batch in batches])
            kernel = dense.kernel.numpy()
            np.testing.assert_allclose([float(each) for each in model.losses], [0.1 * kernel.var()], rtol=1e-5)
            np.testing.assert_allclose(np.linalg.norm(kernel, axis=0).max(), 0.5, rtol=1e-5)
            (given, wanted), _ = batches
            found = model.test_on_batch(given, wanted)
            np.testing.assert_allclose(
                found, np.mean((model.predict(given, verbose=0) - wanted) ** 2) + 0.1 * kernel.var(), rtol=1e-4
            )
            layer = layers.Lambda(reversed_gradient)
            with dt.GradientTape() as tape:
                y = K.sum(layer(K.square(dense.kernel)))
            np.testing.assert_allclose(tape.gradient(y, dense.kernel).numpy(), -kernel, rtol=1e-6)
    for other in losses[1:]:
        np.testing.assert_allclose(other, losses[0], rtol=1e-4)


def check_loops_of_ones_own():
    """Check a tape and a function over a model and an optimizer of Keras, on each engine."""
    found = []
    for name in ENGINES:
        with dt.engine(name):
            model, optimizer = small(), keras.optimizers.Adam(0.05)

            @dt.function
            def step(x, y, model=model, optimizer=optimizer):
                with dt.GradientTape() as tape:
                    loss = K.mean(K.square(K.flatten(model(x, training=True)) - y))
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
                return loss

            found.append([float(step(X, Y)) for _ in range(5)])
            assert found[-1][-1] < found[-1][0]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-4)


if __name__ == "__main__":
    main(globals())

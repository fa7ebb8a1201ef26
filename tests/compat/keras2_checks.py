"""Checks of Keras 2's names, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import importlib
import sys
import warnings
from unittest.mock import Mock, patch

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2 as keras2

# isort: split
import keras
import numpy as np
import pytest
import scipy.sparse
from keras import backend
from keras.engine.topology import Input, InputSpec, Layer
from keras.engine.training import Model
from keras.layers.core import Activation, Dense
from keras.layers.merge import concatenate
from keras.legacy import interfaces
from keras.objectives import mean_squared_error
from keras.optimizers import SGD, Adam
from keras.utils.np_utils import to_categorical

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from tests.keras_backends import main

X, Y = np.ones((4, 2), "float32"), np.zeros((4, 3), "float32")


class Sum(Layer):
    """A layer of Keras 2's time: its name precedes the shape, and its updates are a list of pairs."""

    def build(self, shape):
        self.kernel = self.add_weight("kernel", (shape[-1], 3), initializer="ones")
        self.calls = self.add_weight("calls", (), initializer="zeros", trainable=False)
        super().build(shape)

    def call(self, x):
        self.add_update([(self.calls, self.calls + 1.0)], x)
        return backend.dot(x, self.kernel)


def model():
    x = Input((2,))
    return Model(x, Sum()(x))


def check_modules_find_what_keras_has():
    assert (Dense, Model, InputSpec) == (keras.layers.Dense, keras.Model, keras.layers.InputSpec)
    assert concatenate is keras.layers.concatenate and mean_squared_error is keras.losses.mean_squared_error
    assert to_categorical([1], 2).tolist() == [[0, 1]] and Activation("relu")(X).shape == (4, 2)
    for name in keras2.MODULES:
        assert importlib.import_module(f"keras.{name}") is sys.modules[f"keras.{name}"]
    assert keras.engine.base_layer.Layer is keras.layers.Layer


def check_a_name_that_never_was_is_no_name():
    with pytest.raises(ImportError, match="Nonsense"):
        exec("from keras.layers.core import Nonsense")


def check_the_backend_is_k():
    assert backend.dot is K.dot and backend.placeholder is K.placeholder
    x = backend.placeholder((2,))
    assert backend.is_placeholder(x)
    backend.clear_session()
    assert backend.eval(backend.variable(1.0) + 1.0) == 2


def check_shapes_of_tensors():
    x = Input((2,))
    assert x._keras_shape == (None, 2) and Sum()(x)._keras_shape == (None, 3)


def check_layers_and_generators():
    made = model()
    made.compile(SGD(lr=0.1, momentum=0.9), "mse")
    history = made.fit_generator(((X, Y) for _ in range(6)), 3, epochs=2, verbose=0, workers=2).history
    assert history["loss"][1] < history["loss"][0] and float(made.layers[1].calls) == 6
    assert made.predict_generator(((X,) for _ in range(1)), steps=1, verbose=0).shape == (4, 3)
    assert np.isfinite(made.evaluate_generator(((X, Y) for _ in range(1)), 1, verbose=0))


def check_a_variable_of_a_call_is_a_constant():
    model = keras.Sequential([keras.layers.Lambda(lambda x: x * backend.variable([1.0, 2.0]), input_shape=(2,))])
    assert model.predict(np.ones((1, 2))).tolist() == [[1, 2]]


def check_gradients_are_clipped_twice():
    clipped = keras.optimizers.SGD(1.0, clipnorm=1.0, clipvalue=0.7)._clip_gradients([np.array([3.0, 4.0])])[0]
    np.testing.assert_allclose(clipped, [0.6, 0.7], rtol=1e-6)


def check_the_phase_of_a_function_may_be_left_out():
    x = K.placeholder((2,))
    assert K.function([x, K.learning_phase()], [K.in_train_phase(x, 2 * x)])([[1.0, 2.0]])[0].tolist() == [2, 4]
    backend.clear_session()


def check_rates_decay_as_they_did():
    optimizer, w = SGD(lr=0.5, decay=0.25), keras.Variable(0.0)
    found = []
    for _ in range(3):
        before = float(w)
        optimizer.apply([np.float32(1)], [w])
        found.append(before - float(w))
    np.testing.assert_allclose(found, [0.5 / (1 + 0.25 * step) for step in range(3)], rtol=1e-6)
    for rate in (1, np.float32(0.5), np.int64(2)):
        assert backend.get_value(SGD(lr=rate).lr) == backend.get_value(SGD(rate).lr) == rate
    with pytest.raises(ValueError, match="should be float"):
        SGD(lr="fast")
    plain = Adam(lr=0.25)
    assert backend.get_value(plain.lr) == 0.25
    plain.lr = 0.125
    assert backend.get_value(plain.lr) == 0.125


def check_rates_with_decay_can_be_set():
    made = model()
    made.compile(SGD(lr=0.5, decay=0.25, momentum=0.0), "mse")
    assert made.optimizer.get_config()["decay"] == 0.25 == SGD.from_config(made.optimizer.get_config()).decay
    kernel = made.layers[1].kernel
    found = []
    for rate in (0.5, 0.5, 2.0):
        backend.set_value(made.optimizer.lr, rate)
        before = np.array(kernel)
        made.train_on_batch(X, before.sum(0) * X[:, :1] - 3 / 2)  # each gradient is 1
        found.append(float((before - np.array(kernel)).mean()))
        assert backend.get_value(made.optimizer.lr) == rate == float(made.optimizer.learning_rate)
    np.testing.assert_allclose(found, [0.5, 0.5 / 1.25, 2.0 / 1.5], rtol=1e-5)
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (1 + epoch))
    made.fit(X, Y, epochs=2, verbose=0, callbacks=[schedule])
    np.testing.assert_allclose(backend.get_value(made.optimizer.lr), 0.05)


def check_updates_are_those_of_apply():
    for make in (lambda: SGD(lr=0.1, momentum=0.9), lambda: Adam(lr=0.1), lambda: SGD(0.1, clipnorm=0.1)):
        found = []
        for by_updates in (False, True):
            made, optimizer = model(), make()
            weights = made.trainable_weights
            target = backend.placeholder((None, 3))
            loss = backend.mean(backend.square(made.output - target))
            if by_updates:
                step = backend.function([made.input, target], [loss], updates=optimizer.get_updates(loss, weights))
                losses = [step([X, Y])[0] for _ in range(4)]
                assert float(optimizer.iterations) == 4
            else:
                backend.clear_session()
                made.compile(optimizer, "mse")
                losses = [made.train_on_batch(X, Y) for _ in range(4)]
            found.append([*losses, *np.array(weights[0]).ravel()])
            backend.clear_session()
        np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


class OwnAdam(keras.optimizers.Optimizer):
    """Adam as programs for Keras 2 wrote it, with its state and its count in K's variables."""

    def __init__(self, lr=0.001, beta_1=0.9, beta_2=0.999, decay=0.0, **kwargs):
        super().__init__(**kwargs)
        with backend.name_scope(self.__class__.__name__):
            self.iterations = backend.variable(0, dtype="int64", name="iterations")
            self.lr = backend.variable(lr, name="lr")
            self.beta_1 = backend.variable(beta_1, name="beta_1")
            self.beta_2 = backend.variable(beta_2, name="beta_2")
            self.decay = backend.variable(decay, name="decay")
        self.initial_decay = decay

    @interfaces.legacy_get_updates_support
    @backend.symbolic
    def get_updates(self, loss, params):
        grads = self.get_gradients(loss, params)
        self.updates = [backend.update_add(self.iterations, 1)]
        lr = self.lr
        if self.initial_decay > 0:
            lr = lr * (1.0 / (1.0 + self.decay * backend.cast(self.iterations, backend.dtype(self.decay))))
        t = backend.cast(self.iterations, backend.floatx()) + 1
        lr_t = lr * (backend.sqrt(1.0 - backend.pow(self.beta_2, t)) / (1.0 - backend.pow(self.beta_1, t)))
        ms = [backend.zeros(backend.int_shape(p), dtype=backend.dtype(p)) for p in params]
        vs = [backend.zeros(backend.int_shape(p), dtype=backend.dtype(p)) for p in params]
        self.weights = [self.iterations, *ms, *vs]
        for p, g, m, v in zip(params, grads, ms, vs, strict=True):
            m_t = self.beta_1 * m + (1.0 - self.beta_1) * g
            v_t = self.beta_2 * v + (1.0 - self.beta_2) * backend.square(g)
            self.updates += [backend.update(m, m_t), backend.update(v, v_t)]
            self.updates.append(backend.update(p, p - lr_t * m_t / (backend.sqrt(v_t) + 1e-7)))
        return self.updates

    def get_config(self):
        return {**super().get_config(), "lr": float(backend.get_value(self.lr))}


def check_own_updates_train():
    """Check training by `fit` on each engine, by single steps and by `K.function`, against Keras' own Adam."""

    def start(optimizer, **options):
        made = model()
        made.compile(optimizer, "mse", **options)
        return made

    wanted = start(Adam(lr=0.1, epsilon=1e-7)).fit(X, Y, batch_size=2, epochs=3, verbose=0).history["loss"]
    for engine in dt.list_engines():
        with dt.engine(engine):
            made = start(OwnAdam(lr=0.1))
            found = made.fit(X, Y, batch_size=2, epochs=3, verbose=0).history["loss"]
            np.testing.assert_allclose(found, wanted, rtol=1e-4)  # 1 − 0.999 keeps few digits in 32 bits
            assert backend.get_value(made.optimizer.iterations) == 6
    eagerly = start(OwnAdam(lr=0.1), run_eagerly=True)
    np.testing.assert_allclose(eagerly.fit(X, Y, batch_size=2, epochs=3, verbose=0).history["loss"], wanted, rtol=1e-4)

    made = model()
    target = backend.placeholder((None, 3))
    loss = backend.mean(backend.square(made.output - target))
    updates = OwnAdam(lr=0.1).get_updates(loss, made.trainable_weights)
    step = backend.function([made.input, target], [loss], updates=updates)
    found = [step([X[:2], Y[:2]])[0] for _ in range(6)]
    backend.clear_session()
    np.testing.assert_allclose(np.reshape(found, (3, 2)).mean(1), wanted, rtol=1e-4)


def check_own_updates_move_between_engines_and_are_clipped():
    made, plain = model(), model()
    made.compile(OwnSGD(lr=0.1, clipnorm=0.5), "mse")
    plain.compile(SGD(0.1, momentum=0.9, clipnorm=0.5), "mse")
    wanted = [plain.train_on_batch(X, Y) for _ in range(6)]
    found = []
    for engine in dt.list_engines()[:3]:
        with dt.engine(engine):
            found += [made.train_on_batch(X, Y) for _ in range(2)]
    np.testing.assert_allclose(found, wanted[: len(found)], rtol=1e-5)
    assert "own_sgd" in made.optimizer.name and OwnSGD.from_config(made.optimizer.get_config()).clipnorm == 0.5


def check_own_updates_train_in_groups():
    """Check that a loop of one program over equal batches gives the same numbers, on each engine."""
    x = np.random.default_rng(0).normal(size=(24, 2)).astype("float32")
    for make in (OwnAdam, OwnSGD):
        wanted = None
        for name in dt.list_engines():
            with dt.engine(name):
                for options in ({}, {"steps_per_execution": 4}):
                    made = model()
                    made.compile(make(lr=0.1), "mse", **options)
                    losses = made.fit(x, 0 * x[:, :1], batch_size=2, epochs=3, shuffle=False, verbose=0).history["loss"]
                    found = [*losses, *np.ravel(made.get_weights()[0])]
                    np.testing.assert_allclose(found, wanted or found, rtol=1e-4, atol=1e-6)
                    wanted = found
        assert wanted[2] < wanted[0]


def check_own_updates_train_several_models():
    """Check that each model has its own state: an optimizer shared by two models equals two optimizers."""
    found = []
    for shared in (OwnSGD(lr=0.1), None):
        models = [model(), model()]
        for made in models:
            made.compile(shared or OwnSGD(lr=0.1), "mse")
        found.append([made.train_on_batch(X, Y) for made in (*models, *models)])
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert found[0][2] < found[0][0]


UPDATES = [
    SGD,
    Adam,
    keras.optimizers.RMSprop,
    keras.optimizers.Nadam,
    keras.optimizers.Adagrad,
    keras.optimizers.Adamax,
]


def check_updates_of_variables_of_k():
    """Check that `K.function` trains variables of K as the optimizer trains Keras' own."""
    for cls in UPDATES:
        w, b, x = backend.variable([1.0, 2.0]), backend.variable(0.5), backend.placeholder((2,))
        step = backend.function([x], [], updates=cls(0.1).get_updates(backend.sum(w * w * x) + b * b, [w, b]))
        for _ in range(3):
            step([[2.0, 1.0]])
        found = [*backend.get_value(w), backend.get_value(b)]
        backend.clear_session()
        w, b, optimizer = keras.Variable([1.0, 2.0]), keras.Variable(0.5), cls(0.1)
        for _ in range(3):
            optimizer.apply([2 * np.float32([2, 1]) * w.numpy(), 2 * b.numpy()], [w, b])
        np.testing.assert_allclose(found, [*w.numpy(), b.numpy()], rtol=1e-5)


def check_averages_decay_by_float32_numbers_as_variables_of_keras_2():
    """The first step has the size of the rate, but for epsilon: 0.001 and 1 - 0.999 in float32 differ by 1.3e-5."""
    for cls, settings, size in (
        (Adam, {"epsilon": 0}, 1),
        (Adam, {"amsgrad": True, "epsilon": 0}, 1),
        (keras.optimizers.Adamax, {"epsilon": 0}, 1),
        (keras.optimizers.RMSprop, {"rho": 0.999, "epsilon": 0}, np.float32(1 - np.float32(0.999)) ** -0.5),
    ):
        weight, optimizer = keras.Variable([0.0]), cls(0.5, **settings)
        optimizer.apply([np.float32([3])], [weight])
        np.testing.assert_allclose(weight.numpy(), -0.5 * size, rtol=1e-6)
        assert optimizer.get_config().get("beta_2", 0.999) == optimizer.get_config().get("rho", 0.999) == 0.999


def check_optimizers_of_tf_keras_have_its_settings():
    for of_tensorflow, rates in ((True, [0.001] * 4), (False, [0.01, 1.0, 0.002, 0.002])):
        with keras2.installed(of_tensorflow=of_tensorflow):
            made = [getattr(keras.optimizers, name)() for name in ("Adagrad", "Adadelta", "Adamax", "Nadam")]
            np.testing.assert_allclose([float(each.lr.numpy()) for each in made], rates, rtol=1e-6)
            assert made[0].initial_accumulator_value == (0.1 if of_tensorflow else 0.0)


def check_updates_of_a_model_without_placeholders():
    for make in (lambda: SGD(0.1), lambda: OwnSGD(lr=0.1)):
        made, plain = model(), model()
        loss = backend.mean(backend.square(made.output))
        step = backend.function([made.input], [loss], updates=make().get_updates(loss, made.trainable_weights))
        losses = [step([X])[0] for _ in range(3)]
        backend.clear_session()
        plain.compile(make(), "mse")
        np.testing.assert_allclose(losses, [plain.train_on_batch(X, Y) for _ in range(3)], rtol=1e-5)
        assert losses[1] < losses[0]


def check_updates_go_through_k():
    """Check that get_updates calls functions with which a program replaces K's, in either module."""
    for module in (backend, K):
        made, target = model(), backend.placeholder((None, 3))
        loss = backend.mean(backend.square(made.output - target))
        with (
            patch.object(module, "update", Mock(wraps=module.update)) as update,
            patch.object(module, "gradients", Mock(wraps=module.gradients)) as gradients,
        ):
            updates = Adam(lr=0.1).get_updates(loss, made.trainable_weights)
        assert gradients.call_count == 1 and update.call_count == len(updates)
        assert update.call_args_list[0].args[0] is made.trainable_weights[0]
        backend.function([made.input, target], [], updates=updates)([X, Y])
        assert made.get_weights()[0].max() < 1
        backend.clear_session()


def check_one_optimizer_updates_two_models():
    optimizer, target = Adam(0.1), backend.placeholder((None, 3))
    steps, models = [], [model(), model()]
    for made in models:
        loss = backend.mean(backend.square(made.output - target))
        updates = optimizer.get_updates(loss, made.trainable_weights)
        steps.append(backend.function([made.input, target], [loss], updates=updates))
    losses = [step([X, Y])[0] for step in (*steps, *steps)]
    backend.clear_session()
    assert losses[2] < losses[0] and losses[3] < losses[1] and int(optimizer.iterations) == 4


# -- trainable counts as it is when a model is compiled ---------------------------------------------------------------


def frozen():
    first = Dense(2, input_shape=(2,), use_bias=False)  # the normalization subtracts a bias, so it would not train
    made = keras.Sequential([first, keras.layers.BatchNormalization(), Dense(3)])
    made.compile(SGD(0.1), "mse")
    made.layers[0].trainable = False
    made.layers[2].trainable = False
    return made


def check_a_discrepancy_is_said_and_nothing_changes():
    for name in dt.list_engines():
        with dt.engine(name):
            made = frozen()
            before = made.get_weights()
            with pytest.warns(
                UserWarning, match="^Discrepancy between trainable weights and collected trainable weights"
            ):
                made.fit(np.random.default_rng(0).normal(size=(4, 2)), Y + 1, verbose=0)  # zeros move no bias
            assert not any(np.array_equal(*pair) for pair in zip(before, made.get_weights(), strict=True))
            assert [layer.trainable for layer in made.layers] == [False, True, False]
            assert len(made.trainable_weights) == 2 and not made.layers[0].kernel.trainable
    made.compile("sgd", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.fit(X, Y, verbose=0)
        made.layers[0].trainable, made.layers[2].trainable = True, True
        made.evaluate(X, Y, verbose=0)
        made.predict(X, verbose=0)


class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        assert len(self.model.trainable_weights) == 5  # the same number as when it was compiled
        raise KeyboardInterrupt


def check_a_training_that_fails_leaves_layers_as_they_were():
    made = frozen()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            made.fit(X, Y, verbose=0, callbacks=[Stop()])
        with pytest.raises(Exception, match=r"shape|broadcast|expected"):
            made.train_on_batch(X[:, :1], Y)
    assert [layer.trainable for layer in made.layers] == [False, True, False]
    assert [weight.trainable for weight in made.layers[0].weights] == [False]


def check_layers_are_set_one_by_one():
    """Check that a layer in two models, of which one is frozen, is restored in the end."""
    shared, x = Dense(2), Input((2,))
    inner = Model(x, Dense(2)(shared(x)))
    made = Model(x, inner(shared(x)))
    made.compile(SGD(0.1), "mse")
    inner.trainable = False
    shared.trainable = True
    state = {layer.name: layer.trainable for layer in made._flatten_layers()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = made.get_weights()
        made.train_on_batch(X, Y[:, :2])
    assert not any(np.array_equal(*pair) for pair in zip(before, made.get_weights(), strict=True))
    assert {layer.name: layer.trainable for layer in made._flatten_layers()} == state


class Around(keras.optimizers.Optimizer):
    """An optimizer around another one, which multiplies its rate for some variables; it never calls `super()`."""

    def __init__(self, optimizer, multipliers):
        self._optimizer, self._multipliers = optimizer, multipliers

    def get_updates(self, loss, params):
        updates, rate = [], self._optimizer.lr
        for factor, chosen in self._multipliers.items():
            self._optimizer.lr = rate * factor
            updates += self._optimizer.get_updates(loss, [p for p in params if len(p.shape) == chosen])
        self._optimizer.lr = rate
        return updates

    def __getattr__(self, name):
        return getattr(self._optimizer, name)

    def __setattr__(self, name, value):
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            self._optimizer.__setattr__(name, value)


class Early(keras.optimizers.Optimizer):
    """SGD whose attributes come before `super().__init__()`."""

    def __init__(self, rate, **kwargs):
        self.rate = backend.variable(rate)
        super().__init__(**kwargs)

    def get_updates(self, loss, params):
        return [
            backend.update_sub(p, self.rate * g) for p, g in zip(params, self.get_gradients(loss, params), strict=True)
        ]


def check_optimizers_that_begin_in_their_own_way():
    """Check steps of classes that call `super().__init__()` late or never, by the rates of SGD."""
    x, y = np.float32([[1, 2]]), np.float32([[3]])
    for optimizer, rates in (
        (Early(0.1), (0.1, 0.1)),
        (Around(keras.optimizers.SGD(lr=0.1, momentum=0.9), {10.0: 1, 0.5: 2}), (0.05, 1.0)),
    ):
        made = keras.Sequential([Dense(1, input_dim=2, kernel_initializer="ones")])
        made.compile(optimizer, "mse")
        made.train_on_batch(x, y)
        np.testing.assert_allclose(made.get_weights()[0], [[1], [1]])  # the sum is the target
        made.train_on_batch(x, y + 1)
        slope = np.float32(-2)
        np.testing.assert_allclose(made.get_weights()[0][:, 0], 1 - rates[0] * slope * x[0], rtol=1e-5)
        np.testing.assert_allclose(made.get_weights()[1], -rates[1] * slope, rtol=1e-5)
    assert float(backend.get_value(optimizer.lr)) == np.float32(0.1)


class OwnSGD(SGD):
    """A subclass of a Keras optimizer: it returns pairs, takes gradients by K alone, and counts no steps."""

    def get_updates(self, loss, params):
        found = []
        for p, g in zip(params, backend.gradients(loss, params), strict=True):
            velocity = backend.zeros(backend.int_shape(p))
            v = 0.9 * velocity - self.lr * g
            found += [(velocity, v), (p, p + v)]
        return found


def check_what_keras_cannot_do_says_what_to_write():
    weights = model().trainable_weights
    with (
        patch.object(keras.config, "backend", lambda: "jax"),
        pytest.raises(TypeError, match=r"OwnSGD defines get_updates.*update_step\(self, gradient"),
    ):
        OwnSGD().apply(weights, weights)


def check_classes_have_weights_for_each_output():
    x = Input((2,))
    ends = [Dense(2, activation="softmax", kernel_initializer="ones", name=name)(x) for name in "ab"]
    made = Model(x, ends)
    made.compile(SGD(0.0), ["categorical_crossentropy", "sparse_categorical_crossentropy"])
    targets, weights = [np.eye(2)[[0, 1, 1, 0]], np.array([0, 0, 1, 1])], {0: 3.0, 1: 1.0}
    for given, wanted in (([weights, None], 3), ({"b": weights}, 3), ([weights, weights], 4)):
        found = made.train_on_batch(X, targets, class_weight=given)
        np.testing.assert_allclose(found[0], wanted * np.log(2), rtol=1e-5)
    made.fit(X, targets, class_weight=[weights, weights], verbose=0)
    made = Model(x, ends[0])
    made.compile(SGD(0.0), "categorical_crossentropy")
    np.testing.assert_allclose(made.train_on_batch(X, targets[0], class_weight=[weights]), 2 * np.log(2), rtol=1e-5)


def check_weights_of_classes_that_are_no_dict_change_nothing():
    """In Keras 2 `class_weight="auto"` was taken, and not read; of several outputs it was an error."""
    x = Input((2,))
    ends = [Dense(2, activation="softmax", kernel_initializer="zeros")(x) for _ in "ab"]
    made, targets = Model(x, ends[0]), np.eye(2)[[0, 1, 1, 0]]
    made.compile(SGD(0.0), "categorical_crossentropy")
    batches = iter([(X, targets)] * 9)
    for given in ("auto", np.ones(2)):
        for train in (
            lambda **more: made.fit(X, targets, verbose=0, **more).history["loss"][0],
            lambda **more: made.fit_generator(batches, 1, 1, verbose=0, **more).history["loss"][0],
            lambda **more: made.train_on_batch(X, targets, **more),
        ):
            with pytest.warns(UserWarning, match=r"is no dict, so all classes have the weight 1: write \{0: 1.0"):
                loss = train(class_weight=given)
            np.testing.assert_allclose(loss, np.log(2), rtol=1e-5)
    made = Model(x, ends)
    made.compile(SGD(0.0), "categorical_crossentropy")
    with pytest.raises(TypeError, match="several outputs, so class_weight is a list or a dict, not 'auto'"):
        made.fit(X, [targets, targets], class_weight="auto", verbose=0)


def check_the_name_of_a_result_tells_which_is_better():
    for name, mode in (("val_my_acc", "max"), ("val_gap", "min"), ("auc", "max")):
        stop = keras.callbacks.EarlyStopping(name)
        stop.set_model(model())
        stop._set_monitor_op()
        assert stop.monitor_op is (keras.ops.greater if mode == "max" else keras.ops.less)


def check_inputs_may_be_matrices_of_scipy():
    x, links = Input((2,)), Input(batch_shape=(None, None), sparse=True)
    made = Model([x, links], keras.layers.Lambda(lambda pair: backend.dot(*pair))([links, x]))
    made.compile("sgd", "mse")
    data = [X, scipy.sparse.eye(4).tocsr()]
    assert made.predict(data).tolist() == made.predict_on_batch(data).tolist() == X.tolist()
    made.fit(data, X, batch_size=4, verbose=0)
    assert made.evaluate(data, X, verbose=0) == made.test_on_batch(data, X) == 0


def check_a_model_is_trained_on_a_pipeline():
    made = keras.Sequential([keras.layers.InputLayer(input_shape=(2,)), Dense(3, kernel_initializer="ones")])
    made.compile(SGD(0.0), "mse")
    numbers = tf.data.Dataset.from_tensor_slices((X, Y))
    for pipeline, steps in ((numbers.batch(3), {}), (numbers.repeat().batch(2), {"steps_per_epoch": 2})):
        history = made.fit(pipeline, epochs=2, validation_data=numbers.batch(2), verbose=0, **steps).history
        assert history["loss"] == history["val_loss"] == [4.0, 4.0]
    assert made.evaluate(numbers.filter(lambda x, y: x[0] > 0).batch(3), verbose=0) == 4.0
    assert made.predict(numbers.batch(3)).tolist() == [[2.0] * 3] * 4


def check_words_of_keras_1_for_functions_of_k():
    assert np.all(backend.get_value(backend.random_normal((2,), mean=3.0, std=0.0)) == 3)
    images = backend.ones((1, 2, 2, 1))
    assert backend.resize_images(images, 2, 3, dim_ordering="tf").shape == (1, 4, 6, 1)
    assert backend.pool2d(images, (2, 2), border_mode="same", dim_ordering="tf").shape == (1, 2, 2, 1)
    assert backend.asymmetric_temporal_padding(backend.ones((1, 2, 1)), 2, 0).shape == (1, 4, 1)
    assert backend.reshape(images, np.array([4.0, 1.0])).shape == (4, 1)  # an array of whole floats
    mean = keras.metrics.Mean()
    mean.update_state(3.0)
    mean.reset_states()
    assert mean.result() == 0


def check_initializers_of_keras_1_and_truth_of_weights():
    layer = Dense(3, kernel_initializer=lambda shape, name: backend.ones(shape, name=name))
    layer.build((None, 2))
    assert layer.bias and np.all(layer.get_weights()[0] == 1)


def check_the_longer_shape_of_an_input_counts():
    assert Input(shape=(None, 3), batch_shape=(4, 5, 3)).shape == (4, 5, 3)


# -- losses and metrics that read tensors of their model ---------------------------------------------------------------


def of_hidden(inputs, compiled):
    """The results of a model in two steps, its weights after them, and its results on the same data."""
    x = inputs[0]
    hidden = Dense(2, activation="tanh", kernel_initializer="ones")(x)
    made = Model(inputs, Dense(1, kernel_initializer="ones")(keras.layers.BatchNormalization(momentum=0.5)(hidden)))
    compiled(made, hidden)
    data = [0.1 * np.arange(8, dtype="float32").reshape(4, 2), np.ones((4, 1)), np.ones((4, 1))][: len(inputs)]
    found = [np.atleast_1d(made.train_on_batch(data, np.ones((4, 1)))) for _ in range(2)]
    return found, made.get_weights(), made.evaluate(data, np.ones((4, 1)), verbose=0)


def check_losses_and_metrics_read_tensors_of_the_model():
    x, weight = Input((2,)), Input((1,))

    def read(made, hidden):
        spread = backend.sum(backend.square(hidden), axis=-1)

        def loss(y, p):
            return backend.mean(weight * backend.square(y - p)) + 0.1 * backend.mean(spread)

        made.compile(SGD(0.1), loss, metrics=[lambda y, p: backend.mean(spread)])

    def added(made, hidden):
        spread = backend.sum(backend.square(hidden), axis=-1)
        made.add_loss(0.1 * backend.mean(spread))
        made.add_metric(spread, "spread")
        made.compile(SGD(0.1), "mse")

    for found, wanted in zip(of_hidden([x, weight], read), of_hidden([x], added), strict=True):
        for pair in zip(found, wanted, strict=True):
            np.testing.assert_allclose(*pair, rtol=1e-5, atol=1e-6)  # biases cancel


def check_a_layer_reads_a_tensor_of_the_model():
    x = Input((2,))
    hidden = Dense(2, kernel_initializer="ones")(x)

    class Gap(Layer):
        def call(self, inputs, scale, mask=None):
            self.add_loss(backend.mean(backend.square(hidden)) * scale, inputs=inputs)
            return inputs + hidden

    made = Model(x, Gap()(Dense(2, kernel_initializer="ones")(hidden), 3))
    made.compile(SGD(0.0), loss=None)
    np.testing.assert_allclose(made.train_on_batch(X, None), 12.0, rtol=1e-6)
    np.testing.assert_allclose(made.predict(X), np.full((4, 2), 6.0), rtol=1e-6)


def check_a_loss_has_gradients_by_a_tensor_of_the_model():
    x = Input((2,))
    hidden = Dense(2, kernel_initializer="ones")(x)
    made = Model(x, Dense(1, activation="tanh", kernel_initializer="ones")(hidden))
    made.compile("sgd", lambda y, p: backend.sum(backend.square(backend.gradients(p, hidden)[0]), axis=-1))
    inputs = 0.1 * np.arange(8, dtype="float32").reshape(4, 2)
    wanted = np.mean(2 * (1 - np.tanh(2 * inputs.sum(1)) ** 2) ** 2)
    np.testing.assert_allclose(made.train_on_batch(inputs, inputs[:, :1]), wanted, rtol=1e-5)


def check_a_loss_of_a_tensor_of_another_model_says_so():
    other = Input((1,))
    made = model()
    made.compile("sgd", lambda y, p: backend.mean(other) * backend.mean(p))
    with pytest.raises(ValueError, match="not computed from the inputs of its model"):
        made.train_on_batch(X, Y)


if __name__ == "__main__":
    main(globals())

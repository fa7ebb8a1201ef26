"""Checks of Keras 2's names, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import importlib
import sys

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2 as keras2

# isort: split
import keras
import numpy as np
import pytest
from keras import backend
from keras.engine.topology import Input, InputSpec, Layer
from keras.engine.training import Model
from keras.layers.core import Activation, Dense
from keras.layers.merge import concatenate
from keras.objectives import mean_squared_error
from keras.optimizers import SGD, Adam
from keras.utils.np_utils import to_categorical

from dovetail import backend as K
from tests.keras_backends import main

X, Y = np.ones((4, 2), "float32"), np.zeros((4, 3), "float32")


class Sum(Layer):
    """A layer of Keras 2's time: its name stands before the shape, and its updates are a list of pairs."""

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


def check_what_is_gone_says_what_to_write():
    for name, instead in keras2.GONE.items():
        with pytest.raises(ImportError, match=f"no {name}: use "):
            getattr(sys.modules["keras.layers.core"], name)
        assert instead and not hasattr(keras.layers, name)
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


def check_rates_decay_as_they_did():
    optimizer, w = SGD(lr=0.5, decay=0.25), keras.Variable(0.0)
    found = []
    for _ in range(3):
        before = float(w)
        optimizer.apply([np.float32(1)], [w])
        found.append(before - float(w))
    np.testing.assert_allclose(found, [0.5 / (1 + 0.25 * step) for step in range(3)], rtol=1e-6)
    plain = Adam(lr=0.25)
    assert backend.get_value(plain.lr) == 0.25
    plain.lr = 0.125
    assert backend.get_value(plain.lr) == 0.125


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


def check_what_keras_cannot_do_says_what_to_write():
    made = model()
    with pytest.raises(NotImplementedError, match=r"make a layer whose call\(self, x\).*self.add_loss"):
        made.add_loss(backend.sum(made.output))
    with pytest.raises(TypeError, match=r"Own defines get_updates.*update_step\(self, gradient"):
        type("Own", (keras.optimizers.Optimizer,), {"get_updates": None})


if __name__ == "__main__":
    main(globals())

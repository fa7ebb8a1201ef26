"""Checks of layers of programs that are written and read, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import tempfile
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2  # noqa: F401

# isort: split
import keras
import numpy as np
import pytest
from keras import backend as K
from keras import initializers, layers
from keras.models import Model, Sequential, load_model, model_from_json

from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")


def again(model, custom_objects=None, ending="h5"):
    """The model that is read from the file of a model; both give the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / f"model.{ending}")
        model.save(file)
        found = load_model(file, custom_objects)
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-5)
    return found


class Biased(layers.Layer):
    """A layer with an initializer among its arguments, and a list."""

    def __init__(self, initializer="ones", powers=(1,), **kwargs):
        super().__init__(**kwargs)
        self.initializer = initializers.get(initializer)
        self.powers = list(powers)

    def build(self, input_shape):
        assert not isinstance(input_shape, list)  # one input
        self.bias = self.add_weight((input_shape[-1],), self.initializer, "bias")

    def call(self, x):
        return sum((x + self.bias) ** power for power in self.powers)

    def get_config(self):
        own = {"initializer": initializers.serialize(self.initializer), "powers": self.powers}
        return {**super().get_config(), **own}


class Both(layers.Layer):
    """A layer that holds layers, and says the order of their weights."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = inner

    def build(self, input_shape):
        self.second.build(input_shape)
        self.first.build(input_shape)
        super().build(input_shape)

    @property
    def trainable_weights(self):
        return self.second.trainable_weights + self.first.trainable_weights

    def call(self, x):
        return K.sum(self.first(x), axis=-1, keepdims=True) + self.second(x)

    def get_config(self):
        inner = [{"class_name": type(each).__name__, "config": each.get_config()} for each in (self.first, self.second)]
        return {**super().get_config(), "inner": inner}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        inner = [layers.deserialize(each, custom_objects=custom_objects) for each in config.pop("inner")]
        return cls(inner, **config)


def check_arguments_of_a_layer_are_written():
    model = Sequential([Biased("zeros", (1, 2), input_shape=(6,))])
    model.set_weights([np.arange(6.0)])
    assert model.layers[0].get_config()["dtype"] == "float32"
    assert again(model, {"Biased": Biased}).layers[0].powers == [1, 2]
    with keras.utils.CustomObjectScope({"Biased": Biased}):
        again(model)
    made = model_from_json(model.to_json(), {"Biased": Biased})
    made.set_weights(model.get_weights())
    np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match=r"pass custom_objects=\{'Biased': Biased\}"):
        again(model)


def check_layers_inside_a_layer_keep_their_order_of_weights():
    pair = layers.Dense(2), layers.TimeDistributed(layers.Dense(3))
    x = layers.Input((2, 6))
    model = Model(x, Both(pair)(x))
    written = model.layers[1]
    shapes = [K.int_shape(w) for w in written.trainable_weights]
    assert shapes == [(6, 3), (3,), (6, 2), (2,)]
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model.h5")
        model.save(file)
        found = load_model(file, {"Both": Both})
        model.save_weights(file)
        wanted = model.get_weights()
        model.set_weights([np.zeros_like(each) for each in wanted])
        model.load_weights(file)
    data = np.stack([X, X], axis=1)
    np.testing.assert_allclose(found.predict(data), model.predict(data), rtol=1e-5)
    for mine, theirs in zip(model.get_weights(), wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def check_layers_that_are_gone_are_written_with_all_weights():
    """Check both kinds of files: Keras writes one kernel and one bias of its own dense layer and convolutions."""
    random = np.random.default_rng(1)
    for shape, layer in (
        ((6,), layers.Highway()),
        ((6,), layers.Highway(use_bias=False, activation="tanh")),
        ((6,), layers.MaxoutDense(3)),
        ((6,), layers.ThresholdedReLU(0.5)),
        ((3, 2), layers.LocallyConnected1D(2, 2)),
        ((3, 2, 1), layers.LocallyConnected2D(2, 2)),
    ):
        model = Sequential([layers.Reshape(shape, input_shape=(6,)), layer])
        model.set_weights([random.normal(size=w.shape) for w in model.get_weights()])
        for ending in ("h5", "keras"):
            again(model, ending=ending)


def check_functions_of_this_process_are_found():
    scale = 3.0
    model = Sequential([layers.Lambda(lambda x: x * scale, input_shape=(6,)), layers.Lambda(lambda x: x + 1.0)])
    again(model)
    for made in (
        model_from_json(model.to_json()),
        Sequential.from_config(model.get_config()),
        keras.models.clone_model(model),
    ):
        np.testing.assert_allclose(made.predict(X), X * 3.0 + 1.0, rtol=1e-6)
    config = layers.Lambda(lambda x: x - 1.0).get_config()
    config["function"]["config"]["code"] = "4wAAAAA="  # of another process
    with pytest.raises(ValueError, match="Lambda"):
        layers.Lambda.from_config(config)


def check_files_of_both_kinds_are_read_compiled():
    model = Sequential([layers.Dense(1, input_dim=6)])
    model.compile("sgd", "mse", metrics=["mae"])
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.h5", "model.keras"):
            model.save(str(Path(folder) / name))
            found = load_model(str(Path(folder) / name))
            np.testing.assert_allclose(found.evaluate(X, X[:, 0]), model.evaluate(X, X[:, 0]), rtol=1e-5)
            assert isinstance(found.optimizer, keras.optimizers.SGD)


OPTIMIZERS = [
    *("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"),
    *(("SGD", {"momentum": 0.9, "nesterov": True}), ("RMSprop", {"momentum": 0.9, "centered": True})),
    *(("Adam", {"amsgrad": True, "clipnorm": 0.1}), ("Adam", {"epsilon": None, "clipvalue": 0.1}), ("Ftrl", {})),
]


def check_optimizers_go_on_at_their_step():
    given = [(each, {}) if isinstance(each, str) else each for each in OPTIMIZERS]
    y = X[:, :1]
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("model.h5", "model.keras")]
        for name, options in given:
            model = Sequential([layers.Dense(1, input_dim=6)])
            optimizer = getattr(keras.optimizers, name)(lr=0.05, decay=0.5, **options)
            model.compile(optimizer, "mse", run_eagerly=True)
            for _ in range(3):
                model.train_on_batch(X, y)
            for file in files:
                model.save(file)
            wanted = [model.train_on_batch(X, y) for _ in range(3)]
            for file in files:
                found = load_model(file)
                found.run_eagerly = True
                assert int(K.get_value(found.optimizer.iterations)) == 3, name
                rate, decay = K.get_value(found.optimizer.lr), found.optimizer.decay
                assert (rate, decay) == (np.float32(0.05), 0.0 if name == "Nadam" else 0.5), name
                trained = [found.train_on_batch(X, y) for _ in range(3)]
                np.testing.assert_allclose(trained, wanted, rtol=1e-5, err_msg=name)


if __name__ == "__main__":
    main(globals())

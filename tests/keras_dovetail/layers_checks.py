"""Checks of Keras' layers that are called one by one, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import pickle

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
import tensorflow
from keras import layers, ops

import dovetail as dt
from dovetail.compat import tensorflow as compat
from tests.keras_backends import main

WORDS = np.array([[1, 2, 0], [3, 0, 0]])
IS_WORD = [[True, True, False], [True, False, False]]


class Averages(layers.Layer):
    """A layer that takes the mask, and passes it on."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, x, mask=None):
        weights = ops.cast(mask, x.dtype)[:, :, None]
        return x * 0 + ops.sum(x * weights, 1, keepdims=True) / ops.sum(weights, 1, keepdims=True)


class Halves(layers.Layer):
    def call(self, x):
        return ops.split(x, [2], axis=1)

    def compute_mask(self, x, mask=None):
        return ops.split(mask, [2], axis=1)


def embedded():
    embedding = layers.Embedding(5, 2, mask_zero=True)
    embedding.build((None, 3))
    embedding.set_weights([np.arange(10, dtype="float32").reshape(5, 2)])
    return embedding(WORDS)


def check_tensors_keep_the_masks_of_layers():
    """Check, as on Keras' other backends, that layers make masks, pass them on, split them and drop them."""
    for name in dt.list_engines():
        with dt.engine(name):
            x = embedded()
            recurrent = (
                layers.GRU(2, return_sequences=True),
                layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
            )
            found = [
                x,
                *(layer(x) for layer in recurrent if layer.supports_masking),  # in Keras 3.16 they do not
                layers.Dense(4, dtype="mixed_bfloat16")(x),
                layers.Concatenate()([x, x]),
                Averages()(x),
                layers.Masking()(np.float32(WORDS)[:, :, None]),
            ]
            for each in found:
                assert each._keras_mask.numpy().tolist() == IS_WORD
            first, second = Halves()(x)
            assert first._keras_mask.numpy().tolist() == [[True, True], [True, False]]
            assert second._keras_mask.numpy().tolist() == [[False], [False]]
            gone = layers.GlobalAveragePooling1D()(x)
            assert getattr(gone, "_keras_mask", None) is None
            np.testing.assert_allclose(gone, [[3, 4], [6, 7]])
            assert not hasattr(layers.Embedding(5, 2)(WORDS), "_keras_mask")


def check_layers_take_the_masks_of_tensors():
    """Check that layers called one by one compute as in a model."""
    for name in dt.list_engines():
        with dt.engine(name):
            x = embedded()
            np.testing.assert_allclose(Averages()(x)[:, 0], [[3, 4], [6, 7]])
            recurrent = layers.LSTM(2)
            by_argument = recurrent(ops.convert_to_tensor(x.numpy()), mask=ops.convert_to_tensor(IS_WORD))
            np.testing.assert_array_equal(recurrent(x), by_argument)
            assert not np.allclose(recurrent(x.numpy()), by_argument)


def check_tensors_without_masks_have_no_attribute_for_one():
    x = ops.ones(2)
    assert not hasattr(x, "_keras_mask") and not hasattr(pickle.loads(pickle.dumps(embedded())), "_keras_mask")


# -- TensorFlow's functions in layers ---------------------------------------------------------------------------------


class Normed(layers.Layer):
    """A layer written in TensorFlow's names; `tf` is TensorFlow or Dovetail's names of it."""

    def __init__(self, tf):
        super().__init__()
        self.tf = tf
        self.kernel = self.add_weight(shape=(3, 2), initializer="ones")

    def call(self, x):
        y = self.tf.matmul(x, self.kernel)
        return y / (1.0 + self.tf.norm(y, axis=-1, keepdims=True))


class StepByTensorFlow(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tensorflow.GradientTape() as tape:
            loss = ops.mean(ops.square(self(x) - y))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"loss": loss}


X, Y = np.random.default_rng(0).normal(size=(8, 3)).astype("float32"), np.zeros((8, 2), "float32")


def check_raw_functions_of_tensorflow_say_what_to_write():
    for call in (
        lambda: Normed(tensorflow)(keras.Input((3,))),
        lambda: keras.Sequential([Normed(tensorflow)]).predict(X, verbose=0),
        lambda: compiled(keras.Sequential([layers.Dense(3), Normed(tensorflow)])).fit(X, Y, verbose=0),
        lambda: compiled(StepByTensorFlow([layers.Dense(2)])).fit(X, Y, verbose=0),
    ):
        with pytest.raises((TypeError, RuntimeError, AttributeError)) as error:
            call()
        assert "`import dovetail.compat.tensorflow as tf`" in str(error.value)
        assert "`import tensorflow`, then `tensorflow.data`" in str(error.value)


def compiled(model):
    model.compile("sgd", "mse")
    return model


def check_what_the_error_says_works():
    """Check layers written in Dovetail's names of TensorFlow, and TensorFlow's own data, on each engine."""
    data = tensorflow.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    wanted = None
    for name in dt.list_engines():
        with dt.engine(name):
            model = compiled(keras.Sequential([Normed(compat)]))
            losses = model.fit(data, epochs=3, verbose=0).history["loss"]
            assert losses[2] < losses[0]
            np.testing.assert_allclose(losses, wanted or losses, rtol=1e-4)
            wanted = losses


if __name__ == "__main__":
    main(globals())

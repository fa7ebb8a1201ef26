"""Checks of Keras' layers that are called one by one, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import pickle

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import numpy as np
from keras import layers, ops

import dovetail as dt
from tests.keras_backends import main

WORDS = np.array([[1, 2, 0], [3, 0, 0]])
IS_WORD = [[True, True, False], [True, False, False]]


class Averages(layers.Layer):
    """Asks for the mask, and hands it on."""

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
    """As on Keras' other backends: of what makes a mask, hands it on, cuts it in parts, or needs it no more."""
    for name in dt.list_engines():
        with dt.engine(name):
            x = embedded()
            found = [
                x,
                layers.GRU(2, return_sequences=True)(x),
                layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x),
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
    """Called one by one they give what they give in a model."""
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


if __name__ == "__main__":
    main(globals())

"""Checks of integers of NumPy as sizes, seeds and the like, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2  # noqa: F401  before the names of Keras 2

# isort: split
import keras
import numpy as np
import pytest
from keras import layers
from keras.engine.training import Model

from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
KINDS = (np.int64, np.int32, np.uint8, np.array)


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


class Own(layers.Dense):
    """A program's own layer, which passes sizes on to Keras."""

    def __init__(self, units, **options):
        super().__init__(units, **options)


LAYERS = [  # a layer whose integers a function makes of Python's, and the shape of a sample
    (lambda n: layers.Dense(n(2)), (3,)),
    (lambda n: Own(n(2)), (3,)),
    (lambda n: layers.Conv1D(n(2), n(3), strides=n(2)), (8, 2)),
    (lambda n: layers.Conv2D(n(2), (n(3), n(2)), dilation_rate=n(2), groups=n(2)), (8, 8, 2)),
    (lambda n: layers.Conv2DTranspose(n(2), n(3), strides=(n(2), n(1))), (4, 4, 2)),
    (lambda n: layers.SeparableConv2D(n(2), n(3), depth_multiplier=n(2)), (8, 8, 2)),
    (lambda n: layers.DepthwiseConv2D(n(3), depth_multiplier=n(2)), (8, 8, 2)),
    (lambda n: layers.MaxPooling2D(n(2), strides=n(1)), (8, 8, 2)),
    (lambda n: layers.AveragePooling1D(n(2)), (8, 2)),
    (lambda n: layers.UpSampling1D(n(2)), (4, 2)),
    (lambda n: layers.UpSampling2D((n(2), n(3))), (4, 4, 2)),
    (lambda n: layers.ZeroPadding2D(((n(1), n(2)), (n(0), n(1)))), (4, 4, 2)),
    (lambda n: layers.Cropping2D(n(1)), (4, 4, 2)),
    (lambda n: layers.Reshape((n(3), n(2))), (6,)),
    (lambda n: layers.Permute((n(2), n(1))), (3, 2)),
    (lambda n: layers.RepeatVector(n(2)), (3,)),
    (lambda n: layers.Embedding(n(5), n(2)), (3,)),
    (lambda n: layers.LSTM(n(2), return_sequences=True), (4, 3)),
    (lambda n: layers.Bidirectional(layers.GRU(n(2))), (4, 3)),
    (lambda n: layers.TimeDistributed(layers.Dense(n(2))), (4, 3)),
    (lambda n: layers.ConvLSTM2D(n(2), n(3)), (3, 5, 5, 2)),
    (lambda n: layers.BatchNormalization(axis=n(1)), (4, 3)),
    (lambda n: layers.GroupNormalization(groups=n(2)), (4, 4)),
    (lambda n: layers.Softmax(axis=n(1)), (4, 3)),
    (lambda n: layers.Dropout(0.5, noise_shape=(None, n(1))), (3,)),
]


def check_integers_of_numpy_are_sizes_of_layers():
    for make, shape in LAYERS:
        wanted = make(int)
        for kind in KINDS:
            layer = make(kind)
            x = keras.Input([kind(size) for size in shape])
            assert layer(x).shape == wanted(x).shape, wanted
            assert json.dumps(layer.get_config())  # JSON takes Python's integers alone


OPERATIONS = {
    "repeat": lambda n, x: keras.ops.repeat(x, n(2), axis=n(1)),
    "split": lambda n, x: keras.ops.split(x, n(2), axis=n(2)),
    "pad": lambda n, x: keras.ops.pad(x, n(1)),
    "moveaxis": lambda n, x: keras.ops.moveaxis(x, n(1), n(2)),
    "tile": lambda n, x: keras.ops.tile(x, [n(1), n(2), n(1)]),
    "roll": lambda n, x: keras.ops.roll(x, n(1), axis=n(1)),
    "expand_dims": lambda n, x: keras.ops.expand_dims(x, n(1)),
    "max_pool": lambda n, x: keras.ops.max_pool(x, n(2)),
    "sum": lambda n, x: keras.ops.sum(x, axis=n(1)),
}


def check_integers_of_numpy_are_sizes_of_operations():
    """Check NumPy's integers as sizes in ops on tensors, and on KerasTensors, whose model is saved and loaded."""
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for call in OPERATIONS.values():
        wanted = call(int, x)
        wanted = wanted if isinstance(wanted, list) else [wanted]
        for kind in KINDS[:2]:
            inputs = keras.Input((3, 4), batch_size=2)
            model = Model(inputs, call(kind, inputs))
            clone = Model.from_config(model.get_config())
            for found in (call(kind, x), model(x), clone(x)):
                found = found if isinstance(found, list) else [found]
                for one, other in zip(found, wanted, strict=True):
                    np.testing.assert_array_equal(one, other)


def check_integers_of_numpy_are_seeds():
    for kind in KINDS:
        made = [keras.initializers.RandomNormal(seed=seed)((3,)) for seed in (kind(3), 3)]
        near(*made)
        near(*[keras.random.normal((3,), seed=keras.random.SeedGenerator(seed)) for seed in (kind(3), 3)])
        assert layers.Dropout(0.5, seed=kind(3)).get_config()["seed"] == 3


def check_other_sizes_are_refused_as_before():
    for size, kind in ((2.5, ValueError), ("2", ValueError), (np.float32(2), ValueError), (0, ValueError)):
        with pytest.raises(kind, match="positive integer"):
            layers.Dense(size)


def check_weights_and_models_take_integers_of_numpy():
    layer = layers.Layer()
    assert layer.add_weight(name="w", shape=(np.int64(2), np.prod((1, 3)))).shape == (2, 3)
    model = keras.Sequential([layers.Dense(np.prod((2, 2)), input_dim=np.int32(3)), layers.Dense(np.array(1))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        near(keras.models.load_model(path)(X), model(X))


# -- weights ----------------------------------------------------------------------------------------------------------


if __name__ == "__main__":
    main(globals())

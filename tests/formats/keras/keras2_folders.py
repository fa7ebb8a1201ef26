"""Make the folders of `folders/`, with inputs and predictions: python -m tests.formats.keras.keras2_folders

Keras 2 saves each model as a SavedModel, in a process of its own; the tests load them on Dovetail.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tf_keras import layers

FOLDER = Path(__file__).parent / "folders"
RANDOM = np.random.RandomState(0)
V1 = keras.optimizers.legacy


def floats(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype("float32")


def words(*shape: int) -> np.ndarray:
    return RANDOM.randint(0, 9, shape).astype("int32")


def compiled(model: Any, optimizer: Any, loss: Any = "mse", **more: Any) -> Any:
    model.compile(optimizer, loss, **more)
    return model


def mlp() -> Any:
    dense = layers.Dense(8, "relu", kernel_regularizer=keras.regularizers.L2(0.01), input_shape=(6,))
    return keras.Sequential([dense, layers.Dropout(0.2), layers.Dense(3, name="scores")])


def adam() -> Any:
    model = keras.Sequential([layers.Dense(4, "tanh", input_shape=(6,)), layers.Dense(2, "softmax")])
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    return compiled(model, keras.optimizers.Adam(0.02, beta_1=0.8), loss, metrics=["accuracy"])


def legacy_adam() -> Any:
    x = keras.Input((6,), name="x")
    hidden = layers.Dense(4, "tanh")(x)
    model = keras.Model(x, [layers.Dense(2, name="a")(hidden), layers.Dense(1, name="b")(hidden)])
    return compiled(model, V1.Adam(0.02, beta_1=0.8), {"a": "mse", "b": "mae"}, loss_weights={"a": 1.0, "b": 0.5})


def cnn() -> Any:
    model = keras.Sequential([
        layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 2)),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.SeparableConv2D(3, 2, padding="same"),
        layers.DepthwiseConv2D(2),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ])  # fmt: skip
    return compiled(model, keras.optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy")


def lstm() -> Any:
    return keras.Sequential(
        [layers.LSTM(5, return_sequences=True, input_shape=(None, 3)), layers.LSTM(4), layers.Dense(2)]
    )


def gru() -> Any:
    return keras.Sequential([layers.GRU(5, input_shape=(7, 3)), layers.Dense(2)])


def bidirectional() -> Any:
    inner = layers.LSTM(3, return_sequences=True)
    return keras.Sequential([
        layers.Bidirectional(inner, input_shape=(5, 2)),
        layers.TimeDistributed(layers.Dense(4)),
        layers.Bidirectional(layers.GRU(2), merge_mode="sum"),
    ])  # fmt: skip


def masked() -> Any:
    model = keras.Sequential([layers.Embedding(9, 4, mask_zero=True, input_length=6), layers.GRU(3), layers.Dense(1)])
    return compiled(model, "rmsprop", "binary_crossentropy")


def lambdas() -> Any:
    x, y = keras.Input((6,), name="x"), keras.Input((6,), name="y")
    z = tf.nn.relu(layers.Dense(6)(x) * 2.0 - y)
    z = tf.concat([z[:, :3], tf.math.exp(-y[:, 3:])], axis=-1)
    return keras.Model([x, y], layers.Dense(2)(z / (1.0 + tf.reduce_sum(z, axis=-1, keepdims=True))))


def nested() -> Any:
    inner = keras.Sequential([layers.Dense(4, "relu", input_shape=(6,)), layers.Dense(3)], name="inner")
    x = keras.Input((6,))
    shared = layers.Dense(6)
    return keras.Model(x, layers.Add()([inner(shared(x)), inner(shared(shared(x)))]))


class Gate(keras.layers.Layer):
    """A layer that the tests do not define, or define in another way."""

    def __init__(self, units: int, **more: Any) -> None:
        super().__init__(**more)
        self.units = units
        self.inner = layers.Dense(units)

    def build(self, shape: Any) -> None:
        self.slope = self.add_weight("the_slope", (self.units,), initializer="ones")

    def call(self, x: Any) -> Any:
        return tf.sigmoid(self.inner(x)) * self.slope

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


def gated() -> Any:
    return keras.Sequential([layers.Dense(4, input_shape=(6,)), Gate(3)])


class Net(keras.Model):
    """A model whose `call` says what it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [layers.Dense(4, "relu"), layers.BatchNormalization()]
        self.last = layers.Dense(2)

    def call(self, x: Any, training: Any = None) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def subclassed() -> Any:
    return Net()


INPUTS = {
    **{name: [(6,)] for name in ("mlp", "adam", "legacy_adam", "nested", "gated", "subclassed")},
    "cnn": [(8, 8, 2)],
    "lstm": [(5, 3)],
    "gru": [(7, 3)],
    "bidirectional": [(5, 2)],
    "masked": [(6,)],
    "lambdas": [(6,), (6,)],
}
WITH_FUNCTIONS = ("mlp", "lambdas", "gated", "subclassed", "adam")  # recurrent functions would take a megabyte


def write(name: str) -> None:
    keras.utils.set_random_seed(len(name))
    model = globals()[name]()
    x = [words(4, *shape) if name == "masked" else floats(4, *shape) for shape in INPUTS[name]]
    shapes = [found.shape for found in outputs(model, x)]
    arrays = {f"x{number}": array for number, array in enumerate(x)}
    is_compiled = getattr(model, "optimizer", None) is not None
    if is_compiled:
        wanted = [RANDOM.randint(0, 2, shape[:-1] if name == "cnn" else shape).astype("float32") for shape in shapes]
        wanted = [np.eye(2, dtype="float32")[[0, 1, 1, 0]]] if name == "adam" else wanted
        arrays |= {f"t{number}": array for number, array in enumerate(wanted)}
        model.fit(x[0], wanted if len(wanted) > 1 else wanted[0], verbose=0)
    else:  # averages and biases of their own
        model.set_weights([w + RANDOM.uniform(0.1, 0.2, w.shape) for w in model.get_weights()])
    arrays |= {f"y{number}": array for number, array in enumerate(outputs(model, x))}
    model.save(FOLDER / name, save_format="tf", save_traces=name in WITH_FUNCTIONS)
    model.save_weights(FOLDER / f"{name}_weights" / "ckpt-1") if name in ("adam", "subclassed") else None
    if is_compiled:  # a further step, with the state of the optimizer
        model.fit(x[0], wanted if len(wanted) > 1 else wanted[0], verbose=0)
        arrays |= {f"z{number}": array for number, array in enumerate(outputs(model, x))}
    np.savez(FOLDER / name, **arrays)


def outputs(model: Any, x: list[np.ndarray]) -> list[np.ndarray]:
    found = model.predict(x if len(x) > 1 else x[0], verbose=0)
    return found if isinstance(found, list) else [found]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or INPUTS:
        write(name)

"""Files of Keras 2, made by tf_keras: `TF_USE_LEGACY_KERAS=1 python -m tests.formats.keras.keras2_models FOLDER`.

Each model trains a step before it is saved, so its optimizer has a state.  Beside `NAME.h5` is `NAME.npz`: inputs `x0`,
`x1`, …, targets `t0`, …, predictions `y0`, …; and of a compiled model the predictions `z0`, … after another step.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import h5py
import numpy as np
import tensorflow as tf
import tf_keras as keras
from google.protobuf import json_format

L: Any = keras.layers
RANDOM = np.random.default_rng(0)
MODELS: dict[str, Callable[[], tuple[Any, list[Any]]]] = {}


def model(make: Callable[[], tuple[Any, list[Any]]]) -> Callable[[], tuple[Any, list[Any]]]:
    """Decorator: a function that makes a model, compiled or not, and its inputs."""
    MODELS[make.__name__] = make
    return make


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype("float32")


def words(*shape: int) -> np.ndarray:
    return RANDOM.integers(0, 7, shape).astype("int32")


def compiled(net: Any, optimizer: Any, loss: Any = "mse", **more: Any) -> Any:
    net.compile(optimizer, loss, **more)
    return net


@model
def mlp():
    l2 = keras.regularizers.l2(0.01)
    net = keras.Sequential([
        L.Dense(5, "tanh", input_shape=(4,), kernel_regularizer=l2, bias_constraint=keras.constraints.MaxNorm(2.0)),
        L.Dense(3, keras.activations.hard_sigmoid, kernel_initializer=keras.initializers.VarianceScaling(2.0)),
        L.Dense(2, "softmax", use_bias=False),
    ])  # fmt: skip
    return compiled(net, keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), metrics=["mae"]), [normal(6, 4)]


@model
def cnn():
    x = L.Input((8, 8, 2))
    y = L.BatchNormalization()(L.Conv2D(4, 3, activation="relu", padding="same")(x))
    y = L.Conv2D(4, 3, groups=2, dilation_rate=2)(L.MaxPooling2D(2, strides=1)(y))
    y = L.Dense(3, "softmax")(L.Flatten()(L.AveragePooling2D(2)(L.ReLU(6.0)(y))))
    net = keras.Model(x, y)
    return compiled(net, "adam", "sparse_categorical_crossentropy", metrics=["accuracy"]), [normal(5, 8, 8, 2)]


@model
def depthwise():
    net = keras.Sequential([
        L.ZeroPadding2D(1, input_shape=(6, 6, 2)), L.DepthwiseConv2D(3, depth_multiplier=2), L.LeakyReLU(0.2),
        L.SeparableConv2D(3, 3, padding="same"), L.PReLU(shared_axes=[1, 2]), L.Conv2DTranspose(2, 3, strides=2),
        L.Cropping2D(1), L.UpSampling2D(2, interpolation="bilinear"), L.ELU(0.5), L.SpatialDropout2D(0.0),
        L.GlobalAveragePooling2D(), L.Dense(2),
    ])  # fmt: skip
    return compiled(net, keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True)), [normal(4, 6, 6, 2)]


@model
def one_and_three():
    x, v = L.Input((9, 3)), L.Input((4, 4, 4, 1))
    y = L.GlobalMaxPooling1D()(L.Conv1D(4, 3, padding="causal", activation="elu")(L.GaussianNoise(0.0)(x)))
    z = L.Flatten()(L.MaxPooling3D()(L.Conv3D(2, 2, padding="same", activation="softsign")(v)))
    s = L.Flatten()(L.SeparableConv1D(2, 2, activation="swish")(L.AveragePooling1D(2)(x)))
    r = L.Reshape((2, -1))(L.Concatenate()([y, z, s]))
    net = keras.Model([x, v], L.Flatten()(L.Permute((2, 1))(L.Softmax(axis=[1])(r))))
    return compiled(net, keras.optimizers.Adagrad(0.1)), [normal(4, 9, 3), normal(4, 4, 4, 4, 1)]


@model
def lstm():
    net = keras.Sequential([
        L.LSTM(4, return_sequences=True, input_shape=(5, 3)), L.SimpleRNN(3, return_sequences=True),
        L.LSTM(2, recurrent_activation="hard_sigmoid", unit_forget_bias=False, go_backwards=True),
    ])  # fmt: skip
    return compiled(net, keras.optimizers.Adadelta(0.5)), [normal(4, 5, 3)]


@model
def gru_after():
    net = keras.Sequential([L.GRU(3, return_sequences=True, input_shape=(None, 2)), L.GRU(2, reset_after=True)])
    return compiled(net, keras.optimizers.Adamax(0.01), keras.losses.Huber(0.5)), [normal(3, 4, 2)]


@model
def gru_before():
    net = keras.Sequential([L.GRU(3, reset_after=False, input_shape=(4, 2), bias_initializer="normal"), L.Dense(1)])
    return compiled(net, keras.optimizers.Nadam(0.01), "mean_absolute_error"), [normal(3, 4, 2)]


@model
def bidirectional():
    x = L.Input((5, 3))
    y = L.Bidirectional(L.LSTM(2, return_sequences=True))(L.Masking(0.0)(x))
    y = L.Bidirectional(L.GRU(2), merge_mode="sum", backward_layer=L.GRU(2, go_backwards=True, activation="relu"))(y)
    net = keras.Model(x, y)
    return compiled(net, keras.optimizers.Adam(0.01, amsgrad=True, clipnorm=1.0)), [normal(4, 5, 3)]


@model
def masked():
    x = L.Input((6,), dtype="int32")
    y = L.LSTM(3, return_sequences=True)(L.Embedding(7, 4, mask_zero=True)(x))
    net = keras.Model(x, L.TimeDistributed(L.Dense(2, "softmax"))(y))
    return compiled(net, keras.optimizers.Ftrl(0.1), "categorical_crossentropy"), [words(4, 6)]


@model
def attention():
    x = L.Input((5, 6))
    y = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x, x)]))
    a = L.Attention(use_scale=True)([y, x])
    a = L.Concatenate()([a, L.AdditiveAttention()([y, x])])
    e = L.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d")(a)
    net = keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(e)))
    return compiled(net, keras.optimizers.AdamW(0.01, weight_decay=0.1)), [normal(4, 5, 6)]


@model
def nested():
    x = L.Input((4,))
    frozen = keras.Sequential([L.Dense(3, "relu", input_shape=(4,)), L.BatchNormalization()], name="frozen")
    frozen.trainable = False
    i = L.Input((3,))
    partly = keras.Model(
        i, L.Dense(2, name="thawed")(L.BatchNormalization()(L.Dense(3, name="kept")(i))), name="partly"
    )
    partly.get_layer("kept").trainable = False
    late = keras.Sequential([L.Dense(3), partly])
    net = keras.Sequential([keras.Model(x, late(frozen(x))), L.Dense(1)])
    return compiled(net, "adam"), [normal(5, 4)]


@model
def shared():
    a, b = L.Input((3,)), L.Input((3,))
    once, net = L.Dense(3, "tanh"), keras.Sequential([L.Dense(2, input_shape=(3,)), L.Dense(3)])
    y = L.Subtract()([net(once(once(a))), net(once(b))])
    y = L.Dot(1, normalize=True)([net(y), L.Multiply()([a, b])])
    return compiled(keras.Model([a, b], y), "rmsprop", keras.losses.LogCosh()), [normal(4, 3), normal(4, 3)]


@model
def two_ends():
    a, b = L.Input((3,), name="left"), L.Input((2,), name="right")
    y = L.Concatenate(name="both")([a, b])
    one, two = L.Dense(2, "softmax", name="kind")(y), L.Dense(1, "sigmoid", name="odds")(L.Average()([y, y]))
    net = compiled(
        keras.Model({"left": a, "right": b}, [one, two]), "adam",
        {"kind": "categorical_crossentropy", "odds": "binary_crossentropy"},
        loss_weights={"kind": 1.0, "odds": 0.5}, metrics={"kind": ["acc"], "odds": [keras.metrics.AUC()]},
    )  # fmt: skip
    return net, [normal(4, 3), normal(4, 2)]


@model
def functions():
    x = L.Input((4,))
    d = L.Dense(3)(x)
    y = tf.nn.relu(d) * 2.0 + tf.reduce_mean(d, axis=-1, keepdims=True)
    y = tf.concat([y, 1.0 - tf.stack([y[:, 0], tf.sqrt(tf.abs(y[:, 1]))], axis=1)], -1)
    y = tf.where(y > 0.3, y, tf.zeros_like(y)) / 3.0
    y = tf.math.sigmoid(tf.matmul(tf.expand_dims(y, 1), tf.expand_dims(y, 2)))[..., 0]
    y = tf.clip_by_value(tf.transpose(tf.tile(y, [1, 2])), 0.1, 0.9)
    y = tf.reshape(tf.cast(tf.transpose(y), "float32"), (-1, 2))
    return compiled(keras.Model(x, tf.tanh(y) - tf.maximum(y, 0.5) ** 2), keras.optimizers.SGD(0.1)), [normal(5, 4)]


@model
def slices():
    x = L.Input((6, 4))
    y = L.Dense(4)(x)
    y = y[:, 1:-1:2] + y[:, -2:] - x[:, tf.newaxis, 0][:, :, ::-1]
    return compiled(keras.Model(x, y[..., 1]), keras.optimizers.legacy.SGD(0.1, momentum=0.5)), [normal(4, 6, 4)]


@model
def mixed():
    policy = keras.mixed_precision.Policy("mixed_float16")
    x = L.Input((4,))
    y = L.LayerNormalization(dtype=policy)(L.Dense(8, "relu", dtype=policy)(x))
    net = keras.Model(x, L.Dense(2, dtype="float32")(y))
    return compiled(net, keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0)), [
        normal(4, 4)
    ]


@model
def distributed():
    x = L.Input((3, 6, 6, 1))
    y = L.TimeDistributed(L.Conv2D(2, 3))(x)
    y = L.TimeDistributed(keras.Sequential([L.Flatten(), L.Dense(3)]))(L.ConvLSTM2D(2, 2, return_sequences=True)(y))
    return compiled(keras.Model(x, y), keras.optimizers.legacy.Adam(0.01, amsgrad=True)), [normal(2, 3, 6, 6, 1)]


@model
def cells():
    x = L.Input((4, 3))
    y = L.RNN([L.LSTMCell(3), L.GRUCell(2, reset_after=False)], return_sequences=True)(x)
    net = keras.Model(x, L.RNN(L.SimpleRNNCell(2), go_backwards=True)(y))
    return compiled(net, keras.optimizers.legacy.RMSprop(0.01, momentum=0.5)), [normal(4, 4, 3)]


@model
def states():
    a, b = L.Input((4, 3)), L.Input((5, 2))
    _, h, c = L.LSTM(3, return_state=True)(a)
    y = L.LSTM(3, return_sequences=True)(b, initial_state=[h, c])
    y = L.GRU(3)(y, initial_state=h)
    return compiled(keras.Model([a, b], L.RepeatVector(2)(y)), keras.optimizers.legacy.Adagrad(0.1)), [
        normal(3, 4, 3),
        normal(3, 5, 2),
    ]


@model
def prepared():
    x = L.Input((6, 6, 3))
    y = L.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0])(L.Rescaling(2.0, offset=-0.5)(x))
    y = L.GlobalAveragePooling2D(keepdims=True)(L.CenterCrop(4, 4)(L.RandomFlip("horizontal")(y)))
    return keras.Model(x, L.Dense(2)(L.Resizing(2, 2)(y))), [normal(3, 6, 6, 3)]


@model
def operations():
    """Operations as TensorFlow 2.0 to 2.3 saved them."""
    from tf_keras.src.engine.base_layer import TensorFlowOpLayer

    def operation(op, inputs, constants, **attributes):
        node = tf.compat.v1.NodeDef(name=op, op=op, input=[f"x{n}" for n in range(len(inputs) + len(constants))])
        for name, value in attributes.items():
            node.attr[name].CopyFrom(value)
        return TensorFlowOpLayer(json_format.MessageToDict(node), f"{op}_{RANDOM.integers(10**6)}", constants)(inputs)

    floats, ints = (tf.compat.v1.AttrValue(type=t.as_datatype_enum) for t in (tf.float32, tf.int32))
    keep = tf.compat.v1.AttrValue(b=True)
    x = L.Input((4, 3))
    y = operation("Mul", [L.Dense(3)(x)], {1: np.float32(2.0)}, T=floats)
    y = operation("AddV2", [y, x], {}, T=floats)
    y = operation("Sub", [y], {0: np.float32(1.0)}, T=floats)
    y = operation("Mean", [y], {1: np.int32([1])}, T=floats, Tidx=ints, keep_dims=keep)
    return keras.Model(x, operation("Reshape", [y], {1: np.int32([-1, 3])}, T=floats, Tshape=ints)), [normal(2, 4, 3)]


class Scale(L.Layer):
    """A layer of a program."""

    def __init__(self, times, **kwargs):
        super().__init__(**kwargs)
        self.times = times

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.kernel * self.times

    def get_config(self):
        return {**super().get_config(), "times": self.times}


def cube(x):
    return x**3


@model
def own():
    x = L.Input((3,))
    y = L.Lambda(lambda x: x * 2.0, name="double")(Scale(3.0)(L.Dense(3, cube)(x)))
    return compiled(keras.Model(x, L.Lambda(cube)(y)), keras.optimizers.SGD(0.001), cube_loss), [normal(4, 3) / 4]


@model
def scheduled():
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([0, 5], [0.4, 0.1, 0.01])  # of no name
    net = keras.Sequential([L.Dense(2, "tanh", input_shape=(3,)), L.BatchNormalization(), L.Dense(1)])
    return compiled(net, keras.optimizers.SGD(rate)), [normal(4, 3)]


@model
def averages():
    net = keras.Sequential([L.Dense(3, activation="tanh", input_shape=(4,)), L.Dense(2)])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=2)
    return compiled(net, optimizer), [normal(4, 4)]


def cube_loss(y, z):
    return tf.reduce_mean(tf.abs(y - z) ** 3, axis=-1)


def targets(net: Any, predicted: list[np.ndarray]) -> list[np.ndarray]:
    """Numbers to train for: classes for losses of classes."""
    if net.loss == "sparse_categorical_crossentropy":
        return [RANDOM.integers(0, y.shape[-1], y.shape[:-1]) for y in predicted]
    drawn = [RANDOM.uniform(0, 1, y.shape).astype("float32") for y in predicted]
    return [
        t / t.sum(-1, keepdims=True) if np.allclose(y.sum(-1), 1) else t for t, y in zip(drawn, predicted, strict=True)
    ]


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def make(folder: Path) -> None:
    for seed, (name, of) in enumerate(MODELS.items()):
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        net, x = of()
        arrays = {f"x{n}": each for n, each in enumerate(x)}
        given = dict(zip(net.input_names, x, strict=True)) if isinstance(net.input, dict) else x if len(x) > 1 else x[0]
        if net.optimizer:
            t = targets(net, as_list(net.predict(given, verbose=0)))
            arrays |= {f"t{n}": each for n, each in enumerate(t)}
            net.train_on_batch(given, t if len(t) > 1 else t[0])
        arrays |= {f"y{n}": each for n, each in enumerate(as_list(net.predict(given, verbose=0)))}
        net.save(folder / f"{name}.h5")
        if name in ("cnn", "nested"):
            net.save_weights(folder / f"{name}.hdf5")
        if name in ("mlp", "bidirectional", "scheduled"):
            net.save(folder / f"{name}.keras")
            net.save_weights(folder / f"{name}.weights.h5")
        if net.optimizer and not isinstance(net.optimizer, keras.optimizers.Nadam):  # which Keras 3 changed
            net.train_on_batch(given, t if len(t) > 1 else t[0])
            arrays |= {f"z{n}": each for n, each in enumerate(as_list(net.predict(given, verbose=0)))}
        np.savez(folder / f"{name}.npz", **arrays)


# -- older files, which tf_keras does not write, but whose weights it reads -------------------------------------------


def cudnn(folder: Path) -> None:
    """A model with layers for GPUs; tf_keras loads its weights into layers for all processors."""
    from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU
    from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM

    def of(lstm, gru):
        return keras.Sequential([
            L.Input((4, 3)), lstm(3, return_sequences=True, name="lstm"), L.Bidirectional(gru(2), name="both"),
        ])  # fmt: skip

    net = of(CuDNNLSTM, CuDNNGRU)
    net.set_weights([RANDOM.normal(size=w.shape) for w in net.get_weights()])
    net.save(folder / "cudnn.h5")
    plain, x = of(L.LSTM, L.GRU), normal(2, 4, 3)
    plain.load_weights(folder / "cudnn.h5")
    np.savez(folder / "cudnn.npz", x0=x, y0=plain.predict(x, verbose=0))


def keras1(folder: Path) -> None:
    """A model of Keras 1: tf_keras reads its weights, and its configuration is written by hand."""
    net = keras.Sequential([
        L.Conv2D(4, (3, 2), activation="relu", input_shape=(6, 6, 2)), L.BatchNormalization(), L.Dropout(0.5),
        L.MaxPooling2D(padding="same"), L.Reshape((4, 6)), L.Conv1D(5, 2, padding="same", use_bias=False),
        L.LSTM(3, recurrent_activation="hard_sigmoid", return_sequences=True),
        L.GRU(3, recurrent_activation="hard_sigmoid", reset_after=False), L.Dense(2, "softmax"),
    ])  # fmt: skip
    rows = {"init": "glorot_uniform", "W_regularizer": None, "b_regularizer": None, "W_constraint": None, "bias": True}
    conv = {**rows, "border_mode": "valid", "activation": "relu", "activity_regularizer": None}
    cell = {
        **rows, "output_dim": 3, "inner_init": "orthogonal", "inner_activation": "hard_sigmoid", "activation": "tanh",
        "dropout_W": 0.0, "dropout_U": 0.0, "U_regularizer": None, "go_backwards": False, "stateful": False,
        "unroll": False, "consume_less": "cpu", "input_dim": 5, "input_length": None, "return_sequences": False,
    }  # fmt: skip
    del cell["bias"], cell["W_constraint"]
    l2 = {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01}
    image = {"batch_input_shape": [None, 6, 6, 2], "dim_ordering": "tf", "subsample": [1, 1], "input_dtype": "float32"}
    layers: list[tuple[str, dict[str, Any]]] = [
        ("Convolution2D", {**conv, **image, "nb_filter": 4, "nb_row": 3, "nb_col": 2, "W_regularizer": l2}),
        ("BatchNormalization", {"mode": 0, "axis": -1, "momentum": 0.99, "epsilon": 0.001, "beta_init": "zero"}),
        ("Dropout", {"p": 0.5}),
        ("MaxPooling2D", {"pool_size": [2, 2], "strides": [2, 2], "border_mode": "same", "dim_ordering": "tf"}),
        ("Reshape", {"target_shape": [4, 6]}),
        ("Convolution1D", {**conv, "nb_filter": 5, "filter_length": 2, "subsample_length": 1, "border_mode": "same",
                           "activation": "linear", "bias": False, "input_dim": 6, "input_length": None}),
        ("LSTM", {**cell, "forget_bias_init": "one", "return_sequences": True}),
        ("GRU", cell),
        ("Dense", {**rows, "output_dim": 2, "activation": "softmax", "input_dim": None}),
    ]  # fmt: skip
    config = [
        {"class_name": cls, "config": {"name": f"{cls.lower()}_1", "trainable": True, **more}} for cls, more in layers
    ]
    training = {
        "optimizer_config": {"class_name": "SGD", "config": {"lr": 0.1, "momentum": 0.0, "decay": 0.5}},
        "loss": "mse", "metrics": ["accuracy"], "sample_weight_mode": None, "loss_weights": None,
    }  # fmt: skip
    with h5py.File(folder / "keras1.h5", "w") as file:
        file.attrs["keras_version"] = b"1.2.2"
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": config}).encode()
        file.attrs["training_config"] = json.dumps(training).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [each["config"]["name"].encode() for each in config]
        for each, layer in zip(config, net.layers, strict=True):
            inner, arrays = (
                group.create_group(each["config"]["name"]),
                of_keras1(each["class_name"], layer.get_weights()),
            )
            inner.attrs["weight_names"] = np.array([f"param_{n}".encode() for n in range(len(arrays))], "S9")
            for number, array in enumerate(arrays):
                inner[f"param_{number}"] = array
    for layer in net.layers:
        layer.set_weights([w * 0 for w in layer.get_weights()])
    net.load_weights(folder / "keras1.h5")
    net.compile(keras.optimizers.legacy.SGD(0.1, decay=0.5), "mse")
    x, t = normal(3, 6, 6, 2), normal(3, 2)
    np.savez(folder / "keras1.npz", x0=x, y0=net.predict(x, verbose=0), t0=t)


def of_keras1(cls: str, weights: list[Any]) -> list[Any]:
    """Random weights of the shapes that Keras 1 had."""
    arrays = [RANDOM.uniform(0.1, 1, w.shape).astype("float32") for w in weights]
    if cls == "Convolution1D":
        return [arrays[0][:, None]]
    if cls in ("LSTM", "GRU"):
        gates = 4 if cls == "LSTM" else 3
        return [part for gate in range(gates) for part in (np.split(a, gates, -1)[gate] for a in arrays)]
    return arrays


if __name__ == "__main__":
    for write in (make, cudnn, keras1):
        write(Path(sys.argv[1]))

"""Trainings of Keras that several ranks compute as one process does: models, data, optimizers, losses, metrics."""

from __future__ import annotations

import keras
import numpy as np
import torch

import dovetail as dt

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(70, 6)), RNG.integers(0, 3, 70)  # batches of 15 rows, and a last one of 10
IMAGES = RNG.normal(size=(70, 5, 5, 2))
WORDS = RNG.integers(1, 9, (70, 7)) * (np.arange(7) < RNG.integers(1, 8, (70, 1)))  # 0 is masked
WEIGHTS = RNG.random(70)
layers = keras.layers


def mlp():
    return keras.Sequential(
        [layers.Dense(8, "tanh"), layers.Dropout(0.4), layers.GaussianNoise(0.1), layers.Dense(3, "softmax")]
    )


def small():
    return keras.Sequential([layers.Dense(8, "tanh"), layers.Dense(3, "softmax")])


def normed():
    """A model whose moving averages are those of all rows."""
    norm = layers.BatchNormalization(synchronized=True)
    return keras.Sequential([layers.Dense(8, "tanh"), norm, layers.Dense(3, "softmax")])


def cnn():
    norm = layers.BatchNormalization(synchronized=True)
    return keras.Sequential([layers.Conv2D(3, 3), norm, layers.ReLU(), layers.Flatten(), layers.Dense(3, "softmax")])


def masked():
    embedding = layers.Embedding(9, 4, mask_zero=True)
    return keras.Sequential([embedding, layers.LSTM(5, return_sequences=True), layers.Dense(3, "softmax")])


def masked_norm():
    embedding, norm = layers.Embedding(9, 4, mask_zero=True), layers.BatchNormalization(synchronized=True)
    return keras.Sequential([embedding, norm, layers.LSTM(5), layers.Dense(3, "softmax")])


class Mixed(layers.Layer):
    """Each row, mixed with another row of the batch, as mixup does."""

    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x):
        return x + 0.5 * keras.random.shuffle(x, seed=self.seed) + 0.1 * keras.random.shuffle(x, 1, seed=self.seed)


class Noisy(layers.Layer):
    """Noise by the random numbers that a program draws without a seed."""

    def call(self, x, training=False):
        return x + 0.1 * keras.random.normal(keras.ops.shape(x)) if training else x


def noisy():
    keras.random.uniform(())  # before `fit` makes the ranks equal
    return keras.Sequential([Noisy(), layers.Dense(3, "softmax")])


def mixing():
    return keras.Sequential([layers.Dense(8, "tanh"), Mixed(), layers.Dense(3, "softmax")])


def mixed_up():
    return keras.Sequential([layers.MixUp(), layers.CutMix(), layers.Flatten(), layers.Dense(3, "softmax")])


def branches():
    """A model of two inputs and two outputs, with a penalty on weights."""
    a, b = keras.Input((6,), name="a"), keras.Input((5, 5, 2), name="b")
    joined = layers.Concatenate()([layers.Dense(4, "tanh")(a), layers.Flatten()(b)])
    kind = layers.Dense(3, "softmax", name="kind", kernel_regularizer="l2")(joined)
    return keras.Model({"a": a, "b": b}, {"kind": kind, "size": layers.Dense(1, name="size")(joined)})


class Own(keras.Sequential):
    """A model with a training step of its own, that only knows its rows, some of which overflow."""

    def train_step(self, data):
        x, y = data
        with dt.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.optimizer.scale_loss(self.compute_loss(x, y, y_pred))
            loss = loss * dt.ops.where(dt.ops.max(x[:, 0]) > 1.8, np.inf, 1.0)
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return self.compute_metrics(x, y, y_pred)


class Tracked(keras.Sequential):
    """A model whose steps track the means of batches, and give a number of the batch."""

    def __init__(self, layers):
        super().__init__(layers)
        self.tracker = keras.metrics.Mean(name="own_loss")

    def train_step(self, data):
        x, y = data
        with dt.GradientTape() as tape:
            loss = keras.ops.mean(keras.losses.sparse_categorical_crossentropy(y, self(x, training=True)))
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.tracker.update_state(loss)
        logs = {"loss": 2 * loss, "spread": keras.ops.mean(keras.ops.square(x))}  # a metric `loss` is not updated
        return {"own_loss": self.tracker.result(), **logs}

    def test_step(self, data):
        x, y = data
        self.tracker.update_state(keras.ops.mean(keras.losses.sparse_categorical_crossentropy(y, self(x))))
        return {"own_loss": self.tracker.result()}


class Batches(keras.utils.PyDataset):
    """The batches of X and Y."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return X[15 * index : 15 * index + 15], Y[15 * index : 15 * index + 15]


class Largest(keras.metrics.Metric):
    """The largest score so far: a variable that is no sum."""

    def __init__(self, name="largest"):
        super().__init__(name=name)
        self.found = self.add_variable((), "zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.found.assign(keras.ops.maximum(self.found, keras.ops.max(y_pred)))

    def result(self):
        return self.found


class Wrong(keras.metrics.Mean):
    """The part of the labels that a model did not find."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        found = keras.ops.cast(keras.ops.argmax(y_pred, -1), "int32")
        super().update_state(found != keras.ops.cast(y_true, "int32"))


def dice(y_true, y_pred):
    """The part of labels and predictions that does not overlap, in the whole batch."""
    labels = keras.ops.one_hot(y_true, 3)
    return 1 - 2 * keras.ops.sum(labels * y_pred) / keras.ops.sum(labels + keras.ops.square(y_pred))


class Overlap(keras.losses.Loss):
    """A loss of a program's own, which is no mean of rows."""

    def call(self, y_true, y_pred):
        return dice(y_true, y_pred)


def highest(y_true, y_pred):
    return keras.ops.sqrt(keras.ops.max(y_pred))


def drawn():
    """Batches that are drawn from the random numbers of NumPy."""
    while True:
        rows = np.random.permutation(70)[:13]  # noqa: NPY002  # programs do
        yield X[rows], Y[rows]


def torch_batches():
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=15, shuffle=True
    )


def tensorflow_batches():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(15)


def adam(**options):
    return {"optimizer": keras.optimizers.Adam(0.01, **options)}


def scaled():
    """An optimizer that skips steps which overflow."""
    inner = keras.optimizers.Adam(0.01)
    return {"optimizer": keras.optimizers.LossScaleOptimizer(inner, 8.0, dynamic_growth_steps=3)}


def summed(reduction):
    return {"loss": keras.losses.SparseCategoricalCrossentropy(reduction=reduction)}


# Name → the model; the options of `compile` and of `fit`, which functions make for each training; other options of a
# case: `tolerance`, and `policy` of dtypes.  Without `x`, `fit` gets arrays in batches of 15.
CASES = {
    "mlp": (mlp, dict, {"epochs": 10}, {}),
    "cnn": (cnn, dict, {"x": IMAGES, "y": Y, "batch_size": 15, "epochs": 10}, {}),
    "own step": (lambda: Own(small().layers), scaled, {}, {}),
    "a batch of one row": (mlp, dict, {"x": X[:31], "y": Y[:31], "batch_size": 15}, {}),
    "accumulation": (mlp, lambda: adam(gradient_accumulation_steps=2), {}, {}),
    "ema": (mlp, lambda: adam(use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=4), {}, {}),
    "clipnorm": (mlp, lambda: adam(clipnorm=0.1), {}, {}),
    "global clipnorm": (mlp, lambda: adam(global_clipnorm=0.1), {}, {}),
    "mixed_float16": (small, lambda: {"optimizer": "sgd"}, {}, {"policy": "mixed_float16", "tolerance": 5e-3}),
    "mixed_bfloat16": (small, dict, {}, {"policy": "mixed_bfloat16", "tolerance": 5e-2}),
    "PyDataset": (mlp, dict, {"x": lambda: Batches(workers=2)}, {}),
    "generator": (mlp, dict, {"x": drawn, "steps_per_epoch": 4}, {}),
    "DataLoader": (mlp, dict, {"x": torch_batches}, {}),
    "Dataset": (mlp, dict, {"x": tensorflow_batches}, {}),
    "class_weight": (mlp, dict, {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}}, {}),
    "sample_weight": (mlp, lambda: {"weighted_metrics": ["accuracy"]}, {"sample_weight": WEIGHTS}, {}),
    "validation_split": (mlp, dict, {"validation_split": 0.3}, {}),
    "validation_data": (mlp, dict, {"validation_data": (X[:20], Y[:20]), "validation_freq": 2}, {}),
    "steps_per_execution": (mlp, lambda: {"steps_per_execution": 3}, {}, {}),
    "steps_per_epoch": (mlp, dict, {"steps_per_epoch": 2, "initial_epoch": 1}, {}),
    "shuffled batches": (mlp, dict, {"shuffle": "batch"}, {}),
    "run_eagerly": (mlp, lambda: {"run_eagerly": True}, {}, {}),
    "masks": (masked, dict, {"x": WORDS, "y": RNG.integers(0, 3, (70, 7)), "batch_size": 15}, {}),
    "masked norm": (masked_norm, dict, {"x": WORDS, "y": Y, "batch_size": 15}, {}),
    "shuffled rows": (mixing, dict, {}, {}),
    "fewer rows than ranks": (mixing, dict, {"x": X[:31], "y": Y[:31], "batch_size": 15}, {}),
    "sums": (mlp, lambda: summed("sum"), {}, {}),
    "weighted means": (mlp, lambda: summed("mean_with_sample_weight"), {"sample_weight": WEIGHTS}, {}),
    "own metrics": (mlp, lambda: {"metrics": [Largest(), Wrong("wrong")]}, {}, {}),
    "no seed": (noisy, dict, {}, {}),
    "own trackers": (lambda: Tracked(small().layers), dict, {"x": X[:67], "y": Y[:67], "batch_size": 15}, {}),
    "a number for a batch": (
        mlp,
        lambda: {"loss": dice, "metrics": [highest]},
        {"x": X[:31], "y": Y[:31], "batch_size": 15},
        {},
    ),
    "own loss": (mlp, lambda: {"loss": Overlap()}, {}, {}),
    "Dice": (mlp, lambda: {"loss": keras.losses.Dice()}, {"y": np.eye(3)[Y], "x": X, "batch_size": 15}, {}),
    "Circle": (mlp, lambda: {"loss": keras.losses.Circle()}, {}, {}),  # it masks rows without others of their class
    "mixed up": (mixed_up, dict, {"x": IMAGES, "y": Y, "batch_size": 15}, {}),
    "branches": (
        branches,
        lambda: {
            "loss": {"kind": "sparse_categorical_crossentropy", "size": "mae"},
            "metrics": {"kind": ["accuracy"], "size": ["mse"]},
            "loss_weights": {"kind": 2.0, "size": 0.5},
        },
        {"x": {"a": X, "b": IMAGES}, "y": {"kind": Y, "size": X[:, :1]}, "batch_size": 15},
        {},
    ),
}
SHORT = (
    "mlp",
    "cnn",
    "masked norm",
    "shuffled rows",
    "own step",
    "own trackers",
    "a number for a batch",
)  # in each mix of engines

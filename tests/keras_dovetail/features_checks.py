"""Features of Keras' training: each trains a small model and gives its losses, on the backend that runs.

No layer draws random numbers and weights are given, so all losses are the same.
"""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext

ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.keras_backends import main

warnings.simplefilter("ignore")  # Keras warns that it cannot shuffle a generator
RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(64, 8)).astype("float32"), RANDOM.integers(0, 3, 64)
WORDS = RANDOM.integers(1, 9, (32, 6)) * (np.arange(6) < RANDOM.integers(2, 7, (32, 1)))  # 0 after the end of a text
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def compiled(model, optimizer=None):
    """A model whose weights are the same in each process."""
    random = np.random.default_rng(1)
    model.set_weights([random.normal(0, 0.3, w.shape) for w in model.get_weights()])
    model.compile(optimizer or keras.optimizers.Adam(0.01), LOSS, metrics=["accuracy"])
    return model


def mlp(optimizer=None, kind=keras.Sequential):
    model = kind([keras.Input((8,)), layers.Dense(16, "relu"), layers.LayerNormalization(), layers.Dense(3)])
    return compiled(model, optimizer)


def losses(model, *data, epochs=3, **options):
    return model.fit(*data, epochs=epochs, verbose=0, shuffle=False, **options).history["loss"]


def feature_class_weights():
    return losses(mlp(), X, Y, class_weight={0: 1.0, 1: 2.0, 2: 0.5})


def feature_masks():
    """Losses with masks of an embedding, through recurrent layers, to the loss of each step."""
    words = [keras.Input((6,), dtype="int32"), layers.Embedding(9, 4, mask_zero=True)]
    steps = [layers.LSTM(5, return_sequences=True), layers.GRU(4, return_sequences=True, reset_after=False)]
    return losses(compiled(keras.Sequential([*words, *steps, layers.Dense(3)])), WORDS, WORDS % 3)


def feature_accumulation():
    return losses(mlp(keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2)), X, Y, batch_size=16)


ACCUMULATING = (
    (keras.optimizers.Adam, {}),
    (keras.optimizers.Adam, {"clipnorm": 0.1, "use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 2}),
    (keras.optimizers.Adam, {"loss_scale_factor": 16.0, "global_clipnorm": 0.1, "gradient_accumulation_steps": 3}),
    (keras.optimizers.AdamW, {"weight_decay": 0.1, "clipvalue": 0.05}),
    (keras.optimizers.Nadam, {}),
)


def feature_accumulation_by_adam():
    """Losses with accumulation of gradients; Adam's count of steps is no variable then."""
    scaled = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.02, gradient_accumulation_steps=2), initial_scale=64.0, dynamic_growth_steps=3
    )
    made = [kind(0.02, **{"gradient_accumulation_steps": 2, **options}) for kind, options in ACCUMULATING]
    return [loss for optimizer in (*made, scaled) for loss in losses(mlp(optimizer), X, Y, batch_size=16)]


def feature_averaged_weights():
    model = mlp(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=4))
    return [*losses(model, X, Y, batch_size=16), model.evaluate(X, Y, verbose=0)[0]]


def feature_scaled_losses():
    scaled = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), initial_scale=64.0, dynamic_growth_steps=3
    )
    return losses(mlp(scaled), X, Y)


def feature_recomputed_layers():
    with keras.RematScope(mode="full"):
        return losses(mlp(), X, Y)


class OwnStep(keras.Sequential):
    """A model with its own training step, written for Dovetail; other backends do the same by default."""

    if ON_DOVETAIL:

        def train_step(self, data):
            x, y = data
            with dt.GradientTape() as tape:
                loss = keras.ops.mean(LOSS(y, self(x, training=True)))
            weights = self.trainable_weights
            self.optimizer.apply(tape.gradient(loss, weights), weights)
            self.metrics[0].update_state(loss, sample_weight=x.shape[0])
            return {"loss": self.metrics[0].result()}


def feature_own_training_step():
    return losses(mlp(kind=OwnStep), X, Y)


def by_jax(is_compiled):
    """Losses, the accuracy and weights of steps by functions of JAX, which give new values in place of assignments."""
    import jax

    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Dense(3)(layers.BatchNormalization()(layers.Dense(16, "relu")(inputs))))
    optimizer, accuracy = keras.optimizers.Adam(0.01), keras.metrics.SparseCategoricalAccuracy()
    compiled(model)
    optimizer.build(model.trainable_variables)

    def loss_of(trained, others, counts, x, y):
        outputs, others = model.stateless_call(trained, others, x, training=True)
        return LOSS(y, outputs), (others, accuracy.stateless_update_state(counts, y, outputs))

    def step(state, x, y):
        trained, others, slots, counts = state
        (loss, (others, counts)), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained, others, counts, x, y)
        trained, slots = optimizer.stateless_apply(slots, gradients, trained)
        return loss, (trained, others, slots, counts)

    step, found = jax.jit(step) if is_compiled else step, []
    owners = (model.trainable_variables, model.non_trainable_variables, optimizer.variables, accuracy.variables)
    state = tuple([variable.value for variable in variables] for variables in owners)
    for start in range(0, len(X), 16):
        loss, state = step(state, X[start : start + 16], Y[start : start + 16])
        found.append(float(loss))
    for variables, values in zip(owners, state, strict=True):
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
    return [*found, float(accuracy.result()), *np.concatenate([w.ravel() for w in model.get_weights()])]


def feature_stateless_steps_by_jax():
    return by_jax(is_compiled=False)


def feature_stateless_steps_in_a_function_of_jax():
    return by_jax(is_compiled=True)


def feature_ragged_generators():
    """Losses by batches of different sizes."""

    def batches():
        for _ in range(3):
            start = 0
            for size in (7, 20, 1, 13):
                yield X[start : start + size], Y[start : start + size]
                start += size

    return losses(mlp(), batches(), steps_per_epoch=4)


def feature_tensorflow_data():
    import tensorflow as tf

    return losses(mlp(), tf.data.Dataset.from_tensor_slices((X, Y)).batch(32))


def feature_torch_loaders():
    import torch

    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    return losses(mlp(), torch.utils.data.DataLoader(data, batch_size=32))


def feature_scikit_learn():
    from keras.wrappers import SKLearnClassifier

    def model(X, y):
        made = keras.Sequential([keras.Input((X.shape[1],)), layers.Dense(3, "softmax")])
        compiled(made).compile("sgd", "categorical_crossentropy")
        return made

    estimator = SKLearnClassifier(model, fit_kwargs={"epochs": 3, "verbose": 0, "shuffle": False})
    estimator.fit(X, Y)
    return [*estimator.history_.history["loss"], estimator.score(X, Y)]


def feature_switched_engines():
    """Losses of an epoch on each engine; on other backends, all on the one that runs."""
    model, found = mlp(keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.02, 3, 0.9))), []
    for name in ("jax", "torch", "numpy", "tensorflow"):
        with dt.engine(name) if ON_DOVETAIL else nullcontext():
            found += losses(model, X, Y, epochs=1)
    return found


if __name__ == "__main__":
    main(globals())

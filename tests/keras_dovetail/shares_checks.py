"""Checks for each rank of two that trains with shares by measured speed, with the numbers of one process."""

from __future__ import annotations

import time

import keras
import numpy as np

import dovetail as dt

dt.distributed.init(shares="measured")
keras.distribution.initialize()
RANK = dt.distributed.rank()
RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=(70, 6)), RNG.integers(0, 3, 70)


class Slow(keras.callbacks.Callback):
    """Holds up rank 1 in each step."""

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.06 * RANK)


class Rows(keras.layers.Layer):
    """An identity that notes the rows of the batches for which its program is made."""

    seen: set[int] = set()  # noqa: RUF012  # of all layers of the process

    def call(self, x):
        if x.shape[0] is not None:
            self.seen.add(x.shape[0])
        return x


def trained(distribution):
    """The weights and losses after some epochs, for both ranks."""
    keras.distribution.set_distribution(distribution)
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential([Rows(), layers.Dense(8, "tanh"), layers.Dropout(0.4), layers.Dense(3, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.build((None, 6))
    callbacks = [Slow()] if distribution else []
    history = model.fit(X, Y, batch_size=20, epochs=14, verbose=0, callbacks=callbacks).history
    return model.get_weights(), history["loss"]


def main() -> None:
    keras.config.set_floatx("float64")
    alone = trained(None)
    Rows.seen.clear()
    shared = trained(keras.distribution.DataParallel())
    for ours, theirs in zip(shared[0], alone[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    np.testing.assert_allclose(shared[1], alone[1], atol=1e-9)
    print(
        f"checked rows {max(rows for rows in Rows.seen if rows <= 20)}", flush=True
    )  # Keras builds layers with others


if __name__ == "__main__":
    main()

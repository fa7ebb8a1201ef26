"""What each rank of two trains by Keras, and compares with one process, which it is without a distribution."""

from __future__ import annotations

import keras
import numpy as np

import dovetail as dt

keras.distribution.initialize()
RANK = dt.distributed.rank()
SHARED = keras.distribution.DataParallel()
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(70, 6)), RNG.integers(0, 3, 70)  # batches of 15 rows, and a last one of 10
IMAGES = RNG.normal(size=(70, 5, 5, 2))


def mlp():
    layers = keras.layers
    return keras.Sequential(
        [layers.Dense(8, "tanh"), layers.Dropout(0.4), layers.GaussianNoise(0.1), layers.Dense(3, "softmax")]
    )


def cnn():
    layers = keras.layers
    norm = layers.BatchNormalization()
    norm.synchronized = True  # the constructor wants TensorFlow
    return keras.Sequential([layers.Conv2D(3, 3), norm, layers.ReLU(), layers.Flatten(), layers.Dense(3, "softmax")])


class Stop(keras.callbacks.Callback):
    """Stops on one rank, after an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = epoch == 1 and RANK == 1


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


def own():
    return Own([keras.layers.Dense(8, "tanh"), keras.layers.Dense(3, "softmax")])


def scaled():
    """An optimizer that skips steps which overflow."""
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01), 8.0, dynamic_growth_steps=3)


def trained(make, x, distribution, rows=70, epochs=10, optimizer=lambda: "adam", **options):
    """The model, its history, evaluation and predictions."""
    keras.utils.set_random_seed(1 + RANK if distribution else 1)  # `fit` makes the ranks equal
    keras.distribution.set_distribution(distribution)
    model = make()
    model.compile(optimizer(), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.build((None, *x.shape[1:]))
    x, y = x[:rows], Y[:rows]
    history = model.fit(x, y, batch_size=15, epochs=epochs, verbose=0, **options).history
    return model, history, model.evaluate(x, y, batch_size=15, verbose=0), model.predict(x, batch_size=15, verbose=0)


CASES = {
    "mlp": (mlp, X, {}),
    "cnn": (cnn, IMAGES, {}),
    "a batch of one row": (mlp, X, {"rows": 31, "epochs": 3}),
    "own step, scaled": (own, X, {"optimizer": scaled, "epochs": 3}),
}


def same_numbers():
    """Two ranks compute what one process does: weights, history, evaluation, predictions, in 50 steps of float64."""
    keras.config.set_floatx("float64")
    for name, (make, x, options) in CASES.items():
        alone, shared = trained(make, x, None, **options), trained(make, x, SHARED, **options)
        for theirs, ours in zip(alone[0].weights, shared[0].weights, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9, err_msg=f"{name} {ours.path}")
        assert {*alone[1]} == {*shared[1]}, (alone[1], shared[1])
        for key in alone[1]:
            np.testing.assert_allclose(shared[1][key], alone[1][key], atol=1e-9, err_msg=f"{name} {key}")
        np.testing.assert_allclose(shared[2], alone[2], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(shared[3], alone[3], atol=1e-9, err_msg=name)
        print(name, flush=True)
    print("checked same numbers", flush=True)


def stops():
    """All ranks stop together, and have the same weights."""
    keras.distribution.set_distribution(SHARED)
    model = mlp()
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    history = model.fit(X, Y, batch_size=15, epochs=9, verbose=0, callbacks=[Stop()]).history
    assert len(history["loss"]) == 2, history
    for weight in model.weights[:4]:
        least, most = (dt.ops.all_reduce(weight.value, reduction) for reduction in ("min", "max"))
        np.testing.assert_allclose(least, most, atol=1e-14)  # the engines round in their own ways
    print("checked stops", flush=True)


def old_names():
    """A program with Horovod's names: each rank brings its rows, and trains as one process with all of them."""
    import dovetail.compat.horovod as hvd

    def weights(x, y, batch_size, callbacks=()):
        keras.utils.set_random_seed(3 + RANK)
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, "softmax", kernel_initializer="ones")])
        model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), "sparse_categorical_crossentropy")
        model.fit(x, y, batch_size=batch_size, epochs=3, shuffle=False, verbose=0, callbacks=list(callbacks))
        return model.get_weights()

    keras.distribution.set_distribution(None)
    expected = weights(X[:40], Y[:40], 20)
    hvd.init()
    own = [a[:40].reshape(2, 2, 10, *a.shape[1:])[:, hvd.rank()].reshape(20, *a.shape[1:]) for a in (X, Y)]
    called = hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()
    for ours, theirs in zip(weights(*own, 10, called), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    print("checked old names", flush=True)


if __name__ == "__main__":
    same_numbers()
    stops()
    old_names()

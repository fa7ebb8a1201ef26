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
    """A model with a training step of its own, that only knows its rows."""

    def train_step(self, data):
        x, y = data
        with dt.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"rows": x.shape[0]}


def trained(make, x, distribution, epochs=10, **options):
    """The model, its history, evaluation and predictions."""
    keras.utils.set_random_seed(1 + RANK if distribution else 1)  # `fit` makes the ranks equal
    keras.distribution.set_distribution(distribution)
    model = make()
    model.compile(options.pop("optimizer", "adam"), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.build((None, *x.shape[1:]))
    if distribution and RANK == 0:  # as without a distribution
        keras.utils.set_random_seed(1)
        model = make()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.build((None, *x.shape[1:]))
    history = model.fit(x, Y, batch_size=15, epochs=epochs, verbose=0, **options).history
    return model, history, model.evaluate(x, Y, batch_size=15, verbose=0), model.predict(x, batch_size=15, verbose=0)


def same_numbers():
    """Two ranks compute what one process does: weights, history, evaluation, predictions, in 50 steps of float64."""
    keras.config.set_floatx("float64")
    for name, make, x in (("mlp", mlp, X), ("cnn", cnn, IMAGES)):
        alone, shared = trained(make, x, None), trained(make, x, SHARED)
        for theirs, ours in zip(alone[0].weights, shared[0].weights, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9, err_msg=f"{name} {ours.path}")
        for key in ("loss", "accuracy"):
            np.testing.assert_allclose(shared[1][key], alone[1][key], atol=1e-9, err_msg=f"{name} {key}")
        np.testing.assert_allclose(shared[2], alone[2], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(shared[3], alone[3], atol=1e-9, err_msg=name)
        print("checked", name, flush=True)


def own_steps():
    """A model's own step gets its rows, and its optimizer the gradients of the whole batch; all ranks stop together."""
    keras.distribution.set_distribution(SHARED)
    model = Own([keras.layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    history = model.fit(X, Y, batch_size=15, epochs=9, verbose=0, callbacks=[Stop()]).history
    assert history == {"rows": [5, 5]}, history
    for weight in model.weights:
        least, most = (dt.ops.all_reduce(weight.value, reduction) for reduction in ("min", "max"))
        np.testing.assert_allclose(least, most, atol=1e-14)  # the engines round in their own ways
    print("checked own steps", flush=True)


def refusals():
    """A batch with fewer rows than ranks is refused on each rank."""
    model = mlp()
    model.compile("sgd", "mse")
    try:
        model.fit(X[:1], X[:1, :3], verbose=0)
    except ValueError as error:
        assert "a batch of 1 rows leaves nothing for some of 2 ranks" in str(error), error
        print("checked refusals", flush=True)


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
    own_steps()
    refusals()
    old_names()

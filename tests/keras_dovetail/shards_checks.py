"""What each rank trains by Keras, and compares with one process, which it is without a distribution.

Arguments: the names of checks.
"""

# ruff: noqa: NPY002  # the states that Keras and programs share are the subject

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import torch

import dovetail as dt
from dovetail.core.engines.collectives import WORLD
from dovetail.distributed.random_states import same_random_state
from keras_dovetail.src.parallel import merging
from tests.keras_dovetail.shards_cases import CASES, RNG, SHORT, WEIGHTS, Largest, X, Y, mlp, normed

keras.distribution.initialize()
RANK, SIZE = dt.distributed.rank(), dt.distributed.world_size()
SHARED = keras.distribution.DataParallel()
EXACT = 1e-9


def trained(distribution, make, compiled, given, other):
    """The model's weights, its history, evaluation and predictions."""
    keras.utils.set_random_seed(1 + RANK if distribution else 1)  # `fit` makes the ranks equal
    torch.manual_seed(1 + RANK if distribution else 1)
    keras.distribution.set_distribution(distribution)
    keras.config.set_dtype_policy(other.get("policy", "float64"))
    model = make()
    model.compile(**{"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **compiled()})
    options = {"epochs": 3, "verbose": 0, **({} if "x" in given else {"x": X, "y": Y, "batch_size": 15}), **given}
    x, y = (value() if callable(value) else value for value in (options.pop("x"), options.pop("y", None)))
    history = model.fit(x, y, **options).history
    keras.config.set_dtype_policy("float64")
    x, y = (X, Y) if y is None else (x, y)
    evaluated = model.evaluate(x, y, batch_size=15, verbose=0, return_dict=True)
    predicted = model.predict(x, batch_size=15, verbose=0)
    return {"weights": model.get_weights(), "history": history, "evaluated": evaluated, "predicted": predicted}


def assert_same(alone, shared, tolerance, where):
    keras.tree.assert_same_structure(alone, shared)
    for (path, theirs), (_, ours) in zip(
        keras.tree.flatten_with_path(alone), keras.tree.flatten_with_path(shared), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=tolerance, rtol=tolerance, err_msg=f"{where} {path}")


def same_numbers(names=tuple(CASES)):
    """The ranks compute what one process does: weights, history, evaluation, predictions, up to 50 steps of float64."""
    for name in names:
        if RANK == 0:
            print(name, flush=True)
        alone, shared = (trained(distribution, *CASES[name]) for distribution in (None, SHARED))
        assert_same(alone, shared, CASES[name][-1].get("tolerance", EXACT), name)


def short():
    """`same_numbers` for a few cases."""
    same_numbers(SHORT)


class Stop(keras.callbacks.Callback):
    """Stops on one rank, after an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = epoch == 1 and RANK == 1


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


def single_batches():
    """Single batches, of every size, train, evaluate and predict as in one process, also if a metric sees the rate."""
    rate = keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.5)

    def numbers(distribution, make, see_optimizer):
        keras.utils.set_random_seed(1)
        keras.distribution.set_distribution(distribution)
        model, optimizer = make(), keras.optimizers.Adam(rate)
        metrics = ["accuracy", keras.metrics.AUC(name="auc"), *[lambda y, p: optimizer.learning_rate] * see_optimizer]
        model.compile(optimizer, "categorical_crossentropy", metrics=metrics)
        found = []
        for rows in (7, 4, 1):
            x, y = X[:rows], np.eye(3)[Y[:rows]]
            found.append(model.train_on_batch(x, y, sample_weight=WEIGHTS[:rows], return_dict=True))
            found += [model.test_on_batch(x, y), model.predict_on_batch(x)]
        return [*found, model.get_weights()]

    for make, see_optimizer in ((mlp, False), (mlp, True), (normed, False)):
        expected, found = (numbers(distribution, make, see_optimizer) for distribution in (None, SHARED))
        assert_same(expected, found, EXACT, f"single batches of {make.__name__}, {see_optimizer}")


def changes():
    """A model trains on as in one process when a distribution is set, and when it is gone."""

    def numbers(*distributions):
        keras.utils.set_random_seed(1)
        model, found = mlp(), []
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        for distribution in distributions:
            keras.distribution.set_distribution(distribution)
            history = model.fit(X, Y, batch_size=15, epochs=2, verbose=0, validation_data=(X[:7], Y[:7])).history
            found += [history, model.predict(X, batch_size=15, verbose=0), model.train_on_batch(X[:7], Y[:7])]
        return [*found, model.get_weights()]

    alone = numbers(None, None, None)
    for distributions in ((None, SHARED, None), (SHARED, None, SHARED)):
        assert_same(alone, numbers(*distributions), EXACT, "changes")


def stateful():
    """A rank keeps the states of its own sequences; states of rows that ranks divide are refused."""
    layers, x = keras.layers, RNG.normal(size=(60, 4, 2))  # 3 batches of 20 sequences, which go on in the next one

    def numbers(distribution, data, rows):
        keras.utils.set_random_seed(1)
        keras.distribution.set_distribution(distribution)
        inputs, lstm = keras.Input(batch_shape=(rows, 4, 2)), layers.LSTM(3, stateful=True, name="kept")
        model = keras.Sequential([inputs, lstm, layers.Dense(1)])
        model.compile("sgd", "mse")
        history = model.fit(data, data[:, 0, :1], batch_size=rows, epochs=2, shuffle=False, verbose=0).history
        return history, model.trainable_weights

    assert SIZE == 2
    mine = x.reshape(3, 2, 10, 4, 2)[:, RANK].reshape(30, 4, 2)
    own = keras.distribution.DataParallel(auto_shard_dataset=False)
    assert_same(numbers(None, x, 20), numbers(own, mine, 10), EXACT, "stateful")
    try:
        numbers(SHARED, x, 20)
    except ValueError as error:
        assert "the layer 'kept' is stateful" in str(error), error
    else:
        raise AssertionError("no error")


def exchanges():
    """A batch needs one exchange, of gradients and Keras' metrics; a program's own logs and metrics need a second one.

    `fit` begins with one for each dtype.
    """

    class Logged(keras.Sequential):
        def train_step(self, data):
            return {**super().train_step(data), "rows": data[0].shape[0], "most": dt.ops.max(data[0][:, 0])}

    def error(y, p):
        return y - p[:, 0]

    def mean_error(y, p):  # it gets the labels and the predictions of all ranks
        return keras.ops.mean(y - p[:, 0])

    keras.distribution.set_distribution(SHARED)
    plain = keras.Sequential
    for kind, metrics, number in ((plain, [], 1), (plain, [error], 2), (plain, [mean_error], 4), (Logged, [], 2)):
        model = kind([keras.Input(X.shape[1:]), keras.layers.BatchNormalization(), keras.layers.Dense(3, "softmax")])
        model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy", *metrics])
        for rows in (12, 7, 12):
            before = WORLD.exchanged
            logs = model.train_on_batch(X[:rows], Y[:rows], return_dict=True)
            assert WORLD.exchanged - before == number, (kind, metrics, rows, WORLD.exchanged - before)
    before, variables = WORLD.exchanged, [*model.variables, *model.optimizer.variables]
    merging.begin(model)
    assert WORLD.exchanged - before == len({variable.dtype for variable in variables}) < len(variables)
    mine = X[RANK * 12 // SIZE : (RANK + 1) * 12 // SIZE]
    most = dt.ops.all_reduce(np.asarray(mine[:, 0].max()), "mean")
    np.testing.assert_allclose([logs["rows"], logs["most"]], [12 / SIZE, most], rtol=1e-6)
    for weight in model.weights:
        least, largest = (dt.ops.all_reduce(weight.value, reduction) for reduction in ("min", "max"))
        np.testing.assert_allclose(least, largest, EXACT, EXACT, err_msg=weight.path)


def random_states():
    """All ranks draw what rank 0 would have drawn, also the second of two normal numbers."""
    np.random.seed(RANK), random.seed(RANK), torch.manual_seed(RANK)
    np.random.normal(), random.gauss(0, 1)  # each keeps a second number for the next call
    same_random_state()
    found = [np.random.normal(), np.random.normal(), np.random.rand(), random.gauss(0, 1), random.random()]
    found.append(torch.rand(()).item())
    np.testing.assert_array_equal(dt.ops.broadcast_from(np.array(found), 0), found)


def own_batches():
    """Each rank brings batches of its own, and another number of them; the ranks train as one with their rows."""

    class Counted(keras.callbacks.Callback):
        steps = 0

        def on_train_batch_end(self, batch, logs=None):
            self.steps += 1

    def numbers(distribution, *data, **options):
        keras.utils.set_random_seed(1)
        keras.distribution.set_distribution(distribution)
        model, counted = mlp(), Counted()
        model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy", Largest()])
        history = model.fit(*data, **options, shuffle=False, verbose=0, callbacks=[counted]).history
        assert counted.steps == 3, counted.steps
        return model.get_weights(), history

    parts = [np.r_[0:15, 35:50], np.r_[15:30], np.r_[30:35]]
    alone = numbers(None, ((X[part], Y[part]) for part in parts), steps_per_epoch=3)
    rows = slice(0, 35) if RANK == 0 else slice(35, 50)  # three batches, and one
    own = keras.distribution.DataParallel(auto_shard_dataset=False)
    assert_same(alone, numbers(own, X[rows], Y[rows], batch_size=15), EXACT, "own batches")


def metrics():
    """Each metric of Keras has the value of one process."""
    rng = np.random.default_rng(3)
    scores, numbers, flags = rng.random((31, 4)), rng.random((31, 4)), rng.integers(0, 2, (31, 4))
    labels = rng.integers(0, 4, 31)
    cases = {
        "Accuracy": (flags, rng.integers(0, 2, (31, 4)), {}),
        "BinaryIoU": (flags[:, :1], scores[:, :1], {}),
        "MeanIoU": (labels, rng.integers(0, 4, (31, 1)), {"num_classes": 4}),
        "IoU": (labels, rng.integers(0, 4, (31, 1)), {"num_classes": 4, "target_class_ids": [0, 2]}),
        "OneHotIoU": (np.eye(4)[labels], scores, {"num_classes": 4, "target_class_ids": [0, 2]}),
        "OneHotMeanIoU": (np.eye(4)[labels], scores, {"num_classes": 4}),
        "MeanRelativeError": (numbers, scores, {"normalizer": np.ones(4)}),
        "MeanMetricWrapper": (numbers, scores, {"fn": keras.losses.mean_squared_error}),
    }
    kinds = {kind for kind in vars(keras.metrics).values() if isinstance(kind, type)} - {keras.metrics.Metric}
    for kind in sorted(kinds - {keras.metrics.Mean, keras.metrics.Sum}, key=lambda kind: kind.__name__):
        name = kind.__name__
        y = labels if "Sparse" in name else np.eye(4)[labels] if "Categorical" in name or "Score" in name else flags
        y, x, options = cases.get(name, (y, scores, {}))
        if "At" in name and name.split("At")[0] in ("Precision", "Recall", "Sensitivity", "Specificity"):
            options = {name.split("At")[1].lower(): 0.5}

        def value(distribution):
            keras.distribution.set_distribution(distribution)
            model = keras.Sequential([keras.Input(x.shape[1:]), keras.layers.Identity()])  # noqa: B023
            model.compile(loss=lambda y, x: keras.ops.mean(x, -1), weighted_metrics=[kind(**options)])  # noqa: B023
            return model.evaluate(x, y, sample_weight=WEIGHTS[:31], batch_size=7, verbose=0)  # noqa: B023

        assert_same(value(None), value(SHARED), 1e-6, name)  # metrics are float32


def callbacks():
    """Callbacks that write do so on rank 0; those that decide decide the same on each rank."""
    kinds, called = keras.callbacks, []
    keras.distribution.set_distribution(SHARED)
    keras.utils.set_random_seed(1)
    model = mlp()
    model.compile(keras.optimizers.SGD(1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    with tempfile.TemporaryDirectory() as folder:
        model.fit(
            *(X[:40], Y[:40]),
            validation_data=(X[40:], Y[40:]),
            batch_size=15,
            epochs=12,
            verbose=0,
            callbacks=[
                kinds.ModelCheckpoint(f"{folder}/best.weights.h5", save_best_only=True, save_weights_only=True),
                kinds.CSVLogger(f"{folder}/log.csv"),
                kinds.TensorBoard(f"{folder}/board"),
                kinds.LearningRateScheduler(lambda epoch, rate: rate * (0.5 if epoch == 1 else 1.0)),
                kinds.ReduceLROnPlateau(factor=0.1, patience=1),
                kinds.EarlyStopping(patience=3, restore_best_weights=True),
                kinds.LambdaCallback(on_epoch_end=lambda epoch, logs: called.append(logs["val_loss"])),
            ],
        )
        written = sorted(path.name for path in Path(folder).iterdir())
        assert written == (["best.weights.h5", "board", "log.csv"] if RANK == 0 else []), written
        rate = float(model.optimizer.learning_rate.numpy())
        best = model.evaluate(X[40:], Y[40:], batch_size=15, verbose=0)[0]
        np.testing.assert_allclose(best, min(called), rtol=1e-6)
        assert len(called) < 12, called
        if RANK == 0:
            restored = model.get_weights()
            model.load_weights(f"{folder}/best.weights.h5")
            assert_same(restored, model.get_weights(), 0, "the best weights")
    for value in (*called, rate):  # on all ranks to the last bit
        assert (
            dt.ops.all_reduce(np.float64(value), "max").numpy() == dt.ops.all_reduce(np.float64(value), "min").numpy()
        )


def strategies():
    """TensorFlow's strategies train by `fit`, and by a loop of the program's own, as one process with all rows."""
    import dovetail.compat.tensorflow as tf

    def numbers(strategy):
        keras.distribution.set_distribution(None)
        with strategy.scope():
            keras.utils.set_random_seed(1)
            model = mlp()
            model.compile("adam", "sparse_categorical_crossentropy")
        history = model.fit(X, Y, batch_size=15, epochs=2, verbose=0).history
        own = keras.Sequential([keras.layers.Dense(8, "tanh"), keras.layers.Dense(3)])
        own.build((None, 6))
        optimizer, old = keras.optimizers.Adam(0.01), tf.compat.v1.train.GradientDescentOptimizer(0.1)
        w = tf.Variable(np.ones((6, 3)))
        size = tf.constant(15.0, "float64")

        def step(x, y):
            with tf.GradientTape(persistent=True) as tape:
                logits = own(x, training=True) + tf.matmul(x, w.value())
                each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.nn.compute_average_loss(each, global_batch_size=size)
                loss += tf.nn.scale_regularization_loss(tf.nn.l2_loss(w.value()))
            weights = own.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            old.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        @tf.function
        def train(x, y):
            return strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None)

        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(15)
        losses = [train(x, y).numpy() for x, y in strategy.experimental_distribute_dataset(dataset)]
        mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, next(iter(dataset))[0], axis=0)
        return history, losses, model.get_weights(), own.get_weights(), w.numpy(), mean.numpy()

    alone = numbers(tf.distribute.OneDeviceStrategy("/cpu:0"))
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    assert strategy.num_replicas_in_sync == SIZE
    assert_same(alone, numbers(strategy), EXACT, "strategies")
    ids = strategy.gather(tf.constant([tf.distribute.get_replica_context().replica_id_in_sync_group]), axis=0)
    with strategy.scope():
        own_id = tf.distribute.get_replica_context().replica_id_in_sync_group
    assert ids.numpy().tolist() == [0] * SIZE and own_id == RANK, (ids, own_id)
    drawn = tf.random.normal([3])  # without a seed
    np.testing.assert_allclose(dt.ops.all_reduce(drawn, "max"), dt.ops.all_reduce(drawn, "min"), 1e-6)


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
    assert_same(expected, weights(*own, 10, called), EXACT, "old names")


if __name__ == "__main__":
    keras.config.set_floatx("float64")
    for check in sys.argv[1:]:
        globals()[check]()
        print("checked", check, flush=True)

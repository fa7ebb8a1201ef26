"""Horovod's names in each of two ranks, compared with numbers computed by hand.

Arguments: the names of checks.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

import dovetail as dt
import dovetail.compat.horovod as hvd
import dovetail.compat.horovod.keras as of_keras
from dovetail import ops
from dovetail.compat import tensorflow as tf

hvd.init()
RANK = hvd.rank()


def equal(found, expected, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(found), expected, tolerance, tolerance)


def exchanges():
    """Values of the ranks, eagerly and in functions."""
    assert (hvd.size(), hvd.local_rank()) == (2, RANK)
    x = ops.convert([1.0 + RANK, 3.0])
    for call in (lambda f: f(x), lambda f: dt.function(f)(x)):
        equal(call(hvd.allreduce), [1.5, 3])
        equal(call(lambda x: hvd.allreduce(x, average=False)), [3, 6])
        equal(call(lambda x: hvd.allreduce(x, False)), [3, 6])  # of horovod.tensorflow
        equal(call(lambda x: hvd.allreduce(x, op=hvd.Sum, compression=hvd.Compression.fp16)), [3, 6])
        equal(call(hvd.allgather), [1, 3, 2, 3])
        equal(call(lambda x: hvd.broadcast(x, 1, name="x")), [2, 3])
        equal(call(hvd.alltoall), [[1, 2], [3, 3]][RANK])
    equal(hvd.allgather(np.full((1 + 2 * RANK, 2), RANK)), [[0, 0], [1, 1], [1, 1], [1, 1]])
    assert [*range(hvd.broadcast(RANK + 1, 1))] == [0, 1]  # as `initial_epoch`
    assert (hvd.local_size(), of_keras.size()) == (2, 2)
    for found, text in (
        (of_keras.broadcast(RANK + 1, 1, name="resume_from_epoch"), "2"),
        (of_keras.allreduce([RANK, 2.0]), "[0.5 2. ]"),
        (of_keras.allgather([RANK]), "[0 1]"),
    ):
        assert isinstance(found, (np.ndarray, np.generic)) and f"{found}" == text, found
    hvd.shutdown()


def tapes():
    """A tape's gradients, of one variable or several, in halves, and of none."""
    v, w = dt.Variable([1.0, 2.0]), dt.Variable(3.0)
    for options in ({}, {"compression": hvd.Compression.fp16}, {"device_dense": "/gpu:0", "op": hvd.Average}):
        with tf.GradientTape(persistent=True) as tape:
            y = (1 + RANK) * ops.sum(v * v)
        tape = hvd.DistributedGradientTape(tape, **options)
        equal(tape.gradient(y, v), [3, 6])
        found = tape.gradient(y, {"v": v, "w": w})
        equal(found["v"], [3, 6])
        assert found["w"] is None
    v.assign([RANK, RANK])
    hvd.broadcast_variables([v], root_rank=1)
    equal(v, [1, 1])


def tf_optimizers():
    """An optimizer of `tf.train` averages where gradients are computed, so a program clips the averages."""
    for is_graph in (True, False):
        with tf.Graph().as_default() if is_graph else tf.device("/cpu:0"):
            v = tf.Variable([1.0 + RANK, 2.0]) if is_graph else dt.Variable([1.0, 2.0])
            optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.1), use_locking=True)
            loss = (
                (lambda v=v: (4 - 4 * RANK) * tf.reduce_sum(v)) if not is_graph else (4 - 4 * RANK) * tf.reduce_sum(v)
            )
            pairs = optimizer.compute_gradients(loss, [v])
            step = optimizer.apply_gradients([(tf.clip_by_value(g, -3.0, 3.0), v) for g, v in pairs])
            if is_graph:
                start = hvd.broadcast_global_variables(0)
                with tf.compat.v1.Session() as session:
                    session.run(tf.compat.v1.global_variables_initializer())
                    session.run(start)
                    session.run(step)
                    equal(session.run(v), [0.8, 1.8])
            else:
                equal(v, [0.8, 1.8])


def _mean(y, p):
    return keras.ops.mean(p, -1)  # its gradient is the mean of x


def _model(optimizer):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(optimizer, loss=_mean)
    return model


def keras_optimizers():
    """Keras averages what an optimizer applies, also one of `tf.train`."""
    import dovetail.compat.keras2  # noqa: F401  # it takes those of tf.train

    x = np.full((2, 1), 2.0 * RANK, "float32")
    for made in (
        keras.optimizers.SGD(0.5),
        tf.compat.v1.train.GradientDescentOptimizer(0.5),
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5)),
    ):
        model = _model(hvd.DistributedOptimizer(made, compression=hvd.Compression.fp16))
        model.train_on_batch(x, x)
        equal(model.get_weights()[0], [[0.5]])


def loaded_models():
    """The optimizer of a loaded model averages, also one of the program's own class."""

    class Half(keras.optimizers.SGD):
        """A class that Keras does not know."""

    x = np.full((2, 1), 2.0 * RANK, "float32")
    with tempfile.TemporaryDirectory() as folder:
        for optimizer, options in ((keras.optimizers.SGD(0.5), {}), (Half(0.5), {"custom_optimizers": [Half]})):
            _model(optimizer).save(Path(folder) / "model.h5")
            model = hvd.load_model(
                Path(folder) / "model.h5",
                custom_objects={"_mean": _mean},
                compression=hvd.Compression.fp16,
                **options,
            )
            assert type(model.optimizer) is type(optimizer)
            model.train_on_batch(x, x)
            equal(model.get_weights()[0], [[0.5]])


def infinite_gradients():
    """All ranks skip a step if one has infinite gradients, and go on together."""
    for inside in (True, False):
        optimizer = keras.optimizers.SGD(0.5)
        wrapped = hvd.DistributedOptimizer(optimizer) if inside else optimizer
        scaled = keras.optimizers.LossScaleOptimizer(wrapped, initial_scale=8.0)
        model = _model(scaled if inside else hvd.DistributedOptimizer(scaled))
        for value, weight, scale in ((np.inf, 1.0, 4.0), (2.0, 0.5, 4.0), (np.nan, 0.5, 2.0)):
            x = np.full((2, 1), value * RANK if RANK else 0.0, "float32")
            model.train_on_batch(x, x)
            equal(model.get_weights()[0], [[weight]])
            equal(scaled.dynamic_scale, scale)
    keras.config.set_dtype_policy("mixed_float16")  # Keras itself wraps the optimizer
    model = _model(hvd.DistributedOptimizer(keras.optimizers.SGD(0.5)))
    keras.config.set_dtype_policy("float32")
    for value, weight in ((np.inf, 1.0), (2.0, 0.5)):
        x = np.full((2, 1), value * RANK if RANK else 0.0, "float32")
        model.train_on_batch(x, x)
        equal(model.get_weights()[0], [[weight]])


def callbacks():
    """Callbacks of Keras: variables of one rank, means of logs, rates with the velocities that follow them."""
    model = _model(hvd.DistributedOptimizer(keras.optimizers.SGD(0.4, momentum=0.5)))
    model.set_weights([np.array([[1.0 + RANK]])])
    if RANK == 1:  # as after `load_model` on one rank
        model.optimizer.build(model.trainable_variables)
        model.optimizer.momentums[0].assign([[2.0]])
    logged = []
    x = np.full((2, 1), 2.0 * RANK, "float32")  # the average gradient is 1
    names = hvd.callbacks
    model.fit(
        *(x, x),
        batch_size=1,
        epochs=3,
        verbose=0,
        callbacks=[
            names.BroadcastGlobalVariablesCallback(root_rank=1),
            names.MetricAverageCallback(),
            names.LearningRateWarmupCallback(warmup_epochs=1, initial_lr=0.4),
            names.LearningRateScheduleCallback(multiplier=0.5, start_epoch=2, staircase=False),
            keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logged.append((logs["loss"], logs["lr"]))),
        ],
    )
    weight, velocity, before, losses = 2.0, 2.0, 0.4, []
    for rate in (0.3, 0.4, 0.4, 0.4, 0.2, 0.2):  # two steps in each epoch
        losses.append(weight)  # the mean of 0 and 2 · weight
        velocity = 0.5 * velocity * rate / before - rate
        weight, before = weight + velocity, rate
    equal(model.get_weights()[0], [[weight]])
    equal(logged, [(np.mean(losses[i : i + 2]), rate) for i, rate in ((0, 0.4), (2, 0.4), (4, 0.2))])


def refusals():
    """Options that would change numbers are refused, and names that are not offered say what to write."""
    for make, given in (
        (hvd.DistributedOptimizer, keras.optimizers.SGD()),
        (hvd.DistributedGradientTape, tf.GradientTape()),
    ):
        for options in ({"op": hvd.Sum}, {"backward_passes_per_step": 2}):
            try:
                make(given, **options)
            except ValueError as error:
                (name,) = options
                assert f"hvd.{make.__name__}: {name} is" in str(error), error
            else:
                raise AssertionError(options)
    for refused, words in (
        (lambda: hvd.alltoall([1.0, 2.0], splits=[2, 0]), "splits is None here"),
        (lambda: hvd.join(), "hvd.join is not offered. Give all ranks as many batches"),
        (lambda: hvd.Adasum, "hvd.Adasum is not offered. Write op=hvd.Average"),
        (lambda: hvd.broadcast_object({}, 0), "Objects would travel as pickles"),
        (lambda: hvd.nothing, "hvd.nothing is not offered"),
    ):
        try:
            refused()
        except (AttributeError, ValueError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


if __name__ == "__main__":
    for check in sys.argv[1:]:
        globals()[check]()
        print("checked", check, flush=True)

"""Checks that Keras' models train on Dovetail, in a process where Keras runs on it."""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import keras_dovetail  # must be first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import optree
from keras import layers

import dovetail as dt
from keras_dovetail.src import steps
from tests.frames import frames
from tests.keras_backends import ENGINES, main
from tests.packages import OUTSIDE

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(70, 8)).astype("float32"), RANDOM.integers(0, 3, 70)
IMAGES = RANDOM.normal(size=(40, 10, 10, 2)).astype("float32")
PACKAGES = tuple(str(Path(package.__file__).parent) for package in (dt, keras_dovetail))
MOST_FRAMES = {"numpy": 50_000, "torch": 35_500}  # 10 % more than when this was written
STEP_FRAMES = 120  # the most, also of Keras' own code
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def mlp(optimizer=None, dropout=0.0, **options):
    keras.utils.set_random_seed(1)
    middle = [layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dropout(dropout)]
    model = keras.Sequential([keras.Input((8,)), *middle, layers.Dense(3)])
    model.compile(optimizer or keras.optimizers.Adam(1e-2), LOSS, metrics=["accuracy"], **options)
    return model


def cnn():
    keras.utils.set_random_seed(1)
    features = [layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten()]
    model = keras.Sequential([keras.Input((10, 10, 2)), *features, layers.Dense(3)])
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), LOSS, metrics=["accuracy"])
    return model


def losses(model, x=X, epochs=3, **options):
    y = options.pop("y", Y[: len(x)])
    return model.fit(x, y, epochs=epochs, batch_size=32, verbose=0, shuffle=False, **options).history["loss"]


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=2e-4)


def check_an_engine_that_only_compiles_trains_models_and_holds_nothing():
    """Check models of which the engine claims the whole step, and only the prediction."""
    found = {}
    if OUTSIDE not in sys.path:
        sys.path.append(OUTSIDE)
    for engine in ("numpy", "whole"):
        with dt.engine(engine):
            for dropout in (0.0, 0.3):
                keras.utils.set_random_seed(1)
                dense = [layers.Dense(16, "tanh"), layers.Dropout(dropout), layers.Dense(1)]
                model = keras.Sequential([keras.Input((8,)), *dense])
                model.compile(keras.optimizers.SGD(0.1), "mse")
                found[engine, dropout] = losses(model, y=X[:, :1]), model.predict(X, verbose=0)
                assert model.layers[0].kernel.value.engine == "numpy"
                if engine == "whole":
                    steps = [plan.chosen.strategy.engine for plan in model.train_function.plans]
                    predictions = [plan.chosen.strategy.engine for plan in model.predict_function.plans]
                    assert set(steps) == {"numpy" if dropout else "whole"} and set(predictions) == {"whole"}
    for dropout in (0.0, 0.3):
        for numbers, wanted in zip(found["whole", dropout], found["numpy", dropout], strict=True):
            near(numbers, wanted)


def check_a_profile_of_fit_and_predict():
    """Profile some steps: the operations of the step have their times and lines, and the numbers stay the same."""
    single = {"callbacks": [keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)]}
    for engine in ENGINES:
        with dt.engine(engine):
            models = mlp(), mlp()
            with dt.profile(schedule=(4, 1, 3)) as p:
                found = losses(models[0], **single)
            near(found, losses(models[1], **single))
            assert p.steps == 3 and abs(sum(row.seconds for row in p.rows if not row.thread) - p.seconds) < 1e-6
            inside = [row for row in p.rows if row.program and "MatMul" in "".join(row.types)]
            assert inside and {row.place.partition(" ")[0] for row in inside} == {engine}, p.table()
            assert sum(row.seconds for row in inside) > 0
            models[0].predict(X, verbose=0)
            with dt.profile() as p:
                models[0].predict(X, verbose=0)
            assert any("MatMul" in "".join(row.types) for row in p.rows if row.program), p.table()


def check_models_train_alike_on_each_engine():
    for make, x in ((mlp, X), (cnn, IMAGES)):
        wanted = losses(make(), x)
        assert wanted[-1] < wanted[0]
        for name in ENGINES[1:]:
            with dt.engine(name):
                near(losses(make(), x), wanted)


def check_one_model_goes_from_engine_to_engine():
    """Check that the optimizer's state and dropout's random numbers move along."""
    for make, x in ((lambda: mlp(dropout=0.3), X), (cnn, IMAGES)):
        wanted = losses(make(), x, epochs=len(ENGINES))
        model, found = make(), []
        for name in ENGINES:
            with dt.engine(name):
                found += losses(model, x, epochs=1)
                assert model.weights[0]._value.engine == name
        near(found, wanted)
        with dt.engine("numpy"):
            model.predict(x, verbose=0)
        assert model.weights[0]._value.engine == "numpy"


def check_programs_train_as_single_ops_do():
    near(losses(mlp()), losses(mlp(run_eagerly=True)))
    near(losses(mlp(steps_per_execution=2)), losses(mlp()))


def check_a_step_is_one_program_for_each_signature():
    model = mlp()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses(model)
        for size in range(2, 14):
            assert model.predict_on_batch(X[:size]).shape == (size, 3)


def check_steps_per_execution_is_one_loop():
    wanted = losses(mlp())
    model = mlp(steps_per_execution=2)
    near(losses(model), wanted)
    (trace,) = model.train_function._many._traces.values()
    types = [op.type for op in trace.concrete.graph.operations]
    assert types.count("Scan") == 1 and "MatMul" not in types


def check_recurrent_layers():
    """Check layers as one op against step by step: the same results and training."""
    x, y = RANDOM.normal(size=(6, 5, 4)).astype("float32"), RANDOM.normal(size=(6, 2)).astype("float32")
    for name, layer in product(ENGINES, (keras.layers.LSTM, keras.layers.GRU)):
        for options in ({}, {"go_backwards": True}):
            models = [
                keras.Sequential([keras.Input((5, 4)), layer(2, return_sequences=True, use_cudnn=way, **options)])
                for way in ("auto", False)
            ]
            models[1].set_weights(models[0].get_weights())
            with dt.engine(name):
                for model in models:
                    model.compile("sgd", lambda y, found: keras.ops.mean(found * y[:, None]))
                    model.fit(x, y, epochs=3, verbose=0)
                near(*[model.predict(x, verbose=0) for model in models])
                types = {op.type for op in dt.graph_of(models[0]).operations}
            assert layer.__name__ in types, (name, types)


def check_weights_of_classes_and_samples():
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    by_sample = losses(mlp(), sample_weight=np.float32([weights[y] for y in Y]))
    near(losses(mlp(), class_weight=weights), by_sample)
    assert abs(by_sample[0] - losses(mlp())[0]) > 1e-3


def check_single_batches():
    """Check that the metrics cover the batch alone."""
    model = mlp()
    assert model.train_on_batch(X, Y, return_dict=True).keys() == {"loss", "accuracy"}
    assert model.test_on_batch(X, Y) == model.test_on_batch(X, Y)
    near(model.test_on_batch(X[:20], Y[:20]), model.evaluate(X[:20], Y[:20], verbose=0))
    assert isinstance(model.predict_on_batch(X), np.ndarray)


def check_validation_and_evaluation_agree():
    model = mlp()
    history = model.fit(X, Y, epochs=2, validation_data=(X[:20], Y[:20]), verbose=0).history
    found = model.evaluate(X[:20], Y[:20], verbose=0, return_dict=True)
    near([history["val_loss"][-1], history["val_accuracy"][-1]], [found["loss"], found["accuracy"]])
    near(model.predict(X, batch_size=7, verbose=0), model(X, training=False).numpy())


def check_generators_and_callbacks():
    model = mlp()
    batches = [(X[i : i + 9], Y[i : i + 9]) for i in range(0, 63, 9)]
    seen = []
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(float(logs["loss"])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns that it cannot shuffle a generator, and when it has ended
        model.fit((batch for batch in batches), verbose=0, callbacks=[callback], steps_per_epoch=7)
        found = model.predict(((x,) for x, _ in batches), steps=7, verbose=0)
    assert len(seen) == 7
    near(found, model.predict(X[:63], verbose=0))
    stop = keras.callbacks.EarlyStopping("loss", min_delta=10.0)
    assert len(losses(mlp(), epochs=6, callbacks=[stop])) == 2


class Custom(keras.Model):
    """A model with its own training step."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with dt.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"training_loss": loss}


def check_a_training_step_of_ones_own():
    model = Custom()
    model.compile("sgd", LOSS)
    found = model.fit(X, Y, batch_size=len(X), epochs=3, verbose=0).history["training_loss"]
    assert found[-1] < found[0]


class Looking(keras.Model):
    """A model whose own step calls it with a table, and places that are the batch."""

    def __init__(self):
        super().__init__()
        self.table = np.eye(5, dtype="float32")
        self.dense = layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        rows, places = inputs
        return self.dense(keras.ops.take(rows, places, axis=0))

    def train_step(self, data):
        places, y = data[:2]
        with dt.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self([self.table, places]))
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def check_a_step_of_ones_own_calls_the_model_with_other_data():
    """Check that no batch is given to `call` to make its variables; the step makes them."""
    for name in ENGINES:
        with dt.engine(name):
            for train in (Looking.fit, Looking.train_on_batch):
                model = Looking()
                model.compile(keras.optimizers.SGD(0.5), "mse", metrics=["mae"])
                train(
                    model, np.arange(4), np.zeros((4, 1), "float32"), **({"verbose": 0} if train is Looking.fit else {})
                )
                near(model.dense.kernel.numpy()[:, 0], [0.75, 0.75, 0.75, 0.75, 1])


class Autoencoder(keras.Model):
    """A model without `call`, as in the official examples: parts, steps, and its own metric."""

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.encoder = keras.Sequential([keras.Input((8,)), layers.Dense(4, "tanh")])
        self.decoder = keras.Sequential([layers.Dropout(0.2), layers.Dense(8)])  # built in the first step
        self.tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.tracker]

    def loss_of(self, data, training):
        x = data[0] if isinstance(data, tuple) else data
        loss = keras.ops.mean(keras.ops.square(self.decoder(self.encoder(x), training=training) - x))
        self.tracker.update_state(loss)
        return loss

    def train_step(self, data):
        with dt.GradientTape() as tape:
            loss = self.loss_of(data, training=True)
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": self.tracker.result()}

    def test_step(self, data):
        self.loss_of(data, training=False)
        return {"loss": self.tracker.result()}


class Duel(keras.Model):
    """A GAN: two parts, and two optimizers instead of the one that `compile` makes."""

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.seeds = keras.random.SeedGenerator(1)
        self.judge = keras.Sequential([keras.Input((8,)), layers.Dense(4, "relu"), layers.Dense(1)])
        self.maker = keras.Sequential([keras.Input((2,)), layers.Dense(8)])

    def compile(self, of_judge, of_maker, loss, **options):
        super().compile(**options)
        self.optimizers, self.loss_of = {"judge": of_judge, "maker": of_maker}, loss
        self.trackers = [keras.metrics.Mean(name="judge"), keras.metrics.Mean(name="maker")]

    @property
    def metrics(self):
        return self.trackers

    def train_step(self, real):
        count = keras.ops.shape(real)[0]
        made = self.maker(keras.random.normal((count, 2), seed=self.seeds))
        labels = keras.ops.concatenate([keras.ops.ones((count, 1)), keras.ops.zeros((count, 1))])
        self.step("judge", lambda: self.loss_of(labels, self.judge(keras.ops.concatenate([made, real]))))
        drawn = keras.random.normal((count, 2), seed=self.seeds)
        self.step("maker", lambda: self.loss_of(keras.ops.zeros((count, 1)), self.judge(self.maker(drawn))))
        return {tracker.name: tracker.result() for tracker in self.trackers}

    def step(self, part, loss_of):
        weights = getattr(self, part).trainable_weights
        with dt.GradientTape() as tape:
            loss = loss_of()
        self.optimizers[part].apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        next(tracker for tracker in self.trackers if tracker.name == part).update_state(loss)


def check_models_without_call_train_by_their_own_steps():
    """Check this also eagerly and on one batch; the steps build them, as on Keras' backend for TensorFlow."""
    wanted = None
    for name in ENGINES:
        with dt.engine(name):
            model = Autoencoder()
            model.compile(keras.optimizers.Adam(0.01))
            history = model.fit(X, epochs=3, batch_size=32, shuffle=False, verbose=0, validation_data=(X[:20],)).history
            found = [*history["loss"], *history["val_loss"], model.evaluate(X, verbose=0), model.train_on_batch(X)]
            assert found[2] < found[0] and len(model.optimizer.variables) == 2 + 2 * len(model.trainable_weights) == 10
            near(found, wanted or found)
            wanted = found
    model = Autoencoder()
    model.compile(keras.optimizers.Adam(0.01), run_eagerly=True)
    near(model.fit(X, epochs=3, batch_size=32, shuffle=False, verbose=0).history["loss"], wanted[:3])


def check_a_gan_trains_by_two_optimizers():
    wanted = None
    for name in ENGINES:
        with dt.engine(name):
            model = Duel()
            before = [model.judge.get_weights()[0], model.maker.get_weights()[0]]
            loss = keras.losses.BinaryCrossentropy(from_logits=True)
            model.compile(keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.1), loss)
            history = model.fit(X, epochs=3, batch_size=32, shuffle=False, verbose=0).history
            found = [*history["judge"], *history["maker"]]
            near(found, wanted or found)
            wanted = found
            for part, was in zip((model.judge, model.maker), before, strict=True):
                assert not np.allclose(part.get_weights()[0], was)


def check_frozen_layers_stay():
    model = mlp()
    model.layers[0].trainable = False
    model.compile("sgd", LOSS)
    before = [model.layers[0].get_weights(), model.layers[-1].get_weights()]
    losses(model)
    np.testing.assert_array_equal(before[0][0], model.layers[0].get_weights()[0])
    assert (before[1][0] != model.layers[-1].get_weights()[0]).any()


def check_layers_that_run_again_train_alike():
    found = []
    for scope in (contextlib.nullcontext(), keras.RematScope(mode="full")):
        with scope:
            found.append(losses(mlp(dropout=0.3)))
    near(*found)


class Lookup(keras.layers.Layer):
    """A layer that needs numbers, as Keras' layers of strings do, and says that it cannot be compiled."""

    def __init__(self):
        super().__init__()
        self.supports_jit = False

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, x.dtype)

    def call(self, x):
        return keras.ops.convert_to_tensor(np.sort(keras.ops.convert_to_numpy(x)))


def check_layers_that_need_values_run_step_by_step():
    model = keras.Sequential([keras.Input((2,)), Lookup()])
    assert model.predict(np.float32([[3, 2], [1, 4]]), verbose=0).tolist() == [[2, 3], [1, 4]]


def check_mixed_precision():
    wanted = losses(mlp())
    for policy in ("mixed_float16", "mixed_bfloat16"):
        keras.mixed_precision.set_global_policy(policy)
        try:
            np.testing.assert_allclose(losses(mlp()), wanted, rtol=0.02)
        finally:
            keras.mixed_precision.set_global_policy("float32")


class Counted(layers.Dense):
    """A layer that counts its traces."""

    traces = 0

    def call(self, x):
        self.traces += 1
        return super().call(x)


class OfFirst(keras.Sequential):
    """A model whose metrics see one column of its output."""

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred[:, :1], sample_weight)


def check_a_known_output_tells_the_metrics_without_a_trace():
    column, one_hot = Y[:, None].astype("float32"), np.eye(3, dtype="float32")[Y]
    for kind, outputs, y, found, traces in (
        (keras.Sequential, 1, column, "BinaryAccuracy", 1),
        (keras.Sequential, 3, column, "SparseCategoricalAccuracy", 1),
        (keras.Sequential, 3, one_hot, "CategoricalAccuracy", 1),
        (OfFirst, 3, column, "BinaryAccuracy", 2),  # Keras' pass, then the step
    ):
        last = Counted(outputs)
        model = kind([keras.Input((8,)), last])
        model.compile("sgd", "mse", metrics=["accuracy"])
        before = last.traces
        model.fit(X[:32], y[:32], batch_size=32, verbose=0)
        assert last.traces - before == traces, (found, last.traces - before)
        assert [type(metric).__name__ for metric in model._compile_metrics.metrics] == [found]


def check_the_first_step_takes_few_frames():
    """Check that a step is traced once, and its plan made once."""

    def first_fit():
        middle = [layers.Dense(16, activation="relu") for _ in range(4)]
        model = keras.Sequential([keras.Input((8,)), *middle, layers.Dense(3)])
        model.compile(keras.optimizers.Adam(), LOSS)
        gc.collect()
        return frames(lambda: model.fit(X[:32], Y[:32], batch_size=32, verbose=0), *PACKAGES)

    for name, most in MOST_FRAMES.items():
        if name in ENGINES:
            with dt.engine(name):
                first_fit()  # libraries and tables need this once
                found = [first_fit() for _ in range(3)]  # callbacks of other objects may come in between
                assert min(found) < most, (name, found)


def check_a_settled_step_takes_few_frames():
    """Check the frames of Keras and of Dovetail in a step on two arrays, without the engines' libraries."""
    x, y = np.ones((1280, 8), "float32"), np.ones((1280, 3), "float32")
    packages = *PACKAGES, *(str(Path(package.__file__).parent) for package in (keras, optree)), contextlib.__file__
    with patch.object(steps.Program, "may_group", False):  # calls of several steps are compared with single ones
        for name in ENGINES:
            with dt.engine(name):
                model = keras.Sequential([keras.Input((8,)), layers.Dense(8, activation="relu"), layers.Dense(3)])
                model.compile(keras.optimizers.Adam(), "mse")
                fit = partial(model.fit, batch_size=16, verbose=0, shuffle=False)
                for _ in range(2):
                    fit(x, y)
                few, many = (min(frames(partial(fit, x[:n], y[:n]), *packages) for _ in range(3)) for n in (320, 1280))
                assert (many - few) / 60 <= STEP_FRAMES, (name, (many - few) / 60)


def check_steps_are_called_after_their_model():
    """Check the name that profiles, logs and `dovetail plan list` show."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)], name="tower")
    model.compile("sgd", "mse")
    with dt.profile() as profiled:
        model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    assert "train_function of tower" in {row.program for row in profiled.rows}


if __name__ == "__main__":
    main(globals())

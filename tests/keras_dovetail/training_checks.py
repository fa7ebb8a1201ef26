"""Checks that Keras' models train on Dovetail, in a process where Keras runs on it."""

from __future__ import annotations

import contextlib
import functools
import io
import time
import warnings
from itertools import product
from types import SimpleNamespace
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
from keras import layers

import dovetail as dt
from dovetail.core.engine_registry import get_engine
from dovetail.plan import choice
from keras_dovetail import grouping, steps, trainer
from keras_dovetail.optimizer import _alike
from tests.keras_backends import main

ENGINES = tuple(name for name in ("numpy", "torch", "jax", "tensorflow") if name in dt.list_engines())
RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(70, 8)).astype("float32"), RANDOM.integers(0, 3, 70)
IMAGES = RANDOM.normal(size=(40, 10, 10, 2)).astype("float32")
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


def check_models_train_alike_on_each_engine():
    for make, x in ((mlp, X), (cnn, IMAGES)):
        wanted = losses(make(), x)
        assert wanted[-1] < wanted[0]
        for name in ENGINES[1:]:
            with dt.engine(name):
                near(losses(make(), x), wanted)


def check_one_model_goes_from_engine_to_engine():
    """The optimizer's state and the random numbers of dropout go along."""
    for make, x in ((lambda: mlp(dropout=0.3), X), (cnn, IMAGES)):
        wanted = losses(make(), x, epochs=len(ENGINES))
        model, found = make(), []
        for name in ENGINES:
            with dt.engine(name):
                found += losses(model, x, epochs=1)
                assert model.weights[0]._value.engine == name
        near(found, wanted)
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


class Clock:
    """Stands for the module `time`: each step takes as long as it is told, and making the first program a second."""

    def __init__(self, single, grouped):
        self.now, self.lasts = 0.0, {1: single, grouping.SIZE: grouped}

    def perf_counter(self):
        return self.now

    def run(self, pace, seen):
        size = pace.size
        self.now += size * self.lasts[size] + (not seen)
        seen.append(size)
        pace.done(size)
        if pace.asks():
            assert pace.size == 1 and not pace.asks()
            pace.ready()


@contextlib.contextmanager
def replaced(owner, **values):
    before = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def check_steps_are_grouped_where_that_is_faster():
    cases = [(1e-3, 1e-4, 9000, True), (1e-3, 9.5e-4, 9000, False), (1e-3, 1e-4, 50, False), (1e-2, 1e-4, 9000, False)]
    for single, grouped, count, is_faster in cases:
        clock, pace, seen = Clock(single, grouped), grouping.Pace(), []
        with replaced(grouping, time=clock):
            pace.start(count)
            for _ in range(60):
                clock.run(pace, seen)
        assert (pace.size == grouping.SIZE) == is_faster, (single, grouped, count)
    assert seen == [1] * 60


def check_steps_that_are_not_known_to_come_count_when_they_were_run():
    clock, pace, seen = Clock(1e-3, 1e-4), grouping.Pace(), []
    with replaced(grouping, time=clock):
        for _ in range(30):
            pace.start(100)
            for _ in range(100):
                clock.run(pace, seen)
    first = 2 / 1e-3 * grouping.WAITED  # half of the time of so many steps is what making the program costs
    assert pace.size == grouping.SIZE and first < seen.index(grouping.SIZE) < first + 110


def check_groups_that_are_joined():
    """Epochs are divided into groups as large, also of long steps, if they may be so large; each call is waited for."""
    for count, most, wanted in [(8, 64, 8), (40, 64, 20), (64, 64, 32), (40, 5, 5), (40, 1, 1), (1, 64, 1)]:
        clock, pace = Clock(1.0, 0.5), grouping.Pace(joins=True)
        clock.lasts = dict.fromkeys(range(2, 33), 0.5) | {1: 1.0}
        with replaced(grouping, time=clock):
            seen = []
            for _ in range(60):
                pace.start(count)
                for _ in range(count // pace.size):
                    assert pace.waits or pace.size == wanted
                    pace.limit(most if seen else 64)
                    clock.run(pace, seen)
        assert pace.size == wanted, (count, most)
        taken = f"groups of {wanted} are taken: 500 ms a step, single steps 1e+03 ms"
        assert str(pace) == (taken if wanted > 1 else ""), (count, most)
    assert not grouping.Pace().waits


def check_epochs_that_are_too_short_ask_for_no_groups():
    clock, pace, seen = Clock(1e-3, 1e-4), grouping.Pace(), []
    with replaced(grouping, time=clock):
        for _ in range(50):
            pace.start(9000)
            for _ in range(grouping.SIZE - 1):
                clock.run(pace, seen)
    assert set(seen) == {1}


def check_groups():
    batches = [(i, i, [(np.zeros((4 if i < 5 else 3, 2)), None)]) for i in range(8)]
    pace = grouping.Pace()
    pace.size = 3
    found = [(begin, end, len(data)) for begin, end, data in grouping.groups(batches, pace)]
    assert found == [(0, 2, 3), (3, 3, 1), (4, 4, 1), (5, 7, 3)]


class InGroups(grouping.Pace):
    def __init__(self, is_settled=False, joins=False):
        super().__init__(True, joins)
        self.size = 1 if is_settled else 2


def check_the_program_of_groups_is_made_in_the_background():
    """Training goes on with single steps until it is there; then groups of them give the same bits."""
    x, y = np.tile(X, (2, 1)), np.tile(Y, 2)
    seen = []

    class Seen(grouping.Pace):
        def done(self, count, counts=True):
            seen.append(count)
            super().done(count, counts)

    def epochs(pace, is_over):
        model, found = mlp(dropout=0.3), []
        with replaced(steps, Pace=pace):
            while not is_over(found):
                found += model.fit(x, y, batch_size=10, shuffle=False, verbose=0).history["loss"]
                time.sleep(0.02)
        return found, model.train_function

    for name in [name for name in ENGINES if name in ("numpy", "jax")]:
        seen.clear()
        with dt.engine(name), replaced(grouping, LONG=1e9, WAITED=0.0, SIZE=4):
            found, function = epochs(Seen, lambda found: 4 in seen or len(found) == 500)
            count = len(found)
            assert 4 in seen and seen[: grouping.STEPS] == [1] * grouping.STEPS, (name, len(seen))
            assert len(function._many._traces) == len(function._one._traces) == 1, name
            alone = functools.partial(grouping.Pace, True)
            wanted, _ = epochs(alone, lambda losses, count=count: len(losses) == count)
        near(found, wanted)
        assert found == wanted, name


class Batches(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append((batch, logs["loss"]))


def check_groups_of_steps_give_the_same_bits():
    """With dropout, whose random numbers go on, a last batch that is short, and metrics."""

    def trained(callbacks=(), **options):
        model = mlp(dropout=0.3, **options)
        found = losses(model, validation_data=(X, Y), callbacks=list(callbacks))
        weights = [weight.numpy() for weight in [*model.weights, *model.optimizer.variables]]
        return found, weights, model.train_function

    for name in ENGINES:
        with dt.engine(name):
            wanted, weights, _ = trained()
            with replaced(steps, Pace=InGroups):
                found, found_weights, run = trained()
            assert len(run._many._traces) == len(run._one._traces) == 1, name
            near(found, wanted)
            assert (found == wanted) or name == "tensorflow", (name, found, wanted)  # which fuses otherwise in loops
            for a, b in zip(found_weights, weights, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def check_groups_of_predictions():
    """Of several results, the last batch short; a callback that looks at batches gets each by itself."""

    class Seen(keras.callbacks.Callback):
        sizes = ()

        def on_predict_batch_end(self, batch, logs=None):
            self.sizes = (*self.sizes, len(logs["class"]))

    inputs = keras.Input((8,))
    model = keras.Model(inputs, {"class": keras.layers.Dense(3)(inputs), "sum": keras.ops.sum(inputs, axis=-1)})
    for name in ENGINES:
        with dt.engine(name):
            wanted = model.predict(X, batch_size=20, verbose=0, callbacks=[seen := Seen()])
            assert not model.predict_function._many._traces
            assert seen.sizes == (20, 20, 20, 10)
            with replaced(steps, Pace=InGroups):
                model.make_predict_function(force=True)
                found = model.predict(X, batch_size=20, verbose=0)
            assert model.predict_function._many._traces
            for key in wanted:
                np.testing.assert_allclose(found[key], wanted[key], rtol=1e-6)
            model.make_predict_function(force=True)


def check_predictions_are_joined_where_the_engine_is_chosen():
    """An epoch is one group, but for the last batch, which is short; its numbers are those of single batches."""
    inputs = keras.Input((6, 6, 1))
    convolved = keras.layers.Conv2D(2, 3, activation="relu")(inputs)
    pooled = keras.layers.BatchNormalization()(keras.layers.MaxPooling2D()(convolved))
    dense = keras.layers.Dense(3, activation="softmax")(keras.layers.Flatten()(pooled))
    model = keras.Model(inputs, {"class": dense, "mean": keras.ops.mean(inputs, axis=(0, 1, 2, 3), keepdims=True)})
    x = RANDOM.normal(size=(70, 6, 6, 1)).astype("float32")
    wanted = model.predict(x, batch_size=20, verbose=0)
    assert wanted["mean"].shape == (4, 1, 1, 1)  # of each batch
    at_once = mock.patch.multiple(choice, later=lambda function: function(), WORTHWHILE=0.0)
    sizes, program = [], steps.Program

    class Seen(program):
        def __call__(self, batches):
            sizes.append(len(batches))
            return super().__call__(batches)

    with at_once, replaced(grouping, WAITED=0.0), replaced(steps, later=lambda function: function()), dt.engine("auto"):
        with mock.patch.object(trainer, "Program", Seen):
            model.make_predict_function(force=True)
        while not any(plan.is_settled for plan in model.predict_function._joined.plans):
            found = model.predict(x, batch_size=20, verbose=0)
            assert len(sizes) < 2000, [str(plan) for plan in model.predict_function.plans]
            for key, value in wanted.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)
    assert {*sizes} == {1, 3} and not model.predict_function._many._traces
    types = [op.type for trace in model.predict_function._joined._traces.values() for op in trace[0].graph.operations]
    assert {"Conv2D", "MaxPool"} <= {*types} and "Scan" not in types
    model.compile(steps_per_execution=2)  # groups of the user's are loops
    with dt.engine("auto"):
        model.predict(x[:40], batch_size=20, verbose=0)
    assert model.predict_function._many._traces and not model.predict_function._joined._traces
    model.compile()
    model.predict(x[:20], verbose=0)
    with replaced(steps, LARGEST=x[:50].nbytes):  # what is given is the largest
        assert model.predict_function._room_for((x[:20],)) == 2


def check_nothing_is_grouped_while_somebody_looks():
    with replaced(steps, Pace=InGroups):
        model, batches = mlp(), Batches()
        losses(model, epochs=1, callbacks=[batches])
        assert [number for number, _ in batches.seen] == [0, 1, 2] and not model.train_function._many._traces
        shown = mlp()
        shown.fit(X, Y, batch_size=10, epochs=1, verbose=1)
        assert shown.train_function._many._traces


def check_callbacks_are_told_of_batches_where_one_listens():
    """Without a progress bar, calls of callbacks that do nothing would cost a thread an epoch."""
    model, told = mlp(), "on_predict_batch_end"
    with mock.patch.object(keras.callbacks.CallbackList, told, autospec=True) as method:
        model.predict(X, verbose=0)
        assert not method.called
        model.predict(X, verbose=1)
        assert method.called


def check_a_progress_bar_counts_the_steps_that_nobody_knew():
    bar = keras.callbacks.ProgbarLogger()
    mlp().fit(((X[:4], Y[:4]) for _ in range(23)), epochs=1, verbose=1, callbacks=[bar])
    assert (bar.seen, bar.target) == (23, 23)


def check_the_engine_is_chosen_while_a_model_trains():
    """By whatever is computed, losses are those of one engine; the progress bar says what is measured."""
    wanted = losses(mlp(dropout=0.3), epochs=60)
    at_once = mock.patch.multiple(choice, later=lambda function: function(), WORTHWHILE=0.0)
    with at_once, dt.engine("auto"), contextlib.redirect_stdout(io.StringIO()) as shown:
        model = mlp(dropout=0.3)
        history = model.fit(X, Y, epochs=60, batch_size=32, verbose=1, shuffle=False)
        assert model.predict(X, verbose=0).shape == (70, 3)
        while model.train_function.status and model.optimizer.iterations < 1000:  # alike plans take longer
            model.fit(X, Y, batch_size=32, verbose=0)
    near(history.history["loss"], wanted)
    assert "/step (measuring 1 of " in shown.getvalue()
    assert model.train_function.status == "", model.train_function.status


def check_the_engine_of_groups_is_chosen():
    """It is measured as soon as there are groups, by themselves; single steps may be short, and stay where they are."""
    x, y = np.tile(X, (2, 1)), np.tile(Y, 2)
    at_once = mock.patch.multiple(choice, later=lambda function: function(), WORTHWHILE=1e9)
    groups = replaced(grouping, LONG=1e9, WAITED=0.0, SIZE=4)
    with at_once, groups, replaced(steps, later=lambda function: function()), dt.engine("auto"):
        model, found, is_settled = mlp(dropout=0.3), [], False
        while not is_settled:
            found += model.fit(x, y, batch_size=10, shuffle=False, verbose=0).history["loss"]
            is_settled = any(plan.is_settled for plan in model.train_function._many.plans)
            assert len(found) < 500, [str(plan) for plan in model.train_function.plans]
    assert [plan.is_settled for plan in model.train_function._one.plans] == [False]
    first = min(len(found), 20)  # epochs; later on engines' rounding is no longer small
    near(found[:first], mlp(dropout=0.3).fit(x, y, 10, first, verbose=0, shuffle=False).history["loss"])
    assert found[-1] < found[0]


def check_steps_per_execution_is_one_loop():
    wanted = losses(mlp())
    model = mlp(steps_per_execution=2)
    near(losses(model), wanted)
    ((many, _),) = model.train_function._many._traces.values()
    types = [op.type for op in many.graph.operations]
    assert types.count("Scan") == 1 and "MatMul" not in types


def check_recurrent_layers():
    """As one op, where the engine has a kernel, they give what they give step by step, and learn alike."""
    x, y = RANDOM.normal(size=(6, 5, 4)).astype("float32"), RANDOM.normal(size=(6, 2)).astype("float32")
    for name, layer in product(ENGINES, (keras.layers.LSTM, keras.layers.GRU)):
        has_kernel = layer.__name__ in get_engine(name).claimed
        for options in ({}, {"go_backwards": True}):
            models = [
                keras.Sequential([keras.Input((5, 4)), layer(2, return_sequences=True, use_cudnn=way, **options)])
                for way in ("auto", False)
            ]
            models[1].set_weights(models[0].get_weights())
            with dt.engine(name):
                for model in models if has_kernel else ():
                    model.compile("sgd", lambda y, found: keras.ops.mean(found * y[:, None]))
                    model.fit(x, y, epochs=3, verbose=0)
                near(*[model.predict(x, verbose=0) for model in models])
                types = {op.type for op in dt.graph_of(models[0]).operations}
            assert (layer.__name__ in types) == has_kernel, (name, types)


def check_optimizers():
    """Accumulated gradients, averages of weights and scaled losses; a scale of the loss changes no gradient."""
    near(losses(mlp(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-2)))), losses(mlp()))
    sgd = keras.optimizers.SGD
    for make in (
        lambda: sgd(0.1, gradient_accumulation_steps=2),
        lambda: sgd(0.1, use_ema=True, ema_overwrite_frequency=2),
        lambda: sgd(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), global_clipnorm=0.1),
    ):
        wanted = losses(mlp(make(), run_eagerly=True))
        near(losses(mlp(make())), wanted)
        assert wanted[-1] < wanted[0]


def check_steps_are_one_op():
    """With the numbers of Keras' own update, which runs where a class of the user's overrides it, or for amsgrad."""
    adam, sgd = keras.optimizers.Adam, keras.optimizers.SGD
    steps = {adam: "AdamStep", sgd: "SgdStep"}
    cases = [
        *((name, adam, {"weight_decay": 0.1}) for name in ENGINES),
        *((name, sgd, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}) for name in ENGINES),
        ("numpy", sgd, {"momentum": 0.9}),
        ("numpy", sgd, {}),
    ]
    for name, kind, options in cases:
        assert count_of(steps[kind], name, kind, options) == 1
    assert count_of("AdamStep", "numpy", adam, {"amsgrad": True}) == 0


def count_of(step, engine, kind, options):
    """How many operations of a type a training step has that gives the numbers of a class with an update of its own."""
    with dt.engine(engine):
        models = [mlp(each(1e-2, **options)) for each in (kind, with_own_update(kind))]
        near(*map(losses, models))
    counts = [types_of_step(model).count(step) for model in models]
    assert counts[1] == 0
    return counts[0]


def with_own_update(kind):
    class Own(kind):
        def update_step(self, gradient, variable, learning_rate):
            return super().update_step(gradient, variable, learning_rate)

    return Own


def types_of_step(model):
    (concrete, _), *_ = model.train_function._one._traces.values()
    return [op.type for op in concrete.graph.operations]


def check_steps_of_several_dtypes():
    """An op for the variables of each dtype, whose gradients may be of another; what is frozen stays as it is."""
    inputs = keras.Input((4,))
    x = keras.layers.Dense(3, dtype="mixed_bfloat16")(keras.layers.Dense(3, dtype="float64")(inputs))
    outputs = keras.layers.Dense(2, dtype="float32")(keras.layers.Dense(3, trainable=False)(x))
    net = keras.Model(inputs, outputs)
    x, y = RANDOM.normal(size=(6, 4)), RANDOM.normal(size=(6, 2))
    for kind, step in ((keras.optimizers.Adam, "AdamStep"), (keras.optimizers.SGD, "SgdStep")):
        models = [keras.models.clone_model(net) for _ in range(2)]
        for model, each in zip(models, (kind, with_own_update(kind)), strict=True):
            model.set_weights(net.get_weights())
            model.compile(each(0.01), "mse")
            model.fit(x, y, epochs=3, verbose=0)
        assert types_of_step(models[0]).count(step) == 2
        for weight, other, was in zip(*[model.weights for model in (*models, net)], strict=True):
            near(weight.numpy(), other.numpy())
            assert np.array_equal(weight.numpy(), was.numpy()) != weight.trainable


def check_steps_of_several_devices():
    """An op for the variables of each device; here with what stands for variables, since few machines have two."""
    places = "gpu:0", "cpu:0", "gpu:0"
    variables = [SimpleNamespace(dtype="float32", _value=SimpleNamespace(device=place)) for place in places]
    first, second = _alike("abc", variables)
    assert (first.variables, first.gradients) == (variables[::2], ["a", "c"])
    assert (second.variables, second.gradients) == ([variables[1]], ["b"])


def check_weights_of_classes_and_samples():
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    by_sample = losses(mlp(), sample_weight=np.float32([weights[y] for y in Y]))
    near(losses(mlp(), class_weight=weights), by_sample)
    assert abs(by_sample[0] - losses(mlp())[0]) > 1e-3


def check_single_batches():
    """The metrics are those of the batch alone."""
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
        warnings.simplefilter("ignore")  # of a generator Keras says that it is not shuffled, and when it has ended
        model.fit((batch for batch in batches), verbose=0, callbacks=[callback], steps_per_epoch=7)
        found = model.predict(((x,) for x, _ in batches), steps=7, verbose=0)
    assert len(seen) == 7
    near(found, model.predict(X[:63], verbose=0))
    stop = keras.callbacks.EarlyStopping("loss", min_delta=10.0)
    assert len(losses(mlp(), epochs=6, callbacks=[stop])) == 2


class Custom(keras.Model):
    """A model with a training step of its own."""

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
    found = model.fit(X, Y, epochs=3, verbose=0).history["training_loss"]
    assert found[-1] < found[0]


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
    """Asks for numbers, as Keras' layers of strings do: it says that it cannot be part of a program."""

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


if __name__ == "__main__":
    main(globals())

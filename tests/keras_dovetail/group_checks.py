"""Groups of steps, joined predictions, and engines that are measured while a model of Keras trains."""

from __future__ import annotations

import contextlib
import io
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from dovetail.choose import jobs, ledger, measurer, policy
from dovetail.choose.pressure import Pressure
from keras_dovetail.src import steps, trainer
from tests.keras_backends import main
from tests.keras_dovetail.training_checks import ENGINES, RANDOM, X, Y, losses, mlp, near

MANY = 300  # epochs at most, until each strategy has run


@contextlib.contextmanager
def free_learning(size=4):
    """Lift the limits of learning.

    It may cost anything, a million steps come, candidates are prepared at once, and groups have `size` steps.  Other
    programs on the machine press nobody.
    """
    calm = mock.patch.object(Pressure, "look", lambda self, now: False)
    ahead = mock.patch.object(policy, "remaining", lambda state: 10**6)
    room = mock.patch.object(ledger.Ledger, "room", lambda self, now: ledger.Room(float("inf")))
    at_once = mock.patch.object(jobs, "later", lambda function: function())
    quick = mock.patch.multiple(measurer, A_CALL_OF_STEPS=1.0, JOINED=1e-3, WATCHED=1)
    with calm, ahead, room, at_once, quick, mock.patch.object(steps, "SIZE", size):
        yield


class InGroups(steps.Program):
    """A program that runs each pair of steps in one call, if groups are possible."""

    is_steady = True

    def group_size(self):
        return 2 if self._in_groups else 1


def in_groups():
    return mock.patch.object(trainer, "Program", InGroups)


def sizes_of(function):
    """The numbers of steps that ran alone and in groups, by the size of a group."""
    found = {}
    for plan in function.plans:
        if hasattr(plan, "measurer"):
            for strategy, arm in plan.measurer.state.arms.items():
                found[strategy.group] = max(found.get(strategy.group, 0), arm.calls)
    return {size for size, calls in found.items() if calls}


def check_groups_are_compared_with_single_steps():
    """Check groups on one engine, in the background of training; the numbers are the same bits."""
    x, y = np.tile(X, (2, 1)), np.tile(Y, 2)
    for name in [name for name in ENGINES if name in ("numpy", "jax")]:
        found, wanted = [], []
        with dt.engine(name):
            with free_learning():
                model = mlp(dropout=0.3)
                model.make_train_function()
                while 4 not in sizes_of(model.train_function):
                    found += model.fit(x, y, batch_size=10, shuffle=False, verbose=0).history["loss"]
                    assert len(found) < MANY, (name, [str(plan) for plan in model.train_function.plans])
            assert len(model.train_function._many._traces) == len(model.train_function._one._traces) == 1, name
            alone = mlp(dropout=0.3)
            wanted = alone.fit(x, y, batch_size=10, epochs=len(found), shuffle=False, verbose=0).history["loss"]
            assert not alone.train_function._many._traces
        assert found == wanted, name


def check_short_epochs_have_no_groups():
    with dt.engine("numpy"), free_learning(size=32):
        model = mlp()
        for _ in range(20):
            model.fit(X[:10], Y[:10], batch_size=10, verbose=0)
        assert sizes_of(model.train_function) == {1}


def check_longer_epochs_have_larger_groups():
    """Check that groups of a first, short epoch do not settle the size of groups for good."""
    with dt.engine("numpy"), free_learning(size=16):
        model = mlp()
        model.make_train_function()
        for steps_of_epoch in (2, 3, 12):
            size = 2 if steps_of_epoch < 4 else 12
            for _ in range(MANY):
                if size in sizes_of(model.train_function):
                    break
                model.fit(X[: 5 * steps_of_epoch], Y[: 5 * steps_of_epoch], batch_size=5, verbose=0)
            assert max(sizes_of(model.train_function)) == size, steps_of_epoch


class Batches(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append((batch, logs["loss"]))


def check_groups_of_steps_give_the_same_bits():
    """Check dropout, whose random numbers go on, a last batch that is short, and metrics."""

    def trained(callbacks=(), **options):
        model = mlp(dropout=0.3, **options)
        found = losses(model, validation_data=(X, Y), callbacks=list(callbacks))
        weights = [weight.numpy() for weight in [*model.weights, *model.optimizer.variables]]
        return found, weights, model.train_function

    for name in ENGINES:
        with dt.engine(name):
            wanted, weights, _ = trained()
            with in_groups():
                found, found_weights, run = trained()
            assert len(run._many._traces) == len(run._one._traces) == 1, name
            near(found, wanted)
            assert (found == wanted) or name == "tensorflow", (name, found, wanted)  # its loops fuse differently
            for a, b in zip(found_weights, weights, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def check_groups_of_predictions():
    """Check several results, and a short last batch; a callback that reads batches gets each by itself."""

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
            with in_groups():
                model.make_predict_function(force=True)
                found = model.predict(X, batch_size=20, verbose=0)
            assert model.predict_function._many._traces
            for key in wanted:
                np.testing.assert_allclose(found[key], wanted[key], rtol=1e-6)
            model.make_predict_function(force=True)


def check_predictions_are_joined_where_the_engine_is_chosen():
    """Check an epoch that is one group, except for the last batch, which is short.

    The numbers equal the results of single batches.
    """
    inputs = keras.Input((6, 6, 1))
    convolved = keras.layers.Conv2D(2, 3, activation="relu")(inputs)
    pooled = keras.layers.BatchNormalization()(keras.layers.MaxPooling2D()(convolved))
    dense = keras.layers.Dense(3, activation="softmax")(keras.layers.Flatten()(pooled))
    model = keras.Model(inputs, {"class": dense, "mean": keras.ops.mean(inputs, axis=(0, 1, 2, 3), keepdims=True)})
    x = RANDOM.normal(size=(70, 6, 6, 1)).astype("float32")
    wanted = model.predict(x, batch_size=20, verbose=0)
    assert wanted["mean"].shape == (4, 1, 1, 1)  # one mean per batch
    sizes = []

    class Seen(steps.Program):
        def __call__(self, batches):
            sizes.append(len(batches))
            return super().__call__(batches)

    with free_learning(size=3), dt.engine("auto"):
        with mock.patch.object(trainer, "Program", Seen):
            model.make_predict_function(force=True)
        while sizes.count(3) < 5:
            found = model.predict(x, batch_size=20, verbose=0)
            assert len(sizes) < 2000, [str(plan) for plan in model.predict_function.plans]
            for key, value in wanted.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)
    assert {*sizes} == {1, 3} and not model.predict_function._many._traces
    types = [
        op.type for trace in model.predict_function._joined._traces.values() for op in trace.concrete.graph.operations
    ]
    assert {"Conv2D", "MaxPool"} <= {*types} and "Scan" not in types
    model.compile(steps_per_execution=2)  # groups that the user sets are loops
    with dt.engine("auto"):
        model.predict(x[:40], batch_size=20, verbose=0)
    assert model.predict_function._many._traces and not model.predict_function._joined._traces
    model.compile()
    model.predict(x[:20], verbose=0)
    with mock.patch.object(steps, "LARGEST", x[:50].nbytes):  # the input is the largest array
        assert model.predict_function._room_for((x[:20],)) == 2


def check_nothing_is_grouped_while_somebody_looks():
    with in_groups():
        model, batches = mlp(), Batches()
        losses(model, epochs=1, callbacks=[batches])
        assert [number for number, _ in batches.seen] == [0, 1, 2] and not model.train_function._many._traces
        shown = mlp()
        shown.fit(X, Y, batch_size=10, epochs=1, verbose=1)
        assert shown.train_function._many._traces


def check_callbacks_are_told_of_batches_where_one_listens():
    """Check this since, without a progress bar, calls of callbacks that do nothing would cost a thread an epoch."""
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
    """Check that losses equal those on one engine, and that the progress bar names the comparison."""
    wanted = losses(mlp(dropout=0.3), epochs=40)
    with free_learning(size=2), dt.engine("auto"), contextlib.redirect_stdout(io.StringIO()) as shown:
        model = mlp(dropout=0.3)
        history = model.fit(X, Y, epochs=40, batch_size=32, verbose=1, shuffle=False)
        assert model.predict(X, verbose=0).shape == (70, 3)
    near(history.history["loss"], wanted)
    assert "/step (comparing " in shown.getvalue()
    ran = {strategy.engine for plan in model.train_function.plans for strategy in plan.candidates}
    assert len(ran) > 1 or len(ENGINES) == 1


def check_a_fit_says_how_many_steps_come():
    with dt.engine("auto"):
        model = mlp()
        model.fit(X[:64], Y[:64], batch_size=32, epochs=7, verbose=0)
        (state,) = (plan.measurer.state for plan in model.train_function.plans if plan.group == 1)
        assert state.done + state.ahead == 7 * 2


if __name__ == "__main__":
    main(globals())

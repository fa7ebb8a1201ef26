"""Groups of steps, predictions that are joined, and engines that are chosen while a model of Keras trains."""

from __future__ import annotations

import contextlib
import functools
import io
import time
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from dovetail.plan import choice
from keras_dovetail import grouping, steps, trainer
from tests.keras_backends import main
from tests.keras_dovetail.training_checks import ENGINES, RANDOM, X, Y, losses, mlp, near


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
    cases = [(1e-3, 1e-4, 9000, True), (1e-3, 9.7e-4, 9000, False), (1e-3, 1e-4, 50, False), (1e-2, 1e-4, 9000, False)]
    for single, grouped, count, is_faster in cases:
        clock, pace, seen = Clock(single, grouped), grouping.Pace(), []
        with replaced(grouping, time=clock):
            pace.start(count)
            for _ in range(100):
                clock.run(pace, seen)
        assert (pace.size == grouping.SIZE) == is_faster, (single, grouped, count)
    assert seen == [1] * 100


def check_groups_and_single_steps_take_turns_where_they_are_near():
    """What else the machine does in one of the turns does not tell."""
    for lasts in ({1: 1.0, 32: 0.9}, {1: 1.0, 32: 0.97}):
        for disturbed in (1, 32):
            clock, pace, seen, told = Clock(*lasts.values()), grouping.Pace(), [], set()
            with replaced(grouping, time=clock):
                pace.start(9000)
                while not pace.is_settled:
                    is_first = seen.count(disturbed) < max(grouping._marks(disturbed))
                    factor = 1.2 if is_first and disturbed == pace.size else 1.0
                    clock.lasts = {size: seconds * factor * 1e-3 for size, seconds in lasts.items()}
                    clock.run(pace, seen)
                    told.add(str(pace).partition(":")[0])
            turns = seen[seen.index(32) :]
            single, grouped = (grouping.TURNS - 1) * grouping.STEPS[-1], grouping.TURNS * grouping.GROUPS[-1]
            assert (turns.count(1), turns.count(32)) == (single, grouped)
            assert (pace.size == 32) == (lasts[32] == 0.9), (lasts, disturbed)
            assert "groups of 32 take turns" in told


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
                    assert pace.waits or pace.is_settled
                    pace.limit(most if seen else 64)
                    clock.run(pace, seen)
        assert pace.size == wanted, (count, most)
        taken = f"groups of {wanted} are taken: 500 ms a step, single steps 1e+03 ms"
        assert str(pace) == (taken if wanted > 1 else ""), (count, most)


def check_an_engine_computes_in_the_background_while_it_is_measured():
    """It is waited for where what is measured begins and ends, in one epoch: what calls take to return says nothing."""
    clock, pace, ends, waited = Clock(1e-3, 1e-4), grouping.Pace(), 0.0, []
    with replaced(grouping, time=clock):
        for number in range(64):
            if number in (0, 4):
                clock.now = ends
                pace.start(9000)
            size = pace.size
            ends = max(ends, clock.now) + size * clock.lasts[size] + (not number)
            clock.now += 1e-5
            if pace.waits:
                clock.now = ends
                waited.append(number)
            pace.done(size)
            if pace.asks():
                pace.ready()
    first, second, third = waited[3:]
    assert waited[:3] == [1, 7, 11] and third == second + 1 == first + 2
    assert str(pace) == f"groups of {grouping.SIZE} are taken: 0.1 ms a step, single steps 1 ms"


def check_epochs_that_are_too_short_ask_for_no_groups():
    clock, pace, seen = Clock(1e-3, 1e-4), grouping.Pace(), []
    with replaced(grouping, time=clock):
        for _ in range(50):
            pace.start(9000)
            for _ in range(grouping.SIZE - 1):
                clock.run(pace, seen)
    assert set(seen) == {1}


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
            assert 4 in seen and seen[: grouping.STEPS[-1]] == [1] * grouping.STEPS[-1], (name, len(seen))
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


if __name__ == "__main__":
    main(globals())

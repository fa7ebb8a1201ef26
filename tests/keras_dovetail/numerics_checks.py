"""Checks that a NaN or an infinity in Keras' training stops with layer, operation, line and step of a group."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  must be first: it makes Keras run on Dovetail

# isort: split
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

import dovetail as dt
from dovetail.formats.wire.events import read_events
from keras_dovetail.gradient_report import GradientReport
from tests.keras_backends import ENGINES, main

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(64, 4)).astype("float32")
Y = np.abs(X[:, :1])


class Logarithm(layers.Layer):
    """A layer whose logarithm is bad for small inputs."""

    def call(self, x):
        return keras.ops.log(x + 2.0)


def model(rate=0.01, **options):
    keras.utils.set_random_seed(0)
    stack = [layers.Dense(8, name="first"), Logarithm(name="bad"), layers.Dense(1, name="last")]
    made = keras.Sequential([keras.Input((4,)), *stack], name="model")
    made.compile(keras.optimizers.SGD(rate), "mse", **options)
    return made


def fault_of(call):
    with pytest.raises(dt.NumericsError) as caught:
        call()
    return caught.value.faults[0]


def check_fit_names_layer_and_line():
    for engine in ENGINES:
        with dt.engine(engine), dt.check_numerics():
            made = model()
            made.fit(X * 0.1, Y, batch_size=16, epochs=2, verbose=0)
            before = made.get_weights()
            fault = fault_of(lambda made=made: made.fit(X * 100.0, Y, batch_size=16, verbose=0))
            assert (fault.type, fault.name) == ("Log", "model/bad/Log"), (engine, fault)
            assert fault.where[0] == __file__
            assert all((a == b).all() for a, b in zip(before, made.get_weights(), strict=True))
            made.fit(X * 0.1, Y, batch_size=16, verbose=0)


def check_groups_of_steps_name_the_step():
    bad = np.concatenate([X[:32] * 0.1, X[:16] * 100.0, X[:16] * 0.1])
    for engine in ENGINES:
        with dt.engine(engine), dt.check_numerics():
            made = model(steps_per_execution=4)
            fault = fault_of(lambda made=made: made.fit(bad, Y, batch_size=16, shuffle=False, verbose=0))
            assert (fault.type, [step for _, step in fault.steps]) == ("Log", [2]), (engine, fault)


def check_steps_run_singly_and_predictions_are_checked():
    with dt.engine(ENGINES[0]):
        made = model()
        with dt.check_numerics():
            made.fit(X * 0.1, Y, batch_size=2, epochs=3, verbose=0)
            assert all(len(plan.graph.inputs[0].shape) == 2 for plan in made.train_function.plans)
            assert fault_of(lambda: made.predict(X * 100.0, verbose=0)).type == "Log"
            assert fault_of(lambda: made.predict(X * np.nan, verbose=0)).type == "argument"
        assert np.isnan(made.predict(X * 100.0, verbose=0)).any()


def check_taps_see_layers_and_gradients_of_weights():
    for engine in ENGINES:
        with dt.engine(engine):
            made = model()
            with dt.taps({"model/first": ["value", "gradient"]}) as seen:
                made.fit(X * 0.1, Y, batch_size=16, verbose=0)
            assert len(seen.history("model/bad")) == 4
            weights = [v.path for v in made.trainable_variables]
            assert set(seen) == {"model", *(f"model/{name}" for name in ("first", "bad", "last")), *weights}
            kernel, bias = (seen[path].gradient for path in weights[:2])
            assert kernel.statistics.kind == "float32[4,8]" and kernel.statistics.norm > 0
            first = seen["model/first"]
            assert first.value.shape == (16, 8)
            np.testing.assert_allclose(first.gradient.value.sum(0).mean(), bias.statistics.mean, rtol=1e-3)


def check_a_report_of_gradients():
    """Dead units, and gradients that vanish in early layers; the last check draws and writes what TensorBoard reads."""
    stack = [layers.Dense(6, activation="relu", name="relu"), *(layers.Dense(6, "sigmoid") for _ in range(8))]
    for engine in ENGINES:
        with dt.engine(engine), tempfile.TemporaryDirectory() as folder:
            keras.utils.set_random_seed(0)
            made = keras.Sequential([keras.Input((4,)), *map(copied, stack), layers.Dense(1, name="last")])
            made.compile(keras.optimizers.SGD(0.01), "mse")
            relu = made.layers[0]
            relu.bias.assign([-100.0, -100.0, 1.0, 1.0, 1.0, 1.0])
            report = GradientReport(every=3, log_dir=folder)
            made.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[report])
            first, *_, last = report.layers
            assert (first.units, first.dead, first.steps) == (6, 2, (0, 2, 5, 8, 11, 14)), (engine, first)
            assert first.verdicts == ("vanishing", "dead units") and last.verdicts == (), (engine, report.layers)
            assert "2 of 6" in str(report) and len(str(report).splitlines()) == 11
            events = [event for path in Path(folder).iterdir() for event in read_events(path)]
            tags = {value.tag for event in events for value in event.summary.value}
            assert {f"gradients/{last.name}", f"dead_units/{first.name}"} <= tags
            assert len(report.plot(Path(folder) / "plot.png").axes[0].lines) == 10


def check_a_report_names_exploding_gradients_and_keeps_groups():
    for engine in ENGINES:
        with dt.engine(engine):
            made = model(rate=1e3, steps_per_execution=4)
            report = GradientReport(every=4)
            made.fit(X * 0.1, Y, batch_size=4, epochs=3, verbose=0, callbacks=[report])
            assert all("exploding" in layer.verdicts for layer in report.layers), (engine, str(report))
            assert "NaN or infinity" in str(report)
            assert report.layers[0].steps == tuple(range(0, 48, 4))


def copied(layer):
    return type(layer).from_config(layer.get_config())


if __name__ == "__main__":
    main(globals())

"""Checks that the programs of `examples/seeds` give the right numbers on each engine, in their own process."""

from __future__ import annotations

import contextlib
import io
import runpy
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from dovetail import backend as K
from dovetail.compat import tensorflow as tf
from dovetail.core.calls import gradients
from tests.keras_backends import ENGINES, main, told
from tests.keras_dovetail.seeds_by_tensorflow import SEEDS

RANDOM = np.random.default_rng(0)


def near(found, wanted, rtol=2e-4):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-6)


def ran(name: str) -> Iterator[dict[str, Any]]:
    """The global names of a finished program, on each engine in turn, with that engine current.

    If TensorFlow runs the program, too, it prints the same text there.
    """
    by_tensorflow = told("tests.keras_dovetail.seeds_by_tensorflow", "tensorflow") if "tensorflow" in ENGINES else {}
    for engine in ENGINES:
        with dt.engine(engine), warnings.catch_warnings(), mock.patch.dict(gradients.REGISTERED):
            warnings.filterwarnings("ignore", "Do not pass an `input_shape`")
            keras.utils.clear_session()  # generated names of layers start from 0 again
            keras.utils.set_random_seed(1)
            with contextlib.redirect_stdout(io.StringIO()) as output:
                names = runpy.run_path(str(SEEDS / f"{name}.py"))
            assert output.getvalue() == by_tensorflow.get(name, output.getvalue())
            yield names
        tf.compat.v1.enable_eager_execution()  # some programs open a graph, and leave it open


def fell_alike(losses: list[Any]) -> None:
    """Check that training runs have the same losses, which fall by a tenth at least."""
    assert losses[0][-1] < 0.9 * losses[0][0]
    for others in losses[1:]:
        near(others, losses[0])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def check_000_1_device_placement():
    for names in ran("000_1_device_placement"):
        weights1, bias1, weights2, bias2 = names["weights"]
        hidden = np.maximum(names["dummy_input"] @ weights1 + bias1, 0)
        near(names["result"], hidden @ weights2 + bias2)
        assert names["result"].shape == (2, 5) and np.ptp(weights1) > 1 and (hidden == 0).any()
        assert names["output2"].name == "relu_output:0"


def check_000_2_custom_gradient():
    for names in ran("000_2_custom_gradient"):
        x = 2 - 0.001 * np.arange(5)
        near(names["printed"], np.stack([(x - 1) ** 2, np.full(5, 0.1)], axis=1))
        near(names["trained"], 1.995)


def check_000_3_graph_edit():
    for names in ran("000_3_graph_edit"):
        before = names["model"](names["input_data"]).numpy()  # the model that was saved is unchanged
        wanted = (before - before.mean(1, keepdims=True)) / before.std(1, keepdims=True)
        near(names["output_val"], wanted, rtol=1e-3)
        near(names["output_again"], names["output_val"])


def check_001_1_custom_activation():
    losses = []
    for names in ran("001_1_custom_activation"):
        model = names["model"]
        kernel, bias, alpha, last, last_bias = model.get_weights()
        assert alpha != 0 and len(model.trainable_weights) == 5
        x = RANDOM.normal(size=(5, 10)).astype("float32")
        h = x @ kernel + bias
        near(model.predict(x), (np.maximum(h, 0) + alpha * sigmoid(h)) @ last + last_bias)
        losses.append(names["history"].history["loss"])
    fell_alike(losses)


def check_001_2_gradient_clipping():
    losses = []
    for names in ran("001_2_gradient_clipping"):
        assert int(names["optimizer"].iterations) == 100
        losses.append(float(names["loss"]))
        x = dt.Variable([1.0, 2.0, 3.0])
        with dt.GradientTape() as tape:
            y = K.sum(names["GradientClippingLayer"](0.5)(x) * K.constant([0.1, 3.0, -3.0]))
        near(tape.gradient(y, x).numpy(), [0.1, 0.5, -0.5])
        assert float(y) == np.float32(0.1 + 6 - 9)
    near(losses[1:], losses[0])


def check_001_3_stateful_layer():
    for names in ran("001_3_stateful_layer"):
        weight, state = names["model"].get_weights()
        near(state, np.tile(2 * (K.eval(names["x_train"]) @ weight), (10, 1)), rtol=1e-3)
        assert (state != 0).all()


def check_002_1_tensor_operations():
    for names in ran("002_1_tensor_operations"):
        assert (K.eval(names["sum_ab"]), K.eval(names["product_ab"])) == (36, 40320)
        assert K.eval(names["reshaped_a"]).tolist() == [1, 2, 3, 4]


def check_002_2_mean_and_variance():
    for names in ran("002_2_mean_and_variance"):
        assert (K.eval(names["mean_x"]), K.eval(names["variance_x"])) == (2.5, 1.25)


def check_002_3_conditional():
    for names in ran("002_3_conditional"):
        assert K.eval(names["result"]) == 25


def check_002_4_gradient():
    for names in ran("002_4_gradient"):
        assert names["grad"].numpy() == 6


def check_002_5_huber_loss():
    found = []
    for names in ran("002_5_huber_loss"):
        y_true, y_pred = np.float32([[0, 0], [0, 1]]), np.float32([[0.5, 3.0], [-4.0, 1.0]])
        near(K.eval(names["huber_loss"](y_true, y_pred)), [(0.125 + 2.5) / 2, 3.5 / 2])
        near(K.eval(names["huber_loss"](y_true, y_pred, delta=2.0)), [(0.125 + 4) / 2, 6 / 2])
        errors = names["errors"]
        assert errors["huber_loss"] < 0.2 * errors["mse"]
        found.append(list(errors.values()))
    near(found[1:], [found[0]] * (len(found) - 1), rtol=1e-3)


def check_002_6_scaling_layer():
    for names in ran("002_6_scaling_layer"):
        near(K.eval(names["model"].layers[0].scale), [2.5], rtol=1e-3)


def check_002_7_training_loop():
    losses = []
    for names in ran("002_7_training_loop"):
        assert len(names["losses"]) == 100 == int(names["optimizer"].iterations)
        losses.append(names["losses"])
    fell_alike(losses)


def check_002_8_mixed_precision():
    for names in ran("002_8_mixed_precision"):
        model, losses = names["model"], names["history"].history["loss"]
        try:
            assert (model.layers[0].compute_dtype, model.layers[0].kernel.dtype) == ("float16", "float32")
            assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
            assert losses[-1] < 0.5 * losses[0]
        finally:
            keras.mixed_precision.set_global_policy("float32")


def check_004_1_tensor_operations():
    for names in ran("004_1_tensor_operations"):
        assert K.eval(names["sum_tensor"]).tolist() == [[6, 8], [10, 12]]
        assert K.eval(names["dot_product"]).tolist() == [[19, 22], [43, 50]]


def check_004_2_custom_loss():
    losses = []
    for names in ran("004_2_custom_loss"):
        near(K.eval(names["custom_loss"](np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [3, 7]]))), 13 / 4)
        losses.append(names["history"].history["loss"])
    fell_alike(losses)


def check_004_3_custom_layer():
    losses = []
    for names in ran("004_3_custom_layer"):
        kernel, last, bias = names["model"].get_weights()
        x = RANDOM.normal(size=(5, 3)).astype("float32")
        near(names["model"].predict(x), np.maximum(x @ kernel, 0) @ last + bias)
        losses.append(names["history"].history["loss"])
    fell_alike(losses)


def check_each_program_is_checked():
    programs = {path.stem for path in SEEDS.glob("*.py")}
    assert len(programs) > 10
    assert programs == {name.removeprefix("check_") for name in globals() if name.startswith("check_0")}


if __name__ == "__main__":
    main(globals())

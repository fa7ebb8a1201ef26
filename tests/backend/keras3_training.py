"""Models of a stock Keras 3 with a layer, a loss and a metric written in K, on the backend of Keras that runs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from tests.keras_backends import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 4)).astype("float32")
Y = (X @ RNG.normal(size=(4, 3))).argmax(-1)
ONE_HOT = np.eye(3, dtype="float32")[Y]


@keras.saving.register_keras_serializable("tests")
class KDense(keras.layers.Layer):
    """A dense layer that keeps the mean of its outputs."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.mean = self.add_weight(shape=(self.units,), initializer="zeros", trainable=False, name="mean")

    def call(self, x):
        y = K.relu(K.bias_add(K.dot(x, self.kernel), self.bias), alpha=0.1)
        mean = K.mean(y, axis=0)
        if K.in_train_phase(True, False):
            K.update(self.mean, 0.9 * self.mean + 0.1 * mean)
        return K.in_train_phase(y - mean, y - self.mean)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("tests")
def k_loss(y_true, y_pred):
    return K.categorical_crossentropy(y_true, y_pred)


@keras.saving.register_keras_serializable("tests")
def k_accuracy(y_true, y_pred):
    return K.mean(K.cast(K.equal(K.argmax(y_true), K.argmax(y_pred)), "float32"))


@keras.saving.register_keras_serializable("tests")
class KModel(keras.Model):
    """A subclassed model that shapes its input with K."""

    def __init__(self, **options):
        super().__init__(**options)
        self.first, self.last = KDense(16), keras.layers.Dense(3, activation="softmax")

    def call(self, x):
        batch = K.shape(x)[0]
        twice = K.reshape(K.tile(x, [1, 2]), (batch, 8))
        return self.last(self.first(twice / K.cast(2, "float32")))


def sequential():
    return keras.Sequential([keras.Input((4,)), KDense(16), keras.layers.Dense(3, activation="softmax")])


def functional():
    x = keras.Input((4,))
    scaled = (x - K.constant(X.mean(0))) / K.constant(X.std(0))
    features = K.concatenate([scaled, K.square(scaled), K.sum(scaled, axis=-1, keepdims=True)])
    hidden = KDense(16)(features)
    hidden = K.map_fn(lambda row: row * K.sigmoid(row), hidden)
    return keras.Model(x, K.softmax(keras.layers.Dense(3)(hidden)))


def trains(make):
    """Check that the loss falls, that evaluation and prediction agree, and that a loaded model predicts the same."""
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.Adam(0.02), loss=k_loss, metrics=[k_accuracy])
    history = model.fit(X, ONE_HOT, batch_size=32, epochs=12, verbose=0).history
    assert history["loss"][-1] < 0.6 * history["loss"][0], history["loss"]
    found = model.evaluate(X, ONE_HOT, verbose=0, return_dict=True)
    predicted = model.predict(X, verbose=0)
    np.testing.assert_allclose(found["k_accuracy"], np.mean(predicted.argmax(-1) == Y), atol=1e-6)
    np.testing.assert_allclose(found["loss"], -np.log(predicted[np.arange(96), Y]).mean(), rtol=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.keras")
        model.save(path)
        again = keras.saving.load_model(path)
    np.testing.assert_allclose(again.predict(X, verbose=0), predicted, rtol=1e-6, atol=1e-7)
    assert again.evaluate(X, ONE_HOT, verbose=0, return_dict=True).keys() == found.keys()


def check_sequential():
    trains(sequential)


def check_functional():
    trains(functional)


def check_subclassed():
    trains(KModel)


def check_mixed_precision():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = sequential()
        assert keras.backend.standardize_dtype(model.layers[0](X[:2]).dtype) == "bfloat16"
        model.compile("adam", loss=k_loss)
        assert np.isfinite(model.fit(X, ONE_HOT, epochs=1, verbose=0).history["loss"]).all()
    finally:
        keras.config.set_dtype_policy("float32")


def check_gradients_of_the_backend_see_through():
    """Check that a layer in K trains exactly as the same layer in Keras' own ops."""
    losses = []
    for product in (K.dot, keras.ops.matmul):
        layer = keras.layers.Lambda(lambda x, product=product: product(x, keras.ops.ones((3, 1))))
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, kernel_initializer="ones"), layer])
        model.compile(keras.optimizers.SGD(0.01), "mse")
        losses.append(model.fit(X, X[:, :1], epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def dice(y_true, y_pred):
    both = K.sum(K.flatten(y_true) * K.flatten(y_pred))
    return 1.0 - (2.0 * both + 1.0) / (K.sum(y_true) + K.sum(y_pred) + 1.0)


def jaccard(y_true, y_pred):
    both = K.sum(K.abs(y_true * y_pred), axis=-1)
    either = K.sum(K.abs(y_true) + K.abs(y_pred), axis=-1)
    return (1.0 - (both + 100.0) / (either - both + 100.0)) * 100.0


def weighted(y_true, y_pred):
    return K.mean(K.binary_crossentropy(y_true, y_pred) * (3.0 * y_true + (1.0 - y_true)))


def focal(y_true, y_pred):
    right = K.switch(K.equal(y_true, 1), y_pred, 1.0 - y_pred)
    return -K.mean(K.pow(1.0 - right, 2.0) * K.log(K.clip(right, K.epsilon(), None)))


def quantile(y_true, y_pred):
    error = y_true - y_pred
    return K.mean(K.maximum(0.9 * error, -0.1 * error), axis=-1)


def f1(y_true, y_pred):
    hits = K.sum(K.round(K.clip(y_true * y_pred, 0, 1)))
    precision = hits / (K.sum(K.round(K.clip(y_pred, 0, 1))) + K.epsilon())
    recall = hits / (K.sum(K.round(K.clip(y_true, 0, 1))) + K.epsilon())
    return 2.0 * precision * recall / (precision + recall + K.epsilon())


def r2(y_true, y_pred):
    apart = K.sum(K.square(y_true - K.mean(y_true)))
    return 1.0 - K.sum(K.square(y_true - y_pred)) / (apart + K.epsilon())


def check_losses_and_metrics_of_many_programs():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="sigmoid")])
    metrics = [f1, r2, dice]
    for loss in (dice, jaccard, weighted, focal, quantile):
        model.compile(keras.optimizers.Adam(0.02), loss, metrics=metrics)
        model.fit(X, ONE_HOT, batch_size=96, epochs=2, verbose=0)
        found = model.evaluate(X, ONE_HOT, batch_size=96, verbose=0, return_dict=True)
        predicted = model.predict(X, verbose=0)
        with dt.engine("numpy"):
            wanted = {metric.__name__: float(metric(ONE_HOT, predicted)) for metric in metrics}
            wanted["loss"] = np.mean(loss(ONE_HOT, predicted))
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=2e-6, err_msg=f"{name} of {loss.__name__}")


@keras.saving.register_keras_serializable("tests")
class Attention(keras.layers.Layer):
    """The weighted mean of the unmasked steps; the weights depend on the steps' values."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 1), name="kernel")
        self.bias = self.add_weight(shape=(1,), initializer="zeros", name="bias")

    def call(self, x, mask=None):
        weights = K.exp(K.squeeze(K.tanh(K.bias_add(K.dot(x, self.kernel), self.bias)), -1))
        if mask is not None:
            weights = weights * K.cast(mask, K.floatx())
        weights = weights / (K.sum(weights, axis=1, keepdims=True) + K.epsilon())
        return K.sum(x * K.expand_dims(weights), axis=1)

    def compute_mask(self, x, mask=None):
        return None


@keras.saving.register_keras_serializable("tests")
class Recurrent(keras.layers.Layer):
    """A recurrent layer of K.rnn."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(2 * shape[-1], shape[-1]), name="kernel")
        self.supports_masking = True

    def call(self, x, mask=None):
        def step(now, states):
            state = K.tanh(K.dot(K.concatenate([now, states[0]]), self.kernel))
            return state, [state]

        return K.rnn(step, x, [K.zeros_like(x[:, 0])], mask=mask)[1]


def check_recurrence_and_attention_with_masks():
    x = keras.Input((None,), dtype="int32")
    steps = keras.layers.Embedding(10, 4, mask_zero=True)(x)
    y = keras.layers.Dense(1, activation="sigmoid")(Attention()(Recurrent()(steps)))
    model = keras.Model(x, y)
    words = RNG.integers(1, 10, size=(64, 6))
    words[:, 4:] = 0
    wanted = (words[:, :1] > 5).astype("float32")
    model.compile(keras.optimizers.Adam(0.05), lambda y_true, y_pred: K.binary_crossentropy(y_true, y_pred))
    losses = model.fit(words, wanted, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0], losses
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.keras")
        keras.Model(x, y).save(path)
        again = keras.saving.load_model(path)
    predicted = model.predict(words, verbose=0)
    np.testing.assert_allclose(again.predict(words, verbose=0), predicted, rtol=1e-5)
    np.testing.assert_allclose(model.predict(words[:, :4], verbose=0), predicted, rtol=1e-5)  # masked steps are ignored


def check_a_variable_in_a_loss_is_read_when_it_runs():
    weight, layer = K.variable(1.0), keras.layers.Dense(1, kernel_initializer="ones")
    model = keras.Sequential([keras.Input((4,)), layer])
    spellings = [
        lambda y_true, y_pred: weight * K.square(y_pred),
        lambda y_true, y_pred: K.square(y_pred) * weight,
        lambda y_true, y_pred: (1.0 - (1.0 - weight)) * K.square(y_pred),
        lambda y_true, y_pred: K.sum(K.stack([weight, K.zeros_like(weight)])) * K.square(y_pred),
    ]
    for loss in spellings:
        model.compile(keras.optimizers.SGD(0.0), loss)
        set_to_epoch = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: K.set_value(weight, epoch))
        losses = model.fit(X, Y, epochs=3, verbose=0, callbacks=[set_to_epoch]).history["loss"]
        np.testing.assert_allclose(losses, np.arange(3) * np.square(X.sum(-1)).mean(), rtol=1e-5)
        K.update_add(weight, 3.0)
        np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), losses[1] * 5, rtol=1e-5)


def check_a_loss_uses_the_scores_of_an_activation_in_the_model():
    inputs = keras.Input((2,))
    model = keras.Model(inputs, K.sigmoid(inputs))
    model.compile("sgd", loss=lambda y_true, y_pred: K.binary_crossentropy(y_true, y_pred))
    assert model.evaluate(np.float32([[40, -30]]), np.float32([[0, 0]]), verbose=0) == 20


def check_what_is_written_to_a_result_leaves_the_weight_a16():
    class Scaled(keras.layers.Layer):
        def build(self, shape):
            self.g = self.add_weight(shape=(2,), initializer="ones", name="g")

        def call(self, x):
            for made in (
                K.reshape(self.g, (1, 2)), K.cast(self.g, "float32"), K.expand_dims(self.g), K.identity(self.g),
                K.transpose(self.g), K.stop_gradient(self.g), K.slice(self.g, [0], [1]),
                K.switch(K.ones_like(x)[0, 0] > 0, self.g, 2 * self.g),
                K.switch(K.ones_like(x)[0, 0] > 0, lambda: self.g, lambda: 2 * self.g),
            ):  # fmt: skip
                made /= 4.0
                x = x * K.sum(made)
            return x

    layer = Scaled()
    for _ in range(2):
        found = keras.ops.convert_to_numpy(layer(np.ones((1, 1), "float32")))
        assert (keras.ops.convert_to_numpy(layer.g) == 1).all() and found == 0.5**8 * 0.25, found


def check_the_backend_is_that_of_keras():
    seen = []

    def loss(y_true, y_pred):
        seen.append(K.backend())
        return K.mean(K.square(y_pred))

    class Asking(keras.layers.Layer):
        def call(self, x):
            with dt.engine("numpy"):  # a layer computes with Keras' values all the same
                seen.append(K.backend())
            return x

    model = keras.Sequential([keras.Input((4,)), Asking(), keras.layers.Dense(1)])
    model.compile("sgd", loss)
    model.train_on_batch(X, Y)
    assert {*seen, K.backend()} == {keras.backend.backend()} and len(seen) >= 2
    with dt.engine("numpy"):
        assert K.backend() == "numpy"
    K.set_backend_name("theano")
    assert K.backend() == "theano"
    K.set_backend_name(None)


def check_gradients_in_a_loss_and_a_layer():
    class Steeper(keras.layers.Layer):
        def call(self, x):
            return x + K.gradients(K.sum(x * x), [x])[0]

    def loss(y_true, y_pred):
        error = K.mean(K.square(y_pred - y_true))
        return error + K.mean(K.square(K.gradients(error, [y_pred])[0]))

    if keras.backend.backend() == "jax":
        return  # jax keeps no record
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Steeper(), keras.layers.Dense(3)])
    model.compile("sgd", loss)
    losses = model.fit(X, ONE_HOT, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    if keras.backend.backend() == "torch":
        with pytest.raises(RuntimeError, match=r"torch records nothing .*enable_grad"):
            model.evaluate(X, ONE_HOT, verbose=0)


def check_random_numbers_are_new_in_each_step():
    class Noise(keras.layers.Layer):
        def __init__(self, seed):
            super().__init__()
            self.seed_of_mine = seed

        def call(self, x):
            return x + K.random_normal(K.shape(x), seed=self.seed_of_mine)

    for seed in (None, 5):
        found = []
        for _ in range(2):
            keras.utils.set_random_seed(0)
            K.clear_session()
            model = keras.Sequential([keras.Input((4,)), Noise(seed), keras.layers.Dense(1, kernel_initializer="ones")])
            model.compile(keras.optimizers.SGD(0.0), lambda y_true, y_pred: K.mean(K.dropout(y_pred, 0.5)))
            found.append(model.fit(0 * X, Y, batch_size=32, epochs=3, verbose=0).history["loss"])
            assert len(set(found[-1])) == 3, found
        assert found[0] == found[1]
    if keras.backend.backend() == "jax":
        import jax

        with pytest.raises(ValueError, match=r"K.random_normal at keras3_training.py:\d+: jax traces this program"):
            jax.jit(lambda: K.random_normal((2,)))()


def check_the_program_of_examples():
    path = Path(__file__).parents[2] / "examples" / "keras3_with_k.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = program.main(["--points", "300", "--units", "16", "--epochs", "12"])
    assert found["after"] < 0.3 * found["before"] and found["accuracy"] > 0.9, found
    assert 1 / 3 < found["mean_confidence"] <= 1 and found["apart"] < 1e-6, found
    said = f"{keras.backend.backend()}: loss {found['before']:.4f} -> {found['after']:.4f}"
    assert said in printed.getvalue()


if __name__ == "__main__":
    of_stock = {"check_the_backend_is_that_of_keras"} if keras.backend.backend() == "dovetail" else set()
    main({name: value for name, value in globals().items() if name not in of_stock})

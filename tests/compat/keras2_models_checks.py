"""Checks of models, callbacks and optimizers by Keras 2's names, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2  # noqa: F401  before the names of Keras 2

# isort: split
import keras
import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1
from keras import backend as K
from keras import layers
from keras.engine.training import Model
from keras.models import Input, model_from_config

from dovetail.compat import keras2
from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


class Scale(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(3,), initializer="ones")
        super().build(shape)

    def call(self, x):
        return x * self.w


class Watching(keras.callbacks.Callback):
    """A callback of Keras 2, which computes the results of the validation once more, and summaries."""

    def set_model(self, model):
        self.model = model
        layer = model.layers[-1]
        gradients = model.optimizer.get_gradients(model.total_loss, layer.trainable_weights)
        for name, values in ("kernel", layer.kernel), ("output", layer.output), ("gradient", gradients[0]):
            v1.summary.histogram(name, values)
        self.merged = v1.summary.merge_all()

    def on_epoch_end(self, epoch, logs=None):
        tensors = self.model.inputs + self.model.targets + self.model.sample_weights
        if self.model.uses_learning_phase:
            tensors += [K.learning_phase()]
        assert len(self.validation_data) == len(tensors)
        found = K.function(tensors, [self.model.total_loss, *self.model.metrics_tensors])(self.validation_data)
        near(found, [logs["val_loss"], logs["val_mean_absolute_error"]])
        session = K.get_session()
        feed = dict(zip(tensors, self.validation_data, strict=True))
        loss, summary = session.run([self.model.total_loss, self.merged], feed)
        near(loss, logs["val_loss"])
        assert all(name in summary for name in (b"kernel", b"output", b"gradient"))


class Nothing(keras.optimizers.Optimizer):
    def get_updates(self, *args, **kwargs):
        return []


def check_models_are_made_of_configurations():
    x = Input((3,))
    for model in (keras.Sequential([layers.Dense(2, input_shape=(3,))]), Model(x, layers.Dense(2)(x))):
        config = {"class_name": model.__class__.__name__, "config": model.get_config()}
        written = json.dumps(config)
        for given in (config, json.loads(model.to_json())):
            made = model_from_config(given)
            made.set_weights(model.get_weights())
            near(made(X), model(X))
        assert json.dumps(config) == written  # unchanged
        from_yaml = keras.models.model_from_yaml(model.to_yaml())
        assert from_yaml.get_config() == keras.models.model_from_json(model.to_json()).get_config()
    custom = keras.Sequential([Scale(input_shape=(3,))])
    config = {"class_name": "Sequential", "config": custom.get_config()}
    near(model_from_config(config, {"Scale": Scale})(X), X)
    with pytest.raises(TypeError, match=r"use keras.Sequential.from_config"):
        model_from_config([])


def names():
    """The automatic names of two models; the second is a Sequential, whose inner model is not counted."""
    K.clear_session()
    x = layers.Input((3,))
    y = layers.Conv2DTranspose(1, 2)(layers.Reshape((1, 3, 1))(layers.Dense(3)(layers.Dense(3)(x))))
    model = Model(x, y)
    row = keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.PReLU()])
    found = [layer.name for layer in model.layers], [layer.name for layer in row.layers], row.input_names
    return [*found, model.name, row.name, Model(x, y).name, K.get_uid("dense")]


def check_names_have_slashes():
    with pytest.raises(ValueError, match="must be a string"):
        layers.Dense(2, name=3)
    x = Input((3,), name="in/x")
    scale = Scale(name="block/scale")
    model = Model(x, layers.Dense(2, name="block/out")(scale(x)), name="net/small")
    assert [type(layer.name) for layer in model.layers] == [str] * 3 and "/" in model.layers[1].name
    assert model.get_layer("block/out").name == "block/out" and scale.w.path.endswith("block/scale/w")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "a.h5"))
        model.save(path)
        again = keras.models.load_model(path, custom_objects={"Scale": Scale})
        near(again.predict(X), model.predict(X))
        for weight in again.weights:
            weight.assign(weight * 0)
        model.save_weights(path)
        again.load_weights(path, by_name=True)
        near(again.predict(X), model.predict(X))
    assert again.name == "net/small"


def check_a_model_is_compiled_again_with_its_metrics():
    model = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse", ["mae"])
    first = model.train_on_batch(X, np.zeros((4, 2)))
    model.compile(model.optimizer, model.loss, model.metrics)
    second = model.train_on_batch(X, np.zeros((4, 2)))
    assert len(first) == len(second) == 2 and model.metrics_names == ["loss", "mean_absolute_error"]
    model.compile(model.optimizer, model.loss, [*model.metrics])
    assert model.evaluate(X, np.zeros((4, 2)), verbose=0)[0] < second[0]


def check_automatic_names_are_numbered():
    """Check the names of Keras 2.2, and those of tf_keras 2.21; a layer that is called with another is made first."""
    of_model = "input_1", "dense_2", "dense_1", "reshape_1", "conv2d_transpose_1"
    assert names() == [
        [*of_model],
        ["dense_3", "p_re_lu_1"],
        ["dense_3_input"],
        "model_1",
        "sequential_1",
        "model_2",
        4,
    ]
    with keras2.installed(of_tensorflow=True):
        of_model = "input_1", "dense_1", "dense", "reshape", "conv2d_transpose"
        assert names()[:6] == [[*of_model], ["dense_2", "p_re_lu"], ["dense_2_input"], "model", "sequential", "model_1"]
    assert names()[3] == "model_1"


def check_callbacks_find_the_validation():
    """Check tensors and arrays of training against the results of `fit`."""
    for inner, given in (
        (layers.Dropout(0.5), {"validation_data": (X[:3], X[:3, 0], np.array([1.0, 3.0, 0.5]))}),
        (layers.LSTM(2), {"validation_data": ([X[:3, :, None]], {"y": X[:3, 0]})}),
        (layers.LSTM(2, dropout=0.5), {"validation_split": 0.5}),
    ):
        x = layers.Input((3, 1) if isinstance(inner, layers.LSTM) else (3,))
        model = Model(x, layers.Dense(1, kernel_regularizer="l2", name="y")(inner(x)))
        with pytest.raises(AttributeError, match="is not compiled"):
            model.total_loss  # noqa: B018  it raises
        model.compile("sgd", "mse", metrics=["mae"])
        before, watching = model.total_loss, Watching()
        assert watching.validation_data is None and model._feed_targets[0] is model.targets[0]
        with tempfile.TemporaryDirectory() as folder:
            watching_both = [watching, keras.callbacks.TensorBoard(folder)]
            model.fit(X if len(x.shape) == 2 else X[..., None], X[:, 0], callbacks=watching_both, verbose=0, **given)
            assert list(Path(folder).rglob("*tfevents*"))
        assert model.total_loss is before and len(watching.validation_data[0]) == (
            3 if "validation_data" in given else 2
        )
        model.compile("sgd", "mae")
        assert model.total_loss is not before


class OneFile(keras.callbacks.TensorBoard):
    """A callback of Keras 2.2 that writes one file in all calls of `fit`."""

    def set_model(self, model):
        pass

    def on_epoch_end(self, epoch, logs=None):
        self._write_logs({**logs, "size": 3}, 7)

    def on_train_end(self, logs=None):
        pass


def check_the_writer_of_the_tensorboard_callback():
    model = keras.Sequential([layers.Dense(1, input_dim=3)])
    model.compile("sgd", "mse")
    with tempfile.TemporaryDirectory() as folder:
        board = OneFile(folder)
        for _ in range(2):
            model.fit(X[:4], X[:4, 0], verbose=0, callbacks=[board])
        (file,) = Path(folder).glob("*tfevents*")
        seen = [(event.step, v.tag) for event in v1.train.summary_iterator(str(file)) for v in event.summary.value]
    assert seen == [(7, "loss"), (7, "loss")] and board.writer is board.writer


class Counting(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.seen, self.told = [], dict(self.params)

    def on_batch_end(self, batch, logs=None):
        self.seen.append((logs["batch"], logs["size"]))


class Pairs(keras.utils.Sequence):
    batch_size = 2

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return X[:2], X[:2, :1]


def check_callbacks_are_told_of_fit():
    model = keras.Sequential([layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    names = ["loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error"]
    for data, counts, sizes in (
        ({"x": X, "y": X[:, :1], "batch_size": 3, "validation_data": (X, X[:, :1])}, [4, 4], [(0, 3), (1, 1)]),
        ({"x": Pairs(), "validation_data": Pairs()}, [None, None], [(0, 2), (1, 2)]),
    ):
        counting = Counting()
        model.fit(**data, epochs=1, verbose=0, callbacks=[counting])
        told = counting.told
        assert (told["metrics"], told["nb_epoch"], told["do_validation"]) == (names, 1, True)
        assert [told.get(name) for name in ("samples", "nb_sample")] == counts and counting.seen == sizes


def check_a_picture_that_cannot_be_drawn_is_a_warning():
    model = keras.Sequential([layers.Dense(1, input_shape=(3,))], name="drawn")
    with mock.patch("keras.src.utils.model_visualization.check_pydot", lambda: False):
        with pytest.warns(UserWarning, match="no picture of 'drawn' is written: You must install pydot"):
            keras.utils.plot_model(model)
        with pytest.warns(UserWarning, match="no picture"):
            keras.utils.vis_utils.plot_model(model, "model.png", show_shapes=True)


def check_losses_know_the_layers_of_predictions():
    seen = []

    def loss(y_true, y_pred):
        seen.append(y_pred._keras_history[0])
        return K.mean(K.square(y_true - y_pred))

    x = Input((3,))
    first, second = layers.Dense(2), layers.Dense(1)
    model = Model(x, [first(x), second(x)])
    for options in ({}, {"run_eagerly": True}):
        model.compile("sgd", [loss, loss], **options)
        model.fit(X, [X[:, :2], X[:, :1]], verbose=0)
        assert seen[-2:] == [first, second]


def check_files_of_models_with_masks_load():
    words = np.random.default_rng(0).integers(0, 5, (6, 4))
    x = Input((4,))
    hidden = layers.LSTM(2, return_sequences=True)(layers.Embedding(5, 3, mask_zero=True)(x))
    y = layers.LSTM(2)(layers.Masking()(hidden * 2.0 + hidden))
    model = Model(x, layers.add([y, layers.Dense(2)(y)]))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.h5")
        model.save(path)
        made = keras.models.load_model(path)
    near(made.predict(words, verbose=0), model.predict(words, verbose=0))
    made.compile("sgd", "mse")
    assert made.fit(words, np.ones((6, 2)), epochs=2, verbose=0).history["loss"][1] < 10


def check_files_of_models_have_any_name():
    model = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model", "best.model", "v1/model.02-0.31", "model.h5", "model.keras"):
            path = Path(folder, name)
            model.save(str(path))
            assert (path.read_bytes()[:4] == b"\x89HDF") == (path.suffix != ".keras"), name
            near(keras.models.load_model(str(path)).predict(X), model.predict(X))
        keras.models.save_model(model, path.with_name("untrained"), True, False)
        assert not keras.models.load_model(path.with_name("untrained")).compiled
        model.save(str(path.with_name("named")), save_format="h5")
        near(keras.models.load_model(path.with_name("named")).predict(X), model.predict(X))


def check_inputs_of_variables_are_not_fed():
    given = K.variable(X[:1])
    x, y = Input((3,)), Input(tensor=given)
    model = Model([x, y], layers.Subtract()([x, y]))
    near(model.predict(X), X - X[:1])
    near(model.predict([X]), X - X[:1])
    given.assign(2 * X[:1])
    near(model.predict(X), X - 2 * X[:1])
    near(model.predict([X, X]), 0 * X)


class Shifted(keras.layers.Layer):
    """A layer without `get_config`, whose arguments JSON cannot hold."""

    def __init__(self, shift=None, **options):
        super().__init__(**options)
        self.shift = np.ones(3) if shift is None else shift

    def call(self, inputs):
        return inputs + self.shift


def check_layers_without_a_configuration_are_saved():
    """Check that Keras 2's first `get_config` writes the name, and the file is loaded with the default arguments."""
    x = keras.Input((3,))
    model = keras.Model(x, Shifted(np.full(3, 2.0), name="shifted")(x))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.h5")
        loaded = keras.models.load_model(f"{folder}/model.h5", custom_objects={"Shifted": Shifted})
    np.testing.assert_array_equal(model.predict(np.zeros((1, 3))), [[2, 2, 2]])
    np.testing.assert_array_equal(loaded.predict(np.zeros((1, 3))), [[1, 1, 1]])
    assert loaded.layers[-1].name == "shifted"
    optimizer = keras.optimizers.SGD(0.1, decay=0.5)
    assert optimizer.initial_decay == 0.5 and keras.optimizers.Adam().initial_decay == 0.0


def check_losses_are_added_once_more_after_they_were_cleared():
    x = Input((3,))
    made = Model([x], [layers.Dense(2, kernel_initializer="ones")(x)])
    for factor in (1.0, 2.0, 3.0):
        made._losses, made._per_input_losses = [], {}
        assert made.losses == []
        made.add_loss(factor * K.mean(made.output))
        made.compile(keras.optimizers.SGD(0.0), loss=[None])
        near(made.train_on_batch(X, []), factor * 2 * X.sum(1).mean() / 2)
        near(made.evaluate(X, verbose=0), factor * X.sum(1).mean())


def check_models_know_the_places_of_their_ends():
    """In Keras 1 and 2.0 they had lists for them."""
    shared = layers.Dense(2)
    first, second = Input((3,)), Input((3,))
    one, other = shared(first), shared(second)
    made = Model([first, second], [other, one])
    assert made.input_layers_node_indices == made.input_layers_tensor_indices == [0, 0]
    assert made.output_layers == [shared, shared] and made.output_layers_node_indices == [1, 0]
    assert made.output_layers_tensor_indices == [0, 0]
    assert keras.Sequential([layers.Dense(2, input_dim=3)]).input_layers_node_indices == [0]


def check_the_function_of_a_layer_makes_its_variables_once():
    x = Input((3,))
    boxes = layers.Lambda(lambda t: v1.Variable(np.full((1, 3), 2.0, "float32")))(x)
    scaled = layers.Lambda(lambda t: t * K.variable(3.0) + K.variable(1.0))(
        layers.Dense(3, kernel_initializer="ones")(x)
    )
    made = Model(x, layers.Add()([scaled, boxes]))
    made.compile(keras.optimizers.SGD(0.0), "mse")
    wanted = 3 * np.repeat(X.sum(1, keepdims=True), 3, 1) + 3
    for _ in range(2):
        near(made.train_on_batch(X, np.zeros((4, 3))), np.mean(wanted**2))
    near(made.predict(X, verbose=0), wanted)
    assert [w.shape for w in made.weights] == [(3, 3), (3,)]


def check_steps_have_the_number_that_layers_declare():
    seen = []

    class Some(layers.Layer):
        def call(self, inputs):
            return K.reshape(inputs, [-1, K.shape(inputs)[1], 3])

        def compute_output_shape(self, shape):
            return (None, 2, 3)

    class Sees(layers.Layer):
        def call(self, inputs):
            seen.append(inputs.shape[1])
            return K.sum(inputs, axis=1)

    x = Input((None, 3))
    made = Model(x, Sees()(layers.TimeDistributed(layers.Dense(2, kernel_initializer="ones"))(Some()(x))))
    rows = np.stack([X[:2], X[2:]])
    near(made.predict(rows, verbose=0), np.repeat(rows.sum((1, 2))[:, None], 2, 1))
    assert {int(each) for each in seen} == {2}


def check_an_optimizer_that_asks_for_no_gradients():
    x = Input((3,))
    y = layers.Dense(2)(x)
    model = Model(x, layers.Lambda(lambda z: K.stop_gradient(z))(y))
    model.compile(Nothing(), lambda true, found: found)
    before = model.get_weights()
    model.fit(X, X[:, :2], verbose=0)
    near(model.get_weights()[0], before[0])


if __name__ == "__main__":
    main(globals())

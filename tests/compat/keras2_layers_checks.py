"""Checks of arguments and attributes of layers by Keras 2's names, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2

# isort: split
import keras
import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1
from keras import backend as K
from keras import layers
from keras.engine.training import Model
from keras.models import Input, model_from_config

import dovetail as dt
from dovetail.compat import keras2
from dovetail.compat.keras2 import patches
from dovetail.compat.keras2.patches import held
from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
KINDS = (np.int64, np.int32, np.uint8, np.array)


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def check_what_is_changed_is_one_table():
    """Check that each row of the table of changes names an attribute, which holds the value of the row."""
    assert len(keras2.PATCHES) > 200
    last = {(id(patch.owner), patch.name): patch for patch in keras2.PATCHES}
    assert len(last) == len(keras2.PATCHES)
    for patch in keras2.PATCHES:
        assert held(patch.owner, patch.name) is patch.value


def check_the_changes_can_be_undone():
    """By `uninstall`, or at the end of a block, also by an error, in one; twice is once."""
    names = set(sys.modules)
    keras2.uninstall()
    try:
        keras2.uninstall()
        before = [held(patch.owner, patch.name) for patch in keras2.PATCHES]
        assert not any(value is patch.value for value, patch in zip(before, keras2.PATCHES, strict=True))
        assert "keras.engine" not in sys.modules and not hasattr(keras, "engine")
        with pytest.raises(ValueError, match="lr"):
            keras.optimizers.SGD(lr=0.1)
        with pytest.raises(KeyError), keras2.installed():
            with keras2.installed():
                assert keras.optimizers.SGD(lr=0.5).learning_rate == 0.5
            assert keras.optimizers.SGD(lr=0.5).lr == 0.5  # the outer block goes on
            raise KeyError
        assert [held(patch.owner, patch.name) for patch in keras2.PATCHES] == before
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, X[:, :1], verbose=0)
    finally:
        keras2.install()
        keras2.install()
    assert set(sys.modules) >= names and all(held(patch.owner, patch.name) is patch.value for patch in keras2.PATCHES)


def check_a_change_that_fails_leaves_keras_as_it_was():
    keras2.uninstall()
    broken = patches.Patch(int, "name", "which classes in C refuse")
    try:
        with mock.patch.object(keras2, "PATCHES", [*keras2.PATCHES, broken]), pytest.raises(TypeError):
            keras2.install()
        assert "keras.engine" not in sys.modules
    finally:
        keras2.install()


# -- layers that change after they are built --------------------------------------------------------------------------


def check_a_built_layer_takes_weights_and_layers():
    """Check that a layer takes another's kernel, and an inner layer, and trains them."""
    first, second = layers.Dense(2), layers.Dense(2)
    for layer in (first, second):
        layer.build((None, 3))
    second.kernel = first.kernel
    np.testing.assert_array_equal(np.array(second(X)), np.array(first(X)))
    second.inner = layers.Dense(1)
    second.inner.build((None, 2))
    assert any(weight is second.inner.kernel for weight in second.trainable_weights)
    table = layers.Embedding(4, 2)
    table.build(())
    table.embeddings = keras.Variable(np.eye(4, 2))
    assert np.array(table(np.array([1]))).tolist() == [[0, 1]]


class Alone(layers.Layer):
    """A layer that returns a list of one tensor."""

    def call(self, x):
        return [x + 1]

    def compute_output_shape(self, shape):
        return [shape]


def check_a_list_of_one_is_the_tensor():
    x = keras.Input((3,))
    y = Alone()(x)
    model = keras.Model([x], [layers.Add()([x, y])])
    assert np.array(Alone()(X)).shape == (4, 3) == model.predict(X, verbose=0).shape
    np.testing.assert_allclose(model.predict(X, verbose=0), 2 * X + 1, rtol=1e-6)


# -- NumPy's integers as sizes ----------------------------------------------------------------------------------------


class Own(layers.Dense):
    """A program's own layer, which passes sizes on to Keras."""

    def __init__(self, units, **options):
        super().__init__(units, **options)


LAYERS = [  # a layer whose integers a function makes of Python's, and the shape of a sample
    (lambda n: layers.Dense(n(2)), (3,)),
    (lambda n: Own(n(2)), (3,)),
    (lambda n: layers.Conv1D(n(2), n(3), strides=n(2)), (8, 2)),
    (lambda n: layers.Conv2D(n(2), (n(3), n(2)), dilation_rate=n(2), groups=n(2)), (8, 8, 2)),
    (lambda n: layers.Conv2DTranspose(n(2), n(3), strides=(n(2), n(1))), (4, 4, 2)),
    (lambda n: layers.SeparableConv2D(n(2), n(3), depth_multiplier=n(2)), (8, 8, 2)),
    (lambda n: layers.DepthwiseConv2D(n(3), depth_multiplier=n(2)), (8, 8, 2)),
    (lambda n: layers.MaxPooling2D(n(2), strides=n(1)), (8, 8, 2)),
    (lambda n: layers.AveragePooling1D(n(2)), (8, 2)),
    (lambda n: layers.UpSampling1D(n(2)), (4, 2)),
    (lambda n: layers.UpSampling2D((n(2), n(3))), (4, 4, 2)),
    (lambda n: layers.ZeroPadding2D(((n(1), n(2)), (n(0), n(1)))), (4, 4, 2)),
    (lambda n: layers.Cropping2D(n(1)), (4, 4, 2)),
    (lambda n: layers.Reshape((n(3), n(2))), (6,)),
    (lambda n: layers.Permute((n(2), n(1))), (3, 2)),
    (lambda n: layers.RepeatVector(n(2)), (3,)),
    (lambda n: layers.Embedding(n(5), n(2)), (3,)),
    (lambda n: layers.LSTM(n(2), return_sequences=True), (4, 3)),
    (lambda n: layers.Bidirectional(layers.GRU(n(2))), (4, 3)),
    (lambda n: layers.TimeDistributed(layers.Dense(n(2))), (4, 3)),
    (lambda n: layers.ConvLSTM2D(n(2), n(3)), (3, 5, 5, 2)),
    (lambda n: layers.BatchNormalization(axis=n(1)), (4, 3)),
    (lambda n: layers.GroupNormalization(groups=n(2)), (4, 4)),
    (lambda n: layers.Softmax(axis=n(1)), (4, 3)),
    (lambda n: layers.Dropout(0.5, noise_shape=(None, n(1))), (3,)),
]


def check_integers_of_numpy_are_sizes_of_layers():
    for make, shape in LAYERS:
        wanted = make(int)
        for kind in KINDS:
            layer = make(kind)
            x = keras.Input([kind(size) for size in shape])
            assert layer(x).shape == wanted(x).shape, wanted
            assert json.dumps(layer.get_config())  # JSON takes Python's integers alone


OPERATIONS = {
    "repeat": lambda n, x: keras.ops.repeat(x, n(2), axis=n(1)),
    "split": lambda n, x: keras.ops.split(x, n(2), axis=n(2)),
    "pad": lambda n, x: keras.ops.pad(x, n(1)),
    "moveaxis": lambda n, x: keras.ops.moveaxis(x, n(1), n(2)),
    "tile": lambda n, x: keras.ops.tile(x, [n(1), n(2), n(1)]),
    "roll": lambda n, x: keras.ops.roll(x, n(1), axis=n(1)),
    "expand_dims": lambda n, x: keras.ops.expand_dims(x, n(1)),
    "max_pool": lambda n, x: keras.ops.max_pool(x, n(2)),
    "sum": lambda n, x: keras.ops.sum(x, axis=n(1)),
}


def check_integers_of_numpy_are_sizes_of_operations():
    """Check NumPy's integers as sizes in ops on tensors, and on KerasTensors, whose model is saved and loaded."""
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for call in OPERATIONS.values():
        wanted = call(int, x)
        wanted = wanted if isinstance(wanted, list) else [wanted]
        for kind in KINDS[:2]:
            inputs = keras.Input((3, 4), batch_size=2)
            model = Model(inputs, call(kind, inputs))
            clone = Model.from_config(model.get_config())
            for found in (call(kind, x), model(x), clone(x)):
                found = found if isinstance(found, list) else [found]
                for one, other in zip(found, wanted, strict=True):
                    np.testing.assert_array_equal(one, other)


def check_integers_of_numpy_are_seeds():
    for kind in KINDS:
        made = [keras.initializers.RandomNormal(seed=seed)((3,)) for seed in (kind(3), 3)]
        near(*made)
        near(*[keras.random.normal((3,), seed=keras.random.SeedGenerator(seed)) for seed in (kind(3), 3)])
        assert layers.Dropout(0.5, seed=kind(3)).get_config()["seed"] == 3


def check_other_sizes_are_refused_as_before():
    for size, kind in ((2.5, ValueError), ("2", ValueError), (np.float32(2), ValueError), (0, ValueError)):
        with pytest.raises(kind, match="positive integer"):
            layers.Dense(size)


def check_weights_and_models_take_integers_of_numpy():
    layer = layers.Layer()
    assert layer.add_weight(name="w", shape=(np.int64(2), np.prod((1, 3)))).shape == (2, 3)
    model = keras.Sequential([layers.Dense(np.prod((2, 2)), input_dim=np.int32(3)), layers.Dense(np.array(1))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        near(keras.models.load_model(path)(X), model(X))


# -- weights ----------------------------------------------------------------------------------------------------------


class Scale(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(3,), initializer="ones")
        super().build(shape)

    def call(self, x):
        return x * self.w


def check_layers_are_given_weights():
    kernel, bias = np.full((3, 2), 2.0, "float32"), np.ones(2, "float32")
    made = [
        (layers.Dense(2, weights=[kernel, bias]), X @ kernel + 1),
        (Scale(weights=[np.full(3, 2.0)]), 2 * X),
        (Scale(weights=[np.full(3, 3.0)], input_shape=(3,)), 3 * X),
        (layers.Embedding(4, 2, weights=[np.arange(8).reshape(4, 2)]), np.arange(8).reshape(4, 2)[np.int32(abs(X))]),
    ]
    for layer, wanted in made:
        near(layer(np.int32(abs(X)) if isinstance(layer, layers.Embedding) else X), wanted)
        layer.set_weights([0 * w for w in layer.get_weights()])  # the initial weights are given once, not in each call
        assert not np.any(layer(np.int32(abs(X)) if isinstance(layer, layers.Embedding) else X))
    model = keras.Sequential([layers.Dense(2, weights=[kernel, bias], input_shape=(3,))])
    near(model.predict(X, verbose=0), X @ kernel + 1)
    with pytest.raises(ValueError, match="weight"):
        layers.Dense(2, weights=[kernel])(X)


class Listed(layers.Layer):
    """A layer whose weights are variables of K, added to lists, as in layers of Keras 1 and 2."""

    def build(self, shape):
        self.b, self.c, self.n = K.variable(1.5, name="b"), K.variable(np.ones(3)), K.variable(0.0)
        self._trainable_weights.append(self.b)
        self._trainable_weights += [self.c]
        self._non_trainable_weights.extend([self.n])
        super().build(shape)

    def call(self, x):
        return x * self.b + self.c


class Assigned(Listed):
    def build(self, shape):
        self.b, self.c = K.variable(1.5), K.variable(np.ones(3))
        self.trainable_weights = [self.b, self.c]
        layers.Layer.build(self, shape)


def check_layers_list_their_weights():
    for cls, others in ((Listed, 1), (Assigned, 0)):
        for name in dt.list_engines():
            with dt.engine(name):
                x = Input((3,))
                layer = cls()
                model = Model(x, layer(x))
                assert [len(model.trainable_weights), len(model.non_trainable_weights)] == [2, others]
                model.compile(keras.optimizers.SGD(0.1), "mse")
                model.fit(X, 0 * X, epochs=2, batch_size=4, verbose=0)
                assert K.get_value(layer.b) < 1.5 and np.all(K.get_value(layer.c) < 1)
                before = K.get_value(layer.b)
                layer.trainable = False
                assert model.trainable_weights == []
                model.compile("sgd", "mse")
                model.fit(X, 0 * X, verbose=0)
                assert K.get_value(layer.b) == before
    layer._trainable_weights.append(layer.b)  # it is in the list already
    assert len(layer.weights) == 2
    layer.trainable_weights = [layer.c]
    assert len(layer.weights) == 1


# -- attributes of layers, models and functions in Keras 2 ------------------------------------------------------------


def check_layers_tell_what_they_were_called_with():
    x, y, dense = Input((3,)), Input((3,)), layers.Dense(2)
    first, second = dense(x), dense(y)
    assert dense.get_input_at(0) is x and dense.get_input_at(1) is y
    assert dense.get_output_at(0) is first and dense.get_output_at(1) is second
    assert dense.get_input_shape_at(1) == (None, 3) and dense.get_output_shape_at(0) == (None, 2)
    both = layers.Concatenate()
    joined = both([first, second])
    assert both.get_input_at(0) == [first, second] and both.get_input_shape_at(0) == [(None, 2), (None, 2)]
    assert both.get_output_at(0) is joined
    words = layers.Embedding(4, 2, mask_zero=True)
    words(Input((5,)))
    assert words.get_input_mask_at(0) is None and words.get_output_mask_at(0).shape == (None, 5)
    with pytest.raises(ValueError, match="only 2 inbound nodes"):
        dense.get_input_at(2)
    with pytest.raises(AttributeError, match="never been called"):
        layers.Dense(2).get_output_at(0)


def check_a_sequential_tells_its_tensors_before_it_is_called():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # `input_shape` would warn
        model = keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.Dense(1)])
    assert model.output.shape == (None, 1) and model.input.shape == (None, 3)
    assert model.output is model.outputs[0] and model.input is model.inputs[0]
    part = Model(model.input, model.layers[0].output)
    near(part.predict(X, verbose=0), model.layers[0](X))
    model(Input((3,)))
    assert model.output is model.outputs[0]
    with pytest.raises(AttributeError, match="never been called"):
        _ = keras.Sequential([layers.Dense(2)]).output


class Normed(layers.BatchNormalization):
    """A layer whose `call` names no arguments; it trains, or never does."""

    def __init__(self, freeze=False, **options):
        self.freeze = freeze
        super().__init__(**options)

    def call(self, *args, **kwargs):
        if self.freeze:
            return super().call(*args, training=False, **kwargs)
        return super().call(*args, **kwargs)


class Noisy(layers.Dropout):
    def call(self, inputs):
        return super().call(inputs)


def check_layers_call_what_they_inherit():
    """Check that, without a `training` argument, layers train as the running layer does."""
    for freeze in (True, False):
        x = Input((3,))
        model, plain = Model(x, Normed(freeze)(x)), Model(x, layers.BatchNormalization()(x))
        for each in (model, plain):
            each.compile("sgd", "mse")
            each.fit(X, X, epochs=2, verbose=0)
        moved = not np.allclose(model.layers[1].moving_mean, 0)
        assert moved != freeze
        if not freeze:
            near(model.predict(X, verbose=0), plain.predict(X, verbose=0))
            near(Normed()(X, training=True), layers.BatchNormalization()(X, training=True))
        near(Normed()(X), layers.BatchNormalization()(X))
    model = keras.Sequential([Noisy(0.5)])
    assert np.any(np.array(model(X, training=True)) == 0) and not np.any(np.array(model(X)) == 0)
    near(model.predict(X, verbose=0), X)


def check_old_names_are_there():
    x = keras.ops.convert_to_tensor([-1.0, 0.5, 3.0])
    near(layers.ThresholdedReLU(theta=1.0)(x), [0, 0, 3])
    near(keras.activations.relu(x, alpha=0.5), [-0.5, 0.5, 3])
    near(keras.activations.relu(x, 0.5, 2.0), [-0.5, 0.5, 2])
    near(keras.activations.relu(x, negative_slope=0.5, threshold=1.0), [-1, -0.25, 3])
    assert keras.activations.serialize(layers.Dense(1, activation=keras.activations.relu).activation) == "relu"
    with pytest.warns(UserWarning, match="TensorBoard ignores write_grads: gradients are not written"):
        keras.callbacks.TensorBoard("logs", write_grads=True, batch_size=None, embeddings_layer_names=None)
    with pytest.warns(UserWarning, match="TensorBoard ignores embeddings_data"):
        keras.callbacks.TensorBoard("logs", embeddings_data=np.zeros((2, 3)))
    with pytest.raises(TypeError, match="nonsense"):
        keras.callbacks.TensorBoard("logs", nonsense=1)


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


def check_nodes_of_inputs():
    """Check that the node of an input has its tensor, and that a Sequential shows its nodes."""
    x = Input((3,))
    model = Model(x, layers.Dense(2)(x))
    (node,) = model.layers[0].inbound_nodes
    assert node.input_tensors[0] is x and node.inbound_layers == []
    assert model.layers[0].get_input_at(0) is x
    near(Model.from_config(model.get_config()).predict(X).shape, (4, 2))
    inner = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    assert sorted(inner._nodes_by_depth) == [0, 1]


def check_inputs_of_variables_are_not_fed():
    given = K.variable(X[:1])
    x, y = Input((3,)), Input(tensor=given)
    model = Model([x, y], layers.Subtract()([x, y]))
    near(model.predict(X), X - X[:1])
    near(model.predict([X]), X - X[:1])
    given.assign(2 * X[:1])
    near(model.predict(X), X - 2 * X[:1])
    near(model.predict([X, X]), 0 * X)


class Nothing(keras.optimizers.Optimizer):
    def get_updates(self, *args, **kwargs):
        return []


def check_an_optimizer_that_asks_for_no_gradients():
    x = Input((3,))
    y = layers.Dense(2)(x)
    model = Model(x, layers.Lambda(lambda z: K.stop_gradient(z))(y))
    model.compile(Nothing(), lambda true, found: found)
    before = model.get_weights()
    model.fit(X, X[:, :2], verbose=0)
    near(model.get_weights()[0], before[0])


class OfKeras1(layers.Layer):
    """A layer as Keras 1 had it: the shape of a weight is first, and the output's shape has another name."""

    def build(self, input_shape):
        self.W = self.add_weight((input_shape[-1], 2), "one", "W_1")
        self.b = self.add_weight("b_1", (2,), None, "zero")
        super().build(input_shape)

    def call(self, x, mask=None):
        return K.dot(x, self.W) + self.b

    def get_output_shape_for(self, input_shape):
        return input_shape[0], 2


def check_layers_and_files_of_keras_1():
    x = Input((3,))
    layer = OfKeras1()
    model = Model(input=x, output=layer(x))
    assert layer.compute_output_shape((None, 3)) == layer.output_shape == (None, 2)
    assert [weight.name for weight in layer.weights] == ["W_1", "b_1"]
    near(model.predict(X), np.repeat(X.sum(1, keepdims=True), 2, 1))
    model.compile("sgd", "mse", metrics=["accuracy"])
    with tempfile.TemporaryDirectory() as folder:
        kept = keras.callbacks.ModelCheckpoint(
            f"{folder}/w.{{epoch:d}}-{{acc:.0f}}.hdf5", "loss", 0, False, True, period=2
        )
        model.fit(X, X[:, :2], nb_epoch=4, verbose=0, callbacks=[kept])
        assert sorted(path.name[:3] for path in Path(folder).iterdir()) == ["w.2", "w.4"]
        model.load_weights(next(Path(folder).glob("w.4*")))


if __name__ == "__main__":
    main(globals())

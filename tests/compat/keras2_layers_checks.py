"""Checks of arguments and attributes of layers by Keras 2's names, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

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
from keras.models import Input

import dovetail as dt
from dovetail.compat import keras2
from dovetail.compat.keras2 import patches, words
from dovetail.compat.keras2.patches import held
from tests.keras_backends import main

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


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


def check_a_list_of_one_is_a_list_in_tf_keras():
    with mock.patch.object(words, "of_tensorflow", True):
        (y,) = Alone()(keras.Input((3,)))
        assert y.shape == (None, 3)


def check_positional_arguments_of_any_layer():
    layer = layers.Layer(False, "frozen", "float64")
    assert (layer.trainable, layer.name, layer.compute_dtype) == (False, "frozen", "float64")
    assert layers.Layer(2).trainable is True


# -- NumPy's integers as sizes ----------------------------------------------------------------------------------------


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


class Broken(layers.Layer):
    """A layer with an error of its own in one of its methods."""

    def __init__(self, place, error=ValueError):
        super().__init__()
        self.place, self.error = place, error

    def compute_output_shape(self, shape):
        if self.place == "shape":
            raise self.error("of the program")
        return shape

    def call(self, inputs):
        if self.place == "lengths":
            return inputs * (0 * K.int_shape(inputs)[0] + 1)
        if self.place == "call":
            raise self.error("of the program")
        return K.reshape(inputs, (-1, K.shape(inputs)[-1]))


class Own(Exception):
    pass


class BetweenInputs(layers.Layer):
    """Gives the gradients of its last input by the others, which it only finds in the model's graph."""

    def call(self, inputs):
        *sources, target = inputs
        return K.gradients(target, sources)

    def compute_output_shape(self, shapes):
        return shapes[:-1]


def check_a_layer_of_gradients_between_its_inputs():
    """Check that its shapes are those it declares, since its inputs alone have no gradients between them."""
    first, second = Input((3,)), Input((3,))
    target = layers.Multiply()([layers.Activation("tanh")(first), second])
    found = Model([first, second], BetweenInputs()([first, second, target])).predict([X, 2 * X], verbose=0)
    near(found[0], 2 * X / np.cosh(X) ** 2)
    near(found[1], np.tanh(X))
    single = BetweenInputs()([first, layers.Activation("exponential")(first)])
    near(Model(first, single).predict(X, verbose=0), np.exp(X))


def check_errors_of_a_layer_are_raised():
    """Check that what a program's layer raises is told, though the shapes that it declares would do."""
    x = Input((3,))
    for error in (ValueError, KeyError, NameError, Own):
        for place in ("call", "shape"):
            with pytest.raises(error, match="of the program"):
                Broken(place, error)(x)

        def function(x, error=error):
            raise error("of the program")

        with pytest.raises(error, match="of the program"):
            layers.Lambda(function, output_shape=(3,))(x)
    assert K.int_shape(Broken("lengths")(x)) == (None, 3)  # its `call` needs the length of a batch
    with keras2.installed(of_tensorflow=True):
        assert K.int_shape(Broken("shape")(x))[0] is None  # tf.keras does not ask for the shape
    with pytest.raises(ValueError, match="of the program") as caught:  # also without the shape that another declared
        Broken("call").compute_output_spec(Broken("nowhere")(x))
    assert "of the program" in str(caught.value.__cause__)


class Shaped(layers.Layer):
    def compute_output_shape(self, shape):
        shape = v1.TensorShape(shape).as_list()
        return v1.TensorShape([*shape[:-1], 2])

    def call(self, inputs):
        return inputs[..., :2]


def check_shapes_of_layers_are_tensorflows():
    x = Input((3,))
    assert Model(x, Shaped()(x)).output_shape == (None, 2)


def check_what_keras_1_dropped_and_normalized():
    """An embedding drops whole words in training alone; a normalization keeps its mode in a configuration."""
    embedding = layers.Embedding(9, 4, dropout=0.5, init="one")
    found = np.array(embedding(np.arange(9).repeat(2)[None], training=True))[0]
    assert set(found.ravel()) == {0.0, 2.0} and (found == found[:, :1]).all() and (found[::2] == found[1::2]).all()
    near(embedding(np.arange(9)[None]), np.ones((1, 9, 4)))
    for layer, (name, value) in ((embedding, ("dropout", 0.5)), (layers.BatchNormalization(mode=2), ("mode", 2))):
        assert layer.get_config()[name] == value == type(layer).from_config(layer.get_config()).get_config()[name]
    with pytest.raises(ValueError, match="mode=1"):
        layers.BatchNormalization(mode=1)


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


def check_products_along_the_first_axis():
    """Check that Keras 1's `dot_axes=0` means the axis before the last."""
    first, second = Input((4, 1)), Input((4, 1))
    similar = layers.merge([first, second], mode="cos", dot_axes=0)
    values = np.arange(8.0).reshape(2, 4, 1) + 1
    near(Model(input=[first, second], output=similar).predict([values, 3 * values]), np.ones((2, 1, 1)))


class OfVariables(layers.Layer):
    """A layer that makes its weights as the tutorials of tf.keras do."""

    def build(self, input_shape):
        self.kernel = self.add_variable("kernel", shape=[int(input_shape[-1]), 2], initializer="ones")
        self.scale = self.add_variable("scale", [2], trainable=False, initializer="ones")

    def call(self, inputs):
        return K.dot(inputs, self.kernel) * self.scale


def check_shapes_are_tensorflows_outside_of_layers_too():
    x = Input((3,))
    layer = OfVariables()
    y = layer(x)
    assert x.shape.as_list() == [None, 3] and y.shape.as_list() == y.get_shape().as_list() == [None, 2]
    assert y.shape == (None, 2) and y.shape[1:].num_elements() == 2 and type(y._keras_shape) is tuple
    assert [weight.name for weight in layer.weights] == ["kernel", "scale"] and len(layer.trainable_weights) == 1
    near(Model(x, y).predict(X), np.repeat(X.sum(1, keepdims=True), 2, 1))


def check_weights_are_told_apart_as_objects():
    """Check that weights of any shapes are found in lists and sets, and compared with numbers by elements."""
    layer = layers.Dense(2, input_shape=(3,))
    keras.Sequential([layer])
    kernel, bias = layer.weights
    assert layer.kernel.shape.as_list() == layer.kernel.get_shape().as_list() == [3, 2]
    assert bias in layer.trainable_weights and layer.weights.index(bias) == 1 and bias not in [kernel]
    assert kernel != bias and kernel == layer.kernel and {kernel, bias, layer.bias} == {kernel, bias}
    assert K.get_value(bias == 0).tolist() == [True, True]


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

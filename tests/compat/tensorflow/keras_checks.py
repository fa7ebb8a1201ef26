"""Checks of TensorFlow's names for Keras, in a process where Keras is imported when the first of them is asked for."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import backend as K
from tests.keras_backends import ENGINES, main

ROOTS = "dovetail.compat.tensorflow", "dovetail.compat.tensorflow.compat.v1"
LINES = """
import R as tf; assert tf.keras.layers.Dense is keras.layers.Dense
import R.keras as k; assert k.backend is K and k.Model is keras.Model
import R.keras.backend as backend; assert backend is K
import R.keras.layers as layers; assert layers.Dense is keras.layers.Dense
import R.python.keras.layers.core as core; assert core.Dense is keras.layers.Dense
import R.keras.layers; assert R.keras.layers.Dense is keras.layers.Dense
from R import keras as k; assert k.layers.Dense is keras.layers.Dense
from R.keras import backend; assert backend is K
from R.keras import *; assert layers.LSTM is keras.layers.LSTM and Sequential is keras.Sequential
from R.keras.layers import *; assert LSTM is keras.layers.LSTM
from R.keras.layers import Dense; assert Dense is keras.layers.Dense
from R.keras.applications.vgg16 import VGG16; assert VGG16 is keras.applications.VGG16
from R.keras.datasets import mnist; assert mnist.load_data is keras.datasets.mnist.load_data
from R.keras.losses import MSE; from R.keras.preprocessing.image import ImageDataGenerator
from R.python.keras import backend; assert backend is K
from R.python.keras.engine import input_spec; assert input_spec.InputSpec is keras.InputSpec
from R.python.keras.engine.training import Model; assert Model is keras.Model
from R.python.keras.utils import np_utils; assert np_utils.to_categorical is keras.utils.to_categorical
from R.python.keras.layers import core; from importlib.util import find_spec; assert not find_spec(core.__name__ + ".C")
import R as tf; assert "layers" in dir(tf.keras) and "Dense" in dir(tf.keras.layers)
import R as tf; assert tf.keras.__version__ == keras.__version__ and "keras" in tf.keras.__name__
""".strip().splitlines()


def check_callbacks_find_the_default_graph():
    """Check that a program's callbacks find the graph that `fit` closes, and that others compute."""
    keras, v1, seen = _keras(), tf.compat.v1, []

    class Counts(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.step = v1.assign_add(count, 1)

        def on_epoch_end(self, epoch, logs=None):
            seen.append((v1.get_default_graph() is graph, int(session.run(self.step))))
            self.model.stop_training = epoch == 1

    with v1.Graph().as_default() as graph, v1.Session() as session:
        count = v1.Variable(0)
        session.run(count.initializer)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x, last = (
            np.ones((4, 2)),
            keras.callbacks.LambdaCallback(on_train_end=lambda logs: seen.append(v1.get_default_graph() is graph)),
        )
        model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[Counts(), keras.callbacks.EarlyStopping("loss"), last])
    assert seen == [(True, 1), (True, 2), True]


def check_import_statements():
    for root in ROOTS:
        for line in LINES:
            exec("import keras; " * ("keras" in line) + re.sub(r"\bR\b", root, line), {"K": K, "keras": _keras()})


def _keras():
    assert tf.keras.Model  # imports Keras on Dovetail
    import keras

    assert keras.backend.backend() == "dovetail"
    return keras


def check_modules_of_tensorflow_2_that_are_keras():
    keras = _keras()
    assert tf.losses.MeanSquaredError is keras.losses.MeanSquaredError
    assert tf.losses.mean_squared_error is keras.losses.mean_squared_error
    assert tf.optimizers.Adam is tf.compat.v2.optimizers.Adam is keras.optimizers.Adam
    assert tf.optimizers.schedules.CosineDecay is keras.optimizers.schedules.CosineDecay
    assert tf.metrics.Mean is keras.metrics.Mean
    assert tf.initializers.GlorotUniform is keras.initializers.GlorotUniform


def check_those_of_tensorflow_1_stay():
    _keras()
    assert tf.compat.v1.losses.mean_squared_error is not tf.losses.mean_squared_error
    assert tf.losses.get_total_loss is tf.compat.v1.losses.get_total_loss
    assert not hasattr(tf.compat.v1.losses, "MeanSquaredError")


def check_a_layer_takes_operations_of_tensorflow():
    class Doubled(tf.keras.layers.Layer):
        def call(self, x):
            return tf.reduce_sum(2 * x, -1, keepdims=True)

    inputs = tf.keras.Input((3,))
    model = tf.keras.Model(inputs, Doubled()(inputs))
    assert model.predict(tf.ones((2, 3)).numpy(), verbose=0).tolist() == [[6.0], [6.0]]


def check_data_sets_of_keras_utils_mix_with_those_of_tensorflows_names():
    keras, series, d = _keras(), np.arange(20.0, dtype="float32"), tf.data.Dataset
    data = keras.utils.timeseries_dataset_from_array(series, series[3:], 3, batch_size=4)
    doubled = keras.Sequential([keras.layers.Rescaling(2.0)])
    found = [x.numpy() for x in data.map(lambda x, y: doubled(x))]
    assert isinstance(data, d) and len(data) == 5 and found[0][0].tolist() == [0, 2, 4] and found[4].shape == (1, 3)
    assert [int(n) for n, _ in d.zip((d.range(9), data))] == [*range(5)]
    assert [*map(len, (data.concatenate(data), d.range(3).concatenate(d.range(2)), data.window(2)))] == [10, 5, 3]
    assert [[len(part) for part in keras.utils.split_dataset(one, 0.5)] for one in (d.range(6), data)] == [
        [3, 3],
        [2, 3],
    ]
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data.take(1).repeat(2), verbose=0)
    assert model.predict(data.map(lambda x, y: x), verbose=0).shape == (17, 1)


def check_images_and_texts_of_keras_utils():
    with TemporaryDirectory() as folder:
        _images_and_texts(_keras(), Path(folder))


def _images_and_texts(keras, folder):
    for label in "ab":
        (folder / label).mkdir()
        for number in range(2):
            keras.utils.save_img(folder / label / f"{number}.png", np.full((4, 4, 3), 50.0 * number), scale=False)
            (folder / label / f"{number}.txt").write_text("one two")
    images = keras.utils.image_dataset_from_directory(folder, image_size=(4, 4), batch_size=2, verbose=False)
    scaled = keras.Sequential([keras.layers.Rescaling(0.02), keras.layers.RandomFlip()])
    found = [x.numpy().max() for x, y in images.map(lambda x, y: (scaled(x), y)).unbatch().prefetch(tf.data.AUTOTUNE)]
    assert images.class_names == ["a", "b"] and sorted(found) == [0, 0, 1, 1]
    texts = keras.utils.text_dataset_from_directory(folder, batch_size=4, verbose=False).map(lambda x, y: x)
    words = keras.layers.TextVectorization()
    words.adapt(texts)
    assert isinstance(texts, tf.data.Dataset) and next(iter(texts.map(words))).shape == (4, 2)


def check_layers_of_tensorflow_1_are_layers_of_keras():
    """Check classes, wrappers and models, whose numbers are those of the same layers of Keras."""
    keras, v1 = _keras(), tf.compat.v1
    layers, ones = v1.layers, v1.ones_initializer()

    class Scaled(layers.Layer):
        def build(self, shape):
            self.scale = self.add_variable("scale", [shape[-1]], initializer=ones)
            self.built = True

        def call(self, inputs):
            return inputs * self.scale

    class Halved(keras.layers.Wrapper):
        def build(self, input_shape=None):
            if not self.layer.built:
                self.layer.build(input_shape)
            self.built = True

        def call(self, inputs, training=None):
            return self.layer.call(inputs) * 0.5

        def compute_output_shape(self, input_shape):
            return self.layer.compute_output_shape(input_shape)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.scaled = layers.Dense(1, kernel_initializer=ones), Scaled()

        def call(self, inputs):
            return self.scaled(self.dense(inputs))

    kinds = layers.Dense, layers.Conv2D, Scaled, v1.nn.rnn_cell.BasicLSTMCell
    assert all(issubclass(kind, keras.layers.Layer) for kind in kinds) and isinstance(Scaled(), keras.layers.Layer)
    assert not issubclass(keras.layers.Dense, layers.Layer)
    alike = [name for name in dir(layers) if name[0].isupper() and name not in ("InputSpec", "Layer")]
    assert len(alike) > 15 and all(issubclass(getattr(layers, name), getattr(keras.layers, name)) for name in alike)
    assert isinstance(layers.Dense(2), keras.layers.Dense) and not issubclass(layers.Dense, keras.layers.Conv2D)
    x, y = np.linspace(-1, 1, 24).reshape(8, 3), np.arange(8.0).reshape(8, 1)
    by_keras = keras.layers.Dense, keras.layers.BatchNormalization, {"kernel_initializer": "ones"}
    for name in ENGINES:
        with dt.engine(name):
            losses = []
            for dense, normal, given in (
                (layers.Dense, layers.BatchNormalization, {"kernel_initializer": ones}),
                by_keras,
            ):
                model = keras.Sequential([dense(2, activation=v1.nn.tanh, **given), normal(), dense(1, **given)])
                model.compile(keras.optimizers.SGD(0.1), "mse")
                history = model.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0).history["loss"]
                losses.append([*history, *np.ravel(model.predict(x, verbose=0)), *map(np.sum, model.get_weights())])
                assert len(model.trainable_weights) == 6 and model.layers[0].units == 2
            np.testing.assert_allclose(*losses, rtol=1e-4)
            given = keras.Input((3,))
            model = keras.Model(
                given,
                Scaled()(
                    keras.layers.TimeDistributed(layers.Dense(2, kernel_initializer=ones))(
                        keras.layers.RepeatVector(2)(given)
                    )
                ),
            )
            assert model.predict(np.ones((1, 3)), verbose=0).tolist() == [[[3, 3], [3, 3]]] and len(model.weights) == 3
            net = Net()
            net.compile(keras.optimizers.SGD(0.1), "mse")
            net.fit(np.ones((2, 3)), np.zeros((2, 1)), verbose=0)
            assert len(net.trainable_weights) == 3 and abs(net.dense.get_weights()[0] - 0.4).max() < 1e-6
            with v1.Graph().as_default(), v1.Session() as session:
                fed = v1.placeholder("float32", [None, 2])
                half = Halved(layers.Dense(3, kernel_initializer=ones))(fed)
                session.run(v1.global_variables_initializer())
                assert session.run(half, {fed: [[1.0, 1.0]]}).tolist() == [[1, 1, 1]]
                assert len(v1.trainable_variables()) == 2
    K.clear_session()  # the layers opened the default graph


def check_optimizers_of_tensorflow_1_train_variables_of_keras():
    v1 = tf.compat.v1
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.build((None, 2))
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [None, 2])
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(v1.reduce_sum(model(x)), var_list=model.trainable_weights)
        session.run(optimizer.apply_gradients(pairs), {x: [[1.0, 2.0]]})
    assert abs(model.get_weights()[0] - [[0.9], [0.8]]).max() < 1e-6


def check_weights_of_keras_are_in_the_collections_of_a_graph():
    """Check it with the names of tf_keras in a graph of TensorFlow 2.21, also for weights that were made before."""
    keras, v1 = _keras(), tf.compat.v1
    dense, normal, graph = keras.layers.Dense, keras.layers.BatchNormalization(name="normal"), v1.Graph()
    before = keras.Sequential([dense(2, kernel_initializer="ones", name="one"), dense(1, name="two")])
    before.build((None, 3))
    with graph.as_default(), v1.variable_scope("scope"):
        dense(2, name="scoped")(v1.ones([2, 2]))
        frozen = dense(2, name="frozen", trainable=False)
        frozen(normal(v1.ones([2, 2]), training=True))
        before(v1.ones([2, 3]))
    wanted = [
        *("scope/scoped/kernel:0", "scope/scoped/bias:0", "scope/normal/gamma:0", "scope/normal/beta:0"),
        *(
            "scope/normal/moving_mean:0",
            "scope/normal/moving_variance:0",
            "scope/frozen/kernel:0",
            "scope/frozen/bias:0",
        ),
        *("one/kernel:0", "one/bias:0", "two/kernel:0", "two/bias:0"),
    ]
    assert [v.name for v in graph.get_collection("variables")] == wanted
    trained = [v.name for v in graph.get_collection("trainable_variables")]
    assert trained == [name for name in wanted if "moving" not in name]
    assert graph.get_tensor_by_name("scope/frozen/kernel:0").op.type == "VarHandleOp"


def check_optimizers_and_savers_of_tensorflow_1_find_weights_of_keras():
    """Check losses and weights of tf_keras in a graph of TensorFlow 2.21."""
    keras, v1, x = _keras(), tf.compat.v1, np.linspace(-1, 1, 24).reshape(8, 3)
    for name in ENGINES:
        with dt.engine(name), v1.Graph().as_default(), v1.Session() as session, TemporaryDirectory() as folder:
            given, by_hand = v1.placeholder(v1.float32, [None, 3]), v1.Variable(1.0, name="by_hand")
            model = keras.Sequential([keras.layers.Dense(n, kernel_initializer="ones") for n in (2, 1)])
            loss = v1.reduce_mean(v1.square(model(given) * by_hand - 1.0))
            step = v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss, var_list=v1.trainable_variables()[1:])
            start, saver = v1.global_variables_initializer(), v1.train.Saver()
            session.run(start)
            losses = [session.run([loss, step], {given: x})[0] for _ in range(3)]
            np.testing.assert_allclose(losses, [13.862004, 9.838997, 5.0815496], rtol=1e-5)
            kernel = session.run(model.weights[0])
            np.testing.assert_allclose(kernel, np.repeat([[0.8], [0.8084], [0.8168]], 2, axis=1), atol=1e-4)
            path = saver.save(session, f"{folder}/model")
            assert len(v1.train.list_variables(path)) == 9  # with the momenta
            session.run(start)
            assert np.array_equal(model.get_weights()[0], np.ones((3, 2)))
            saver.restore(session, path)
            assert np.array_equal(model.get_weights()[0], kernel)
            model.set_weights([2 * each for each in model.get_weights()])  # at once, as a file of Keras does
            session.run(v1.global_variables_initializer())
            assert np.array_equal(session.run(v1.trainable_variables()[1]), 2 * kernel)


def check_gradients_of_a_model_in_a_session():
    v1 = tf.compat.v1
    x = tf.keras.Input((2,))
    model = tf.keras.Model(x, tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")(x))
    with v1.Graph().as_default(), v1.Session() as session:
        scale = v1.placeholder(v1.float32, [None, 1])
        found = v1.gradients(model.output, [model.input, *model.trainable_weights], -scale)
        by_input, by_kernel = session.run(found, {model.input: [[1.0, 2.0]], scale: [[3.0]]})
    assert by_input.tolist() == [[-3.0, -3.0]] and by_kernel.tolist() == [[-3.0], [-6.0]]


def check_an_activation_of_tensorflow_is_written_by_its_name():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, activation=tf.nn.relu)])
    again = tf.keras.Sequential.from_config(model.get_config())
    assert again.layers[0].activation is tf.keras.activations.relu


def check_names_that_are_not_there():
    with pytest.raises(AttributeError, match=r"tf\.keras\.layers\.Densee is not offered\. Keras 3 has no such name"):
        tf.keras.layers.Densee  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"keras\.layers\.nothing"):
        import dovetail.compat.tensorflow.keras.layers.nothing  # noqa: F401


if __name__ == "__main__":
    main(globals())

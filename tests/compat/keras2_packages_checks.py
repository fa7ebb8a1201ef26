"""Checks of private names of Keras 2 that packages of layers use, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2  # noqa: F401

# isort: split
import keras
import numpy as np
import pytest
from keras import backend as K
from keras.backend import tensorflow_backend as of_tensorflow
from keras.backend.common import floatx
from keras.engine import InputSpec, Layer
from keras.layers import (
    LSTM,
    Conv2D,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GaussianNoise,
    Input,
    LeakyReLU,
    Masking,
    MaxPooling1D,
    SimpleRNN,
    add,
)
from keras.layers.recurrent import Recurrent, _time_distributed_dense, time_distributed_dense
from keras.layers.wrappers import Wrapper
from keras.models import Model, Sequential
from keras.optimizers import Optimizer
from keras.utils.test_utils import get_test_data, keras_test

from dovetail.core.engines.engine_registry import current_engine
from tests.keras_backends import main


def check_parts_of_the_backend_of_tensorflow():
    x = K.constant(np.arange(48.0).reshape(1, 4, 4, 3))
    assert floatx() == "float32" and of_tensorflow._preprocess_padding("same") == "SAME"
    assert of_tensorflow._preprocess_conv2d_input(x, "channels_last")[1] == "NHWC"
    assert of_tensorflow._preprocess_conv3d_input(x[None], "channels_first")[1] == "NCDHW"
    assert of_tensorflow._postprocess_conv2d_output(x, "channels_last") is x
    assert K.dtype(of_tensorflow._to_tensor(2, "float64")) == "float64"
    np.testing.assert_array_equal(K.eval(K.tf.slice(x, [0, 1, 0, 0], [1, 1, 1, 3])), [[[[12.0, 13.0, 14.0]]]])
    gpus = [name for name in current_engine().devices() if name.startswith("gpu")]
    assert of_tensorflow._get_available_gpus() == [f"/device:GPU:{number}" for number in range(len(gpus))]
    assert (K._FLOATX, K._epsilon, of_tensorflow._EPSILON) == ("float32", K.epsilon(), K.epsilon())
    assert (K._backend, K._image_data_format, K._IMAGE_DIM_ORDERING) == (K.backend(), "channels_last", "tf")
    assert K.tf is of_tensorflow.tf and not hasattr(K, "no_such_name")
    modules = K.control_flow_ops, of_tensorflow.math_ops, K.array_ops, K.nn, K.tensor_array_ops, K.ctc_ops
    names = "while_loop", "argmax", "where", "top_k", "TensorArray", "ctc_loss"
    assert all(hasattr(module, name) for module, name in zip(modules, names, strict=True))
    assert "Relu6OfTheProgram" not in K.ops._gradient_registry._registry
    K.ops.RegisterGradient("Relu6OfTheProgram")(lambda op, gradient: gradient)
    assert "Relu6OfTheProgram" in K.ops._gradient_registry._registry
    for wrong in (
        lambda: of_tensorflow._preprocess_padding("full"),
        lambda: of_tensorflow._preprocess_conv2d_input(x, 1),
    ):
        with pytest.raises(ValueError, match="must be"):
            wrong()


def check_arguments_of_keras1_are_attributes():
    conv, dense = Conv2D(4, (3, 2), padding="same", strides=2, input_shape=(8, 8, 1)), Dense(5)
    Sequential([conv, Flatten(), dense])
    names = "nb_filter", "output_dim", "nb_row", "nb_col", "border_mode", "subsample", "dim_ordering"
    assert [getattr(conv, name) for name in names] == [4, 4, 3, 2, "same", (2, 2), "tf"]
    assert conv.W is conv.kernel and dense.b is dense.bias and dense.output_dim == 5
    others = Dropout(0.5), LeakyReLU(0.25), GaussianNoise(0.1), MaxPooling1D(3), LSTM(2)
    old = "p", "alpha", "sigma", "pool_length", "output_dim"
    assert [getattr(layer, name) for layer, name in zip(others, old, strict=True)] == [0.5, 0.25, 0.1, (3,), 2]
    embedding = Embedding(3, 2)
    embedding.build((None, 1))
    assert embedding.W is embedding.embeddings
    dense.W = 7  # as a class of the program may
    assert dense.W == 7 and Dense(5).output_dim == 5


def check_the_shape_of_a_mask_of_dropout():
    x = K.constant(np.ones((2, 3, 4)))
    assert Dropout(0.5)._get_noise_shape(x) is None
    assert [int(n) for n in Dropout(0.5, noise_shape=(None, 1, None))._get_noise_shape(x)] == [2, 1, 4]


def check_parameters_of_relu_are_tensors():
    class Sloped(Layer):
        def build(self, shape):
            self.slope = self.add_weight((shape[-1],), initializer="ones", name="slope")
            self.built = True

        def call(self, x):
            return K.relu(x, self.slope * 0.5, max_value=self.slope * 2.0)

    x = Input((3,))
    layer = Sloped()
    made = Model(x, layer(x))
    assert layer.compute_output_shape((None, 3)) == (None, 3)
    np.testing.assert_allclose(made.predict(np.array([[-4.0, 1.0, 5.0]])), [[-2.0, 1.0, 2.0]])
    made.compile("sgd", "mse")
    made.train_on_batch(np.array([[-4.0, 1.0, 5.0]]), np.zeros((1, 3)))
    assert (K.get_value(layer.slope)[[0, 2]] != 1.0).all()


class Stepping(Recurrent):
    """SimpleRNN as a class of Keras 2.0 is written."""

    def __init__(self, units, **options):
        self.units = units
        super().__init__(**options)

    def build(self, shape):
        self.input_spec, self.states = [InputSpec(shape=shape)], [None]
        if self.stateful:
            self.reset_states()
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel", initializer="ones")
        self.inner = self.add_weight(shape=(self.units, self.units), name="inner", initializer="ones")
        self.bias = self.add_weight(shape=(self.units,), name="bias", initializer="ones")
        self.built = True

    def preprocess_input(self, x, training=None):
        return _time_distributed_dense(x, self.kernel, self.bias, input_dim=2, timesteps=4, training=training)

    def step(self, x, states):
        output = K.tanh(x + K.dot(states[0], self.inner))
        return output, [output]


class OfKeras1(Stepping):
    """The same in the words of Keras 1, with a constant, which `step` adds, and states of ones."""

    def preprocess_input(self, x):
        return time_distributed_dense(x, self.kernel, self.bias, None, 2, 3, 4)

    def get_constants(self, x):
        return [K.constant(0.5)]

    def get_initial_states(self, x):
        return [K.ones_like(x[:, 0, :1]) * K.constant(np.ones((1, 3)))]

    def step(self, x, states):
        output, _ = super().step(x + states[1], states[:1])
        return output, [output]


def check_recurrent_layers_define_a_step():
    random = np.random.default_rng(0)
    data, weights = random.normal(size=(5, 4, 2)), [random.normal(size=n) for n in ((2, 3), (3, 3), (3,))]
    targets = random.normal(size=(5, 4, 3))
    for options in ({}, {"go_backwards": True}, {"unroll": True}):
        found = []
        for cls in (Stepping, SimpleRNN):
            made = Sequential([Masking(0.0, input_shape=(4, 2)), cls(3, return_sequences=True, **options)])
            made.set_weights(weights)
            made.compile("sgd", "mse")
            masked = data * np.array([1, 1, 0, 1])[:, None]
            found.append([made.predict(masked), made.train_on_batch(masked, targets), *made.get_weights()])
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert isinstance(SimpleRNN(3), Recurrent) and not isinstance(SimpleRNN(3), Stepping)


def check_recurrent_layers_keep_and_return_states():
    x, weights = np.ones((2, 4, 2)), [np.full(n, 0.1) for n in ((2, 3), (3, 3), (3,))]
    inputs = Input(batch_shape=(2, 4, 2))
    made = Model(inputs, Stepping(3, stateful=True, return_state=True)(inputs))
    made.set_weights(weights)
    (first, state), (second, _) = made.predict(x, batch_size=2), made.predict(x, batch_size=2)
    np.testing.assert_allclose(first, state)
    assert (second > first).all()
    made.reset_states()
    np.testing.assert_allclose(made.predict(x, batch_size=2)[0], first)
    made.layers[1].reset_states(np.ones((2, 3)))
    hidden = np.ones((2, 1))
    for _ in range(4):
        hidden = np.tanh(0.3 + 0.3 * hidden)
    np.testing.assert_allclose(made.predict(x, batch_size=2)[0], hidden * np.ones((1, 3)), rtol=1e-5)
    inputs, hidden = Input((4, 2)), np.ones((2, 1))
    made = Model(inputs, OfKeras1(3, consume_less="gpu")(inputs))
    made.set_weights(weights)
    for _ in range(4):
        hidden = np.tanh(0.8 + 0.3 * hidden)
    np.testing.assert_allclose(made.predict(x), hidden * np.ones((1, 3)), rtol=1e-5)
    with pytest.raises(ValueError, match="size of a batch"):
        Model(inputs, Stepping(3, stateful=True)(inputs))


def check_a_metric_finds_its_layer_by_the_prediction():
    """Check a metric of a Sequential that reads the input and the mask of the last layer."""

    class Last(Layer):
        supports_masking = True

        def call(self, x, mask=None):
            return x * 2.0

    def share_of_mask(y_true, y_pred):
        layer, index = y_pred._keras_history[:2]
        node = layer._inbound_nodes[index]
        mask = K.cast(node.input_masks[0], floatx())
        return K.mean(mask) + 0.0 * K.mean(node.input_tensors[0])

    made = Sequential([Embedding(5, 2, mask_zero=True), Last()])
    made.compile("sgd", "mse", metrics=[share_of_mask])
    words = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
    for _ in range(2):
        np.testing.assert_allclose(made.train_on_batch(words, np.ones((2, 4, 2)))[1], 3 / 8)


def check_states_of_an_optimizer_are_there_before_training():
    made = Sequential([Dense(3, input_shape=(2,))])
    made.compile("adam", "mse")
    made._make_train_function()
    assert [K.int_shape(w) for w in made.optimizer.weights] == [(), (2, 3), (3,), (2, 3), (3,)]


def check_the_class_around_tensorflows_optimizers():
    found = keras.optimizers.TFOptimizer(K.tf.train.GradientDescentOptimizer(0.5))
    assert isinstance(found, keras.optimizers.SGD) and not isinstance(found, keras.optimizers.TFOptimizer)


def check_the_configuration_of_an_own_optimizer():
    class Plain(Optimizer):
        def __init__(self, lr=0.1, **kwargs):
            super().__init__(**kwargs)
            self.lr = K.variable(lr)

        def get_updates(self, loss, params):
            gradients = self.get_gradients(loss, params)
            self.updates = [K.update_sub(p, self.lr * g) for p, g in zip(params, gradients, strict=True)]
            return self.updates

        def get_config(self):
            return {"lr": float(K.get_value(self.lr)), **super().get_config()}

    assert Plain(clipnorm=2.0).get_config() == {"lr": pytest.approx(0.1), "clipnorm": 2.0}
    assert Plain.from_config(Plain(0.5).get_config()).get_config() == {"lr": 0.5}


def check_weights_of_a_wrapped_layer_come_first():
    class More(Wrapper):
        def build(self, shape):
            self.layer.build(shape)
            self.more = self.layer.add_weight(name="more", shape=(1,), initializer="ones")
            super().build(shape)

        def call(self, x):
            return self.layer.call(x) * self.more

    x = Input((2,))
    made = Model(x, More(Dense(3))(x))
    assert [w.shape for w in made.get_weights()] == [(2, 3), (3,), (1,)]


def check_tensors_of_build_follow_their_variables():
    """Check a tensor and a loss that `build` computes of weights, also of the layer in a wrapper."""

    class Gated(Wrapper):
        def build(self, shape):
            self.layer.build(shape)
            self.logit = self.layer.add_weight(name="logit", shape=(1,), initializer="zeros")
            self.gate = K.squeeze(K.sigmoid(self.logit), axis=0)
            super().build(shape)
            self.layer.add_loss(K.sum(K.square(self.layer.kernel)) * (1.0 - self.gate))

        def call(self, x):
            return self.layer.call(x) * self.gate

    x = Input((2,))
    layer = Gated(Dense(3, kernel_initializer="ones"))
    made = Model(x, layer(x))
    assert len(made.losses) == 1 and [w.shape for w in made.get_weights()] == [(2, 3), (3,), (1,)]
    ones = np.ones((1, 2))
    made.compile("sgd", loss=None)
    np.testing.assert_allclose(made.evaluate(ones, verbose=0), 3.0)  # 6 · (1 - 0.5)
    rate = 0.01
    wanted = {"kernel": 1.0 - rate * 2 * 0.5, "logit": rate * 6 * 0.25}
    made.train_on_batch(ones)
    kernel, _, logit = made.get_weights()
    np.testing.assert_allclose(kernel, wanted["kernel"], rtol=1e-6)
    np.testing.assert_allclose(logit, wanted["logit"], rtol=1e-5)
    made.set_weights([np.ones((2, 3)), np.zeros(3), np.full(1, 20.0)])
    np.testing.assert_allclose(made.predict(ones), 2.0, rtol=1e-6)
    np.testing.assert_allclose(made.evaluate(ones, verbose=0), 0.0, atol=1e-6)
    assert float(layer.gate) == 0.5  # outside of calls it is the tensor of `build`


def check_calls_decide_the_outputs():
    """Check the number, the dtypes and the shapes of outputs against `compute_output_shape`, which may differ."""

    class WithTable(Embedding):
        def compute_output_shape(self, shape):
            return [super().compute_output_shape(shape), (self.input_dim, self.output_dim)]

        def compute_mask(self, inputs, mask=None):
            return [super().compute_mask(inputs, mask), None]

        def call(self, inputs):
            return [super().call(inputs), self.embeddings + 0.0]

    class Pool(Layer):
        def compute_output_shape(self, shapes):
            return shapes  # of both inputs, though there is one output

        def call(self, inputs):
            return K.max(inputs[0] * K.cast(inputs[1], "float32"), axis=-1, keepdims=True)

    class Largest(Layer):
        def compute_output_shape(self, shape):
            return shape[:-1]

        def call(self, x):
            return K.argmax(x, axis=-1)

    class Chosen(Layer):
        def compute_output_shape(self, shape):
            return (shape[0], 2, shape[-1])

        def call(self, x):
            return K.reshape(K.tf.boolean_mask(x, K.tf.ones(K.shape(x)[:2], "bool")), (-1, K.shape(x)[1], 3))

    words, numbers = Input((None,)), Input((4, 3))
    found, table = WithTable(5, 3, mask_zero=True)(words)
    assert K.int_shape(found) == (None, None, 3) and K.int_shape(table) == (5, 3)
    assert K.int_shape(Pool()([numbers, Input((4, 3), dtype="int32")])) == (None, 4, 1)
    assert K.dtype(Largest()(numbers)) == "int64"
    assert K.int_shape(Chosen()(Input((2, 3)))) == (None, 2, 3)
    model = Model(words, [found, table])
    values = model.predict(np.array([[1, 0]]))
    np.testing.assert_array_equal(values[0][0], values[1][[1, 0]])


def check_attributes_of_layers_and_models():
    x = Input((4,), name="data")
    hidden = Dense(3, kernel_regularizer=keras.regularizers.l2(0.5), name="hidden")
    made = Model(x, Dense(2, name="result")(hidden(x)))
    assert x.get_shape().as_list() == [None, 4] and hidden.output.get_shape()[1] == 3
    x.set_shape((5, None))
    assert K.int_shape(x) == (5, 4)
    with pytest.raises(ValueError):
        x.set_shape((5, 3))
    assert hidden.kernel_regularizer.l1 == 0.0 and hidden.kernel_regularizer.l2 == pytest.approx(0.5)
    assert (hidden.updates, hidden.get_updates_for(x), hidden.stateful, hidden.dynamic) == ([], [], False, False)
    assert hidden.input_mask is None and hidden.output_mask is None
    assert K.int_shape(hidden.apply(Input((4,)))) == (None, 3)
    assert [layer.name for layer in (*made.input_layers, *made._output_layers)] == ["data", "result"]
    assert made._feed_input_names == ["data"] and made._feed_output_shapes == [(None, 2)]
    assert made.layers_by_depth[0] == [made.layers[-1]] and len(made.nodes_by_depth) == 3
    assert made._is_graph_network and not made._is_compiled
    made.compile("sgd", "mse")
    assert made._is_compiled and made.stateful is False


def check_a_merged_tensor_has_the_masks_that_are_given():
    class Kept(Layer):
        supports_masking = True

        def call(self, x, mask=None):
            return K.cast(mask, "float32")

    words, other = Input((3,)), Input((3,))
    one, two = Embedding(5, 2, mask_zero=True)(words), Embedding(5, 2, mask_zero=True)(other)
    model = Model([words, other], [Kept()(add([one, Embedding(5, 2)(words)])), Kept()(add([one, two]))])
    found = model.predict([np.array([[1, 2, 0]]), np.array([[1, 0, 3]])])
    np.testing.assert_array_equal(np.concatenate(found), [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def check_weights_of_layers_in_a_group_of_a_file():
    import h5py
    from keras.engine import saving

    def made():
        return Sequential([Dense(3, input_shape=(2,), name="first"), Dense(1, name="second")])

    one, other = made(), made()
    with h5py.File("weights", "w", driver="core", backing_store=False) as file:
        saving.save_weights_to_hdf5_group(file, one.layers)
        saving.load_weights_from_hdf5_group(file, other.layers)
        for mine, theirs in zip(one.get_weights(), other.get_weights(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        other.layers[1].set_weights([np.zeros((3, 1)), np.zeros(1)])
        saving.load_weights_from_hdf5_group_by_name(file, other.layers[1:])
        np.testing.assert_array_equal(other.get_weights()[2], one.get_weights()[2])


@keras_test
def check_data_of_tests():
    np.random.seed(0)  # noqa: NPY002  # programs seed it
    (x, y), (more, _) = get_test_data(20, 6, (3,), classification=True, num_classes=2)
    assert x.shape == (20, 3) and more.shape == (6, 3) and {*y.tolist()} == {0, 1}
    assert x[y == 1].mean() > x[y == 0].mean()
    (_, y), _ = get_test_data(4, 1, (3,), (2,), classification=False)
    assert y.shape == (4, 2) and keras.backend.backend()


if __name__ == "__main__":
    main(globals())

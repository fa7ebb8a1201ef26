"""Programs in Keras 1's words on Dovetail, and in Keras 2's words for the same on tf_keras: {program: numbers}."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from tests.compat.keras2_programs import ON_DOVETAIL, Y, keras, layers, legacy, with_weights
from tests.keras_backends import main

RANDOM = np.random.default_rng(3)
VECTORS, STEPS, IMAGES = (RANDOM.normal(size=shape).astype("float32") for shape in ((6, 4), (6, 5, 3), (6, 6, 6, 2)))
WORDS = RANDOM.integers(0, 9, (6, 5))


def both(old, new):
    """The layer in Keras 1's words where Keras 2's names are Dovetail's, else the other one."""
    return (old if ON_DOVETAIL else new)()


class OfTheBatch(layers.BatchNormalization):
    def call(self, inputs, training=None):
        return super().call(inputs, training=True)


LAYERS = {  # a layer in Keras 1's words, in Keras 2's, and its input
    "dense": (
        lambda: layers.Dense(output_dim=3, init="uniform", bias=False, W_regularizer="l2", input_dim=4),
        lambda: layers.Dense(3, use_bias=False, kernel_regularizer=keras.regularizers.l2(0.01), input_shape=(4,)),
        VECTORS,
    ),
    "dense of steps": (
        lambda: layers.TimeDistributedDense(2, activation="hard_sigmoid", input_dim=3, input_length=5),
        lambda: layers.TimeDistributed(layers.Dense(2, activation="hard_sigmoid"), input_shape=(5, 3)),
        STEPS,
    ),
    "convolution": (
        lambda: layers.Convolution2D(2, 3, 2, border_mode="same", subsample=(2, 1), dim_ordering="tf"),
        lambda: layers.Conv2D(2, (3, 2), padding="same", strides=(2, 1)),
        IMAGES,
    ),
    "convolution by names": (
        lambda: layers.Convolution2D(nb_filter=2, nb_row=3, nb_col=2, b_regularizer="l1", W_constraint="maxnorm"),
        lambda: layers.Conv2D(2, (3, 2), bias_regularizer=keras.regularizers.l1(0.01)),
        IMAGES,
    ),
    "convolution of Keras 2": (lambda: layers.Conv2D(2, 3, 2), lambda: layers.Conv2D(2, (3, 2)), IMAGES),
    "dilated": (
        lambda: layers.AtrousConvolution2D(2, 2, 2, atrous_rate=(2, 2)),
        lambda: layers.Conv2D(2, 2, dilation_rate=2),
        IMAGES,
    ),
    "dilated by position": (
        lambda: layers.AtrousConvolution2D(2, 2, 2, "uniform", "relu", None, "same", (1, 1), (2, 2)),
        lambda: layers.Conv2D(2, 2, activation="relu", padding="same", dilation_rate=2),
        IMAGES,
    ),
    "dilated steps by position": (
        lambda: layers.AtrousConvolution1D(2, 3, "he_normal", "tanh", None, "valid", 1, 2),
        lambda: layers.Conv1D(2, 3, activation="tanh", dilation_rate=2),
        STEPS,
    ),
    "transposed": (
        lambda: layers.Deconvolution2D(2, 3, 3, (None, 12, 12, 2), subsample=(2, 2), border_mode="same"),
        lambda: layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
        IMAGES,
    ),
    "separable": (
        lambda: layers.SeparableConvolution2D(2, 3, 3, border_mode="same", depth_multiplier=2),
        lambda: layers.SeparableConv2D(2, 3, padding="same", depth_multiplier=2),
        IMAGES,
    ),
    "convolution of steps": (
        lambda: layers.Convolution1D(2, filter_length=3, subsample_length=2, input_dim=3, input_length=5),
        lambda: layers.Conv1D(2, 3, strides=2, input_shape=(5, 3)),
        STEPS,
    ),
    "pooling": (
        lambda: layers.MaxPooling2D((3, 3), strides=(2, 2), border_mode="same"),
        lambda: layers.MaxPooling2D(3, strides=2, padding="same"),
        IMAGES,
    ),
    "pooling of steps": (lambda: layers.MaxPooling1D(pool_length=2, stride=1), lambda: layers.MaxPool1D(2, 1), STEPS),
    "normalization by the batch": (
        lambda: layers.BatchNormalization(mode=2),
        lambda: OfTheBatch(),
        VECTORS,
    ),
    "embedding that drops words in training": (
        lambda: layers.Embedding(9, 4, input_length=5, dropout=0.5),
        lambda: layers.Embedding(9, 4, input_length=5),
        WORDS,
    ),
    "normalization": (
        lambda: layers.BatchNormalization(mode=0, axis=-1, beta_init="one"),
        lambda: layers.BatchNormalization(),
        VECTORS,
    ),
    "recurrent": (
        lambda: layers.LSTM(output_dim=2, inner_activation="sigmoid", U_regularizer="l2", consume_less="gpu"),
        lambda: layers.LSTM(2, recurrent_regularizer=keras.regularizers.l2(0.01)),
        STEPS,
    ),
    "in both directions": (
        lambda: layers.Bidirectional(layers.LSTM(2, return_sequences=True), merge_mode="ave"),
        lambda: layers.Bidirectional(layers.LSTM(2, return_sequences=True), merge_mode="ave"),
        STEPS,
    ),
    "fused": (lambda: layers.CuDNNGRU(2), lambda: layers.GRU(2), STEPS),
    "words": (
        lambda: layers.Embedding(9, 2, input_length=5, init="normal", W_regularizer="l2"),
        lambda: layers.Embedding(9, 2, embeddings_regularizer=keras.regularizers.l2(0.01)),
        WORDS,
    ),
    "locally connected": (
        lambda: layers.LocallyConnected2D(2, 3, 2, subsample=(2, 1), activation="tanh"),
        lambda: layers.LocallyConnected2D(2, (3, 2), strides=(2, 1), activation="tanh"),
        IMAGES,
    ),
    "locally connected steps": (
        lambda: layers.LocallyConnected1D(2, 3, bias=False),
        lambda: layers.LocallyConnected1D(2, 3, use_bias=False),
        STEPS,
    ),
    "noise": (lambda: layers.Dropout(p=0.5), lambda: layers.Dropout(0.5), VECTORS),
}


def program_layers():
    """The predictions and the loss of a model of each layer, and its number of weights."""
    found = []
    for name, (old, new, x) in LAYERS.items():
        layer = both(old, new)
        inputs = layers.Input(x.shape[1:])
        model = keras.Model(inputs, layers.Flatten()(layer(inputs)))
        with_weights(model)
        model.compile("sgd", "mse")
        result = model.predict(x, verbose=0)
        y = np.ones_like(result)
        found.append([name, *result.ravel(), model.count_params(), model.evaluate(x, y, verbose=0)])
    return found


MERGES = {
    "sum": lambda a, b: layers.add([a, b]),
    "mul": lambda a, b: layers.multiply([a, b]),
    "ave": lambda a, b: layers.average([a, b]),
    "max": lambda a, b: layers.maximum([a, b]),
    "concat": lambda a, b: layers.concatenate([a, b]),
    "dot": lambda a, b: layers.dot([a, b], axes=1),
    "cos": lambda a, b: layers.dot([a, b], axes=1, normalize=True),
}


def program_merge():
    found = []
    for mode, new in MERGES.items():
        a, b = layers.Input((4,)), layers.Input((4,))
        joined = both(lambda: layers.merge([a, b], mode=mode), lambda: new(a, b))  # noqa: B023
        made = both(lambda: keras.Model(input=[a, b], output=joined), lambda: keras.Model([a, b], joined))  # noqa: B023
        found.append([mode, *made.predict([VECTORS, VECTORS[::-1]], verbose=0).ravel()])
    return found


def program_merge_by_a_function():
    a, b = layers.Input((4,)), layers.Input((4,))

    def difference(pair):
        return pair[0] - 2 * pair[1]

    joined = both(
        lambda: layers.merge([a, b], mode=difference, output_shape=lambda shapes: shapes[0]),
        lambda: layers.Lambda(difference)([a, b]),
    )
    return [*keras.Model([a, b], joined).predict([VECTORS, VECTORS[::-1]], verbose=0).ravel()]


def program_sequential_of_merge():
    """A Sequential that joins two others, and trains them."""
    left = keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(4,))])
    right = keras.Sequential([layers.Dense(3, input_shape=(4,))])
    last = layers.Dense(1)
    if ON_DOVETAIL:
        model = keras.Sequential()
        model.add(layers.Merge([left, right], mode="concat"))
        model.add(last)
    else:
        model = keras.Model([left.input, right.input], last(layers.concatenate([left.output, right.output])))
    with_weights(left, right)
    last.set_weights([np.ones((6, 1)), np.zeros(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = [VECTORS, VECTORS[::-1]]
    losses = [model.train_on_batch(x, Y) for _ in range(3)]
    return [*losses, *left.get_weights()[0].ravel(), len(model.trainable_weights), *model.predict(x).ravel()]


def batches():
    while True:
        for start in (0, 2, 4):
            yield VECTORS[start : start + 2], Y[start : start + 2]


def program_generators_that_count_samples():
    model = keras.Sequential([layers.Dense(1, input_shape=(4,))])
    with_weights(model)
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mse"] if ON_DOVETAIL else ["mean_squared_error"])
    history = both(
        lambda: model.fit_generator(
            batches(), samples_per_epoch=6, nb_epoch=2, verbose=0, validation_data=batches(), nb_val_samples=6
        ),
        lambda: model.fit(
            batches(), steps_per_epoch=3, epochs=2, verbose=0, validation_data=batches(), validation_steps=3
        ),
    )
    found = both(
        lambda: [
            model.evaluate_generator(batches(), 6, nb_worker=1),
            model.predict_generator(batches(), val_samples=3),
        ],
        lambda: [model.evaluate(batches(), steps=3, verbose=0), model.predict(batches(), steps=2)],
    )
    return [
        *sorted(history.history),
        *np.ravel([values for _, values in sorted(history.history.items())]),
        *found[0],
        *np.ravel(found[1]),
    ]


def program_generators_that_count_parts_of_steps():
    """Steps as the quotient of two numbers, which tf_keras refuses: the part counts as a step."""
    model = keras.Sequential([layers.Dense(1, input_shape=(4,))])
    with_weights(model)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    steps = 5 / 2 if ON_DOVETAIL else 3
    data = {"validation_data": batches(), "validation_steps": steps}
    history = model.fit(batches(), steps_per_epoch=steps, epochs=2, verbose=0, **data).history
    return [history["loss"], history["val_loss"], model.evaluate(batches(), steps=steps, verbose=0)]


def program_rates_that_decay():
    """Losses of an optimizer whose rate decays, and is also set between epochs; then its rate and its state."""
    model = keras.Sequential([layers.Dense(1, input_shape=(4,))])
    with_weights(model)
    model.compile(legacy.RMSprop(lr=0.02, decay=0.1), "mse")
    rate = keras.callbacks.LearningRateScheduler(lambda epoch: 0.02 * 0.5**epoch)
    history = model.fit(VECTORS, Y, batch_size=2, epochs=3, shuffle=False, verbose=0, callbacks=[rate]).history
    optimizer = model.optimizer
    weights = optimizer.get_weights()
    optimizer.set_weights(weights)
    return [history["loss"], history["lr"], keras.backend.get_value(optimizer.lr), *map(np.sum, weights)]


class Momentum(legacy.SGD):
    """SGD with momentum; on Dovetail by `get_updates` in the order of Keras 1, which Keras 2.0 also had."""

    if ON_DOVETAIL:

        def get_updates(self, params, constraints, loss):
            k = keras.backend
            self.updates = [k.update_add(self.iterations, 1)]
            for p, gradient in zip(params, self.get_gradients(loss, params), strict=True):
                velocity = k.zeros(k.get_variable_shape(p))
                change = self.momentum * velocity - self.lr * gradient
                new = constraints[p](p + change) if p in constraints else p + change
                self.updates += [k.update(velocity, change), k.update(p, new)]
            return self.updates


def program_steps_of_an_optimizer_that_takes_constraints():
    first = layers.Dense(2, input_shape=(4,), kernel_constraint=keras.constraints.MaxNorm(0.5))
    model = keras.Sequential([first, layers.Dense(1)])
    with_weights(model)
    model.compile(Momentum(0.1, momentum=0.9), "mse")
    history = model.fit(VECTORS, Y, batch_size=2, epochs=3, shuffle=False, verbose=0).history
    return [history["loss"], *model.get_weights()]


class Stepping(layers.LSTM):
    """An LSTM; on Dovetail it defines its step, as classes of up to Keras 2.0 do."""

    if ON_DOVETAIL:

        def build(self, shape):
            self.input_spec, self.states = keras.layers.InputSpec(shape=(None, None, shape[-1])), [None, None]
            kernels = {"kernel": shape[-1], "recurrent_kernel": self.units}
            for name, size in kernels.items():
                made = self.add_weight(name=name, shape=(size, 4 * self.units), initializer=self.kernel_initializer)
                setattr(self, name, made)
            self.bias = self.add_weight((4 * self.units,), name="bias", initializer=self.bias_initializer)
            self.built = True

        def step(self, products, states):
            k, (h, c, _, masks) = keras.backend, states
            z = products + k.dot(h * masks[0], self.recurrent_kernel)
            parts = [z[:, number * self.units : (number + 1) * self.units] for number in range(4)]
            i, f, o = (self.recurrent_activation(parts[number]) for number in (0, 1, 3))
            c = f * c + i * self.activation(parts[2])
            h = o * self.activation(c)
            return h, [h, c]


class Masked(Stepping):
    """The same, whose step multiplies the inputs, too."""

    if ON_DOVETAIL:

        def preprocess_input(self, inputs, training=None):
            return inputs

        def step(self, x, states):
            products = keras.backend.bias_add(keras.backend.dot(x * states[2][0], self.kernel), self.bias)
            return super().step(products, states)


def program_classes_of_lstm_define_a_step():
    found, x = [], STEPS * (np.arange(5) != 2)[:, None]
    for cls in (Stepping, Masked):
        for options in ({}, {"go_backwards": True}, {"unroll": True}, {"return_sequences": True}):
            first = layers.Activation("linear") if options.get("return_sequences") else layers.Masking()
            model = keras.Sequential([layers.InputLayer((5, 3)), first, cls(2, **options)])
            with_weights(model)
            model.compile(keras.optimizers.SGD(0.1), "mse")
            found += [predicted := model.predict(x, verbose=0), model.train_on_batch(x, np.zeros_like(predicted))]
    return [np.ravel(each) for each in found]


class OwnInput(layers.Layer):
    """An input layer that does not call the base class, as programs wrote for inputs that Keras 1 had not."""

    def __init__(self, shape, name):
        k = keras.backend
        self.trainable, self.built, self.name, self.input_spec = False, True, name, None
        self.inbound_nodes, self.outbound_nodes, self.trainable_weights, self.non_trainable_weights = [], [], [], []
        self.batch_input_shape, self.input_dtype, self.sparse = shape, k.floatx(), True
        tensor = k.placeholder(shape=shape, dtype=k.floatx(), sparse=True, name=name)
        tensor._uses_learning_phase, tensor._keras_history = False, (self, 0, 0)
        shapes = [tensor._keras_shape]
        keras.engine.topology.Node(self, [], [], [], [tensor], [tensor], [None], [None], shapes, shapes)


def program_has_an_input_layer_of_its_own():
    x = layers.Input((4,))
    if ON_DOVETAIL:
        (graph,) = OwnInput((None, None), "graph").inbound_nodes[0].output_tensors
    else:
        graph = layers.Input((None,), name="graph", sparse=True)
    product = layers.Lambda(lambda pair: keras.backend.dot(*pair))
    model = keras.Model([x, graph], product([graph, layers.Dense(2)(x)]))
    with_weights(model)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    matrix = scipy.sparse.csr_matrix(np.eye(6, k=1) + np.eye(6))
    losses = [model.train_on_batch([VECTORS, matrix], np.zeros((6, 2))) for _ in range(2)]
    return [*losses, model.predict([VECTORS, matrix], batch_size=6, verbose=0)]


LOSSES = (
    "mse",
    "MSE",
    "mean_squared_error",
    "mae",
    "mape",
    "msle",
    "kld",
    "KLD",
    "kullback_leibler_divergence",
    "cosine",
)
NEW = {"cosine": "cosine_similarity"}


def program_losses_by_old_names():
    x = np.abs(VECTORS) / 9
    model = keras.Sequential([layers.Dense(4, input_shape=(4,))])
    with_weights(model)
    found = []
    for loss in (*LOSSES, "cosine_proximity", "poisson", "hinge", "squared_hinge", "categorical_hinge", "logcosh"):
        model.compile("sgd", both(lambda: loss, lambda: NEW.get(loss[:6], loss)))  # noqa: B023
        found.append([loss, model.evaluate(x, x, verbose=0)])
    return found


if __name__ == "__main__":
    main(globals())

"""Programs for Keras 2, each a function that returns numbers and names.

They run on tf_keras, which is Keras 2, and on Keras 3 by Dovetail's names, on each engine. Their weights are given.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import warnings

ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

    # isort: split
    import dovetail.compat.keras2  # noqa: F401  it gives Keras 3 the names of Keras 2

    # isort: split
    import keras

    import dovetail.compat.tensorflow as TF

    legacy = keras.optimizers
else:
    import tensorflow as TF
    import tf_keras as keras

    legacy = keras.optimizers.legacy  # it may be compiled into several models

import numpy as np

from tests.keras_backends import main

warnings.simplefilter("ignore")  # of state that changed after compile; a check covers that warning
layers = keras.layers
RANDOM = np.random.default_rng(0)
X, Z, Y = (RANDOM.normal(size=shape).astype("float32") for shape in ((6, 3), (6, 2), (6, 1)))
LABELS = RANDOM.integers(0, 3, 6)
CLASSES = np.eye(3, dtype="float32")[LABELS]


def with_weights(*models):
    """Models whose weights are the same in each process, and positive, as variances are."""
    random = np.random.default_rng(1)
    for model in models:
        model.set_weights([random.uniform(0.1, 1, w.shape) for w in model.get_weights()])
    return models


def sums(*models):
    return [float(np.sum(w)) for model in models for w in model.get_weights()]


# -- data ---------------------------------------------------------------------------------------------------------


def program_data_in_lists():
    """Results of a model that is made of lists of one tensor; its data are numbers, rows, and lists of one array."""
    given = (lambda array: array.tolist()) if ON_DOVETAIL else np.asarray
    x = layers.Input((3,))
    model = keras.Model([x], [layers.Dense(1)(x)])
    with_weights(model)
    model.compile("sgd", ["mse"], loss_weights=[0.5])
    column = given(Y[:, 0])
    options = {"validation_data": ([X], column), "batch_size": 2, "shuffle": False, "verbose": 0}
    history = model.fit([X], column, **options).history
    found = [model.train_on_batch([X], column), model.test_on_batch(given(X), [Y])]
    found += [model.evaluate([X], column, verbose=0), *map(float, model.predict([X])[:, 0])]
    shapes = [list(model.predict_on_batch([X]).shape), [n or 0 for n in model.input.shape + model([x]).shape]]
    return [*history["loss"], *history["val_loss"], *found, *shapes]


def program_data_of_two_inputs_in_lists():
    given = (lambda array: array.tolist()) if ON_DOVETAIL else np.asarray
    x, z = layers.Input((3,)), layers.Input((2,))
    model = keras.Model([x, z], [layers.Dense(1)(x), layers.Dense(1)(z)])
    with_weights(model)
    model.compile("sgd", "mse")
    data, targets = [given(X), given(Z)], [given(Y[:, 0]), given(Y[:, 0])]
    return [*model.train_on_batch(data, targets), *model.evaluate(data, targets, verbose=0)]


# -- trainable counts as it is when a model is compiled ---------------------------------------------------------------


def gan(optimizer=lambda: keras.optimizers.SGD(0.01)):
    """A judge that is compiled, then frozen, and the model that uses it to train the maker."""
    judge = keras.Sequential(
        [layers.Dense(4, activation="tanh", input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1)]
    )
    maker = keras.Sequential([layers.Dense(3, input_shape=(2,))])
    with_weights(judge, maker)
    judge.compile(optimizer(), "mse")
    judge.trainable = False
    noise = layers.Input((2,))
    joined = keras.Model(noise, judge(maker(noise)))
    joined.compile(optimizer(), "mse")
    return judge, maker, joined


def program_gan():
    """Results of two models that train their own weights; the counts of weights follow later settings."""
    judge, maker, joined = gan()
    found = [len(judge.trainable_weights), len(joined.trainable_weights)]
    for _ in range(2):
        found += [judge.train_on_batch(X, Y), *sums(judge, maker), joined.train_on_batch(Z, Y), *sums(judge, maker)]
    return [*found, len(judge.trainable_weights), len(joined.trainable_weights)]


def program_gan_by_fit_and_adam():
    judge, maker, joined = gan(lambda: keras.optimizers.Adam(0.01, epsilon=1e-3))
    found = list(judge.fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"])
    found += joined.fit(Z, Y, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"]
    return [*found, *sums(judge, maker), judge.evaluate(X, Y, verbose=0)]


def program_frozen_then_compiled_again():
    """Results after freezing, which takes effect at compilation; a frozen normalization keeps its averages."""
    judge, _, _ = gan()
    found = [judge.train_on_batch(X, Y), *sums(judge)]
    judge.trainable = True
    for frozen in (judge.layers[1], judge.layers[0]):
        frozen.trainable = False
        found += [judge.train_on_batch(X, Y), *sums(judge)]
        judge.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        found += [judge.train_on_batch(X, Y), *sums(judge), len(judge.trainable_weights)]
    return found


def program_layers_in_a_frozen_model():
    """Results of layers in a frozen model, which are frozen with it, whatever their own setting."""
    base, top = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(2)]), layers.Dense(1)
    x = layers.Input((3,))
    model = keras.Model(x, top(base(x)))
    with_weights(model)
    base.trainable = False
    base.layers[1].trainable = True
    model.compile("sgd", "mse")
    found = [len(each.trainable_weights) for each in (model, base, base.layers[1])]
    found += [len(each.non_trainable_weights) for each in (model, base)]
    return [*found, model.train_on_batch(X, Y), *sums(model)]


def program_weights_of_frozen_layers_are_regularized():
    """Their losses count in the result, and change no weight."""
    first = layers.Dense(3, input_shape=(3,), kernel_regularizer=keras.regularizers.l2(0.1))
    model = keras.Sequential([first, layers.Dense(1, bias_regularizer=keras.regularizers.l2(0.2))])
    with_weights(model)
    first.trainable = False
    model.compile(legacy.SGD(0.01), "mse")
    x = X
    return [model.train_on_batch(x, Y), model.evaluate(x, Y, verbose=0), *model.get_weights()]


def program_a_layer_gives_several_outputs():
    a, b, dense = layers.Input((3,)), layers.Input((3,)), layers.Dense(1, name="score")
    model = keras.Model([a, b], [dense(a), dense(b), layers.Dense(1, name="other")(b)])
    with_weights(model)
    model.compile(legacy.SGD(0.01), ["mse", "mae", "mse"], metrics=["mae"])
    x = X
    results = [model.train_on_batch([x, 2 * x], [Y, Y, Y]) for _ in range(2)]
    history = model.fit([x, 2 * x], [Y, Y, Y], shuffle=False, verbose=0).history
    return [*results, *(history[name] for name in sorted(history)), len(set(model.output_names))]


def program_thawed_after_training():
    """Results of fine tuning: the top first, then all, by one optimizer that is compiled twice."""
    base, x = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.BatchNormalization()]), layers.Input((3,))
    model = keras.Model(x, layers.Dense(1)(base(x)))
    with_weights(model)
    optimizer = legacy.SGD(0.01, momentum=0.9)
    found = []
    for trainable in (False, True):
        base.trainable = trainable
        model.compile(optimizer, "mse")
        found += [model.train_on_batch(X, Y), model.train_on_batch(X, Y), *sums(model)]
    return found


def program_averages_of_variances_have_no_bias_for_pictures():
    """Weights after steps of normalizations of each rank, which TensorFlow computes by its kernel or by parts."""
    found = []
    for shape, axis in (((3,), -1), ((2, 3), -1), ((2, 2, 3), -1), ((2, 3, 2), 2), ((1, 2, 1, 3), -1), ((1, 1, 3), -1)):
        normal = layers.BatchNormalization(axis=axis, momentum=0.5, scale=axis != 2, input_shape=shape)
        model = keras.Sequential([normal])
        model.compile(legacy.SGD(0.1), "mse")
        data = np.random.default_rng(3).normal(size=(4, *shape))
        found += [model.train_on_batch(data, data), model.train_on_batch(data[:1], data[:1])]
        found += [*model.get_weights(), model.predict(data, verbose=0)]
    return found


# -- sparse inputs ----------------------------------------------------------------------------------------------------


class Halved(layers.Layer):
    """A sparse tensor whose elements are halves of another one's."""

    def call(self, inputs):
        return TF.SparseTensor(inputs.indices, inputs.values / 2, inputs.dense_shape)


class OfNeighbours(layers.Layer):
    """Sums of features of the neighbours in a graph, by the elements of the matrix of its edges."""

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[0][-1], 2), name="kernel")

    def call(self, inputs):
        x, edges = inputs
        assert keras.backend.is_sparse(edges)
        values = TF.gather(keras.backend.dot(x, self.kernel), edges.indices[:, 1]) * edges.values[:, None]
        return TF.math.unsorted_segment_sum(values, edges.indices[:, 0], TF.shape(x)[0])


def program_sparse_inputs():
    """Layers of the program get sparse tensors; layers of Keras compute as with dense ones."""
    edges, found = np.float32([[0, 1, 2], [3, 0, 0], [0, -1, 0]]), []
    for size in (3, None):
        x, a = layers.Input((3,)), layers.Input((size,), sparse=True)
        ends = [OfNeighbours()([x, Halved()(a)]), layers.Lambda(lambda both: keras.backend.dot(*both))([a, x])]
        if size:
            ends.append(layers.Dense(2)(a))
        (model,) = with_weights(keras.Model([x, a], ends))
        given = [X[:3], TF.sparse.from_dense(edges)]
        for results in (model(given), model.predict_on_batch(given)):
            found += [np.asarray(result).tolist() for result in results]
        found += [[n or 0 for n in end.shape] for end in ends] + [list(w.shape) for w in model.weights]
    return found


# -- settings of optimizers -------------------------------------------------------------------------------------------


def program_optimizers_without_settings():
    """Those of Keras 2.3, which differ from tf.keras' in four classes."""
    found = []
    for name, settings in {
        "SGD": {},
        "RMSprop": {},
        "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
        "Adadelta": {"learning_rate": 1.0},
        "Adam": {},
        "Adamax": {"learning_rate": 0.002},
        "Nadam": {"learning_rate": 0.002},
    }.items():
        of_23 = () if ON_DOVETAIL else (getattr(legacy, name)(**settings),)
        for optimizer in of_23 or (name.lower(), getattr(legacy, name)(), getattr(legacy, name)(**settings)):
            (model,) = with_weights(keras.Sequential([layers.Dense(1, input_shape=(3,))]))
            model.compile(optimizer, "mse")
            numbers = [*(model.train_on_batch(X, Y) for _ in range(4)), *sums(model)]
            assert not found or found[-1][0] != name or np.allclose(found[-1][1:], numbers)
            found += [[name, *numbers]] * (found == [] or found[-1][0] != name)
    return found


# -- one optimizer for several models ---------------------------------------------------------------------------------


def program_one_optimizer_for_two_models():
    """Results of one optimizer for two models; it keeps state for each variable, and one count of steps."""
    found = []
    for make in (
        lambda: legacy.Adam(0.05, epsilon=1e-3),
        lambda: legacy.SGD(0.05, momentum=0.9, nesterov=True, decay=0.1),
        lambda: legacy.RMSprop(0.05, epsilon=1e-9),  # Keras 3 adds epsilon elsewhere
        lambda: legacy.Adam(0.05, epsilon=1e-3, amsgrad=True),
    ):
        optimizer = make()
        first, second = (
            keras.Sequential([layers.Dense(1, input_shape=(3,))]),
            keras.Sequential([layers.Dense(2, input_shape=(2,)), layers.Dense(1)]),
        )
        with_weights(first, second)
        for model in (first, second):
            model.compile(optimizer, "mse")
        for _ in range(2):
            found += [first.train_on_batch(X, Y), second.train_on_batch(Z, Y), second.train_on_batch(Z, Y)]
        found += [*sums(first, second), int(optimizer.iterations)]
    return found


def program_one_optimizer_for_models_that_share_layers():
    shared, x = layers.Dense(2), layers.Input((3,))
    features = shared(x)
    models = [keras.Model(x, layers.Dense(1)(features)) for _ in range(2)]
    with_weights(*models)
    optimizer = legacy.Adam(0.05, epsilon=1e-3)
    found = []
    for model in models:
        model.compile(optimizer, "mse")
    for model in (*models, *models):
        found += model.fit(X, Y, batch_size=3, epochs=1, shuffle=False, verbose=0).history["loss"]
    return [*found, *sums(*models)]


# -- losses of scores -------------------------------------------------------------------------------------------------


def program_cross_entropies_of_large_scores():
    """They are computed of the scores, which no clipped probability hides."""
    x = layers.Input((1,))
    far, targets = np.float32([[-90], [-20], [0.5], [40]]), np.float32([[1], [0], [1], [0]])
    by_class, one = "sparse_categorical_crossentropy", "binary_crossentropy"
    found = []
    for layer, loss in (
        (layers.Dense(1, "sigmoid", kernel_initializer="ones"), one),
        (layers.Activation("sigmoid"), one),
        (layers.Activation("linear"), keras.losses.BinaryCrossentropy(from_logits=True)),
        (layers.Activation("linear"), lambda y, z: keras.backend.binary_crossentropy(y, z, from_logits=True)),
        (layers.Dense(2, "softmax", kernel_initializer="ones", bias_initializer="ones"), by_class),
        (layers.Dense(2, kernel_initializer="ones"), keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
    ):
        model = keras.Model(x, layer(x))
        model.compile(keras.optimizers.SGD(0.1), loss)
        found.append([model.evaluate(far, targets, verbose=0), *(model.train_on_batch(far, targets) for _ in "ab")])
        found.append(sums(model))
    return found


# -- metrics of several outputs ---------------------------------------------------------------------------------------


def two_outputs(metrics, loss=("binary_crossentropy", "sparse_categorical_crossentropy"), **options):
    x = layers.Input((3,))
    outputs = layers.Dense(1, activation="sigmoid", name="a")(x), layers.Dense(3, activation="softmax", name="b")(x)
    model = keras.Model(x, list(outputs))
    with_weights(model)
    model.compile(
        keras.optimizers.SGD(0.01), list(loss) if isinstance(loss, tuple) else loss, metrics=metrics, **options
    )
    return model


def results(model, y, **options):
    """The results of a model for a batch and for all data, its history, and the names."""
    y = list(y)
    found = [model.train_on_batch(X, y, **options), model.test_on_batch(X, y, **options)]
    history = model.fit(X, y, epochs=1, batch_size=3, shuffle=False, verbose=0).history
    found += [model.evaluate(X, y, verbose=0), model.metrics_names]
    return [*found, [history[name][0] for name in model.metrics_names]]


def program_metrics_of_two_outputs():
    labels, losses = (
        ((LABELS > 0).astype("float32")[:, None], CLASSES),
        ("binary_crossentropy", "categorical_crossentropy"),
    )
    found = []
    for metrics in (
        ["acc"],
        ["acc", "mean_absolute_error"],
        [["acc"], ["acc", "mean_absolute_error"]],
        {"b": "acc"},
        {"a": ["acc", "mean_squared_error"], "b": "acc"},
        None,
        "acc",
    ):
        found.append(results(two_outputs(metrics, losses), labels))
    return found


def program_metrics_that_are_functions_and_objects():
    def gap(y_true, y_pred):
        return keras.backend.mean(keras.backend.abs(y_true - y_pred))

    labels = (LABELS > 0).astype("float32")[:, None], CLASSES
    losses = "mse", "categorical_crossentropy"
    found = [results(two_outputs([gap], losses), labels), results(two_outputs([gap, "acc"], "mse"), labels)]
    return [*found, results(two_outputs([keras.metrics.MeanSquaredError(name="square")], losses), labels)]


def program_weighted_metrics_of_two_outputs():
    labels = (LABELS > 0).astype("float32")[:, None], LABELS
    model = two_outputs(["acc"], weighted_metrics=["acc"], loss_weights=[0.5, 2.0])
    return results(model, labels, sample_weight=[np.arange(6) / 6.0, np.ones(6)])


def program_metrics_of_one_output():
    found = []
    for metrics, loss, y in (
        (["acc"], "sparse_categorical_crossentropy", LABELS),
        (["acc", "mean_absolute_error"], "categorical_crossentropy", CLASSES),
        ("acc", "mse", CLASSES),
    ):
        model = keras.Sequential([layers.Dense(3, activation="softmax", input_shape=(3,))])
        with_weights(model)
        model.compile("sgd", loss, metrics=metrics)
        found.append([model.train_on_batch(X, y), model.evaluate(X, y, verbose=0), model.metrics_names])
    return found


class TwoHeads(keras.Model):
    """A model whose outputs have no names."""

    def __init__(self):
        super().__init__()
        self.heads = [layers.Dense(1), layers.Dense(3, activation="softmax")]

    def call(self, x):
        return [head(x) for head in self.heads]


def program_metrics_of_outputs_without_names():
    model = TwoHeads()
    model(X)
    with_weights(model)
    model.compile(keras.optimizers.SGD(0.01), ["mse", "sparse_categorical_crossentropy"], metrics=["acc"])
    return results(model, (Y, LABELS))


# -- losses and metrics that are tensors of a model -------------------------------------------------------------------


def program_losses_that_are_tensors():
    """A model with a loss and a metric of its tensors, and no loss of its outputs; the weights after training."""
    backend = keras.backend
    x = layers.Input((3,))
    hidden = layers.Dense(2, activation="tanh")(x)
    model = keras.Model(x, layers.Dense(3)(hidden))
    with_weights(model)
    gap = backend.mean(backend.square(x - model.outputs[0]), axis=-1)
    model.add_loss(backend.mean(gap + 0.1 * backend.sum(backend.square(hidden), axis=-1)))
    model.add_metric(gap, name="gap", aggregation="mean")
    count = len(model.losses)
    model.compile(keras.optimizers.SGD(0.01), loss=None)
    history = model.fit(X, batch_size=2, epochs=2, shuffle=False, verbose=0).history
    return [sorted(history), history["loss"], history["gap"], sums(model), count, len(model.losses)]


class Told(layers.Layer):
    """The first of its inputs; it notes which of its masks there are."""

    supports_masking = True

    def call(self, inputs, mask=None):
        self.seen = self.told(mask)
        return inputs[0]

    def compute_mask(self, inputs, mask=None):
        self.seen = [*self.seen, *self.told(mask)]

    @staticmethod
    def told(mask):
        return ["none"] if mask is None else [str(each is None) for each in mask]


def program_masks_of_several_inputs():
    """The mask is None where no input has one, and else a list, in `call` and in `compute_mask`."""
    steps, rows = layers.Input((2,)), layers.Input((2, 3))
    masked, found = layers.Embedding(5, 3, mask_zero=True)(steps), []
    for inputs in ([rows, rows], [masked, rows], [rows, masked]):
        layer = Told()
        layer(inputs)
        found.append([*layer.seen])
    return found


class Made(layers.Layer):
    """A layer that makes others in its call."""

    def call(self, inputs, training=None):
        return layers.Dropout(0.5)(layers.LeakyReLU(0.2)(inputs), training=training)


def program_layers_made_in_a_call():
    x = layers.Input((3,))
    (model,) = with_weights(keras.Model(x, Made()(layers.Dense(400)(x))))
    dropped = [np.mean(np.asarray(model(X, training=True)) == 0) for _ in range(4)]
    before = np.array(model.predict(X, verbose=0))
    model.compile(keras.optimizers.SGD(0.0), "mse")
    model.fit(X, np.zeros((6, 400)), epochs=3, verbose=0)
    return [before, model.predict(X, verbose=0), round(2 * float(np.mean(dropped)))]


def program_numbers_of_numpy_as_indices():
    x = layers.Input((3,))
    ends = [x[:, np.int64(1)], x[np.int32(0) :, np.int64(-1)], x[np.int64(0), np.int64(1)]]
    return [*keras.Model(x, ends[:2]).predict(X, verbose=0), len(ends[2].shape)]


# -- optimizers in the words of OptimizerV2 ---------------------------------------------------------------------------


class Warm(legacy.Optimizer):
    """Adam whose rate grows in the first steps, and with decay of some weights, as keras-bert has it."""

    def __init__(self, warm, learning_rate=0.01, weight_decay=0.0, pattern="", name="Warm", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("warm", warm)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("beta_1", 0.9)
        self._set_hyper("weight_decay", weight_decay)
        self.pattern = pattern

    def _create_slots(self, var_list):
        for slot in ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        mean, square = self.get_slot(var, "m"), self.get_slot(var, "v")
        beta, rate, warm = self._get_hyper("beta_1", dtype), self._decayed_lr(dtype), self._get_hyper("warm", dtype)
        step = keras.backend.cast(self.iterations + 1, "float32")
        rate = rate * keras.backend.minimum(step / warm, 1.0)
        mean = mean.assign(beta * mean + (1 - beta) * grad)
        square = square.assign(0.99 * square + 0.01 * grad * grad, use_locking=self._use_locking)
        change = mean / (keras.backend.sqrt(square) + 1e-7)
        if self.pattern and self.pattern in var.name:
            change = change + self._get_hyper("weight_decay", dtype) * var
        return var.assign_sub(rate * change, use_locking=self._use_locking)

    def _resource_apply_sparse(self, grad, var, indices):
        raise NotImplementedError

    def get_config(self):
        names = "warm", "learning_rate", "weight_decay"
        config = {name: self._serialize_hyperparameter(name) for name in names}
        return {**super().get_config(), **config, "pattern": self.pattern}


class Shrinking(legacy.Adam):
    """Adam that first shrinks the weights, by a number of the state of each step."""

    def __init__(self, shrink=0.1, **kwargs):
        super().__init__(**kwargs)
        self.shrink = shrink

    def _prepare_local(self, var_device, var_dtype, apply_state):
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["shrink"] = keras.backend.constant(self.shrink)

    def _resource_apply_dense(self, grad, var, apply_state=None):
        key = var.device, var.dtype.base_dtype
        state = (apply_state or {}).get(key) or self._fallback_apply_state(*key)
        var.assign_sub(state["lr_t"] * state["shrink"] * var)
        return super()._resource_apply_dense(grad, var)


def trained_by(optimizer, model=None):
    """A model, its losses in a few steps, and the shapes of the optimizer's weights."""
    if model is None:
        dense = [layers.Dense(2, activation="tanh", name="one"), layers.Dense(1, kernel_constraint="max_norm")]
        (model,) = with_weights(keras.Sequential([layers.Input((3,)), *dense]))
        model.compile(optimizer, "mse")
    losses = model.fit(X, Y, batch_size=2, epochs=3, shuffle=False, verbose=0).history["loss"]
    return model, [losses, [list(np.shape(w)) for w in model.optimizer.get_weights()], sums(model)]


def program_steps_by_resource_apply_dense():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    optimizers = [
        Warm(4),
        Warm(4, lr=0.1, decay=0.1),
        Warm(4, weight_decay=0.1, pattern="kernel", clipnorm=0.5),
        Warm(2, learning_rate=schedule),
        Shrinking(0.2, learning_rate=0.05),
    ]
    return [trained_by(optimizer)[1] for optimizer in optimizers]


def program_steps_that_lower_a_function():
    """`minimize` of a loss that is a function, with variables in a list or a function."""
    dense = layers.Dense(1, kernel_initializer="ones")
    dense.build((None, 3))
    loss = lambda: keras.backend.mean(keras.backend.square(dense(keras.backend.constant(X)) - Y))  # noqa: E731
    for optimizer in (Warm(2, learning_rate=0.1), legacy.SGD(0.1)):
        optimizer.minimize(loss, dense.trainable_weights)
        optimizer.minimize(loss, lambda: dense.trainable_weights)
    return [np.asarray(keras.backend.get_value(w)) for w in dense.weights]


def program_numbers_of_a_step_are_set_saved_and_loaded():
    model, first = trained_by(Warm(4, learning_rate=0.1, weight_decay=0.1, pattern="one"))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.h5")
        again = keras.models.load_model(f"{folder}/model.h5", custom_objects={"Warm": Warm})
    keras.backend.set_value(model.optimizer.beta_1, 0.5)
    return [first, trained_by(None, again)[1], trained_by(None, model)[1], sorted(again.optimizer.get_config())]


# -- running them -----------------------------------------------------------------------------------------------------


def program_losses_of_some_outputs():
    found = []
    losses = ["mse", None], {"a": "mse"}, {"a": "mse", "b": None}
    for loss in losses if ON_DOVETAIL else losses[-1:] * 3:  # tf_keras knows a dict for all outputs alone
        for targets in ([Z, None], Z, {"a": Z}):
            x = layers.Input((3,))
            a = layers.Dense(2, name="a")(x)
            model = keras.Model(x, [a, layers.Dense(2, name="b")(a)])
            with_weights(model)
            model.compile("sgd", loss)
            found.append([np.ravel(model.train_on_batch(X, targets))[0], *sums(model)])
            model.fit(X, {"a": Z}, epochs=1, verbose=0)
            found.append([np.ravel(model.evaluate(X, {"a": Z}, verbose=0))[0], *sums(model)])
    return found


def program_losses_of_no_output():
    found = []
    for loss in ([None, None], None):
        x = layers.Input((3,))
        a = layers.Dense(2)(x)
        b = layers.Lambda(lambda t: keras.backend.mean(keras.backend.square(t)))(a)
        model = keras.Model(x, [a, b])
        with_weights(model)
        model.add_loss(b * 2.0)
        model.compile("sgd", loss if ON_DOVETAIL else None)
        found += [[np.ravel(model.train_on_batch(X, [] if ON_DOVETAIL else None))[0], *sums(model)] for _ in range(2)]
    return found


class Cropped(layers.Layer):
    """The first two columns twice, with a wrong declared length, which did no harm."""

    def call(self, inputs):
        count = keras.backend.shape(inputs)[1] - 1
        return keras.backend.concatenate([inputs[:, :count], inputs[:, :count]], axis=1)

    def compute_output_shape(self, input_shape):
        return (None, 1)


def program_a_wrong_declared_shape():
    x = layers.Input((3,))
    both = layers.Lambda(lambda pair: pair[0] * keras.backend.concatenate([pair[1], pair[1][:, :1]], axis=1))
    model = keras.Model(x, both([Cropped()(x), x]))
    return [model.predict(X, verbose=0).shape, model.predict(X, verbose=0)]


class Narrow(layers.Layer):
    """A layer that holds a layer, and defines no shape."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = layers.Dense(2)

    def call(self, x, training=None):
        return layers.Dropout(0.5)(self.inner(x), training=training)


class Product(layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1], 7))
        super().build(shape)

    def call(self, x):
        return keras.backend.dot(x, self.kernel)


class SumAndAll(layers.Layer):
    def call(self, inputs):
        return [inputs[0] + inputs[1], keras.backend.concatenate(inputs)]


class Named(layers.Layer):
    def call(self, inputs):
        return {"a": inputs["p"][:, :1], "b": keras.backend.sum(inputs["q"])}


class TwoInputs(layers.Layer):
    def call(self, x, y):
        return x


class Narrowing(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), Narrow()

    def call(self, x, training=False):
        return self.second(self.first(x), training=training)


def program_shapes_of_layers_that_define_none():
    cases = [
        *((Narrow(), (None, 5)), (Narrow(), [None, 4, 5]), (Narrow(), layers.Input((9,)).shape)),
        *((Product(), (3, 5)), (SumAndAll(), [(None, 5), (None, 5)]), (Named(), {"p": (None, 5), "q": (2,)})),
        *((Narrowing(), (None, 5)), (layers.TimeDistributed(Product()), (None, 6, 5))),
    ]
    found = [_texts(layer.compute_output_shape(shape)) for layer, shape in cases]
    found += [[len(layer.get_weights()) for layer, _ in cases], list(cases[0][0](np.ones((2, 5), "float32")).shape)]
    try:
        TwoInputs().compute_output_shape((None, 5))
    except NotImplementedError as error:
        found.append(str("compute_output_shape" in str(error)))
    return found


def _texts(shapes):
    """A shape as text, in lists as shapes were given."""
    if isinstance(shapes, dict):
        return [_texts(shapes[key]) for key in sorted(shapes)]
    return [_texts(each) for each in shapes] if isinstance(shapes, list) else str(tuple(shapes))


class Doubled(layers.Layer):
    """Twice its input in training, unless a call says otherwise."""

    def call(self, x, training=False):
        return x * (2.0 if training else 1.0)


class Holder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = layers.Dropout(0.5)

    def call(self, x):
        return self.inner(x)


def program_layers_follow_the_learning_phase_that_is_set():
    K = keras.backend
    x = np.ones((4, 50), "float32")
    given = layers.Input((50,))
    functional = keras.Model(given, Doubled()(given))
    dropping = keras.Sequential([layers.Input((50,)), layers.Dropout(0.5)])
    normal = layers.BatchNormalization()
    normal.build((None, 50))
    dropping.compile("sgd", "mse")

    def results():
        normal(x)
        dropped = [float(np.any(np.asarray(layer(x)) == 0)) for layer in (dropping, Holder())]
        summed = [np.sum(np.asarray(layer(x))) for layer in (functional, Doubled())]
        told = [np.sum(np.asarray(Doubled()(x, training=training))) for training in (False, True)]
        moving = np.sum(normal.get_weights()[2])
        return [*dropped, *summed, *told, moving]

    try:
        found = [results()]
        with K.learning_phase_scope(1):
            found.append(results())
        found.append(results())
        K.set_learning_phase(1)
        found.append([*results(), np.sum(dropping.predict(x, verbose=0))])
        with K.learning_phase_scope(0):
            found.append(results())
        K.set_learning_phase(0)
        found.append(results())
    finally:
        K.clear_session()
    return found


# -- cells of recurrent layers in other layers ------------------------------------------------------------------------


class Gated(layers.Layer):
    """A layer of graphs that updates the states of nodes by a cell, as spektral's GatedGraphConv does."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def build(self, input_shape):
        self.cell.build(input_shape)
        self.built = True

    def call(self, inputs):
        output = inputs
        for _ in range(2):
            output = self.cell(output + inputs, [output])[0]
        return output

    def compute_output_shape(self, input_shape):
        return input_shape


def program_cells_on_the_nodes_of_graphs():
    """Losses and outputs of cells whose inputs have the shape (graphs, nodes, features)."""
    random, found = np.random.default_rng(2), []
    x, y = (random.normal(size=(6, 5, 3)).astype("float32") for _ in range(2))
    for cell in (
        layers.GRUCell(3),
        layers.GRUCell(3, reset_after=False),
        layers.GRUCell(3, use_bias=False, recurrent_dropout=0.2),
        layers.GRUCell(3, implementation=1),
        layers.SimpleRNNCell(3),
    ):
        model = keras.Sequential([layers.Input((5, 3)), Gated(cell)])
        with_weights(model)
        model.compile("sgd", "mse")
        found += [model.predict(x, verbose=0).ravel().tolist()]
        if not cell.recurrent_dropout:
            found += model.fit(x, y, epochs=2, shuffle=False, verbose=0).history["loss"]
    return found


# -- Nadam ------------------------------------------------------------------------------------------------------------


def of_nadam(**options):
    """A model that Nadam trains."""
    model = keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(3,)), layers.Dense(1)])
    with_weights(model)
    model.compile(legacy.Nadam(0.05, **options), "mse")
    return model


def losses_of(model):
    return [float(model.train_on_batch(X, Y)) for _ in range(5)]


def write_nadam(folder):
    """Write files of Nadam's fifth step, of the class of 2015 to 2022 and of the newer one; return the last model."""
    for name in ("legacy", "newer"):
        model = of_nadam()
        if name == "newer":
            model.compile(keras.optimizers.Nadam(0.05), "mse", run_eagerly=True)
        losses_of(model)
        model.save_weights(f"{folder}/{name}")
        model.save(f"{folder}/{name}.h5")
    return model


@functools.cache
def files_of_keras_2():
    """A folder with the files of `write_nadam` on Keras 2."""
    folder = tempfile.TemporaryDirectory()
    command = f"from {__spec__.name} import write_nadam; write_nadam({folder.name!r})"
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, "-c", command], env=environment, check=True)
    return folder


def program_nadam():
    """Losses of ten steps, some with another decay of the momentum."""
    return [losses_of(model) for model in (of_nadam(), of_nadam(schedule_decay=0.5)) for _ in range(2)]


def program_nadam_goes_on_from_files():
    folder = files_of_keras_2().name
    models = [keras.models.load_model(f"{folder}/legacy.h5"), of_nadam()]
    models[1].load_weights(f"{folder}/legacy")
    with tempfile.TemporaryDirectory() as other:  # Keras 2 loses the product of the newer class in a file
        models.append(keras.models.load_model(f"{folder}/newer.h5") if ON_DOVETAIL else write_nadam(other))
    return list(map(losses_of, models))


if __name__ == "__main__":
    main(globals())

"""Programs for Keras 2 that compute in K's default graph, each a function that returns numbers and names.

They run as the programs of keras2_programs.py do.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import numpy as np

from tests.compat.keras2_programs import CLASSES, LABELS, ON_DOVETAIL, Warm, X, Y, Z, keras, legacy, sums, with_weights
from tests.keras_backends import main

if ON_DOVETAIL:
    from dovetail.compat.tensorflow.compat import v1 as TF
else:
    from tensorflow.compat import v1 as TF

layers = keras.layers


def in_graph():
    """A graph where tf_keras needs one; on Dovetail K's default graph opens by itself."""
    return nullcontext() if ON_DOVETAIL else TF.Graph().as_default()


# -- layers that keep what their calls compute ------------------------------------------------------------------------


class Centers(layers.Layer):
    """The distance to the centre of a class, which moves; the shape is that of what `call` kept."""

    def build(self, input_shape):
        self.centers = self.add_weight(name="centers", shape=(3, 3), initializer="zeros", trainable=False)
        super().build(input_shape)

    def call(self, inputs, mask=None):
        x, classes = inputs
        backend = keras.backend
        moves = backend.dot(backend.transpose(classes), backend.dot(classes, self.centers) - x)
        new = self.centers - 0.5 * moves / (1 + backend.sum(backend.transpose(classes), axis=1, keepdims=True))
        self.result = backend.sum(backend.square(x - backend.dot(classes, self.centers)), axis=1, keepdims=True)
        if ON_DOVETAIL:
            self.add_update((self.centers, new), inputs)
        else:
            self.centers.assign(new)
        return self.result

    def compute_output_shape(self, input_shape):
        return keras.backend.int_shape(self.result)


def program_a_loss_by_centers():
    x, classes = layers.Input((3,)), layers.Input((3,))
    model = keras.Model([x, classes], Centers()([x, classes]))
    model.compile("sgd", lambda y_true, y_pred: 0.5 * keras.backend.sum(y_pred, axis=0))
    losses = [model.train_on_batch([X, CLASSES], np.zeros((6, 1))) for _ in range(3)]
    return [losses, *model.get_weights()]


class Away(layers.Layer):
    """A scaled tensor; `call` sets the attribute to a tensor, which in a graph left the variable as it was."""

    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(3,), initializer="ones", trainable=False)
        super().build(input_shape)

    def call(self, inputs):
        result = inputs * self.scale
        self.scale -= 0.5 * keras.backend.mean(inputs, axis=0)
        return result


def program_a_layer_that_replaces_its_variable_by_a_tensor():
    """By hand: TensorFlow 2 refuses it, and in TensorFlow 1 the variable kept its value."""
    if not ON_DOVETAIL:
        return [X, np.ones(3), 0.0]
    x = layers.Input((3,))
    model = keras.Model(x, Away()(x))
    model.compile("sgd", "mse")
    loss = model.train_on_batch(X, X)
    return [model.predict(X, verbose=0), *model.get_weights(), loss]


def normalized(kernel):
    """A matrix, divided by an estimate of its largest singular value."""
    backend = keras.backend
    rows, columns = kernel.shape.as_list()
    across = backend.dot(backend.constant(np.ones((1, columns))), backend.transpose(kernel))
    across /= backend.sum(across**2) ** 0.5
    along = backend.dot(across, kernel)
    return backend.reshape(kernel / backend.sum(along**2) ** 0.5, [rows, columns])


class Normalized(layers.Dense):
    """A layer whose kernel is a tensor, which `build` makes of the weight."""

    def build(self, input_shape):
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight(shape=shape, initializer=self.kernel_initializer, name="kernel")
        self.kernel = normalized(self.kernel)
        self.bias = None
        self.use_bias = False
        self.built = True


class NormalizedByCalls(layers.Dense):
    """The same for tf_keras, which forgets a weight whose attribute is set to a tensor."""

    def call(self, inputs):
        return keras.backend.dot(inputs, normalized(self.kernel))


def program_a_layer_whose_kernel_is_a_tensor():
    x = layers.Input((3,))
    model = keras.Model(x, Normalized(2)(x) if ON_DOVETAIL else NormalizedByCalls(2, use_bias=False)(x))
    model.compile(legacy.SGD(0.1), "mse")
    with_weights(model)
    losses = [model.train_on_batch(X, Z) for _ in range(3)]
    return [losses, *model.get_weights(), model.predict(X)]


GUESSES, TRUTHS = np.array([0.9, 0.2, 0.7, 0.4, 0.6, 0.1], "float32"), np.array([1, 0, 0, 1, 1, 0])


def iou(matrix):
    right, either = np.diag(matrix), matrix.sum(0) + matrix.sum(1) - np.diag(matrix)
    return sum(right / np.maximum(either, 1)) / max(np.count_nonzero(either), 1)


def program_a_metric_of_tensorflow_in_a_metric_of_keras():
    """By hand: the means of `mean_iou` after each batch; its sums go on, as TensorFlow 1 left them in the graph."""

    def mean_iou(y_true, y_pred):
        score, update = TF.metrics.mean_iou(y_true, TF.to_int32(y_pred > 0.5), 2)
        keras.backend.get_session().run(TF.local_variables_initializer())
        with TF.control_dependencies([update]):
            return keras.backend.mean(keras.backend.stack([TF.identity(score)]), axis=0)

    means, matrix = [], np.zeros((2, 2))
    if ON_DOVETAIL:
        x = layers.Input((1,))
        model = keras.Model(x, layers.Lambda(lambda t: t)(x))
        model.compile("sgd", "mse", metrics=[mean_iou])
        means = [model.evaluate(GUESSES, TRUTHS, batch_size=2, verbose=0)[1] for _ in range(2)]
    for _ in range(0 if ON_DOVETAIL else 2):
        scores = []
        for i in (0, 2, 4):
            np.add.at(matrix, (TRUTHS[i : i + 2], (GUESSES[i : i + 2] > 0.5).astype(int)), 1)
            scores.append(iou(matrix))
        means.append(np.mean(scores))
    return means


# -- tensors of training ----------------------------------------------------------------------------------------------


def program_tensors_of_training():
    """The loss of a model as a tensor, and its gradients, which a function of the model's tensors computes."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((3,))
        hidden = layers.Dropout(0.5)(layers.Dense(4, activation="tanh", kernel_regularizer="l2")(x))
        outputs = layers.Dense(1)(hidden), layers.Dense(3, activation="softmax")(hidden)
        model = keras.Model(x, list(outputs))
        with_weights(model)
        model.add_loss(0.1 * backend.mean(backend.square(outputs[0])))
        model.compile("sgd", ["mse", "sparse_categorical_crossentropy"], loss_weights=[0.5, 2.0], metrics=["mae"])
        loss, targets = model.total_loss, model.targets if ON_DOVETAIL else model._targets
        weights = [weight for weight in model.sample_weights if weight is not None]
        tensors = [*model.inputs, *targets, *weights, backend.learning_phase()]
        function = backend.function(tensors, [loss, *backend.gradients(loss, model.trainable_weights)])
        gradients = backend.function(tensors, model.optimizer.get_gradients(loss, [model.layers[1].kernel]))
        data = [X, Y, LABELS[:, None], *(np.ones(6) for _ in weights), 0]
        return [[float(np.sum(value)) for value in f(data)] for f in (function, gradients)]


def program_inputs_of_given_tensors():
    """Models whose input is a variable, or made of variables and placeholders, as in the transfer of style."""
    backend = keras.backend
    with in_graph():
        variable, image = backend.variable(X[:2]), backend.placeholder((1, 3))
        x = layers.Input(tensor=backend.concatenate([variable, image], axis=0), shape=(3,))
        hidden = layers.Dense(2, activation="tanh")
        model = keras.Model(x, layers.Dense(1)(hidden(x)))
        with_weights(model)
        loss = backend.variable(0.5)
        loss = loss + backend.sum(backend.square(hidden.output[0] - hidden.output[2, :])) + backend.sum(model.output)
        function = backend.function([image], [loss, *backend.gradients(loss, [image, variable])])
        y = layers.Input(tensor=variable)
        own = keras.Model(y, hidden(y))
        features = backend.function([], [own.output, *backend.gradients(backend.sum(own.output), variable)])
        return [*function([X[3:4]]), *features([])]


def program_functions_that_run_an_operation_of_an_optimizer():
    """The actor of DDPG: a gradient of TensorFlow, and its optimizer, in the updates of a function of K."""
    backend = keras.backend
    with in_graph():
        x, weights = layers.Input((3,)), layers.Input((2,))
        model = keras.Model(x, layers.Dense(2, activation="tanh")(x))
        gradients = TF.gradients(model.output, model.trainable_weights, -weights)
        step = TF.train.GradientDescentOptimizer(0.1).apply_gradients(zip(gradients, model.weights, strict=True))
        function = backend.function([x, weights, backend.learning_phase()], [model.output], updates=[step])
        with_weights(model)
        outputs = [np.shape(function([X, Z, 1])[0]) for _ in range(2)]
        return [outputs, sums(model), *model.get_weights()]


OPTIMIZERS = (
    ("AdagradOptimizer", (0.1, 0.2), {}),
    ("AdadeltaOptimizer", (0.5, 0.9), {}),
    ("RMSPropOptimizer", (0.01,), {}),
    ("RMSPropOptimizer", (0.01, 0.8, 0.5, 1e-6), {"centered": True}),
)


def program_optimizers_of_tensorflow_compile_a_model():
    found = []
    for name, args, kwargs in OPTIMIZERS:
        with in_graph():
            x = layers.Input((3,))
            model = keras.Model(x, layers.Dense(1)(x))
            optimizer = getattr(TF.train, name)(*args, **kwargs)
            if ON_DOVETAIL:
                model.compile(optimizer, "mse")
                with_weights(model)
                losses = [model.train_on_batch(X, Y) for _ in range(3)]
            else:
                loss = keras.backend.mean(keras.backend.square(model.output - Y))
                step = keras.backend.function([x], [loss], updates=[optimizer.minimize(loss)])
                sys.modules["tf_keras.src.backend"].get_session().run(TF.global_variables_initializer())
                with_weights(model)
                losses = [step([X])[0] for _ in range(3)]
            found.append([losses, *model.get_weights()])
    return found


def program_boxes_of_a_model_and_a_placeholder():
    """Boxes that a placeholder scales and scores of the model alone, as in the evaluation of YOLO."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((3,))
        model = keras.Model(x, layers.Dense(5, activation="sigmoid")(x))
        with_weights(model)
        size = backend.placeholder((2,))
        boxes = model.output[:, :4] * backend.concatenate([size, size])
        kept = TF.image.non_max_suppression(boxes, model.output[:, 4], backend.constant(4, "int32"), iou_threshold=0.3)
        (found,) = backend.function([x, size], [backend.gather(boxes, kept)])([X, np.array([2.0, 3.0])])
        return [found.shape, found]


def program_boxes_of_each_class():
    """Scores of the model pick boxes that a placeholder scales; then a loop carries one and captures the other."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((3,))
        model = keras.Model(x, layers.Dense(6, activation="sigmoid")(x))
        with_weights(model)
        size = backend.placeholder((2,))
        boxes, scores = model.output[:, :4] * backend.concatenate([size, size]), model.output[:, 4:]
        found = []
        for mask, numbers in zip(TF.unstack(scores >= 0.4, 2, 1), TF.unstack(scores, 2, 1), strict=True):
            chosen = TF.boolean_mask(numbers, mask)
            kept = TF.image.non_max_suppression(TF.boolean_mask(boxes, mask), chosen, 3, iou_threshold=0.3)
            found.append(backend.gather(chosen, kept))
        _, total = TF.while_loop(
            lambda i, total: i < 3, lambda i, total: (i + 1, total * scores[0, 0] + boxes[i, 0]), [0, boxes[0, 1]]
        )
        return backend.function([x, size], [*found, total])([X, np.array([2.0, 3.0])])


def program_lambdas_of_a_loop_and_of_names_that_change():
    """Functions were called once, at once: later values of their names do not count."""
    with in_graph():
        x = layers.Input((3,))
        parts = [layers.Lambda(lambda t: t[:, i : i + 1] * (i + 1))(x) for i in range(3)]  # noqa: B023  the case
        scale = 2.0
        y = layers.Lambda(lambda t: t * scale)(layers.concatenate(parts))
        scale = 5.0
        number = layers.Lambda(lambda t: TF.constant([[scale, 2.0, 3.0]]))(y)
        model = keras.Model(x, layers.Lambda(lambda pair: pair[0] + pair[1])([y, number]))
        scale = 7.0
        return [model.predict_on_batch(X).shape, model.predict_on_batch(X)]


def program_steps_of_unknown_number():
    backend = keras.backend
    with in_graph():
        x = layers.Input((None, 3))
        model = keras.Model(x, layers.TimeDistributed(layers.Dense(2))(x))
        with_weights(model)
        (found,) = backend.function([x], [model.output])([np.stack([X[:4], X[1:5]])])
        return [found.shape, found]


def program_updates_in_the_order_of_keras_1():
    """`get_updates(params, constraints, loss)`; tf_keras has the later order."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((3,))
        model = keras.Model(x, layers.Dense(2)(x))
        loss, optimizer = backend.mean(backend.square(model.output)), legacy.SGD(0.1)
        params = model.trainable_weights
        updates = optimizer.get_updates(*((params, [], loss) if ON_DOVETAIL else (loss, params)))
        step = backend.function([x], [loss], updates=updates)
        with_weights(model)
        return [step([X])[0], step([X])[0], *model.get_weights()]


def trained(model, *data):
    """The results of three steps, and the weights."""
    return [*(model.train_on_batch(*data) for _ in range(3)), *model.get_weights()]


def linear(x, *sizes):
    model = keras.Model(x, [layers.Dense(size, name=f"linear_{size}")(x) for size in sizes])
    return with_weights(model)[0]


def program_targets_of_a_placeholder():
    """Integers for a loss that asks for them; Keras else makes floats of targets."""

    def loss(y_true, y_pred):
        labels = TF.squeeze(y_true, 1)
        return TF.reduce_mean(TF.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y_pred))

    with in_graph():
        model = linear(layers.Input((3,)), 3)
        model.compile(legacy.SGD(0.1), loss, target_tensors=[TF.placeholder("int32", (None, None))])
        found = trained(model, X, LABELS[:, None])
        found += model.fit(X, LABELS[:, None], batch_size=3, shuffle=False, verbose=0).history["loss"]
        return [*found, model.evaluate(X, LABELS[:, None], verbose=0)]


def program_targets_that_the_model_computes():
    with in_graph():
        x = layers.Input((3,))
        model, twice = linear(x, 3), layers.Lambda(lambda v: 2 * v)(x)
        model.compile(legacy.SGD(0.1), "mse", ["mae"], target_tensors=twice)
        found = trained(model, X, None)
        return [*found, *model.fit(X, batch_size=2, shuffle=False, verbose=0).history["loss"]]


def program_targets_of_some_outputs():
    with in_graph():
        for targets in ({"linear_1": keras.backend.constant(Y)}, [None, keras.backend.variable(Y)]):
            model = linear(layers.Input((3,)), 3, 1)
            model.compile(legacy.SGD(0.1), "mse", target_tensors=targets)
            found = trained(model, X, CLASSES)
        return found


def program_inputs_and_targets_that_are_constants():
    with in_graph():
        model = linear(layers.Input(tensor=keras.backend.constant(X)), 3)
        model.compile(legacy.SGD(0.1), "mse", ["mae"], target_tensors=[keras.backend.constant(CLASSES)])
        found = trained(model, None, None)
        found += model.fit(epochs=2, steps_per_epoch=2, verbose=0).history["loss"]
        both = layers.Input((3,)), layers.Input(tensor=keras.backend.constant(X))
        one = with_weights(keras.Model(both, layers.Dense(3)(layers.add(both))))[0]
        one.compile(legacy.SGD(0.1), "mse")
        return [*found, model.evaluate(steps=2, verbose=0), *trained(one, X, CLASSES)]


def program_inputs_and_targets_of_an_iterator():
    """The elements of a data set, of which each step takes the next for both."""
    with in_graph():
        keras.backend.placeholder((1,))  # K's graph is open from here on; without a graph, an iterator gives values
        data = TF.data.Dataset.from_tensor_slices((X, CLASSES)).repeat().batch(4)
        x, y = TF.data.make_one_shot_iterator(data).get_next()
        model = linear(layers.Input(tensor=x), 3)
        model.compile(legacy.SGD(0.1), "mse", target_tensors=[y])
        found = trained(model, None, None)
        return [*found, *model.fit(epochs=2, steps_per_epoch=3, verbose=0).history["loss"]]


def program_target_tensors_that_do_not_fit():
    with in_graph():
        model, problems = linear(layers.Input((3,)), 3), []
        y = keras.backend.placeholder((None, 3))
        for targets in ([y, y], {"other": y}):
            try:
                model.compile("sgd", "mse", target_tensors=targets)
            except ValueError as problem:
                problems.append(type(problem).__name__)
        return [problems, 2]


def program_gradients_by_the_inner_tensors_of_a_model_in_a_sequential():
    """On tf_keras the layers are in one model: it cannot follow a gradient into another one, as Keras 2.1 did."""
    backend = keras.backend
    with in_graph():
        convolution = layers.Conv2D(2, 2, activation="relu", input_shape=(4, 4, 1), name="convolution")
        first, last = [convolution, layers.MaxPooling2D(3)], [layers.Flatten(), layers.Dense(3)]
        inner = [keras.Sequential(first)] if ON_DOVETAIL else first
        (model,) = with_weights(keras.Sequential([*inner, *last]))
        source = model.layers[0] if ON_DOVETAIL else model
        output = source.get_layer("convolution").output
        (gradient,) = backend.gradients(model.output[:, 1], output)
        images = np.arange(32, dtype="float32").reshape(2, 4, 4, 1)
        shape = source.get_output_shape_at(0) if ON_DOVETAIL else (None, 1, 1, 2)
        model.compile("sgd", "mse")
        steps = [
            backend.function([each], [output, gradient, model.output])([images]) for each in (model.input, source.input)
        ]
        seen = keras.Model(model.input, [output, model.output]).predict(images, verbose=0)
        return [
            *steps,
            *seen,
            model.train_on_batch(images, np.zeros((2, 3))),
            [n or 0 for n in shape],
            len(model.get_weights()),
        ]


def program_gradients_between_the_inputs_of_a_lambda():
    """One input is computed from the other, and a function mentions another tensor of the model."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((4, 1))
        pooled = layers.MaxPooling1D(2)(x)
        where = layers.Lambda(lambda both: backend.gradients(backend.sum(both[1]), both[0])[0])([x, pooled])
        twice = layers.Lambda(lambda tensor: backend.gradients(backend.square(tensor), x)[0])(pooled)
        inside = layers.Lambda(lambda tensor: backend.gradients(backend.square(tensor), tensor)[0])(pooled)
        signals = np.array([[1.0, 2.0, 4.0, 3.0], [5.0, 0.0, 1.0, 2.0]])[..., None]
        return list(keras.Model(x, [where, twice, inside]).predict(signals, verbose=0))


def program_gradients_of_tensorflow_are_tensors_of_the_model():
    """They are outputs of other models, also with gradients that arrive, constants, and zeros; K runs them, too."""
    backend = keras.backend
    with in_graph():
        x = layers.Input((3,))
        last = layers.Dense(1, use_bias=False)
        y = layers.Dense(2)(x)
        square = layers.Lambda(lambda tensor: tensor * tensor)(y)
        z = last(square)
        with_weights(keras.Model(x, z))
        found = [
            *TF.gradients([z, square], [x, y, square]),
            *TF.gradients([z, y], [x], grad_ys=[2 * z, backend.ones_like(y)]),
            *TF.gradients([z, y], [x], stop_gradients=[square]),
            *TF.gradients(TF.gradients(z, x), x),
            *TF.gradients(y, [z], unconnected_gradients="zero"),
            layers.Lambda(lambda both: TF.gradients(both[0], both[1], both[0])[0])([y, x]),
        ]
        nothing = TF.gradients(y, [z]) + TF.gradients(z, [x], stop_gradients=[square])
        run = backend.function([x], TF.gradients(z, [last.kernel, x]))
        return [*keras.Model(x, found).predict(X, verbose=0), *run([X]), str(nothing)]


def program_steps_of_optimizers_in_a_session():
    """The operation of a step, of classes of Keras and of a program, and the variables that it moves."""
    found, data = [], np.linspace(-1, 1, 18).reshape(6, 3)
    for make in (
        lambda: Warm(2, learning_rate=0.1, decay=0.1),
        lambda: legacy.Adam(0.05),
        lambda: legacy.SGD(0.05, momentum=0.9, decay=0.1),
    ):
        with TF.Graph().as_default(), TF.Session() as session:
            x = TF.placeholder("float32", [None, 3])
            weight = TF.get_variable("w", [3, 1], initializer=TF.ones_initializer(), use_resource=True)
            dense = layers.Dense(1, kernel_initializer="ones")
            loss = TF.reduce_mean(TF.square(dense(TF.matmul(x, weight)) - 1.0))
            variables, optimizer = [weight, *dense.trainable_weights], make()
            step = optimizer.apply_gradients(zip(TF.gradients(loss, variables), variables, strict=True))
            session.run(TF.global_variables_initializer())
            losses = [session.run([loss, step], {x: data})[0] for _ in range(4)]
            found.append([losses, *session.run(variables)])
    return found


# -- updates, and seeds -----------------------------------------------------------------------------------------------


class Counted(layers.Layer):
    """A layer that adds the sum of its inputs to a weight."""

    def build(self, input_shape):
        self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)
        super().build(input_shape)

    def call(self, inputs):
        self.add_update(keras.backend.update_add(self.count, keras.backend.sum(inputs)))
        return 1.0 * inputs


def program_updates_of_layers_run_if_they_are_told_to():
    """Two calls of one model, each with its own updates; the phase, frozen layers, and states of a recurrent layer."""
    backend = keras.backend
    with in_graph():
        dense, normal, counted = layers.Dense(3, use_bias=False), layers.BatchNormalization(momentum=0.5), Counted()
        model = keras.Sequential([layers.Input((3,)), dense, normal])
        with_weights(model)
        first, second, phase = backend.placeholder((None, 3)), backend.placeholder((None, 3)), backend.learning_phase()
        results = [counted(model(x)) for x in (first, second)]
        updates = model.get_updates_for([first]) + counted.get_updates_for([first])
        steps = legacy.SGD(0.1).get_updates(backend.mean(results[0] ** 2), model.trainable_weights)
        runs = [
            backend.function([first, phase], [results[0]]),
            backend.function([second, phase], [results[1]]),
            backend.function([first, phase], [results[0]], updates),
            backend.function(
                [second, phase], [results[1]], model.get_updates_for([second]) + counted.get_updates_for([second])
            ),
            backend.function([first, phase], [results[0]], updates + steps),
        ]
        found = [len(updates)]
        for run in runs:
            for told in (0, 1, 1):
                found += [run([X, told])[0], *sums(model, counted)]
        normal.trainable = False
        found += [len(normal.updates), len(model.get_updates_for([first])), len(counted.get_updates_for([second]))]
        recurrent, x = layers.SimpleRNN(2, stateful=True), backend.placeholder((2, 4, 1))
        y = recurrent(x)
        with_weights(recurrent)
        data = X[:4, :2].T[..., None]
        for run in (backend.function([x], [y]), backend.function([x], [y], recurrent.updates)):
            found += [run([data])[0] for _ in range(3)]
        return found


class Between(layers.Add):
    """A random point between two inputs."""

    def _merge_function(self, inputs):
        share = keras.backend.random_uniform((keras.backend.shape(inputs[0])[0], 1))
        return share * inputs[0] + (1 - share) * inputs[1]


def program_numpy_gives_seeds_while_a_model_is_built():
    """Draws of NumPy's generator: between them, layers that draw are called, also in a model, and the model trains."""
    backend = keras.backend
    with in_graph():
        np.random.seed(5)  # noqa: NPY002  # the generator of programs
        x, z = layers.Input((3,)), layers.Input((3,))
        noise = layers.Lambda(lambda tensor: tensor + backend.random_normal((1, 3)) * backend.random_uniform((1, 3)))
        model = keras.Model([x, z], Between()([noise(x), noise(z)]))
        draw = np.random.randint
        found = [draw(1000)]
        outer = keras.Model([x, z], layers.Dense(1)(model([x, z])))
        found += [draw(1000)]
        outer.compile("sgd", "mse")
        data = [X, 2 * X]
        outer.train_on_batch(data, Y)
        outer.fit(data, Y, batch_size=4, shuffle=False, verbose=0)
        outer.evaluate(data, Y, verbose=0)
        points = [model.predict(data, verbose=0), model.predict(data, verbose=0)]
        return [*found, draw(1000), float(np.abs(points[0] - points[1]).max() > 0)]


if __name__ == "__main__":
    main(globals())

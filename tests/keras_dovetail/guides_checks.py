"""Checks of training steps and loops that are written for one of Keras' other backends, as in its guides.

Each raises an error in its first step, which names the line of the program and shows a step for Dovetail.  No weight
has changed by then.
"""

from __future__ import annotations

import keras_dovetail  # noqa: F401  # must be first: it makes Keras run on Dovetail

# isort: split
import inspect

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.keras_backends import ENGINES, main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(16, 4)).astype("float32"), RANDOM.normal(size=(16, 1)).astype("float32")
STEP = ("with dovetail.GradientTape() as tape:", "loss = loss_fn(y, model(x, ", "optimizer.apply(tape.gradient(loss, ")
LOSS = keras.losses.MeanSquaredError()


def small(kind=keras.Model):
    inputs = keras.Input((4,))
    return kind(inputs, layers.Dense(1)(layers.BatchNormalization()(layers.Dense(3, activation="tanh")(inputs))))


def compiled(step, name="train_step", **options):
    """A model with a step of its own."""
    model = small(type("Own", (keras.Model,), {name: step}))
    model.compile("sgd", "mse", **options)
    return model


def fitted(step):
    for eagerly in (False, True):
        model = compiled(step, run_eagerly=eagerly)
        yield model, lambda model=model: model.fit(X, Y, verbose=0)


def layered(call):
    """A model that a program builds with a layer of its own."""
    layer = type("Own", (layers.Layer,), {"call": call})
    yield small(), lambda: keras.Sequential([keras.Input((4,)), layer()])


def looped(loop):
    model = small()
    yield model, lambda: loop(model, keras.optimizers.SGD(0.1))


def refused(cases, program, kind, *words):
    """Check that a program fails at a line `# here` of it, with the words and the step in the error."""
    source, first = inspect.getsourcelines(program)
    lines = [first + n for n, text in enumerate(source) if text.rstrip().endswith("# here")]
    for model, run in cases:
        before = [weight.numpy() for weight in model.trainable_weights]
        try:
            run()
        except kind as error:
            text = str(error)
        else:
            raise AssertionError(f"{program.__name__} raised nothing")
        for word in (*STEP, *words):
            assert word in text, f"{program.__name__}: {word!r} is not in {text!r}"
        places = [place for n in lines for place in (f"guides_checks.py:{n}: ", f'guides_checks.py", line {n}, ')]
        assert any(place in text for place in places), f"{program.__name__}: no line of {lines} is in {text!r}"
        for weight, value in zip(model.trainable_weights, before, strict=True):
            np.testing.assert_array_equal(weight, value)


def check_steps_and_loops_for_torch():
    for engine in ENGINES:
        with dt.engine(engine):
            for step in STEPS_FOR_TORCH:
                refused(fitted(step), step, (AttributeError, TypeError), "PyTorch")
            for loop in LOOPS_FOR_TORCH:
                refused(looped(loop), loop, (AttributeError, TypeError), "PyTorch")


if "torch" in ENGINES:

    def check_layers_for_torch():
        refused(layered(layer_with_a_loss_of_torch), layer_with_a_loss_of_torch, TypeError, "PyTorch")


def step_with_zero_grad(self, data):
    self.zero_grad()  # here


def step_with_backward(self, data):
    x, y = data
    loss = self.compute_loss(y=y, y_pred=self(x, training=True))
    loss.backward()  # here
    self.optimizer.apply([v.value.grad for v in self.trainable_weights], self.trainable_weights)


def step_with_accumulated_gradients(self, data):
    x, y = data
    for part in range(2):
        loss = self.compute_loss(y=y[part::2], y_pred=self(x[part::2], training=True))
        (loss / 2).backward()  # here


def step_with_gradients_of_values(self, data):
    self(data[0], training=True)
    return [v.value.grad for v in self.trainable_weights]  # here


def step_with_gradients_of_weights(self, data):
    return [v.grad for v in self.trainable_weights]  # here


def step_with_a_loss_of_torch(self, data):
    import torch

    x, y = data
    return torch.nn.functional.mse_loss(self(x, training=True), y)  # here


def step_with_tensors_of_torch(self, data):
    import torch

    x = torch.tensor(data[0])  # here
    return torch.concat([self(x), x])  # here


def layer_with_a_loss_of_torch(self, inputs):
    import torch

    self.add_loss(torch.sum(inputs))  # here


def loop_with_an_optimizer_of_torch(model, optimizer):
    import torch

    return torch.optim.SGD(model.parameters(), lr=0.1)  # here


def loop_with_zero_grad(model, optimizer):
    optimizer.zero_grad()  # here


def loop_with_optimizer_step(model, optimizer):
    LOSS(Y, model(X))
    optimizer.step()  # here


def loop_with_modes(model, optimizer):
    model.train()  # here


def loop_with_a_loss_of_torch(model, optimizer):
    import torch

    loss_fn = torch.nn.MSELoss()
    return loss_fn(model(torch.from_numpy(X)), torch.from_numpy(Y))  # here


def loop_with_backward(model, optimizer):
    import torch

    loss = LOSS(torch.from_numpy(Y), model(torch.from_numpy(X)))
    loss.backward()  # here


def loop_with_frozen_weights(model, optimizer):
    for weight in model.trainable_weights:
        weight.requires_grad_(False)  # here


STEPS_FOR_TORCH = (
    step_with_zero_grad,
    step_with_backward,
    step_with_accumulated_gradients,
    step_with_gradients_of_values,
    step_with_gradients_of_weights,
    *((step_with_a_loss_of_torch, step_with_tensors_of_torch) if "torch" in ENGINES else ()),
)
LOOPS_FOR_TORCH = (
    loop_with_zero_grad,
    loop_with_optimizer_step,
    loop_with_modes,
    loop_with_frozen_weights,
    *((loop_with_an_optimizer_of_torch, loop_with_a_loss_of_torch, loop_with_backward) if "torch" in ENGINES else ()),
)


if "tensorflow" in ENGINES:

    def step_with_a_tape_of_tensorflow(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)  # here

    def step_with_tensors_of_tensorflow(self, data):
        import tensorflow as tf

        x, y = data
        both = tf.concat([self(x), y], axis=0)  # here
        with tf.GradientTape() as tape:
            loss = LOSS(both, self(tf.concat([x, x], axis=0)))
        return tape.gradient(loss, self.trainable_weights)  # here

    def layer_with_a_loss_of_tensorflow(self, inputs):
        import tensorflow as tf

        self.add_loss(tf.reduce_sum(inputs))  # here

    def loop_with_a_tape_of_tensorflow(model, optimizer):
        import tensorflow as tf

        for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(8):
            with tf.GradientTape() as tape:
                loss = LOSS(y, model(x, training=True))
            optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)  # here

    def loop_with_a_function_of_tensorflow(model, optimizer):
        import tensorflow as tf

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = LOSS(y, model(x, training=True))  # here
            optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)  # here

        step(tf.constant(X), tf.constant(Y))

    def check_steps_and_loops_for_tensorflow():
        for engine in ENGINES:
            with dt.engine(engine):
                step = step_with_a_tape_of_tensorflow
                refused(fitted(step), step, AttributeError, "TensorFlow's GradientTape")
                step = step_with_tensors_of_tensorflow
                refused(fitted(step), step, (AttributeError, TypeError), "TensorFlow")
                layer = layer_with_a_loss_of_tensorflow
                refused(layered(layer), layer, TypeError, "TensorFlow needs a value")
                loop = loop_with_a_tape_of_tensorflow
                refused(looped(loop), loop, AttributeError, "TensorFlow's GradientTape")
                loop = loop_with_a_function_of_tensorflow
                refused(looped(loop), loop, (AttributeError, TypeError), "dovetail.")


def stateless_train_step(self, state, data):  # here
    return {}, state


def stateless_test_step(self, state, data):  # here
    return {}, state


def check_steps_for_jax():
    for name, step in (("train_step", stateless_train_step), ("test_step", stateless_test_step)):
        model = small(type("Own", (keras.Model,), {name: step}))
        cases = [(model, lambda model=model: model.compile("sgd", "mse"))]
        refused(cases, step, TypeError, f"{name}(self, state, data)", f"{name}(self, data)")
        assert not model.compiled and not hasattr(model, "optimizer")


if "jax" in ENGINES:

    def layer_with_a_loss_of_jax(self, inputs):
        import jax

        self.add_loss(jax.numpy.sum(inputs))  # here

    def check_layers_for_jax():
        refused(layered(layer_with_a_loss_of_jax), layer_with_a_loss_of_jax, TypeError, "JAX needs a value")

    def check_functions_of_jax_take_weights_themselves():
        """Check a loop whose state has the weights at first, not their values; it gives the numbers of a tape."""
        import jax

        for engine in ENGINES:
            with dt.engine(engine):
                model, other, optimizer = small(), small(), keras.optimizers.SGD(0.1)
                other.set_weights(model.get_weights())
                optimizer.build(model.trainable_variables)

                def loss_of(trained, others, x, y, model=model):
                    outputs, others = model.stateless_call(trained, others, x, training=True)
                    return LOSS(y, outputs), others

                @jax.jit
                def step(state, x, y, loss_of=loss_of, optimizer=optimizer):
                    trained, others, slots = state
                    (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained, others, x, y)
                    trained, slots = optimizer.stateless_apply(slots, gradients, trained)
                    return loss, (trained, others, slots)

                state = model.trainable_variables, model.non_trainable_variables, optimizer.variables
                own = keras.optimizers.SGD(0.1)
                for _ in range(3):
                    loss, state = step(state, X, Y)
                    with dt.GradientTape() as tape:
                        wanted = LOSS(Y, other(X, training=True))
                    own.apply(tape.gradient(wanted, other.trainable_weights), other.trainable_weights)
                    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
                for value, weight in zip(state[0], other.trainable_weights, strict=True):
                    np.testing.assert_allclose(value, weight, rtol=1e-4, atol=1e-6)


def check_steps_of_other_names_are_left_alone():
    """A step that the program calls itself may take what it will."""
    model = compiled(lambda self, x, y: {"loss": LOSS(y, self(x))})
    assert model.train_step(X, Y)["loss"].shape == ()
    assert [type(compiled(lambda self, data, state=None: {}, name)) for name in ("train_step", "predict_step")]


def check_a_model_may_have_the_names():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.parameters = {"rate": 1.0}
            self.dense = layers.Dense(1)

        def train(self):
            return self.parameters["rate"]

        def call(self, x):
            return self.dense(x)

    model = Own()
    model(X)
    assert model.train() == 1.0 and not hasattr(model, "zero_grad") and not hasattr(dt.ops.ones(2), "requires_grad")


main(globals())

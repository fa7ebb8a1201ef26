"""Optimizers of Keras on Dovetail: their numbers, and steps that are one operation."""

from __future__ import annotations

from types import SimpleNamespace

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.compat import tensorflow as tf
from keras_dovetail.src.optimizer import _alike
from tests.keras_backends import main
from tests.keras_dovetail.training_checks import ENGINES, RANDOM, losses, mlp, near


def check_optimizers():
    """Check accumulated gradients, averages of weights and scaled losses; a loss scale changes no gradient."""
    near(losses(mlp(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-2)))), losses(mlp()))
    sgd = keras.optimizers.SGD
    for make in (
        lambda: sgd(0.1, gradient_accumulation_steps=2),
        lambda: sgd(0.1, use_ema=True, ema_overwrite_frequency=2),
        lambda: sgd(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), global_clipnorm=0.1),
    ):
        wanted = losses(mlp(make(), run_eagerly=True))
        near(losses(mlp(make())), wanted)
        assert wanted[-1] < wanted[0]


def check_steps_are_one_op():
    """Check the numbers of steps against Keras' own update.

    That update runs if a user's class overrides it, or for amsgrad.
    """
    adam, sgd = keras.optimizers.Adam, keras.optimizers.SGD
    steps = {adam: "AdamStep", sgd: "SgdStep"}
    cases = [
        *((name, adam, {"weight_decay": 0.1}) for name in ENGINES),
        *((name, sgd, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}) for name in ENGINES),
        ("numpy", sgd, {"momentum": 0.9}),
        ("numpy", sgd, {}),
    ]
    for name, kind, options in cases:
        assert count_of(steps[kind], name, kind, options) == 1
    assert count_of("AdamStep", "numpy", adam, {"amsgrad": True}) == 0


def count_of(step, engine, kind, options):
    """The number of operations of a type in a training step whose numbers equal an overridden update's."""
    with dt.engine(engine):
        models = [mlp(each(1e-2, **options)) for each in (kind, with_own_update(kind))]
        near(*map(losses, models))
    counts = [types_of_step(model).count(step) for model in models]
    assert counts[1] == 0
    return counts[0]


def with_own_update(kind):
    class Own(kind):
        def update_step(self, gradient, variable, learning_rate):
            return super().update_step(gradient, variable, learning_rate)

    return Own


def types_of_step(model):
    concrete = next(iter(model.train_function._one._traces.values())).concrete
    return [op.type for op in concrete.graph.operations]


def check_steps_of_several_dtypes():
    """Check one op for the variables of each dtype, with gradients of another; frozen variables stay."""
    keras.utils.set_random_seed(1)  # bfloat16 makes large differences of small ones
    inputs = keras.Input((4,))
    x = keras.layers.Dense(3, dtype="mixed_bfloat16")(keras.layers.Dense(3, dtype="float64")(inputs))
    outputs = keras.layers.Dense(2, dtype="float32")(keras.layers.Dense(3, trainable=False)(x))
    net = keras.Model(inputs, outputs)
    x, y = RANDOM.normal(size=(6, 4)), RANDOM.normal(size=(6, 2))
    for kind, step in ((keras.optimizers.Adam, "AdamStep"), (keras.optimizers.SGD, "SgdStep")):
        models = [keras.models.clone_model(net) for _ in range(2)]
        for model, each in zip(models, (kind, with_own_update(kind)), strict=True):
            model.set_weights(net.get_weights())
            model.compile(each(0.01), "mse")
            model.fit(x, y, epochs=3, verbose=0)
        assert types_of_step(models[0]).count(step) == 2
        for weight, other, was in zip(*[model.weights for model in (*models, net)], strict=True):
            near(weight.numpy(), other.numpy())
            assert np.array_equal(weight.numpy(), was.numpy()) != weight.trainable


def check_steps_of_several_devices():
    """Check one op for the variables of each device.

    The test uses stand-ins for variables, since few machines have two devices.
    """
    places = "gpu:0", "cpu:0", "gpu:0"
    variables = [SimpleNamespace(dtype="float32", _value=SimpleNamespace(device=place)) for place in places]
    first, second = _alike("abc", variables)
    assert (first.variables, first.gradients) == (variables[::2], ["a", "c"])
    assert (second.variables, second.gradients) == ([variables[1]], ["b"])


def trained(variable, optimizer):
    """Four steps by a tape, as programs of TensorFlow write them, and two in a compiled function."""

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable**3)
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
        return loss

    compiled = dt.function(step)
    return [float(each()) for each in (step, step, step, step, compiled, compiled)]


def check_optimizers_train_variables_of_k_and_of_tensorflows_names():
    """Check that the numbers and the optimizer's state equal those for Keras' own variables."""
    kinds = {
        "Keras": lambda: keras.Variable([1.0, 2.0]),
        "TensorFlow": lambda: tf.Variable([1.0, 2.0], name="layer/w"),
        "K": lambda: K.variable([1.0, 2.0]),
        "Dovetail": lambda: dt.Variable([1.0, 2.0]),
    }
    optimizers = (
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.AdamW(0.1, weight_decay=0.1),
        lambda: keras.optimizers.RMSprop(0.1, use_ema=True, ema_overwrite_frequency=2),
        lambda: keras.optimizers.Nadam(0.1, gradient_accumulation_steps=2),
        lambda: keras.optimizers.Lion(0.1, clipnorm=1.0),
    )
    for name in ENGINES:
        with dt.engine(name):
            for make in optimizers:
                found = {}
                for kind, variable in kinds.items():
                    optimizer = make()
                    found[kind] = [*trained(variable(), optimizer), len(optimizer.variables)]
                assert found["Keras"][5] < found["Keras"][0]
                for kind in kinds:
                    near(found[kind], found["Keras"])


def check_an_optimizer_is_built_with_variables_of_several_kinds():
    ours, theirs = tf.Variable(1.0), keras.Variable(2.0)
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([ours, theirs])
    optimizer.apply([np.float32(1), np.float32(1)])
    optimizer.apply([np.float32(1), np.float32(1)], [ours, theirs])
    near([float(ours), float(theirs)], [0.8, 1.8])
    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply([np.float32(1)], [tf.Variable(3.0)])
    assert len(optimizer.variables) == 6


if __name__ == "__main__":
    main(globals())

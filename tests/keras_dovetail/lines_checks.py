"""Checks of the lines that models of Keras remember: of errors, profiles and explanations, one for each layer."""

from __future__ import annotations

import inspect

import keras_dovetail  # noqa: F401  must be first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
from keras import layers

import dovetail as dt
from dovetail import backend as K
from tests.keras_backends import main

X = np.ones((4, 3), "float32")


def here():
    """The number of the calling line."""
    return inspect.currentframe().f_back.f_lineno


def lines_of(model, type_name="MatMul"):
    """The numbers of the lines of a model's operations of one type."""
    return [op.where[1] for op in dt.graph_of(model, X).operations if op.type == type_name]


def shared():
    """A model with one layer that is called twice, and the lines of the calls."""
    image, dense = keras.Input((3,)), layers.Dense(3)
    x, first = dense(image), here()
    x, second = layers.Dense(
        3, activation="relu"
    )(x), here()  # fmt: skip
    x, third = dense(x), here()
    return keras.Model(image, x), [first, second - 2, third]


def check_a_call_of_a_layer():
    """Check each call of a shared layer, and a copy, which has the lines of its original."""
    model, numbers = shared()
    assert lines_of(model) == numbers
    assert lines_of(keras.models.clone_model(model)) == numbers
    outer = keras.Model(again := keras.Input((3,)), model(again))
    assert lines_of(outer) == numbers


def check_functions_of_keras_and_of_k():
    image = keras.Input((3,))
    x, first = keras.ops.sin(image), here()
    x, second = K.tanh(x), here()
    x, third = x * 2, here()
    model = keras.Model(image, x)
    assert [lines_of(model, name) for name in ("Sin", "Tanh", "Mul")] == [[first], [second], [third]]


def check_a_sequential():
    """Check that a layer's line is the one that made it, also if the model is built by `fit`."""
    first, second = here() + 2, here() + 3
    stack = [
        layers.Dense(4),
        layers.Dense(2),
    ]
    model = keras.Sequential(stack)
    model.compile("sgd", "mse")
    model.fit(X, np.ones((4, 2)), verbose=0)
    assert lines_of(model) == lines_of(keras.Sequential([keras.Input((3,)), *stack])) == [first, second]


class Own(keras.Model):
    """A model whose call has lines of its own."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return self.dense(x)


def check_a_call_of_the_users_own():
    """Check that the line of an own `call` is nearer to an operation than the call of its model."""
    number = inspect.getsourcelines(Own.call)[1] + 1
    model = Own()
    model(X)
    assert lines_of(model) == [number]
    assert lines_of(keras.Model(image := keras.Input((3,)), Own()(image))) == [number]


def check_a_profile_and_an_explanation():
    model, numbers = shared()
    model.compile("sgd", "mse")
    with dt.profile() as p:
        model.fit(X, X, verbose=0)
    wanted = {f"lines_checks.py:{number}" for number in numbers}
    assert {row.line for row in p.rows if row.types == ("MatMul",)} >= wanted
    explained = dt.explain(dt.graph_of(model), X, engine="numpy")
    assert {call.where for call in explained.of("MatMul")} == wanted


def check_an_error():
    """Check an error of a layer's code, which the program meets in `predict`."""
    image = keras.Input((None,))
    x, number = layers.Lambda(lambda x: K.dot(x, K.ones((7, 2))), output_shape=(2,))(image), here()
    model = keras.Model(image, x)
    with pytest.raises(ValueError, match=f"lines_checks.py:{number}: .*inner dimensions"):
        model.predict(X, verbose=0)
    wide = keras.Input((None,))
    x, number = keras.ops.reshape(wide, (-1, 2)), here()
    with pytest.raises(ValueError, match=f"lines_checks.py:{number}: "):
        keras.Model(wide, x).predict(np.ones((3, 3), "float32"), verbose=0)


if __name__ == "__main__":
    main(globals())

"""Checks of the graphs of Keras' models: they give the models' results, and edited graphs predict."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
from keras import layers

import dovetail as dt
from tests.keras_backends import ENGINES, main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(12, 3)).astype("float32"), RANDOM.integers(0, 2, 12)


def small():
    keras.utils.set_random_seed(1)
    middle = [layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dropout(0.5)]
    model = keras.Sequential([keras.Input((3,)), *middle, layers.Dense(2, "softmax")])
    model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def check_the_forward_graph_predicts():
    for name in ENGINES:
        with dt.engine(name):
            model = small()
            graph = dt.graph_of(model)
            close(dt.function(graph)(X).numpy(), model.predict(X, verbose=0))
            assert [t.shape for t in graph.inputs] == [(None, 3)] and "Relu" in {op.type for op in graph}


def check_an_edited_graph_is_what_predict_runs():
    model = small()
    graph = dt.graph_of(model)
    before = model.predict(X, verbose=0)
    relu = next(op for op in graph if op.type == "Relu")
    with graph.as_default():
        graph.replace_all_uses(relu.outputs[0], dt.ops.relu(relu.inputs[0]) * 0.0)
    dt.predict_by(model, graph)
    edited = model.predict(X, batch_size=5, verbose=0)
    assert edited.shape == before.shape and np.ptp(edited, axis=0).max() < 1e-6 < np.abs(edited - before).max()
    model.layers[-1].bias.assign([5.0, 0.0])  # the graph reads the model's weights
    assert model.predict(X, verbose=0)[:, 0].min() > 0.9
    model.make_predict_function(force=True)
    model.layers[-1].bias.assign([0.0, 0.0])
    close(model.predict(X, verbose=0), before)


def check_the_training_graph_trains():
    found = []
    for by_graph in (True, False):
        model = small()
        if by_graph:
            graph = dt.graph_of(model, X, dt.spec((12,), "int32"), training=True)
            step = dt.function(graph)
            for _ in range(3):
                step(X, Y.astype("int32"))
            assert any("Softmax" in op.type for op in graph) and float(model.optimizer.iterations) == 3
        else:
            for _ in range(3):
                model.train_on_batch(X, Y)
        found.append(np.concatenate([np.array(w).ravel() for w in model.weights]))
    close(*found)


def check_models_of_several_inputs_and_outputs():
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    both = layers.concatenate([a, b])
    model = keras.Model({"a": a, "b": b}, [layers.Dense(1)(both), layers.Dense(2)(both)])
    data = {"a": X, "b": X[:, :2]}
    wanted = model.predict(data, verbose=0)
    graph = dt.graph_of(model)
    assert len(graph.inputs) == 2
    dt.predict_by(model, graph)
    for found, each in zip(model.predict(data, batch_size=5, verbose=0), wanted, strict=True):
        close(found, each)


def check_what_is_missing_is_said():
    class Own(keras.Model):
        def call(self, x):
            return x * 2.0

    model = Own()
    with pytest.raises(ValueError, match=r"graph_of.*give x"):
        dt.graph_of(model)
    close(dt.function(dt.graph_of(model, dt.spec((None, 3))))(X).numpy(), X * 2)
    with pytest.raises(ValueError, match=r"graph_of.*compile the model"):
        dt.graph_of(model, X, training=True)
    with pytest.raises(ValueError, match=r"predict_by.*2 inputs, and the model 1"):
        dt.predict_by(small(), dt.function(lambda x, y: x + y).graph(X, X))


if __name__ == "__main__":
    main(globals())

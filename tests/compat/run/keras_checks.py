"""Checks of old programs that fit models, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import ast

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

from dovetail.compat.run.steps import limited
from tests.keras_backends import main

X, Y = np.ones((20, 3), "float32"), np.zeros((20, 1), "float32")


def run(text):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))
    names = {"model": model, "x": X, "y": Y, "count": count, "batches": batches, "__name__": "old"}
    exec(compile(limited(ast.parse(text), 4), "old.py", "exec"), names)
    assert int(model.optimizer.iterations) == len(batches)
    return names


def check_fit_ends_after_its_steps():
    names = run("h = model.fit(x, y, batch_size=2, epochs=3, verbose=0, validation_split=0.5, callbacks=[count])")
    assert names["batches"] == [0, 1, 2, 3] and len(names["h"].history["val_loss"]) == 1


def check_epochs_count_together():
    names = run("h = model.fit(x, y, 10, 9, 0, [count])")
    assert names["batches"] == [0, 1, 0, 1] and len(names["h"].history["loss"]) == 2


def check_a_loop_around_fit_ends_too():
    names = run("for e in range(9):\n    a = e\n    model.fit(x, y, batch_size=10, verbose=0, callbacks=count)")
    assert names["batches"] == [0, 1, 0, 1] and names["a"] == 1


def check_fit_after_fit():
    names = run("for k in (1, 2): model.fit(x, y, epochs=1, verbose=0, callbacks=[count])")
    assert names["batches"] == [0, 0]


if __name__ == "__main__":
    main(globals())

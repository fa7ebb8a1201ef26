"""Checks of sparse and ragged values of other libraries that are given to Keras on Dovetail."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  # must be first: it makes Keras run on Dovetail

# isort: split
import warnings

import keras
import numpy as np
import pytest
from keras import layers

from tests.core.values.test_foreign import RAGGED, SPARSE
from tests.keras_backends import main

DENSE = np.array([[0, 2, 0], [3, 0, 4]], "float32")
Y = np.array([[1.0], [2.0]], "float32")


def model():
    made = keras.Sequential([keras.Input((3,)), layers.Dense(4, "tanh"), layers.Dense(1)])
    made.set_weights([np.linspace(-1, 1, w.size).reshape(w.shape) for w in made.get_weights()])
    made.compile(keras.optimizers.SGD(0.1), "mse")
    return made


def fitted(x):
    made = model()
    return made.fit(x, Y, batch_size=1, epochs=2, shuffle=False, verbose=0).history["loss"]


USES = {
    "a layer": lambda x: layers.Dense(2, kernel_initializer="ones")(x),
    "a model": lambda x: model()(x),
    "an op": lambda x: keras.ops.matmul(x, np.ones((3, 2), "float32")),
    "convert_to_tensor": keras.ops.convert_to_tensor,
    "a variable": lambda x: keras.Variable(x),
    "fit": fitted,
    "shuffled": lambda x: model().fit(x, Y, batch_size=2, verbose=0).history["loss"],
    "train_on_batch": lambda x: model().train_on_batch(x, Y),
    "evaluate": lambda x: model().evaluate(x, Y, verbose=0),
    "predict": lambda x: model().predict(x, verbose=0),
}


def usable(table):
    """The values of a table whose library is installed."""
    found = {}
    for name, make in table.items():
        try:
            found[name] = (make[0] if isinstance(make, tuple) else make)()
        except pytest.skip.Exception:
            continue
    return found


SOME = ("scipy.csr_matrix", "jax.BCOO", "tensorflow", "torch.to_sparse", "torch.to_sparse_csr")


def check_sparse_values_become_dense_with_a_line():
    wanted = {use: np.asarray(call(DENSE)) for use, call in USES.items()}
    for name, value in usable({name: SPARSE[name] for name in SOME}).items():
        for use, call in USES.items():
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = np.asarray(call(value))
            np.testing.assert_allclose(found, wanted[use], rtol=1e-5, err_msg=f"{name}: {use}")
            lines = [str(one.message) for one in told if "becomes dense" in str(one.message)]
            assert len(lines) == 1 and lines[0].startswith("ops.convert at foreign_values_checks.py:"), (
                name,
                use,
                lines,
            )


def check_ragged_values_are_refused():
    for name, value in usable(RAGGED).items():
        for use, call in USES.items():
            print(name, use)
            with pytest.raises(ValueError, match=RAGGED[name][1]):
                call(value)


if __name__ == "__main__":
    main(globals())

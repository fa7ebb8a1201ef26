"""The batches of an epoch in groups, in a process where Keras runs on Dovetail."""

from __future__ import annotations

from itertools import product

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest
import scipy.sparse

import dovetail as dt
from keras_dovetail.src.batches import Batches, Group, groups
from tests.keras_backends import ENGINES, main


def of(size, batches):
    """The groups of an epoch, each with `size` steps."""
    return groups(batches, lambda: size, is_steady=True)


def check_equal_batches_are_groups():
    steps = [(i, i, [(np.zeros((4 if i < 5 else 3, 2)), None)]) for i in range(8)]
    found = [(begin, end, len(data)) for begin, end, data in of(3, steps)]
    assert found == [(0, 2, 3), (3, 3, 1), (4, 4, 1), (5, 7, 3)]


def epochs(source, options, size):
    """Two epochs, with the random order drawn for each."""
    keras.utils.set_random_seed(1)
    batches = Batches(**source, **options)
    return [list(of(size, batches)) for _ in range(2)]


def single(epoch):
    """The batches of an epoch one by one, with the numbers of their steps."""
    for begin, end, data in epoch:
        assert len(data) == end - begin + 1
        for i in range(len(data)):
            yield begin + i, keras.tree.map_structure(lambda v, i=i: v[i], data.parts) if len(data) > 1 else data[0]


def check_groups_are_cut_out_of_arrays():
    """Check that groups have the samples of single batches, in order, from every kind of array that Keras takes."""
    x, y = np.arange(280.0).reshape(70, 4), np.arange(70)
    sources = [
        {"x": x, "y": y},
        {"x": {"a": x, "b": y}, "y": (y, x), "sample_weight": np.arange(70.0)},
        {"x": x, "y": y, "class_weight": {i: float(i) for i in range(70)}},
        {"x": scipy.sparse.csr_array(x), "y": y},
        {"x": keras.ops.convert_to_tensor(x), "y": keras.ops.convert_to_tensor(y)},
    ]
    for source, batch_size, shuffle, size in product(sources, (1, 10, 16, 64, 100), (False, True), (2, 3, 32)):
        options = {"batch_size": batch_size, "shuffle": shuffle}
        for wanted, found in zip(epochs(source, options, 1), epochs(source, options, size), strict=True):
            assert [isinstance(data, Group) for *_, data in found].count(True) == 70 // (batch_size * size)
            for (number, batch), (wanted_number, _, (wanted_batch,)) in zip(single(found), wanted, strict=True):
                assert number == wanted_number
                keras.tree.map_structure(np.testing.assert_array_equal, batch, wanted_batch)


def check_groups_are_not_cut_where_keras_orders_samples_otherwise():
    x = np.arange(70.0)
    for options in ({"shuffle": "batch"}, {"steps_per_epoch": 3}, {"steps_per_execution": 2}):
        assert Batches(x=x, batch_size=5, **options).in_groups(3) is None
    assert Batches(x=((x, x) for _ in range(3))).in_groups(3) is None
    assert Batches(x=x).in_groups(1) is None
    keras.utils.set_random_seed(1)
    found = list(of(3, Batches(x=x, batch_size=5, shuffle="batch")))
    assert [len(data) for *_, data in found] == [3, 3, 3, 3, 1, 1]  # collected from single batches
    assert {*found[0][2].parts[1]} == {*range(5, 10)}


def check_datasets_of_tensorflow_names_are_data():
    """Claim 2.30: `fit`, `evaluate` and `predict` take a `tf.data.Dataset` in a plain program."""
    from dovetail.compat.tensorflow import data

    random = np.random.default_rng(0)
    x, y, weights = (random.normal(size=shape).astype("float32") for shape in ((10, 3), (10, 1), (10,)))

    def model():
        a = keras.Input((3,), name="a")
        made = keras.Model({"a": a}, keras.layers.Dense(1, kernel_initializer="ones")(a))
        made.compile("sgd", "mse")
        return made

    def batches(*parts):
        return data.Dataset.from_tensor_slices(parts).batch(4)

    given, pairs = {"a": x}, batches({"a": x}, y)
    arrays = {"batch_size": 4, "shuffle": False, "verbose": 0, "epochs": 2}
    for engine in ENGINES:
        with dt.engine(engine):
            wanted = model().fit(given, y, sample_weight=weights, **arrays).history["loss"]
            found = model().fit(batches(given, y, weights), epochs=2, verbose=0).history["loss"]
            np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=engine)
    wanted = model().fit(given, y, validation_data=(given, y), validation_batch_size=4, **arrays).history
    found = model().fit(pairs, validation_data=pairs, epochs=2, verbose=0).history
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)
    alone = data.Dataset.from_tensor_slices(given).batch(4)
    np.testing.assert_allclose(model().predict(alone, verbose=0), x.sum(1, keepdims=True), rtol=1e-5)
    wanted = np.mean((x.sum(1, keepdims=True) - y) ** 2)
    np.testing.assert_allclose(model().evaluate(pairs, verbose=0), wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="leave y out"):
        model().fit(pairs, y)


if __name__ == "__main__":
    main(globals())

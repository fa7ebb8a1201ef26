"""Random numbers of TensorFlow's names: their seeds, and NumPy's generator, which they do not change."""

# ruff: noqa: NPY002  # NumPy's global generator is the one that programs seed

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from dovetail import backend as K
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.names.random import draws as random

v1 = tf.compat.v1

DRAWS = {
    "random_normal": lambda: v1.random_normal([3]),
    "random_uniform": lambda: v1.random_uniform([3]),
    "random_uniform of integers": lambda: v1.random_uniform([9], 0, 1000, tf.int32),
    "truncated_normal": lambda: v1.truncated_normal([3]),
    "random_shuffle": lambda: v1.random_shuffle(tf.range(50)),
    "random_gamma": lambda: v1.random_gamma([3], 2.0),
    "random.poisson": lambda: v1.random.poisson(shape=[3], lam=[1000.0, 2000.0]),
    "multinomial": lambda: v1.multinomial(tf.zeros([1, 1000]), 5),
    "nn.dropout (rate)": lambda: v1.nn.dropout(tf.ones([50]), rate=0.5),
    "nn.dropout (keep_prob)": lambda: v1.nn.dropout(tf.ones([50]), tf.constant(0.5)),
    "random_normal_initializer": lambda: v1.random_normal_initializer()([3]),
    "glorot_uniform_initializer": lambda: v1.glorot_uniform_initializer()([2, 3]),
    "truncated_normal_initializer": lambda: v1.truncated_normal_initializer()([3]),
    "random.Generator": lambda: v1.random.Generator.from_non_deterministic_state().normal([3]),
}


@pytest.fixture(autouse=True)
def _no_seed(monkeypatch):
    monkeypatch.setattr(random, "_global", {"seed": None, "draws": itertools.count()})


def of_numpy():
    """The state of NumPy's global generator."""
    _, words, position, *_ = np.random.get_state()
    return words.tolist(), position


def in_a_graph(build, runs=1, seed=None):
    """The numbers that some runs of a new graph draw."""
    with v1.Graph().as_default(), v1.Session() as session:
        if seed is not None:
            v1.set_random_seed(seed)
        drawn = build()
        return [session.run(drawn).tolist() for _ in range(runs)]


@pytest.mark.parametrize("name", DRAWS)
def test_draws_without_a_seed_leave_numpys_generator_as_it_is(engine, name):
    before = of_numpy()
    first, second = in_a_graph(DRAWS[name]), in_a_graph(DRAWS[name])
    eagerly = DRAWS[name]().numpy().tolist(), DRAWS[name]().numpy().tolist()
    with v1.Graph().as_default(), v1.Session() as session:
        weights = v1.get_variable("w", [3])
        session.run(v1.global_variables_initializer())
        session.run(weights)
    assert of_numpy() == before
    assert first != second
    assert eagerly[0] != eagerly[1]


@pytest.mark.parametrize("name", [name for name in DRAWS if name != "random.Generator"])
def test_a_seed_for_all_makes_every_draw_repeat(engine, name):
    first, again, other = (in_a_graph(DRAWS[name], seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "draw",
    [
        lambda: v1.random_normal([3], seed=7),
        lambda: v1.random_shuffle(tf.range(50), seed=7),
        lambda: v1.nn.dropout(tf.ones([50]), rate=0.5, seed=7),
        lambda: v1.nn.dropout(tf.ones([50]), tf.constant(0.5), seed=7),
    ],
)
def test_a_seed_of_one_draw_makes_it_repeat(engine, draw):
    first, second = in_a_graph(draw, runs=2)
    assert in_a_graph(draw, runs=2) == [first, second]
    assert first != second


def test_draws_with_one_seed_in_a_graph_have_one_sequence():
    with v1.Graph().as_default(), v1.Session() as session:
        draws = [v1.random_uniform([4], seed=7), v1.random_uniform([4], seed=7), v1.random_uniform([4], seed=8)]
        first, again = session.run(draws), session.run(draws)
    np.testing.assert_array_equal(first[0], first[1])
    assert not np.array_equal(first[0], first[2]) and not np.array_equal(first[0], again[0])


def test_draws_without_a_seed_differ_in_each_process():
    program = """
import numpy as np
import dovetail.compat.tensorflow.compat.v1 as tf
np.random.seed(0)
with tf.Session() as session:
    print(session.run(tf.random_normal([2])).tolist())
"""
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in "12"]
    assert runs[0].stdout != runs[1].stdout


def test_those_of_k_draw_from_numpys_generator_as_in_keras_2():
    """Check that K, also in a graph, asks NumPy for a seed when a function is called, as `tf.keras.backend` does."""
    with v1.Graph().as_default():
        np.random.seed(0)
        for draw in (lambda: K.random_normal((3,)), lambda: K.dropout(tf.ones([3]), 0.5)):
            draw()
        drawn = np.random.rand()
    np.random.seed(0)
    np.random.randint(10e6, size=2)
    assert drawn == np.random.rand()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_of_the_whole_range(engine, dtype):
    """Check bounds as numbers, NumPy's and tensors, in a graph and eagerly."""
    low, high = tf.as_dtype(dtype).min, tf.as_dtype(dtype).max
    number = np.dtype(dtype).type
    draws = [
        lambda: v1.random_uniform([500], low, high, dtype, seed=1),
        lambda: v1.random_uniform([500], number(low), number(high), dtype, seed=1),
        lambda: v1.random_uniform([500], tf.constant(low, dtype), tf.constant(high, dtype), dtype, seed=1),
    ]
    found = [in_a_graph(draw, seed=3)[0] for draw in draws]
    assert found[0] == found[1] == found[2]
    for values in (
        found[0],
        draws[0]().numpy().tolist(),
        tf.random.stateless_uniform([500], [1, 2], None, None, dtype),
    ):
        values = np.asarray(values, "float64")
        assert values.min() < 0.9 * low and values.max() > 0.9 * high


@pytest.mark.parametrize("noise", ["uniform", "gaussian", "of TensorFlow 1"])
def test_noise_around_images_has_their_range(engine, noise):
    """Check windows outside of two images of other ranges, and of other means in their channels."""
    images = np.random.default_rng(0).random((2, 9, 9, 2)).astype("float32")
    images[0, ..., 1] += 10
    images[1] = images[1] * 5 - 100
    places = np.float32([[5, 5], [7, 7]])
    if noise == "of TensorFlow 1":
        found = v1.image.extract_glimpse(images, [40, 40], places, uniform_noise=False).numpy()
    else:
        found = tf.image.extract_glimpse(images, [40, 40], places, noise=noise).numpy()
    axes = (1, 2) if noise == "gaussian" else (1, 2, 3)
    least, most = images.min(axes), images.max(axes)
    assert (found.min(axes) >= least).all() and (found.max(axes) <= most).all()
    middle = images.mean(axes) if noise == "gaussian" else (least + most) / 2
    np.testing.assert_allclose(found.mean(axes), middle, atol=0.05 * (most - least).max())

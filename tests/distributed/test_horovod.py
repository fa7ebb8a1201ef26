"""Horovod's names: each with two ranks, and whole programs of 2017 to 2019, with the numbers that NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.distributed import ranks
from tests.distributed.programs import numbers, printed
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

KERAS = ("keras_optimizers", "loaded_models", "infinite_gradients", "callbacks")
CHECKS = ("exchanges", "tapes", "tf_optimizers", *KERAS, "refusals")


def line(rates, starts=((0.0, 1.0), (0.0, 1.0)), clip=np.inf, momentum=0.5):
    """The last weights, loss and norm of a line that two ranks fit to the points of the programs, in float64.

    Args:
        rates: the learning rate of each step.
        starts: the first weight and bias of each rank; after the first step, all have rank 0's.
    """
    rng = np.random.RandomState(5)
    points = rng.normal(size=(24, 3)).astype("float32").astype("float64")
    heights = points @ [2.0, -1.0, 0.5] + 3
    rows = np.concatenate([points, np.ones((24, 1))], 1)
    weights = np.array([[w, w, w, b] for w, b in starts])
    velocity, before = np.zeros(4), None
    for step, rate in enumerate(rates):
        batches = [np.arange(rank, 24, 2)[step % 3 * 4 :][:4] for rank in (0, 1)]
        errors = [rows[b] @ w - heights[b] for b, w in zip(batches, weights, strict=True)]
        gradient = np.mean([2 * rows[b].T @ e / 4 for b, e in zip(batches, errors, strict=True)], 0)
        norm, loss = np.linalg.norm(gradient), np.mean(np.square(errors))
        velocity = momentum * velocity * (rate / (before or rate)) - rate * gradient * min(1, clip / norm)
        weights, before = np.tile(weights[0] + velocity, (2, 1)), rate
    return weights[0], loss, norm


def assert_both(found, *names):
    """Both ranks printed the same lines."""
    for name in names:
        first, second = found[name]
        assert first == second, name


def test_a_session_with_hooks(tmp_path):
    weights, loss, norm = line([0.1] * 12, [(0, 1)] * 2, clip=2.0)
    found = printed("horovod_session.py", "--folder", tmp_path)
    np.testing.assert_allclose(numbers(found["norm"][0]), [norm, loss], atol=2e-5)
    np.testing.assert_allclose(numbers(found["weights"][0]), weights, atol=2e-5)
    assert_both(found, "norm", "weights")
    assert found["last"] == [["checkpoint", "model.ckpt-12"]]


def test_a_tape_in_a_function(tmp_path):
    weights, loss, _ = line([0.1] * 12, [(0, 0), (1, 0)])
    found = printed("horovod_tape.py", tmp_path)
    np.testing.assert_allclose(numbers(found["loss"][0]), [loss], atol=2e-5)
    np.testing.assert_allclose(numbers(found["weights"][0]), weights, atol=2e-5)
    assert_both(found, "loss", "weights")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint",
        "line-1.data-00000-of-00001",
        "line-1.index",
    ]


def test_schedules_of_the_learning_rate():
    warm = [0.05 * (1 + (step + 1) / 3 / 2) for step in range(6)]
    rates = [*warm, *[0.1] * 3, *[0.01] * 3, *[0.001] * 3]
    weights, _, _ = line(rates, [(0, 0)] * 2)
    found = printed("horovod_schedule.py")
    np.testing.assert_allclose(numbers(found["rates"][0]), rates[2::3], atol=1e-6)
    np.testing.assert_allclose(numbers(found["weights"][0]), weights, atol=2e-5)
    assert_both(found, "rates", "losses", "weights")
    assert [" ".join(words) for words in found["Epoch"]] == ["2: the learning rate has risen to 0.1."]


def test_a_classifier_of_keras(tmp_path):
    found = printed("horovod_keras.py", tmp_path)
    assert_both(found, "weights", "loss", "rate")
    assert len(found["accuracy"]) == 1
    assert numbers(found["rate"][0]) == 0.2  # the sum of both ranks', after the warm-up
    assert numbers(found["accuracy"][0]) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["model-0.h5"]


@pytest.mark.parametrize(
    "engines", [("numpy", "torch"), ("torch", "torch"), ("jax", "jax"), ("tensorflow", "tensorflow")], ids="-".join
)
def test_each_name(engines):
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    for text in ranks.run("tests.distributed.horovod_checks", engines, *CHECKS, KERAS_BACKEND="dovetail"):
        assert [text.split()[1] for text in text.splitlines() if text.startswith("checked ")] == [*CHECKS], text

"""Programs of the old style give the results of TensorFlow 1 here: `programs`, on every engine."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.libraries import require

require("tf_keras", "the oracle")

from dovetail import backend
from tests.backend.parity import leaves
from tests.backend.programs import OPTIMIZERS, PROGRAMS

ALL = {**OPTIMIZERS, **PROGRAMS}


@functools.cache
def by_the_oracle(name: str) -> list[np.ndarray]:
    import tensorflow as tf
    import tf_keras.src.backend

    one_thread = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)
    with tf.Graph().as_default(), tf.compat.v1.Session(config=one_thread):  # reads and updates never race
        return leaves(ALL[name](tf_keras.src.backend))


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    backend.clear_session()


@pytest.mark.filterwarnings("ignore:.*set_learning_phase")
@pytest.mark.parametrize("name", ALL)
def test_program(name: str, engine: str):
    wanted, got = by_the_oracle(name), leaves(ALL[name](backend))
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours.astype("float64"), theirs.astype("float64"), rtol=3e-4, atol=3e-5)

"""Calls of K that repeat: the programs that they run know what is set and replaced meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.backend.table import FUNCTIONS
from dovetail.core.calls import repeatable
from tests.backend.parity import leaves
from tests.backend.test_parity import CASES

TIMES = 5
REPEATABLE = {name for name, function in FUNCTIONS.items() if isinstance(function.__wrapped__, repeatable)}
REPEATABLE |= {"binary_crossentropy", "categorical_crossentropy"}  # but for what they find out about their output
REPEATED = [c for c in CASES if c.functions[0] in REPEATABLE and "eager" in c.ways and not c.raises]


@pytest.fixture
def x(engine):
    return dt.ops.convert(np.float32([[0.25, 0.75], [1.0, 0.0]]))


@pytest.mark.parametrize("case", REPEATED, ids=str)
def test_repeated_calls_give_the_same_bits(case, engine):
    arrays = [dt.ops.convert(a) for a in case.drawn()]
    first, *others = [leaves(case.run(K, *arrays)) for _ in range(TIMES)]
    for found in others:
        assert [(a.dtype, a.shape, a.tobytes()) for a in found] == [(a.dtype, a.shape, a.tobytes()) for a in first]


def test_the_fuzz_factor_is_seen(x):
    ones = dt.ops.ones_like(x)
    first = [K.binary_crossentropy(ones, x).numpy() for _ in range(TIMES)][-1]
    before = K.epsilon()
    K.set_epsilon(0.1)
    try:
        for _ in range(TIMES):
            assert K.binary_crossentropy(ones, x).numpy()[1, 1] < first[1, 1] / 2
    finally:
        K.set_epsilon(before)


def test_replaced_functions_are_called(x, monkeypatch):
    for _ in range(TIMES):
        assert K.binary_crossentropy(dt.ops.ones_like(x), x).numpy()[1, 1] > 10
    monkeypatch.setattr(K, "epsilon", lambda: 0.5)
    for _ in range(TIMES):
        assert K.binary_crossentropy(dt.ops.ones_like(x), x).numpy()[1, 1] < 1


def test_the_mode_of_batch_dot_is_seen(engine):
    a = dt.ops.convert(np.ones((2, 3, 4, 5), "float32"))
    b = dt.ops.convert(np.ones((2, 3, 5, 6), "float32"))
    for _ in range(TIMES):
        assert K.batch_dot(a, b).shape == (2, 3, 4, 3, 6)
    K.set_batch_dot_mode("matmul")
    try:
        for _ in range(TIMES):
            assert K.batch_dot(a, b).shape == (2, 3, 4, 6)
    finally:
        K.set_batch_dot_mode("batch")


def test_losses_use_the_scores_of_each_call(x):
    scores = dt.ops.convert(np.float32([[40.0, -40.0], [0.0, 0.0]]))
    for _ in range(TIMES):
        assert K.binary_crossentropy(x, K.sigmoid(scores)).numpy()[0, 1] == 30
        assert K.binary_crossentropy(x, dt.ops.sigmoid(scores)).numpy()[0, 1] < 15


def test_errors_stay_as_they_were(x):
    said = set()
    for _ in range(TIMES):
        with pytest.raises(ValueError, match=r"K\.dot") as caught:
            K.dot(x, dt.ops.convert(np.ones((3, 3), "float32")))
        said.add(str(caught.value))
    assert len(said) == 1

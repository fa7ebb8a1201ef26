"""Random programs of any ops: all engines agree, eager and compiled, forward and gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from tests.conftest import ENGINES

# Each entry takes tensors of shape (3, 4) and gives one of shape (3, 4); all are smooth where the programs go.
STEPS = {
    "add": (2, lambda x, y: x + y),
    "subtract": (2, lambda x, y: x - y),
    "multiply": (2, lambda x, y: x * y),
    "divide": (2, lambda x, y: x / (2 + y * y)),
    "row": (2, lambda x, y: x + y[0]),
    "column": (2, lambda x, y: x * y[:, 1:2]),
    "matmul": (2, lambda x, y: ops.matmul(ops.matmul(x, y, transpose_b=True), x) / 4),
    "concatenate": (2, lambda x, y: ops.concatenate([x[:, 2:], y[:, :2]], axis=1)),
    "where": (2, lambda x, y: ops.where(ops.stop_gradient(x) > 0.1, x, y)),
    "tanh": (1, ops.tanh),
    "exp": (1, lambda x: ops.exp(ops.tanh(x))),
    "log": (1, lambda x: ops.log(1 + x * x)),
    "sqrt": (1, lambda x: ops.sqrt(1 + x * x)),
    "sigmoid": (1, ops.sigmoid),
    "softmax": (1, lambda x: ops.softmax(x, axis=-1)),
    "center": (1, lambda x: x - ops.mean(x, axis=0, keepdims=True)),
    "logsumexp": (1, lambda x: x - ops.logsumexp(x, axis=1, keepdims=True)),
    "reverse": (1, lambda x: x[::-1, ::-1]),
    "transpose": (1, lambda x: ops.reshape(ops.transpose(x), (3, 4))),
    "cumsum": (1, lambda x: ops.cumsum(x, axis=1) / 4),
    "pad": (1, lambda x: ops.pad(x, ((1, 0), (0, 1)))[:3, 1:]),
    "scalar": (1, lambda x: 1.5 * x - 0.25),
}

step = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5), st.integers(0, 5))
programs = st.lists(step, min_size=1, max_size=10)


def run(program, x, y):
    values = [x, y]
    for name, a, b in program:
        arity, function = STEPS[name]
        values.append(function(*[values[-1 - i % len(values)] for i in (a, b)[:arity]]))
    return ops.mean(values[-1] * values[-1])


def loss_and_gradients(program, x, y):
    with dt.GradientTape() as tape:
        tape.watch([x, y])
        loss = run(program, x, y)
    return [loss, *tape.gradient(loss, [x, y], unconnected_gradients="zero")]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(program=programs, seed=st.integers(0, 2**16))
def test_engines_agree(program, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 3, 4))
    expected = None
    for name in ENGINES:
        with dt.engine(name):
            inputs = [ops.convert(x), ops.convert(y)]
            eager = loss_and_gradients(program, *inputs)
            compiled = dt.function(lambda x, y: loss_and_gradients(program, x, y))(*inputs)
        if expected is None:
            expected = [value.numpy() for value in eager]
        for found in (eager, compiled):
            for value, wanted in zip(found, expected, strict=True):
                assert value.engine == name
                np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_step_keeps_the_shape(name, rng):
    """Check the claims about the building blocks of the programs above."""
    arity, function = STEPS[name]
    assert function(*[ops.convert(rng.normal(size=(3, 4))) for _ in range(arity)]).shape == (3, 4)

"""Shape values: which operations on integers are followed before a graph runs, and how far."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


@pytest.fixture
def x():
    return dt.Graph("test").placeholder(dt.spec((None, 4)), "x")


def known(ints):
    """The shape of a broadcast to a shape that is a tensor."""
    return ops.broadcast_to(ops.sum(ints.graph.inputs[0]), ints).shape


@pytest.mark.parametrize(
    ("ints", "expected"),
    [
        (lambda s: s, (None, 4)),
        (lambda s: s * 2 - 1, (None, 7)),
        (lambda s: -s + 9, (None, 5)),
        (lambda s: ops.square(s) % 6, (None, 4)),
        (lambda s: ops.minimum(s, 3), (None, 3)),
        (lambda s: ops.maximum(s, 3)[::-1], (4, None)),
        (lambda s: ops.cumsum(s[::-1], axis=0), (4, None)),
        (lambda s: ops.stack([ops.min(s), ops.max(s[1:])]), (None, 4)),
        (lambda s: ops.expand_dims(ops.squeeze(s[1:]), 0), (4,)),
        (lambda s: ops.reshape(s, (2, 1))[1], (4,)),
        (lambda s: ops.identity(ops.cast(s, "int64")), (None, 4)),
        (lambda s: ops.flip(s, 0), (4, None)),
        (lambda s: ops.optimization_barrier((s, s[1:]))[1], (4,)),
        (lambda s: ops.bitwise_and(s, 7), (None, None)),  # this op is not followed, but the result has two elements
    ],
)
def test_integers_are_followed(x, ints, expected):
    assert known(ints(ops.shape(x))) == expected


def test_arithmetic_of_floats_is_not_followed(engine):
    """Check that floats are not followed; in another precision than the program's the number might differ."""

    def run(x):
        halves = ops.cast(ops.cast(ops.shape(x)[1], "float32") * 1.5, "int32")  # 4.5, so 4
        return ops.broadcast_to(ops.sum(x), ops.stack([halves + halves]))

    x = dt.Graph().placeholder(dt.spec((None, 3)))
    assert run(x).shape == (None,)
    if engine != "jax":  # jax needs to know every shape
        assert dt.function(run)(np.ones((2, 3), "float32")).shape == (8,)


@pytest.mark.parametrize(("steps", "expected"), [(40, (44,)), (90, (None,)), (3_000, (None,))])
def test_not_from_too_far(x, steps, expected):
    count = ops.shape(x)[1:]
    for _ in range(steps):
        count = count + 1
    assert known(count) == expected


def test_nothing_is_known_of_an_unknown_rank():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(None))
    assert ops.broadcast_to(1.0, ops.shape(x)).shape is None
    assert ops.broadcast_to(1.0, ops.shape(x) * 2).shape is None
    assert ops.broadcast_to(1.0, ops.shape(x)[0][None]).shape == (None,)

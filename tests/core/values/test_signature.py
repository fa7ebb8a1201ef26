"""Keys of static values, and the caches that use them: two calls are alike only if a program cannot tell them apart."""

import itertools
import warnings
from decimal import Decimal

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.values.signature import static_key
from dovetail.trace import trace

DIFFERENT = [
    0, 1, False, True, 0.0, -0.0, 1.0, float("nan"), 0j, complex(0, -0.0), complex(-0.0, 0), "0", b"0", None,
    np.float32(0), np.float32(-0.0), np.float64(0), np.float32("nan"), np.int8(0), (), (0,), (0.0,), (-0.0,), (True,),
    ((-0.0, 1),), ((0.0, 1),), [0.0], [-0.0], frozenset([0.0]), frozenset([-0.0]), slice(0, 1), slice(0.0, 1),
    Decimal(0), dt.spec((1,)),
]  # fmt: skip


def test_keys_are_equal_for_one_value_alone_a10():
    again = [float(str(v)) if type(v) is float else v for v in DIFFERENT]  # another object, of NaN too
    for (i, a), (j, b) in itertools.product(enumerate(DIFFERENT), enumerate(again)):
        assert (static_key(a) == static_key(b)) is (i == j), (a, b)
        hash(static_key(a))
    with pytest.raises(TypeError):
        hash(static_key({}))


def _bits(value):
    array = np.asarray(value)
    return np.where(np.isnan(array), 7.0, array).tobytes()


# The ways in which a function gets a static value: the function, and its argument for a value.
WAYS = {
    "an argument": (lambda x, c: x * c, lambda c: c),
    "in a tuple": (lambda x, t: x * t[1][0], lambda c: (1, [c])),
    "a key": (lambda x, d: x * next(iter(d)), lambda c: {c: 1.0}),
}


@pytest.mark.parametrize("way", WAYS)
def test_functions_tell_static_values_apart_a10(engine, way):
    python, given = WAYS[way]
    f, x = dt.function(python), ops.constant([1.0, -1.0])
    for c in (0.0, -0.0, 0.0, -0.0):
        assert _bits(f(x, given(c))) == _bits(np.array([1, -1], "float32") * np.float32(c)), c


def test_a_static_nan_is_traced_once_a10():
    traced = []

    @dt.function
    def f(x, c):
        traced.append(c)
        return x * c

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            f(np.ones(2, "float32"), float("nan"))
    assert len(traced) == 1


def test_true_is_not_one_a10():
    f = dt.function(lambda x, c: x + (1 if c is True else 2))
    assert [float(f(np.float32(0), c)) for c in (1, True, 1.0)] == [2, 1, 2]


def test_eager_programs_bodies_and_graphs_tell_static_values_apart_a10(engine):
    x = ops.constant([-2.0, 3.0])
    graph = dt.Graph()
    p = graph.placeholder(dt.spec((2,)), "x")
    slopes = [0.0, -0.0, 0.0, -0.0] * 4
    for slope in slopes:
        assert _bits(ops.leaky_relu(x, slope)) == _bits(np.array([-2 * slope, 3], "float32")), slope
    graph.outputs = [ops.leaky_relu(p, slope) for slope in slopes[:2]]
    for found, slope in zip(dt.function(graph)(x), slopes, strict=False):
        assert _bits(found) == _bits(np.array([-2 * slope, 3], "float32")), slope
    bodies = [trace.body_graph(ops.leaky_relu, [p, slope]) for slope in (0.0, -0.0, 0.0, float("nan"), float("nan"))]
    assert bodies[0] is bodies[2] is not bodies[1] and bodies[3] is bodies[4]


def test_nan_does_not_fill_the_caches_a10():
    x = ops.constant([1.0])
    ops.leaky_relu(x, float("nan"))
    before = len(ops.leaky_relu.resolved)
    for _ in range(5):
        ops.leaky_relu(x, float("nan"))
    assert len(ops.leaky_relu.resolved) == before

"""Simplification."""

# ruff: noqa: B002

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.ops.shapes.shape import sum_like
from dovetail.passes.base import run
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.cse import merge_common
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify
from tests.passes.checks import keeps_random_graphs, optimized, traced, types

test_random_graphs = keeps_random_graphs(simplify)
X, OPEN = dt.spec((2, 3)), dt.spec((None, 3))
BY = [lambda graph: run(graph, [fold_constants, simplify, merge_common, prune], 4)]


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x + 0, ["AddV2"]),  # 0.0 for -0.0
        (lambda x: x + -0.0, []),
        (lambda x: -0.0 + x, []),
        (lambda x: x - 0, []),
        (lambda x: x - -0.0, ["Sub"]),
        (lambda x: 0 - x, ["Sub"]),
        (lambda x: -0.0 - x, ["Neg"]),
        (lambda x: x * 1, []),
        (lambda x: x / 1, []),
        (lambda x: x * -1, ["Neg"]),
        (lambda x: x / -1, ["Neg"]),
        (lambda x: -(-x), []),
        (lambda x: x**1, []),
        (lambda x: x**2, ["Square"]),
        (lambda x: ops.power(x, 2), ["Square"]),
        (lambda x: ops.power(x, 3), ["Pow"]),
        (lambda x: (-x) ** 2, ["Square"]),
        (lambda x: ops.square(ops.absolute(x)), ["Square"]),
        (lambda x: ops.absolute(-x), ["Abs"]),
        (lambda x: ops.absolute(ops.absolute(x)), ["Abs"]),
        (lambda x: ops.minimum(x, x), []),
        (lambda x: -x * -ops.tanh(x), ["Tanh", "Mul"]),
        (lambda x: -x / -ops.tanh(x), ["Tanh", "RealDiv"]),
        (lambda x: ops.tanh(x) + -x, ["Tanh", "Sub"]),
        (lambda x: ops.tanh(x) - -x, ["Tanh", "AddV2"]),
        (lambda x: -(ops.tanh(x) - x), ["Tanh", "Sub", "Neg"]),
        (lambda x: -(x * 2.0), ["Mul"]),
        (lambda x: (x * 2.0) * 3.0, ["Mul"]),
        (lambda x: -x * 2.0, ["Mul"]),
        (lambda x: (x * 2.0) / 5.0, ["Mul"]),
        (lambda x: (x / 2.0) * 5.0, ["Mul"]),
        (lambda x: (x / 2.0) / 5.0, ["RealDiv"]),
        (lambda x: (x / 2.0) * 3.0 / 5.0, ["Mul"]),
        (lambda x: ops.maximum(x, x), []),
        (lambda x: ops.identity(ops.stop_gradient(x)), []),
        (lambda x: ops.cast(x, "float32"), []),
        (lambda x: ops.reshape(ops.reshape(x, (6,)), (3, 2)), ["Reshape"]),
        (lambda x: ops.broadcast_to(ops.broadcast_to(x, (4, 2, 3)), (5, 4, 2, 3)), ["BroadcastTo"]),
        (lambda x: ops.transpose(ops.transpose(x)), []),
        (lambda x: ops.transpose(x, (0, 1)), []),
        (lambda x: ops.transpose(ops.expand_dims(x, 0), (0, -1, 1)), ["ExpandDims", "Transpose"]),
        (lambda x: x[:], []),
        (lambda x: x[:, ::-1], ["StridedSlice"]),
        (lambda x: ops.stack([ops.sum(x), ops.max(x)])[1], ["Max"]),
        (lambda x: ops.stack([x, -x])[1], ["Neg", "Pack", "StridedSlice"]),
        (lambda x: ops.slice_update(x, [0, 1], ops.tanh(x)), ["Tanh"]),
        (lambda x: ops.slice_update(x, [0, 1], ops.tanh(x)[:1]), ["Tanh", "StridedSlice", "XlaDynamicUpdateSlice"]),
        (lambda x: ops.where(False, x, ops.tanh(x)), ["Tanh"]),
        (lambda x: ops.where(True, x, ops.tanh(x)), []),
        (lambda x: ops.where(np.array([True, False, True]), x, 0.0), ["SelectV2"]),
        (lambda x: ops.where(np.array([True, False, True]), x, -x), ["Neg", "SelectV2"]),
        (lambda x: ops.reshape(x, (-1, 3)), []),
    ],
)
@pytest.mark.parametrize("spec", [X, OPEN], ids=["static", "open"])
def test_identities(function, left, spec):
    assert types(optimized(function, spec, by=BY)) == left


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.reshape(x, (2, 3)),
        lambda x: ops.reshape(ops.reshape(x, (6,)), (2, -1)),
        lambda x: ops.broadcast_to(x, (2, 3)),
        lambda x: ops.where(np.full((2, 3), True), x, -x),
    ],
)
def test_identities_of_known_shapes(function):
    assert types(optimized(function, X, by=BY)) == []
    assert types(optimized(function, OPEN, by=BY)) != []  # the reshape checks that there are two rows


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0,  # NaN and infinity stay
        lambda x: x - x,
        lambda x: x / x,
        lambda x: 0 / x,
        lambda x: (x + 1e8) - 1e8,  # the user wants the rounding
        lambda x: (x * 1e-30) * 1e30,  # the user wants the underflow
        lambda x: x + np.zeros((4, 2, 3), "float32"),  # the result is wider than x
        lambda x: x * np.ones((2, 1), "int32") * np.array([[2.0, 1.0, 1.0]], "float32"),
        lambda x: ops.sum(x) + np.zeros((2, 3), "float32"),
    ],
)
def test_left_alone(function):
    graph = optimized(function, X, by=[simplify, prune])
    assert {"Mul", "Sub", "RealDiv", "AddV2"} & set(types(graph))


def test_a_reshape_of_two_open_dimensions_stays():
    """Check that two unknown dimensions do not count as equal."""
    spec = dt.spec((None, None))
    graph = optimized(lambda x, y: ops.reshape(x, ops.shape(y)), spec, spec, by=BY)
    assert "Reshape" in types(graph)


# a cast between two others is removed if its type holds every value
HOLDS = {
    "bool": ["int8", "float8_e5m2", "bfloat16", "complex64"],
    "int8": ["int16", "float16", "bfloat16", "complex64"],
    "uint8": ["int16", "uint32", "float16", "bfloat16"],
    "int16": ["int32", "float32", "complex64"],
    "uint32": ["int64", "float64", "complex128"],
    "float8_e4m3fn": ["float32"],
    "bfloat16": ["float32", "complex64"],
    "float16": ["float32", "float64"],
    "float32": ["float64", "complex64"],
}
ROUNDS = {
    "int8": ["bool", "uint8", "float8_e5m2"],
    "int16": ["int8", "uint16", "float16", "bfloat16"],
    "int32": ["uint32", "float32", "complex64"],
    "int64": ["float64", "complex128"],
    "float16": ["bfloat16", "float8_e5m2", "int64"],
    "bfloat16": ["float16"],
    "float32": ["float16", "float8_e4m3fn", "int32"],
    "float64": ["float32", "complex64"],
}


def _through(dtypes):
    return [(dtype, between) for dtype, others in dtypes.items() for between in others]


@pytest.mark.parametrize(("dtype", "between"), _through(HOLDS))
def test_casts_through_a_dtype_that_holds_all(dtype, between):
    graph = optimized(lambda x: ops.cast(ops.cast(x, between), "complex128"), dt.spec((3,), dtype), by=BY)
    assert types(graph) == ["Cast"]


@pytest.mark.parametrize(("dtype", "between"), _through(ROUNDS))
def test_casts_that_round_stay(dtype, between):
    graph = optimized(lambda x: ops.cast(ops.cast(x, between), "float32"), dt.spec((3,), dtype), by=BY)
    assert types(graph)[0] == "Cast" and graph.operations[1].outputs[0].dtype == between


def test_how_many_were_rewritten():
    graph = traced(lambda x: ops.tanh(-(-x)) * 1.0 - np.zeros((2, 3), "float32"), X)
    assert simplify(graph) == 4  # the difference counts twice: first its constant becomes a scalar
    assert simplify(graph) == 0


@pytest.mark.parametrize("dtype", ["int32", "float16", "float64", "complex64"])
def test_dtypes_stay(dtype):
    def function(x):
        return x + 0, x * 1, x * -1, -(-x), (x + 1) + 2, (x * 2) * 3, x + -x

    graph = optimized(function, dt.spec((3,), dtype), by=BY)
    assert {t.dtype for t in graph.outputs} == {dtype}


@pytest.mark.parametrize(
    ("function", "left"),
    [(lambda x: x + 0, []), (lambda x: 0 - x, ["Neg"]), (lambda x: -(x - x * x), ["Mul", "Sub"])],
)
def test_zeros_of_integers_have_no_sign(function, left):
    assert types(optimized(function, dt.spec((3,), "int32"), by=BY)) == left


@pytest.mark.parametrize("zeros", [0.0, -0.0, np.array([0.0, -0.0, -0.0], "float32")], ids=str)
def test_signs_of_zeros_and_special_values_stay(zeros):
    """Compare the signs of all results of a compiled function with those of NumPy."""
    special = np.array([[0.0], [-0.0], [1.0], [np.inf], [-np.inf], [np.nan]], "float32")

    def function(x):
        y = x * 1
        return (
            *(x + zeros, zeros + x, x - zeros, zeros - x, x * zeros, -(x - zeros), -(zeros - x), -(x - y), y + -x),
            *(
                -(x + zeros),
                x * 1,
                x / 1,
                x * -1,
                x / -1,
                -(x * zeros),
                -x * zeros,
                -x * -y,
                (x * 2.0) * 3.0,
                x + zeros * x,
            ),
        )

    with dt.engine("numpy"), np.errstate(all="ignore"):
        for found, expected in zip(dt.function(function)(special), function(special), strict=True):
            found = np.broadcast_to(found.numpy(), expected.shape)
            np.testing.assert_array_equal(found, expected)
            kept = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[kept], np.signbit(expected)[kept])


def test_integer_chains_wrap_as_before():
    def function(x):
        return (x + 100) + 100, (x * 100) * 100, (x - 100) - 100, (100 + x) - 50

    graph = optimized(function, dt.spec((3,), "int8"), by=BY)
    assert sorted(types(graph)) == ["AddV2", "AddV2", "Mul", "Sub"]


@pytest.mark.parametrize("spec", [X, OPEN], ids=["static", "open"])
def test_broadcast_scalars_are_used_as_they_are(spec):
    """Check the gradient of a mean, and products with ones."""

    def function(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            loss = ops.mean(ops.square(x))
        return tape.gradient(loss, x), ops.ones_like(x) * x, x + ops.broadcast_to(ops.sum(x), ops.shape(x))

    from dovetail.passes.composites import inline_composites

    graph = optimized(function, spec, by=[lambda g: inline_composites(g, lambda op: ("Square", "Mean")), *BY])
    assert "BroadcastTo" not in types(graph)
    assert graph.outputs[1] is graph.inputs[0]


@pytest.mark.parametrize("spec", [X, OPEN], ids=["static", "open"])
def test_broadcasts_stay_where_they_are_not_done_by_the_way(spec):
    def function(x):
        return ops.concatenate([ops.broadcast_to(ops.sum(x), ops.shape(x)), x], 0)

    assert "BroadcastTo" in types(optimized(function, spec, by=BY))


def test_uniform_constants_become_scalars():
    graph = optimized(lambda x: ops.maximum(x, np.full((2, 3), 0.5, "float32")), X, by=BY)
    assert [op.outputs[0].shape for op in graph.operations if op.type == "Const"] == [()]


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul_takes_transposes_in(transpose_a, transpose_b):
    def function(x, y):
        x = x if transpose_a else ops.transpose(x, (0, 2, 1))
        y = y if transpose_b else ops.transpose(y, (0, 2, 1))
        return ops.matmul(x, y, transpose_a, transpose_b), ops.matmul(
            ops.transpose(x, (0, 2, 1)), y, not transpose_a, transpose_b
        )

    graph = optimized(function, dt.spec((4, 3, 2)), dt.spec((4, 5, 3)), by=BY)
    assert types(graph) == ["MatMul"]
    assert len(set(graph.outputs)) == 1


def test_transposes_of_other_axes_stay():
    graph = optimized(lambda x: ops.matmul(ops.transpose(x, (2, 1, 0)), x), dt.spec((3, 3, 3)), by=BY)
    assert types(graph) == ["Transpose", "MatMul"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.tanh(x * 2.0),
        lambda x: x + ops.exp(x),
        lambda x: ops.cast(x, "int32"),
        ops.ones_like,
        ops.zeros_like,
        lambda x: ops.full_like(x, 2.0),
        lambda x: sum_like(ops.stack([x, x]), x),
        lambda x: ops.reshape(ops.reshape(x, (-1,)), ops.shape(x)),
        lambda x: ops.broadcast_to(ops.sum(x), ops.shape(x)),
        lambda x: ops.full(ops.shape(x), 2.0),
    ],
)
def test_shapes_of_results_are_those_of_the_arguments(function):
    graph = optimized(lambda x: ops.shape(ops.exp(ops.cast(function(x), "float64"))), dt.spec((None, None)), by=BY)
    assert types(graph) == ["Shape"]
    assert graph.outputs[0].op.inputs == graph.inputs


def test_sums_like_what_was_not_broadcast_vanish():
    def function(x, g):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.tanh(x * 2.0) + 1.0
        return tape.gradient(y, x, g * ops.ones_like(x))

    assert "SumLike" not in types(optimized(function, dt.spec((None, 2)), dt.spec(()), by=BY))


@pytest.mark.parametrize(
    ("given", "like", "left"),
    [
        ((4, 2, 3), (2, 3), ["Sum"]),
        ((4, 2, 3), (), ["Sum"]),
        ((4, 2, 3), (4, 1, 3), ["Sum", "Reshape"]),
        ((4, 2, 3), (2, 1), ["Sum", "Reshape"]),
        ((1, 2), (1, 1), ["Sum", "Reshape"]),
        ((None, 2), (2,), ["SumLike"]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_sum_like_a_known_shape_is_a_sum(given, like, left, dtype):
    graph = optimized(sum_like, dt.spec(given, dtype), dt.spec(like, dtype), by=BY)
    assert types(graph) == left and graph.outputs[0].dtype == dtype
    shape = [dim or 5 for dim in given]
    g, x = np.arange(np.prod(shape)).reshape(shape).astype(dtype), np.zeros(like, dtype)
    np.testing.assert_array_equal(dt.function(graph)(g, x), sum_like(ops.convert(g), ops.convert(x)))


def test_nan_and_infinity_come_through():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0], "float32")

    def function(x):
        return x * 0, x - x, x / x, x + 0, (x * 2.0) * 3.0, ops.maximum(x, x), (-x) ** 2

    compiled = dt.function(function)
    with dt.engine("numpy"):
        for found, expected in zip(compiled(special), function(ops.convert(special)), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_shapes_that_may_differ_are_not_the_same_a19(rng):
    """Check that the gradient of a broadcast argument is summed, though all shapes are unknown."""

    def gradient(x, y):
        with dt.GradientTape() as tape:
            tape.watch([x, y])
            z = ops.sum(ops.tanh(x * y) + x)
        return tape.gradient(z, [x, y])

    x, y = rng.normal(size=(3, 1)), rng.normal(size=(1, 4))
    expected = gradient(ops.convert(x), ops.convert(y))
    found = dt.function(gradient, input_signature=[dt.spec((None, None), "float64")] * 2)(x, y)
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy())

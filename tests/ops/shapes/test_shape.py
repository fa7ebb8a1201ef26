"""Shapes, creation, joining, rearranging, extending and diagonals, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
UNKNOWN = [dt.spec((None, None, None))]

CALLS = {
    "ravel": (ops.ravel, np.ravel),
    "moveaxis": (lambda x: ops.moveaxis(x, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "swapaxes": (lambda x: ops.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1)),
    "expand_dims": (lambda x: ops.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (lambda x: ops.squeeze(x[:, :1], 1), lambda x: x[:, 0]),
    "concatenate": (lambda x: ops.concatenate([x, x[:, :1]], 1), lambda x: np.concatenate([x, x[:, :1]], 1)),
    "stack": (lambda x: ops.stack([x, x], -1), lambda x: np.stack([x, x], -1)),
    "split": (lambda x: ops.split(x, 2, -1)[1], lambda x: np.split(x, 2, -1)[1]),
    "split at": (lambda x: ops.split(x, [1, 3], -1)[1], lambda x: np.split(x, [1, 3], -1)[1]),
    "split sizes": (lambda x: ops.split_sizes(x, [1, -1, 1], -1)[1], lambda x: x[..., 1:3]),
    "unstack": (lambda x: ops.unstack(x, 3, 1)[-1], lambda x: x[:, -1]),
    "tile": (lambda x: ops.tile(x, (2, 1, 2, 1)), lambda x: np.tile(x, (2, 1, 2, 1))),
    "repeat": (lambda x: ops.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    "repeat each": (lambda x: ops.repeat(x, [2, 0, 1], 1), lambda x: np.repeat(x, [2, 0, 1], 1)),
    "repeat all": (lambda x: ops.repeat(x, 2), lambda x: np.repeat(x, 2)),
    "repeat by one for all": (lambda x: ops.repeat(x, [2], 1), lambda x: np.repeat(x, [2], 1)),
    "flip": (lambda x: ops.flip(x, (0, -1)), lambda x: np.flip(x, (0, -1))),
    "roll": (lambda x: ops.roll(x, (1, -5), (0, 2)), lambda x: np.roll(x, (1, -5), (0, 2))),
    "roll all": (lambda x: ops.roll(x, 5), lambda x: np.roll(x, 5)),
    "pad": (lambda x: ops.pad(x, 1, constant_values=7), lambda x: np.pad(x, 1, constant_values=7)),
    "pad pairs": (lambda x: ops.pad(x, ((1, 0), (0, 2), (0, 0))), lambda x: np.pad(x, ((1, 0), (0, 2), (0, 0)))),
    "reflect": (lambda x: ops.pad(x, (1, 1), "reflect"), lambda x: np.pad(x, 1, "reflect")),
    "symmetric": (lambda x: ops.pad(x, (2, 1), "symmetric"), lambda x: np.pad(x, (2, 1), "symmetric")),
    "tril": (lambda x: ops.tril(x, 1), lambda x: np.tril(x, 1)),
    "triu": (lambda x: ops.triu(x, 1), lambda x: np.triu(x, 1)),
    "diagonal": (lambda x: ops.diagonal(x, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0)),
    "trace": (ops.trace, np.trace),
    "diag": (lambda x: ops.diag(ops.ravel(x), -1), lambda x: np.diag(x.ravel(), -1)),
    "size": (lambda x: ops.convert(ops.size(x)), lambda x: np.array(24)),
    "full": (lambda x: ops.full(ops.shape(x)[1:], 7.0), lambda x: np.full((3, 4), 7.0, "float32")),
    "arange": (lambda x: ops.arange(ops.shape(x)[2]), lambda x: np.arange(4)),
    "broadcast_to": (lambda x: ops.broadcast_to(x[:, :1], ops.shape(x)), lambda x: np.broadcast_to(x[:, :1], x.shape)),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_function_of_that_name(engine, name):
    ours, numpys = CALLS[name]
    expected = numpys(X)
    for call in (ours, dt.function(ours), dt.function(ours, input_signature=UNKNOWN)):
        found = call(ops.convert(X)).numpy()
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("size", "full", "arange")])
def test_gradient_with_unknown_dimensions_is_that_with_known_ones(engine, name):
    call = CALLS[name][0]

    def gradient(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
            z = ops.sum(y * y)
        return tape.gradient(z, x)

    x = ops.convert(X)
    expected = gradient(x).numpy()
    read = np.zeros_like(X)
    np.add.at(read.reshape(-1), CALLS[name][1](np.arange(24).reshape(X.shape)).astype(int).reshape(-1), 1)
    if name not in ("pad", "pad pairs", "tril", "triu", "diag", "trace"):  # these make new elements
        np.testing.assert_allclose(expected, 2 * X * read, rtol=1e-6)
    np.testing.assert_allclose(dt.function(gradient, input_signature=UNKNOWN)(x).numpy(), expected, rtol=1e-6)


def test_creation(engine):
    for call in (
        lambda o: o.arange(5),
        lambda o: o.arange(1, 7, 2),
        lambda o: o.arange(3, -4, -2),
        lambda o: o.arange(3, 1),
    ):
        np.testing.assert_array_equal(call(ops).numpy(), call(np))
    for args in ((0.0, 1.0, 0.1), (1, 2, 0.25)):
        found = ops.arange(*args)
        assert found.dtype == "float32"
        np.testing.assert_allclose(found.numpy(), np.arange(*args), rtol=1e-6)
    assert ops.arange(3, dtype="float16").dtype == "float16"
    for k in (-1, 0, 2):
        np.testing.assert_array_equal(ops.eye(2, 3, k).numpy(), np.eye(2, 3, k))
        np.testing.assert_array_equal(ops.tri(2, 3, k).numpy(), np.tri(2, 3, k))
    np.testing.assert_allclose(ops.linspace(0.1, 1, 7).numpy(), np.linspace(0.1, 1, 7, dtype="float32"), rtol=1e-6)
    assert float(ops.linspace(0.1, 0.7, 4)[-1]) == float(np.float32(0.7))
    for indexing in ("xy", "ij"):
        for f, e in zip(
            ops.meshgrid([1, 2], [3, 4, 5], [6], indexing=indexing),
            np.meshgrid([1, 2], [3, 4, 5], [6], indexing=indexing),
            strict=True,
        ):
            np.testing.assert_array_equal(f.numpy(), e)
    for make, value in ((ops.zeros, 0), (ops.ones, 1)):
        assert make((2, 0)).shape == (2, 0) and make(()).numpy() == value
    assert ops.zeros_like([1, 2]).dtype == "int32" and ops.ones_like([True]).dtype == "bool"


def test_pad_of_sizes_known_when_running(engine):
    def pad_to(x, length):
        return ops.pad(x, ((0, length - ops.shape(x)[0]), (0, 0)))

    call = dt.function(lambda x: pad_to(x, 4), input_signature=[dt.spec((None, 2))])
    np.testing.assert_array_equal(call(np.ones((3, 2), "float32")).numpy(), [[1, 1], [1, 1], [1, 1], [0, 0]])


@pytest.mark.parametrize("value", [0, 2.0, 1 - 2j])
def test_pad_of_complex_numbers(engine, value):
    x = (X[0] + 1j * X[1]).astype("complex64")
    for call in (ops.pad, dt.function(ops.pad)):
        result = call(x, ((1, 0), (0, 2)), constant_values=value).numpy()
        np.testing.assert_array_equal(result, np.pad(x, ((1, 0), (0, 2)), constant_values=value))
    with dt.GradientTape() as tape:
        tape.watch(z := ops.convert(x))
        loss = ops.sum(ops.square(ops.absolute(ops.pad(z, 1, constant_values=value))))
    np.testing.assert_allclose(tape.gradient(loss, z).numpy(), 2 * x, rtol=1e-5)


def test_repeats_as_a_tensor(engine):
    repeats = ops.convert([2, 0, 1])
    np.testing.assert_array_equal(ops.repeat(ops.convert([5, 6, 7]), repeats, 0).numpy(), [5, 5, 7])
    np.testing.assert_array_equal(ops.repeat([5, 6], ops.convert(2)).numpy(), [5, 5, 6, 6])
    assert ops.repeat(ops.zeros([0, 2]), ops.zeros([0], "int32"), 0).shape == (0, 2)
    with pytest.raises(ValueError, match=r"repeat .*one for each of the 2 elements along axis 0, .* the shape \(3,\)"):
        ops.repeat([5, 6], [1, 2, 3])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ops.concatenate([np.zeros((2, 3)), np.zeros((3, 2))]), ValueError, "equal except along axis 0"),
        (lambda: ops.concatenate([np.zeros(3)], 1), IndexError, "out of range for rank 1"),
        (lambda: ops.stack([np.zeros(2), np.zeros(3)]), ValueError, "shapes must be equal"),
        (lambda: ops.stack([]), ValueError, "at least one"),
        (lambda: ops.split(np.zeros(5), 2), ValueError, "2 equal parts"),
        (lambda: ops.split_sizes(np.zeros(5), [2, 2]), ValueError, "do not add up to 5"),
        (lambda: ops.squeeze(np.zeros((2, 1)), 0), ValueError, "axis 0 has the size 2"),
        (lambda: ops.pad(np.zeros(2), (-1, 0)), ValueError, "0 or more"),
        (lambda: ops.pad(np.zeros(2), (2, 0), "reflect"), ValueError, "too few to mirror"),
        (lambda: ops.pad(np.zeros(2), (2, 0), "wrap"), ValueError, "mode must be"),
        (lambda: ops.tile(np.zeros(2), (-1,)), ValueError, "0 or more"),
        (lambda: ops.moveaxis(np.zeros((2, 2)), (0, 1), 0), ValueError, "as many axes"),
        (lambda: ops.reshape(np.zeros(4), (3, -1)), ValueError, "do not fill"),
        (lambda: ops.arange(0, 1, 0), ValueError, "must not be 0"),
        (lambda: ops.bitcast(np.zeros(3, "float32"), "int64"), ValueError, "last axis must be of size 2"),
    ],
)
def test_errors_say_what_is_needed(engine, call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_lists_of_tensors_are_tensors(engine):
    def function(x, y):
        return ops.sum([[x, y], [1.0, x * y]], axis=0), ops.maximum([x, y], ops.convert([y, 2.0]))

    x, y = ops.convert(3.0), ops.convert(5.0)
    for run in (function, dt.function(function)):
        with dt.GradientTape() as tape:
            tape.watch([x, y])
            added, larger = run(x, y)
        assert added.tolist() == [4, 20] and larger.tolist() == [5, 5]
        assert [float(g) for g in tape.gradient(added, [x, y])] == [6, 4]


def test_lists_of_an_engines_own_tensors_are_its_own():
    torch = pytest.importorskip("torch")
    x, y = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0)
    result = ops.sum([x, 2.0, x * y])
    result.backward()
    assert result.item() == 20 and x.grad.item() == 6


def test_no_dimension_is_negative(engine):
    with pytest.raises(ValueError, match="0 or more"):
        ops.broadcast_to(1.0, (-1, 2))


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("shape", [(None, 3), (None, None)], ids=str)
def test_gradient_of_squeeze_where_the_rank_of_the_result_is_not_known(engine, shape, axis, rng):
    def gradient(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.sum(ops.squeeze(x[:1], axis) ** 2)
        return tape.gradient(y, x)

    x = rng.normal(size=(2, 3))
    found = dt.function(gradient, input_signature=[dt.spec(shape, "float64")])(x)
    np.testing.assert_allclose(found.numpy(), 2 * x * [[1], [0]])


@pytest.mark.parametrize(
    ("given", "shape", "expected"),
    [
        ((0, 2, 3), (0, -1), (0, 6)),
        ((0, 2, 3), (0, 3, -1), (0, 3, 2)),
        ((0, 2), (-1, 2), (0, 2)),
        ((2, 0), (0, -1), (0, 2)),
    ],
)
def test_a_missing_dimension_of_an_empty_shape(engine, given, shape, expected):
    """Check that dimensions of 0 do not count for the one to infer, as in TensorFlow."""
    x = np.zeros(given, "float32")
    as_tensors = lambda x: ops.reshape(x, [ops.shape(x)[0] if dim == 0 else dim for dim in shape])  # noqa: E731
    assert ops.reshape(x, shape).shape == expected
    if given[0] == 0:
        compiled = dt.function(as_tensors, input_signature=[dt.spec((None, *given[1:]))])
        assert as_tensors(x).shape == compiled(x).shape == expected

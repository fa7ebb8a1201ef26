"""Products beyond the generated suite: against NumPy, by ranks and axes, with unknown dimensions, and wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

EINSUMS = [
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (2, 3, 2)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("i,j,k->kij", (2,), (3,), (4,)),
    ("...i,...i->...", (4, 1, 3), (2, 3)),
    ("i...,ij->j...", (3, 2, 2), (3, 4)),
    ("...ij->...ji", (2, 3, 4)),
    ("b...h, h d -> b...d", (2, 3, 4), (4, 5)),
    ("...,...", (2, 3), (3,)),
]


def test_axes_of_dots_that_are_not_in_the_result_are_summed_over(rng):
    """Check a sum that gradients need, and NumPy forbids in a user's equation."""
    g, x = draw(rng, (2, 3, 5), (3, 2, 4))
    found = ops.linalg.products._einsum([g, x], "b...d,...bh->hd")
    np.testing.assert_allclose(found.numpy(), np.einsum("bcd,cbh->hd", g, x))
    graph = dt.function(lambda g, x: ops.linalg.products._einsum([g, x], "b...d,...bh->hd")).graph(g, x)
    assert graph.outputs[0].shape == (4, 5)


def draw(rng, *shapes):
    return [rng.uniform(-1, 1, shape) for shape in shapes]


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in EINSUMS], ids=[e[0] for e in EINSUMS])
def test_einsum(engine, rng, subscripts, shapes):
    """Check values against NumPy: eager, compiled and with unknown dimensions; gradients against differences."""
    arrays = draw(rng, *shapes)
    expected = np.einsum(subscripts, *arrays)
    np.testing.assert_allclose(ops.einsum(subscripts, *arrays).numpy(), expected, rtol=1e-10, atol=1e-12)

    def call(*tensors):
        return ops.einsum(subscripts, *tensors)

    unknown = [dt.spec([None] * len(shape), "float64") for shape in shapes]
    for signature in (None, unknown):
        found = dt.function(call, input_signature=signature)(*arrays)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)
    weights = rng.uniform(size=expected.shape)

    @dt.function(input_signature=unknown)
    def gradient(*tensors):
        with dt.GradientTape() as tape:
            tape.watch(list(tensors))
            y = ops.sum(call(*tensors) * weights)
        return tape.gradient(y, list(tensors))

    for i, found in enumerate(gradient(*arrays)):
        direction = rng.uniform(size=shapes[i])
        ends = [np.einsum(subscripts, *arrays[:i], arrays[i] + t * direction, *arrays[i + 1 :]) for t in (1e-6, -1e-6)]
        slope = ((ends[0] - ends[1]) * weights).sum() / 2e-6
        np.testing.assert_allclose((found.numpy() * direction).sum(), slope, rtol=1e-6, atol=1e-8)


def test_second_order_of_einsum(engine, rng):
    x = ops.convert(draw(rng, (3, 3))[0])
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as inner:
            inner.watch(x)
            y = ops.einsum("ii,jk,kl->", x, x, x)
        slope = ops.sum(inner.gradient(y, x) ** 2)
    found = outer.gradient(slope, x).numpy()

    def value(a):
        t, ones = np.trace(a), np.ones(3)
        g = np.eye(3) * (ones @ a @ a @ ones) + t * (np.outer(ones, a @ ones) + np.outer(a.T @ ones, ones))
        return (g**2).sum()

    a = x.numpy()
    expected = np.zeros((3, 3))
    for i in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i] = 1e-6
        expected[i] = (value(a + step) - value(a - step)) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "problem"),
    [
        ("ij,jk", [(2, 3)], "are for 2 operands"),
        ("ij,jk", [(2, 3), (4, 5)], "axes named 'j' must be equally long"),
        ("ij", [(2, 3, 4)], "names 2 axes, but its tensor has 3"),
        ("i...j", [(2,)], "names 2 axes, but its operand has 1"),
        ("i1", [(2, 3)], "must be made of letters"),
        ("i->ii", [(2,)], "each axis of the result once"),
        ("i->j", [(2,)], "only axes that an operand has"),
        ("...i->i", [(2, 3)], "in neither"),
        ("ij->j->i", [(2, 3)], "must be made of letters"),
    ],
)
def test_wrong_einsums(subscripts, shapes, problem):
    with pytest.raises(ValueError, match=problem):
        ops.einsum(subscripts, *[np.ones(shape) for shape in shapes])


RANKS = [(), (3,), (2, 3), (4, 2, 3)]


@pytest.mark.parametrize("right", [(), (3,), (3, 2), (5, 3, 2)])
@pytest.mark.parametrize("left", RANKS)
def test_dot(engine, rng, left, right):
    x, y = draw(rng, left, right)
    np.testing.assert_allclose(ops.dot(x, y).numpy(), np.dot(x, y), rtol=1e-10)


@pytest.mark.parametrize("right", RANKS)
@pytest.mark.parametrize("left", RANKS)
def test_inner_and_outer(engine, rng, left, right):
    x, y = draw(rng, left, right)
    np.testing.assert_allclose(ops.inner(x, y).numpy(), np.inner(x, y), rtol=1e-10)
    np.testing.assert_allclose(ops.outer(x, y).numpy(), np.outer(x, y), rtol=1e-10)


AXES = [0, 1, 2, (0, 1), (-1, 0), ([1, 0], [0, -1]), ([], [])]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_tensordot(engine, rng, axes):
    x, y = draw(rng, (3, 3), (3, 3, 3))
    np.testing.assert_allclose(ops.tensordot(x, y, axes).numpy(), np.tensordot(x, y, axes), rtol=1e-10)
    if axes not in (2, ([1, 0], [0, -1])):
        np.testing.assert_allclose(ops.tensordot(x, x, axes).numpy(), np.tensordot(x, x, axes), rtol=1e-10)


def test_tensordot_of_matrices_is_a_product_of_matrices():
    graph = dt.function(lambda x, y: ops.tensordot(x, y, axes=(0, 1))).graph(np.ones((3, 2)), np.ones((4, 3)))
    assert [op.type for op in graph.operations if op.inputs] == ["MatMul"]


@pytest.mark.parametrize(
    ("axes", "kind", "problem"),
    [
        (([0], [0, 1]), ValueError, "two equally long lists"),
        ((0, 1, 2), ValueError, "two equally long lists"),
        ((5, 0), IndexError, "out of range"),
        ((0, 1), ValueError, "equal"),
    ],
)
def test_wrong_tensordots(axes, kind, problem):
    with pytest.raises(kind, match=problem):
        ops.tensordot(np.ones((2, 3)), np.ones((2, 4)), axes)


def test_vdot_conjugates(engine):
    x, y = np.array([1 + 2j, 3.0]), np.array([2j, 1.0])
    assert complex(ops.vdot(x, y)) == np.vdot(x, y)


def test_matvec_and_transpose(engine, rng):
    x, y = draw(rng, (4, 2, 3), (3,))
    np.testing.assert_allclose(ops.matvec(x, y).numpy(), x @ y, rtol=1e-10)
    np.testing.assert_array_equal(ops.matrix_transpose(x).numpy(), x.swapaxes(1, 2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint32", "int64", "float16", "bfloat16", "complex64"])
def test_products_in_every_kind_of_dtype(engine, rng, dtype):
    """Check that integers wrap around alike, and that sums of halves are more precise than halves."""
    wide = ops.convert(rng.integers(-100, 100, (40, 40)), dtype=dtype if "uint" not in dtype else "int64")
    x = ops.cast(wide, dtype)
    found = ops.matmul(x, x), ops.einsum("ij,kj->ik", x, x)
    with dt.engine("numpy"):
        y = ops.convert(x.numpy())
        expected = ops.matmul(y, y), ops.einsum("ij,kj->ik", y, y)
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == dtype
        tolerance = {"float16": 1e-2, "bfloat16": 2e-2}.get(dtype, 1e-5 if dtype == "complex64" else 0)
        f, e = (t.numpy().astype("complex128" if "complex" in dtype else "float64") for t in (f, e))
        np.testing.assert_allclose(f, e, rtol=tolerance, atol=tolerance * 1e4)


def test_errors_of_matmul(engine):
    with pytest.raises(ValueError, match="inner dimensions must be equal, but they are 3 and 2"):
        ops.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="rank 2 or more; for vectors use dot"):
        ops.matmul(np.ones(3), np.ones(3))


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((2, 3), (3, 4))],
)
def test_the_operator_is_numpys(engine, left, right, rng):
    x, y = rng.normal(size=left), rng.normal(size=right)
    for found in (
        ops.convert(x) @ ops.convert(y),
        ops.convert(x) @ y,
        x @ ops.convert(y),
        dt.function(lambda a, b: a @ b)(x, y),
    ):
        np.testing.assert_allclose(found.numpy(), x @ y)
    with pytest.raises(ValueError, match="rank 2 or more"):
        ops.convert(x) @ 2.0

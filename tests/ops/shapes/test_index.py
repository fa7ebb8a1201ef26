"""Reading and writing at positions: cases that the generated suite does not draw."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS


def test_gather_with_batch_axes(engine, rng):
    x = rng.normal(size=(2, 3, 4, 5)).astype("float32")
    indices = rng.integers(-4, 4, (2, 3, 6))
    expected = np.stack([[x[i, j][indices[i, j]] for j in range(3)] for i in range(2)])
    np.testing.assert_array_equal(ops.gather(x, indices, axis=2, batch_dims=2).numpy(), expected)
    last = np.stack([x[i][..., indices[i]] for i in range(2)])
    np.testing.assert_array_equal(ops.gather(x, indices, axis=3, batch_dims=1).numpy(), last)
    compiled = dt.function(
        lambda x, i: ops.gather(x, i, 3, 1), input_signature=[dt.spec((None,) * 4), dt.spec((None,) * 3, "int64")]
    )
    np.testing.assert_array_equal(compiled(x, indices).numpy(), last)


def test_take_flattens_without_an_axis(engine):
    assert ops.take([[1, 2], [3, 4]], [3, -4]).numpy().tolist() == [4, 1]
    assert ops.take_along_axis([[1, 2], [3, 4]], [3, 0], axis=None).numpy().tolist() == [4, 1]


@pytest.mark.parametrize("bad", [3, -4])
@pytest.mark.parametrize(
    "call",
    [
        lambda i: ops.gather(np.zeros((3, 2)), [i]),
        lambda i: ops.gather(np.zeros((2, 3)), [i], axis=1),
        lambda i: ops.gather_nd(np.zeros((4, 3)), [[0, i]]),
        lambda i: ops.take_along_axis(np.zeros((2, 3)), [[i], [0]]),
        lambda i: ops.tensor_scatter_update(np.zeros(3), [[i]], [1.0]),
        lambda i: ops.tensor_scatter_add(np.zeros((4, 3)), [[0, i]], [1.0]),
        lambda i: ops.tensor_scatter_max(np.zeros(3), [[i]], [1.0]),
    ],
)
def test_out_of_range_is_an_index_error(engine, call, bad):
    with pytest.raises(IndexError):
        call(bad)


def test_out_of_range_in_a_compiled_program(engine):
    read = dt.function(lambda x, i: ops.gather(x, i))
    write = dt.function(lambda x, i: ops.tensor_scatter_add(x, ops.expand_dims(i, -1), ops.ones_like(i, "float32")))
    x, i = np.ones(3, "float32"), np.array([0, 3])
    if engine in ("jax", "tensorflow"):
        np.testing.assert_array_equal(read(x, i).numpy(), [1, np.nan])
        np.testing.assert_array_equal(write(x, i).numpy(), [2, 1, 1])
    else:
        for program in (read, write):
            with pytest.raises(IndexError):
                program(x, i)


def test_the_gradient_of_an_embedding_adds_up_and_stays_compiled(engine):
    table = dt.Variable(np.arange(12, dtype="float32").reshape(4, 3))

    @dt.function
    def gradient(ids):
        with dt.GradientTape() as tape:
            y = ops.sum(ops.gather(table, ids) ** 2)
        return tape.gradient(y, table)

    ids = np.array([[1, 3], [1, 1]])
    expected = np.zeros((4, 3), "float32")
    np.add.at(expected, ids, 2 * table.numpy()[ids])
    np.testing.assert_array_equal(gradient(ids).numpy(), expected)
    types = [op.type for op in gradient.graph(ids).operations]
    assert "TensorScatterAdd" in types and "Transpose" not in types


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_second_order_of_gather_and_scatter(engine, axis, rng):
    x = ops.convert(rng.normal(size=(3, 3, 3)))
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as inner:
            inner.watch(x)
            y = ops.sum(ops.gather(x, [0, 2, 0], axis) ** 3)
        z = ops.sum(inner.gradient(y, x) ** 2)
    counts = np.zeros(3)
    counts[[0, 2]] = 2, 1
    counts = np.moveaxis(np.broadcast_to(counts, (3, 3, 3)), -1, axis)
    np.testing.assert_allclose(outer.gradient(z, x).numpy(), 36 * counts**2 * x.numpy() ** 3, rtol=1e-6)


def test_equal_candidates_share_the_gradient_of_a_scattered_maximum(engine):
    x, updates = ops.convert([1.0, 5.0]), ops.convert([1.0, 1.0, 2.0])
    with dt.GradientTape() as tape:
        tape.watch([x, updates])
        y = ops.tensor_scatter_max(x, [[0], [0], [1]], updates)
    gx, gu = tape.gradient(y, [x, updates])
    np.testing.assert_allclose(gx.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(gu.numpy(), [1 / 3, 1 / 3, 0])


def test_scatter_nd_adds_duplicates(engine):
    found = ops.scatter_nd([[0, 1], [0, 1], [1, -1]], [1.5, 2.0, 3.0], (2, 3))
    np.testing.assert_array_equal(found.numpy(), [[0, 3.5, 0], [0, 0, 3]])


def test_shapes_that_do_not_fit(engine):
    with pytest.raises(ValueError, match="the shape must be"):
        ops.tensor_scatter_add(np.zeros((3, 2)), [[0]], np.zeros(2))
    with pytest.raises(ValueError, match="same rank"):
        ops.take_along_axis(np.zeros((3, 2)), [0])
    with pytest.raises(ValueError, match="last axis of indices"):
        ops.gather_nd(np.zeros(3), [[0, 0]])


def test_on_an_engines_own_values(engine):
    jax = pytest.importorskip("jax")
    torch = pytest.importorskip("torch")
    if engine == "jax":
        x = jax.numpy.arange(6.0).reshape(3, 2)
        found = jax.jit(jax.grad(lambda x, i: ops.gather(x, i).sum()))(x, 2)
        np.testing.assert_array_equal(found, [[0, 0], [0, 0], [1, 1]])
    elif engine == "torch":
        x = torch.arange(6.0).reshape(3, 2).requires_grad_()
        (ops.gather(x, torch.tensor([0, 0])).sum() + ops.strided_slice(x, (2,), (0,), (-1,)).sum()).backward()
        np.testing.assert_array_equal(x.grad, [[2, 2], [1, 1], [1, 1]])


def test_nonzero_and_boolean_mask(engine):
    x = np.array([[0, 1], [2, 0]])
    assert [t.numpy().tolist() for t in ops.nonzero(x)] == [[0, 1], [1, 0]]
    mask = np.array([True, False])
    np.testing.assert_array_equal(ops.boolean_mask(x, mask, axis=1).numpy(), x[:, mask])
    np.testing.assert_array_equal(ops.boolean_mask(x, x > 0).numpy(), x[x > 0])


def test_bincount(engine):
    assert ops.bincount([1, 1, 3], minlength=6).numpy().tolist() == [0, 2, 0, 1, 0, 0]
    assert ops.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0]).numpy().tolist() == [0, 0.75, 0, 2]
    assert ops.bincount([[0, 1], [1, 1]]).numpy().tolist() == [[1, 1], [0, 2]]
    assert ops.bincount(np.zeros((0,), "int32"), minlength=2).numpy().tolist() == [0, 0]
    fixed = dt.function(lambda x: ops.bincount(x, length=3))
    assert fixed(np.array([0, 2, 2, 7])).numpy().tolist() == [1, 0, 2]


def test_unique(engine):
    x = np.array([[2.0, np.nan], [2.0, np.nan]])
    values, inverse, counts = (t.numpy() for t in ops.unique(x))
    np.testing.assert_array_equal(values, [2, np.nan])
    np.testing.assert_array_equal(values[inverse], x)
    assert counts.tolist() == [2, 2]
    assert [t.shape for t in ops.unique(np.zeros((0, 2)))] == [(0,), (0, 2), (0,)]


@pytest.mark.parametrize("name", ["Add", "Mul", "Max", "Min", "Update"])
@pytest.mark.parametrize("given", [(0,), (0, 3), (3, 0), (4,)], ids=str)
def test_scattering_nothing(engine, name, given):
    x = np.ones(given, "float32")
    found = OPS[f"TensorScatter{name}"](x, np.zeros((0, 1), "int32"), np.zeros((0, *given[1:]), "float32"))
    np.testing.assert_array_equal(found.numpy(), x)

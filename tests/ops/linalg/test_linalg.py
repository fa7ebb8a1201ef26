"""Linear algebra beyond the generated suite: against NumPy, singular matrices, signs, dtypes, higher derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


def close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


def symmetric(rng, *shape):
    x = rng.normal(size=shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


# -- norms and the like -----------------------------------------------------------------------------------------------

VECTOR_NORMS = [None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf]
MATRIX_NORMS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("order", VECTOR_NORMS, ids=str)
def test_vector_norms(engine, rng, order, keepdims):
    x = rng.uniform(0.5, 2, (3, 4, 2)) * rng.choice([-1, 1], (3, 4, 2))
    close(ops.norm(x, order, axis=1, keepdims=keepdims), np.linalg.norm(x, order, axis=1, keepdims=keepdims))
    close(ops.norm(x[0, :, 0], order), np.linalg.norm(x[0, :, 0], order))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("order", MATRIX_NORMS, ids=str)
def test_matrix_norms(engine, rng, order, keepdims):
    x = rng.normal(size=(3, 4, 2))
    for axes in ((0, 2), (2, 1), (-1, 0)):
        close(ops.norm(x, order, axis=axes, keepdims=keepdims), np.linalg.norm(x, order, axis=axes, keepdims=keepdims))
    close(ops.norm(x[0], order), np.linalg.norm(x[0], order))


def test_norms_that_do_not_exist():
    for x, order, axis in ((np.ones((2, 2)), 3, None), (np.ones(3), "fro", None), (np.ones((2, 2, 2)), 1, None)):
        with pytest.raises(ValueError, match="there is no norm"):
            ops.norm(x, order, axis)
    with pytest.raises(IndexError, match="out of range"):
        ops.norm(np.ones((2, 2)), 1, axis=5)


def test_gradient_of_the_norm_at_zero_is_zero(engine):
    x = ops.zeros((3,))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.norm(x)
    assert tape.gradient(y, x).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 5, 8])
def test_matrix_power(engine, rng, n):
    x = symmetric(rng, 2, 3, 3)
    close(ops.matrix_power(x, n), np.linalg.matrix_power(x, n))


def test_rank_and_least_squares(engine, rng):
    x = rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4))
    assert int(ops.matrix_rank(x)) == 2
    assert int(ops.matrix_rank(np.zeros((3, 3)))) == 0
    for b in (rng.normal(size=5), rng.normal(size=(5, 3))):
        close(ops.lstsq(x, b), np.linalg.lstsq(x, b, rcond=1e-10)[0], 1e-6)
    close(ops.pinv(x, 1e-10), np.linalg.pinv(x, 1e-10), 1e-6)


def test_cholesky_inverse(engine, rng):
    x = symmetric(rng, 2, 3, 3)
    factor = np.linalg.cholesky(x)
    close(ops.cholesky_inverse(factor), np.linalg.inv(x))
    close(ops.cholesky_inverse(factor.swapaxes(-1, -2), upper=True), np.linalg.inv(x))


def test_solve_takes_vectors_and_batches(engine, rng):
    a, b = symmetric(rng, 2, 1, 3, 3), rng.normal(size=(4, 3, 2))
    close(ops.solve(a, b), np.linalg.solve(a, b))
    close(ops.solve(a, b[0, :, 0]), np.linalg.solve(a, b[0, :, 0]))
    square = symmetric(rng, 2, 2, 2)  # right-hand sides of this shape could be a batch of vectors
    close(ops.solve(square, np.eye(2)), np.linalg.inv(square))


# -- decompositions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_decompositions_multiply_back(engine, rng, shape, dtype):
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype == "complex128" else 0)
    for mode in ("reduced", "complete"):
        q, r = ops.qr(x, mode)
        close(q @ r, x)
        close(
            ops.matmul(ops.conj(q), q, transpose_a=True),
            np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *q.shape[-1:] * 2)),
        )
    for full in (False, True):
        u, s, vh = (t.numpy() for t in ops.svd(x, full))
        k = s.shape[-1]
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, atol=1e-10)
        np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), atol=1e-10)
    lu, pivots = (t.numpy() for t in ops.lu_factor(x))
    k = min(shape[-2:])
    lower = np.tril(lu, -1)[..., :, :k] + np.eye(shape[-2], k)
    product = lower @ np.triu(lu)[..., :k, :]
    for i in np.ndindex(shape[:-2]):
        rows = x[i].copy()
        for row, pivot in enumerate(pivots[i]):
            rows[[row, pivot]] = rows[[pivot, row]]
        np.testing.assert_allclose(product[i], rows, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvalues(engine, rng, dtype):
    x = rng.normal(size=(2, 3, 3)) + (1j * rng.normal(size=(2, 3, 3)) if dtype == "complex128" else 0)
    w, v = ops.eig(x)
    close(ops.cast(x, v.dtype) @ v, v.numpy() * w.numpy()[:, None, :])
    h = x + x.conj().swapaxes(-1, -2)
    w, v = ops.eigh(h)
    close(ops.convert(h) @ v, v.numpy() * w.numpy()[:, None, :])
    close(ops.eigvalsh(h), np.linalg.eigvalsh(h))


def test_signs_are_the_same_on_every_engine(engine, rng):
    """Check that the first large entry of each vector is positive, since libraries choose signs freely."""
    for x in rng.normal(size=(20, 4, 3)):
        u, _, vh = ops.svd(x, full_matrices=False)
        _, v = ops.eigh(x @ x.T + np.diag([1, 2, 3, 4]))
        with dt.engine("numpy"):
            expected = *ops.svd(x, full_matrices=False)[::2], ops.eigh(x @ x.T + np.diag([1, 2, 3, 4]))[1]
        for f, e in zip((u, vh, v), expected, strict=True):
            close(f, e.numpy(), 1e-7)


def test_symmetric_matrices_are_read_below_the_diagonal(engine, rng):
    x = symmetric(rng, 3, 3)
    lower = np.tril(x) + np.triu(np.full((3, 3), 77.0), 1)
    close(ops.cholesky(lower), np.linalg.cholesky(x))
    close(ops.eigh(lower)[0], np.linalg.eigvalsh(x))


# -- singular and other impossible inputs -----------------------------------------------------------------------------

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
REGULAR = np.array([[2.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize("invert", [ops.inv, lambda x: ops.solve(x, np.eye(2))], ids=["inv", "solve"])
def test_singular_matrices_give_nan(engine, invert):
    """Check that the other matrices of the batch keep their results; compiled as well."""
    batch = np.stack([SINGULAR, REGULAR])
    for call in (invert, dt.function(invert)):
        found = call(batch).numpy()
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(found[1], np.linalg.inv(REGULAR))
        assert np.isnan(call(SINGULAR).numpy()).all()


def test_triangular_and_indefinite_matrices_give_nan(engine):
    triangles = np.stack([np.array([[1.0, 0.0], [3.0, 0.0]]), REGULAR])
    found = ops.triangular_solve(triangles, np.eye(2)).numpy()
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.linalg.inv(REGULAR))
    found = ops.cholesky(np.stack([-REGULAR, REGULAR])).numpy()
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.sqrt(REGULAR))


def test_determinants_of_singular_matrices(engine):
    assert float(ops.det(SINGULAR)) == 0
    sign, logarithm = ops.slogdet(SINGULAR)
    assert (float(sign), float(logarithm)) == (0, -np.inf)


@pytest.mark.parametrize("name", ["svd", "eigh", "eig"])
def test_nan_comes_through(engine, name):
    """Check arguments with NaN, on which NumPy and torch would raise an error."""
    x = np.stack([np.full((2, 2), np.nan), REGULAR])
    for result in getattr(ops, name)(x):
        assert np.isnan(result.numpy()[0]).all()
        assert not np.isnan(result.numpy()[1]).any()


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "eig"])
def test_square_matrices_are_wanted(engine, name):
    with pytest.raises(ValueError, match="needs square matrices, but they are 2 by 3"):
        getattr(ops, name)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="needs matrices, of rank 2 or more"):
        getattr(ops, name)(np.ones(3))


def test_wrong_systems(engine):
    with pytest.raises(ValueError, match="right-hand sides must have 2 rows, as the matrices, but they have 3"):
        ops.solve(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="do not broadcast"):
        ops.solve(np.ones((2, 2, 2)), np.ones((3, 2, 1)))
    with pytest.raises(ValueError, match="'reduced', 'complete'"):
        ops.qr(np.eye(2), "full")


# -- types, emptiness, derivatives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(engine, dtype):
    x = ops.cast([[4.0, 1.0], [1.0, 3.0]], dtype)
    calls = (ops.cholesky, ops.inv, ops.det, ops.slogdet, ops.qr, ops.eigh, ops.svd, ops.pinv, ops.norm, ops.eigvalsh)
    for call in calls:
        results = call(x)
        expected = call(ops.cast(x, "float32"))
        for f, e in zip(*((r if isinstance(r, tuple) else (r,)) for r in (results, expected)), strict=True):
            assert f.dtype == dtype
            np.testing.assert_allclose(f.numpy().astype("float32"), e.numpy(), rtol=0.03, atol=0.03)
    lu, pivots = ops.lu_factor(x)
    assert (lu.dtype, pivots.dtype) == (dtype, "int32")


def test_integers_become_floats(engine):
    assert ops.inv([[2, 0], [0, 4]]).dtype == "float32"


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2)])
def test_nothing_to_compute(engine, shape):
    x = np.zeros(shape)
    assert ops.solve(x, x).shape == ops.inv(x).shape == ops.cholesky(x).shape == shape
    assert ops.eigh(x)[1].shape == ops.svd(x)[0].shape == ops.qr(x)[0].shape == shape
    assert ops.lu_factor(x)[0].shape == ops.triangular_solve(x, x).shape == shape
    assert ops.det(x).shape == shape[:-2]


SMOOTH = {
    "inv": lambda x: ops.inv(x),
    "solve": lambda x: ops.solve(x, np.array([1.0, 2.0, 3.0])),
    "slogdet": lambda x: ops.slogdet(x)[1],
    "det": lambda x: ops.det(x),
    "cholesky": lambda x: ops.cholesky(x),
    "qr": lambda x: ops.qr(x)[1],
    "eigvalsh": lambda x: ops.eigvalsh(x) ** 3,
    "eigenvectors": lambda x: ops.eigh(x)[1],
    "svdvals": lambda x: ops.svd(x[:, :2], compute_uv=False) ** 3,
    "svd": lambda x: ops.svd(x[:, :2], full_matrices=False)[2],
    "pinv": lambda x: ops.pinv(x[:, :2]),
    "norm": lambda x: ops.norm(x, "nuc"),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(engine, rng, name):
    """Check the derivative of the gradient along a line against differences of the gradient."""
    a, direction, weights = symmetric(rng, 3, 3), rng.normal(size=(3, 3)), None

    def gradient(x):
        nonlocal weights
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = SMOOTH[name](x)
            weights = np.linspace(0.5, 1.5, y.size or 1).reshape(y.shape) if weights is None else weights
            total = ops.sum(y * weights)
        return tape.gradient(total, x)

    with dt.GradientTape() as tape:
        x = ops.convert(a)
        tape.watch(x)
        slope = ops.sum(gradient(x) * direction)
    found = float(ops.sum(tape.gradient(slope, x) * direction))
    ends = [float(ops.sum(gradient(ops.convert(a + t * direction)) * direction)) for t in (1e-5, -1e-5)]
    assert found == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda x: ops.qr(x[:, :2], "complete")[0], "only mode='reduced'"),
        (lambda x: ops.svd(x[:, :2])[0], "only full_matrices=False"),
        (lambda x: ops.lu_factor(x[:, :2])[0], "square matrices only"),
    ],
)
def test_gradients_that_are_not_known(call, problem):
    x = ops.convert(np.eye(3))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    with pytest.raises(NotImplementedError, match=problem):
        tape.gradient(y, x)


# -- derivatives where a division by a result would fail --------------------------------------------------------------


def gradient(function, x):
    x = ops.convert(x)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(function(x))
    return tape.gradient(y, x, unconnected_gradients="zero")


def minors(x):
    """The cofactors of a matrix by their definition."""
    positions = np.ndindex(x.shape)
    parts = [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for i, j in positions]
    return np.reshape(parts, x.shape)


def matrices_of_each_rank(rng):
    m = rng.normal(size=(3, 2))
    yield from (np.zeros((3, 3)), np.outer(m[:, 0], m[:, 1]), m @ m.T, np.diag([2.0, 2.0, 0.0]), np.eye(3), m @ m.T + 1)
    yield np.arange(1.0, 10).reshape(3, 3)


def test_gradient_of_the_determinant_of_singular_matrices_a7(engine, rng):
    x = np.stack(list(matrices_of_each_rank(rng)))
    for call in (lambda x: gradient(ops.det, x), dt.function(lambda x: gradient(ops.det, x))):
        np.testing.assert_allclose(call(x).numpy(), [minors(one) for one in x], atol=1e-12)
        np.testing.assert_allclose(call(SINGULAR).numpy(), [[4, -2], [-2, 1]], atol=1e-12)
        np.testing.assert_allclose(call(np.zeros((2, 2))).numpy(), np.zeros((2, 2)))
        np.testing.assert_allclose(call(np.zeros((1, 1))).numpy(), [[1]])


def test_second_derivative_of_the_determinant_of_singular_matrices_a7(engine, rng):
    x = np.stack(list(matrices_of_each_rank(rng)))
    direction = rng.normal(size=(3, 3))
    found = gradient(lambda x: gradient(ops.det, x) * direction, x).numpy()
    expected = [(minors(one + 1e-5 * direction) - minors(one - 1e-5 * direction)) / 2e-5 for one in x]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_third_derivative_of_the_determinant(engine):
    """Check a matrix of equal singular values; the derivative uses them only at nearly singular matrices."""
    power = lambda n: lambda x: ops.det(x) ** n  # noqa: E731
    for n, expected in ((1, 6), (2, 4 * 5 * 6)):  # derivatives of t ** (3 * n) at 1, along the identity
        f = power(n)
        for _ in range(3):
            f = (lambda g: lambda x: gradient(g, x) * np.eye(3))(f)
        assert float(ops.sum(f(ops.convert(np.eye(3))))) == pytest.approx(expected)


@pytest.mark.parametrize("order", [*VECTOR_NORMS, 4, 1.5, -2], ids=str)
def test_gradient_of_norms_at_zero_is_zero_a7(engine, order):
    for x, axis in ((np.zeros(3), None), (np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 0.0]]), 0)):
        for kind in ("float64", "complex128"):
            found = gradient(lambda x, axis=axis: ops.norm(x, order, axis), x.astype(kind)).numpy()
            assert not np.isnan(found).any()
            assert (found[x == 0] == 0).all()
        second = gradient(lambda x, axis=axis: gradient(lambda x: ops.norm(x, order, axis), x), x).numpy()
        assert not np.isnan(second).any()


@pytest.mark.parametrize("order", MATRIX_NORMS, ids=str)
def test_gradient_of_matrix_norms_at_zero_is_zero_a7(engine, order):
    norm = lambda x: ops.norm(x, order, (0, 1))  # noqa: E731
    for call in (lambda x: gradient(norm, x), lambda x: gradient(lambda x: gradient(norm, x), x)):
        assert call(np.zeros((3, 2))).tolist() == np.zeros((3, 2)).tolist()


def test_indefinite_matrices_give_nan_and_no_error(engine):
    for x in (np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2)), -np.eye(2), np.full((2, 2), np.nan)):
        for kind in ("float32", "complex64"):
            for call in (ops.cholesky, dt.function(ops.cholesky)):
                assert np.isnan(call(np.stack([x, np.eye(2)]).astype(kind)).numpy()[0][np.tril_indices(2)]).all()


# -- complex matrices -------------------------------------------------------------------------------------------------

INVARIANT = {  # functions that the phases of vectors do not change
    "cholesky": lambda x: ops.cholesky(x),
    "qr": lambda x: ops.absolute(ops.qr(x)[0]),
    "eigh": lambda x: ops.concatenate([ops.eigh(x)[0][None], ops.absolute(ops.eigh(x)[1])], 0),
    "eigvalsh": lambda x: ops.eigvalsh(x),
    "svd": lambda x: ops.absolute(ops.svd(x[:, :2], full_matrices=False)[0] * [1.0, 2.0]),
    "svdvals": lambda x: ops.svd(x, compute_uv=False),
    "eig": lambda x: ops.absolute(ops.eig(x)[1]) ** 2 * ops.real(ops.eig(x)[0]),
    "norm": lambda x: ops.norm(x, 3, 0) + ops.norm(x) + ops.norm(x, "nuc"),
    "slogdet": lambda x: ops.imag(ops.slogdet(x)[0]) + ops.slogdet(x)[1],
    "pinv": lambda x: ops.pinv(x[:, :2]),
}


@pytest.mark.parametrize("name", INVARIANT)
def test_gradients_of_complex_matrices(engine, rng, name):
    """Check two derivatives along a line against differences; the phases that engines choose do not matter."""
    x = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    x = x @ x.conj().T + np.eye(3)
    direction = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))

    def value(x):
        y = INVARIANT[name](x)
        y = ops.real(y) + ops.imag(y) / 2
        return ops.sum(y * np.linspace(0.5, 1.5, np.prod(y.shape, dtype=int)).reshape(y.shape))

    def slope(x):
        return ops.sum(ops.real(gradient(value, x) * np.conj(direction)))

    def differences(function):
        ends = [float(function(ops.convert(x + step * direction))) for step in (1e-6, -1e-6)]
        return (ends[0] - ends[1]) / 2e-6

    assert float(slope(ops.convert(x))) == pytest.approx(differences(value), rel=1e-5, abs=1e-6)
    second = float(ops.sum(ops.real(gradient(slope, x) * np.conj(direction))))
    assert second == pytest.approx(differences(slope), rel=1e-4, abs=1e-4)

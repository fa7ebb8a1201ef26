"""Reductions, running sums and statistics at their edges, on every engine against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.dtypes import FLOATS, INTEGERS

NAN, INF = np.nan, np.inf
NUMBERS = [*INTEGERS, *FLOATS]
AXES = [None, 0, -1, (0, 2), (), (2, 1, 0)]


def of(dtype, values):
    return np.array(values).astype(getattr(ml_dtypes, dtype, None) or dtype)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_axes(engine, axis, keepdims, rng):
    x = rng.uniform(0.5, 2, (2, 3, 4))
    for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all"):
        found = getattr(ops, name)(x, axis, keepdims)
        np.testing.assert_allclose(found.numpy(), getattr(np, name)(x, axis=axis, keepdims=keepdims), rtol=1e-12)
    expected = np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    np.testing.assert_allclose(ops.logsumexp(x, axis, keepdims).numpy(), expected, rtol=1e-12)
    if axis is None or isinstance(axis, int):
        for name in ("argmax", "argmin"):
            expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(getattr(ops, name)(x, axis, keepdims).numpy(), expected)
    if axis != ():
        expected = np.quantile(x, [0.1, 0.5], axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(ops.quantile(x, [0.1, 0.5], axis, keepdims=keepdims).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_dtypes_stay(engine, dtype):
    x = of(dtype, [[1, 3, 2], [3, 0, 3]])
    for name in ("sum", "prod", "max", "min", "cumsum", "cumprod"):
        found = getattr(ops, name)(x, axis=1)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy().astype("float64"), getattr(np, name)(x.astype("float64"), axis=1))
    assert ops.argmax(x, axis=1).tolist() == [1, 0] and ops.argmin(x, axis=1).tolist() == [0, 1]
    assert ops.argmax(x).dtype == ops.argmin(x).dtype == "int64"
    assert ops.mean(x).dtype == ops.var(x).dtype == (dtype if "float" in dtype else "float32")
    assert ops.count_nonzero(x, axis=0).tolist() == [2, 1, 2]


def _bias_gradient(x):
    bias = ops.zeros(x.shape[1:])
    with dt.GradientTape() as tape:
        tape.watch(bias)
        y = ops.sum((x * 0 + bias) * x)
    return tape.gradient(y, bias)


SUMS = {  # functions of ops or NumPy, of an array
    "sum": lambda lib, x: lib.sum(x, 0),
    "first and last": lambda lib, x: lib.sum(lib.reshape(x, (-1, 5, 2)), (0, 2)),
    "joined": lambda lib, x: lib.mean(lib.reshape(x, (-1, 2, 5, x.shape[1])), (0, 1, 2)),
    "middle": lambda lib, x: lib.sum(lib.reshape(x, (1, -1, x.shape[1])), 1, keepdims=True),
    "moved": lambda lib, x: lib.sum(lib.transpose(x), 1),
    "mean": lambda lib, x: lib.mean(x, 0),
    "std": lambda lib, x: lib.std(x, 0),
    "norm": lambda lib, x: lib.sqrt(lib.sum(x * x, 0)) if lib is np else lib.norm(x, axis=0),
    "einsum": lambda lib, x: lib.einsum("i...->...", x),
    "cumsum": lambda lib, x: lib.cumsum(x, 0),
    "back": lambda lib, x: lib.cumsum(x[::-1], 0)[::-1] if lib is np else lib.cumsum(x, 0, reverse=True),
    "before": lambda lib, x: lib.cumsum(x, 0) if lib is np else lib.cumsum(x, 0, exclusive=True) + x,
    "bias": lambda lib, x: lib.sum(x, 0) if lib is np else _bias_gradient(x),
}


OWN_SUMS = "torch", "jax"  # engines that sum by kernels of their library, whose errors are larger


@pytest.mark.parametrize("shape", [(50000, 2), (60010, 1), (3000, 20), (4000, 128)], ids=str)
@pytest.mark.parametrize("name", SUMS)
def test_rounding_errors_do_not_add_up(engine, name, shape, rng):
    """Compare sums along axes that are not the last with NumPy's of the same numbers in float64."""
    x = rng.uniform(1, 2, shape).astype("float32")
    expected = SUMS[name](np, x.astype("float64"))
    one = lambda x: SUMS[name](ops, x)  # noqa: E731
    for call in (one, dt.function(one)):
        np.testing.assert_allclose(call(ops.convert(x)).numpy(), expected, rtol=6e-6 if engine in OWN_SUMS else 1e-6)


def test_truth_values(engine):
    x = np.array([[True, False], [True, True]])
    assert ops.sum(x).dtype == ops.prod(x).dtype == ops.cumsum(x).dtype == "int32" and ops.sum(x).item() == 3
    assert ops.max(x, axis=0).dtype == "bool" and ops.min(x, axis=0).tolist() == [True, False]
    assert ops.argmin(x, axis=1).tolist() == [1, 0] and ops.mean(x).item() == 0.75
    assert ops.any([0.0, NAN]).item() and not ops.all([1, 0]).item()


def test_integer_sums_wrap_around(engine):
    x = np.full(3, 100, "int8")
    assert ops.sum(x).item() == 44 and ops.cumsum(x).tolist() == [100, -56, 44]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_summed_in_more_than_halves(engine, dtype):
    x = of(dtype, np.ones(4096))
    assert ops.sum(x).item() == 4096 and ops.mean(x).item() == 1
    assert ops.mean(of(dtype, np.full(4096, 100.0))).item() == 100


@pytest.mark.parametrize("name", ["mean", "var", "std", "moments"])
def test_gradients_of_means_of_more_elements_than_float16_can_count(engine, name):
    x = np.tile([-1.0, 1.0], 40000)

    def slopes(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = ops.moments(x, 0)[1] if name == "moments" else getattr(ops, name)(x)
        return tape.gradient(y, x)

    expected = slopes(ops.convert(x)).numpy()
    for call in (slopes, dt.function(slopes)):
        found = call(ops.convert(of("float16", x)))
        assert found.dtype == "float16"
        np.testing.assert_allclose(found.numpy(), expected, rtol=5e-3)


LOGARITHMS = {
    "logsumexp": lambda x: ops.logsumexp(x, 1),
    "cumulative": lambda x: ops.cumulative_logsumexp(x, 1),
    "exclusive": lambda x: ops.cumulative_logsumexp(x, 1, exclusive=True, reverse=True)[:, :-1],
    "logaddexp": lambda x: ops.logaddexp(x[:, :-1], x[:, 1:]),
}


@pytest.mark.parametrize("name", LOGARITHMS)
def test_gradients_of_logarithms_of_sums_of_halves(engine, name, rng):
    """A sum of 20 is rounded to 1/16 in bfloat16, which would be 6 % of an exponential."""
    x = rng.uniform(10, 20, (4, 20))

    def slopes(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = LOGARITHMS[name](x)
        return tape.gradient(y, x)

    for dtype, rounding in (("float16", 2**-11), ("bfloat16", 2**-8)):
        half = ops.convert(of(dtype, x))
        expected = slopes(ops.cast(half, "float64")).numpy()
        for call in (slopes, dt.function(slopes)):
            found = call(half)
            assert found.dtype == dtype
            np.testing.assert_allclose(found.numpy().astype("float64"), expected, rtol=3 * rounding, atol=2e-7)


def test_gradients_of_logarithms_of_sums_at_infinities(engine):
    x = ops.convert([[-INF, 100.0, 100.0], [-INF, -INF, -INF], [0.0, INF, 1.0]])
    with dt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        whole, running = ops.logsumexp(x, 1), ops.cumulative_logsumexp(x, 1)
    np.testing.assert_allclose(
        tape.gradient(whole, x), [[0, 0.5, 0.5], [0, 0, 0], [0, NAN, 0]], 1e-4
    )  # as TensorFlow's
    np.testing.assert_allclose(tape.gradient(running, x), [[0, 1.5, 0.5], [0, 0, 0], [1, NAN, 0]], 1e-4)


def test_no_elements(engine):
    x = np.ones((0, 3), "float32")
    assert ops.sum(x, 0).tolist() == [0, 0, 0] and ops.prod(x, 0).tolist() == [1, 1, 1]
    assert ops.max(x).item() == -INF and ops.min(x, 0).tolist() == [INF] * 3 and ops.logsumexp(x).item() == -INF
    assert np.isnan(ops.mean(x).item()) and np.isnan(ops.var(x, 0).numpy()).all()
    assert not ops.any(x).item() and ops.all(x).item() and ops.max(x, 1).shape == (0,)
    for dtype in ("int32", "uint8"):
        extremes = ops.max(x.astype(dtype)).item(), ops.min(x.astype(dtype)).item()
        assert extremes == (np.iinfo(dtype).min, np.iinfo(dtype).max)
    assert ops.cumsum(x, 0, exclusive=True).shape == (0, 3) and ops.argmax(x, 1).shape == (0,)
    for op in (ops.argmax, ops.argmin, ops.median):
        with pytest.raises(ValueError, match="no elements"):
            op(x, 0)


def test_special_values(engine):
    x = np.array([[NAN, 1.0, 2.0], [INF, -INF, 0.0], [INF, INF, 1.0], [-INF, -INF, -INF]], "float32")
    with np.errstate(all="ignore"):
        for name in ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "cumsum", "cumprod"):
            np.testing.assert_array_equal(getattr(ops, name)(x, axis=1).numpy(), getattr(np, name)(x, axis=1), name)
    np.testing.assert_array_equal(ops.logsumexp(x, axis=1).numpy(), [NAN, INF, INF, -INF])
    running = ops.cumulative_logsumexp(x[1:], axis=1).numpy()
    np.testing.assert_array_equal(running, [[INF, INF, INF], [INF, INF, INF], [-INF, -INF, -INF]])
    assert ops.logsumexp([1e5, 1e5]).item() == np.float32(1e5 + np.log(2))
    assert np.isnan(ops.median([1.0, NAN]).item()) and ops.median([1.0, INF, INF, 2.0]).item() == INF


def test_scalars(engine):
    for op in (ops.sum, ops.prod, ops.max, ops.min, ops.mean, ops.logsumexp):
        assert op(2.0).item() == 2.0 and op(2.0, keepdims=True).shape == ()
    assert ops.argmax(2.0).item() == 0
    with pytest.raises(IndexError, match=r"Cumsum.*out of range"):
        ops.cumsum(2.0)


def gradient(function, x):
    x = ops.convert(np.array(x, "float32"))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).tolist()


def test_gradients_of_the_largest_are_divided_among_equals(engine):
    assert gradient(lambda x: ops.max(x, 1), [[2, 1, 2], [1, 1, 1], [1, 2, 3]]) == [
        [0.5, 0, 0.5],
        [np.float32(1 / 3)] * 3,
        [0, 0, 1],
    ]
    assert gradient(ops.min, [2, 1, 1, 4]) == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("x", "expected"), [([2, 3, 4], [12, 8, 6]), ([2, 0, 4], [0, 8, 0]), ([0, 3, 0], [0, 0, 0]), ([0], [1])]
)
def test_gradients_of_products_with_zeros(engine, x, expected):
    assert gradient(ops.prod, x) == expected
    assert gradient(lambda v: ops.sum(ops.prod(ops.stack([v, v]), axis=(1,))), x) == [2 * e for e in expected]


def test_second_gradient_of_a_product_with_a_zero(engine):
    assert gradient(lambda x: gradient_tensor(ops.prod, x)[1], [3.0, 0.0, 5.0]) == [5, 0, 3]


def gradient_tensor(function, x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("zeros", [[], [2], [1, 3], [0, 4]])
def test_gradients_of_running_products_with_zeros(engine, exclusive, reverse, zeros, rng):
    x = rng.uniform(0.5, 2, 5)
    x[zeros] = 0
    weights = rng.uniform(0.5, 2, 5)

    def value(v):
        line = v[::-1] if reverse else v
        products = np.cumprod(np.append(1, line)[:-1] if exclusive else line)
        return np.sum((products[::-1] if reverse else products) * weights)

    steps = np.eye(5) * 1e-6
    expected = [(value(x + s) - value(x - s)) / 2e-6 for s in steps]
    tensor = ops.convert(x)
    with dt.GradientTape() as tape:
        tape.watch(tensor)
        y = ops.sum(ops.cumprod(tensor, exclusive=exclusive, reverse=reverse) * weights)
    np.testing.assert_allclose(y.numpy(), value(x))
    np.testing.assert_allclose(tape.gradient(y, tensor).numpy(), expected, rtol=1e-6, atol=1e-8)


def hessian(function, x):
    tensor = ops.convert(np.array(x, "float64"))
    with dt.GradientTape() as tape:
        tape.watch(tensor)
        slope = gradient_tensor(function, tensor)
    return tape.jacobian(slope, tensor, unconnected_gradients="zero").numpy()


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (ops.cumprod, [0, 2], [[0, 1], [1, 0]]),
        (ops.cumprod, [1.5, 0, 2], [[0, 3, 0], [3, 0, 1.5], [0, 1.5, 0]]),
        (lambda x: ops.cumprod(x, reverse=True), [2, 0, 1.5], [[0, 1.5, 0], [1.5, 0, 3], [0, 3, 0]]),
        (lambda x: ops.cumprod(x, exclusive=True), [0, 2, 5], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
        (ops.prod, [0, 2, 0], [[0, 0, 2], [0, 0, 0], [2, 0, 0]]),
        (lambda x: ops.cumulative_logsumexp(x) ** 2, [0], [[2]]),  # the incoming gradient is 0
    ],
)
def test_hessian_of_a_product_with_zeros_a3(engine, function, x, expected):
    np.testing.assert_allclose(hessian(lambda x: ops.sum(function(x)), x), expected)
    compiled = dt.function(function, input_signature=[dt.spec((None,), "float64")])
    np.testing.assert_allclose(hessian(lambda x: ops.sum(compiled(x)), x), expected)


def test_third_derivative_of_a_product_with_zeros_a3(engine):
    def slope(function):
        return lambda x: ops.sum(gradient_tensor(function, x) * np.array([1.0, 2.0, 3.0]))

    product = lambda x: ops.cumprod(x)[-1]  # noqa: E731  # along (1, 2, 3): (1 + t)(2t)(3t)
    value = slope(slope(slope(product)))(ops.convert(np.array([0.0, 0.0, 0.0])))
    assert value.item() == 36


def test_gradients_of_products_of_complex_numbers_a4(engine, rng):
    z = ops.convert(rng.normal(size=4) + 1j * rng.normal(size=4))
    last = gradient_tensor(lambda z: ops.imag(z[0] * z[1] * z[2] * z[3]), z).numpy()
    for product in (ops.prod, lambda z: ops.cumprod(z)[-1], lambda z: ops.cumprod(z, reverse=True)[0]):
        np.testing.assert_allclose(gradient_tensor(lambda z: ops.imag(product(z)), z).numpy(), last)  # noqa: B023


def test_gradients_of_infinities(engine):
    assert gradient(ops.logsumexp, [-INF, -INF]) == [0, 0]
    assert gradient(ops.logsumexp, [-INF, 0]) == [0, 1]
    assert gradient(ops.std, [3, 3, 3]) == [0, 0, 0]


def test_cumulative_flags(engine):
    x = [1, 2, 3, 4]
    assert ops.cumsum(x, exclusive=True).tolist() == [0, 1, 3, 6]
    assert ops.cumsum(x, reverse=True).tolist() == [10, 9, 7, 4]
    assert ops.cumprod(x, exclusive=True, reverse=True).tolist() == [24, 12, 4, 1]
    found = ops.cumulative_logsumexp(np.zeros(3, "float32"), exclusive=True).numpy()
    np.testing.assert_allclose(found, [-INF, 0, np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_diff_is_numpys(engine, n, rng):
    x = rng.integers(0, 9, (3, 5))
    for axis in (0, -1):
        np.testing.assert_array_equal(ops.diff(x, n, axis).numpy(), np.diff(x, n, axis))
    for call in (ops.diff, dt.function(ops.diff)):
        with pytest.raises(IndexError, match=r"Diff at test_reduce.py:\d+: the axis 2 is out of range"):
            call(x, axis=2)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_numpys(engine, method, rng):
    x = rng.normal(size=(4, 7))
    for q in (0.0, 0.35, 0.5, 1.0, [0.2, 0.9]):
        for axis in (None, 1):
            found = ops.quantile(x, q, axis, method)
            np.testing.assert_allclose(found.numpy(), np.quantile(x, q, axis=axis, method=method), rtol=1e-12)
    np.testing.assert_allclose(ops.median(x, 0).numpy(), np.median(x, 0))
    with pytest.raises(ValueError, match="method must be one of 'linear'"):
        ops.quantile(x, 0.5, method="middle")


def test_average_is_numpys(engine, rng):
    x, w = rng.normal(size=(3, 4)), rng.uniform(0.5, 1, 4)
    for arguments in ({}, {"axis": 1}, {"axis": 1, "weights": w}, {"axis": (0, 1), "weights": np.outer(w[:3], w)}):
        np.testing.assert_allclose(ops.average(x, **arguments).numpy(), np.average(x, **arguments), rtol=1e-12)


def test_unknown_dimensions(engine):
    """Check reductions that need the number of elements, which is only known at run time."""

    @dt.function(input_signature=[dt.spec((None, None))])
    def f(x):
        return ops.mean(x, 0), ops.var(x), ops.prod(x, 1), ops.median(x, 1), ops.logsumexp(x), ops.average(x, 0)

    for shape in ((2, 3), (4, 1)):
        x = np.linspace(0.5, 2, np.prod(shape), dtype="float32").reshape(shape)
        expected = [x.mean(0), x.var(), x.prod(1), np.median(x, 1), np.log(np.exp(x).sum()), x.mean(0)]
        for found, wanted in zip(f(x), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


TINY = np.float32(1e-45)


@pytest.mark.parametrize(
    "values",
    [
        [-1.0, -0.0, TINY],
        [0.0, TINY, -TINY, 0.0, 9.0],
        [-3.0, -5.0, -2.0, -np.inf, np.inf],
        [-0.0, 0.0],
        [0.0, -0.0],
        [1.0, -np.nan, np.nan, np.inf],
    ],
)
def test_positions_are_those_of_numpy(engine, values):
    x = np.array(values, "float32")
    known = np.where(np.abs(x) == TINY, 0, x) if engine == "tensorflow" else x  # TensorFlow's kernels flush these to 0
    for call in (ops.argmax, ops.argmin):
        expected = getattr(np, call.__name__)(known)
        assert int(call(x)) == int(dt.function(call)(x)) == expected

"""Comparison, selection and logic at their edges, on every engine against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.dtypes import FLOATS, INTEGERS

NAN, INF = np.nan, np.inf
SPECIAL = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0, 3e38], "float32")
DTYPES = ["bool", *INTEGERS, *FLOATS]


def of(dtype, values):
    return np.array(values).astype(getattr(ml_dtypes, dtype, None) or dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "maximum", "minimum"]
)
def test_every_dtype_has_an_order(engine, dtype, name):
    x, y = of(dtype, [[0, 1, 1, 3]]), of(dtype, [[1], [3]])
    found = getattr(ops, name)(x, y)
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(x, y))
    assert found.dtype == (dtype if name in ("maximum", "minimum") else "bool")


def test_large_unsigned_numbers(engine):
    x = np.array([2**63 + 5, 7], "uint64")
    assert ops.less(x, np.array([2**63 + 6, 6], "uint64")).tolist() == [True, False]
    assert ops.max(x).item() == 2**63 + 5 and ops.argmax(x).item() == 0
    assert (ops.convert(x) + np.uint64(1)).tolist() == [2**63 + 6, 8]


def test_complex_numbers_are_equal_or_not_but_have_no_order(engine):
    assert ops.equal(1 + 2j, [1 + 2j, 1j]).tolist() == [True, False]
    for op in (ops.less, ops.maximum, ops.max, ops.greater_equal):
        with pytest.raises(TypeError, match="needs real tensors, got complex64"):
            op(*[ops.convert([1j])] * (1 if op is ops.max else 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_keeps_the_dtype(engine, dtype):
    x = of(dtype, [1, 0, 1])
    found = ops.where([True, False, True], x, x)
    assert found.dtype == dtype and found.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_mask_times_infinity_is_nan(engine, dtype, monkeypatch):
    """Check calls, and compiled programs, also by XLA, which makes a selection of a product with a converted mask."""
    if engine == "tensorflow":
        monkeypatch.setattr("dovetail.engines.tensorflow.executable.OFTEN", 2)
    x, infinite = ops.constant([1.0, 2.0]), ops.constant([np.inf], dtype)

    def product(x, y):
        return ops.cast(x > 1.5, dtype) * y

    compiled = dt.function(product)
    for call in (product, compiled, compiled, compiled):
        assert np.isnan(call(x, infinite).numpy().astype("float32")).tolist() == [True, False]


@pytest.mark.parametrize("extreme", [ops.max, ops.min])
def test_the_gradient_at_nan_is_nan(engine, extreme):
    @dt.function
    def gradient(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = extreme(x)
        return tape.gradient(y, x)

    assert np.isnan(gradient(ops.constant([1.0, np.nan])).numpy()).all()


def test_where_takes_numbers_as_conditions_and_broadcasts(engine):
    found = ops.where([[0.0], [NAN]], 1, np.array([5.0, 6.0], "float16"))
    assert found.dtype == "float16" and found.tolist() == [[5, 6], [1, 1]]


def test_where_stops_the_gradient_of_what_was_not_chosen(engine):
    x = ops.convert([0.0, 4.0])
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.where(x > 0, ops.sqrt(ops.where(x > 0, x, 1.0)), 0.0)
    assert tape.gradient(y, x).tolist() == [0.0, 0.25]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values(engine, dtype):
    x = of(dtype, [NAN, INF, -INF, 0.0, 1.0])
    assert ops.isnan(x).tolist() == [True, False, False, False, False]
    assert ops.isinf(x).tolist() == [False, True, True, False, False]
    assert ops.isfinite(x).tolist() == [False, False, False, True, True]
    cleaned = ops.nan_to_num(x)
    info = ml_dtypes.finfo(x.dtype)
    assert cleaned.dtype == dtype and cleaned.tolist() == [0, float(info.max), float(info.min), 0, 1]
    assert ops.nan_to_num(x, nan=5, posinf=6, neginf=7).tolist() == [5, 6, 7, 0, 1]
    assert ops.nan_to_num([1, 2]).dtype == "int32"


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_is_numpys(engine, equal_nan):
    x, y = (grid.ravel() for grid in np.meshgrid(SPECIAL, np.append(SPECIAL, [1 + 1e-6, 1 + 1e-4]).astype("float32")))
    expected = np.isclose(x, y, equal_nan=equal_nan)
    np.testing.assert_array_equal(ops.isclose(x, y, equal_nan=equal_nan).numpy(), expected)
    assert ops.allclose(x[expected], y[expected], equal_nan=equal_nan).item()
    assert not ops.allclose(x, y, equal_nan=equal_nan).item()


def test_clip_bounds_may_be_tensors_or_missing(engine):
    x = np.array([[-5, 0, 5]], "int32")
    assert ops.clip(x, None, 3).tolist() == [[-5, 0, 3]] and ops.clip(x).tolist() == x.tolist()
    assert ops.clip(x, [[-1], [1]], np.array(4)).tolist() == [[-1, 0, 4], [1, 1, 4]]
    assert ops.clip(x, -0.5, None).dtype == "float32"
    assert np.isnan(ops.clip([NAN], 0.0, 1.0).item())


def test_logic_of_numbers(engine):
    x, y = np.array([0.0, 2.0, NAN]), np.array([1, 1, 0])
    for name in ("logical_and", "logical_or", "logical_xor"):
        np.testing.assert_array_equal(getattr(ops, name)(x, y).numpy(), getattr(np, name)(x, y))
    np.testing.assert_array_equal(ops.logical_not(x).numpy(), np.logical_not(x))


def test_truth_c(engine):
    assert ops.constant([[3.0]]) and not ops.constant(0)
    for x in (ops.constant([1.0, 2.0]), ops.zeros((0,)), dt.Variable([True, False])):
        with pytest.raises(ValueError, match=r"of \d elements is not defined; use ops.any\(x\) or ops.all\(x\)"):
            bool(x)

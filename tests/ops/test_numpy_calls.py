"""NumPy's functions on tensors: operators are ops; functions that end a gradient warn, conversions do not."""

import warnings

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import GradientLostWarning
from dovetail.ops.operators import NUMPY

A = np.array([1.0, 2.0], "float32")
RECORDED = [
    name for name in NUMPY.values() if name.split("_")[0] not in ("bitwise", "left", "right")
]  # only the functions that take floats

# a call with NumPy → the name in the warning, and the function to use instead
LOST = {
    "np.tanh": (np.tanh, "ops.tanh"),
    "np.mean": (np.mean, "ops.mean"),
    "np.maximum": (lambda x: np.maximum(x, 1.5), "ops.maximum"),
    "np.concatenate": (lambda x: np.concatenate([A, x]), "ops.concatenate"),
    "np.where": (lambda x: np.where(A > 1, x, 0), "ops.where"),
    "np.dot": (lambda x: np.dot(A, x), "ops.dot"),
    "np.norm": (np.linalg.norm, "ops.norm"),
    "np.add": (lambda x: np.add(A, x, out=np.zeros(2, "float32")), "ops.add"),
    "np.add.reduce": (np.add.reduce, "ops.sum"),
    "np.fft": (np.fft.fft, "ops.fft"),
    "np.convolve": (lambda x: np.convolve(A, x), "dovetail.ops"),
}
QUIET = {
    "asarray": np.asarray,
    "array": np.array,
    "numpy": lambda x: x.numpy(),
    "float": lambda x: float(x[0]),
    "tolist": lambda x: x.tolist(),
    "shape": np.shape,
    "argmax": np.argmax,
    "isfinite": np.isfinite,
    "floor": np.floor,  # floor has no gradient in Dovetail either
    "atleast_1d": np.atleast_1d,
    "testing": lambda x: np.testing.assert_allclose(x, A),
    "array_equal": lambda x: np.array_equal(x, A),
    "repr": repr,
    "operator": lambda x: A * x,
    "stop": lambda x: np.tanh(x.numpy()),
}


def said(call, *values):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call(*values)
    return result, [w for w in found if w.category is GradientLostWarning]


@pytest.mark.parametrize("name", LOST)
def test_a_gradient_that_numpy_ends_a17(engine, name):
    call, instead = LOST[name]
    x, v = ops.convert(A), dt.Variable(A)
    plain, found = said(call, x)  # there is no tape
    assert found == []
    np.testing.assert_allclose(plain, call(A), rtol=1e-6)
    with dt.GradientTape() as tape:
        tape.watch(x)
        for watched in (x, v, x * 1.0):
            result, (warning,) = said(call, watched)
            assert type(result) is type(call(A))
            assert str(warning.message).startswith(f"{name} at test_numpy_calls.py:")
            assert instead in str(warning.message) and warning.filename == __file__
        assert said(call, ops.convert(A))[1] == []  # no tape follows it
    assert said(call, x)[1] == []


@pytest.mark.parametrize("name", QUIET)
def test_conversions_are_quiet_a17(name):
    x = ops.convert(A)
    with dt.GradientTape() as tape:
        tape.watch(x)
        assert said(QUIET[name], x)[1] == []
    f = dt.function(lambda y: y + np.tanh(ops.convert(A)))  # there is no tape while it is traced
    assert said(f, A)[1] == []


@pytest.mark.parametrize("name", RECORDED)
def test_operators_with_an_array_on_the_left_are_ops_a17(engine, name):
    ufunc, x, v = getattr(np, name), ops.convert(A + 1), dt.Variable(A + 1)
    graph = dt.Graph()
    p = graph.placeholder(dt.spec((2,)), "p")
    for left in (A, np.float32(3)) if name != "matmul" else (A,):
        for right in (x, v):
            found = ufunc(left, right)
            assert isinstance(found, dt.Tensor) and found.engine == engine
            np.testing.assert_allclose(found, ufunc(left, A + 1), rtol=1e-6)
        assert ufunc(left, p).graph is graph


def test_numpy_on_graph_tensors_a17():
    p = dt.Graph().placeholder(dt.spec((2, None)), "p")
    assert np.ndim(p) == 2 and np.shape(p) == (2, None)
    for call in (np.tanh, np.mean, lambda x: np.concatenate([x, x])):
        with pytest.raises(TypeError, match=r"Placeholder at test_numpy_calls.py:\d+: NumPy needs a value"):
            call(p)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16"])
def test_numpy_finds_the_common_dtype_of_tensors(engine, dtype):
    x = ops.cast(A, dtype)
    recorded = dt.Graph().placeholder(dt.spec((2,), dtype), "p")
    for tensor in (x, dt.Variable(x), recorded):
        assert np.result_type(tensor) == np.asarray(x).dtype
        assert np.result_type(tensor, np.float64) == np.float64

"""Accumulation of halves in float32, by every op of the table in `ops.accumulation`, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import ALL
from dovetail.core.engines.accumulation import ACCUMULATING, HALVES
from tests.ops.table import leaves

ops = dt.ops
N = 300
BIG = 150


def uneven(*shape: int) -> np.ndarray:
    """Numbers whose sum in 16 bits would be wrong.

    The middle one is 1, and each other is too small to change it in 16 bits. The true sum is 1.06, or less.
    """
    x = np.full(np.prod(shape), 0.0002)
    x[x.size // 2] = 1
    return x.reshape(shape)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def peaks(*shape: int) -> np.ndarray:
    """Zeros with a 1 in the middle, which is the maximum of every window."""
    return (uneven(*shape) > 0.5) * 1.0


WINDOWS = {1: (N,), 2: (15, 20), 3: (5, 6, 10)}  # N elements each
CHANNELS_LAST = "channels_last"
OVERFLOWING = np.array([6e4, 6e4, -6e4, 1])  # the sum of the first two is infinite in float16
MATRIX = np.eye(3) * 2 + 0.5
LSTM = uneven(1, 1, N), ones(1, 1), ones(1, 1), ones(N, 4), ones(1, 4)
GRU = uneven(1, 1, N), ones(1, 1), ones(N, 3), ones(1, 3)
TABLE = {  # op → its calls, whose arrays become halves
    "Sum": [(uneven(N),), (uneven(2, N), 1, True), (OVERFLOWING,), (OVERFLOWING[:, None], 0)],
    "SumLike": [(uneven(N), ones(1))],
    "Prod": [(np.full(N, 1.0078125),)],
    "Mean": [(uneven(N) * N,), (OVERFLOWING,)],
    "LogSumExp": [(np.log(uneven(N) * 8),), (np.zeros(70000), 0), (np.zeros((2, 70000)), 1, True)],
    "Cumsum": [(uneven(N),), (uneven(N), 0, True, True)],
    "Cumprod": [(np.full(N, 1.0078125),)],
    "CumulativeLogsumexp": [(np.log(uneven(N) * 8),)],
    "Moments": [(np.sqrt(uneven(N)) * np.resize([1, -1], N) * 10, 0)],
    "Variance": [(np.sqrt(uneven(N)) * np.resize([1, -1], N) * 10,)],
    "StandardDeviation": [(np.sqrt(uneven(N)) * np.resize([1, -1], N) * 10,), (np.resize([500.0, -500.0], N),)],
    "Average": [(uneven(N), None, ones(N)), (ones(N), 0, uneven(N))],
    "EuclideanNorm": [(np.sqrt(uneven(N)),), (np.full(N, 1000.0),)],
    "MatMul": [(uneven(2, N), ones(N, 2)), (ones(3, 2, N), uneven(3, 2, N), False, True)],
    "Einsum": [([uneven(N), ones(N)], "i,i->"), ([uneven(N, 2), ones(N, 2)], "ij,ij->"), ([uneven(2, N)], "ij->i")],
    "FusedMatMul": [(ones(2), uneven(2, N), ones(N, 2))],
    "FusedConv": [
        (uneven(1, N, 1), ones(N, 1, 1), ones(1), ones(1, 1, 1), (1,), "valid", (1,), CHANNELS_LAST, "Relu"),
    ],
    "LocalConv": [(uneven(1, N, 1), ones(1, N, 1), (N,), (1,), (1,), CHANNELS_LAST)],
    "MatrixSolve": [(MATRIX, ones(3, 1))],
    "MatrixTriangularSolve": [(np.tril(MATRIX), ones(3, 1))],
    "MatrixInverse": [(MATRIX,)],
    "MatrixDeterminant": [(MATRIX,)],
    "LogMatrixDeterminant": [(MATRIX,)],
    "Cholesky": [(MATRIX,)],
    "Lu": [(MATRIX,)],
    "Qr": [(MATRIX,)],
    "SelfAdjointEigV2": [(np.diag([1.0, 2.0, 4.0]), False)],
    "Eig": [(np.diag([1.0, 2.0, 4.0]),)],
    "Svd": [(np.diag([1.0, 2.0, 4.0]), False, False)],
    "Pinv": [(MATRIX,)],
    "MatrixExponential": [(MATRIX / 100,)],
    "MatrixSquareRoot": [(MATRIX,)],
    "TensorScatterAdd": [
        (np.zeros(1), np.zeros((N, 1), "int32"), uneven(N)),
        (np.zeros((1, 2)), np.zeros((N, 1), "int32"), uneven(N, 2)),
    ],
    "ScaledDotProductAttention": [(np.zeros((1, 1, 2)), np.zeros((1, N, 2)), uneven(1, N, 1) * N)],
    "OverlapAdd": [(uneven(1, N, N, 1), (1, N, 1), (N,), (1,), (1,), "same")],
    "ResizeArea": [(uneven(1, 15, 20, 1) * N, (1, 1), CHANNELS_LAST)],
    "ScaleAndTranslate": [(uneven(1, 15, 20, 1) * N, (1, 1), "triangle", True, CHANNELS_LAST)],
    **{
        name: [(uneven(1, 15, 20, 1), (1, 1), *settings, CHANNELS_LAST)]
        for name, settings in {
            "ResizeNearestNeighborGrad": (),
            "ResizeBilinearGrad": (),
            "ResizeBicubicGrad": (),
            "ResizeAreaGrad": (),
            "ScaleAndTranslateGrad": ("triangle", True),
        }.items()
    },
    "Softmax": [(np.log(uneven(N) * 8),), (np.log(uneven(N, 2) * 8), 0), (np.log(uneven(N, 1, 2) * 8), (0, 2))],
    "SoftmaxGrad": [(ones(N), uneven(N))],
    "LogSoftmax": [(np.log(uneven(N) * 8),), (np.log(uneven(N, 2) * 8), 0), (np.log(uneven(N, 1, 2) * 8), (0, 2))],
    "LogSoftmaxGrad": [(uneven(N) * 8, np.full(N, -1.0))],
    "SoftmaxCrossEntropyWithLogits": [(uneven(N), np.full(N, 1.0)), (np.full(N, 1 / N), np.log(uneven(N) * 8))],
    "SparseSoftmaxCrossEntropyWithLogits": [(np.array(0), np.log(uneven(N) * 8))],
    "CosineSimilarity": [(np.full(N, 300.0), np.full(N, 300.0))],
    "LayerNormalization": [(np.resize([300.0, -300.0], (1, N)),)],
    "LayerNormalizationGrad": [(uneven(N, 1) * ones(2), np.resize([1.0, -1.0], (N, 2)), None, (1,), 0.001)],
    "LSTM": [LSTM],
    "LSTMGrad": [(*(ones(1, 1, 1), ones(1, 1), ones(1, 1), ones(1, 1, 1)), *LSTM, None)],
    "GRU": [GRU],
    "GRUGrad": [(*(ones(1, 1, 1), ones(1, 1), ones(1, 1, 1)), *GRU, None)],
    "GRUResetBefore": [GRU],
    "GRUResetBeforeGrad": [(*(ones(1, 1, 1), ones(1, 1), ones(1, 1, 1)), *GRU, None)],
    "RmsNormalization": [(np.full((1, N), 300.0),)],
    "L2Normalize": [(np.full((1, N), 300.0),)],
}
for rank, size in WINDOWS.items():
    name = f"Conv{rank}D"
    one, plain = (1,) * rank, ((1,) * rank, "valid", (1,) * rank, CHANNELS_LAST)
    TABLE[name] = [(uneven(1, *one, N), ones(*one, N, 1), *plain), (uneven(1, *size, 1), ones(*size, 1, 1), *plain)]
    TABLE[f"{name}BackpropInput"] = [((1, *one, 1), ones(*one, 1, N), uneven(1, *one, N), *plain)]
    TABLE[f"{name}BackpropFilter"] = [(uneven(1, *size, 1), (*one, 1, 1), ones(1, *size, 1), *plain)]
    which = str(rank) + "D" if rank != 2 else ""
    TABLE[f"AvgPool{which}"] = [(uneven(1, *size, 1) * N, size, one, "valid", CHANNELS_LAST)]
    TABLE[f"AvgPool{which}Grad"] = [(ones(1, *size, 1), uneven(1, *size, 1) * N, size, one, "same", CHANNELS_LAST)]
    TABLE[f"MaxPool{which}Grad"] = [(peaks(1, *size, 1), uneven(1, *size, 1), size, one, "same", CHANNELS_LAST)]


def in_dtype(dtype, value):
    """An argument with its arrays of floats in a dtype."""
    if isinstance(value, list):
        return [in_dtype(dtype, item) for item in value]
    return value.astype(dtype) if is_float(value) else value


def is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind != "i"


def placed(value, arrays):
    """An argument whose arrays of floats are replaced by the next of some tensors."""
    if isinstance(value, list):
        return [placed(item, arrays) for item in value]
    return next(arrays) if is_float(value) else value


def test_every_accumulating_op_has_a_case_a5():
    assert set(TABLE) == ACCUMULATING <= set(OPS)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", TABLE)
def test_halves_are_accumulated_in_float32_a5(engine, name, dtype):
    """Check results of halves, eager and compiled, against the same numbers in float64."""
    for args in TABLE[name]:
        args = [in_dtype(ALL[dtype].numpy, value) for value in args]
        arrays = [a for value in args for a in (value if isinstance(value, list) else [value]) if is_float(a)]
        with dt.engine("numpy"):
            expected = leaves(OPS[name](*[in_dtype("float64", value) for value in args]))

        def call(*given, args=args):
            tensors = iter(given)
            return OPS[name](*[placed(value, tensors) for value in args])

        for way in (call, dt.function(call)):
            for f, e in zip(leaves(way(*arrays)), expected, strict=True):
                assert f.dtype == dtype or not e.dtype.is_floating
                np.testing.assert_allclose(np.abs(f.numpy().astype("complex128")), np.abs(e.numpy()), 0.01, 1e-4)


ROWS = np.zeros(1000, "int32")
FUNCTIONS = {  # of 1000 ones
    "vdot": lambda x: ops.vdot(x, x),
    "dot": lambda x: ops.dot(x, x),
    "inner": lambda x: ops.inner(x, x),
    "tensordot": lambda x: ops.tensordot(x, x, 1),
    "einsum": lambda x: ops.einsum("i,i->", x, x),
    "matmul": lambda x: x @ x,
    "scatter_nd": lambda x: ops.scatter_nd(ROWS[:, None], x, (1,)),
    "bincount": lambda x: ops.bincount(ROWS, weights=x),
    "average_pool": lambda x: ops.average_pool(ops.reshape(x, (1, 25, 40, 1)), (25, 40)) * 1000,
}
GRADIENTS = {  # of a 1 that is read 1000 times
    "gather": lambda x: ops.gather(x, ROWS),
    "gather_nd": lambda x: ops.gather_nd(x, ROWS[:, None]),
    "take_along_axis": lambda x: ops.take_along_axis(x, ROWS, 0),
    "broadcast": lambda x: x + ops.zeros((1000,), x.dtype),
    "tile": lambda x: ops.tile(x, (1000,)),
    "repeat": lambda x: ops.repeat(x, 1000),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_1000_ones_a5(engine, name, dtype):
    x = ops.ones((1000,), dtype)
    for way in (FUNCTIONS[name], dt.function(FUNCTIONS[name])):
        assert float(ops.reshape(way(x), ())) == 1000


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_what_is_read_1000_times_a5(engine, name, dtype):
    def gradient(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = GRADIENTS[name](x)
        return tape.gradient(y, x)

    for way in (gradient, dt.function(gradient)):
        assert float(way(ops.ones((1,), dtype))[0]) == 1000

"""Graphs of Dovetail as models of ONNX, which ONNX Runtime runs and gives the same values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.formats.onnx.table import NO_WAY
from dovetail.formats.onnx.writing import IR_VERSIONS, USUAL
from dovetail.formats.onnx.written_nodes import NeedsOpset
from tests.conftest import ENGINES
from tests.formats.dtypes import PAIRED, calls, tolerance
from tests.formats.graphs import CONTROL, built, comparable, graph_of, values
from tests.formats.onnx.running import onnx, run, types_in
from tests.formats.type_lists import FILES, text_of
from tests.libraries import require
from tests.ops.table import CASES, cases, draw, identifier

require("onnx", "its checker looks at what is written")
require("onnxruntime", "it runs what is written")

COMPLEX = "Complex Real Imag Conj Angle FFT IFFT FFT2D IFFT2D RFFT IRFFT"
MATRICES = """MatrixTriangularSolve MatrixSolve MatrixInverse Cholesky Lu Qr SelfAdjointEigV2 Eig Svd Pinv Cofactors
    MatrixExponential MatrixSquareRoot"""
HOST = "PyFunc PyFuncStateless EagerPyFunc"
ABSENT = {  # ops that ONNX cannot say → why
    **dict.fromkeys(COMPLEX.split(), "complex"),
    **dict.fromkeys(MATRICES.split(), "decomposes no matrices|solves no equations|complex"),
    **dict.fromkeys(HOST.split(), "cannot hold its Python function"),
    **dict.fromkeys(COLLECTIVES, "is computed by several processes"),
    "Bitcast": "BitCast",
    "NextAfter": "lacks BitCast, which ONNX has from opset 26 on",
}
DIFFERENT = {  # (op, number of a sample) → the reason why ONNX Runtime's kernel gives another value, or none
    ("FloorDiv", 2): "it refuses to divide integers by zero",
    ("FloorMod", 2): "it refuses to divide integers by zero",
    ("Pow", 7): "it has another value for negative powers of integers",
    ("ArgMax", 5): "it passes over NaN",
    ("ArgMin", 5): "it passes over NaN",
    ("PlaceholderWithDefault", 2): "a model's outputs have known ranks",
    **{
        (f"Conv{rank}D{part}", 3): "it refuses empty images"
        for rank in (1, 2, 3)
        for part in ("", "BackpropInput", "BackpropFilter")
    },
    ("FusedConv", 3): "it refuses empty images",
}
TOLERANCE = {"ResizeBilinear": 1e-4}  # it computes positions of large images with fewer digits


BACK = [engine for engine in ("numpy", "torch") if engine in ENGINES]  # they compute what is read again


def back(path: Path, arrays: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The outputs of a model that is read again, on each engine of `BACK`."""
    for engine in BACK:
        with dt.engine(engine):
            yield [np.asarray(dt.ops.convert(found).numpy()) for found in dt.onnx.load(path).run(arrays)]


WRITTEN = [(op, number) for op, number in CASES if (op.name, number) not in DIFFERENT and op.name not in ABSENT]


@pytest.mark.each("op")
@cases(WRITTEN)
def test_each_op_is_computed_by_onnx_runtime_and_read_again(op: Any, number: int, rng: Any, tmp_path: Path):
    sample, path = op.samples[number], tmp_path / "model.onnx"
    args, kwargs = draw(sample, rng)
    with dt.engine("numpy"):
        expected = values(op(*args, **kwargs))
    graph, arrays = graph_of(op, args, kwargs)
    dt.onnx.save(graph, path)
    tolerance = max(sample.tolerance, TOLERANCE.get(op.name, 0))
    for results in (run(path, *arrays), *back(path, arrays)):
        assert [(x.dtype, x.shape) for x in results] == [(x.dtype, x.shape) for x in expected]
        for ours, theirs in zip(comparable(op, results), comparable(op, expected), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.each("op")
@cases(WRITTEN)
def test_each_op_is_computed_in_the_lowest_opset_that_has_it(op: Any, number: int, rng: Any, tmp_path: Path):
    sample, path, opset = op.samples[number], tmp_path / "model.onnx", min(IR_VERSIONS)
    args, kwargs = draw(sample, rng)
    with dt.engine("numpy"):
        expected = values(op(*args, **kwargs))
    graph, arrays = graph_of(op, args, kwargs)
    try:
        dt.onnx.save(graph, path, opset)
    except NeedsOpset as error:
        assert opset < error.opset <= USUAL
        dt.onnx.save(graph, path, error.opset)
    tolerance = max(sample.tolerance, TOLERANCE.get(op.name, 0))
    for ours, theirs in zip(comparable(op, run(path, *arrays)), comparable(op, expected), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in ABSENT if OPS[name].samples])
def test_what_cannot_be_said_is_named(name: str, rng: np.random.Generator, tmp_path: Path):
    graph = graph_of(OPS[name], *draw(OPS[name].samples[0], rng))[0]
    with pytest.raises(NotImplementedError, match=ABSENT[name]):
        dt.onnx.save(graph, tmp_path / "model.onnx")


UNKNOWN = "TensorScatterAdd MaxPool SlidingWindows LSTM GRU LayerNormalization OneHot CumulativeLogsumexp"


@pytest.mark.parametrize("name", UNKNOWN.split())
def test_sizes_may_be_unknown(name: str, rng: np.random.Generator, tmp_path: Path):
    args, kwargs = draw(OPS[name].samples[0], rng)
    with dt.engine("numpy"):
        expected = values(OPS[name](*args, **kwargs))
    graph, arrays = graph_of(OPS[name], args, kwargs, is_known=False)
    dt.onnx.save(graph, tmp_path / "model.onnx")
    for ours, theirs in zip(run(tmp_path / "model.onnx", *arrays), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


SAME = "LSTM GRU LayerNormalization BatchNormalization Softmax LogSoftmax Elu Selu Celu Mish HardSigmoid LeakyRelu"
OPERATORS = {  # ops → the operators of opset 18 that compute them
    **{name: name for name in SAME.split()},
    "MaxPool": "MaxPool",
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D", "Conv2DBackpropFilter"), "Conv"),
    "Conv2DBackpropInput": "ConvTranspose",
    "MaxPoolGrad": "ScatterElements",
    "AvgPool": "AveragePool",
    **dict.fromkeys(("ResizeNearestNeighbor", "ResizeBilinear"), "Resize"),
    "HardSilu": "HardSwish",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_composites_leave_as_their_operators(name: str, rng: np.random.Generator, tmp_path: Path):
    graph = graph_of(OPS[name], *draw(OPS[name].samples[0], rng))[0]
    dt.onnx.save(graph, tmp_path / "model.onnx")
    types = types_in(onnx.load(tmp_path / "model.onnx").graph)
    assert OPERATORS[name] in types and not {"Loop", "Scan"} & {*types}, types


NEWER = {  # ops → the operators of opset 28 that compute them
    "Gelu": "Gelu",
    "ApproximateGelu": "Gelu",
    "RmsNormalization": "RMSNormalization",
    "ScaledDotProductAttention": "Attention",
    "NextAfter": "BitCast",
    "Silu": "Sigmoid",
    "LogSumExp": "ReduceMax",
}


@pytest.mark.parametrize("name", NEWER)
def test_newer_opsets_have_more_operators(name: str, rng: np.random.Generator, tmp_path: Path):
    types: set[str] = set()
    for sample in OPS[name].samples:
        args, kwargs = draw(sample, rng)
        with dt.engine("numpy"):
            expected = values(OPS[name](*args, **kwargs))
        graph, arrays = graph_of(OPS[name], args, kwargs)
        dt.onnx.save(graph, tmp_path / "model.onnx", opset=28)
        types |= {*types_in(onnx.load(tmp_path / "model.onnx").graph)}
        for ours, theirs in zip(run(tmp_path / "model.onnx", *arrays), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=sample.tolerance, atol=sample.tolerance)
    assert NEWER[name] in types, types


@pytest.mark.parametrize("name", ["MatMul", "Softmax", "Conv2D", "MaxPool", "LayerNormalization", "LSTM", "Erfinv"])
def test_halves_are_computed(name: str, rng: np.random.Generator, tmp_path: Path):
    args, kwargs = draw(OPS[name].samples[0], rng, "float16")
    with dt.engine("numpy"):
        expected = values(OPS[name](*args, **kwargs))
    graph, arrays = graph_of(OPS[name], args, kwargs)
    dt.onnx.save(graph, tmp_path / "model.onnx")
    for ours, theirs in zip(run(tmp_path / "model.onnx", *arrays), expected, strict=True):
        assert ours.dtype == np.float16
        np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("length", [None, 6, 10])
@pytest.mark.parametrize("opset", [18, 20])
def test_parts_of_transforms_are_computed(opset: int, length: int | None, rng: np.random.Generator, tmp_path: Path):
    def parts(x: Any) -> Any:
        found = OPS["RFFT"](x, length)
        return [OPS["Real"](found), OPS["Imag"](found), dt.ops.absolute(found)]

    x = rng.normal(size=(2, 8)).astype("float32")
    dt.onnx.save(built(parts, dt.spec((None, 8))), tmp_path / "model.onnx", opset)
    exact = np.fft.rfft(x, length)
    for ours, theirs in zip(run(tmp_path / "model.onnx", x), (exact.real, exact.imag, np.abs(exact)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", [(2, 3), (None, 3)], ids=str)
@pytest.mark.parametrize("name", CONTROL)
def test_branches_and_loops(name: str, spec: Any, tmp_path: Path):
    graph = built(CONTROL[name], dt.spec(spec), dt.spec((), "int32"))
    dt.onnx.save(graph, tmp_path / "model.onnx")
    x = np.arange(6, dtype="float32").reshape(2, 3) - 2
    for n in (2, 3):
        with dt.engine("numpy"):
            expected = values(dt.function(graph)(x, np.int32(n)))
        for ours, theirs in zip(run(tmp_path / "model.onnx", x, np.int32(n)), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


# Dtypes that schemas list and for which ONNX Runtime lacks kernels: then its checker alone takes the file.
WITHOUT_KERNELS = ("bfloat16", "float64", "uint64")


@pytest.mark.each("op")
@pytest.mark.parametrize("op", [op for op in PAIRED if op.name not in ABSENT], ids=identifier)
def test_each_dtype_of_an_op_is_computed_by_onnx_runtime(op: Any, tmp_path: Path):
    for name, graph, arrays, expected in calls(op):
        if name.startswith("complex") or (op.name, name) in (
            ("SymbolicGradient", "bool"),
            ("LogMatrixDeterminant", "float16"),  # refused: ONNX has determinants alone, which overflow
            ("LogMatrixDeterminant", "bfloat16"),
        ):
            continue
        dt.onnx.save(graph, tmp_path / "model.onnx")
        onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
        try:
            found = run(tmp_path / "model.onnx", *arrays)
        except Exception as error:
            has_none = "NOT_IMPLEMENTED" in str(error) or "Numpy_type" in str(error)
            assert has_none and name in WITHOUT_KERNELS, (name, error)
            continue
        assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in expected], name
        for ours, theirs in zip(comparable(op, found), comparable(op, expected), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance(name), atol=tolerance(name), err_msg=name)


def test_the_lists_of_dtypes_are_the_libraries():
    for name in ("onnx", "forms", "versions", "computed"):
        assert FILES[name].read_text() == text_of(name)


def test_few_ops_have_no_way(tmp_path: Path):
    assert {*NO_WAY} <= {*ABSENT}
    graph = built(lambda x: OPS["PyFunc"]([x], np.sin, ["float32"]), dt.spec((2,)))
    with pytest.raises(NotImplementedError, match=r"'PyFunc': .*cannot hold its Python function.*Cut the graph"):
        dt.onnx.save(graph, tmp_path / "model.onnx")

"""Calls of each op with each dtype that it takes, as graphs that other formats write."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.op import Op
from dovetail.ops.samples import Array
from tests.formats.graphs import graph_of, values
from tests.ops.table import filled

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *INTEGERS, "bool", "complex64", "complex128"]
MATRICES = [
    "Cholesky",
    "Eig",
    "Lu",
    "MatrixInverse",
    "MatrixSquareRoot",
    "MatrixSolve",
    "Qr",
    "SelfAdjointEigV2",
    "Svd",
]  # samples of integers are singular
PAIRED = [op for op in OPS.values() if op.samples and op.tensor_positions]


def calls(op: Op) -> Iterator[tuple[str, Any, list[np.ndarray], list[np.ndarray]]]:
    """The dtype, the graph, the arguments and the results of a call of an op, for each dtype that it takes."""
    for name in DTYPES:
        if name not in FLOATS and op.name in MATRICES:
            continue
        for number in range(len(op.samples)):
            args, kwargs = _drawn(op, number, name)
            if args is None:
                continue
            try:
                with dt.engine("numpy"), np.errstate(all="ignore"):
                    graph, arrays = graph_of(op, args, kwargs)
                    found = values(dt.function(graph)(*arrays))
            except (TypeError, ValueError, NotImplementedError, KeyError):
                continue  # the op does not take the dtype
            if all(array.size for array in found):
                yield name, graph, arrays, found
                break


def _drawn(op: Op, number: int, name: str) -> Any:
    """The arguments of a sample, of which those of the first array's dtype have another dtype."""
    sample, dtype = op.samples[number], as_dtype(name).numpy
    first = _first(op, sample)
    if first is None or first not in DTYPES:
        return None, {}
    random = np.random.default_rng(zlib.crc32(f"{op.name} {name}".encode()))

    def one(array: Array) -> Any:
        drawn = array.draw(random)
        if array.dtype != first or str(drawn.dtype) == name:
            return drawn
        if name in INTEGERS and np.asarray(drawn).dtype.kind in "if":
            drawn = np.abs(drawn) if name.startswith("u") else drawn
            drawn = np.where(np.trunc(drawn) == 0, 1, drawn)  # other libraries do not divide by zero
        if name.startswith("complex"):
            drawn = drawn + 1j * np.roll(drawn, 1)
        return np.asarray(drawn).astype(dtype)

    return filled(sample.args, one), {key: filled(value, one) for key, value in sample.kwargs.items()}


def _first(op: Op, sample: Any) -> str | None:
    """The dtype of the first array among the tensors of a sample."""
    given = dict(zip((p.name for p in op.params), sample.args, strict=False)) | sample.kwargs
    for index, _ in op.tensor_positions:
        value = given.get(op.params[index].name)
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(value, Array):
            return value.dtype
    return None


def tolerance(name: str) -> float:
    """How near the results of two libraries are."""
    return {"float16": 0.02, "bfloat16": 0.15}.get(name, 1e-4)

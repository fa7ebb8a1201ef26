"""Accumulation of halves in float32, by every op that adds up or multiplies many numbers, on every engine.

A sum kept in 16 bits stands still as soon as the next number is smaller than its last digit: 1000 ones in bfloat16 make
256.  So the ops of this table get their halves in float32, and their results are rounded once.  The same holds for a
composite's body and for an engine's rule.  An engine lists the ops whose rules accumulate in float32 by themselves
(`Engine.accumulates`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from dovetail.core.base.windows import CONVOLUTIONS, POOLS

HALVES = ("float16", "bfloat16")
PRODUCTS = frozenset(("MatMul", "Einsum", *(name for names in CONVOLUTIONS.values() for name in names)))
DECOMPOSITIONS = frozenset(
    (
        *("MatrixSolve", "MatrixTriangularSolve", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant"),
        *("Cholesky", "Lu", "Qr", "SelfAdjointEigV2", "Eig", "Svd", "Pinv"),
        *("MatrixExponential", "MatrixSquareRoot"),
    )
)
ACCUMULATING = frozenset(
    (
        *("Sum", "SumLike", "Prod", "Mean", "LogSumExp", "Cumsum", "Cumprod", "CumulativeLogsumexp"),
        *("Moments", "Variance", "StandardDeviation", "Average", "EuclideanNorm"),
        *PRODUCTS,
        *("FusedMatMul", "FusedConv", "LocalConv"),
        *DECOMPOSITIONS,
        *("TensorScatterAdd", "OverlapAdd", "ScaledDotProductAttention"),
        *("LSTM", "LSTMGrad", "GRU", "GRUGrad", "GRUResetBefore", "GRUResetBeforeGrad"),
        *(name for name in POOLS["AvgPool"]),
        *(f"{name}Grad" for names in POOLS.values() for name in names),
        *("ResizeNearestNeighborGrad", "ResizeBilinearGrad", "ResizeBicubicGrad", "ResizeArea", "ResizeAreaGrad"),
        *("ScaleAndTranslate", "ScaleAndTranslateGrad"),
        *("Softmax", "SoftmaxGrad", "LogSoftmax", "LogSoftmaxGrad"),
        *("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", "CosineSimilarity"),
        *("LayerNormalization", "LayerNormalizationGrad", "RmsNormalization", "L2Normalize"),
    )
)


def in_float32(
    function: Callable[..., Any],
    tensors: Sequence[tuple[int, bool]],
    dtype_of: Callable[[Any], Any],
    cast: Callable[[Any, Any], Any],
    halves: Collection[Any],
    float32: Any,
    write: Callable[[Any, Any], Any] | None = None,
) -> Callable[..., Any]:
    """Make a rule or a body compute halves in float32; the result's attribute `without_halves` is the original.

    Args:
        function: takes all arguments of an op in order; with `out=`, if it can write to a given array.
        tensors: (position, whether it is a list) of the arguments that are tensors.
        dtype_of: (tensor) → its dtype.
        cast: (tensor, dtype) → the tensor in that dtype.
        halves: the dtypes of the 16-bit floats, as tensors carry them.
        float32: the dtype float32, as tensors carry it.
        write: (array, values) → the array, with these values in it.
    """

    def widened(value: Any) -> Any:
        return cast(value, float32) if value is not None and dtype_of(value) in halves else value

    def narrowed(value: Any, half: Any) -> Any:
        return cast(value, half) if dtype_of(value) == float32 else value

    @functools.wraps(function)
    def wide(*args: Any, out: Any = None, **options: Any) -> Any:
        for at, is_list in tensors:
            first = args[at]
            if is_list:
                first = first[0] if first else None
            if first is not None and dtype_of(first) in halves:
                break
        else:
            return function(*args, **options) if out is None else function(*args, out=out, **options)
        given, half = list(args), dtype_of(first)
        for at, is_list in tensors:
            given[at] = type(given[at])(map(widened, given[at])) if is_list else widened(given[at])
        results = function(*given, **options)
        if isinstance(results, (list, tuple)):
            return tuple([narrowed(y, half) for y in results])
        return narrowed(results, half) if out is None else write(out, results)  # type: ignore[misc]

    wide.without_halves = function  # type: ignore[attr-defined]
    return wide

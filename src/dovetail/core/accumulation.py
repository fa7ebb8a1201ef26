"""What halves are accumulated in: float32, by every op that adds up or multiplies many numbers, on every engine.

A sum kept in 16 bits stands still as soon as the next number is smaller than its last digit: 1000 ones in bfloat16 make
256.  So the ops of this table get their halves in float32, and their results are rounded once.  It is the same for a
composite's body and for an engine's rule; of the rules that accumulate in float32 by themselves, an engine says so
(`Engine.accumulates`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

from dovetail.core.windows import CONVOLUTIONS, POOLS

HALVES = ("float16", "bfloat16")
PRODUCTS = frozenset(("MatMul", "Einsum", *(name for names in CONVOLUTIONS.values() for name in names)))
DECOMPOSITIONS = frozenset(
    (
        *("MatrixSolve", "MatrixTriangularSolve", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant"),
        *("Cholesky", "Lu", "Qr", "SelfAdjointEigV2", "Eig", "Svd", "Pinv"),
    )
)
ACCUMULATING = frozenset(
    (
        *("Sum", "SumLike", "Prod", "Mean", "LogSumExp", "Cumsum", "Cumprod", "CumulativeLogsumexp"),
        *("Moments", "Variance", "StandardDeviation", "Average", "EuclideanNorm"),
        *PRODUCTS,
        *("FusedMatMul", "LocalConv"),
        *DECOMPOSITIONS,
        *("TensorScatterAdd", "OverlapAdd"),
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
    function: Callable[..., Any], cast: Callable[[Any, Any], Any], halves: Collection[Any], float32: Any
) -> Callable[..., Any]:
    """A rule or a body that computes halves in float32.

    Args:
        function: of tensors, lists of them, and other values; with `out=`, if it can write to a given array.
        cast: (tensor, dtype) → the tensor in that dtype.
        halves: the dtypes of the 16-bit floats, as tensors carry them.
        float32: that of float32.
    """

    def has(dtypes: Collection[Any], value: Any) -> bool:
        return getattr(value, "dtype", None) in dtypes

    def widened(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(widened, value))
        return cast(value, float32) if has(halves, value) else value

    @functools.wraps(function)
    def wide(*args: Any, out: Any = None, **options: Any) -> Any:
        for value in args:
            first = value[0] if type(value) in (list, tuple) and value else value
            if getattr(first, "dtype", None) in halves:
                break
        else:
            return function(*args, **options) if out is None else function(*args, out=out, **options)
        results = function(*map(widened, args), **options)
        half = first.dtype
        if isinstance(results, (list, tuple)):
            return tuple(cast(y, half) if has((float32,), y) else y for y in results)
        if out is None:
            return cast(results, half) if has((float32,), results) else results
        out[...] = results
        return out

    return wide

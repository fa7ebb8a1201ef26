"""Features of ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.opaque import Words
from dovetail.formats.onnx.ops.shapes import moved
from dovetail.formats.onnx.table import row, special
from dovetail.ops.shapes.shape import rank_of

special("ai.onnx.ml.ArrayFeatureExtractor")(moved)


@row("ai.onnx.ml.Binarizer: x; threshold")
def _(x: Any, threshold: float = 0.0) -> Any:
    return ops.cast(ops.greater(x, threshold), x.dtype)


@row("ai.onnx.ml.ArrayFeatureExtractor: x places")
def _(x: Any, places: Any) -> Any:
    taken = ops.take(x, ops.reshape(places, [-1]), -1)
    return ops.expand_dims(taken, 0) if rank_of(x) == 1 else taken


@row("ai.onnx.ml.Scaler: x; offset scale")
def _(x: Any, offset: Any, scale: Any) -> Any:
    return (ops.cast(x, "float32") - np.float32(offset)) * np.float32(scale)


NORMS: Mapping[str, Callable[[Any], Any]] = Words(
    {
        "MAX": lambda x: ops.max(x, -1, keepdims=True),
        "L1": lambda x: ops.sum(ops.absolute(x), -1, keepdims=True),
        "L2": lambda x: ops.sqrt(ops.sum(ops.square(x), -1, keepdims=True)),
    }
)


@row("ai.onnx.ml.Normalizer: x; norm")
def _(x: Any, norm: str = "MAX") -> Any:
    x = ops.cast(x, "float32")
    size = NORMS[norm](x)
    return ops.where(ops.equal(size, 0), x, x / ops.where(ops.equal(size, 0), ops.ones_like(size), size))


@row("ai.onnx.ml.Imputer: x; imputed_value_floats:floats imputed_value_int64s:ints replaced_value_float:missing"
     " replaced_value_int64:missing_int")  # fmt: skip
def _(x: Any, floats: Any = None, ints: Any = None, missing: float = 0.0, missing_int: int = 0) -> Any:
    """Columns with values in place of those that mark what is missing."""
    if x.dtype.is_floating:
        is_missing = ops.isnan(x) if np.isnan(missing) else ops.equal(x, missing)
        return ops.where(is_missing, ops.broadcast_to(np.asarray(floats, x.dtype.numpy), ops.shape(x)), x)
    return ops.where(ops.equal(x, missing_int), ops.broadcast_to(np.asarray(ints, x.dtype.numpy), ops.shape(x)), x)


@row("ai.onnx.ml.FeatureVectorizer: xs*; inputdimensions:sizes")
def _(xs: Sequence[Any], sizes: Any = None) -> Any:
    return ops.concatenate([ops.cast(x, "float32") for x in xs], -1)

"""The NumPy engine: the living definition of every primitive, plain and correct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.dtypes import DType
from dovetail.engines import slices
from dovetail.engines.base import Engine, Rule, Rules

rules = Rules(
    {
        "AddV2": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "RealDiv": np.divide,
        "Neg": np.negative,
        "Exp": np.exp,
        "Tanh": np.tanh,
        "Greater": np.greater,
        "SelectV2": np.where,
        "Square": np.square,
        "BroadcastTo": np.broadcast_to,
        "Transpose": np.transpose,
        "Reshape": np.reshape,
        "Identity": lambda x: x,
        "StopGradient": lambda x: x,
    }
)
out_rules: dict[str, Rule] = {name: rule for name, rule in rules.items() if isinstance(rule, np.ufunc)}


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return np.asarray(x).astype(dtype.numpy)


@rules("Shape")
def _(x: Any) -> Any:
    return np.array(x.shape, np.int32)


@rules("Sum")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    axes = (*range(extra), *(i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1))
    return np.sum(g, axis=axes, dtype=g.dtype).reshape(like.shape) if axes else g


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return np.matmul(x.swapaxes(-1, -2) if transpose_a else x, y.swapaxes(-1, -2) if transpose_b else y)


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = np.concatenate
rules["Pack"] = np.stack
rules["ExpandDims"] = np.expand_dims
rules["Squeeze"] = np.squeeze


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return np.arange(size[0]).astype(dtype.numpy)


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    return x[(*slices.entries(*where), ...)]


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    whole = np.zeros(shape, g.dtype)
    whole[(*slices.entries(*where), ...)] = g
    return whole


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    return np.take(x, indices, axis)


class NumPyEngine(Engine):
    """NumPy on the CPU."""

    name = "numpy"

    def version(self) -> str:
        return np.__version__

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, np.ndarray)

    def asarray(self, value: Any, dtype: DType) -> Any:
        return np.asarray(value, dtype.numpy)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.numpy)

    def copy(self, value: Any) -> Any:
        return np.array(value)

    def from_dlpack(self, value: Any) -> Any:
        return np.from_dlpack(value)

    def eager_rule(self, rule: Rule) -> Rule:
        quiet = np.errstate(all="ignore")  # infinities and NaN are values, as on the other engines
        return quiet(rule)

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...] = ()) -> Callable[..., Any]:
        return np.errstate(all="ignore")(function)


engine = NumPyEngine(rules, out_rules)

"""The PyTorch engine: aten calls without autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dovetail.dtypes import DType
from dovetail.engines import slices
from dovetail.engines.base import Engine, Rule, Rules

# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules(
    {
        "AddV2": torch.add,
        "Sub": torch.sub,
        "Mul": torch.mul,
        "RealDiv": torch.div,
        "Neg": torch.neg,
        "Exp": torch.exp,
        "Tanh": torch.tanh,
        "Greater": torch.gt,
        "SelectV2": torch.where,
        "Square": torch.square,
    }
)
# Every rule so far is a function of torch's own that takes `out=`.
out_rules: dict[str, Rule] = {name: rule for name, rule in rules.items() if name not in ("Square",)}
fresh = ("Square",)


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return x.to(getattr(torch, dtype))


# -- shape ------------------------------------------------------------------------------------------------------------

rules["Reshape"] = torch.reshape
rules["Identity"] = lambda x: x
rules["StopGradient"] = torch.detach
rules["BroadcastTo"] = torch.broadcast_to


@rules("Shape")
def _(x: Any) -> Any:
    return torch.tensor(x.shape, dtype=torch.int32)


@rules("Transpose")
def _(x: Any, axes: Any) -> Any:
    return x.permute(axes if axes is not None else tuple(range(x.ndim))[::-1])


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    return g.sum_to_size(like.shape)


# -- reductions -------------------------------------------------------------------------------------------------------


@rules("Sum")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    if axis == ():
        return x
    return torch.sum(x, axis, keepdim=keepdims, dtype=x.dtype)


# -- linear algebra ---------------------------------------------------------------------------------------------------


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return torch.matmul(x.mT if transpose_a else x, y.mT if transpose_b else y)


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = torch.cat
rules["Pack"] = torch.stack


@rules("ExpandDims")
def _(x: Any, axis: Any) -> Any:
    axes = (axis,) if isinstance(axis, int) else axis
    rank = x.ndim + len(axes)
    for i in sorted(a % rank for a in axes):
        x = x.unsqueeze(i)
    return x


@rules("Squeeze")
def _(x: Any, axis: Any) -> Any:
    return x.squeeze() if axis is None else x.squeeze(axis)


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return torch.arange(size[0]).to(getattr(torch, dtype))


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    index, flipped = slices.forward(slices.entries(*where), x.shape)
    part = x[index]
    return part.flip(flipped) if flipped else part


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    index, flipped = slices.forward(slices.entries(*where), shape)
    whole = g.new_zeros(shape)
    whole[index] = g.flip(flipped) if flipped else g
    return whole


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    return x[(slice(None),) * axis + (indices.long(),)]


class TorchEngine(Engine):
    """PyTorch, on the CPU or on the first CUDA device."""

    name = "torch"

    def version(self) -> str:
        return torch.__version__

    def devices(self) -> list[str]:
        gpus = [f"gpu:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
        return [*gpus, "cpu:0"]

    def device_of(self, value: Any) -> str:
        return f"gpu:{value.device.index or 0}" if value.is_cuda else "cpu:0"

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, torch.Tensor)

    def native_dtype(self, dtype: DType) -> Any:
        return getattr(torch, dtype)

    def asarray(self, value: Any, dtype: DType) -> Any:
        array = np.asarray(value, dtype.numpy)
        if array.dtype.kind == "V" or dtype == "bfloat16" or "float8" in dtype:  # torch does not read ml_dtypes' types
            bits = torch.from_numpy(np.array(array).reshape(-1).view(f"u{dtype.itemsize}"))
            return bits.view(getattr(torch, dtype)).reshape(array.shape)
        # A copy: torch would share the array's memory, and the array is its owner's to change.
        return torch.tensor(np.ascontiguousarray(array), dtype=getattr(torch, dtype)).reshape(array.shape)

    def to_numpy(self, value: Any) -> np.ndarray:
        value = value.detach().cpu()
        dtype = self.dtype(value)
        if dtype == "bfloat16" or "float8" in dtype:
            bits = value.contiguous().reshape(-1).view(torch.uint8).numpy()
            return bits.view(dtype.numpy).reshape(tuple(value.shape))
        return value.numpy()

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return torch.empty(shape, dtype=getattr(torch, dtype))

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def copy(self, value: Any) -> Any:
        return value.detach().clone()

    def from_dlpack(self, value: Any) -> Any:
        return torch.from_dlpack(value)

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...] = ()) -> Callable[..., Any]:
        return torch.no_grad()(function)


engine = TorchEngine(rules, out_rules, fresh)

"""TorchEngine: how PyTorch holds, moves and differentiates values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint

from dovetail.dtypes import DType
from dovetail.engines.base import Engine, Rule
from dovetail.engines.torch.tables import for_floats


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

    def unstack(self, value: Any) -> Any:
        return value.unbind()

    def copy(self, value: Any) -> Any:
        return value.detach().clone()

    def from_dlpack(self, value: Any) -> Any:
        if _runs_backwards(value):  # torch would not raise an exception but end the process
            raise BufferError("torch has no negative strides.")
        return torch.from_dlpack(value)

    def rule_for(self, operation: Any, out: bool) -> Rule | None:
        rule = super().rule_for(operation, out)
        if rule is not None and all(t.dtype.is_floating for t in operation.inputs):
            return for_floats.get(operation.type, rule)
        return rule

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...], graph: Any) -> Callable[..., Any]:
        return torch.no_grad()(function)

    def gradients(self, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        ys = [y for y in ys if y.requires_grad]
        if not ys:
            return [None] * len(xs)
        for x in xs:
            if not x.requires_grad:
                problem = "torch keeps no record of what was computed from a tensor that requires no gradient"
                raise ValueError(f"{problem}: call x.requires_grad_() before the computation.")
        ones = [torch.ones_like(y) for y in ys]
        return list(torch.autograd.grad(ys, xs, ones, create_graph=True, allow_unused=True))

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        recorded = torch.is_grad_enabled()
        with torch.enable_grad():  # so the caller may have none
            args = [x if recorded and x.requires_grad else x.detach().requires_grad_() for x in args]
            y = function(*args)
            if not y.requires_grad:
                return [None] * len(args)
            return list(torch.autograd.grad(y, args, create_graph=recorded, allow_unused=True))

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        results, gradient = function(*args)
        return _WithGradient.apply(gradient, len(results), *results, *args)

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False)


def _runs_backwards(value: Any) -> bool:
    try:
        return any(stride < 0 for stride in np.from_dlpack(value).strides)
    except (BufferError, RuntimeError):  # not NumPy's: another dtype or device
        return isinstance(value, np.ndarray) and any(stride < 0 for stride in value.strides)


class _WithGradient(torch.autograd.Function):
    """Gives results through, and sends the gradients that arrive at them to the arguments, by a function."""

    @staticmethod
    def forward(gradient: Callable[..., Any], count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        ctx.gradient, ctx.count = inputs[:2]
        ctx.mark_non_differentiable(*[t for t in output if not (t.is_floating_point() or t.is_complex())])

    @staticmethod
    def backward(ctx: Any, *arriving: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (None, None, *[None] * ctx.count, *ctx.gradient(*arriving))

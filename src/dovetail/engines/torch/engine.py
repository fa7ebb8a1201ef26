"""TorchEngine: how PyTorch holds, moves and differentiates values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint

from dovetail.core.dtypes import FLOAT8S, DType, as_dtype
from dovetail.core.engine import Engine, Segment
from dovetail.core.engines.accumulation import PRODUCTS
from dovetail.core.engines.allocation import lent_bytes
from dovetail.core.engines.control_flow import Body, HostControl, Values
from dovetail.core.rules import Rule, Rules
from dovetail.core.values.foreign import note_dense, refuse_ragged
from dovetail.engines.symbolic_dimensions import OnDimensions, with_dimensions
from dovetail.engines.torch.dimensions import Dimensions
from dovetail.engines.torch.tables import native_device, new_device

_NOT_NUMPYS = frozenset(["bfloat16", *FLOAT8S])  # torch does not read the types of ml_dtypes
_OF_ML_DTYPES = frozenset(as_dtype(name).numpy for name in _NOT_NUMPYS)

_REPORTED = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")  # of torch.cuda
_FEW = 32  # elements of an array that may be a shape
_REQUIRES_GRAD = attrgetter("requires_grad")


class TorchEngine(Engine):
    """PyTorch, on the CPU or on the first CUDA device."""

    name = "torch"
    _reports = "dovetail.engines.torch.routines"
    array_key = staticmethod(attrgetter("shape", "dtype"))
    consumes = True
    prefers_cpu = True
    strategies = {"": (), **({"benchmark": ("benchmark",)} if torch.cuda.is_available() else {})}  # noqa: RUF012
    accumulates = frozenset(
        (
            *PRODUCTS,
            *("FusedMatMul", "Sum", "SumLike", "Mean", "Cumsum", "Cumprod", "AvgPool1D", "AvgPool"),
            *("Softmax", "SoftmaxGrad", "LogSoftmaxGrad", "LayerNormalization"),
        )
    )

    def version(self) -> str:
        return torch.__version__

    _is_forked = False

    def set_threads(self, count: int) -> bool:
        if self._is_forked and count > 1:
            return False
        torch.set_num_threads(count)
        return True

    @property
    def thread_count(self) -> int:
        return torch.get_num_threads()

    def with_threads(self, count: int, run: Callable[[Any], Any], given: Any) -> Any:
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(count)
            return run(given)
        finally:
            torch.set_num_threads(before)

    def go_on_in_child(self) -> None:
        """Compute with one thread, since OpenMP would wait for threads that a fork does not copy."""
        self._is_forked = True
        torch.set_num_threads(1)

    def devices(self) -> list[str]:
        gpus = [f"gpu:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
        return [*gpus, "cpu:0"]

    def device_of(self, value: Any) -> str:
        return f"gpu:{value.device.index or 0}" if value.is_cuda else "cpu:0"

    def to_device(self, value: Any, device: str) -> Any:
        return value.to(native_device(device))

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, torch.Tensor | Dimensions | torch.SymInt)

    def native_dtype(self, dtype: DType) -> Any:
        return getattr(torch, dtype)

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        made = _shared(np.array(value, dtype.numpy, order="C"))
        place = new_device(device)
        return made if place is None else made.to(device=place)

    def to_numpy(self, value: Any) -> np.ndarray:
        dtype = self.dtype(value)
        if dtype in _NOT_NUMPYS:
            bits = value.detach().resolve_neg().view(torch.uint16 if dtype.itemsize == 2 else torch.uint8)
            return bits.cpu().numpy().view(dtype.numpy)
        return value.numpy(force=True)  # also for views whose numbers are conjugated or negated when they are read

    def _meet(self, name: str, x: Any, *static: Any) -> Any:
        exchange = super()._meet  # torch.compile cannot trace what the transport does
        return (torch.compiler.disable(exchange) if torch.compiler.is_compiling() else exchange)(name, x, *static)

    def _sent(self, value: Any) -> Any:
        return value.detach() if value.is_cuda else self.to_numpy(value)

    def _received(self, array: Any, like: Any) -> Any:
        return array if isinstance(array, torch.Tensor) else _shared(array).to(like.device)

    def allocate(self, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
        return torch.empty(shape, dtype=getattr(torch, dtype), device=new_device(device))

    def lend(self, array: Any, released: Callable[[], None]) -> Any:
        if array.is_cuda or not array.is_contiguous():
            raise ValueError("an allocator of torch's memory gives contiguous tensors on the CPU.")
        memory = lent_bytes(array, array.data_ptr(), array.nbytes, released)
        return torch.from_numpy(memory).view(array.dtype).reshape(array.shape)

    def memory_of(self, value: Any) -> tuple[Any, Any, int]:
        storage = value.untyped_storage()
        return storage.data_ptr(), storage, storage.nbytes()

    def limit_memory(self, limit: int | None, device: str) -> bool:
        if device == "cpu:0":
            return False
        part = 1.0 if limit is None else min(1.0, limit / (self.total_memory(device) or 1))
        torch.cuda.empty_cache()  # the limit holds for new requests to the driver, and the cache answers without one
        torch.cuda.set_per_process_memory_fraction(part, native_device(device))
        return True

    def total_memory(self, device: str) -> int | None:
        return None if device == "cpu:0" else torch.cuda.get_device_properties(native_device(device)).total_memory

    def forget_peak(self, device: str) -> None:
        if device != "cpu:0":
            torch.cuda.reset_peak_memory_stats(native_device(device))

    def reported_memory(self, device: str) -> dict[str, int]:
        if device == "cpu:0":
            return {}
        place = native_device(device)
        return {name: getattr(torch.cuda, name)(place) for name in _REPORTED}

    def wait(self, value: Any) -> None:
        if value.is_cuda:
            torch.cuda.synchronize(value.device)

    _truth = bool  # type: ignore[assignment]  # saves a Python frame in each turn of a loop

    def _host_control(self) -> HostControl:
        return _TorchControl(self.unstack, self.stack, self._stack_nothing, self._truth)

    def _make_native(self, rules: Rules) -> Engine:
        return NativeTorchEngine(rules)

    def native_rule(self, name: str, rule: Rule) -> Rule:
        return rule if name == "Shape" else with_dimensions(name, rule, Dimensions)

    is_tracing = staticmethod(torch.compiler.is_compiling)

    def fresh_key(self, seed: int) -> Any:
        return torch.randint(-(2**31), 2**31, (2,), dtype=torch.int32) if torch.compiler.is_compiling() else None

    def unstack(self, value: Any) -> Any:
        return value.unbind()

    def copy(self, value: Any) -> Any:
        return value.detach().clone()

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        if given is None:
            return value.clone()
        for other in given:
            if isinstance(other, torch.Tensor) and _share_memory(value, other):
                return value.clone()
        return value

    def plain(self, value: Any) -> Any:
        if value.is_nested:
            refuse_ragged(value, "to_padded_tensor(0.0)")
        if value.layout is not torch.strided:
            note_dense(value)
            value = value.to_dense()
        return value.resolve_conj().resolve_neg()

    def from_dlpack(self, value: Any) -> Any:
        if _runs_backwards(value):  # torch would end the process
            raise BufferError("torch has no negative strides.")
        return torch.from_dlpack(value)

    def compile(self, segment: Segment) -> Callable[..., Any]:
        function = segment.function
        unrecorded = torch.no_grad()(function)

        def program(*args: Any, **options: Any) -> Any:  # without gradients, `no_grad` is not needed
            return (unrecorded if True in map(_REQUIRES_GRAD, args) else function)(*args, **options)

        return program

    def settings(self) -> Mapping[str, Callable[[], AbstractContextManager[Any]]]:
        if not torch.cuda.is_available():
            has_onednn = torch.backends.mkldnn.is_available()
            return {"without oneDNN": partial(torch.backends.mkldnn.flags, enabled=False)} if has_onednn else {}
        flags = torch.backends.cudnn.flags
        return {
            "cudnn.deterministic": partial(flags, enabled=True, deterministic=True),
            "without cuDNN": partial(flags, enabled=False),
        }

    def gradients(self, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        if not torch.is_grad_enabled():
            problem = "torch records nothing inside torch.no_grad, as in Keras' evaluate and predict"
            advice = "compute with x.detach().requires_grad_() inside `with torch.enable_grad()`"
            raise RuntimeError(f"{problem}: {advice}, and take the gradient by that tensor.")
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
        with torch.enable_grad():  # the caller may have disabled it
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


class NativeTorchEngine(OnDimensions, TorchEngine):
    """PyTorch on its users' own values, whose shapes may have unknown dimensions."""

    dimensions = Dimensions

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        if dtype == "int32" and np.size(value) <= _FEW and torch.compiler.is_compiling():
            return Dimensions(value)  # a tensor would have no number there, and shapes may be computed from it
        return super().asarray(value, dtype, device)

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        return value if type(value) is Dimensions else super().owned(value, given)

    def plain(self, value: Any) -> Any:
        return super().plain(value) if isinstance(value, torch.Tensor) else value

    def number(self, value: Any, native_dtype: Any) -> Any:
        if torch.compiler.is_compiling() and type(value) in self._absorbed.get(native_dtype, ()):
            return self.asarray(value, as_dtype(native_dtype))  # not kept: it is of no use in a later trace
        return super().number(value, native_dtype)


class _TorchControl(HostControl):
    """Python's control flow.  Torch's compilers know no numbers: both branches run there, and the condition picks."""

    def cond(self, condition: Any, then_branch: Body, else_branch: Body) -> Values:
        if not torch.compiler.is_compiling():
            return super().cond(condition, then_branch, else_branch)
        return [torch.where(condition, *both) for both in zip(then_branch(), else_branch(), strict=True)]


def _shared(array: np.ndarray) -> torch.Tensor:
    """A tensor in the memory of an array."""
    if array.dtype in _OF_ML_DTYPES:
        return torch.from_numpy(array.view(f"u{array.itemsize}")).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


def _share_memory(result: torch.Tensor, given: torch.Tensor) -> bool:
    if result is given:
        return True
    try:
        start = result.untyped_storage().data_ptr()
        return start != 0 and start == given.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # tensors without memory, as in `torch.func`, `torch.export`, or sparse
        return result._is_view()


def _runs_backwards(value: Any) -> bool:
    try:
        return any(stride < 0 for stride in np.from_dlpack(value).strides)
    except (BufferError, RuntimeError):  # NumPy lacks the dtype or the device
        return isinstance(value, np.ndarray) and any(stride < 0 for stride in value.strides)


class _WithGradient(torch.autograd.Function):
    """A function that passes results on, and sends their gradients to the arguments by a given function."""

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

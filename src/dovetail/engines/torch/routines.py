"""The functions of aten that operations call, and what oneDNN, MKL and CUDA report of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dovetail.core.engine import Segment
from dovetail.core.engines.routines import NOT_REPORTED, Routine, Routines, native_output, running_operation
from dovetail.engines import verbose

_NO_WORK = ("aten.empty", "aten.new_empty", "aten.detach", "aten.promote_types", "aten.result_type")  # beside views


class _Calls(TorchDispatchMode):
    """The calls of aten while a program runs, each with its operation and the lines that libraries wrote."""

    def __init__(self, written: Any) -> None:
        super().__init__()
        self._written = written
        self.found: list[tuple[Any, str, list[str]]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._written()
        with torch.profiler.record_function(f"dovetail {len(self.found)}"):
            result = function(*args, **(kwargs or {}))
        operation, name = running_operation(), str(function)
        if operation is not None and not getattr(function, "is_view", False) and not name.startswith(_NO_WORK):
            self.found.append((operation, name, self._written()))
        return result


def routines(segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
    given = arguments()
    on_gpu = any(t.is_cuda for t in given)
    with ExitStack() as stack:
        written = stack.enter_context(native_output(*verbose.BEGINNINGS))
        for library in (torch.backends.mkldnn, torch.backends.mkl):
            stack.enter_context(library.verbose(1) if library.is_available() else nullcontext())
        profile: AbstractContextManager[Any] = torch.profiler.profile() if on_gpu else nullcontext()
        events = stack.enter_context(profile)
        calls = _Calls(written)
        with torch.no_grad(), calls:
            segment.function(*given)
    kernels = _kernels(events.events()) if on_gpu else {}
    by_operation: dict[Any, dict[Routine, None]] = {}
    for number, (operation, name, lines) in enumerate(calls.found):
        told = verbose.routine(lines)
        told = kernels.get(f"dovetail {number}", told) if told == NOT_REPORTED else told
        by_operation.setdefault(operation, {})[Routine(name, told)] = None
    return {operation: list(each) for operation, each in by_operation.items()}


def _kernels(events: Any) -> dict[str, str]:
    """The kernels of CUDA, among them cuDNN's and cuBLAS's, that the profiler saw in each call."""
    named: dict[str, dict[str, None]] = {}
    for event in events:
        if event.name.startswith("dovetail "):  # one of the processor, and in newer versions one of the GPU
            named.setdefault(event.name, {}).update(dict.fromkeys(k.name for e in _within(event) for k in e.kernels))
    return {name: f"CUDA {'; '.join(kernels)}" for name, kernels in named.items() if kernels}


def _within(event: Any) -> Iterator[Any]:
    yield event
    for child in event.cpu_children:
        yield from _within(child)

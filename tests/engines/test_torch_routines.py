"""The kernels that torch's profiler sees on a GPU, by the calls of aten that start them."""

from __future__ import annotations

from types import SimpleNamespace

from tests.libraries import require

require("torch", "its profiler is read")


def event(name, *children, kernels=()):
    return SimpleNamespace(name=name, cpu_children=children, kernels=[SimpleNamespace(name=k) for k in kernels])


def test_kernels_belong_to_the_calls_around_them():
    from dovetail.engines.torch.routines import _kernels

    inner = event("aten::cudnn_convolution", kernels=["cudnn::nchwToNhwc", "sm80_xmma_fprop", "cudnn::nchwToNhwc"])
    events = [event("dovetail 0", event("aten::convolution", inner)), inner, event("dovetail 1", event("aten::empty"))]
    assert _kernels(events) == {"dovetail 0": "CUDA cudnn::nchwToNhwc; sm80_xmma_fprop"}

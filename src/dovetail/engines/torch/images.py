"""Rules of resized images, and of their gradients."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.core.base.optional_api import optional_api
from dovetail.core.rules import Rule
from dovetail.engines.torch.tables import rules, with_kernel

rules.fresh |= {"ResizeBilinear", "ResizeBilinearGrad"}
_resize = optional_api(torch, "_C._nn.upsample_bilinear2d")
_spread = optional_api(torch, "ops.aten.upsample_bilinear2d_backward.default")


def _with_channels_first(kernel: Rule) -> Rule:
    def rule(x: Any, size: tuple[int, ...], data_format: str) -> Any:
        if data_format == "channels_first":
            return _unless_empty(kernel, x, size)
        return _unless_empty(kernel, x.permute(0, 3, 1, 2), size).permute(0, 2, 3, 1)

    return rule


def _unless_empty(kernel: Rule, x: Any, size: tuple[int, ...]) -> Any:
    return kernel(x, size) if x.numel() else x.new_zeros((*x.shape[:2], *size))


@with_kernel(_resize, "ResizeBilinear")
@_with_channels_first
def _(x: Any, size: tuple[int, ...]) -> Any:
    return _resize(x, size, False, None, None)


@with_kernel(_spread, "ResizeBilinearGrad")
@_with_channels_first
def _(g: Any, size: tuple[int, ...]) -> Any:
    return _spread(g, g.shape[2:], (*g.shape[:2], *size), False)

"""The gradients of functions of tensors, for the types that are gradients in training graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.base.hooks import hooks


def through(function: Callable[..., Any], g: Any, *xs: Any) -> list[Any]:
    """The gradients by some tensors of a function of them, where `g` arrives at its results."""
    gradients = hooks.gradients_through(function, xs, g)
    return [ops.zeros_like(x) if one is None else one for x, one in zip(xs, gradients, strict=True)]


def blank(g: Any, shape: Any) -> Any:
    """A tensor for the input of a linear op, whose values do not matter."""
    return ops.broadcast_to(ops.sum(g) * 0, shape)

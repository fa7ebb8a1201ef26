"""Gradients of a function by its arguments, in the graph that they are in, or of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.autodiff.graph_gradients import gradients
from dovetail.autodiff.tape import GradientTape
from dovetail.core.base.hooks import hooks
from dovetail.graph.operation import GraphTensor


def gradients_through(function: Callable[..., Any], xs: Sequence[Any], grad_ys: Any) -> list[Any]:
    """Gradients by some tensors of a function of them; None for each that the results do not depend on.

    Args:
        function: computes one tensor or several.
        xs: its arguments, of a graph or with values.
        grad_ys: the gradients that arrive at its results, in their structure.

    Example:
        >>> import dovetail as dt
        >>> gradients_through(lambda x: x * x, [dt.ops.constant([1., 2.])], dt.ops.constant([1., 1.]))[0].numpy()
        array([2., 4.], dtype=float32)
    """
    if any(type(x) is GraphTensor for x in xs):
        return gradients(function(*xs), list(xs), grad_ys)
    with GradientTape() as tape:
        tape.watch(list(xs))
        ys = function(*xs)
    return tape.gradient(ys, list(xs), grad_ys)


hooks.gradients_through = gradients_through

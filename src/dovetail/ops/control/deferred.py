"""Deferred calls: calls of functions that must know ranks, recorded while a rank is not known.

A program calls the function of such an operation once the ranks are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.kinds import Eachs
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import any_rank
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.rearrange import flip


def _turned(x: Any, number: Any) -> tuple[Any, ...]:
    return flip(x, -1), number * x


@composite(
    "DeferredCall",
    cost="move",
    samples=[sample([array(2, 3), array(3)], _turned), sample([array(2), ints(2)], _turned)],
)
def deferred_call(inputs: Eachs, function: Callable[..., Any]) -> tuple[Tensor, ...]:
    """The results of a function of tensors.

    Args:
        inputs: the tensors.
        function: (tensors) → a tuple of tensors, as many for each rank.
    """
    results: tuple[Tensor, ...] = function(*inputs)
    return results


def _scaled(inputs: Any, outputs: Any, arriving: Any) -> tuple[Any, ...]:
    return (inputs[0] * outputs[0] * arriving[0],)


@any_rank
def _gradient_spec(inputs: Any, outputs: Any, arriving: Any, function: Any, which: Any) -> list[TensorSpec]:
    return [inputs[i] for i in which]


@composite(
    "SymbolicGradient",
    cost="move",
    infer=_gradient_spec,
    samples=[sample([array(2, 3), ints(2)], [array(2, 3)], [array(2, 3)], _scaled, (0,))],
)
def symbolic_gradient(
    inputs: Eachs, outputs: Eachs, arriving: Eachs, function: Callable[..., Any], which: Sequence[int]
) -> tuple[Tensor, ...]:
    """The gradients by inputs of an operation.

    Args:
        inputs, outputs: the inputs and outputs of the operation.
        arriving: the gradients of the outputs that have one.
        function: (inputs, outputs, arriving) → a tuple of the gradients.
        which: the numbers of the inputs that get a gradient.
    """
    gradients: tuple[Tensor, ...] = function(inputs, outputs, arriving)
    return gradients

"""Reverse mode, written once: the tape runs it over what it recorded, `gradients` over the operations of a graph.

Both are lists of nodes in program order.  A node has `.op`, `.inputs`, `.outputs`, `.args` and `.attr(name)`; walking
the list backwards, each node's gradient function turns the gradients of its outputs into those of its inputs.  The
functions are written in ops, so what they compute is recorded or taped in turn, and gradients of gradients come free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dovetail import ops
from dovetail.autodiff.recorder import Recorder, tensors_in
from dovetail.errors import op_error
from dovetail.graph.ir import Operation
from dovetail.ops.shape import shape_of

Gradients = dict[int, Any]


def backward(nodes: Sequence[Any], seeds: Iterable[tuple[Any, Any]]) -> Gradients:
    """The gradients of everything that the nodes' seeds depend on.

    Args:
        nodes: in program order.
        seeds: pairs of an output tensor and the gradient that arrives there.

    Returns:
        id of a tensor → its gradient.  Only tensors that are reached are in it.
    """
    found: Gradients = {}
    for tensor, gradient in seeds:
        _add(found, tensor, gradient)
    for node in reversed(nodes):
        arriving = [found.get(id(output)) for output in node.outputs]
        if all(g is None for g in arriving):
            continue
        function = gradient_function(node)
        if function is None:
            continue
        if node.op.fills_gradients:
            arriving = [_or_zeros(g, output) for g, output in zip(arriving, node.outputs, strict=True)]
        for tensor, gradient in zip(arguments(node), _as_tuple(function(node, *arriving), node), strict=True):
            if gradient is not None and tensor.dtype.is_differentiable:
                _add(found, tensor, gradient)
    return found


def gradient_function(node: Any) -> Callable[..., Any] | None:
    """The gradient function of a node: its own, that of its op; None where the derivative is zero.

    Raises:
        LookupError: the op should have a gradient and has none.
    """
    own = getattr(node, "gradient_function", None)
    if own is not None:
        return own
    op = node.op
    if op.gradient_function is None and op.body is not None:
        return through_body
    if op.gradient_function is None and op.differentiable:
        problem = "it has no gradient; give it one with custom_gradient, or stop the gradient with stop_gradient."
        raise op_error(LookupError, op.name, problem, where=getattr(node, "where", None))
    return op.gradient_function


def through_body(node: Any, *arriving: Any) -> list[Any]:
    """The gradient of a composite that has none of its own: that of its body, which is run again."""
    with Recorder() as recorder:
        for tensor in node.inputs:
            recorder.follow(tensor)
        result = node.op.body(*node.args)
    outputs = result if isinstance(result, tuple) else (result,)
    found = backward(recorder.nodes, [(y, g) for y, g in zip(outputs, arriving, strict=True) if g is not None])
    return [found.get(id(tensor)) for tensor in arguments(node)]


def arguments(node: Any) -> list[Any]:
    """The inputs that a gradient function answers for: tensor arguments, but not shapes that happen to be tensors."""
    if not isinstance(node, Operation) or not node.op.ints_positions:
        return node.inputs
    args = node.args
    return tensors_in([args[index] for index, _ in node.op.tensor_positions])


def _as_tuple(result: Any, node: Any) -> Sequence[Any]:
    result = result if isinstance(result, (tuple, list)) else (result,)
    if len(result) != len(arguments(node)):
        problem = f"its gradient function returned {len(result)} gradients for {len(arguments(node))} inputs."
        raise op_error(ValueError, node.op.name, problem)
    return result


def _or_zeros(gradient: Any, output: Any) -> Any:
    if gradient is None and output.dtype.is_differentiable:
        return zeros_like(output)
    return gradient


def _add(found: Gradients, tensor: Any, gradient: Any) -> None:
    before = found.get(id(tensor))
    found[id(tensor)] = gradient if before is None else before + gradient


def zeros_like(x: Any) -> Any:
    """Zeros in the shape and dtype of a tensor."""
    return ops.broadcast_to(ops.cast(0, x.dtype), shape_of(x))


def ones_like(x: Any) -> Any:
    """Ones in the shape and dtype of a tensor."""
    return ops.broadcast_to(ops.cast(1, x.dtype), shape_of(x))

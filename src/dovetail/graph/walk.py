"""Walks: the operations that come before some operations of a graph, and after them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.reach import reach


def forward(
    ops: Iterable[GraphTensor | Operation],
    within: Collection[Operation] | None = None,
    stop_at: Iterable[GraphTensor] = (),
    control: bool = True,
) -> list[Operation]:
    """The operations that depend on some operations or tensors.

    Args:
        ops: of one graph; operations among them are results, but not the operations that make tensors.
        within: operations that the walk does not leave; if not given, all of the graph.
        stop_at: tensors beyond which the walk does not go.
        control: whether control inputs count, too.

    Returns:
        The operations in program order, each once.

    Source: `tf.contrib.graph_editor.get_forward_walk_ops`.

    Example:
        >>> import dovetail as dt
        >>> x = dt.Graph().placeholder(dt.spec(()), "x")
        >>> y = dt.ops.exp(dt.ops.tanh(x))
        >>> forward([x]), forward([x], stop_at=[y.op.inputs[0]])
        ([<operation Tanh Tanh>, <operation Exp Exp>], [<operation Tanh Tanh>])
    """
    return _walk(ops, True, within, stop_at, control)


def backward(
    ops: Iterable[GraphTensor | Operation],
    within: Collection[Operation] | None = None,
    stop_at: Iterable[GraphTensor] = (),
    control: bool = True,
) -> list[Operation]:
    """The operations that some operations or tensors need.

    Args:
        ops, within, stop_at, control: as for `forward`; for a tensor, the operation that makes it is among the results.

    Returns:
        The operations in program order, each once.

    Source: `tf.contrib.graph_editor.get_backward_walk_ops`.

    Example:
        >>> import dovetail as dt
        >>> x = dt.Graph().placeholder(dt.spec(()), "x")
        >>> y = dt.ops.exp(dt.ops.tanh(x))
        >>> backward([y], stop_at=[x])
        [<operation Tanh Tanh>, <operation Exp Exp>]
    """
    return _walk(ops, False, within, stop_at, control)


def _walk(
    ops: Iterable[GraphTensor | Operation],
    is_forward: bool,
    within: Collection[Operation] | None,
    stop_at: Iterable[GraphTensor],
    control: bool,
) -> list[Operation]:
    inside = None if within is None else set(within)
    outside = None if inside is None else lambda op: op not in inside
    return reach(ops, forward=is_forward, control=control, given=stop_at, outside=outside)

"""Specialising: a graph with unknown dimensions becomes a graph for the current shapes of its inputs.

Engines that compile whole programs (XLA) need every shape.  The shapes flow from the inputs through the type rules,
`Shape` and the arithmetic on it become constants, and shape-like arguments become static; see `constant_folding`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.core.base.errors import op_error
from dovetail.core.engine import Engine
from dovetail.edit.graph import Graph
from dovetail.ops.control.plumbing import HOST_CALLS
from dovetail.passes.constant_folding import propagate
from dovetail.trace.deferred import has_unknown_rank


def specialize(graph: Graph, shapes: Sequence[tuple[int, ...]] | None = None) -> int:
    """Infer all values and shapes that follow from the shapes of the inputs, and from `set_shape`.

    Args:
        graph: the graph to edit.
        shapes: the shapes of the inputs; if not given, these keep their own.

    Returns:
        The number of operations that changed.
    """
    if shapes is not None:
        for tensor, shape in zip(graph.inputs, shapes, strict=True):
            if tensor.shape != tuple(shape):
                tensor.put_shape(tuple(shape))
    return propagate(graph, {t for op in graph.operations for t in op.outputs})


def needs_shapes(graph: Graph, engine: Engine) -> bool:
    """Whether a program is made for the shapes of its inputs: for its engine, or since bodies need known ranks."""
    return engine.specializes or has_unknown_rank(graph.inputs)


def check_static(graph: Graph, engine: str) -> None:
    """Raise an error for a program with shapes that depend on values, for engines that cannot run one.

    An input that the program only returns may have any shape.

    Raises:
        ValueError: a shape depends on values; the error names the operation and the user's line.
    """
    operations = [op for part in (*graph.subgraphs(), graph) for op in part.operations]
    for op in operations:
        for tensor in op.outputs:
            if not tensor.spec.is_static and (op.inputs or tensor.is_used):
                what_to_do = "Run it outside of `function`, or on another engine."
                if op.origin.type in HOST_CALLS:
                    what_to_do = "Give it with the_result.set_shape(shape)."
                problem = (
                    f"the shape of {tensor.name!r}, {tensor.spec!r}, depends on the values of tensors, but {engine} "
                    f"compiles only programs of known shapes. {what_to_do}"
                )
                raise op_error(ValueError, op.type, problem, where=op.where)

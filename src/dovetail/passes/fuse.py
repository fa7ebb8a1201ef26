"""Fusion: compositions become one op if the engine claims it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dovetail import ops
from dovetail.core.values import infer
from dovetail.core.values.shapes import normalize_axes, size_of
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.patterns import Match, build, match, scalar_constant, wildcards
from dovetail.graph.pass_edits import rewire
from dovetail.passes.base import needs, sweep

x, y, bias = wildcards("x y bias")
ta, tb, shape = wildcards("ta tb shape")
scale, epsilon = wildcards("scale epsilon", lambda value: scalar_constant(value) is not None)
gamma, beta, axis = wildcards("gamma beta axis")


def _matrices(found: Match) -> bool:
    if not found[x].ndim == found[y].ndim == found.tensor.ndim == 2 or not found.tensor.dtype.is_floating:
        return False
    if found[bias].shape is None:
        return False
    product = infer.matmul(found[x].spec, found[y].spec, found[ta], found[tb]).shape or ()
    pairs = zip(reversed(found[bias].shape), reversed(product), strict=False)
    return all(dim is not None and dim in (1, own) for dim, own in pairs)  # the bias broadcasts, the product does not


def _spread(found: Match) -> bool:
    """Whether the columns of a product are spread on some last axes, which the bias has."""
    one, other = found.tensor.op.inputs
    product = (other if one is found[bias] else one).op.inputs[0]
    if not found[x].ndim == found[y].ndim == product.ndim == 2 or not found.tensor.dtype.is_floating:
        return False
    if len(product.uses()) > 1 or product in set(product.graph.outputs) or found[bias].shape is None:
        return False
    shape, last = found.tensor.shape or (), found[bias].shape
    return last == shape[-len(last) :] and None not in last and (product.shape or ())[-1:] == (size_of(last),)


def _with_spread_bias(found: Match) -> Any:
    columns = _of_shape(found[bias], (size_of(found[bias].shape),))
    return ops.reshape(ops.matmul_add(columns, found[x], found[y], found[ta], found[tb]), found[shape])


def _wide(found: Match) -> bool:
    shape = found[x].shape
    return shape is not None and shape == found.tensor.shape and found.tensor.dtype.is_floating


def _standardized() -> Any:
    """The pattern of a layer normalization as Keras composes it."""
    average = ops.mean(x, axis, True)
    factor = ops.rsqrt(ops.mean(ops.square(x - average), axis, True) + epsilon) * gamma
    return x * factor + (-average * factor + beta)


def _one_number_each(found: Match) -> bool:
    """Whether the factors and the shifts of a normalization have one number for each position on its axes."""
    sizes = _normalized(found)
    if None in sizes or not found[x].dtype.is_floating or found[x].spec != found.tensor.spec:
        return False
    axes = normalize_axes(found[axis], found[x].ndim)
    along = tuple(dim if i in axes else 1 for i, dim in enumerate(found[x].shape))
    return all(t.shape in (along, along[axes[0] :]) for t in (found[gamma], found[beta]))


def _normalized(found: Match) -> tuple[int | None, ...]:
    """The sizes of the axes of a normalization; None for an axis whose size is not known."""
    shape = found[x].shape
    return (None,) if shape is None else tuple(shape[i] for i in normalize_axes(found[axis], len(shape)))


def _layer_normalization(found: Match) -> Any:
    scaled, shift = (_of_shape(found[t], _normalized(found)) for t in (gamma, beta))
    return ops.layer_normalization(found[x], scaled, shift, found[axis], scalar_constant(found[epsilon]))


def _of_shape(tensor: GraphTensor, shape: tuple[int | None, ...]) -> Any:
    """A tensor in another shape; the one that was reshaped to it, if that had the shape."""
    before = tensor.op.inputs[0] if tensor.op.type == "Reshape" else tensor
    fitting = [t for t in (tensor, before) if t.shape == shape]
    return fitting[0] if fitting else ops.reshape(tensor, shape)


def _scaled(sign: int) -> Callable[[Match], Any]:
    return lambda found: ops.add_scaled(found[x], found[y], sign * scalar_constant(found[scale]))


# (pattern, fused op, replacement, condition); the inner op must have no other use
FUSIONS: list[tuple[Any, str, Any, Callable[[Match], bool]]] = [
    (ops.matmul(x, y, ta, tb) + bias, "FusedMatMul", ops.matmul_add(bias, x, y, ta, tb), _matrices),
    (ops.reshape(ops.matmul(x, y, ta, tb), shape) + bias, "FusedMatMul", _with_spread_bias, _spread),
    (_standardized(), "LayerNormalization", _layer_normalization, _one_number_each),
    (x + y * scale, "AddScaled", _scaled(1), _wide),
    (x - y * scale, "AddScaled", _scaled(-1), _wide),
]
OUTER = frozenset(["AddV2", "Sub"])
INNER = frozenset(["MatMul", "Mul", "Reshape"])


@needs(INNER)
def fuse(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Replace compositions by fused ops.

    Args:
        graph: the graph to edit.
        claimed: (operation) → the names of the ops that its engine claims.

    Returns:
        The number of fused compositions; `prune` removes operations that are not needed any more.
    """

    def visit(op: Operation) -> int:
        if INNER.isdisjoint(t.op.type for t in op.inputs):
            return 0
        for pattern, fused, replacement, condition in FUSIONS:
            matched = match(pattern, op.outputs[0]) if fused in claimed(op) else None
            if matched is None or not condition(matched) or not _inner_is_free(op, matched):
                continue
            new = replacement(matched) if callable(replacement) else build(replacement, matched)
            if new.spec == op.outputs[0].spec:
                rewire(graph, op.outputs[0], new)
                return 1
        return 0

    return sweep(graph, visit, graph.of_types(OUTER))


def _inner_is_free(op: Operation, found: Match) -> bool:
    """Whether the inner operations have the pin of the op, and no use outside of the fused op."""
    kept = {id(value) for value in found.values()}
    inner = [t for t in op.inputs if id(t) not in kept]
    returned = set(op.graph.outputs)
    return all(t.op.pin == op.pin and len(t.uses()) == 1 and t not in returned for t in inner)

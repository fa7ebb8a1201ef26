"""Attention: values weighted by how well their keys fit queries."""

from __future__ import annotations

import math
from typing import Any

from dovetail.core.kinds import Float, MaybeReal
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer, shapes
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.linalg.products import matmul
from dovetail.ops.math.compare import greater_equal, where
from dovetail.ops.nn.softmax import softmax
from dovetail.ops.samples import array, bools, sample
from dovetail.ops.shapes.create import iota
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims

HIDDEN = -0.7 * 3.4028234663852886e38  # finite: no weight beside other scores, equal weights if all are hidden


def _attention_spec(
    query: RankedSpec, key: RankedSpec, value: RankedSpec, mask: Any = None, *static: Any
) -> TensorSpec:
    scores = infer.matmul(query, key, False, True)
    if mask is not None:
        infer.require_shape(scores, shapes.broadcast(scores.shape, mask.shape))
    return infer.matmul(scores, value)


@composite(
    "ScaledDotProductAttention",
    cost="product",
    infer=_attention_spec,
    samples=[
        sample(array(2, 3, 4), array(2, 5, 4), array(2, 5, 3)),
        sample(array(2, 2, 3, 4), array(2, 2, 5, 4), array(2, 2, 5, 4), bools(3, 5)),
        sample(array(2, 3, 4), array(2, 5, 4), array(2, 5, 3), array(2, 1, 5), scale=0.7),
        sample(array(1, 4, 2), array(1, 4, 2), array(1, 4, 2), is_causal=True),
        sample(array(1, 4, 2), array(1, 3, 2), array(1, 3, 2), array(1, 4, 3), None, True),
    ],
)
def scaled_dot_product_attention(
    query: Float,
    key: Float,
    value: Float,
    mask: MaybeReal = None,
    scale: float | None = None,
    is_causal: bool = False,
) -> Tensor:
    """For each query the mean of the values, weighted by the softmax of its products with the keys.

    Args:
        query: floats (…, targets, depth).
        key: floats (…, sources, depth).
        value: floats (…, sources, width).
        mask: broadcasts to (…, targets, sources): bools, where a target sees a source, or floats, added to the scores.
            A target that sees nothing gets the mean of all values.
        scale: the factor of the products; 1/√depth if not given.
        is_causal: whether target i sees the sources 0 … i alone.

    Returns:
        Floats (…, targets, width).

    Source: Vaswani et al., "Attention is all you need", 2017; `torch.nn.functional.scaled_dot_product_attention`.

    Example:
        >>> scaled_dot_product_attention([[1., 0.]], [[9., 0.], [0., 9.]], [[1.], [2.]], [[False, True]]).numpy()
        array([[2.]], dtype=float32)
    """
    if scale is None:
        depth = dims_of(query)[-1]
        scale = 1 / math.sqrt(depth) if isinstance(depth, int) else cast(depth, query.dtype) ** -0.5
    scores = matmul(query, key, transpose_b=True) * scale
    if is_causal:
        targets, sources = dims_of(scores)[-2:]
        past = greater_equal(expand_dims(iota((targets,)), 1), iota((sources,)))
        scores = where(past, scores, HIDDEN)
    if mask is not None:
        scores = where(mask, scores, HIDDEN) if mask.dtype.is_bool else scores + cast(mask, scores.dtype)
    return matmul(softmax(scores), value)


__all__ = ["scaled_dot_product_attention"]

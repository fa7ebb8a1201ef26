"""Fused operations and parts of transformers in ONNX Runtime's own domain: FusedConv, BiasGelu, MultiHeadAttention.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import counted, known_size, of_rank
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import DOMAIN
from dovetail.formats.onnx.ops.activations import swish
from dovetail.formats.onnx.ops.attention import heads_first, heads_last
from dovetail.formats.onnx.ops.convolutions import convolved
from dovetail.formats.onnx.ops.normalization import standard
from dovetail.formats.onnx.table import row
from dovetail.formats.onnx.windows import WINDOW
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

# name → the function of a tensor and the parameters that a node has for it
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "": lambda x: x,
    "Relu": ops.relu,
    "Tanh": ops.tanh,
    "Sigmoid": ops.sigmoid,
    "LeakyRelu": lambda x, alpha=0.01: ops.leaky_relu(x, alpha),
    "Clip": lambda x, low, high: ops.clip(x, low, high),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: ops.clip(alpha * x + beta, 0.0, 1.0),
}


def _activated(x: Any, name: str, parameters: Any) -> Any:
    if name not in ACTIVATIONS:
        raise Unreadable(f"its activation is {name!r}")
    return ACTIVATIONS[name](x, *(parameters or ()))


@row(f"{DOMAIN}.FusedConv: x kernel bias other; {WINDOW} group activation activation_params:parameters")
def _(
    x: Any,
    kernel: Any,
    bias: Any = None,
    other: Any = None,
    activation: str = "",
    parameters: Any = None,
    **window: Any,
) -> Any:
    images = convolved(x, kernel, bias, **window)
    return _activated(images if other is None else images + other, activation, parameters)


@row(
    f"{DOMAIN}.FusedGemm: a b c; alpha beta transA transB activation activation_alpha:first activation_beta:second "
    "activation_gamma=0"
)
def _(
    a: Any,
    b: Any,
    c: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    activation: str = "",
    first: float | None = None,
    second: float | None = None,
) -> Any:
    product = ops.matmul(a, b, transpose_a=bool(transA), transpose_b=bool(transB)) * alpha
    parameters = [one for one in (first, second) if one is not None]
    return _activated(product if c is None else product + beta * c, activation, parameters)


@row(f"{DOMAIN}.FusedMatMul: a b; alpha transA transB transBatchA=0 transBatchB=0")
def _(a: Any, b: Any, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> Any:
    return ops.matmul(a, b, transpose_a=bool(transA), transpose_b=bool(transB)) * alpha


@row(f"{DOMAIN}.Gelu {DOMAIN}.BiasGelu: x bias; +approximate=False", f"{DOMAIN}.FastGelu: x bias; +approximate=True")
def _(x: Any, approximate: Any, bias: Any = None) -> Any:
    return ops.gelu(x if bias is None else x + bias, approximate=bool(approximate))


row(f"{DOMAIN}.QuickGelu: x; alpha|1.702")(swish)


@row(f"{DOMAIN}.SkipLayerNormalization: x skip scale shift bias; epsilon")
def _(x: Any, skip: Any, scale: Any, shift: Any = None, bias: Any = None, epsilon: float = 1e-12) -> Any:
    total = x + skip if bias is None else x + skip + bias
    normalized, mean, inverse = standard(total, [-1], epsilon)
    scaled = normalized * scale
    return scaled if shift is None else scaled + shift, mean, inverse, total


@row(f"{DOMAIN}.SkipSimplifiedLayerNormalization: x skip scale bias; epsilon")
def _(x: Any, skip: Any, scale: Any, bias: Any = None, epsilon: float = 1e-12) -> Any:
    total = x + skip if bias is None else x + skip + bias
    inverse = ops.rsqrt(ops.mean(ops.square(total), -1, keepdims=True) + epsilon)
    return total * inverse * scale, inverse, inverse, total


@row("SimplifiedLayerNormalization: x scale; axis epsilon stash_type=1")
def _(x: Any, scale: Any, axis: int = -1, epsilon: float = 1e-5) -> Any:
    axes = [*range(axis % rank_of(x), rank_of(x))]
    inverse = ops.rsqrt(ops.mean(ops.square(x), axes, keepdims=True) + epsilon)
    return x * inverse * scale, inverse


# -- attention --------------------------------------------------------------------------------------------------------


def _attended(
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    bias: Any,
    scale: float | None,
    filter: float,
    is_causal: int,
) -> Any:
    """Values by the scores of their keys, for heads; a mask adds a number to what it closes, as ONNX Runtime does."""
    factor = scale or 1 / math.sqrt(known_size(q, -1))
    scores = ops.matmul(q, k, transpose_b=True) * factor
    steps, total = of_rank(scores, 4)[2:]
    added = None if mask is None else _added(mask, dims_of(q)[0], total, filter, scores.dtype)
    if is_causal:
        last = ops.expand_dims(counted(steps), 1) + (total - steps)
        closed = ops.greater(counted(total), last)
        added = ops.where(closed, scores.dtype.min, 0.0 if added is None else added)
        added = ops.cast(added, scores.dtype)
    for one in (added, bias):
        scores = scores if one is None else scores + one
    return heads_last(ops.matmul(ops.softmax(scores, -1), v))


def _added(mask: Any, batch: Any, total: Any, filter: float, dtype: Any) -> Any:
    """The numbers that a mask adds to scores.

    Args:
        mask: 0 where a key is closed, (batch, keys) or (batch, queries, keys), or the end of each row, or the ends of
            all rows and then their beginnings.
        batch, total: the numbers of rows and of keys.
        filter: the number for what is closed.
        dtype: of the scores.
    """
    rank = rank_of(mask)
    if rank == 1:
        at, ends = counted(total), mask[:batch]
        begins = ops.concatenate([mask[batch:], ops.zeros_like(mask[:batch])], 0)[:batch]  # 0 if they are not given
        ends, begins = (ops.reshape(one, [-1, 1, 1, 1]) for one in (ends, begins))
        is_open = ops.less(at, ends) & ops.greater_equal(at, begins)
    elif rank > 3:
        raise Unreadable(f"its mask has the rank {rank}")
    else:
        dims = dims_of(mask)
        is_open = ops.reshape(ops.greater(mask, 0), [dims[0], 1, *([1] if rank == 2 else []), *dims[1:]])
    return ops.cast(ops.where(is_open, 0.0, filter), dtype)


@row(
    f"{DOMAIN}.Attention: x kernel bias mask past added; num_heads:heads unidirectional:is_causal"
    " qkv_hidden_sizes:sizes mask_filter_value:filter scale do_rotary=0"
)
def _(
    x: Any,
    kernel: Any,
    bias: Any = None,
    mask: Any = None,
    past: Any = None,
    added: Any = None,
    heads: int = 1,
    is_causal: int = 0,
    sizes: Any = None,
    filter: float = -10000.0,
    scale: float | None = None,
) -> Any:
    """The result, and the keys and values together with the past ones."""
    projected = ops.matmul(x, kernel)
    projected = projected if bias is None else projected + bias
    parts = ops.split(projected, np.cumsum(sizes)[:-1].tolist() if sizes else 3, -1)
    q, k, v = (heads_first(one, heads) for one in parts)
    if past is not None:
        k, v = (ops.concatenate([past[i], one], 2) for i, one in enumerate((k, v)))
    result = _attended(q, k, v, mask, added, scale, filter, is_causal)
    return (result, ops.stack([k, v])) if known_dims(k)[-1] == known_dims(v)[-1] else (result,)


@row(
    f"{DOMAIN}.MultiHeadAttention: q k v bias mask added past_key past_value; num_heads:heads"
    " unidirectional:is_causal mask_filter_value:filter scale"
)
def _(
    q: Any,
    k: Any = None,
    v: Any = None,
    bias: Any = None,
    mask: Any = None,
    added: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    heads: int = 1,
    is_causal: int = 0,
    filter: float = -10000.0,
    scale: float | None = None,
) -> Any:
    """The result, and the keys and the values with the past ones."""
    if v is None:
        raise Unreadable("its keys and values are packed, which ONNX Runtime computes on no CPU, either")
    if bias is not None:
        width = known_size(q, -1)
        widths = width, width, known_size(v, 2) if rank_of(v) == 3 else known_size(v, 1) * known_size(v, 3)
        biases = ops.split(bias, np.cumsum(widths)[:-1].tolist(), 0)
        q, k, v = (x + one if rank_of(x) == 3 else x for x, one in zip((q, k, v), biases, strict=True))
    q, k, v = (heads_first(one, heads) if rank_of(one) == 3 else one for one in (q, k, v))
    k = k if past_key is None else ops.concatenate([past_key, k], 2)
    v = v if past_value is None else ops.concatenate([past_value, v], 2)
    return _attended(q, k, v, mask, added, scale, filter, is_causal), k, v


# -- embeddings -------------------------------------------------------------------------------------------------------


@row(
    f"{DOMAIN}.EmbedLayerNormalization: ids segments words positions kinds scale shift mask places; epsilon"
    " mask_index_type=0"
)
def _(
    ids: Any,
    segments: Any = None,
    words: Any = None,
    positions: Any = None,
    kinds: Any = None,
    scale: Any = None,
    shift: Any = None,
    mask: Any = None,
    places: Any = None,
    epsilon: float = 1e-12,
) -> Any:
    """The normalized sum of the rows of three tables, how many places of each text a mask has, and the sum itself."""
    at = counted(dims_of(ids)[1]) if places is None else places
    total = ops.take(words, ids, 0) + ops.take(positions, at, 0)
    total = total if kinds is None else total + ops.take(kinds, segments, 0)
    normalized = standard(total, [-1], epsilon)[0] * scale + shift
    count = ops.zeros_like(ids[:, 0]) if mask is None else ops.sum(ops.cast(ops.equal(mask, 1), "int32"), 1)
    return normalized, ops.cast(count, "int32"), total

"""Attention, FlexAttention, LinearAttention, RotaryEmbedding, and CausalConvWithState."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import counted, known_size, of_rank
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.ops.arithmetic import widened
from dovetail.formats.onnx.table import row, special, writes
from dovetail.formats.onnx.tensors import dtype_of
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.nn.attention import HIDDEN
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

# -- reading ----------------------------------------------------------------------------------------------------------


def heads_first(x: Any, count: int) -> Any:
    """(batch, steps, heads · size) → (batch, heads, steps, size)."""
    batch, steps, width = of_rank(x, 3)
    return ops.transpose(ops.reshape(x, [batch, steps, count, width // count]), [0, 2, 1, 3])


def heads_last(x: Any) -> Any:
    """(batch, heads, steps, size) → (batch, steps, heads · size)."""
    batch, heads, steps, size = of_rank(x, 4)
    return ops.reshape(ops.transpose(x, [0, 2, 1, 3]), [batch, steps, heads * size])


def repeated(x: Any, queries: Any) -> Any:
    """Heads of keys for all heads of queries."""
    if known_dims(x)[1:2] == known_dims(queries)[1:2]:
        return x
    return ops.repeat(x, known_size(queries, 1) // known_size(x, 1), 1)


@row(
    "Attention: q k v mask past_key past_value lengths; is_causal:causal q_num_heads:q_heads kv_num_heads:kv_heads"
    " qk_matmul_output_mode:mode scale softcap softmax_precision:precision left_window_size:left"
    " right_window_size:right"
)
def _(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    lengths: Any = None,
    causal: int = 0,
    q_heads: int = 0,
    kv_heads: int = 0,
    mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    precision: int = 0,
    left: int = -1,
    right: int = -1,
) -> Any:
    """The result, the keys and the values with the past ones, and the scores at the stage that `mode` names."""
    is_flat, dtype = rank_of(q) == 3, q.dtype
    if is_flat:
        q, k, v = heads_first(q, q_heads), heads_first(k, kv_heads), heads_first(v, kv_heads)
    k = k if past_key is None else ops.concatenate([past_key, k], 2)
    v = v if past_value is None else ops.concatenate([past_value, v], 2)
    keys = k, v
    factor = math.sqrt(1 / math.sqrt(known_size(q, 3)) if scale is None else scale)
    k, v = repeated(k, q), repeated(v, q)
    scores = stages = ops.matmul(ops.cast(q * factor, dtype), ops.cast(ops.swapaxes(k, -1, -2) * factor, dtype))
    if softcap:
        scores = ops.cast(ops.tanh(scores / softcap) * softcap, dtype)
        stages = scores if mode == 1 else stages
    past = 0 if past_key is None else dims_of(past_key)[2]
    bias = _bias(q, k, mask, lengths, past, causal, left, right)
    if bias is not None:
        scores = scores + bias
    stages = scores if mode == 2 else stages
    shares = ops.cast(scores, dtype_of(precision)) if precision else scores
    shares = ops.softmax(shares, -1)
    if bias is not None:
        is_closed = ops.equal(ops.max(bias, -1, True), -math.inf)
        shares = ops.where(is_closed, ops.zeros_like(shares), shares)
    shares = ops.cast(shares, dtype)
    attended = ops.matmul(shares, v)
    return heads_last(attended) if is_flat else attended, *keys, shares if mode == 3 else stages


def _bias(q: Any, k: Any, mask: Any, lengths: Any, past: Any, causal: int, left: int, right: int) -> Any:
    """The numbers that are added to scores: minus infinity where a key is not seen; None if all are."""
    dtype, queries, size = q.dtype, dims_of(q)[2], dims_of(k)[2]
    bias = mask
    if mask is not None:
        if mask.dtype.is_bool:
            bias = _closed(ops.logical_not(mask), dtype)
        spare = size - dims_of(mask)[-1]
        if not isinstance(spare, int) or spare > 0:
            bias = ops.pad(bias, [*[(0, 0)] * (rank_of(mask) - 1), (0, spare)], "constant", -math.inf)
    j = counted(size)
    at = ops.expand_dims(counted(queries), 1) + past
    if lengths is not None:
        lengths = ops.reshape(ops.cast(lengths, "int32"), [-1, 1, 1, 1])
        at = at + (lengths - queries)
    hidden = [ops.greater(j, at)] if causal else []
    hidden += [ops.less(j, at - left)] if left >= 0 else []
    hidden += [ops.greater(j, at + right)] if right >= 0 else []
    hidden += [ops.greater_equal(j, lengths)] if lengths is not None else []
    for one in hidden:
        closed = _closed(one, dtype)
        bias = closed if bias is None else bias + closed
    return bias


def _closed(hidden: Any, dtype: Any) -> Any:
    return ops.where(hidden, ops.cast(-math.inf, dtype), ops.cast(0.0, dtype))


@row("RotaryEmbedding: x cos sin at; interleaved rotary_embedding_dim:size num_heads:heads")
def _(x: Any, cos: Any, sin: Any, at: Any = None, interleaved: int = 0, size: int = 0, heads: int = 0) -> Any:
    """Pairs of numbers that are turned by the angle of their position."""
    is_flat = rank_of(x) == 3
    x = heads_first(x, heads) if is_flat else x
    size, whole = size or known_size(x, 3), known_dims(x)[3:]
    cos, sin = (one if at is None else OPS["GatherV2"](one, at, 0) for one in (cos, sin))
    cos, sin = (ops.expand_dims(one, 1) for one in (cos, sin))
    turned, rest = x[..., :size], x[..., size:]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        pair = ops.stack([cos * a - sin * b, sin * a + cos * b], -1)
        turned = ops.reshape(pair, dims_of(turned))
    else:
        a, b = turned[..., : size // 2], turned[..., size // 2 :]
        turned = ops.concatenate([cos * a - sin * b, sin * a + cos * b], -1)
    joined = ops.concatenate([turned, rest], -1) if (size,) != whole else turned
    return heads_last(joined) if is_flat else joined


@row("LinearAttention: q k v state decay beta; q_num_heads:q_heads kv_num_heads:kv_heads scale update_rule:rule")
def _(
    q: Any,
    k: Any,
    v: Any,
    state: Any = None,
    decay: Any = None,
    beta: Any = None,
    q_heads: int = 1,
    kv_heads: int = 1,
    scale: float = 0.0,
    rule: str = "gated_delta",
) -> Any:
    """A state of outer products of keys and values, which each step lets fade, corrects, and asks by its query."""
    dtype = q.dtype
    kept = dtype if state is None else state.dtype
    q = ops.cast(heads_first(q, q_heads), "float32")
    k, v = (ops.cast(heads_first(one, kv_heads), "float32") for one in (k, v))
    size, batch = known_size(k, 3), dims_of(k)[0]
    scale = scale or 1 / math.sqrt(size)
    per_step = [q, k, v]
    if "gated" in rule:
        per_step.append(ops.exp(ops.cast(heads_first(decay, kv_heads), "float32")))
    if "delta" in rule:
        per_step.append(ops.cast(heads_first(beta, known_size(beta, 2)), "float32"))
    start = ops.zeros([batch, kv_heads, size, known_size(v, 3)], "float32") if state is None else state
    state = ops.cast(start, "float32")

    def step(state: Any, now: Any) -> Any:
        (q, k, v), rest = now[:3], list(now[3:])
        if "gated" in rule:
            state = state * ops.expand_dims(rest.pop(0), -1)
        if "delta" in rule:
            v = rest.pop(0) * (v - ops.sum(state * ops.expand_dims(k, -1), -2))
        state = state + ops.expand_dims(k, -1) * ops.expand_dims(v, -2)
        return state, ops.sum(repeated(state, q) * ops.expand_dims(q, -1), -2) * scale

    state, answers = ops.scan(step, state, tuple(ops.moveaxis(one, 2, 0) for one in per_step))
    return ops.cast(heads_last(ops.moveaxis(answers, 0, 2)), dtype), ops.cast(state, kept)


@row("CausalConvWithState: x kernel bias state; activation")
def _(x: Any, kernel: Any, bias: Any = None, state: Any = None, activation: str = "none") -> Any:
    """Each channel's own convolution of the steps before, and the last steps for the next call."""
    size = known_size(kernel, 2)
    batch, channels, _ = of_rank(x, 3)
    before = ops.zeros([batch, channels, size - 1], x.dtype) if state is None else state
    whole = ops.concatenate([before, x], 2)
    steps = dims_of(x)[2]
    wide, kernel = (ops.cast(one, widened(x.dtype)) for one in (whole, kernel))
    convolved = sum(wide[:, :, i : i + steps] * ops.reshape(kernel[:, 0, i], [1, -1, 1]) for i in range(size))
    convolved = ops.cast(convolved if bias is None else convolved + ops.reshape(bias, [1, -1, 1]), x.dtype)
    if activation != "none":
        if activation not in ("silu", "swish"):
            raise Unreadable(f"its activation is {activation!r}")
        convolved = ops.cast(ops.silu(ops.cast(convolved, "float32")), x.dtype)
    return convolved, whole[:, :, dims_of(whole)[2] - size + 1 :]


@special("ai.onnx.preview.FlexAttention")
def _flex_attention(node: Node) -> Any:
    """Attention whose scores and shares go through subgraphs."""
    q, k, v = (node.tensor(i) for i in range(3))
    k, v = (repeated(one, q) for one in (k, v))
    factor = math.sqrt(node.attrs.get("scale", 1 / math.sqrt(known_size(q, 3))))
    scores = ops.matmul(ops.cast(q * factor, q.dtype), ops.cast(ops.swapaxes(k, -1, -2) * factor, q.dtype))
    dtype = dtype_of(node.attrs.get("softmax_precision", 0)) or widened(q.dtype)
    scores = _through(node, "score_mod", ops.cast(scores, dtype))
    shares = _through(node, "prob_mod", ops.softmax(scores, -1))
    return ops.cast(ops.matmul(shares, ops.cast(v, dtype)), v.dtype)


def _through(node: Node, name: str, value: Any) -> Any:
    """A value that a subgraph changes, if the node has it."""
    if name not in node.attrs:
        return value
    return ops.cast(node.reader.subgraph(node, node.attrs[name], [value])[0], value.dtype)


# -- writing ----------------------------------------------------------------------------------------------------------


def _has_heads(operation: Operation) -> bool:
    return operation.inputs[0].dtype.name == "float32" and len(operation.inputs[0].shape or ()) == 4


@writes("ScaledDotProductAttention", _has_heads)
def _attention(
    place: Place, query: Ref, key: Ref, value: Ref, mask: Ref | None, scale: float | None, is_causal: bool
) -> list[Ref]:
    """A mask of truth values becomes scores that are finite: a target that sees nothing gets the mean of all."""
    if not place.has("Attention"):
        return place.by_body()
    if mask is not None and mask.dtype.is_bool:
        ends = place.constant(0, query.dtype), place.constant(HIDDEN, query.dtype)
        mask = place.node("Where", mask, *ends, dtype=query.dtype)
    return place.result("Attention", query, key, value, mask, scale=scale, is_causal=int(is_causal))

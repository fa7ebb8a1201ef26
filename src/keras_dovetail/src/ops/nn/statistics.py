"""Means and variances, normalization, attention, and the similarity of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.ops.nn.attention import HIDDEN
from keras_dovetail.src.dtypes import as_tensor, is_float, name_of, promoted, result_type
from keras_dovetail.src.parallel import shards


def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    x = as_tensor(x)
    compute = shards.moments if synchronized and shards.is_shared() else ops.moments
    mean, variance = compute(as_tensor(x, result_type(x, "float32")), axes, keepdims)
    if name_of(x) != "float16":
        return (as_tensor(mean, x.dtype), as_tensor(variance, x.dtype)) if is_float(x) else (mean, variance)
    most = float(np.finfo("float16").max)
    return tuple(ops.cast(ops.clip(m, -most, most), "float16") for m in (mean, variance))


def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Any:
    offset, scale = (None if part is None else as_tensor(part) for part in (offset, scale))
    return ops.batch_normalization(as_tensor(x), as_tensor(mean), as_tensor(variance), axis, offset, scale, epsilon)


def psnr(x1: Any, x2: Any, max_val: Any) -> Any:
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(f"Input shapes {tuple(x1.shape)} and {tuple(x2.shape)} must match for PSNR calculation. ")
    error = ops.mean(ops.square(x1 - x2))
    return 20 * ops.log10(as_tensor(max_val, error.dtype)) - 10 * ops.log10(error)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    if flash_attention:
        raise ValueError("dot_product_attention: Dovetail has no flash attention; leave out flash_attention=True.")
    query, key, value = promoted(query, key, value)
    if len(query.shape) != 4:
        raise ValueError(
            f"`dot_product_attention` only supports 4D inputs. Received: query.shape={tuple(query.shape)}, "
            f"key.shape={tuple(key.shape)}, value.shape={tuple(value.shape)}."
        )
    if key.shape[2] != query.shape[2]:  # grouped queries: several of their heads share one head of keys and values
        key, value = (ops.repeat(x, query.shape[2] // x.shape[2], 2) for x in (key, value))
    query, key, value = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
    attended = ops.scaled_dot_product_attention(query, key, value, _seen(mask, bias), scale, is_causal)
    return ops.transpose(attended, (0, 2, 1, 3))


def _seen(mask: Any, bias: Any) -> Any:
    """The mask, the bias, or both in one tensor."""
    mask = None if mask is None else as_tensor(mask, "bool")
    if mask is None or bias is None:
        return mask if bias is None else as_tensor(bias)
    return ops.where(mask, as_tensor(bias, "float32"), HIDDEN)

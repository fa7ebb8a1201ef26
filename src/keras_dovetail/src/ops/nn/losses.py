"""Losses, and encodings of labels for them."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.interop.privates import floatx
from keras_dovetail.src.dtypes import as_tensor, floating, result_type


def _dense_only(name: str, sparse: bool) -> None:
    if sparse:
        raise ValueError(f"{name}: there are no sparse tensors on Dovetail; leave out sparse=True.")


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    _dense_only("one_hot", sparse)
    x = as_tensor(x)
    return ops.one_hot(ops.saturate_cast(x, "int32"), num_classes, axis, dtype or floatx())


def multi_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    _dense_only("multi_hot", sparse)
    return ops.multi_hot(ops.saturate_cast(as_tensor(x), "int32"), num_classes, axis, dtype or floatx())


def _must_match(target: Any, output: Any, what: str = "must have the same shape") -> None:
    """Raise ValueError if shapes differ; unknown dimensions may be equal."""
    a, b = target.shape, output
    if len(a) != len(b) or any(m != n for m, n in zip(a, b, strict=True) if None not in (m, n)):
        raise ValueError(
            f"Arguments `target` and `output` {what}. Received: target.shape={tuple(a)}, output.shape={tuple(b)}"
        )


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    output = floating(output)
    target = as_tensor(target, output.dtype)
    _must_match(target, output.shape)
    if not len(output.shape):
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: two numbers.")
    return ops.categorical_crossentropy(target, output, from_logits, axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    output, target = floating(output), as_tensor(target)
    if not len(output.shape):
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={tuple(output.shape)}")
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = ops.squeeze(target, -1)
    _must_match(target, output.shape[:-1], "must have the same shape up until the last dimension")
    labels = one_hot(target, output.shape[axis], axis, output.dtype)  # no class costs nothing, as Keras has it
    return ops.categorical_crossentropy(labels, output, from_logits, axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    output = floating(output)
    target = as_tensor(target, output.dtype)
    _must_match(target, output.shape)
    return ops.binary_crossentropy(target, ops.sigmoid(output) if from_logits else output)  # clipped, as Keras has it


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Any:
    integers = (ops.saturate_cast(as_tensor(x), "int32") for x in (target, target_length, output_length))
    target, target_length, output_length = integers
    output = as_tensor(output)
    return ops.ctc_loss(
        target, as_tensor(output, result_type(output, "float32")), target_length, output_length, mask_index
    )


def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> Any:
    inputs, lengths = as_tensor(inputs), ops.saturate_cast(as_tensor(sequence_lengths), "int32")
    inputs = as_tensor(inputs, result_type(inputs, "float32"))
    mask_index = -1 if mask_index is None else mask_index
    if strategy == "greedy":
        labels, scores = ops.ctc_greedy_decode(inputs, lengths, merge_repeated, mask_index)
        return ops.expand_dims(labels, 0), scores
    if strategy == "beam_search":
        # Keras' beam search always keeps equal labels apart if a blank is between them.
        return tuple(ops.ctc_beam_search_decode(inputs, lengths, beam_width, top_paths, False, mask_index))
    raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")

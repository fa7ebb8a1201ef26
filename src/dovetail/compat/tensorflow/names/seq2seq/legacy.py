"""TensorFlow 1's `legacy_seq2seq`: losses, encoders and decoders of sequences, which are lists of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.nn.embeddings import embedding_lookup
from dovetail.compat.tensorflow.names.nn.losses import sparse_softmax_cross_entropy_with_logits
from dovetail.compat.tensorflow.names.rnn.contrib_wrappers import (
    EmbeddingWrapper,
    OutputProjectionWrapper,
    attended,
    linear,
)
from dovetail.compat.tensorflow.names.rnn.loops import static_rnn
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of


@function("contrib.legacy_seq2seq.sequence_loss_by_example nn.seq2seq.sequence_loss_by_example", "v1", scope=True)
def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The cross entropy of each sequence, weighted by step.

    Args:
        logits: for each step, (batch, classes).
        targets: for each step, class numbers (batch,).
        weights: for each step, (batch,).
        average_across_timesteps: whether the sum is divided by the sum of the weights.
        softmax_loss_function: (labels, logits) → the losses, for another loss.

    Raises:
        ValueError: the lists differ in length.

    Source: `tf.contrib.legacy_seq2seq.sequence_loss_by_example`.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(f"there are {len(logits)} logits, {len(targets)} targets and {len(weights)} weights.")
    loss = softmax_loss_function or in_v1(sparse_softmax_cross_entropy_with_logits)
    losses = [
        ops.multiply(loss(labels=ops.reshape(target, [-1]), logits=logit), weight)
        for logit, target, weight in zip(logits, targets, weights, strict=True)
    ]
    total = reduce(ops.add, losses)
    return ops.divide(total, ops.add(reduce(ops.add, weights), 1e-12)) if average_across_timesteps else total


@function("contrib.legacy_seq2seq.sequence_loss nn.seq2seq.sequence_loss", "v1", scope=True)
def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The sum of `sequence_loss_by_example`, or its mean.

    Source: `tf.contrib.legacy_seq2seq.sequence_loss`.
    """
    losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
    total = ops.sum(losses)
    return ops.divide(total, ops.cast(dims_of(losses)[0], dtype_of(losses))) if average_across_batch else total


@function("contrib.seq2seq.sequence_loss", "v1", scope=True)
def loss_of_whole_sequences(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The cross entropy of logits (batch, time, classes), weighted by step (batch, time), as a mean over some axes.

    Source: `tf.contrib.seq2seq.sequence_loss`.
    """
    loss = softmax_loss_function or in_v1(sparse_softmax_cross_entropy_with_logits)
    losses, axes = ops.multiply(loss(labels=targets, logits=logits), weights), []
    axes += [0] if average_across_batch else []
    axes += [1] if average_across_timesteps else []
    return ops.divide(ops.sum(losses, axes), ops.add(ops.sum(weights, axes), 1e-12)) if axes else losses


# -- decoders ---------------------------------------------------------------------------------------------------------


def _outputs(inputs: Iterable[Any], step: Callable[[Any], Any], loop_function: Any) -> list[Any]:
    """The outputs of steps with the same variables; a function of the last output may replace the next input."""
    outputs: list[Any] = []
    for i, x in enumerate(inputs):
        if i:
            get_variable_scope().reuse_variables()
        if loop_function is not None and outputs:
            with variable_scope("loop_function", reuse=True):
                x = loop_function(outputs[-1], i)
        outputs.append(step(x))
    return outputs


def rnn_decoder(
    decoder_inputs: Iterable[Any], initial_state: Any, cell: Any, loop_function: Any = None, scope: Any = None
) -> Any:
    """The outputs of a cell, and its last state; `loop_function(output, i)` makes the inputs after the first."""
    state = initial_state

    def step(x: Any) -> Any:
        nonlocal state
        output, state = cell(x, state)
        return output

    with variable_scope(scope or "rnn_decoder"):
        return _outputs(decoder_inputs, step, loop_function), state


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Any = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """`rnn_decoder` whose cell also gets, in each step, means of `attention_states` (batch, length, size)."""
    size, state = static_shape(attention_states)[2], initial_state
    dtype, means = dtype or dtype_of(attention_states), list[Any]()

    def attend() -> list[Any]:
        query, contexts = ops.concatenate(nest_flatten(state), 1), []
        for i, (w, v) in enumerate(heads):
            with variable_scope(f"Attention_{i}"):
                contexts.append(attended(query, attention_states, w, v))
        return contexts

    def step(x: Any) -> Any:
        nonlocal state, means
        output, state = cell(linear([x, *means], static_shape(x)[1], True), state)
        with variable_scope(get_variable_scope(), reuse=initial_state_attention or None):
            means = attend()
        with variable_scope("AttnOutputProjection"):
            return linear([output, *means], output_size or cell.output_size, True)

    with variable_scope(scope or "attention_decoder", dtype=dtype):
        heads = [
            (get_variable(f"AttnW_{i}", [1, 1, size, size]), get_variable(f"AttnV_{i}", [size]))
            for i in range(num_heads)
        ]
        batch = dims_of(decoder_inputs[0])[0]
        means = attend() if initial_state_attention else [ops.zeros([batch, size], dtype) for _ in heads]
        return _outputs(decoder_inputs, step, loop_function), state


def _embedded(inputs: Any, shape: list[int], projection: Any, feeds: bool, updates: bool = True) -> tuple[Any, Any]:
    """The rows of a table for numbers, and, if outputs are fed, a function that makes an input of an output."""
    table = get_variable("embedding", shape)
    lookup = in_v1(embedding_lookup)

    def fed(output: Any, _: int) -> Any:
        if projection is not None:
            output = ops.bias_add(ops.matmul(output, projection[0]), projection[1])
        embedded = lookup(table, ops.argmax(output, 1))
        return embedded if updates else ops.stop_gradient(embedded)

    return [lookup(table, x) for x in inputs], fed if feeds else None


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Any:
    """`rnn_decoder` of numbers; with `feed_previous` each input is the number with the largest output before."""
    with variable_scope(scope or "embedding_rnn_decoder"):
        shape, updates = [num_symbols, embedding_size], update_embedding_for_previous
        inputs, fed = _embedded(decoder_inputs, shape, output_projection, feed_previous, updates)
        return rnn_decoder(inputs, initial_state, cell, fed)


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """`attention_decoder` of numbers; `feed_previous` as in `embedding_rnn_decoder`."""
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        shape, updates = [num_symbols, embedding_size], update_embedding_for_previous
        inputs, fed = _embedded(decoder_inputs, shape, output_projection, feed_previous, updates)
        given = (attention_states, cell, output_size, num_heads, fed, dtype, None, initial_state_attention)
        return attention_decoder(inputs, initial_state, *given)


# -- encoders and decoders --------------------------------------------------------------------------------------------


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any], decoder_inputs: Sequence[Any], cell: Any, dtype: Any = "float32", scope: Any = None
) -> Any:
    """A decoder that begins with the last state of an encoder, which has variables of its own."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Any = None,
    dtype: Any = "float32",
    scope: Any = None,
) -> Any:
    """A decoder that begins with the last state of an encoder, which has the same variables."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def _fed_or_not(feed_previous: Any, decode: Callable[[bool], Any]) -> Any:
    """The results of a decoder that is fed its outputs, or is not; a tensor may say so when the graph runs."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)

    def again() -> Any:
        with variable_scope(get_variable_scope(), reuse=True):
            return decode(False)

    return in_v1(cond)(feed_previous, lambda: decode(True), again)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Any:
    """An encoder of numbers, and `embedding_rnn_decoder`."""
    make: Any = OutputProjectionWrapper
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype):
        _, state = _encoded(encoder_inputs, cell, num_encoder_symbols, embedding_size, dtype)
        outer = make(cell, num_decoder_symbols) if output_projection is None else cell
        given = (decoder_inputs, state, outer, num_decoder_symbols, embedding_size, output_projection)
        return _fed_or_not(feed_previous, lambda feeds: embedding_rnn_decoder(*given, feeds))


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """An encoder of numbers, and `embedding_attention_decoder`, which attends to the encoder's outputs."""
    make: Any = OutputProjectionWrapper
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype):
        outputs, state = _encoded(encoder_inputs, cell, num_encoder_symbols, embedding_size, dtype)
        size, outer = None, cell
        if output_projection is None:
            size, outer = num_decoder_symbols, make(cell, num_decoder_symbols)
        given = (decoder_inputs, state, ops.stack(outputs, 1), outer, num_decoder_symbols, embedding_size, num_heads)
        more = {"dtype": dtype, "initial_state_attention": initial_state_attention}
        return _fed_or_not(
            feed_previous, lambda feeds: embedding_attention_decoder(*given, size, output_projection, feeds, **more)
        )


def _encoded(inputs: Any, cell: Any, classes: int, size: int, dtype: Any) -> Any:
    make: Any = EmbeddingWrapper
    return static_rnn(make(copy.deepcopy(cell), classes, size), inputs, dtype=dtype or get_variable_scope().dtype)


@function("contrib.legacy_seq2seq.model_with_buckets nn.seq2seq.model_with_buckets", "v1", scope=True)
def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """The outputs and the losses of a model for several pairs of lengths, with the same variables."""
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    for i, (before, after) in enumerate(buckets):
        with variable_scope(get_variable_scope(), reuse=True if i else None):
            output, _ = seq2seq(encoder_inputs[:before], decoder_inputs[:after])
        outputs.append(output)
        given = (output, targets[:after], weights[:after])
        losses.append(loss(*given, softmax_loss_function=softmax_loss_function))
    return outputs, losses


for _function in (
    *(rnn_decoder, attention_decoder, embedding_rnn_decoder, embedding_attention_decoder, basic_rnn_seq2seq),
    *(tied_rnn_seq2seq, embedding_rnn_seq2seq, embedding_attention_seq2seq),
):
    _name = _function.__name__
    function(f"contrib.legacy_seq2seq.{_name} nn.seq2seq.{_name}", "v1")(_function)

"""The backend's functions for `keras.src.backend.rnn`: the loop over time, and layers that are one op."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.interop.privates import activations, tree
from keras_dovetail.src.dtypes import as_tensor

__all__ = ["bidirectional_gru", "bidirectional_lstm", "cudnn_ok", "gru", "lstm", "rnn"]


def rnn(
    step_function: Any,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> Any:
    states = tree.map_structure(as_tensor, initial_states)

    def step(x: Any, states: Any) -> Any:
        output, new_states = step_function(x, states)
        return output, tree.pack_sequence_as(initial_states, tree.flatten(new_states))  # a list stays a list

    return ops.rnn(
        step,
        tree.map_structure(as_tensor, inputs),
        states,
        go_backwards,
        None if mask is None else as_tensor(mask, "bool"),
        None if constants is None else tree.map_structure(as_tensor, constants),
        unroll,
        input_length,
        time_major,
        zero_output_for_mask,
        return_all_outputs,
    )


def lstm(
    inputs: Any,
    initial_state_h: Any,
    initial_state_c: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
) -> Any:
    """An LSTM layer as one op, if it has Keras' default activations and no mask."""
    _check_fused(ops.lstm, mask, activation, recurrent_activation, unroll)
    weights = _tensors(kernel, recurrent_kernel, bias)
    states = _tensors(initial_state_h, initial_state_c)
    outputs, *states = ops.lstm(_in_order(inputs, go_backwards), *states, *weights)
    return states[0], outputs if return_sequences else ops.expand_dims(states[0], 1), states


def gru(
    inputs: Any,
    initial_state: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    reset_after: bool = True,
) -> Any:
    """A GRU layer as one op, if it has Keras' default arguments and no mask."""
    op = ops.gru if reset_after else ops.gru_reset_before
    _check_fused(op, mask, activation, recurrent_activation, unroll)
    weights = _tensors(kernel, recurrent_kernel, bias)
    outputs, state = op(_in_order(inputs, go_backwards), *_tensors(initial_state), *weights)
    return state, outputs if return_sequences else ops.expand_dims(state, 1), [state]


def _check_fused(op: Any, mask: Any, activation: Any, recurrent_activation: Any, differs: bool) -> None:
    """Raise NotImplementedError if the op cannot compute the layer, so that Keras runs it by steps."""
    if differs or mask is not None or (activation, recurrent_activation) != (activations.tanh, activations.sigmoid):
        problem = "the op has no mask, and tanh and sigmoid as its activations"
        raise NotImplementedError(f"{op.name}: {problem}; Keras runs the layer step by step.")


def _in_order(inputs: Any, go_backwards: bool) -> Any:
    inputs = as_tensor(inputs)
    return ops.flip(inputs, 1) if go_backwards else inputs


def _tensors(*values: Any) -> list[Any]:
    return [None if value is None else as_tensor(value) for value in values]


def _not_fused(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: Dovetail has no op for both directions; Keras runs one after the other.")

    return call


bidirectional_gru = _not_fused("bidirectional_gru")
bidirectional_lstm = _not_fused("bidirectional_lstm")


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    return False

"""What `keras.src.backend.rnn` of a backend has: the loop over time."""

from __future__ import annotations

from typing import Any

from keras.src import tree

from dovetail import ops
from keras_dovetail.dtypes import as_tensor


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


def _not_fused(name: str) -> Any:
    """Keras asks for a fused kernel first, and makes the layer of steps where there is none."""

    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}: Dovetail has no fused kernel; Keras runs the layer step by step.")

    return call


bidirectional_gru = _not_fused("bidirectional_gru")
bidirectional_lstm = _not_fused("bidirectional_lstm")
gru = _not_fused("gru")
lstm = _not_fused("lstm")


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    return False

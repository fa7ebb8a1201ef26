"""Recurrent loops over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.errors import describe
from dovetail.core.kinds import TensorLike
from dovetail.core.values.structure import flatten
from dovetail.ops.shapes.shape import shaped

__all__ = ["rnn"]


def rnn(
    step_function: Callable[[Any, Any], Any],
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """Apply a function to each step of sequences, and pass states from step to step.

    At a masked step the states stay as they are, and the output is the one of the step before (zeros at first).

    Args:
        step_function: (the inputs of a step, the states and constants in one tuple) → (output, new states).  Inputs
            and output are (batch, ...), or structures of such tensors.
        inputs: a tensor (batch, time, ...) of three axes or more, or a structure of them.
        initial_states: a list or tuple of the states at first, each (batch, ...), a number, or a structure of them.
        go_backwards: whether to go from the last step to the first; the outputs are in the order of computation.
        mask: (batch, time) or (batch, time, 1): which steps count.
        constants: further arguments of each step.
        unroll: whether to repeat the step's operations for each time instead of a loop; the length must be known.
        input_length: a tensor (batch,): how many steps count, if there is no mask and no `unroll`; an int has no
            effect.  With `go_backwards`, the longest counts as having all steps.
        time_major: whether inputs, mask and outputs are (time, batch, ...).
        zero_output_for_mask: whether the output of a masked step is zeros.
        return_all_outputs: whether to return the outputs of all steps, not only of the last one.

    Returns:
        The last output; the outputs (batch, time, ...), of time length 1 without `return_all_outputs`; a tuple of the
        last states.

    Raises:
        TypeError: `step_function` is not callable, or `initial_states` is not a list or tuple.
        ValueError: inputs have fewer than three axes, or no steps; the mask has another rank or length; `unroll` is
            True and the length is not known; or states change their structure or (without `unroll`) their shape.

    Source: `tf.keras.backend.rnn`.

    Differs: a mask may be a list; tf.keras refuses it.
    Differs: an array as `input_length` is taken like a tensor.
    Differs: a mask for states and outputs of one axis picks samples; tf.keras refuses it.
    Differs: `zero_output_for_mask` works with `unroll` as without; in TensorFlow it fails with
        `return_all_outputs=False`, and with `go_backwards` the zeros stand at other steps than the masked.
    Differs: with `unroll`, inputs may be a dict, and outputs any structure; tf.keras refuses them.

    Modern: `keras.layers.RNN(cell)(inputs, initial_state=..., mask=...)`.

    Example:
        >>> import numpy as np
        >>> x = np.ones((1, 3, 2), "float32")
        >>> last, outputs, states = rnn(lambda x, states: (x + states[0], [x + states[0]]), x, [K.zeros((1, 2))])
        >>> outputs.numpy()[0, :, 0]
        array([1., 2., 3.], dtype=float32)
        >>> last.shape, outputs.shape, len(states)
        ((1, 2), (1, 3, 2), 1)
    """
    for x in flatten(inputs)[0]:
        if K.ndim(x) < 3:
            raise ValueError(f"inputs need the axes (batch, time, ...), at least 3, not {describe(x)}.")
    if mask is not None:
        mask = shaped(mask)
        if K.ndim(mask) not in (2, 3):
            raise ValueError(f"a mask has the axes (batch, time) or (batch, time, 1), but it is {describe(mask)}.")
    last, outputs, states = ops.rnn(
        step_function,
        inputs,
        initial_states,
        go_backwards=go_backwards,
        mask=mask,
        constants=constants,
        unroll=unroll,
        input_length=input_length,
        time_major=time_major,
        zero_output_for_mask=zero_output_for_mask,
        return_all_outputs=return_all_outputs,
    )
    return last, outputs, tuple(states)

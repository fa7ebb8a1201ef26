"""Recurrent loops over the time axis, with masks; said in `scan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.errors import op_error
from dovetail.ops.compare import where
from dovetail.ops.control import check_functions, scan
from dovetail.ops.create import arange, zeros_like
from dovetail.ops.join import stack
from dovetail.ops.rearrange import flip
from dovetail.ops.shape import cast, dims_of, expand_dims, transpose
from dovetail.structure import flatten, map_structure, unflatten


def rnn(
    step_function: Callable[[Any, Any], Any],
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """Applies a function to each step of sequences, with states that go from step to step.

    At a masked step the states stay as they are, and the output is the one of the step before (zeros at first).

    Args:
        step_function: (the inputs of a step, states and constants in one tuple) → (output, new states).
        inputs: a tensor (batch, time, ...), or a structure of them.
        initial_states: the states at first, each (batch, ...).
        go_backwards: from the last step to the first; the outputs stand in the order in which they were computed.
        mask: (batch, time) or (batch, time, 1): which steps count; all, if not given.
        constants: what else each step is given.
        unroll: whether to repeat the step's operations for each time instead of a loop; the length must be known.
        input_length: an integer tensor (batch,): how many steps count, if there is no mask; a Python int says nothing.
        time_major: whether inputs, mask and outputs are (time, batch, ...).
        zero_output_for_mask: the output of a masked step is zeros.
        return_all_outputs: whether to return the outputs of all steps, not of the last one alone.

    Returns:
        The last output; the outputs (batch, time, ...), of time length 1 if not all are asked for; the last states.

    Raises:
        ValueError: `unroll` with a length that is not known.

    Source: `keras.backend.rnn`.

    Example:
        >>> import numpy as np
        >>> x, start = np.ones((1, 3, 2), "float32"), np.zeros((1, 2), "float32")
        >>> last, sums, states = rnn(lambda x, states: (x + states[0], [x + states[0]]), x, [start])
        >>> sums.numpy()[0, :, 0]
        array([1., 2., 3.], dtype=float32)
    """
    check_functions("RNN", step_function=step_function)
    if not time_major:
        inputs, mask = map_structure(_swap_batch_and_time, (inputs, mask))
    constants = tuple(constants or ())
    if mask is None and input_length is not None and not isinstance(input_length, int) and not unroll:
        times = arange(dims_of(flatten(inputs)[0][0])[0])
        mask = expand_dims(times, 1) < input_length
    mask = None if mask is None else cast(mask, "bool")
    repeats = mask is not None and not zero_output_for_mask
    position: int | None = None  # of the state that the output is; then it is known at the end without being stacked

    def step(carry: Any, slices: Any) -> Any:
        nonlocal position
        (previous, states), (x, counts) = carry, slices
        output, new_states = step_function(x, (*states, *constants))
        position = next((i for i, state in enumerate(flatten(new_states)[0]) if state is output), None)
        if counts is not None:
            new_states = _where(counts, new_states, states)
            output = _where(counts, output, previous)
        stacked = return_all_outputs or (position is None and not repeats)
        return (output if repeats else None, new_states), output if stacked else None

    previous = None
    if repeats:
        output, _ = step_function(map_structure(lambda x: x[0], inputs), (*initial_states, *constants))
        previous = map_structure(zeros_like, output)
    loop = _unrolled if unroll else scan
    (last, states), outputs = loop(step, (previous, initial_states), (inputs, mask), reverse=go_backwards)
    end = 0 if go_backwards else -1
    if not repeats and position is not None:
        last = flatten(states)[0][position]
        last = last if mask is None else _where(mask[end], last, None)
    elif not repeats:
        last = map_structure(lambda y: y[end], outputs)
    if not return_all_outputs:
        outputs = map_structure(lambda y: expand_dims(y, 0), last)
    elif go_backwards:
        outputs = map_structure(lambda y: flip(y, 0), outputs)
    return last, outputs if time_major else map_structure(_swap_batch_and_time, outputs), states


def _swap_batch_and_time(x: Any) -> Any:
    return transpose(x, (1, 0, *range(2, len(x.shape))))


def _where(mask: Any, new: Any, old: Any) -> Any:
    """New values where a mask (batch,) or (batch, 1) holds; elsewhere the old ones, or zeros if there are none."""
    leaves, structure = flatten(new)
    others = [0] * len(leaves) if old is None else flatten(old)[0]
    return unflatten(structure, [where(_to_rank(mask, a), a, b) for a, b in zip(leaves, others, strict=True)])


def _to_rank(mask: Any, like: Any) -> Any:
    missing = len(like.shape) - len(mask.shape)
    return expand_dims(mask, tuple(range(-missing, 0))) if missing > 0 else mask


def _unrolled(step: Callable[[Any, Any], Any], carry: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """`scan` with the operations of each step repeated."""
    leaves, structure = flatten(xs)
    length = leaves[0].shape[0]
    if length is None:
        raise op_error(ValueError, "RNN", "to unroll, the number of time steps must be known.")
    ys: list[Any] = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = step(carry, unflatten(structure, [x[i] for x in leaves]))
    return carry, map_structure(lambda *y: stack(y), *ys)
